package web_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/approver/web"
	"github.com/tau-robot/tau/gate/conns"
)

// TestG6_NoDeviceShutsAStopOut: a device that asks all the time runs into its own bound,
// and neither another device nor a stop of its own runs into that.
func TestG6_NoDeviceShutsAStopOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		other := newDevice(t)
		r.vouch(other)
		for range 1024 {
			require.Equal(t, 200, r.serve(r.dev.request("GET", web.Path+"requests", "")))
		}
		a := r.do(r.dev.request("GET", web.Path+"requests", ""))
		require.Equal(t, 429, a.status)
		require.Equal(t, "too many attempts", a.reason())
		require.Equal(t, "60", a.head.Get("Retry-After"))
		require.Equal(t, 200, r.serve(other.request("GET", web.Path+"requests", "")))
		for _, d := range []*device{r.dev, other} {
			for _, verb := range []string{"stop", "estop"} {
				require.Equal(t, 200, r.serve(d.request("POST", web.Path+verb, "")), verb)
			}
		}
		require.Len(t, r.stops, 4)

		time.Sleep(2*web.MaxSkew + 2*time.Second) // what it has used is forgotten
		require.Equal(t, 200, r.serve(r.dev.request("GET", web.Path+"requests", "")))
	})
}

// TestG6_AStopThatIsSentAgainStopsAgain: a network's repetition of a stop isn't refused.
func TestG6_AStopThatIsSentAgainStopsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for _, verb := range []string{"stop", "estop"} {
			req := r.dev.request("POST", web.Path+verb, "")
			require.Equal(t, 200, r.serve(req.Clone(t.Context())))
			require.Equal(t, 200, r.serve(req.Clone(t.Context())))
			time.Sleep(web.MaxSkew + time.Second)
			require.Equal(t, 401, r.serve(req), "not after its time")
		}
		require.Len(t, r.stops, 4)
	})
}

// TestG6_HeldListsKeepNeitherAStopNorADecisionOut: one device takes every place there is.
func TestG6_HeldListsKeepNeitherAStopNorADecisionOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		other := newDevice(t)
		r.vouch(other)
		q := r.ask(r.s, request("c1"))
		synctest.Wait()
		shown := r.show(other, "c1")
		version, ok := r.do(other.request("GET", web.Path+"requests", "")).body["version"].(string)
		require.True(t, ok)
		var held sync.WaitGroup
		for range 64 {
			req := r.dev.request("GET", web.Path+"requests?wait=25&version="+version, "")
			held.Go(func() { r.serve(req) })
		}
		synctest.Wait()
		require.Equal(t, 503, r.serve(r.dev.request("GET", web.Path+"requests", "")))
		require.Equal(t, 200, r.serve(other.request("POST", web.Path+"estop", "")))
		require.Equal(t, 200, r.serve(post(web.Path+"decide", other.Decision(other.Statement(shown, "approve")))))
		require.Equal(t, gate.Approved, (<-q.word).Decision)
		held.Wait()
	})
}

// served runs the service on a listener of its own until the test ends.
func (r *rig) served(t *testing.T) (addr string, do func(*http.Request) int) {
	t.Helper()
	ln, err := web.Listen(web.Settings{Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- r.s.Serve(ln) }()
	tr := &http.Transport{}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, r.s.Shutdown(ctx))
		require.NoError(t, <-done)
	})
	return ln.Addr().String(), func(req *http.Request) int {
		t.Helper()
		resp, err := (&http.Client{Transport: tr}).Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
}

// half sends a request without its body, and returns when the service asks for that.
func half(t *testing.T, addr, verb string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	_, err = fmt.Fprintf(c, "POST %s%s HTTP/1.1\r\nHost: %s\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n", web.Path, verb, addr)
	require.NoError(t, err)
	line, err := bufio.NewReader(c).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, line, "100 Continue")
	return c
}

