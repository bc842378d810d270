package control

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type asked struct {
	kind   gate.StopKind
	reason string
}

func serve(t *testing.T, path string) chan asked {
	t.Helper()
	got := make(chan asked, 16)
	s, err := Listen(path, func(_ context.Context, k gate.StopKind, reason string) []gate.StopVerdict {
		got <- asked{k, reason}
		return []gate.StopVerdict{{Backend: "sim", Commanded: "yes", Acknowledged: "yes", Stationary: "yes"}}
	}, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return got
}

// raw sends bytes as they are and returns the reply.
func raw(t *testing.T, path, text string) Reply {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	require.NoError(t, c.SetDeadline(time.Now().Add(10*time.Second)))
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	require.NoError(t, c.(*net.UnixConn).CloseWrite())
	b, err := io.ReadAll(c)
	require.NoError(t, err)
	var r Reply
	require.NoError(t, json.NewDecoder(bytes.NewReader(b)).Decode(&r), "%s", b) // the first, of a verb that goes on
	return r
}

func TestG34_SocketIsOurs0600AndStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control.sock")
	got := serve(t, path)
	st, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), st.Mode().Perm())

	r, err := Send(t.Context(), path, Request{Verb: "estop", Reason: "smoke"})
	require.NoError(t, err)
	require.True(t, r.OK)
	require.Equal(t, "yes", r.Verdicts[0].Stationary)
	require.Equal(t, asked{gate.StopEmergency, "smoke"}, <-got)

	require.True(t, raw(t, path, "stop\n").OK)
	require.Equal(t, asked{gate.StopControlled, ""}, <-got)
	require.True(t, raw(t, path, " estop").OK)
	require.Equal(t, asked{gate.StopEmergency, ""}, <-got)
}

func TestG34_SocketKnowsNothingButStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control.sock")
	got := serve(t, path)
	for _, bad := range []string{
		"", "\n", "{}", "approve", `{"verb":"approve"}`, `{"verb":"approve","id":"1"}`,
		`{"verb":"Stop"}`, `{"verb":["stop"]}`, `null`, `[]`,
		`{"verb":"approve","reason":"stop"}`, "unstoppable", strings.Repeat("x", 2*maxLine), "\x00\xff\x1b[2K",
	} {
		r := raw(t, path, bad)
		require.False(t, r.OK, "%q", bad)
		require.Equal(t, gate.CodeInvalidArgument, r.Code, "%q", bad)
	}
	require.Empty(t, got)
}

func TestG6_AMalformedStopOnTheSocketStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control.sock")
	got := serve(t, path)
	for line, kind := range map[string]gate.StopKind{
		`{"verb":"stop","approve":true}`: gate.StopControlled, `{"verb":"stop"} {"verb":"stop"}`: gate.StopControlled,
		"stop now": gate.StopControlled, `{"verb":"estop","reason":5}`: gate.StopEmergency, `{"verb": "estop"`: gate.StopEmergency,
		`{"Verb":"stop"}`: gate.StopControlled, `{"VERB":"estop"}`: gate.StopEmergency,
		`{"verb":"stop"} {"verb":"estop"}`:                                  gate.StopEmergency,
		`{"verb":"stop","reason":"` + strings.Repeat("x", 2*maxLine) + `"}`: gate.StopControlled,
	} {
		r := raw(t, path, line+"\n")
		require.True(t, r.OK, "%.60q: %s", line, r.Text)
		a := <-got
		require.Equal(t, kind, a.kind, "%.60q", line)
		require.Contains(t, a.reason, "malformed", "%.60q", line)
	}
}

func TestG34_PeersOfAnotherUserAreRefused(t *testing.T) {
	require.True(t, mayUse(1000, 1000))
	require.True(t, mayUse(0, 1000))
	require.False(t, mayUse(1001, 1000))
	require.False(t, mayUse(1000, 0))
	require.False(t, mayUse(-1, 0))

	// And the kernel's word for who connected is what is asked about.
	path := filepath.Join(t.TempDir(), "s")
	l, err := listen0600(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	peer, err := l.AcceptUnix()
	require.NoError(t, err)
	defer func() { _ = peer.Close() }()
	uid, err := peerUID(peer)
	require.NoError(t, err)
	require.Equal(t, os.Geteuid(), uid)
}

func TestLongReasonStillStops(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control.sock")
	got := serve(t, path)
	r, err := Send(t.Context(), path, Request{Verb: "stop", Reason: strings.Repeat("ü", 1000)})
	require.NoError(t, err)
	require.True(t, r.OK)
	require.LessOrEqual(t, len((<-got).reason), maxReason+len("…"))
}

func TestSilentPeersDontHoldUpAStop(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control.sock")
	got := serve(t, path)
	for range maxPeers / 2 {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
	}
	r, err := Send(t.Context(), path, Request{Verb: "stop"})
	require.NoError(t, err)
	require.True(t, r.OK)
	<-got
}

func TestADeadBridgesSocketIsReplacedAnythingElseIsNot(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "control.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	require.NoError(t, l.Close())
	serve(t, path)

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Listen(file, nil, nil)
	require.ErrorContains(t, err, "not a socket")
}

func TestNoBridge(t *testing.T) {
	_, err := Send(t.Context(), filepath.Join(t.TempDir(), "control.sock"), Request{Verb: "stop"})
	require.ErrorIs(t, err, ErrNoBridge)
}

func TestAPathTooLongForASocketStillWorks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	require.NoError(t, os.Mkdir(dir, 0o700))
	path := filepath.Join(dir, "control.sock")
	got := serve(t, path)
	r, err := Send(t.Context(), path, Request{Verb: "stop"})
	require.NoError(t, err)
	require.True(t, r.OK)
	<-got
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"stop", "estop\n", `{"verb":"stop"}`, `{"verb":"x"}`, "{", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		req, err := parse(b)
		if err == nil && req.Verb != "stop" && req.Verb != "estop" {
			t.Fatalf("%q became verb %q", b, req.Verb)
		}
	})
}
