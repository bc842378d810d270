package approval

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/tau-robot/tau/gate"
)

// change runs one conditional write and returns how many rows it changed.
func (s *SQLite) change(ctx context.Context, q string, args ...any) (int64, error) {
	res, err := s.stmts[q].ExecContext(ctx, args...)
	if err != nil {
		return 0, s.fault(err)
	}
	n, err := res.RowsAffected()
	if err == nil && !s.inTx {
		err = s.count(ctx)
	}
	if err != nil {
		return 0, s.fault(err)
	}
	return n, nil
}

// count writes down how many changes there have been.
func (s *SQLite) count(ctx context.Context) error {
	var id []byte
	var n uint64
	if err := s.stmts[sqlTallied].QueryRowContext(ctx).Scan(&id, &n); err != nil {
		return err
	}
	return s.tally.write(n)
}

// settle makes the count outlive a loss of power, in methods that nothing waits for
// to begin to move. What it was behind by isn't lost, but couldn't be missed.
func (s *SQLite) settle(err error) error {
	if serr := s.tally.sync(); serr != nil && err == nil {
		err = s.fault(serr)
	}
	return err
}

// get reads a row; one whose expiry has passed is ended first. That it is so
// counts even where it can't be written.
func (s *SQLite) get(ctx context.Context, id string, now reading) (stored, error) {
	r, err := scanFull(s.stmts[sqlGet].QueryRowContext(ctx, sql.Named("id", id)))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return stored{}, notFound(id)
	case err != nil:
		return stored{}, s.fault(err)
	}
	if open := r.rec.State == gate.RequestPending || r.rec.State == gate.RequestClaimed; open && r.lapsed(now) {
		_, _ = s.change(ctx, sqlExpire, append(now.args(), sql.Named("id", id))...)
		r.rec.State = gate.RequestExpired
	}
	return r, nil
}

// tx runs f in one transaction, which it is part of or nothing of it is.
func (s *SQLite) tx(ctx context.Context, f func() error) error {
	if _, err := s.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return s.fault(err)
	}
	s.inTx = true
	err := f()
	s.inTx = false
	if err == nil {
		if _, err = s.conn.ExecContext(ctx, "COMMIT"); err == nil {
			if err = s.count(ctx); err != nil {
				return s.fault(err)
			}
			return nil
		}
		err = s.fault(err)
	}
	// An error may have rolled back already, and then there is nothing to roll back.
	_, _ = s.conn.ExecContext(ctx, "ROLLBACK")
	return err
}

// Open stores a new request as pending.
func (s *SQLite) Open(ctx context.Context, req gate.Request, snapshot []byte) (gate.Secret, error) {
	req, err := storable(req, snapshot)
	if err != nil {
		return gate.Secret{}, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return gate.Secret{}, err
	}
	defer leave()
	now := s.opts.read(s.opts.Now())
	var secret gate.Secret
	err = s.tx(ctx, func() error {
		if _, err := s.change(ctx, sqlExpireAll, now.args()...); err != nil {
			return err
		}
		if _, err := s.change(ctx, sqlPurge, append(now.args(), sql.Named("retention", s.opts.Retention.Nanoseconds()))...); err != nil {
			return err
		}
		secret, err = s.insert(ctx, req, snapshot, now)
		return err
	})
	return secret, s.settle(err)
}

func (s *SQLite) insert(ctx context.Context, req gate.Request, snapshot []byte, now reading) (gate.Secret, error) {
	secret, err := newSecret(s.opts.Rand)
	if err != nil {
		return gate.Secret{}, err
	}
	switch r, err := s.get(ctx, req.CallID, now); {
	case err == nil && r.rec.Request.Digest != req.Digest:
		return gate.Secret{}, errTaken(req.CallID)
	case err == nil && r.rec.State != gate.RequestPending:
		return gate.Secret{}, stateError(r.rec.State)
	case err == nil:
		return secret, s.renewSecret(ctx, req.CallID, secret, now)
	case gate.CodeOf(err) != gate.CodeInvalidArgument:
		return gate.Secret{}, err
	}
	if now.over(req.Expiry, now) {
		return gate.Secret{}, gate.Errf(gate.CodeRequestExpired, "expiry", "is not ahead")
	}
	args, err := rowArgs(req, snapshot, secret, now)
	if err == nil {
		_, err = s.change(ctx, sqlInsert, args...)
	}
	if err != nil {
		return gate.Secret{}, err
	}
	return secret, nil
}

func (s *SQLite) renewSecret(ctx context.Context, id string, secret gate.Secret, now reading) error {
	hash := hashOf(secret)
	n, err := s.change(ctx, sqlSecret, append(now.args(), sql.Named("id", id), sql.Named("secret", hash[:]))...)
	if err == nil && n != 1 {
		err = errNoChange("secret")
	}
	return err
}