// TestG6_HalfARequestHoldsNobodyUp: more of them than there are places, and then more
// than there are connections.
func TestG6_HalfARequestHoldsNobodyUp(t *testing.T) {
	for _, n := range []int{64, conns.Max + 16} {
		r := newRig(t)
		before := r.do(r.dev.request("GET", web.Path+"requests", "")).body["version"].(string)
		q := r.ask(r.s, request("c1"))
		addr, do := r.served(t)
		require.Equal(t, 200, do(r.dev.Request("GET", addr, web.Path+"requests?wait=25&version="+before, "")), "held until it is open")
		shown := r.show(r.dev, "c1")
		var halves []net.Conn
		for k := range n {
			halves = append(halves, half(t, addr, []string{"enrol", "decide", "stop"}[k%3]))
		}
		require.Equal(t, 200, do(r.dev.Request("GET", addr, web.Path+"requests", "")))
		require.Equal(t, 200, do(r.dev.Request("POST", addr, web.Path+"estop", "")))
		decide := r.dev.Request("POST", addr, web.Path+"decide", r.dev.Decision(r.dev.Statement(shown, "reject")))
		require.Equal(t, 200, do(decide))
		require.Equal(t, gate.Rejected, (<-q.word).Decision)
		if n <= conns.Max {
			// No half had to run out of its time to make room for what came after it.
			require.NoError(t, halves[0].SetReadDeadline(time.Now().Add(time.Millisecond)))
			_, err := halves[0].Read(make([]byte, 1))
			require.True(t, timedOut(err), "the first of them still waits: %v", err)
		} else {
			require.NoError(t, halves[0].SetReadDeadline(time.Now().Add(5*time.Second)))
			_, err := io.Copy(io.Discard, halves[0])
			require.NotErrorIs(t, err, net.ErrClosed)
			require.False(t, timedOut(err), "the oldest that does nothing has made room: %v", err)
		}
		for _, c := range halves {
			require.NoError(t, c.Close())
		}
	}
}

func timedOut(err error) bool {
	e, ok := err.(net.Error) //nolint:errorlint // as net returns it
	return ok && e.Timeout()
}

// watched is a ring that tells when a key is looked up.
type watched struct {
	*signed.Ring
	found chan struct{}
}

func (w watched) Find(id string) (signed.Entry, error) {
	w.found <- struct{}{}
	return w.Ring.Find(id)
}

// TestG6_WhoIsServedDoesntMakeRoom: a list that is held outlives any number of strangers.
func TestG6_WhoIsServedDoesntMakeRoom(t *testing.T) {
	r := newRig(t)
	found := make(chan struct{}, 16)
	var err error
	r.s, err = web.New(web.Options{
		Settings: web.Settings{Listen: "127.0.0.1:0"}, Ring: watched{r.ring, found}, Pairing: r.pairing,
		Stop: func(context.Context, gate.StopKind, string, string) []gate.StopVerdict { return nil },
	})
	require.NoError(t, err)
	version, ok := r.do(r.dev.request("GET", web.Path+"requests", "")).body["version"].(string)
	require.True(t, ok)
	<-found
	addr, do := r.served(t)
	answered := make(chan int, 1)
	list := r.dev.Request("GET", addr, web.Path+"requests?wait=25&version="+version, "")
	go func() {
		status := 0 // it was cut
		defer func() { answered <- status }()
		status = do(list)
	}()
	<-found // it is being served
	for range 2 * conns.Max {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
	}
	q := r.ask(r.s, request("c1"))
	require.Equal(t, 200, <-answered)
	q.stop()
	<-q.word
}

// TestAReasonIsCutBetweenCharacters: what is too long is still what somebody has written.
func TestAReasonIsCutBetweenCharacters(t *testing.T) {
	r := newRig(t)
	reason := "x"
	for len(reason) < 400 {
		reason += "ş"
	}
	require.Equal(t, 200, r.serve(r.dev.request("POST", web.Path+"stop", `{"reason":"`+reason+`"}`)))
	require.Len(t, r.stops, 1)
	require.True(t, utf8.ValidString(r.stops[0]))
	require.Contains(t, r.stops[0], reason[:255]+"…|")
}

// TestStrangersDontHoldUpTheEnd: neither who says nothing nor who says half a request;
// net/http alone waits five seconds for those, which is all that the bridge has.
func TestStrangersDontHoldUpTheEnd(t *testing.T) {
	r := newRig(t)
	addr, do := r.served(t)
	for _, begun := range []string{"", "GET / HT"} {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer c.Close()
		_, err = io.WriteString(c, begun)
		require.NoError(t, err)
	}
	defer half(t, addr, "decide").Close()
	require.Equal(t, 200, do(r.dev.Request("GET", addr, web.Path+"requests", "")))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	require.NoError(t, r.s.Shutdown(ctx))
}
