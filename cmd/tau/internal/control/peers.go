package control

import (
	"net"
	"slices"
	"sync"
)

// peer is a connection that makes room, and how.
type peer struct {
	c     *net.UnixConn
	evict func()
}

// said is how a peer goes whose line isn't read yet. It isn't closed: a line that has
// arrived and that nobody has read is read and acted on all the same, and then comes
// the end. So goes also who gets replies that go on, which end with what it could say.
func said(c *net.UnixConn) peer { return peer{c, func() { _ = c.CloseRead() }} }

// peers are the connections being served. Those that act can't be evicted; the
// others (no whole line yet, or answered and not yet gone) make room, the oldest
// first, so that connections which say nothing can't shut a stop out.
type peers struct {
	mu     sync.Mutex
	idle   []peer // oldest first
	acting int
}

// admit takes a new peer in. It returns false only while all that are served act,
// each of which is a stop.
func (p *peers) admit(c *net.UnixConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle)+p.acting >= maxPeers {
		if len(p.idle) == 0 {
			return false
		}
		p.idle[0].evict()
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	p.idle = append(p.idle, said(c))
	return true
}

// busy says how a peer makes room while it waits for its one reply, if it hasn't gone.
func (p *peers) busy(c *net.UnixConn, evict func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.index(c); i >= 0 {
		p.idle[i].evict = evict
	}
}

// act says that the peer's stop begins.
func (p *peers) act(c *net.UnixConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(c)
	p.acting++
}

// acted says that the peer's stop has ended.
func (p *peers) acted(c *net.UnixConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.acting--
	p.idle = append(p.idle, said(c))
}

// leave forgets the peer.
func (p *peers) leave(c *net.UnixConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(c)
}

func (p *peers) remove(c *net.UnixConn) {
	if i := p.index(c); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
	}
}

func (p *peers) index(c *net.UnixConn) int {
	return slices.IndexFunc(p.idle, func(q peer) bool { return q.c == c })
}
