package approval

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tau-robot/tau/gate"
)

// get reads a row; one whose expiry has passed is ended first, unless another bridge
// has it, which does so itself. That it is so counts even where it can't be written.
func (o *pgOp) get(ctx context.Context, id string) (pgRow, error) {
	r, err := o.s.scanFull(o.q.QueryRow(ctx, pgGet, o.args("id", id)))
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return pgRow{}, notFound(id)
	case err != nil:
		return pgRow{}, o.s.fault(err)
	}
	if open := r.rec.State == gate.RequestPending || r.rec.State == gate.RequestClaimed; open && r.lapsed(o.now) {
		_, _ = o.change(ctx, pgExpire, "id", id)
		r.rec.State = gate.RequestExpired
	}
	return r, nil
}

func errElsewhere(keeper string) error {
	return gate.Errf(gate.CodeInProgress, "call_id", "bridge %s has the request; answer it there, or post the answer to it", keeper)
}

func errLeft(keeper string) error {
	return gate.Errf(gate.CodeDisconnected, "call_id", "bridge %s, which asked it, has ended; the request has to be taken up here first", keeper)
}

// notMine says why a write of this bridge changed nothing although the request is as
// it should be.
func (o *pgOp) notMine(ctx context.Context, r pgRow, what string) error {
	switch {
	case !r.mine:
		return errElsewhere(r.keeper)
	case r.home != o.s.home:
		return errLeft(r.keeper)
	}
	return o.living(ctx, errNoChange(what))
}

// living returns ErrCutOff where the server says that this bridge doesn't live, else err.
func (o *pgOp) living(ctx context.Context, err error) error {
	var yes bool
	if qerr := o.q.QueryRow(ctx, "SELECT "+pgLive, o.args()).Scan(&yes); qerr != nil {
		return o.s.fault(qerr)
	}
	if !yes {
		return o.s.fault(ErrCutOff)
	}
	return err
}

// tidy ends and forgets what has had its time.
func (o *pgOp) tidy(ctx context.Context) error {
	if _, err := o.change(ctx, pgExpireAll); err != nil {
		return err
	}
	_, err := o.change(ctx, pgPurge, "retention", o.s.opts.Retention.Nanoseconds())
	return err
}

// Open stores a new request as pending.
func (s *Postgres) Open(ctx context.Context, req gate.Request, snapshot []byte) (secret gate.Secret, err error) {
	if req, err = storable(req, snapshot); err != nil {
		return gate.Secret{}, err
	}
	err = s.doTx(ctx, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		if err := o.tidy(ctx); err != nil {
			return err
		}
		secret, err = o.insert(ctx, req, snapshot)
		return err
	})
	if err != nil {
		return gate.Secret{}, err
	}
	return secret, nil
}

func (o *pgOp) insert(ctx context.Context, req gate.Request, snapshot []byte) (gate.Secret, error) {
	secret, err := newSecret(o.s.opts.Rand)
	if err != nil {
		return gate.Secret{}, err
	}
	switch r, err := o.get(ctx, req.CallID); {
	case err == nil && r.rec.Request.Digest != req.Digest:
		return gate.Secret{}, errTaken(req.CallID)
	case err == nil && r.rec.State != gate.RequestPending:
		return gate.Secret{}, stateError(r.rec.State)
	case err == nil:
		return secret, o.renewSecret(ctx, r, secret)
	case gate.CodeOf(err) != gate.CodeInvalidArgument:
		return gate.Secret{}, err
	}
	if o.now.over(req.Expiry, o.now) {
		return gate.Secret{}, gate.Errf(gate.CodeRequestExpired, "expiry", "is not ahead")
	}
	a := o.args()
	if err := pgRequestArgs(a, req, snapshot, secret); err != nil {
		return gate.Secret{}, err
	}
	tag, err := o.q.Exec(ctx, pgInsert, a)
	switch {
	case err != nil:
		return gate.Secret{}, o.s.fault(err)
	case tag.RowsAffected() == 1:
		return secret, nil
	}
	// Somebody was a moment quicker with the same id.
	return gate.Secret{}, o.living(ctx, gate.Errf(gate.CodeInProgress, "call_id", "the same call is being asked; ask for its status"))
}

func (o *pgOp) renewSecret(ctx context.Context, r pgRow, secret gate.Secret) error {
	hash := hashOf(secret)
	n, err := o.change(ctx, pgSecret, "id", r.rec.Request.CallID, "secret", hash[:])
	if err == nil && n != 1 {
		err = o.notMine(ctx, r, "secret")
	}
	return err
}

