package approval

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/tau-robot/tau/gate"
)

var (
	_ gate.Grants   = (*SQLite)(nil)
	_ gate.Routines = (*SQLite)(nil)
)

// AddGrants stores what one card has granted, in one transaction.
func (s *SQLite) AddGrants(ctx context.Context, all []gate.Grant) error {
	if err := storableGrants(all); err != nil {
		return err
	}
	return s.permit(ctx, func(ctx context.Context, now reading) error {
		if err := s.clear(ctx, now, sqlGrantExpire, sqlGrantPurge); err != nil {
			return err
		}
		for _, g := range all {
			if taken, err := s.taken(ctx, sqlGrantTaken, g.ID); err != nil {
				return err
			} else if taken {
				return errGrantTaken(g.ID)
			}
			if now.over(g.Expires, now) {
				return errNotAhead("grant.expires")
			}
			if _, err := s.change(ctx, sqlGrantInsert, grantArgs(g, now)...); err != nil {
				return err
			}
		}
		return nil
	})
}

// permit runs f in one transaction at the store's own time.
func (s *SQLite) permit(ctx context.Context, f func(ctx context.Context, now reading) error) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	now := s.opts.read(s.opts.Now())
	return s.settle(s.tx(ctx, func() error { return f(ctx, now) }))
}

// clear ends what has expired and forgets what ended long ago.
func (s *SQLite) clear(ctx context.Context, now reading, expire, purge string) error {
	_, err := s.change(ctx, expire, now.args()...)
	if err == nil {
		_, err = s.change(ctx, purge, append(now.args(), sql.Named("retention", s.opts.Retention.Nanoseconds()))...)
	}
	return err
}

func (s *SQLite) taken(ctx context.Context, q, id string) (bool, error) {
	var n int
	if err := s.stmts[q].QueryRowContext(ctx, sql.Named("id", id)).Scan(&n); err != nil {
		return false, s.fault(err)
	}
	return n > 0, nil
}

// Grants lists those in force, oldest first.
func (s *SQLite) Grants(ctx context.Context, now time.Time) ([]gate.Grant, error) {
	return listPermits(ctx, s, now, sqlGrantExpire, sqlGrantList, scanGrant)
}

func listPermits[T any](ctx context.Context, s *SQLite, now time.Time, expire, q string, scan func(scanner) (T, error)) ([]T, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	at := s.opts.read(now)
	_, _ = s.change(ctx, expire, at.args()...) // a full disk lists all the same, and lists none of these
	rows, err := s.stmts[q].QueryContext(ctx, at.args()...)
	if err != nil {
		return nil, s.fault(err)
	}
	out, err := collect(rows, scan)
	if err != nil {
		return nil, s.fault(err)
	}
	return out, nil
}

// RevokeGrant ends one and reports whether it was in force: one conditional write.
func (s *SQLite) RevokeGrant(ctx context.Context, id string, now time.Time) (bool, error) {
	n, err := s.endPermits(ctx, now, sqlGrantExpire, sqlGrantRevoke, sql.Named("id", id))
	return n > 0, err
}

// RevokeCard ends those that one card has made: one conditional write.
func (s *SQLite) RevokeCard(ctx context.Context, callID string, now time.Time) (int, error) {
	n, err := s.endPermits(ctx, now, sqlGrantExpire, sqlGrantRevokeCard, sql.Named("card", callID))
	return int(n), err
}

// endPermits ends what has expired, so that a clock that is set back doesn't make it
// in force again after somebody was told that it isn't, and then what q does.
func (s *SQLite) endPermits(ctx context.Context, now time.Time, expire, q string, of sql.NamedArg) (n int64, err error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	at := s.opts.read(now)
	err = s.tx(ctx, func() error {
		if _, err := s.change(ctx, expire, at.args()...); err != nil {
			return err
		}
		n, err = s.change(ctx, q, append(at.args(), of)...)
		return err
	})
	return n, s.settle(err)
}

// AddRoutine stores one of which nothing has been fired, in one transaction.
func (s *SQLite) AddRoutine(ctx context.Context, r gate.Routine) error {
	if err := storableRoutine(r); err != nil {
		return err
	}
	return s.permit(ctx, func(ctx context.Context, now reading) error {
		if err := s.clear(ctx, now, sqlRoutineExpire, sqlRoutinePurge); err != nil {
			return err
		}
		if taken, err := s.taken(ctx, sqlRoutineTaken, r.ID); err != nil {
			return err
		} else if taken {
			return errRoutineTaken("id", r.ID)
		}
		switch _, err := s.named(ctx, r.Session.Name, r.Principal, r.Name, now); gate.CodeOf(err) {
		case gate.CodeNotApproved: // there is none
		case "":
			return errRoutineTaken("name", r.Name)
		default:
			return err
		}
		if now.over(r.Expires, now) {
			return errNotAhead("routine.expires")
		}
		_, err := s.change(ctx, sqlRoutineInsert, routineArgs(r, now)...)
		return err
	})
}

// named reads a routine by its name; the caller holds the connection.
func (s *SQLite) named(ctx context.Context, session, principal, name string, now reading) (gate.Routine, error) {
	r, err := scanRoutine(s.stmts[sqlRoutineNamed].QueryRowContext(ctx, append(now.args(),
		sql.Named("session", session), sql.Named("principal", principal), sql.Named("name", name))...), true)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return r, noRoutine("name", name)
	case err != nil:
		return r, s.fault(err)
	}
	return r, nil
}

// Routine returns the one in force that has a name.
func (s *SQLite) Routine(ctx context.Context, session, principal, name string, now time.Time) (gate.Routine, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return gate.Routine{}, err
	}
	defer leave()
	at := s.opts.read(now)
	_, _ = s.change(ctx, sqlRoutineExpire, at.args()...) // counts even where it can't be written
	return s.named(ctx, session, principal, name, at)
}

// Routines lists those in force, oldest first, without snapshots.
func (s *SQLite) Routines(ctx context.Context, now time.Time) ([]gate.Routine, error) {
	return listPermits(ctx, s, now, sqlRoutineExpire, sqlRoutineList, func(r scanner) (gate.Routine, error) { return scanRoutine(r, false) })
}

// Fire counts one firing: one conditional write, synced before it returns.
func (s *SQLite) Fire(ctx context.Context, id string, fired int, now time.Time) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	at := s.opts.read(now)
	n, err := s.change(ctx, sqlRoutineFire, append(at.args(), sql.Named("id", id), sql.Named("fired", fired))...)
	if err != nil || n == 1 {
		return err
	}
	// It wasn't, and this is why.
	r, err := scanRoutine(s.stmts[sqlRoutineGet].QueryRowContext(ctx, append(at.args(), sql.Named("id", id))...), true)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		_, _ = s.change(ctx, sqlRoutineExpire, at.args()...) // counts even where it can't be written
		return noRoutine("id", id)
	case err != nil:
		return s.fault(err)
	}
	if err := noFiring(r, fired); err != nil {
		return err
	}
	return errNoChange("firing")
}

// EndRoutine ends one and reports whether it was in force: one conditional write.
func (s *SQLite) EndRoutine(ctx context.Context, id string, now time.Time) (bool, error) {
	n, err := s.endPermits(ctx, now, sqlRoutineExpire, sqlRoutineEnd, sql.Named("id", id))
	return n > 0, err
}
