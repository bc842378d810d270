package conns_test

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate/conns"
)

// fake is a listener that hands out pipes.
type fake struct {
	net.Listener
	next chan net.Conn
}

func (f *fake) Accept() (net.Conn, error) {
	c, ok := <-f.next
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

// closed reports whether the other end of a pipe was closed.
func closed(c net.Conn) bool { return errors.Is(c.SetDeadline(time.Time{}), io.ErrClosedPipe) }

// TestG6_OfTheConnectionsThoseThatDoNothingMakeRoom: against a plain list of who is there.
func TestG6_OfTheConnectionsThoseThatDoNothingMakeRoom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 4
		type peer struct {
			ours, theirs net.Conn
			release      []func()
		}
		var idle, held []*peer // idle: the one that goes first first
		remove := func(from []*peer, p *peer) []*peer {
			var out []*peer
			for _, q := range from {
				if q != p {
					out = append(out, q)
				}
			}
			return out
		}
		f := &fake{next: make(chan net.Conn, 2)}
		l := conns.Bound(f, limit)
		some := func(of []*peer) *peer { return of[rapid.IntRange(0, len(of)-1).Draw(t, "peer")] }
		t.Repeat(map[string]func(*rapid.T){
			"connect": func(t *rapid.T) {
				ours, theirs := net.Pipe()
				f.next <- ours
				if len(held) == limit {
					close(f.next)
					_, err := l.Accept()
					require.ErrorIs(t, err, net.ErrClosed, "it finds no place, and the next is waited for")
					f.next = make(chan net.Conn, 2)
					require.True(t, closed(theirs))
					return
				}
				c, err := l.Accept()
				require.NoError(t, err)
				if len(idle)+len(held) == limit {
					require.True(t, closed(idle[0].theirs))
					idle = idle[1:]
				}
				idle = append(idle, &peer{ours: c, theirs: theirs})
			},
			"hold": func(t *rapid.T) {
				all := append(append([]*peer{}, idle...), held...)
				if len(all) == 0 {
					t.Skip("nobody is there")
				}
				p := some(all)
				p.release = append(p.release, conns.Hold(conns.Context(t.Context(), p.ours)))
				idle, held = remove(idle, p), append(remove(held, p), p)
			},
			"release": func(t *rapid.T) {
				if len(held) == 0 {
					t.Skip("nobody is held")
				}
				p := some(held)
				p.release[0]()
				if p.release = p.release[1:]; len(p.release) == 0 {
					held, idle = remove(held, p), append(idle, p)
				}
			},
			"close": func(t *rapid.T) {
				all := append(append([]*peer{}, idle...), held...)
				if len(all) == 0 {
					t.Skip("nobody is there")
				}
				p := some(all)
				require.NoError(t, p.ours.Close())
				_ = p.ours.Close() // twice counts once
				for _, r := range p.release {
					r()
				}
				idle, held = remove(idle, p), remove(held, p)
			},
			"": func(t *rapid.T) {
				for _, p := range append(append([]*peer{}, idle...), held...) {
					require.False(t, closed(p.theirs))
				}
			},
		})
	})
}

func TestAnOtherConnectionCanBeHeldToo(t *testing.T) {
	conns.Hold(t.Context())()
	a, b := net.Pipe()
	conns.Hold(conns.Context(t.Context(), a))()
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

func TestAtTheEndStrangersGo(t *testing.T) {
	f := &fake{next: make(chan net.Conn, 4)}
	l := conns.Bound(f, 4)
	var ours, theirs []net.Conn
	for range 3 {
		a, b := net.Pipe()
		f.next <- a
		c, err := l.Accept()
		require.NoError(t, err)
		ours, theirs = append(ours, c), append(theirs, b)
	}
	conns.Hold(conns.Context(t.Context(), ours[0]))()
	defer conns.Hold(conns.Context(t.Context(), ours[1]))()
	l.CloseStrangers()
	require.Equal(t, [3]bool{false, false, true}, [3]bool{closed(theirs[0]), closed(theirs[1]), closed(theirs[2])})
	late, other := net.Pipe()
	f.next <- late
	close(f.next)
	_, err := l.Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	require.True(t, closed(other))
	for _, c := range ours {
		_ = c.Close() // what is closed already says so
	}
}