// Read returns a request, with a fresh secret where it can be claimed.
func (s *SQLite) Read(ctx context.Context, id string, now time.Time) (gate.Record, gate.Secret, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return gate.Record{}, gate.Secret{}, err
	}
	defer leave()
	at := s.opts.read(now)
	r, err := s.get(ctx, id, at)
	if err != nil {
		return gate.Record{}, gate.Secret{}, err
	}
	if r.rec.State != gate.RequestPending && !(r.rec.State == gate.RequestClaimed && r.leaseOver(at)) {
		return r.rec, gate.Secret{}, nil
	}
	secret, err := newSecret(s.opts.Rand)
	if err == nil {
		err = s.renewSecret(ctx, id, secret, at)
	}
	if err != nil {
		return gate.Record{}, gate.Secret{}, err
	}
	return r.rec, secret, nil
}

// Claim takes a request for a worker: one conditional write (G42).
func (s *SQLite) Claim(ctx context.Context, c gate.Claim) (gate.Lease, error) {
	if err := checkClaim(c); err != nil {
		return gate.Lease{}, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return gate.Lease{}, err
	}
	defer leave()
	now := s.opts.read(c.Now)
	hash, until := hashOf(c.Secret), c.Now.Add(s.opts.Lease)
	n, err := s.change(ctx, sqlClaim, append(now.args(),
		sql.Named("id", c.ID), sql.Named("secret", hash[:]), sql.Named("digest", c.Digest[:]), sql.Named("claims", c.Claims),
		sql.Named("max_claims", s.opts.MaxClaims), sql.Named("worker", c.Worker), sql.Named("decider", c.Decider),
		sql.Named("lease", until.UnixNano()))...)
	switch {
	case err != nil:
		return gate.Lease{}, err
	case n == 1:
		return gate.Lease{ID: c.ID, Worker: c.Worker, Claims: c.Claims + 1, Until: until}, nil
	}
	// It wasn't, and this is why.
	r, err := s.get(ctx, c.ID, now)
	if err != nil {
		return gate.Lease{}, err
	}
	if err = noClaim(r.rec, r.secret, r.leaseOver(now), s.opts.MaxClaims, c); err == nil {
		err = errNoChange("claim")
	}
	if gate.CodeOf(err) == gate.CodeRequestExpired && r.rec.State != gate.RequestExpired { // above the cap
		if _, err := s.change(ctx, sqlExpire, append(now.args(), sql.Named("id", c.ID))...); err != nil {
			return gate.Lease{}, err
		}
	}
	return gate.Lease{}, err
}

func (s *SQLite) leaseArgs(l gate.Lease, now reading, more ...any) []any {
	return append(append(now.args(), sql.Named("id", l.ID), sql.Named("worker", l.Worker), sql.Named("claims", l.Claims)), more...)
}

// whyNot says why a lease isn't in force.
func (s *SQLite) whyNot(ctx context.Context, l gate.Lease, now reading) error {
	r, err := s.get(ctx, l.ID, now)
	if err != nil {
		return err
	}
	return noLease(r.rec, r.worker, r.leaseOver(now), l)
}

// Renew prolongs a lease.
func (s *SQLite) Renew(ctx context.Context, l gate.Lease, now time.Time) (gate.Lease, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return gate.Lease{}, err
	}
	defer leave()
	at := s.opts.read(now)
	n, err := s.change(ctx, sqlRenew, s.leaseArgs(l, at,
		sql.Named("lease", now.Add(s.opts.Lease).UnixNano()), sql.Named("hard_stop", s.opts.HardStop.Nanoseconds()))...)
	if err != nil {
		return gate.Lease{}, err
	}
	if n == 0 {
		if err := s.whyNot(ctx, l, at); err != nil {
			return gate.Lease{}, err
		}
		return gate.Lease{}, errHardStop()
	}
	r, err := s.get(ctx, l.ID, at)
	l.Until = r.lease
	return l, err
}

// Start records that physics is about to begin: one conditional write, synced
// before it returns (G44).
func (s *SQLite) Start(ctx context.Context, l gate.Lease, now time.Time) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	at, began := s.opts.read(now), int64(0)
	err = s.tx(ctx, func() error {
		if began, err = s.change(ctx, sqlStart, s.leaseArgs(l, at)...); err != nil || began == 0 {
			return err
		}
		_, err := s.change(ctx, sqlOvertake, sql.Named("id", l.ID))
		return err
	})
	if err != nil || began == 1 {
		return err
	}
	if err := s.whyNot(ctx, l, at); err != nil {
		return err
	}
	return errNoChange("lease")
}

// Moved records that a session has moved without a request.
func (s *SQLite) Moved(ctx context.Context, session string) error {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	_, err = s.change(ctx, sqlMoved, sql.Named("session", session))
	return err
}

// leased runs a write that needs a lease in force.
func (s *SQLite) leased(ctx context.Context, q string, l gate.Lease, now reading, more ...any) error {
	n, err := s.change(ctx, q, s.leaseArgs(l, now, more...)...)
	if err != nil || n == 1 {
		return err
	}
	if err := s.whyNot(ctx, l, now); err != nil {
		return err
	}
	return errNoChange("lease")
}

