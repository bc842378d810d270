package bridge

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/cmd/tau/internal/attach"
	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
)

// makeKey puts an operator's key into a data folder, and returns it.
func makeKey(t *testing.T, dir string) *signed.Private {
	t.Helper()
	k, err := signed.NewPrivate(rand.Reader)
	require.NoError(t, err)
	e, err := signed.NewEntry("ann", signed.KindOperator, k.Public(), time.Now())
	require.NoError(t, err)
	e, err = k.Vouch(e)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, signed.InitRing(dir, e))
	return k
}

// asked is a running bridge with a trusted key, and a socket to it.
type askedHost struct {
	*Host
	t      *testing.T
	key    *signed.Private
	client attach.Client
}

func startAsked(t *testing.T, change ...func(*Setup)) *askedHost {
	t.Helper()
	s := setup(t)
	s.Rehearse = false
	key := makeKey(t, s.DataDir)
	s.Outside = Outside{Answers: true, Key: key.ID()}
	for _, c := range change {
		c(&s)
	}
	h, err := Start(s)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return &askedHost{Host: h, t: t, key: key, client: attach.Client{Socket: datadir.Socket(h.Path()), Key: key}}
}

// move asks for a motion and waits until it is the open question.
func (h *askedHost) move(pan string) (gate.Ticket, gate.Request) {
	h.t.Helper()
	ticket := h.Gate.Submit(gate.Invocation{
		Tool: "move_joints", Args: json.RawMessage(`{"positions":{"shoulder_pan":` + pan + `}}`), Session: "sim", Principal: Agent, Origin: "test",
	})
	for {
		changed := h.operator.desk.Changed()
		if open := h.operator.desk.Open(); len(open) == 1 {
			return ticket, open[0].Request
		}
		select {
		case <-changed:
		case <-time.After(time.Minute):
			h.t.Fatal("nobody was asked")
		}
	}
}

func (h *askedHost) send(req control.Request) control.Reply {
	h.t.Helper()
	r, err := control.Send(h.t.Context(), h.client.Socket, req)
	require.NoError(h.t, err)
	return r
}

// statement is the yes to a request with a nonce of the bridge's; change makes it
// another before it is signed.
func (h *askedHost) statement(req gate.Request, by *signed.Private, change ...func(*signed.Statement)) control.Request {
	h.t.Helper()
	r := h.send(control.Request{Verb: control.Nonce, Purpose: "approve", ID: req.CallID})
	require.True(h.t, r.OK, r.Text)
	s := signed.Statement{
		Purpose: signed.Approve, ID: req.CallID, Digest: req.Digest, Decision: "approve", Nonce: r.Nonce.Nonce, Expiry: r.Nonce.Expires,
		Params: signed.Params(signed.ShownParam, signed.Shown(req)),
	}
	for _, c := range change {
		c(&s)
	}
	m, err := by.Sign(s)
	require.NoError(h.t, err)
	return control.Request{Verb: control.Approve, Statement: m.Statement, Signature: m.Signature}
}

func (h *askedHost) end(ticket gate.Ticket) gate.Answer {
	h.t.Helper()
	select {
	case <-ticket.Done():
	case <-time.After(time.Minute):
		h.t.Fatal("the call doesn't end")
	}
	return ticket.Answer()
}

// power is what somebody has: keys, sessions, tokens.
func (h *askedHost) power() string {
	entries, _ := h.operator.ring.List()
	b, err := json.Marshal(entries)
	require.NoError(h.t, err)
	for _, s := range h.all.List() {
		b = append(b, s.Name+string(s.Mode)...)
		for _, t := range h.tokensOf(s.Name) {
			b = append(b, t...)
		}
	}
	return string(b)
}

func (h *askedHost) approvals() []gate.Event {
	return slices.DeleteFunc(eventsOf(h.t, h.Host), func(e gate.Event) bool { return e.Type != "approval" })
}

