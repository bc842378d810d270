package approval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tau-robot/tau/gate"
)

var (
	_ gate.Grants   = (*Postgres)(nil)
	_ gate.Routines = (*Postgres)(nil)
)

// AddGrants stores what one card has granted, in one transaction.
func (s *Postgres) AddGrants(ctx context.Context, all []gate.Grant) error {
	if err := storableGrants(all); err != nil {
		return err
	}
	return s.doTx(ctx, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		if err := o.clear(ctx, pgGrantExpire, pgGrantPurge); err != nil {
			return err
		}
		for _, g := range all {
			if o.now.over(g.Expires, o.now) {
				return errNotAhead("grant.expires")
			}
			sum := grantSum(g)
			n, err := o.change(ctx, pgGrantInsert, "id", g.ID, "granted", g.Granted.UnixNano(), "expiry", g.Expires.UnixNano(),
				"principal", g.Principal, "session", g.Session.Name, "mode", string(g.Session.Mode), "backend", g.Session.Backend,
				"opt_in", g.Session.OptIn, "value", g.Value, "reason", g.Reason, "card", g.Card, "decider", g.Decider, "sum", sum[:])
			switch {
			case err != nil:
				return err
			case n == 0:
				return o.living(ctx, errGrantTaken(g.ID))
			}
		}
		return nil
	})
}

// clear ends what has expired and forgets what ended long ago.
func (o *pgOp) clear(ctx context.Context, expire, purge string) error {
	_, err := o.change(ctx, expire)
	if err == nil {
		_, err = o.change(ctx, purge, "retention", o.s.opts.Retention.Nanoseconds())
	}
	return err
}

// Grants lists those of this bridge that are in force, oldest first.
func (s *Postgres) Grants(ctx context.Context, now time.Time) ([]gate.Grant, error) {
	return pgListPermits(ctx, s, now, pgGrantExpire, pgGrantList, pgScanGrant)
}

