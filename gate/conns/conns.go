// Package conns bounds the connections of an HTTP listener, so that whoever can connect
// can't use up the descriptors that a stop needs. It imports nothing of ours.
package conns

import (
	"context"
	"net"
	"slices"
	"sync"
)

// Max is how many connections one listener of the bridge keeps.
const Max = 256

// Listener is a listener with a bounded number of connections. For one more, the one
// that has done nothing for longest goes; a connection on which somebody who was let in
// is being served (Hold) never goes. While all are, the new one is closed at once. Its
// methods may be called from any goroutine.
type Listener struct {
	net.Listener
	limit int

	mu   sync.Mutex
	idle []*Conn // held by nobody; the one that has been so for longest first
	held int
	over bool // no stranger is let in any more
}

// Bound bounds ln to limit connections, at least one.
func Bound(ln net.Listener, limit int) *Listener {
	return &Listener{Listener: ln, limit: max(1, limit)}
}

// Accept returns the next connection. It blocks until there is one that finds a place.
func (l *Listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &Conn{Conn: inner, l: l}
		if l.admit(c) {
			return c, nil
		}
		_ = inner.Close()
	}
}

func (l *Listener) admit(c *Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	for len(l.idle)+l.held >= l.limit {
		if len(l.idle) == 0 {
			return false
		}
		old := l.idle[0]
		l.idle = slices.Delete(l.idle, 0, 1)
		old.gone = true
		_ = old.Conn.Close() // a socket's Close doesn't block
	}
	l.idle = append(l.idle, c)
	return true
}

// CloseStrangers closes the connections on which nobody has ever been let in, those that
// are accepted later too. It is for http.Server.RegisterOnShutdown: the server waits for
// a connection that has said nothing, or half a request, until its own limits end that.
func (l *Listener) CloseStrangers() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.idle = slices.DeleteFunc(l.idle, func(c *Conn) bool {
		if !c.known {
			c.gone = true
			_ = c.Conn.Close()
		}
		return !c.known
	})
}

// Conn is a connection of a Listener.
type Conn struct {
	net.Conn
	l *Listener

	// Under l.mu.
	holds int
	gone  bool // it has left its place
	known bool // somebody has been let in on it
}

// Close closes the connection and gives its place up.
func (c *Conn) Close() error {
	c.l.mu.Lock()
	if !c.gone {
		c.gone = true
		if c.holds > 0 {
			c.l.held--
		} else {
			c.l.drop(c)
		}
	}
	c.l.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends what is sent, where the connection knows how; net/http asks for it so
// that an answer isn't lost with what the peer was still sending.
func (c *Conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return nil
}

func (l *Listener) drop(c *Conn) {
	if i := slices.Index(l.idle, c); i >= 0 {
		l.idle = slices.Delete(l.idle, i, i+1)
	}
}

type connKey struct{}

// Context is for http.Server.ConnContext: it lets Hold find the connection.
func Context(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// Hold keeps the connection of a request from making room for another one, until release
// is called, once. Call it for those who have shown that they may come in. In a context
// that has no connection of a Listener it does nothing.
func Hold(ctx context.Context) (release func()) {
	c, ok := ctx.Value(connKey{}).(*Conn)
	if !ok {
		return func() {}
	}
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	c.known = true
	if c.holds++; c.holds == 1 && !c.gone {
		c.l.drop(c)
		c.l.held++
	}
	return func() {
		c.l.mu.Lock()
		defer c.l.mu.Unlock()
		if c.holds--; c.holds == 0 && !c.gone {
			c.l.held--
			c.l.idle = append(c.l.idle, c)
		}
	}
}