// TestG34_WithTheSocketAloneNobodyApproves: every verb, and what a process of the same
// user could send with it. Nothing that gives power does anything, and each refusal is
// recorded with its own reason; what takes power away works.
func TestG34_WithTheSocketAloneNobodyApproves(t *testing.T) {
	h := startAsked(t)
	ticket, req := h.move("0.3")
	stranger, err := signed.NewPrivate(rand.Reader)
	require.NoError(t, err)
	revoked, err := signed.NewPrivate(rand.Reader)
	require.NoError(t, err)
	e, err := signed.NewEntry("lost phone", signed.KindDevice, revoked.Public(), time.Now())
	require.NoError(t, err)
	e, err = h.key.Vouch(e)
	require.NoError(t, err)
	require.NoError(t, h.operator.ring.Add(e))
	require.True(t, h.send(control.Request{Verb: control.Revoke, Kind: "device", ID: e.ID}).OK, "revoking needs no key")
	had := h.power()

	good := h.statement(req, h.key)
	attempts := map[string]struct {
		req    control.Request
		reason gate.Reason
	}{
		"nothing signed":    {control.Request{Statement: []byte("yes"), Signature: []byte("yes")}, signed.ReasonMalformed},
		"no signature":      {control.Request{Statement: good.Statement, Signature: []byte{}}, signed.ReasonSignature},
		"somebody's key":    {h.statement(req, stranger), signed.ReasonUnknown},
		"somebody's, named": {control.Request{Statement: good.Statement, Signature: h.statement(req, stranger).Signature}, signed.ReasonSignature},
		"a revoked key":     {h.statement(req, revoked), signed.ReasonRevoked},
		"another digest":    {h.statement(req, h.key, func(s *signed.Statement) { s.Digest[0] ^= 1 }), signed.ReasonDigest},
		"another request":   {h.statement(req, h.key, func(s *signed.Statement) { s.ID = "ffffffffffffffffffffffffffffffff" }), signed.ReasonOther},
		"another card": {h.statement(req, h.key, func(s *signed.Statement) {
			r := req.Clone()
			r.Effect = "Moves nothing."
			s.Params = signed.Params(signed.ShownParam, signed.Shown(r))
		}), signed.ReasonShown},
		"expired":         {h.statement(req, h.key, func(s *signed.Statement) { s.Expiry = time.Now().Add(-time.Second) }), signed.ReasonExpired},
		"for ever":        {h.statement(req, h.key, func(s *signed.Statement) { s.Expiry = time.Now().Add(time.Hour) }), signed.ReasonExpired},
		"a nonce made up": {h.statement(req, h.key, func(s *signed.Statement) { s.Nonce = "00112233445566778899aabbccddeeff" }), signed.ReasonNonce},
		"a no as a yes":   {h.statement(req, h.key, func(s *signed.Statement) { s.Purpose, s.Decision = signed.Reject, "reject" }), signed.ReasonPurpose},
		"for another verb": {h.statement(req, h.key, func(s *signed.Statement) {
			s.Purpose, s.Decision, s.Params, s.Digest = signed.Session, "", nil, signed.ParamsDigest(nil)
		}), signed.ReasonPurpose},
	}
	for _, verb := range control.Verbs() {
		if !control.GivesPower(verb) {
			continue
		}
		bare := h.send(control.Request{Verb: verb})
		require.False(t, bare.OK, verb)
		require.Equal(t, gate.CodeInvalidArgument, bare.Code, verb)
		for name, a := range attempts {
			before := len(eventsOf(t, h.Host))
			a.req.Verb = verb
			r := h.send(a.req)
			require.False(t, r.OK, "%s: %s", verb, name)
			require.Equal(t, gate.CodeNotApproved, r.Code, "%s: %s: %s", verb, name, r.Text)
			es := eventsOf(t, h.Host)[before:]
			require.Len(t, es, 1, "%s: %s", verb, name)
			require.Equal(t, "operator", es[0].Where)
			if verb == control.Approve {
				require.Equal(t, string(a.reason), es[0].Reason, name)
			}
		}
		// A yes that is as it should be is none for another verb.
		if verb != control.Approve {
			other := h.statement(req, h.key)
			other.Verb = verb
			require.False(t, h.send(other).OK, verb)
		}
	}
	require.Equal(t, had, h.power())
	require.Empty(t, h.approvals())
	require.Len(t, h.operator.desk.Open(), 1, "the question is as open as it was")

	// What the socket alone may do.
	list := h.send(control.Request{Verb: control.List})
	require.Len(t, list.Requests, 1)
	require.True(t, list.Requests[0].Open)
	shown := h.send(control.Request{Verb: control.Show, ID: req.CallID})
	require.Equal(t, req.CallID, shown.Requests[0].CallID)
	require.NotEmpty(t, shown.Requests[0].Card.Facts)
	require.Len(t, h.send(control.Request{Verb: control.Devices}).Keys, 2)
	require.Len(t, h.send(control.Request{Verb: control.Sessions}).Sessions, 1)
	require.True(t, h.send(control.Request{Verb: control.Grants}).OK)
	require.True(t, h.send(control.Request{Verb: control.Reject, ID: req.CallID, Reason: "not now"}).OK)
	a := h.end(ticket)
	require.Equal(t, gate.CodeNotApproved, a.Code)
	as := h.approvals()
	require.Len(t, as, 1)
	require.Equal(t, "rejected", as[0].Decision)
	require.Equal(t, byControl, as[0].Decider)
	require.Contains(t, as[0].Reason, "not now")
	require.False(t, h.send(control.Request{Verb: control.Reject, ID: req.CallID}).OK, "it has ended")
	_, _ = h.move("0.2")
	require.True(t, h.send(control.Request{Verb: "stop"}).OK)
	require.True(t, h.send(control.Request{Verb: "estop"}).OK)
}