// Replace withdraws a claimed request and opens another one, in one transaction.
func (s *SQLite) Replace(ctx context.Context, l gate.Lease, req gate.Request, snapshot []byte, now time.Time) (gate.Secret, error) {
	req, err := storable(req, snapshot)
	if err != nil {
		return gate.Secret{}, err
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return gate.Secret{}, err
	}
	defer leave()
	at := s.opts.read(now)
	var secret gate.Secret
	err = s.tx(ctx, func() error {
		if err := s.leased(ctx, sqlReplaced, l, at, sql.Named("answer", replacedBy(req.CallID))); err != nil {
			return err
		}
		if _, err := s.get(ctx, req.CallID, at); err == nil {
			return errTaken(req.CallID)
		}
		secret, err = s.insert(ctx, req, snapshot, at)
		return err
	})
	return secret, s.settle(err)
}

// Finish ends a request.
func (s *SQLite) Finish(ctx context.Context, id string, e gate.Ending) error {
	state, answer := e.State, e.Answer
	if len(answer) > maxAnswer {
		answer = nil
	}
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	now := s.opts.read(s.opts.Now())
	q := sqlFinishOpen
	if slices.Contains(ends(gate.RequestStarted), state) {
		q = sqlFinishStarted
	}
	if isEnd(state) {
		n, err := s.change(ctx, q, append(now.args(), sql.Named("id", id), sql.Named("state", string(state)), sql.Named("answer", answer), sql.Named("decider", e.Decider))...)
		if err != nil || n == 1 {
			return s.settle(err)
		}
	}
	r, err := s.get(ctx, id, now)
	if err != nil {
		return err
	}
	return cantFinish(r.rec.State, state)
}

// Get returns a request.
func (s *SQLite) Get(ctx context.Context, id string) (gate.Record, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return gate.Record{}, err
	}
	defer leave()
	r, err := s.get(ctx, id, s.opts.read(s.opts.Now()))
	return r.rec, err
}

// Pending lists open requests, oldest first, without their bulk.
func (s *SQLite) Pending(ctx context.Context, now time.Time) ([]gate.Record, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	at := s.opts.read(now)
	_, _ = s.change(ctx, sqlExpireAll, at.args()...) // a full disk lists all the same, and lists none of these
	return s.list(ctx, sqlPending, at.args()...)
}

func (s *SQLite) list(ctx context.Context, q string, args ...any) ([]gate.Record, error) {
	rows, err := s.stmts[q].QueryContext(ctx, args...)
	if err != nil {
		return nil, s.fault(err)
	}
	defer func() { _ = rows.Close() }() // Err is looked at
	var out []gate.Record
	for rows.Next() {
		r, err := scanLight(rows)
		if err != nil {
			return nil, s.fault(err)
		}
		out = append(out, r.rec)
	}
	if err := rows.Err(); err != nil {
		return nil, s.fault(err)
	}
	return out, nil
}

// Recover settles what an earlier process left: whoever has the file open is the
// only one, so the others have ended.
func (s *SQLite) Recover(ctx context.Context, worker string, now time.Time) (gate.Recovered, error) {
	ctx, leave, err := s.enter(ctx)
	if err != nil {
		return gate.Recovered{}, err
	}
	defer leave()
	at := s.opts.read(now)
	var out gate.Recovered
	err = s.tx(ctx, func() error {
		if _, err := s.change(ctx, sqlExpireAll, at.args()...); err != nil {
			return err
		}
		if _, err := s.change(ctx, sqlPurge, append(at.args(), sql.Named("retention", s.opts.Retention.Nanoseconds()))...); err != nil {
			return err
		}
		left, err := s.list(ctx, sqlLeft, sql.Named("worker", worker))
		if err != nil {
			return err
		}
		for _, r := range left {
			if r.State == gate.RequestStarted {
				r.State = gate.RequestUnknown
				out.Unknown = append(out.Unknown, r)
			} else {
				out.Reopened = append(out.Reopened, r)
			}
		}
		for _, q := range []string{sqlUnknown, sqlReopen} {
			if _, err := s.change(ctx, q, append(at.args(), sql.Named("worker", worker))...); err != nil {
				return err
			}
		}
		for _, q := range append([]string{sqlRebase}, permitRebase...) {
			if _, err := s.change(ctx, q, at.args()...); err != nil {
				return err
			}
		}
		return nil
	})
	if err = s.settle(err); err != nil {
		return gate.Recovered{}, err
	}
	return out, nil
}

// errNoChange says that a condition held when it was looked at and not when it was
// written; nothing was permitted by it.
func errNoChange(what string) error {
	return gate.Errf(gate.CodeInternal, what, "the request changed while it was written; nothing was permitted")
}
