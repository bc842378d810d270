package gate

import (
	"context"
	"slices"
	"sync"
)

// turn is a lock that is handed on in the order of asking. The zero value is free.
type turn struct {
	mu    sync.Mutex
	held  bool
	queue []chan struct{}
}

// try takes a free turn that nobody waits for.
func (t *turn) try() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held {
		return false
	}
	t.held = true
	return true
}

// take waits for the turn; when ctx ends first it returns ctx's cause and holds nothing.
func (t *turn) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return t.await(ctx, t.join())
}

// join takes a place in the line, which await has to be called with.
func (t *turn) join() (place chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := make(chan struct{})
	if t.held {
		t.queue = append(t.queue, mine)
	} else {
		t.held = true
		close(mine)
	}
	return mine
}

// await waits until it is a place's turn; see take.
func (t *turn) await(ctx context.Context, mine chan struct{}) error {
	select {
	case <-mine:
		if ctx.Err() == nil {
			return nil
		}
		t.pass()
	case <-ctx.Done():
		t.mu.Lock()
		i := slices.Index(t.queue, mine)
		if i >= 0 {
			t.queue = slices.Delete(t.queue, i, i+1)
		}
		t.mu.Unlock()
		if i < 0 { // it was handed over at the same moment
			t.pass()
		}
	}
	return context.Cause(ctx)
}

// pass hands the turn to the next in line.
func (t *turn) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.queue) == 0 {
		t.held = false
		return
	}
	close(t.queue[0])
	t.queue = t.queue[1:]
}

// group counts what has to end before the gate has closed. Unlike a
// sync.WaitGroup it may be added to while somebody waits.
type group struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // made by the first wait; closed when n is 0
}

func (g *group) add() {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
}

func (g *group) done() {
	g.mu.Lock()
	g.n--
	if g.n == 0 && g.idle != nil {
		close(g.idle)
		g.idle = nil
	}
	g.mu.Unlock()
}

func (g *group) wait(ctx context.Context) error {
	g.mu.Lock()
	if g.n == 0 {
		g.mu.Unlock()
		return nil
	}
	if g.idle == nil {
		g.idle = make(chan struct{})
	}
	idle := g.idle
	g.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
