package approval_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
)

// cutOff ends the session that says that bridges live, as a network or an
// administrator can.
func (p place) cutOff(t testing.TB) {
	t.Helper()
	p.exec(t, `SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND (classid::bigint << 32) | objid::bigint IN (SELECT owner FROM requests)`)
}

func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !f(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

// A bridge whose lock is lost begins nothing, whether it has noticed or not; back as
// another generation it still has what it had asked, and nothing of what it had
// claimed.
func TestG44_PostgresABridgeThatIsCutOffBeginsNothing(t *testing.T) {
	p := newPlace(t)
	a, b := p.bridgeAt(t, "a"), p.bridgeAt(t, "b")
	open := ask(t, a, "open")
	claimed, err := a.Claim(t.Context(), ask(t, a, "claimed"))
	require.NoError(t, err)
	running, err := a.Claim(t.Context(), ask(t, a, "running"))
	require.NoError(t, err)
	require.NoError(t, a.Start(t.Context(), running, time.Now()))

	p.cutOff(t)
	// Until it knows, the server says so; from then on it says so itself. Once it is
	// back the claim is another life's.
	err = a.Start(t.Context(), claimed, time.Now())
	require.Error(t, err)
	if !errors.Is(err, approval.ErrCutOff) {
		require.ErrorIs(t, err, gate.ErrCode(gate.CodeInProgress), "%v", err)
	}
	eventually(t, "it is back", a.Alive)
	err = a.Start(t.Context(), claimed, time.Now())
	require.Error(t, err)
	eventually(t, "it is back, as the server sees it", func() bool {
		return a.Start(t.Context(), claimed, time.Now()) != nil && a.Moved(t.Context(), "t") == nil && liveShare(t, b, "open")
	})
	require.ErrorIs(t, a.Start(t.Context(), claimed, time.Now()), gate.ErrCode(gate.CodeInProgress))
	require.NoError(t, a.Finish(t.Context(), "claimed", gate.Ending{State: gate.RequestWithdrawn}))

	got, err := b.Recover(t.Context(), "wb", time.Now())
	require.NoError(t, err)
	require.Empty(t, got.Unknown, "what runs is still that bridge's")
	require.NoError(t, a.Finish(t.Context(), "running", gate.Ending{State: gate.RequestDone, Answer: []byte(`{}`)}))
	l, err := a.Claim(t.Context(), open)
	require.NoError(t, err)
	require.NoError(t, a.Start(t.Context(), l, time.Now()))
}

func liveShare(t testing.TB, s *approval.Postgres, id string) bool {
	t.Helper()
	x, err := s.Share(t.Context(), id)
	require.NoError(t, err)
	return x.Lives
}

// What a bridge had while it was cut off may be another's by now.
func TestPostgresWhatWasTakenUpMeanwhileIsNotHadBack(t *testing.T) {
	p := newPlace(t)
	a, b := p.bridgeAt(t, "a"), p.bridgeAt(t, "b")
	c := ask(t, a, "x")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // a is kept from coming back
		for {
			select {
			case <-stop:
				return
			default:
				p.cutOff(t)
			}
		}
	})
	eventually(t, "it is taken up", func() bool { return b.Adopt(context.Background(), "x") == nil })
	close(stop)
	wg.Wait()
	eventually(t, "both are back", func() bool { return a.Alive() && liveShare(t, b, "x") })
	_, err := a.Claim(t.Context(), c)
	require.ErrorIs(t, err, gate.ErrCode(gate.CodeInProgress), "%v", err)
	require.ErrorIs(t, a.Finish(t.Context(), "x", gate.Ending{State: gate.RequestWithdrawn}), gate.ErrCode(gate.CodeInProgress))
	k, err := claimOf(t, b, "x", "wb")
	require.NoError(t, err)
	l, err := b.Claim(t.Context(), k)
	require.NoError(t, err)
	require.NoError(t, b.Start(t.Context(), l, time.Now()))
}

