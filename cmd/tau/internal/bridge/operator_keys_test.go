package bridge

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/attach"
	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/mcp"
)

// A device is enrolled by a code at a terminal that has the operator's key, answers, and
// nothing more; revoked, it doesn't any more.
func TestG34_ADeviceIsEnrolledByThePairingCodeAndAnswers(t *testing.T) {
	h := startAsked(t)
	phone, err := signed.NewPrivate(rand.Reader)
	require.NoError(t, err)
	pair := func(confirm bool) (control.Pairing, *signed.Candidate, error) {
		req, err := h.client.Statement(t.Context(), control.Pair, signed.Enrol, signed.PairingID, nil)
		require.NoError(t, err)
		var last control.Pairing
		var c *signed.Candidate
		err = control.Follow(t.Context(), h.client.Socket, req, func(r control.Reply) error {
			if !r.OK {
				return &attach.Refused{Reply: r}
			}
			last = *r.Pairing
			switch {
			case last.Code != "":
				c, err = h.operator.pairing.Present(last.Code, "ann's phone", phone.Public())
				return err
			case last.Name != "" && confirm:
				e, err := signed.NewEntry(last.Name, signed.KindDevice, last.Public, time.Now())
				require.NoError(t, err)
				e, err = h.key.Vouch(e)
				require.NoError(t, err)
				_, err = h.client.Power(t.Context(), control.Enrol, signed.Enrol, e.ID, e.Params())
				return err
			case last.Name != "":
				return os.ErrPermission // whoever holds the key goes away
			}
			return nil
		})
		return last, c, err
	}
	_, c, err := pair(false)
	require.ErrorIs(t, err, os.ErrPermission)
	require.ErrorIs(t, c.Err(), signed.ErrNotEnrolled)
	last, c, err := pair(true)
	require.NoError(t, err)
	require.True(t, last.Enrolled)
	require.NoError(t, c.Err())

	ticket, req := h.move("0.3")
	require.True(t, h.send(h.statement(req, phone)).OK)
	require.Equal(t, gate.StatusOK, h.end(ticket).Status)
	require.Equal(t, "device:"+phone.ID(), h.approvals()[0].Decider)

	// It opens no session, enrols nobody, opens no pairing.
	mine := attach.Client{Socket: h.client.Socket, Key: phone}
	_, err = mine.Power(t.Context(), control.Session, signed.Session, "lab", signed.Params("principal", "me"))
	require.ErrorContains(t, err, "can't session")
	_, err = mine.Power(t.Context(), control.Enrol, signed.Enrol, "x", nil)
	require.ErrorContains(t, err, "can't enrol")
	_, err = mine.Power(t.Context(), control.Pair, signed.Enrol, signed.PairingID, nil)
	require.ErrorContains(t, err, "can't enrol")
	_, err = mine.Power(t.Context(), control.OptIn, signed.OptIn, "sim", nil)
	require.ErrorContains(t, err, "can't optin")

	_, req = h.move("0.1")
	yes := h.statement(req, phone)
	require.True(t, h.send(control.Request{Verb: control.Revoke, Kind: "device", ID: phone.ID()}).OK)
	require.False(t, h.send(yes).OK)
	require.Len(t, h.approvals(), 1)
}

func TestG34_ATokenForASessionNeedsTheKey(t *testing.T) {
	h := startAsked(t, func(s *Setup) {
		ln, err := mcp.Listen("127.0.0.1:0")
		require.NoError(t, err)
		s.Listener = ln
	})
	r, err := h.client.Power(t.Context(), control.Session, signed.Session, "lab", signed.Params("principal", "agent2"))
	require.NoError(t, err)
	st, err := os.Stat(r.Token)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())
	text, err := os.ReadFile(r.Token)
	require.NoError(t, err)
	require.Contains(t, string(text), "\nprincipal agent2\nsession lab\n")
	sessions := h.send(control.Request{Verb: control.Sessions}).Sessions
	require.Len(t, sessions, 2)
	require.Equal(t, "lab", sessions[0].Name)
	require.Equal(t, "sim", sessions[0].Mode, "a new session is always simulated")
	require.Equal(t, []string{r.Text + " (agent2)"}, sessions[0].Tokens)
	s, err := sessionsOf(h)("lab")
	require.NoError(t, err)
	require.Equal(t, "lab", s.Name)

	for principal, session := range map[string]string{Operator: "lab", "": "lab", "a b": "lab", "../x": "lab", "agent3": "no/session"} {
		_, err := h.client.Power(t.Context(), control.Session, signed.Session, session, signed.Params("principal", principal))
		require.Error(t, err, "%s %s", principal, session)
	}
	require.True(t, h.send(control.Request{Verb: control.Revoke, Kind: "token", ID: r.Text}).OK)
	require.NoFileExists(t, r.Token)
	require.False(t, h.send(control.Request{Verb: control.Revoke, Kind: "token", ID: r.Text}).OK)
	_, err = h.client.Power(t.Context(), control.OptIn, signed.OptIn, "lab", signed.Params("for", "30m0s"))
	require.ErrorContains(t, err, "no real robot")
}

func sessionsOf(h *askedHost) func(string) (gate.Session, error) { return sessions{all: h.all}.Session }

