package control

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// Silent peers, and those that never end their line, shut no stop out.
func TestG6_IdlePeersShutNoStopOut(t *testing.T) {
	for _, begun := range []string{"", `{"verb":`} {
		path := filepath.Join(t.TempDir(), "control.sock")
		got := make(chan asked, 1)
		srv, err := listen(path, func(_ context.Context, k gate.StopKind, reason string) []gate.StopVerdict {
			got <- asked{k, reason}
			return nil
		}, nil, time.Hour) // the silent ones don't end by themselves
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, srv.Close()) })
		for range 3 * maxPeers {
			c, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
			require.NoError(t, err)
			defer func() { _ = c.Close() }()
			_, _ = io.WriteString(c, begun) // one that was evicted already can't write
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		r, err := Send(ctx, path, Request{Verb: "stop", Reason: "idle"})
		cancel()
		require.NoError(t, err)
		require.True(t, r.OK)
		require.Equal(t, asked{"stop", "idle"}, <-got)
	}
}

func TestEvictedPeersAreTheOldestThatDoNotAct(t *testing.T) {
	var p peers
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	pair := func() (client, server *net.UnixConn) {
		client, err := net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
		require.NoError(t, err)
		server, err = l.AcceptUnix()
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
		return client, server
	}
	var clients, servers []*net.UnixConn
	for range maxPeers {
		c, s := pair()
		clients, servers = append(clients, c), append(servers, s)
		require.True(t, p.admit(s))
	}
	p.act(servers[0])
	_, err = io.WriteString(clients[1], "stop\n")
	require.NoError(t, err)
	_, next := pair()
	require.True(t, p.admit(next))
	require.Negative(t, p.index(servers[1]), "the oldest that doesn't act goes")
	b, err := io.ReadAll(servers[1])
	require.NoError(t, err)
	require.Equal(t, "stop\n", string(b), "what it had said is not lost")
	for _, s := range servers[2:] {
		p.act(s)
	}
	p.act(next)
	_, more := pair()
	require.False(t, p.admit(more), "all act")
	p.acted(next)
	require.True(t, p.admit(more))
	p.leave(more)
	require.Empty(t, p.idle)
}

// slow is an operator whose list lasts until its context ends.
type slow struct {
	operator
	begun, ended chan struct{}
}

func (s *slow) List(ctx context.Context) (Reply, error) {
	s.begun <- struct{}{}
	<-ctx.Done()
	s.ended <- struct{}{}
	return Reply{}, ctx.Err()
}

// A verb with one reply that lasts gives its descriptor up when it makes room.
func TestWhoWaitsForOneReplyMakesRoomAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "control.sock")
	op := &slow{begun: make(chan struct{}), ended: make(chan struct{}, 1)}
	s, err := listen(path, nil, op, time.Hour) // nobody makes room by himself
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	dial := func() net.Conn {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "unix", path)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	c := dial()
	_, err = io.WriteString(c, `{"verb":"list"}`+"\n")
	require.NoError(t, err)
	<-op.begun
	for range maxPeers {
		dial()
	}
	require.NoError(t, c.SetReadDeadline(time.Now().Add(verbTimeout/2)))
	b, err := io.ReadAll(c)
	require.NoError(t, err, "it is closed")
	require.Empty(t, b)
	<-op.ended
}
