package mcp

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// progressQueue is how many lines wait for a slow reader before lines are left out.
	progressQueue = 32
	// heartbeat is how often a call that has nothing new to say says so.
	heartbeat = 10 * time.Second
)

// progress sends the lines of one call to the client that gave a progress token.
// The nil *progress sends nothing.
type progress struct {
	lines chan string
	left  atomic.Int64 // lines that found the queue full
	quit  chan struct{}
	done  chan struct{}
	once  sync.Once

	mu   sync.Mutex
	held []string // lines from before the call had a name
	open bool     // begin was called
}

// startProgress returns nil when the request carries no usable token. Its goroutine
// ends with close. send may block for as long as a write to the client may.
func startProgress(ctx context.Context, token any, send func(context.Context, *sdk.ProgressNotificationParams) error) *progress {
	switch token.(type) {
	case string, float64: // as JSON brings them; the protocol knows no other
	default:
		return nil
	}
	p := &progress{
		lines: make(chan string, progressQueue),
		quit:  make(chan struct{}),
		done:  make(chan struct{}),
	}
	go p.run(context.WithoutCancel(ctx), token, send)
	return p
}

func (p *progress) run(ctx context.Context, token any, send func(context.Context, *sdk.ProgressNotificationParams) error) {
	defer close(p.done)
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	start := time.Now()
	// Progress must grow with each notification. What remains of a call can't be
	// known, so this counts the notifications and gives no total.
	var n float64
	tell := func(line string) {
		if k := p.left.Swap(0); k > 0 {
			line += fmt.Sprintf(" (%d more lines were left out)", k)
		}
		n++
		// A client that can't be reached loses progress and nothing else: the call
		// has its own ways to end.
		_ = send(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Message: line, Progress: n})
	}
	for {
		select {
		case line := <-p.lines:
			tell(line)
			tick.Reset(heartbeat)
		case <-tick.C:
			tell(fmt.Sprintf("not ended yet after %s", time.Since(start).Round(time.Second)))
		case <-p.quit:
			for range len(p.lines) {
				tell(<-p.lines)
			}
			return
		}
	}
}

// begin makes line the first one: a client that loses its connection has only
// this line to learn the call's name from, and the call itself may be quicker to
// report than Submit is to return.
func (p *progress) begin(line string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = true
	p.queue(line)
	for _, l := range p.held {
		p.queue(l)
	}
	p.held = nil
}

// report queues a line. It never blocks; when the queue is full the line is counted
// instead. It may be called after close.
func (p *progress) report(line string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.open:
		p.queue(line)
	case len(p.held) < progressQueue:
		p.held = append(p.held, line)
	default:
		p.left.Add(1)
	}
}

func (p *progress) queue(line string) {
	select {
	case p.lines <- line:
	default:
		p.left.Add(1)
	}
}

// close ends the goroutine and waits for it, so that no progress follows the result.
func (p *progress) close() {
	if p == nil {
		return
	}
	p.once.Do(func() { close(p.quit) })
	<-p.done
}
