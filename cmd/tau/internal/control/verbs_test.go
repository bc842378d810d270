package control

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// operator notes what it is asked for, and gives nothing.
type operator struct {
	mu     sync.Mutex
	asked  []string
	power  []string // the verbs that came with something signed
	fail   error
	panics bool
	left   chan struct{} // gets one when a watcher has gone
}

func (o *operator) note(what string) (Reply, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, what)
	if o.panics {
		panic("a fault of the operator's side")
	}
	return Reply{Text: what}, o.fail
}

func (o *operator) List(context.Context) (Reply, error)              { return o.note("list") }
func (o *operator) Show(_ context.Context, id string) (Reply, error) { return o.note("show " + id) }
func (o *operator) Reject(_ context.Context, id, why string) (Reply, error) {
	return o.note("reject " + id + " " + why)
}
func (o *operator) Grants(context.Context) (Reply, error) { return o.note("grants") }
func (o *operator) Revoke(_ context.Context, kind, id string) (Reply, error) {
	return o.note("revoke " + kind + " " + id)
}
func (o *operator) Devices(context.Context) (Reply, error)  { return o.note("devices") }
func (o *operator) Sessions(context.Context) (Reply, error) { return o.note("sessions") }
func (o *operator) Nonce(_ context.Context, purpose, id, digest string) (Reply, error) {
	return o.note("nonce " + purpose + " " + id + " " + digest)
}

func (o *operator) Watch(ctx context.Context, say func(Reply) error) (Reply, error) {
	r, err := o.note("events")
	if err != nil {
		return r, err
	}
	if err := say(Reply{OK: true, Event: &Event{Kind: "attached"}}); err != nil {
		return Reply{}, err
	}
	<-ctx.Done()
	o.left <- struct{}{}
	return Reply{}, context.Cause(ctx)
}

func (o *operator) Signed(_ context.Context, verb string, s Signed, _ func(Reply) error) (Reply, error) {
	o.mu.Lock()
	o.power = append(o.power, verb)
	o.mu.Unlock()
	return o.note("signed " + verb + " " + string(s.Statement) + " " + string(s.Signature))
}

func (o *operator) did() (asked, power []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	asked, power = o.asked, o.power
	o.asked, o.power = nil, nil
	return asked, power
}

func serveOperator(t *testing.T) (path string, o *operator, stops chan asked) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "control.sock")
	o, stops = &operator{left: make(chan struct{}, 1024)}, make(chan asked, 1024)
	s, err := Listen(path, func(_ context.Context, k gate.StopKind, reason string) []gate.StopVerdict {
		stops <- asked{k, reason}
		return []gate.StopVerdict{{Backend: "sim", Commanded: "yes", Acknowledged: "yes", Stationary: "yes"}}
	}, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return path, o, stops
}

// TestG34_WhatEachVerbOfTheSocketReaches enumerates them all: those that give power
// reach nothing without a statement, and no other reaches what a statement is for. A
// new verb fails here until it is put down as what it is.
func TestG34_WhatEachVerbOfTheSocketReaches(t *testing.T) {
	path, o, stops := serveOperator(t)
	signed := base64.StdEncoding.EncodeToString([]byte("bytes"))
	for verb, c := range map[string]struct {
		args, reaches string
		power         bool
	}{
		"stop":     {``, "", false},
		"estop":    {``, "", false},
		"list":     {``, "list", false},
		"show":     {`,"id":"x"`, "show x", false},
		"reject":   {`,"id":"x","reason":"no"`, "reject x no", false},
		"grants":   {``, "grants", false},
		"revoke":   {`,"kind":"grant","id":"x"`, "revoke grant x", false},
		"devices":  {``, "devices", false},
		"sessions": {``, "sessions", false},
		"nonce":    {`,"purpose":"approve","id":"x"`, "nonce approve x ", false},
		"events":   {``, "events", false},
		"approve":  {``, "", true},
		"optin":    {``, "", true},
		"enrol":    {``, "", true},
		"pair":     {``, "", true},
		"session":  {``, "", true},
	} {
		require.Contains(t, Verbs(), verb)
		require.Equal(t, c.power, GivesPower(verb), verb)
		unsigned := raw(t, path, `{"verb":"`+verb+`"`+c.args+"}\n")
		did, power := o.did()
		require.Empty(t, power, verb)
		with := raw(t, path, `{"verb":"`+verb+`"`+c.args+`,"statement":"`+signed+`","signature":"`+signed+"\"}\n")
		both, powers := o.did()
		switch {
		case verb == "stop" || verb == "estop":
			require.True(t, unsigned.OK && with.OK)
			require.Len(t, stops, 2)
			<-stops
			<-stops
			require.Empty(t, append(did, both...))
		case c.power:
			require.False(t, unsigned.OK, verb)
			require.Contains(t, unsigned.Text, "gives power", verb)
			require.Empty(t, did, "%s reached something unsigned", verb)
			require.Equal(t, []string{verb}, powers)
			require.Equal(t, []string{"signed " + verb + " bytes bytes"}, both)
		default:
			require.Equal(t, []string{c.reaches}, did)
			require.False(t, with.OK, "%s takes no statement", verb)
			require.Empty(t, both, verb)
			require.Empty(t, powers, verb)
		}
	}
	require.Len(t, Verbs(), 16, "each verb is in the list above")
	require.Empty(t, stops)
}

