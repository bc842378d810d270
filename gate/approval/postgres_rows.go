package approval

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tau-robot/tau/gate"
)

// raw scans bytes into a string; any bytes.
type raw string

// ScanBytes copies v, which is pgx's.
func (r *raw) ScanBytes(v []byte) error {
	*r = raw(v)
	return nil
}

// pgRow is a row as it was read.
type pgRow struct {
	stored
	owner  int64
	home   string
	keeper string
	nonce  string
	until  time.Time // of the nonce
	posted gate.Decision
	by     string
	said   string
	mine   bool // this bridge has it, or one that has ended
	lives  bool // the bridge that has it does
}

// pgLightRow are the destinations of pgLight's columns.
type pgLightRow struct {
	v                             light
	r                             pgRow
	id, worker, decider           raw
	tool, effect, session, mode   raw
	backend, optIn, who, origin   raw
	home, keeper, nonce, by, said raw
	until                         int64
	decision, tier, posted        int16
	claims                        int32
}

func (p *pgLightRow) dest() []any {
	v := &p.v
	return []any{
		&p.id, &v.state, &v.secret, &v.digest, &v.asked, &v.opened, &v.openedBoot, &v.openedID, &v.expiry, &p.claims, &p.worker,
		&v.claimed, &v.claimedBoot, &v.renewed, &v.renewedBoot, &v.leaseID, &v.l, &p.decision, &p.decider,
		&p.tool, &p.tier, &p.effect, &p.session, &p.mode, &p.backend, &p.optIn, &p.who, &p.origin, &v.sum, &v.bulk, &v.args, &v.facts, &v.r.rec.GoneOn,
		&p.r.owner, &p.home, &p.keeper, &p.nonce, &p.until, &p.posted, &p.by, &p.said, &p.r.mine, &p.r.lives,
	}
}

// row makes a row of what was scanned, if it is what was written.
func (p *pgLightRow) row(home string) (pgRow, error) {
	v := &p.v
	rec := &v.r.rec
	q := &rec.Request
	q.CallID, q.Tool, q.Effect = string(p.id), string(p.tool), string(p.effect)
	q.Session = gate.Session{Name: string(p.session), Backend: string(p.backend), OptIn: string(p.optIn)}
	q.Principal, q.Origin = string(p.who), string(p.origin)
	v.mode, v.decision, v.tier, v.r.worker = string(p.mode), int64(p.decision), int64(p.tier), string(p.worker)
	rec.Claims, rec.Decider = int(p.claims), string(p.decider)
	s, err := v.row()
	if err != nil {
		return pgRow{}, pgDamaged(err)
	}
	r := p.r
	r.stored = s
	r.home, r.keeper, r.nonce, r.by, r.said = string(p.home), string(p.keeper), string(p.nonce), string(p.by), string(p.said)
	r.posted, r.until = gate.Decision(p.posted), unix(p.until)
	if r.home != home {
		r.rec.Owner = r.keeper
	}
	return r, nil
}

// pgDamaged says what to do about a row that isn't what was written.
func pgDamaged(err error) error {
	why := err
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // it is taken apart, not compared
		for _, e := range joined.Unwrap() {
			if !errors.Is(e, ErrDamaged) {
				why = e
			}
		}
	}
	return fmt.Errorf("%w (%w); nothing of it was changed: restore it, or take that row away; "+
		"what was approved in it is then not run, and what was started is not run again", ErrDamaged, why)
}

func (s *Postgres) scanLight(row pgx.Row) (pgRow, error) {
	var p pgLightRow
	if err := row.Scan(p.dest()...); err != nil {
		return pgRow{}, err
	}
	return p.row(s.home)
}

// scanFull reads a row with its bulk.
func (s *Postgres) scanFull(row pgx.Row) (pgRow, error) {
	var p pgLightRow
	var answer, drawing, snapshot []byte
	if err := row.Scan(append(p.dest(), &answer, &drawing, &snapshot)...); err != nil {
		return pgRow{}, err
	}
	r, err := p.row(s.home)
	if err != nil {
		return r, err
	}
	r.rec.Answer, r.rec.Request.Card.Data, r.rec.Snapshot = answer, drawing, snapshot
	if _, bulk := sums(r.rec.Request, p.v.facts, snapshot); bulk != r.bulk {
		return pgRow{}, pgDamaged(fmt.Errorf("request %q: the check sum of its snapshot is wrong", r.rec.Request.CallID))
	}
	return r, nil
}

// pgRequestArgs are the parameters of pgInsert that come from the request.
func pgRequestArgs(a pgx.NamedArgs, req gate.Request, snapshot []byte, secret gate.Secret) error {
	facts, err := json.Marshal(cardText{req.Card.Facts, req.Card.Assumed})
	if err != nil {
		return gate.Errf(gate.CodeInvalidArgument, "card", "%w", err)
	}
	sum, bulk := sums(req, facts, snapshot)
	hash := hashOf(secret)
	for name, v := range map[string]any{
		"id": []byte(req.CallID), "secret": hash[:], "digest": req.Digest[:], "asked": req.Asked.UnixNano(), "expiry": req.Expiry.UnixNano(),
		"tool": []byte(req.Tool), "tier": int16(req.Tier.Number()), "effect": []byte(req.Effect),
		"session": []byte(req.Session.Name), "mode": []byte(req.Session.Mode), "backend": []byte(req.Session.Backend), "opt_in": []byte(req.Session.OptIn),
		"principal": []byte(req.Principal), "origin": []byte(req.Origin), "sum": sum[:], "bulk": bulk[:],
		"args": []byte(req.Args), "facts": facts, "drawing": []byte(req.Card.Data), "snapshot": snapshot,
	} {
		a[name] = v
	}
	return nil
}

// args are the parameters that nearly every statement has, and more of them.
func (o *pgOp) args(more ...any) pgx.NamedArgs {
	a := pgx.NamedArgs{
		"now": o.now.wall.UnixNano(), "boot": o.now.boot.Nanoseconds(), "boot_id": o.now.id, "slack": clockSlack.Nanoseconds(),
		"me": o.me, "home": []byte(o.s.home), "keeper": []byte(o.s.name),
	}
	for i := 0; i+1 < len(more); i += 2 {
		name, ok := more[i].(string)
		if !ok {
			continue
		}
		if v, ok := more[i+1].(string); ok {
			a[name] = []byte(v)
			continue
		}
		a[name] = more[i+1]
	}
	return a
}
