package approval

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tau-robot/tau/gate"
)

// stored is a row as it was read.
type stored struct {
	rec     gate.Record
	secret  [32]byte
	opened  reading
	worker  string
	renewed reading
	lease   time.Time
	bulk    [32]byte
}

func (r stored) lapsed(now reading) bool { return r.opened.over(r.rec.Request.Expiry, now) }

func (r stored) leaseOver(now reading) bool { return r.renewed.over(r.lease, now) }

func unix(ns int64) time.Time { return time.Unix(0, ns).UTC() }

// cardText is a card without its drawing.
type cardText struct {
	Facts   []gate.Fact `json:"facts,omitempty"`
	Assumed []string    `json:"assumed,omitempty"`
}

// sums returns the check sums of what never changes of a request.
func sums(req gate.Request, facts, snapshot []byte) (sum, bulk [32]byte) {
	var b bytes.Buffer
	part := func(p []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		b.Write(n[:])
		b.Write(p)
	}
	part(req.Card.Data)
	part(snapshot)
	bulk = sha256.Sum256(b.Bytes())
	return sumOf(req, facts, bulk), bulk
}

func sumOf(req gate.Request, facts []byte, bulk [32]byte) [32]byte {
	var b bytes.Buffer
	part := func(p []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(p)))
		b.Write(n[:])
		b.Write(p)
	}
	for _, s := range []string{
		"tau request 1", req.CallID, req.Tool, req.Effect, req.Session.Name, string(req.Session.Mode), req.Session.Backend, req.Session.OptIn,
		req.Principal, req.Origin, req.Tier.String(),
	} {
		part([]byte(s))
	}
	part(req.Digest[:])
	part(req.Args)
	part(facts)
	part(bulk[:])
	for _, t := range []time.Time{req.Asked, req.Expiry} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(t.UnixNano()))
		part(n[:])
	}
	return sha256.Sum256(b.Bytes())
}

// rowArgs are the parameters of sqlInsert that come from the request.
func rowArgs(req gate.Request, snapshot []byte, secret gate.Secret, now reading) ([]any, error) {
	facts, err := json.Marshal(cardText{req.Card.Facts, req.Card.Assumed})
	if err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "card", "%w", err)
	}
	sum, bulk := sums(req, facts, snapshot)
	hash := hashOf(secret)
	return append(now.args(),
		sql.Named("id", req.CallID), sql.Named("secret", hash[:]), sql.Named("digest", req.Digest[:]),
		sql.Named("asked", req.Asked.UnixNano()), sql.Named("expiry", req.Expiry.UnixNano()),
		sql.Named("tool", req.Tool), sql.Named("tier", req.Tier.Number()), sql.Named("effect", req.Effect),
		sql.Named("session", req.Session.Name), sql.Named("mode", string(req.Session.Mode)), sql.Named("backend", req.Session.Backend), sql.Named("opt_in", req.Session.OptIn),
		sql.Named("principal", req.Principal), sql.Named("origin", req.Origin),
		sql.Named("sum", sum[:]), sql.Named("bulk", bulk[:]),
		sql.Named("args", []byte(req.Args)), sql.Named("facts", facts),
		sql.Named("drawing", []byte(req.Card.Data)), sql.Named("snapshot", snapshot),
	), nil
}

// args are the parameters that nearly every statement has.
func (r reading) args() []any {
	return []any{
		sql.Named("now", r.wall.UnixNano()), sql.Named("boot", r.boot.Nanoseconds()), sql.Named("boot_id", r.id),
		sql.Named("slack", clockSlack.Nanoseconds()),
	}
}

type scanner interface{ Scan(dest ...any) error }

// light are the destinations of sqlLight's columns.
type light struct {
	r                                             stored
	state, mode                                   string
	secret, digest, sum, bulk, args, facts        []byte
	asked, opened, openedBoot, expiry             int64
	claimed, claimedBoot, renewed, renewedBoot, l int64
	openedID, leaseID                             string
	decision, tier                                int64
}

func (v *light) dest() []any {
	q := &v.r.rec.Request
	return []any{
		&q.CallID, &v.state, &v.secret, &v.digest, &v.asked, &v.opened, &v.openedBoot, &v.openedID, &v.expiry, &v.r.rec.Claims, &v.r.worker,
		&v.claimed, &v.claimedBoot, &v.renewed, &v.renewedBoot, &v.leaseID, &v.l, &v.decision, &v.r.rec.Decider,
		&q.Tool, &v.tier, &q.Effect, &q.Session.Name, &v.mode, &q.Session.Backend, &q.Session.OptIn, &q.Principal, &q.Origin, &v.sum, &v.bulk, &v.args, &v.facts,
		&v.r.rec.GoneOn,
	}
}

// row makes a row of what was scanned, if it is what was written.
func (v *light) row() (stored, error) {
	r := v.r
	q := &r.rec.Request
	bad := func(err error) (stored, error) {
		return stored{}, damaged(fmt.Errorf("request %q: %w", q.CallID, err))
	}
	var card cardText
	if err := json.Unmarshal(v.facts, &card); err != nil {
		return bad(err)
	}
	if len(v.secret) != 32 || len(v.digest) != 32 || len(v.sum) != 32 || len(v.bulk) != 32 {
		return bad(errors.New("a hash has the wrong length"))
	}
	r.secret, q.Digest, r.bulk = [32]byte(v.secret), [32]byte(v.digest), [32]byte(v.bulk)
	q.Session.Mode, q.Tier = gate.Mode(v.mode), gate.Tier(v.tier+1)
	q.Args, q.Card.Facts, q.Card.Assumed = v.args, card.Facts, card.Assumed
	q.Asked, q.Expiry = unix(v.asked), unix(v.expiry)
	r.rec.State, r.rec.Decision = gate.RequestState(v.state), gate.Decision(v.decision)
	r.opened = reading{unix(v.opened), time.Duration(v.openedBoot), v.openedID}
	r.renewed = reading{unix(v.renewed), time.Duration(v.renewedBoot), v.leaseID}
	r.lease = unix(v.l)
	if sumOf(*q, v.facts, r.bulk) != [32]byte(v.sum) {
		return bad(errors.New("its check sum is wrong"))
	}
	return r, nil
}

func scanLight(s scanner) (stored, error) {
	var v light
	if err := s.Scan(v.dest()...); err != nil {
		return stored{}, err
	}
	return v.row()
}

// scanFull reads a row with its bulk.
func scanFull(s scanner) (stored, error) {
	var v light
	var answer, drawing, snapshot []byte
	if err := s.Scan(append(v.dest(), &answer, &drawing, &snapshot)...); err != nil {
		return stored{}, err
	}
	r, err := v.row()
	if err != nil {
		return r, err
	}
	r.rec.Answer, r.rec.Request.Card.Data, r.rec.Snapshot = answer, drawing, snapshot
	if _, bulk := sums(r.rec.Request, v.facts, snapshot); bulk != r.bulk {
		return stored{}, damaged(fmt.Errorf("request %q: the check sum of its snapshot is wrong", r.rec.Request.CallID))
	}
	return r, nil
}