func TestG34_MembersThatAVerbDoesNotTakeAreRefused(t *testing.T) {
	path, o, stops := serveOperator(t)
	for _, bad := range []string{
		`{"verb":"list","id":"x"}`, `{"verb":"list","approve":true}`, `{"verb":"show"}`, `{"verb":"show","id":""}`,
		`{"verb":"show","id":"` + strings.Repeat("x", maxID+1) + `"}`, `{"verb":"reject","reason":"why"}`, `{"verb":"revoke","id":"x"}`,
		`{"verb":"revoke","kind":"device"}`, `{"verb":"nonce","id":"x"}`, `{"verb":"approve","id":"x"}`,
		`{"verb":"approve","statement":"eA==","signature":"eA==","id":"x"}`, `{"verb":"approve","statement":"!","signature":"eA=="}`,
		`{"verb":"approve","verb":"list"}`, `{"verb":"list"} {"verb":"list"}`, `{"Verb":"list"}`, `{"verb":"LIST"}`, `{"verb":"grant"}`,
		`{"verb":"list","statement":""}`, "list", `["list"]`, `{"verb":"reject","id":"x","reason":5}`,
	} {
		r := raw(t, path, bad+"\n")
		require.False(t, r.OK, bad)
		require.Equal(t, gate.CodeInvalidArgument, r.Code, bad)
	}
	did, _ := o.did()
	require.Empty(t, did)
	require.Empty(t, stops, "and none of them is a stop")
}

func TestARefusalCarriesItsCode(t *testing.T) {
	path, o, _ := serveOperator(t)
	o.fail = gate.Errf(gate.CodeRequestExpired, "call_id", "too late")
	r := raw(t, path, `{"verb":"list"}`+"\n")
	require.Equal(t, Reply{Code: gate.CodeRequestExpired, Text: "call_id: too late"}, r)
	o.fail = errors.New("something")
	require.Equal(t, gate.CodeInternal, raw(t, path, `{"verb":"list"}`+"\n").Code)
	o.fail, o.panics = nil, true
	require.Equal(t, gate.CodeInternal, raw(t, path, `{"verb":"list"}`+"\n").Code)
	o.panics = false
	require.True(t, raw(t, path, `{"verb":"list"}`+"\n").OK, "a fault of one request isn't the bridge's end")
}

// Whoever watches takes no place that a stop might need, and goes when it must.
func TestG6_WatchersDontHoldUpAStop(t *testing.T) {
	path, o, stops := serveOperator(t)
	watch := func() net.Conn {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, err = io.WriteString(c, `{"verb":"events"}`+"\n")
		require.NoError(t, err)
		b := make([]byte, 64)
		_, err = c.Read(b)
		require.NoError(t, err)
		require.Contains(t, string(b), "attached")
		return c
	}
	for range maxPeers {
		watch()
	}
	for range 3 {
		r, err := Send(t.Context(), path, Request{Verb: "stop"})
		require.NoError(t, err)
		require.True(t, r.OK)
		<-stops
	}
	<-o.left // the first had to make room
	c := watch()
	require.NoError(t, c.Close())
	<-o.left // and who goes is missed
}

func TestClosingEndsWatchers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control.sock")
	o := &operator{left: make(chan struct{}, 1)}
	s, err := Listen(path, nil, o)
	require.NoError(t, err)
	ended := make(chan error, 1)
	attached := make(chan struct{})
	go func() {
		ended <- Follow(context.WithoutCancel(t.Context()), path, Request{Verb: Events}, func(r Reply) error {
			if r.Event != nil {
				close(attached)
			}
			return nil
		})
	}()
	<-attached
	require.NoError(t, s.Close())
	<-o.left
	require.NoError(t, <-ended)
}

