package approval

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tau-robot/tau/gate"
)

// PostLife is how long an answer that was posted can be taken: an approval that hasn't
// started within that of the decision lapses (G44). The server's clock counts.
const PostLife = 10 * time.Second

// Share is a request of another bridge, as it stands.
type Share struct {
	Record gate.Record // State is what it is; Owner names the bridge
	Lives  bool        // that bridge does
	// Nonce is what an answer to the question names that lies open there, until Until
	// by that bridge's clock; "": it isn't open there.
	Nonce  string
	Until  time.Time
	Posted gate.Decision // an answer that is on its way there; 0: none
	By     string        // whose
	Said   string        // why that bridge hasn't taken the last one; "": nothing is said
}

func (r pgRow) share() Share {
	return Share{Record: r.rec, Lives: r.lives, Nonce: r.nonce, Until: r.until, Posted: r.posted, By: r.by, Said: r.said}
}

// Shares lists the open requests of other bridges, oldest first, without their bulk.
func (s *Postgres) Shares(ctx context.Context, now time.Time) (out []Share, err error) {
	err = s.do(ctx, looks, s.opts.read(now), func(ctx context.Context, o *pgOp) error {
		rows, err := o.list(ctx, pgShares)
		for _, r := range rows {
			out = append(out, r.share())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Share returns a request, whole. With an empty Record.Owner it is this bridge's.
func (s *Postgres) Share(ctx context.Context, id string) (out Share, err error) {
	err = s.do(ctx, looks, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		r, err := o.get(ctx, id)
		out = r.share()
		return err
	})
	if err != nil {
		return Share{}, err
	}
	return out, nil
}

// Posting is an answer to another bridge's request.
type Posting struct {
	ID       string
	Digest   [32]byte
	Decision gate.Decision // Approved or Rejected
	By       string        // who says so; for an Approved only what Proof proves counts
	Reason   gate.Reason
	Proof    []byte // what the other bridge has to be convinced by; at most 64 KiB
}

const maxProof = 64 << 10

// Post leaves an answer for the bridge that has the request, and tells it: one
// conditional write. Of any number of answers the first is kept, the others are
// IN_PROGRESS. Whether it counts is that bridge's to say, which takes it within
// PostLife or not at all. A request that isn't open any more, that isn't asked yet (a
// yes), that is this bridge's own or that of one that has ended, is an *Error.
func (s *Postgres) Post(ctx context.Context, p Posting) error {
	switch {
	case p.Decision != gate.Approved && p.Decision != gate.Rejected:
		return gate.Errf(gate.CodeInvalidArgument, "decision", "is neither yes nor no")
	case len(p.Proof) > maxProof:
		return gate.Errf(gate.CodeInvalidArgument, "proof", "has %d bytes, at most %d are allowed", len(p.Proof), maxProof)
	}
	if p.Proof == nil {
		p.Proof = []byte{}
	}
	return s.do(ctx, lives, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		done, err := o.told(ctx, pgPost, "id", p.ID, "digest", p.Digest[:], "posted", int16(p.Decision), "by", p.By, "reason", string(p.Reason),
			"proof", p.Proof, "stale", PostLife, "channel", s.channel())
		if err != nil || done {
			return err
		}
		r, err := o.get(ctx, p.ID)
		switch {
		case err != nil:
			return err
		case r.rec.State != gate.RequestPending:
			return stateError(r.rec.State)
		case r.rec.Request.Digest != p.Digest:
			return gate.Errf(gate.CodeNotApproved, "digest", "what was decided isn't what the request is")
		case r.owner == o.me:
			return gate.Errf(gate.CodeInvalidArgument, "call_id", "the request is this bridge's own")
		case !r.lives:
			return errLeft(r.keeper)
		case p.Decision == gate.Approved && r.nonce == "":
			return gate.Errf(gate.CodeInProgress, "call_id", "it isn't open at bridge %s yet: it waits for its turn there", r.keeper)
		}
		return gate.Errf(gate.CodeInProgress, "call_id", "resume in progress: it has been answered")
	})
}

// told runs a write that notifies, and reports whether it changed something.
func (o *pgOp) told(ctx context.Context, q string, more ...any) (bool, error) {
	var seq int64
	err := o.q.QueryRow(ctx, q, o.args(more...)).Scan(&seq, nil)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, o.s.fault(err)
	}
	return true, nil
}

// Asks says that one of this bridge's requests lies open on its desk, and which nonce
// an answer to it names, until when. A request that isn't open, or not this bridge's,
// is left alone.
func (s *Postgres) Asks(ctx context.Context, id, nonce string, until time.Time) error {
	return s.do(ctx, lives, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		_, err := o.told(ctx, pgAsks, "id", id, "nonce", nonce, "until", until.UnixNano(), "channel", s.channel())
		return err
	})
}

// Posted lists this bridge's requests to which an answer has been posted, oldest
// first, and what it says.
func (s *Postgres) Posted(ctx context.Context) (ids []string, says []gate.Decision, err error) {
	err = s.do(ctx, lives, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		rows, err := o.q.Query(ctx, pgPosted, o.args())
		if err != nil {
			return s.fault(err)
		}
		defer rows.Close()
		for rows.Next() {
			var id raw
			var d int16
			if err := rows.Scan(&id, &d); err != nil {
				return s.fault(err)
			}
			ids, says = append(ids, string(id)), append(says, gate.Decision(d))
		}
		if err := rows.Err(); err != nil {
			return s.fault(err)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return ids, says, nil
}

// Take takes the answer that was posted to one of this bridge's requests: one
// conditional write, so that it is handed out once. false: there is none, or its time
// has passed.
func (s *Postgres) Take(ctx context.Context, id string) (p Posting, ok bool, err error) {
	err = s.do(ctx, lives, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		var d int16
		var by, reason raw
		err := o.q.QueryRow(ctx, pgTake, o.args("id", id, "stale", PostLife)).Scan(&d, &by, &reason, &p.Proof)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return s.fault(err)
		}
		ok = true
		p.ID, p.Decision, p.By, p.Reason = id, gate.Decision(d), string(by), gate.Reason(reason)
		return nil
	})
	if err != nil {
		return Posting{}, false, err
	}
	return p, ok, nil
}

// Says tells whoever posted an answer why it wasn't taken.
func (s *Postgres) Says(ctx context.Context, id, why string) error {
	return s.do(ctx, looks, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		_, err := o.told(ctx, pgSays, "id", id, "said", why, "channel", s.channel())
		return err
	})
}

// Adopt makes a request of a bridge that has ended this one's: one conditional write.
// Of any number of bridges one gets it; for the others it is IN_PROGRESS. What was
// posted to it is void.
func (s *Postgres) Adopt(ctx context.Context, id string) error {
	return s.do(ctx, lives, s.opts.read(s.opts.Now()), func(ctx context.Context, o *pgOp) error {
		n, err := o.change(ctx, pgAdopt, "id", id)
		if err != nil || n == 1 {
			return err
		}
		r, err := o.get(ctx, id)
		switch {
		case err != nil:
			return err
		case r.rec.State != gate.RequestPending:
			return stateError(r.rec.State)
		case r.owner == o.me:
			return gate.Errf(gate.CodeInProgress, "call_id", "the request is this bridge's already")
		case !r.mine:
			return errElsewhere(r.keeper)
		}
		return o.living(ctx, errNoChange("adopt"))
	})
}