// The server crashes and comes back: meanwhile each method is an error of its kind
// within its bound, and what was reported before is there afterwards.
func TestPostgresTheServerRestarts(t *testing.T) {
	p := newPlace(t)
	a := p.bridgeAt(t, "a")
	l, err := a.Claim(t.Context(), ask(t, a, "claimed"))
	require.NoError(t, err)
	open := ask(t, a, "open")
	pg.Restart(t, func() {
		for what, f := range map[string]func() error{
			"start":   func() error { return a.Start(t.Context(), l, time.Now()) },
			"claim":   func() error { _, err := a.Claim(t.Context(), open); return err },
			"get":     func() error { _, err := a.Get(t.Context(), "open"); return err },
			"pending": func() error { _, err := a.Pending(t.Context(), time.Now()); return err },
			"finish":  func() error { return a.Finish(t.Context(), "open", gate.Ending{State: gate.RequestStopped}) },
		} {
			begin := time.Now()
			err := f()
			require.ErrorIs(t, err, gate.ErrCode(gate.CodeInternal), what)
			require.True(t, errors.Is(err, approval.ErrUnreachable) || errors.Is(err, approval.ErrCutOff), "%s: %v", what, err)
			require.Less(t, time.Since(begin), patience+time.Second, what)
		}
	})
	eventually(t, "it is back", func() bool { return a.Alive() && a.Moved(t.Context(), "t") == nil })
	require.Error(t, a.Start(t.Context(), l, time.Now()), "the claim was another life's")
	c, err := a.Claim(t.Context(), open)
	require.NoError(t, err)
	require.NoError(t, a.Start(t.Context(), c, time.Now()))
}

// A row that somebody holds locked, or a server that hangs, is an error in time.
func TestPostgresALockedRowIsAnErrorInTime(t *testing.T) {
	p := newPlace(t)
	a := p.bridgeAt(t, "a")
	l, err := a.Claim(t.Context(), ask(t, a, "x"))
	require.NoError(t, err)
	c := p.connect(t)
	defer c.Close(t.Context())
	_, err = c.Exec(t.Context(), "BEGIN; SELECT 1 FROM requests FOR UPDATE")
	require.NoError(t, err)
	begin := time.Now()
	err = a.Start(t.Context(), l, time.Now())
	require.ErrorIs(t, err, approval.ErrSlow)
	require.ErrorIs(t, err, gate.ErrCode(gate.CodeInternal))
	require.Less(t, time.Since(begin), patience)
	_, err = c.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, a.Start(t.Context(), l, time.Now()), "nothing had been stored")
}

// proxy stands between a bridge and its server, and can keep back what the server
// says.
type proxy struct {
	dir  string
	deaf atomic.Bool // what the server says gets no further
	mute atomic.Bool // nor that it has hung up
	ln   net.Listener
	wg   sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

func newProxy(t testing.TB, to string) *proxy {
	dir, err := os.MkdirTemp("", "tau-px")
	require.NoError(t, err)
	x := &proxy{dir: dir}
	x.ln, err = net.Listen("unix", filepath.Join(dir, ".s.PGSQL.5432"))
	require.NoError(t, err)
	x.wg.Go(func() {
		for {
			c, err := x.ln.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("unix", filepath.Join(to, ".s.PGSQL.5432"))
			if err != nil {
				c.Close()
				continue
			}
			x.mu.Lock()
			x.conns = append(x.conns, c, s)
			x.mu.Unlock()
			x.wg.Go(func() { io.Copy(s, c); s.Close() })
			x.wg.Go(func() { x.back(c, s) })
		}
	})
	t.Cleanup(func() {
		x.ln.Close()
		x.cut()
		x.wg.Wait()
		require.NoError(t, os.RemoveAll(dir))
	})
	return x
}

func (x *proxy) back(c, s net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := s.Read(b)
		if err != nil {
			if !x.mute.Load() {
				c.Close()
			}
			return
		}
		if !x.deaf.Load() {
			if _, err := c.Write(b[:n]); err != nil {
				return
			}
		}
	}
}

func (x *proxy) cut() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.conns {
		c.Close()
	}
	x.conns = nil
}