// Read returns a request, with a fresh secret where it can be claimed. One that
// another living bridge has is IN_PROGRESS; Get looks at it.
func (s *Postgres) Read(ctx context.Context, id string, now time.Time) (rec gate.Record, secret gate.Secret, err error) {
	at := s.opts.read(now)
	err = s.do(ctx, lives, at, func(ctx context.Context, o *pgOp) error {
		r, err := o.get(ctx, id)
		if err != nil {
			return err
		}
		rec = r.rec
		if rec.State != gate.RequestPending && !(rec.State == gate.RequestClaimed && r.leaseOver(at)) {
			return nil
		}
		rec.Owner = "" // from here on it is this bridge's
		if secret, err = newSecret(s.opts.Rand); err != nil {
			return err
		}
		return o.renewSecret(ctx, r, secret)
	})
	if err != nil {
		return gate.Record{}, gate.Secret{}, err
	}
	return rec, secret, nil
}

// Claim takes a request for a worker: one conditional write (G42).
func (s *Postgres) Claim(ctx context.Context, c gate.Claim) (l gate.Lease, err error) {
	if err := checkClaim(c); err != nil {
		return gate.Lease{}, err
	}
	now := s.opts.read(c.Now)
	err = s.do(ctx, lives, now, func(ctx context.Context, o *pgOp) error {
		hash, until := hashOf(c.Secret), c.Now.Add(s.opts.Lease)
		n, err := o.change(ctx, pgClaim, "id", c.ID, "secret", hash[:], "digest", c.Digest[:], "claims", c.Claims,
			"max_claims", s.opts.MaxClaims, "worker", c.Worker, "decider", c.Decider, "lease", until.UnixNano())
		switch {
		case err != nil:
			return err
		case n == 1:
			l = gate.Lease{ID: c.ID, Worker: c.Worker, Claims: c.Claims + 1, Until: until}
			return nil
		}
		// It wasn't, and this is why.
		r, err := o.get(ctx, c.ID)
		if err != nil {
			return err
		}
		if err = noClaim(r.rec, r.secret, r.leaseOver(now), s.opts.MaxClaims, c); err == nil {
			err = o.notMine(ctx, r, "claim")
		}
		if gate.CodeOf(err) == gate.CodeRequestExpired && r.rec.State != gate.RequestExpired { // above the cap
			if _, err := o.change(ctx, pgExpire, "id", c.ID); err != nil {
				return err
			}
		}
		return err
	})
	if err != nil {
		return gate.Lease{}, err
	}
	return l, nil
}

// whyNot says why a lease isn't in force; nil: it is.
func (o *pgOp) whyNot(ctx context.Context, l gate.Lease) error {
	r, err := o.get(ctx, l.ID)
	if err != nil {
		return err
	}
	if err := noLease(r.rec, r.worker, r.leaseOver(o.now), l); err != nil {
		return err
	}
	if r.owner != o.me { // another life of this bridge claimed it, or another bridge
		return stateError(gate.RequestClaimed)
	}
	return o.living(ctx, nil)
}

// refusal says why a write that needs a lease changed nothing.
func (o *pgOp) refusal(ctx context.Context, l gate.Lease) error {
	if err := o.whyNot(ctx, l); err != nil {
		return err
	}
	return errNoChange("lease")
}

func leaseArgs(l gate.Lease, more ...any) []any {
	return append([]any{"id", l.ID, "worker", l.Worker, "claims", l.Claims}, more...)
}

// Renew prolongs a lease.
func (s *Postgres) Renew(ctx context.Context, l gate.Lease, now time.Time) (gate.Lease, error) {
	err := s.do(ctx, lives, s.opts.read(now), func(ctx context.Context, o *pgOp) error {
		n, err := o.change(ctx, pgRenew, leaseArgs(l, "lease", now.Add(s.opts.Lease).UnixNano(), "hard_stop", s.opts.HardStop.Nanoseconds())...)
		if err != nil {
			return err
		}
		if n == 0 {
			if err := o.whyNot(ctx, l); err != nil {
				return err
			}
			return errHardStop()
		}
		r, err := o.get(ctx, l.ID)
		l.Until = r.lease
		return err
	})
	if err != nil {
		return gate.Lease{}, err
	}
	return l, nil
}

// Start records that physics is about to begin: one conditional write, committed
// before it returns (G44). One whose end wasn't heard may be recorded all the same;
// it permits nothing, and what is finished then is stored as it was answered.
func (s *Postgres) Start(ctx context.Context, l gate.Lease, now time.Time) error {
	return s.do(ctx, lives, s.opts.read(now), func(ctx context.Context, o *pgOp) error {
		n, err := o.change(ctx, pgStart, leaseArgs(l)...)
		switch {
		case err != nil:
			s.doubt(l.ID, true)
			return err
		case n == 1:
			return nil
		}
		return o.refusal(ctx, l)
	})
}

// doubt remembers, or forgets, that a start may be recorded that wasn't permitted.
func (s *Postgres) doubt(id string, yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if yes {
		s.doubtful[id] = true
	} else {
		delete(s.doubtful, id)
	}
}

func (s *Postgres) inDoubt(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.doubtful[id]
}