// TestG34_NoMutationOfAValidStatementApproves, over the socket, at a bridge that has
// the question open; and the statement itself then does, once.
func TestG34_NoMutationOfAValidStatementApproves(t *testing.T) {
	h := startAsked(t)
	ticket, req := h.move("0.3")
	good := h.statement(req, h.key)
	rapid.Check(t, func(rt *rapid.T) {
		bad := control.Request{Verb: control.Approve, Statement: bytes.Clone(good.Statement), Signature: bytes.Clone(good.Signature)}
		of := &bad.Statement
		if rapid.Bool().Draw(rt, "signature") {
			of = &bad.Signature
		}
		i := rapid.IntRange(0, len(*of)-1).Draw(rt, "at")
		switch rapid.IntRange(0, 2).Draw(rt, "how") {
		case 0:
			(*of)[i] ^= 1 << rapid.IntRange(0, 7).Draw(rt, "bit")
		case 1:
			*of = append((*of)[:i], (*of)[i+1:]...)
		default:
			*of = slices.Insert(*of, i, rapid.Byte().Draw(rt, "byte"))
		}
		r := h.send(bad)
		require.False(rt, r.OK)
		require.Len(rt, h.operator.desk.Open(), 1)
	})
	require.Empty(t, h.approvals())
	require.True(t, h.send(good).OK)
	require.Equal(t, gate.StatusOK, h.end(ticket).Status)
	require.False(t, h.send(good).OK, "replayed")
	// Nor does it do for the same motion, asked again.
	_, again := h.move("0.3")
	require.NotEqual(t, req.CallID, again.CallID)
	require.False(t, h.send(good).OK)
	require.Len(t, h.approvals(), 1)
}

// TestCase64_OfConcurrentSignedAnswersOneRunsIt: each as valid as the others.
func TestCase64_OfConcurrentSignedAnswersOneRunsIt(t *testing.T) {
	h := startAsked(t)
	ticket, req := h.move("0.3")
	const n = 20
	var all []control.Request
	for range n {
		all = append(all, h.statement(req, h.key))
	}
	var wg sync.WaitGroup
	replies := make(chan control.Reply, n)
	for _, r := range all {
		wg.Go(func() { replies <- h.send(r) })
	}
	wg.Wait()
	close(replies)
	ok := 0
	for r := range replies {
		if r.OK {
			ok++
			continue
		}
		require.Contains(t, []gate.Code{gate.CodeInProgress, gate.CodeInvalidArgument}, r.Code, r.Text)
	}
	require.Equal(t, 1, ok)
	require.Equal(t, gate.StatusOK, h.end(ticket).Status)
	as := h.approvals()
	require.Len(t, as, 1)
	require.Equal(t, Operator, as[0].Decider)
	rec, err := h.Gate.Stored(t.Context(), req.CallID)
	require.NoError(t, err)
	require.Equal(t, gate.RequestDone, rec.State)
	require.Equal(t, 1, rec.Claims)
	require.Equal(t, Operator, rec.Decider)
}
