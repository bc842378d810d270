package gate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// Random schedules through the whole gate, under the race detector: callers of
// three sessions on two robots, an approver that answers as the dice fall, stops,
// cancels and callers that give up. Held throughout: two actions never run at
// once, two questions are never open at once, an action runs only on a yes of its
// own and once, nothing that was prepared before a stop starts after it with a live
// context, each call ends, and each has exactly one tool_call event.
func TestG6_G9_G11_G12_RandomSchedules(t *testing.T) {
	for seed := range uint64(4) {
		var open, inside, lastStop atomic.Int64
		var mu sync.Mutex
		yes, ran := map[string]int{}, map[string]int{}
		var dice sync.Mutex
		rng := rand.New(rand.NewPCG(seed, 1))
		roll := func(n int) int { dice.Lock(); defer dice.Unlock(); return rng.IntN(n) }

		ask := approver{decide: func(ctx context.Context, q gate.Request) (gate.Word, error) {
			if open.Add(1) != 1 {
				t.Error("two questions at once")
			}
			defer open.Add(-1)
			for range roll(20) {
				runtime.Gosched()
			}
			switch roll(8) {
			case 0:
				return gate.Word{Decision: gate.Rejected, Reason: "no"}, nil
			case 1:
				<-ctx.Done()
				return gate.Word{Decision: gate.Approved, Reason: "too late"}, nil
			case 2:
				return gate.Word{}, errTest
			}
			mu.Lock()
			yes[q.CallID]++
			mu.Unlock()
			return gate.Word{Decision: gate.Approved, Reason: "yes"}, nil
		}}
		r := newRig(t, ask, func(c *gate.Config) { c.QuestionTimeout = 20 * time.Millisecond })
		var calls atomic.Int64
		r.arm.prepare = func(context.Context, gate.Call) error {
			for range roll(10) {
				runtime.Gosched()
			}
			return nil
		}
		tool := &watched{arm: r.arm, run: func(ctx context.Context, c gate.Call) {
			if inside.Add(1) != 1 {
				t.Error("two actions at once")
			}
			defer inside.Add(-1)
			if s := lastStop.Load(); uint64(s) > c.Epoch && ctx.Err() == nil {
				t.Errorf("prepared at epoch %d, runs after stop %d", c.Epoch, s)
			}
			mu.Lock()
			ran[c.ID]++
			if ran[c.ID] != 1 || yes[c.ID] != 1 {
				t.Errorf("call %s ran %d times on %d approvals", c.ID, ran[c.ID], yes[c.ID])
			}
			mu.Unlock()
			for range roll(30) {
				if ctx.Err() != nil {
					return
				}
				runtime.Gosched()
			}
		}}
		r.arm.change(func(a *arm) { a.wrap = tool.action })

		var wg sync.WaitGroup
		for w := range 6 {
			wg.Go(func() {
				session := []string{"s", "t", "r"}[w%3]
				for k := range 25 {
					calls.Add(1)
					i := in(session, fmt.Sprintf(`{"to":%d.%d}`, w%3, roll(1000)*1000+w*100+k))
					if roll(2) == 0 {
						tk := r.Submit(i)
						if roll(4) == 0 {
							tk.Cancel("dice")
						}
						<-tk.Done()
						if tk.Answer().Status == gate.StatusPending {
							t.Error("done, and pending")
						}
						continue
					}
					ctx, cancel := context.WithCancel(t.Context())
					if roll(4) == 0 {
						go cancel()
					}
					if a := r.Call(ctx, i); a.Status == gate.StatusPending || a.Status == "" {
						t.Errorf("ended as %q", a.Status)
					}
					cancel()
				}
			})
		}
		end := make(chan struct{})
		var stops sync.WaitGroup
		stops.Go(func() {
			for {
				select {
				case <-end:
					return
				case <-time.After(time.Duration(1+roll(5)) * time.Millisecond):
				}
				rep := r.Stop(t.Context(), gate.StopControlled, "dice", "test", "p")
				lastStop.Store(int64(rep.Epoch))
			}
		})
		wg.Wait()
		close(end)
		stops.Wait()
		r.close()
		require.Len(t, r.sink.of("tool_call"), int(calls.Load()))
		require.NotEmpty(t, ran)
		seen := map[string]bool{}
		for _, e := range r.sink.of("tool_call") {
			require.False(t, seen[e.CallID], "two events of one call")
			seen[e.CallID] = true
		}
	}
}

// watched runs something of a test's with the call that it belongs to.
type watched struct {
	arm *arm
	run func(context.Context, gate.Call)
}

func (w *watched) action(x *armAction) gate.Action { return &watchedAction{armAction: x, w: w} }

type watchedAction struct {
	*armAction
	w *watched
}

func (x *watchedAction) Run(ctx context.Context) (gate.Result, error) {
	x.w.run(ctx, x.call)
	if ctx.Err() != nil {
		return gate.Result{}, context.Cause(ctx)
	}
	return gate.Result{Text: "Moved."}, nil
}