func pgListPermits[T any](ctx context.Context, s *Postgres, now time.Time, expire, q string, scan func(pgx.Row) (T, error)) (out []T, err error) {
	err = s.do(ctx, looks, s.opts.read(now), func(ctx context.Context, o *pgOp) error {
		_, _ = o.change(ctx, expire) // a full disk lists all the same, and lists none of these
		rows, err := o.q.Query(ctx, q, o.args())
		if err != nil {
			return s.fault(err)
		}
		defer rows.Close()
		for rows.Next() {
			v, err := scan(rows)
			if err != nil {
				return s.fault(err)
			}
			out = append(out, v)
		}
		if err := rows.Err(); err != nil {
			return s.fault(err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// RevokeGrant ends one and reports whether it was in force: one conditional write.
func (s *Postgres) RevokeGrant(ctx context.Context, id string, now time.Time) (bool, error) {
	n, err := s.endPermits(ctx, now, pgGrantExpire, pgGrantRevoke, "id", id)
	return n > 0, err
}

// RevokeCard ends those that one card has made: one conditional write.
func (s *Postgres) RevokeCard(ctx context.Context, callID string, now time.Time) (int, error) {
	n, err := s.endPermits(ctx, now, pgGrantExpire, pgGrantRevokeCard, "card", callID)
	return int(n), err
}

// endPermits ends what has expired, so that a clock that is set back doesn't make it
// in force again after somebody was told that it isn't, and then what q does.
func (s *Postgres) endPermits(ctx context.Context, now time.Time, expire, q, field, of string) (n int64, err error) {
	err = s.do(ctx, looks, s.opts.read(now), func(ctx context.Context, o *pgOp) error {
		if _, err := o.change(ctx, expire); err != nil {
			return err
		}
		n, err = o.change(ctx, q, field, of)
		return err
	})
	return n, err
}

// AddRoutine stores one of which nothing has been fired, in one transaction.
func (s *Postgres) AddRoutine(ctx context.Context, r gate.Routine) error {
	if err := storableRoutine(r); err != nil {
		return err
	}
	return s.doTx(ctx, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		if err := o.clear(ctx, pgRoutineExpire, pgRoutinePurge); err != nil {
			return err
		}
		if o.now.over(r.Expires, o.now) {
			return errNotAhead("routine.expires")
		}
		sum := routineSum(r)
		n, err := o.change(ctx, pgRoutineInsert, "id", r.ID, "registered", r.Registered.UnixNano(), "expiry", r.Expires.UnixNano(),
			"firings", r.Firings, "name", r.Name, "principal", r.Principal, "session", r.Session.Name, "mode", string(r.Session.Mode),
			"backend", r.Session.Backend, "opt_in", r.Session.OptIn, "decider", r.Decider, "digest", r.Digest[:], "sum", sum[:], "snapshot", r.Snapshot)
		if err != nil || n == 1 {
			return err
		}
		var taken bool
		if err := o.q.QueryRow(ctx, pgRoutineTaken, o.args("id", r.ID)).Scan(&taken); err != nil {
			return s.fault(err)
		}
		if taken {
			return errRoutineTaken("id", r.ID)
		}
		return o.living(ctx, errRoutineTaken("name", r.Name))
	})
}

// Routine returns the one of this bridge in force that has a name.
func (s *Postgres) Routine(ctx context.Context, session, principal, name string, now time.Time) (r gate.Routine, err error) {
	err = s.do(ctx, looks, s.opts.read(now), func(ctx context.Context, o *pgOp) error {
		_, _ = o.change(ctx, pgRoutineExpire) // counts even where it can't be written
		r, err = pgScanRoutine(o.q.QueryRow(ctx, pgRoutineNamed, o.args("session", session, "principal", principal, "name", name)), true)
		return o.noneIs(err, noRoutine("name", name))
	})
	if err != nil {
		return gate.Routine{}, err
	}
	return r, nil
}

// noneIs tells that there is no row from everything else that can go wrong.
func (o *pgOp) noneIs(err, none error) error {
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return none
	case err != nil:
		return o.s.fault(err)
	}
	return nil
}

// Routines lists those of this bridge in force, oldest first, without snapshots.
func (s *Postgres) Routines(ctx context.Context, now time.Time) ([]gate.Routine, error) {
	return pgListPermits(ctx, s, now, pgRoutineExpire, pgRoutineList, func(r pgx.Row) (gate.Routine, error) { return pgScanRoutine(r, false) })
}

// Fire counts one firing: one conditional write, committed before it returns. Where
// its end wasn't heard it may have been counted, and permits nothing.
func (s *Postgres) Fire(ctx context.Context, id string, fired int, now time.Time) error {
	return s.do(ctx, lives, s.opts.read(now), func(ctx context.Context, o *pgOp) error {
		n, err := o.change(ctx, pgRoutineFire, "id", id, "fired", fired)
		if err != nil || n == 1 {
			return err
		}
		// It wasn't, and this is why.
		r, err := pgScanRoutine(o.q.QueryRow(ctx, pgRoutineGet, o.args("id", id)), true)
		if err = o.noneIs(err, noRoutine("id", id)); err != nil {
			_, _ = o.change(ctx, pgRoutineExpire) // counts even where it can't be written
			return err
		}
		if err := noFiring(r, fired); err != nil {
			return err
		}
		return o.living(ctx, errNoChange("firing"))
	})
}

// EndRoutine ends one and reports whether it was in force: one conditional write.
func (s *Postgres) EndRoutine(ctx context.Context, id string, now time.Time) (bool, error) {
	n, err := s.endPermits(ctx, now, pgRoutineExpire, pgRoutineEnd, "id", id)
	return n > 0, err
}

// pgScanGrant reads a grant, if it is what was written.
func pgScanGrant(row pgx.Row) (gate.Grant, error) {
	var id, principal, session, mode, backend, optIn, value, reason, card, decider raw
	var granted, expiry int64
	var sum []byte
	if err := row.Scan(&id, &granted, &expiry, &principal, &session, &mode, &backend, &optIn, &value, &reason, &card, &decider, &sum); err != nil {
		return gate.Grant{}, err
	}
	g := gate.Grant{
		ID: string(id), Principal: string(principal), Value: string(value), Reason: string(reason), Card: string(card), Decider: string(decider),
		Session: gate.Session{Name: string(session), Mode: gate.Mode(mode), Backend: string(backend), OptIn: string(optIn)},
		Granted: unix(granted), Expires: unix(expiry),
	}
	if want := grantSum(g); !bytes.Equal(sum, want[:]) {
		return gate.Grant{}, pgDamaged(fmt.Errorf("grant %q: %w", g.ID, errSum))
	}
	return g, nil
}

// pgScanRoutine reads a routine; with its snapshot, if it is what was written.
func pgScanRoutine(row pgx.Row, whole bool) (gate.Routine, error) {
	var id, name, principal, session, mode, backend, optIn, decider raw
	var registered, expiry, fired, firings int64
	var digest, sum, snapshot []byte
	dest := []any{&id, &registered, &expiry, &fired, &firings, &name, &principal, &session, &mode, &backend, &optIn, &decider, &digest, &sum}
	if whole {
		dest = append(dest, &snapshot)
	}
	if err := row.Scan(dest...); err != nil {
		return gate.Routine{}, err
	}
	r := gate.Routine{
		ID: string(id), Name: string(name), Principal: string(principal), Decider: string(decider),
		Session: gate.Session{Name: string(session), Mode: gate.Mode(mode), Backend: string(backend), OptIn: string(optIn)},
		Fired:   int(fired), Firings: int(firings), Registered: unix(registered), Expires: unix(expiry), Snapshot: snapshot,
	}
	if len(digest) != len(r.Digest) {
		return gate.Routine{}, pgDamaged(fmt.Errorf("routine %q: a hash has the wrong length", r.ID))
	}
	r.Digest = [32]byte(digest)
	if want := routineSum(r); whole && !bytes.Equal(sum, want[:]) {
		return gate.Routine{}, pgDamaged(fmt.Errorf("routine %q: %w", r.ID, errSum))
	}
	return r, nil
}