// TestG34_ABridgeTrustsTheKeyItWasToldOf, and no other that lies in its folder.
func TestG34_ABridgeTrustsTheKeyItWasToldOf(t *testing.T) {
	s := setup(t)
	s.Rehearse = false
	key := makeKey(t, s.DataDir)
	start := func(key string, required bool) (*Host, error) {
		s.Outside = Outside{Answers: true, Key: key, Required: required}
		return Start(s)
	}
	// Without word of it the key counts for nothing, and nobody can answer (G25).
	h, err := start("", false)
	require.NoError(t, err)
	require.False(t, h.answerable())
	require.Contains(t, call(h, "move_joints", `{"positions":{"shoulder_pan":0.1}}`).Text, "Nobody can answer in this run.")
	require.NoError(t, h.Close())
	_, err = start("", true)
	require.Equal(t, exit.Usage, exit.StatusOf(err))
	_, err = start("ffffffffffffffffffffffffffffffff", false)
	require.Equal(t, exit.Usage, exit.StatusOf(err), "no such key")

	h, err = start(key.ID(), true)
	require.NoError(t, err)
	require.True(t, h.answerable())
	require.Contains(t, h.outsideNotice(false), signed.Grouped(key.ID()))
	require.NoError(t, h.Close())
	h, err = start("", true)
	require.NoError(t, err, "it is remembered")
	require.True(t, h.answerable())
	require.NoError(t, h.Close())

	// Another's key in the folder changes nothing; in the place of the operator's, it is
	// told and nobody can answer; nor does one that replaces it while the bridge runs.
	other := makeKey(t, s.DataDir)
	h, err = start("", true)
	require.NoError(t, err)
	require.Equal(t, key.ID(), h.operator.ring.Root())
	file := func(k *signed.Private) string { return filepath.Join(s.DataDir, signed.Folder, k.ID()+".json") }
	was, err := os.ReadFile(file(key))
	require.NoError(t, err)
	require.NoError(t, os.Rename(file(other), file(key)))
	require.False(t, h.answerable())
	require.NoError(t, h.Close())
	h, err = start("", false)
	require.NoError(t, err)
	require.False(t, h.answerable())
	require.Contains(t, h.outsideNotice(false), "isn't there as it was")
	require.NoError(t, h.Close())
	require.NoError(t, os.WriteFile(file(key), was, 0o600))

	// A pin that can't be read trusts nobody, until the bridge is told again.
	require.NoError(t, os.WriteFile(filepath.Join(s.DataDir, "operator.pin"), []byte("{}"), 0o600))
	h, err = start("", false)
	require.NoError(t, err)
	require.False(t, h.answerable())
	require.NoError(t, h.Close())
	h, err = start(key.ID(), false)
	require.NoError(t, err)
	require.True(t, h.answerable())
	require.NoError(t, h.Close())
}

// TestG25_WithApproveFromNoneNobodyAnswersFromOutside, whoever has a key.
func TestG25_WithApproveFromNoneNobodyAnswersFromOutside(t *testing.T) {
	h := startAsked(t, func(s *Setup) { s.Outside.Answers = false })
	ticket := h.Gate.Submit(gate.Invocation{
		Tool: "move_joints", Args: []byte(`{"positions":{"shoulder_pan":0.1}}`), Session: "sim", Principal: Agent, Origin: "test",
	})
	require.Contains(t, h.end(ticket).Text, "Nobody can answer in this run.") // and nobody is waited for
	require.Equal(t, gate.CodeNotSupported, h.send(control.Request{Verb: control.Events}).Code)
	require.False(t, h.send(control.Request{Verb: control.Nonce, Purpose: "approve", ID: "x"}).OK)
}

// Watch tells each question's opening and its end, with how it ended and by whom.
func TestWhoeverWatchesIsToldOfEachQuestion(t *testing.T) {
	h := startAsked(t)
	events := make(chan control.Event, 16)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = control.Follow(ctx, h.client.Socket, control.Request{Verb: control.Events}, func(r control.Reply) error {
			if r.Event != nil {
				events <- *r.Event
			}
			return nil
		})
	}()
	defer func() { cancel(); <-ended }()
	require.Equal(t, "attached", (<-events).Kind)
	require.Equal(t, "current", (<-events).Kind)
	for how, do := range map[string]func(gate.Request){
		"approved": func(req gate.Request) { require.NoError(t, h.client.Approve(t.Context(), req)) },
		"rejected": func(req gate.Request) { h.send(control.Request{Verb: control.Reject, ID: req.CallID}) },
		"stopped":  func(gate.Request) { h.send(control.Request{Verb: "stop"}) },
	} {
		pan := map[string]string{"approved": "0.1", "rejected": "0.2", "stopped": "0.3"}[how]
		ticket, req := h.move(pan)
		e := <-events
		require.Equal(t, "open", e.Kind)
		got, ok := e.Request.Request()
		require.True(t, ok)
		require.Equal(t, signed.Shown(req), signed.Shown(got), "what comes over the socket is the whole card")
		h.operator.desk.Notice(req.CallID, gate.Notice{Kind: gate.CallerGone, Text: "lost"})
		e = <-events
		require.Equal(t, control.Event{Kind: "notice", CallID: req.CallID, Notice: &control.Notice{Kind: gate.CallerGone, Text: "lost"}}, e)
		do(req)
		e = <-events
		require.Equal(t, "closed", e.Kind)
		require.Equal(t, req.CallID, e.CallID)
		require.Equal(t, how, e.How)
		h.end(ticket)
	}
}
