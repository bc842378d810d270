package script

import (
	"context"
	"fmt"
	"sync"

	"github.com/tau-robot/tau/gate"
)

// answering is a line on its way: its answers come on their channels, in the order of
// its calls. end gives up what hasn't ended, waits for it, and has to be called before
// the next line begins.
type answering struct {
	answers []<-chan gate.Answer
	end     func()
}

func answered(a gate.Answer) answering {
	ch := make(chan gate.Answer, 1)
	ch <- a
	return answering{[]<-chan gate.Answer{ch}, func() {}}
}

// batch runs the calls of an array line. Those of them that stop have acted and aren't
// part of the gate's batch: what was read with them counts from before.
func (r *runner) batch(ctx context.Context, l line) answering {
	ctx, giveUp := context.WithCancel(ctx)
	moving, cancel := context.WithCancelCause(ctx)
	begun := r.begin(l, cancel)
	size := len(l.calls) - len(l.stop)
	out := answering{answers: make([]<-chan gate.Answer, len(l.calls))}
	place := 0
	var running sync.WaitGroup
	for i, c := range l.calls {
		if answer, stops := l.stop[i]; stops {
			out.answers[i] = answer
			continue
		}
		place++
		inv, moves := r.invocation(c, l.taken), r.moves(c)
		answer := make(chan gate.Answer, 1)
		out.answers[i] = answer
		switch {
		case begun && size > 1:
			inv.Batch = gate.Batch{ID: fmt.Sprintf("line %d", l.number), Size: size, Place: place}
		case !begun && moves:
			answer <- overtaken(c.tool)
			continue
		}
		running.Go(func() {
			if moves {
				answer <- stoppedBy(moving, r.Caller.Call(moving, inv))
			} else {
				answer <- r.Caller.Call(ctx, inv)
			}
		})
	}
	out.end = func() {
		giveUp()
		running.Wait()
		cancel(nil)
		if begun {
			r.done()
		}
	}
	return out
}

// done takes back that something runs which a stop has to cancel.
func (r *runner) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cancel = nil
}
