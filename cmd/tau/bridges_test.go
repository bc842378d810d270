package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/approval/pgtest"
	"github.com/tau-robot/tau/gate/approver/signed"
)

// pg is the server of this package's tests; the first that needs it starts it. It
// syncs, as a bridge demands.
var pg = pgtest.Server{Durable: true}

// withoutServer ends the server, if a test has started it.
func withoutServer(status int) int {
	if err := pg.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "ending PostgreSQL:", err)
		return max(status, 1)
	}
	return status
}

// pair is two bridges on one database, which trust one operator's key, and the flags
// that each was started with.
type pair struct {
	t          *testing.T
	dirA, dirB string
	url        string // of the database
	flags      []string
}

func newPair(t *testing.T, flags ...string) pair {
	t.Helper()
	url := pg.Database(t)
	p := pair{t: t, url: url, dirA: dataDir(t), dirB: dataDir(t)}
	store := filepath.Join(t.TempDir(), "store")
	require.NoError(t, os.WriteFile(store, []byte(url+"\n"), 0o600))
	key := operatorKey(t, p.dirA)
	// The key is the person's: it goes with him to the other bridge.
	require.NoError(t, os.CopyFS(p.dirB, os.DirFS(p.dirA)))
	require.NoError(t, filepath.WalkDir(p.dirB, func(path string, d fs.DirEntry, err error) error {
		mode := fs.FileMode(0o600)
		if err == nil && d.IsDir() {
			mode = 0o700
		}
		return errors.Join(err, os.Chmod(path, mode))
	}))
	p.flags = append([]string{"--operator-key", key, "--store", "@" + store, "--clock", "fast"}, flags...)
	return p
}

func (p pair) bridge(dir string) *agent {
	p.t.Helper()
	return startAgent(p.t, dir, p.flags...)
}

// asked starts both, a person attached to the second, and has a motion asked at the first:
// its card is open where the person sits.
func (p pair) asked() (a, b *agent, at *screen) {
	p.t.Helper()
	a, b = p.bridge(p.dirA), p.bridge(p.dirB)
	at = attached(p.t, p.dirB)
	a.move("go", 0.3)
	at.card()
	return a, b, at
}

// ran are the motions that a bridge has run to an end, or begun, of a call.
func ran(t *testing.T, dir, id string) int {
	t.Helper()
	n := 0
	for _, e := range calls(t, dir, id) {
		if e.Status == gate.StatusOK || e.Status == gate.StatusUnknown || e.Status == gate.StatusError {
			n++
		}
	}
	return n
}

func callOf(s *screen) string {
	s.t.Helper()
	return callLine.FindStringSubmatch(s.shown())[1]
}

// A person at the other bridge answers the question of this one, which runs it.
func TestTwoBridgesOnePostgresAClickAtTheOther(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a, b, at := p.asked()
	id := callOf(at)
	at.answers("y")
	at.await("✓ move_joints: approved")
	m := a.answer("go")
	require.False(t, m.Result.IsError, m.Result.Content)
	require.InDelta(t, 0.3, pan(t, m.Result.Structured.Result), 0.01)
	require.Equal(t, 1, ran(t, p.dirA, id))
	require.Empty(t, calls(t, p.dirB, id), "it ran where it was asked")
	decided := ofType(logged(t, p.dirA), "approval")
	require.Equal(t, "operator", decided[len(decided)-1].Decider)
	require.Equal(t, "signed, over another bridge", decided[len(decided)-1].Reason)

	// A no, by the socket alone.
	a.move("no", 0.5)
	at.card()
	at.answers("")
	at.await("✗ move_joints: not approved")
	require.Equal(t, gate.CodeNotApproved, a.answer("no").Result.Structured.Code)

	// The other way round, at the same terminal.
	b.move("there", 0.2)
	at.card()
	at.answers("y")
	at.await("✓ move_joints: approved")
	require.False(t, b.answer("there").Result.IsError)
	at.typed("quit\r")
	require.Equal(t, 0, at.status(), at.out)
	a.ends()
	b.ends()
}

// Two people at two bridges say yes at once: it runs once.
func TestTwoBridgesOnePostgresTwoClicksAtOnce(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a, b := p.bridge(p.dirA), p.bridge(p.dirB)
	atA, atB := attached(t, p.dirA), attached(t, p.dirB)
	a.move("go", 0.3)
	atA.card()
	atB.card()
	id := callOf(atB)
	var wg sync.WaitGroup
	for _, s := range []*screen{atA, atB} {
		wg.Go(func() { s.answers("y") })
	}
	wg.Wait()
	require.False(t, a.answer("go").Result.IsError)
	require.Equal(t, 1, ran(t, p.dirA, id))
	require.Empty(t, calls(t, p.dirB, id))
	n := 0
	for _, e := range ofType(logged(t, p.dirA), "approval") {
		if e.CallID == id && e.Decision == "approved" {
			n++
		}
	}
	require.Equal(t, 1, n)
	a.ends()
	b.ends()
}

