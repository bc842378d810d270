package control

import (
	"net"
	"slices"
	"sync"
)

// peers are the connections being served. Those that act can't be evicted; the
// others (no whole line yet, or answered and not yet gone) make room, the oldest
// first, so that connections which say nothing can't shut a stop out.
type peers struct {
	mu     sync.Mutex
	idle   []*net.UnixConn // oldest first
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
		// Not Close: a line that has arrived and that nobody has read yet is read
		// and acted on all the same, and then comes the end.
		_ = p.idle[0].CloseRead()
		p.idle = slices.Delete(p.idle, 0, 1)
	}
	p.idle = append(p.idle, c)
	return true
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
	p.idle = append(p.idle, c)
}

// leave forgets the peer.
func (p *peers) leave(c *net.UnixConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(c)
}

func (p *peers) remove(c *net.UnixConn) {
	if i := slices.Index(p.idle, c); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
	}
}