// Moved records that a session has moved without a request.
func (s *Postgres) Moved(ctx context.Context, session string) error {
	return s.do(ctx, looks, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		_, err := o.change(ctx, pgMoved, "session", session)
		return err
	})
}

// Replace withdraws a claimed request and opens another one, in one transaction.
func (s *Postgres) Replace(ctx context.Context, l gate.Lease, req gate.Request, snapshot []byte, now time.Time) (secret gate.Secret, err error) {
	if req, err = storable(req, snapshot); err != nil {
		return gate.Secret{}, err
	}
	err = s.doTx(ctx, s.opts.read(now), func(ctx context.Context, o *pgOp) error {
		n, err := o.change(ctx, pgReplaced, leaseArgs(l, "answer", replacedBy(req.CallID))...)
		switch {
		case err != nil:
			return err
		case n == 0:
			return o.refusal(ctx, l)
		}
		if _, err := o.get(ctx, req.CallID); err == nil {
			return errTaken(req.CallID)
		}
		secret, err = o.insert(ctx, req, snapshot)
		return err
	})
	if err != nil {
		return gate.Secret{}, err
	}
	return secret, nil
}

// Finish ends a request. One that another living bridge has is IN_PROGRESS.
func (s *Postgres) Finish(ctx context.Context, id string, e gate.Ending) error {
	state, answer := e.State, e.Answer
	if len(answer) > maxAnswer {
		answer = nil
	}
	return s.do(ctx, looks, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		args := []any{"id", id, "state", string(state), "answer", answer, "decider", e.Decider}
		q := pgFinishOpen
		if slices.Contains(ends(gate.RequestStarted), state) {
			q = pgFinishStarted
		}
		if isEnd(state) {
			n, err := o.change(ctx, q, args...)
			if err != nil || n == 1 {
				return err
			}
		}
		r, err := o.get(ctx, id)
		if err != nil {
			return err
		}
		if r.rec.State == gate.RequestStarted && isEnd(state) && s.inDoubt(id) {
			// Recorded as started and not run: the answer, stored with it, says so.
			args[3] = string(gate.RequestDone)
			if n, err := o.change(ctx, pgFinishStarted, args...); err != nil || n == 1 {
				s.doubt(id, err != nil)
				return err
			}
		}
		if !r.mine && slices.Contains(ends(r.rec.State), state) {
			return errElsewhere(r.keeper)
		}
		return cantFinish(r.rec.State, state)
	})
}

// Get returns a request, whoever has it.
func (s *Postgres) Get(ctx context.Context, id string) (rec gate.Record, err error) {
	err = s.do(ctx, looks, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		r, err := o.get(ctx, id)
		rec = r.rec
		return err
	})
	if err != nil {
		return gate.Record{}, err
	}
	return rec, nil
}

// Pending lists open requests of all bridges, oldest first, without their bulk.
func (s *Postgres) Pending(ctx context.Context, now time.Time) (out []gate.Record, err error) {
	err = s.do(ctx, looks, s.opts.read(now), func(ctx context.Context, o *pgOp) error {
		_, _ = o.change(ctx, pgExpireAll) // a full disk lists all the same, and lists none of these
		rows, err := o.list(ctx, pgPending)
		for _, r := range rows {
			out = append(out, r.rec)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (o *pgOp) list(ctx context.Context, q string, more ...any) ([]pgRow, error) {
	rows, err := o.q.Query(ctx, q, o.args(more...))
	if err != nil {
		return nil, o.s.fault(err)
	}
	defer rows.Close()
	var out []pgRow
	for rows.Next() {
		r, err := o.s.scanLight(rows)
		if err != nil {
			return nil, o.s.fault(err)
		}
		out = append(out, r)
	}
	if err := rows.Err(); err != nil {
		return nil, o.s.fault(err)
	}
	return out, nil
}

// Recover settles what workers left that have ended: other workers of this process,
// and every bridge that doesn't live. What this bridge asked in an earlier life is its
// own again; what another one asked stays that one's.
func (s *Postgres) Recover(ctx context.Context, worker string, now time.Time) (gate.Recovered, error) {
	var out gate.Recovered
	err := s.doTx(ctx, s.opts.read(now), func(ctx context.Context, o *pgOp) error {
		out = gate.Recovered{}
		if err := o.tidy(ctx); err != nil {
			return err
		}
		left, err := o.list(ctx, pgTodo, "worker", worker)
		if err != nil {
			return err
		}
		for _, r := range left {
			if r.rec.State == gate.RequestStarted {
				r.rec.State = gate.RequestUnknown
				out.Unknown = append(out.Unknown, r.rec)
			} else {
				out.Reopened = append(out.Reopened, r.rec)
			}
		}
		for _, q := range slices.Concat([]string{pgUnknown, pgReopen, pgAdoptOwn, pgRebase}, pgPermitRebase) {
			if _, err := o.change(ctx, q, "worker", worker); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return gate.Recovered{}, err
	}
	return out, nil
}
