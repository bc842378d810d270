package approval

import (
	"context"
	"slices"
	"time"

	"github.com/tau-robot/tau/gate"
)

// grantRow and routineRow are a permission with what its life is measured by.
type grantRow struct {
	gate.Grant
	life
}

type routineRow struct {
	gate.Routine
	life
}

// life is how long something holds: from a reading of the clocks until its expiry, if
// nothing ends it before that.
type life struct {
	opened reading
	expiry time.Time
	ended  time.Time // zero: it is in force until its expiry
}

// alive ends what has expired, for good, and reports whether it is in force.
func (l *life) alive(now reading) bool {
	if l.ended.IsZero() && l.opened.over(l.expiry, now) {
		l.ended = now.wall
	}
	return l.ended.IsZero()
}

func (l *life) end(now reading) bool {
	was := l.alive(now)
	if was {
		l.ended = now.wall
	}
	return was
}

// forgotten: it ended, and its expiry passed, more than the retention ago.
func (l *life) forgotten(now reading, retention time.Duration) bool {
	return !l.alive(now) && gate.Expired(now.wall, l.expiry) && gate.Expired(now.wall, l.ended.Add(retention))
}

// rebase counts on from here what began in an earlier start of the machine.
func (l *life) rebase(now reading) {
	if l.alive(now) && l.opened.id != now.id {
		l.opened = now
	}
}

var (
	_ gate.Grants   = (*Memory)(nil)
	_ gate.Routines = (*Memory)(nil)
)

// AddGrants stores what one card has granted, all of it or none.
func (m *Memory) AddGrants(_ context.Context, all []gate.Grant) error {
	if err := storableGrants(all); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.opts.read(m.opts.Now())
	m.grants = slices.DeleteFunc(m.grants, func(r *grantRow) bool { return r.forgotten(now, m.opts.Retention) })
	for _, g := range all {
		if slices.ContainsFunc(m.grants, func(r *grantRow) bool { return r.ID == g.ID }) {
			return errGrantTaken(g.ID)
		}
		if now.over(g.Expires, now) {
			return errNotAhead("grant.expires")
		}
	}
	for _, g := range all {
		g.Granted, g.Expires = normal(g.Granted), normal(g.Expires)
		m.grants = append(m.grants, &grantRow{Grant: g, life: life{opened: now, expiry: g.Expires}})
	}
	return nil
}

// Grants lists those in force, oldest first.
func (m *Memory) Grants(_ context.Context, now time.Time) ([]gate.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.opts.read(now)
	var out []gate.Grant
	for _, r := range m.grants {
		if r.alive(at) {
			out = append(out, r.Grant)
		}
	}
	return out, nil
}

// RevokeGrant ends one and reports whether it was in force.
func (m *Memory) RevokeGrant(_ context.Context, id string, now time.Time) (bool, error) {
	return m.endGrants(now, func(g gate.Grant) bool { return g.ID == id }) > 0, nil
}

// RevokeCard ends those that one card has made.
func (m *Memory) RevokeCard(_ context.Context, callID string, now time.Time) (int, error) {
	return m.endGrants(now, func(g gate.Grant) bool { return g.Card == callID }), nil
}

func (m *Memory) endGrants(now time.Time, of func(gate.Grant) bool) (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.opts.read(now)
	for _, r := range m.grants {
		if of(r.Grant) && r.end(at) {
			n++
		}
	}
	return n
}

// AddRoutine stores one of which nothing has been fired.
func (m *Memory) AddRoutine(_ context.Context, r gate.Routine) error {
	if err := storableRoutine(r); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.opts.read(m.opts.Now())
	m.routines = slices.DeleteFunc(m.routines, func(r *routineRow) bool { return r.forgotten(now, m.opts.Retention) })
	for _, old := range m.routines {
		switch {
		case old.ID == r.ID:
			return errRoutineTaken("id", r.ID)
		case old.Session.Name == r.Session.Name && old.Principal == r.Principal && old.Name == r.Name && old.alive(now):
			return errRoutineTaken("name", r.Name)
		}
	}
	if now.over(r.Expires, now) {
		return errNotAhead("routine.expires")
	}
	r = r.Clone()
	r.Registered, r.Expires = normal(r.Registered), normal(r.Expires)
	m.routines = append(m.routines, &routineRow{Routine: r, life: life{opened: now, expiry: r.Expires}})
	return nil
}

// Routine returns the one in force that has a name.
func (m *Memory) Routine(_ context.Context, session, principal, name string, now time.Time) (gate.Routine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.opts.read(now)
	for _, r := range m.routines {
		if r.Session.Name == session && r.Principal == principal && r.Name == name && r.alive(at) {
			return r.Clone(), nil
		}
	}
	return gate.Routine{}, noRoutine("name", name)
}

// Routines lists those in force, oldest first, without snapshots.
func (m *Memory) Routines(_ context.Context, now time.Time) ([]gate.Routine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.opts.read(now)
	var out []gate.Routine
	for _, r := range m.routines {
		if r.alive(at) {
			light := r.Routine
			light.Snapshot = nil
			out = append(out, light)
		}
	}
	return out, nil
}

// Fire counts one firing before it begins.
func (m *Memory) Fire(_ context.Context, id string, fired int, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.routine(id)
	if r == nil || !r.alive(m.opts.read(now)) {
		return noRoutine("id", id)
	}
	if err := noFiring(r.Routine, fired); err != nil {
		return err
	}
	r.Fired++
	return nil
}

// EndRoutine ends one and reports whether it was in force.
func (m *Memory) EndRoutine(_ context.Context, id string, now time.Time) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.routine(id)
	return r != nil && r.end(m.opts.read(now)), nil
}

func (m *Memory) routine(id string) *routineRow {
	i := slices.IndexFunc(m.routines, func(r *routineRow) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return m.routines[i]
}