// The bridge that asked is killed: a person at the other one says yes to the card that
// he still sees, and it runs there, once. The dead one, back again, has nothing of it.
func TestTwoBridgesOnePostgresWhatAKilledOneAskedRunsAtTheOther(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a, b, at := p.asked()
	id := callOf(at)
	require.NoError(t, a.cmd.Process.Kill())
	at.answers("y")
	at.await("✓ move_joints: approved")
	eventually(t, func() bool { return len(calls(t, p.dirB, id)) == 1 }, "it ends there")
	require.Equal(t, 1, ran(t, p.dirB, id))
	require.True(t, calls(t, p.dirB, id)[0].Restored)
	require.Empty(t, calls(t, p.dirA, id))

	again := p.bridge(p.dirA)
	again.call("status", "call_status", fmt.Sprintf(`{"call_id":%q}`, id))
	require.Contains(t, fmt.Sprint(again.answer("status").Result.Content), `ok`)
	require.Empty(t, calls(t, p.dirA, id))
	require.Equal(t, 1, ran(t, p.dirB, id))
	again.ends()
	b.ends()
}

// The bridge that asked is killed in mid-motion: nobody runs it again, here or there.
func TestTwoBridgesOnePostgresWhatRanWhenOneWasKilledIsUnknown(t *testing.T) {
	t.Parallel()
	p := newPair(t, "--clock", "real")
	a, b := p.bridge(p.dirA), p.bridge(p.dirB)
	at := attached(t, p.dirB)
	a.call("go", "move_joints", `{"positions":{"shoulder_pan":1.5},"speed_scale":0.05}`)
	at.card()
	id := callOf(at)
	at.answers("y")
	at.await("✓ move_joints: approved")
	a.stdout.await(t, "running", 0)
	require.NoError(t, a.cmd.Process.Kill())
	require.Zero(t, ran(t, p.dirA, id))

	r := tau(t, "", "robot", "approvals", "list", "--data-dir", p.dirB)
	require.NotContains(t, r.stdout, id, "it isn't open anywhere")
	again := p.bridge(p.dirA)
	again.stderr.await(t, "(call "+id+") ran when the bridge ended: what it did can't be known", 0)
	require.Len(t, calls(t, p.dirA, id), 1)
	require.Equal(t, gate.StatusUnknown, calls(t, p.dirA, id)[0].Status)
	require.Empty(t, calls(t, p.dirB, id))
	again.ends()
	b.ends()
}

// Whoever can write to the database can post a yes; it isn't one. What has been signed
// for another request, or by a key that isn't trusted, isn't either (G34).
func TestG34_AForgedPostMovesNothing(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	a := p.bridge(p.dirA)
	at := attached(t, p.dirA)
	forger, err := approval.OpenPostgres(t.Context(), p.url, approval.PostgresOptions{Home: "a forger"})
	require.NoError(t, err)
	defer func() { require.NoError(t, forger.Close()) }()
	a.move("go", 0.3)
	at.card()
	id := callOf(at)
	var x approval.Share
	eventually(t, func() bool {
		x, err = forger.Share(t.Context(), id)
		return err == nil && x.Nonce != ""
	}, "the question is open to others")

	stranger, err := signed.NewPrivate(rand.Reader)
	require.NoError(t, err)
	st := signed.Statement{
		Purpose: signed.Approve, Key: stranger.ID(), ID: id, Digest: x.Record.Request.Digest, Nonce: x.Nonce, Expiry: time.Now().Add(time.Minute),
		Decision: "approve", Params: signed.Params(signed.ShownParam, signed.Shown(x.Record.Request)),
	}
	m, err := stranger.Sign(st)
	require.NoError(t, err)
	proof := func(statement, signature []byte) []byte {
		b, err := json.Marshal(map[string][]byte{"statement": statement, "signature": signature})
		require.NoError(t, err)
		return b
	}
	for what, forged := range map[string][]byte{
		"nothing": nil, "no statement": []byte("yes"), "no signature": proof(m.Statement, nil), "a stranger's": proof(m.Statement, m.Signature),
	} {
		require.NoError(t, forger.Post(t.Context(), approval.Posting{
			ID: id, Digest: x.Record.Request.Digest, Decision: gate.Approved, By: "operator", Reason: "answered", Proof: forged,
		}), what)
		eventually(t, func() bool {
			now, err := forger.Share(t.Context(), id)
			return err == nil && now.Posted == 0 && now.Said != ""
		}, what+" was looked at")
		now, err := forger.Share(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, gate.RequestPending, now.Record.State, what)
	}
	require.Empty(t, calls(t, p.dirA, id))
	// The question is open all the same, and a person's yes counts.
	at.answers("y")
	require.False(t, a.answer("go").Result.IsError)
	require.Equal(t, 1, ran(t, p.dirA, id))
	a.ends()
}