func TestFollowEndsWithItsContextAndItsTaker(t *testing.T) {
	path, o, _ := serveOperator(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	err := Follow(ctx, path, Request{Verb: Events}, func(Reply) error {
		cancel(enough)
		return nil
	})
	require.ErrorIs(t, err, enough)
	<-o.left
	require.ErrorIs(t, Follow(t.Context(), path, Request{Verb: Events}, func(Reply) error { return enough }), enough)
	<-o.left
}

func TestAReplyLongerThanABufferIsRead(t *testing.T) {
	path, o, _ := serveOperator(t)
	_ = o
	r, err := Send(t.Context(), path, Request{Verb: Show, ID: strings.Repeat("i", maxID)})
	require.NoError(t, err)
	require.Equal(t, "show "+strings.Repeat("i", maxID), r.Text)
}

func TestAnItemIsTheRequestItTells(t *testing.T) {
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	req := gate.Request{
		CallID: "0123456789abcdef0123456789abcdef", Tool: "home", Tier: gate.TierPhysical, Args: json.RawMessage(`{"a":"<&>"}`), Effect: "e",
		Session: gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "b", OptIn: "o"}, Principal: "p", Origin: "m",
		Digest: [32]byte{1, 31: 2}, Card: gate.Card{Facts: []gate.Fact{{Label: "l", Text: "\u202e"}}, Assumed: []string{"x"}, Data: json.RawMessage(`{"d":1}`)},
		Asked: at, Expiry: at.Add(time.Minute), Notices: []gate.Notice{{Kind: gate.CallerGone, Text: "away"}},
	}
	b, err := json.Marshal(ItemOf(req))
	require.NoError(t, err)
	var i Item
	require.NoError(t, json.Unmarshal(b, &i))
	got, ok := i.Request()
	require.True(t, ok)
	require.Equal(t, req, got)
	i.Notices = append([]Notice{{Text: "none"}, {Kind: 99, Text: "  Tool: home"}, {Kind: gate.CantEdit, Text: "a \n  b" + strings.Repeat("ç", 300)}}, slices.Repeat(i.Notices, 40)...)
	got, ok = i.Request()
	require.True(t, ok)
	require.Len(t, got.Notices, MaxNotices)
	require.Equal(t, gate.Notice{Kind: gate.CantEdit, Text: "a b" + strings.Repeat("ç", 98) + "…"}, got.Notices[0])
	require.Equal(t, req.Notices[0], got.Notices[1])
	for _, bad := range []Item{{}, {Digest: i.Digest, Tier: 3}, {Digest: i.Digest[2:], Tier: 2}, {Digest: "x", Tier: 2}} {
		_, ok := bad.Request()
		require.False(t, ok)
	}
}

// FuzzRequest: whatever a peer sends is a stop, a verb with what it takes, or refused;
// and what could be a stop is one.
func FuzzRequest(f *testing.F) {
	for _, v := range Verbs() {
		f.Add([]byte(`{"verb":"` + v + `"}`))
	}
	f.Add([]byte(`{"verb":"stop","verb":"approve"}`))
	f.Add([]byte(`{"verb":"reject","id":"1","reason":"\"verb\":\"stop\""}`))
	known := slices.Collect(maps.Keys(verbs))
	f.Fuzz(func(t *testing.T, line []byte) {
		req, err := read(line, nil)
		switch {
		case err != nil:
			require.Empty(t, looseVerb(line), "%q", line)
			return
		case req.stops():
			require.LessOrEqual(t, len(req.Reason), maxReason+len("…"))
			require.Empty(t, req.ID+req.Kind+req.Purpose+req.Digest)
			if _, err := parse(line); err != nil {
				require.NotEmpty(t, looseVerb(line), "%q is a stop that nobody asked for", line)
			}
			return
		}
		require.Contains(t, known, req.Verb)
		require.Equal(t, GivesPower(req.Verb), req.Statement != nil || req.Signature != nil)
		b, err := json.Marshal(req)
		require.NoError(t, err)
		again, err := read(b, nil)
		require.NoError(t, err)
		require.True(t, equal(req, again), "%q", line)
	})
}