// The server has recorded the start, and its word doesn't come through: the bridge may
// not move, ends the call, and nothing of it is ever run again.
func TestG44_PostgresAStartThatWasNotHeardPermitsNothing(t *testing.T) {
	p := newPlace(t)
	dir := strings.Split(strings.Split(p.url, "host=")[1], "&")[0]
	dir = strings.ReplaceAll(dir, "%2F", "/")
	x := newProxy(t, dir)
	via := place{strings.Replace(p.url, strings.ReplaceAll(dir, "/", "%2F"), strings.ReplaceAll(x.dir, "/", "%2F"), 1), p.schema}
	require.NotEqual(t, p.url, via.url)
	a, b := via.bridgeAt(t, "a"), p.bridgeAt(t, "b")
	// The statement is known on the connection, so that it takes one message.
	l, err := a.Claim(t.Context(), ask(t, a, "warm"))
	require.NoError(t, err)
	require.NoError(t, a.Start(t.Context(), l, time.Now()))
	l, err = a.Claim(t.Context(), ask(t, a, "x"))
	require.NoError(t, err)
	x.deaf.Store(true)
	begin := time.Now()
	var wg sync.WaitGroup
	wg.Go(func() { err = a.Start(context.Background(), l, time.Now()) })
	eventually(t, "it is recorded", func() bool {
		r, err := b.Get(t.Context(), "x")
		require.NoError(t, err)
		return r.State == gate.RequestStarted
	})
	x.cut()
	wg.Wait()
	x.deaf.Store(false)
	require.Error(t, err)
	require.Less(t, time.Since(begin), patience+time.Second)
	eventually(t, "it is back", func() bool { return a.Alive() && a.Moved(t.Context(), "t") == nil })
	require.ErrorIs(t, a.Start(t.Context(), l, time.Now()), gate.ErrCode(gate.CodeInProgress))
	// The call's end is stored with it, although it was recorded as begun.
	require.NoError(t, a.Finish(t.Context(), "x", gate.Ending{State: gate.RequestWithdrawn, Answer: []byte(`{"status":"refused"}`)}))
	r, err := b.Get(t.Context(), "x")
	require.NoError(t, err)
	require.Equal(t, gate.RequestDone, r.State)
	require.Equal(t, `{"status":"refused"}`, string(r.Answer))
}

// The session that says that a bridge lives is gone, and the bridge hasn't noticed: the
// server lets it begin nothing.
func TestG44_PostgresTheServerLooksAtTheLock(t *testing.T) {
	p := newPlace(t)
	dir := strings.ReplaceAll(strings.Split(strings.Split(p.url, "host=")[1], "&")[0], "%2F", "/")
	x := newProxy(t, dir)
	via := place{strings.Replace(p.url, strings.ReplaceAll(dir, "/", "%2F"), strings.ReplaceAll(x.dir, "/", "%2F"), 1), p.schema}
	a := via.bridgeAt(t, "a")
	l, err := a.Claim(t.Context(), ask(t, a, "x"))
	require.NoError(t, err)
	open := ask(t, a, "open")
	x.mute.Store(true)
	x.deaf.Store(true) // the server's goodbye isn't heard
	p.cutOff(t)
	x.deaf.Store(false)
	require.True(t, a.Alive(), "it hasn't noticed")
	require.ErrorIs(t, a.Start(t.Context(), l, time.Now()), approval.ErrCutOff)
	_, err = a.Claim(t.Context(), open)
	require.ErrorIs(t, err, approval.ErrCutOff)
	x.mute.Store(false)
	eventually(t, "it notices, and is back", func() bool {
		g := a.Start(t.Context(), l, time.Now())
		return errors.Is(g, gate.ErrCode(gate.CodeInProgress))
	})
}

// A server that says nothing at all is an error within the bound.
func TestPostgresASilentServerIsAnErrorInTime(t *testing.T) {
	p := newPlace(t)
	dir := strings.ReplaceAll(strings.Split(strings.Split(p.url, "host=")[1], "&")[0], "%2F", "/")
	x := newProxy(t, dir)
	via := place{strings.Replace(p.url, strings.ReplaceAll(dir, "/", "%2F"), strings.ReplaceAll(x.dir, "/", "%2F"), 1), p.schema}
	a := via.bridgeAt(t, "a")
	l, err := a.Claim(t.Context(), ask(t, a, "x"))
	require.NoError(t, err)
	x.deaf.Store(true)
	begin := time.Now()
	err = a.Start(t.Context(), l, time.Now())
	require.Error(t, err)
	require.True(t, errors.Is(err, approval.ErrSlow) || errors.Is(err, approval.ErrCutOff), "%v", err)
	require.Less(t, time.Since(begin), patience+time.Second)
	eventually(t, "it knows", func() bool { return !a.Alive() })
	require.ErrorIs(t, a.Start(t.Context(), l, time.Now()), approval.ErrCutOff)
	x.deaf.Store(false)
	x.cut()
}
