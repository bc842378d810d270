package gate_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// note is a tool of tier 1 that counts how often it wrote.
func note(wrote *atomic.Int64) func(*gate.Config) {
	return func(c *gate.Config) {
		err := c.Catalog.Register(gate.Func(gate.Spec{
			Name: "note", Tier: gate.TierWrite, Description: "Writes a note.", Input: gate.Obj(),
		}, func(context.Context, gate.Call) (gate.Result, error) {
			wrote.Add(1)
			return gate.Result{Text: "written"}, nil
		}))
		if err != nil {
			panic(err)
		}
	}
}

// What was taken in before a stop doesn't run after it, by whichever way it is handed
// in; what only reads does, and so does what was taken in afterwards.
func TestG6_ACallCountsUnderTheEpochOfItsIntake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wrote atomic.Int64
		r := newRig(t, nil, note(&wrote), withStoppers(&stopper{name: "sim"}),
			func(c *gate.Config) { c.Exemptions = []gate.Exemption{gate.RehearseExemption} })
		defer r.close()
		hand := map[string]func(gate.Invocation) gate.Answer{
			"Call":   func(i gate.Invocation) gate.Answer { return r.Call(t.Context(), i) },
			"Submit": func(i gate.Invocation) gate.Answer { tk := r.Submit(i); <-tk.Done(); return tk.Answer() },
		}
		for _, kind := range []string{"stop", "estop"} {
			for how, hand := range hand {
				wrote.Store(0)
				prepared, ran := r.arm.prepared.Load(), r.arm.ran.Load()
				with := func(tool, args string, s gate.Stamp) gate.Answer {
					i := inv(tool, args)
					i.Taken = s
					return hand(i)
				}
				before := r.Stamp()
				require.NotZero(t, before, "the zero stamp is none")
				require.Equal(t, gate.StatusOK, with(kind, "", before).Status, how)
				for tool, args := range map[string]string{"move": `{"to":1}`, "note": ""} {
					a := with(tool, args, before)
					require.Equal(t, gate.CodeStopped, a.Code, "%s %s: %s", how, tool, a.Text)
					require.Equal(t, gate.StatusCancelled, a.Status, "%s %s", how, tool)
					require.Equal(t, gate.CodeStopped, with(tool, args, r.Stamp()+1).Code, "a stamp of no moment so far")
				}
				require.Equal(t, prepared, r.arm.prepared.Load(), "it isn't planned")
				require.Equal(t, ran, r.arm.ran.Load())
				require.Zero(t, wrote.Load())
				require.Equal(t, gate.StatusOK, with("echo", "", before).Status, "what only reads may run")
				require.Equal(t, gate.StatusOK, with(kind, "", before).Status, "and no stop is too late")
				for _, s := range []gate.Stamp{0, r.Stamp()} {
					require.Equal(t, gate.StatusOK, with("move", `{"to":1}`, s).Status, how)
					require.Equal(t, gate.StatusOK, with("note", "", s).Status, how)
				}
				require.EqualValues(t, 2, wrote.Load())
			}
		}
	})
}

// Submit takes the epoch before it returns: a stop that follows it overtakes the call,
// though the call's own goroutine hasn't begun.
func TestG6_AStopRightBehindSubmitOvertakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The call's goroutine is held at its first step, the session, which is in front
		// of the book that a stop looks its calls up in.
		held, free := make(chan struct{}, 8), make(chan struct{})
		var wrote atomic.Int64
		r := newRig(t, gatetest.Script(t), note(&wrote), withStoppers(&stopper{name: "sim"}),
			func(c *gate.Config) { c.Sessions = heldSessions{c.Sessions, held, free} })
		defer r.close()
		move, note := r.Submit(inv("move", `{"to":1}`)), r.Submit(inv("note", ""))
		<-held
		<-held
		stop := r.Submit(inv("stop", ""))
		close(free)
		<-stop.Done()
		require.Equal(t, gate.StatusOK, stop.Answer().Status)
		for _, tk := range []gate.Ticket{move, note} {
			<-tk.Done()
			require.Equal(t, gate.CodeStopped, tk.Answer().Code)
		}
		require.Zero(t, r.arm.prepared.Load())
		require.Zero(t, wrote.Load())
	})
}

// heldSessions tells of each look-up and lets it go on when it is let.
type heldSessions struct {
	gate.Sessions
	held, free chan struct{}
}

func (s heldSessions) Session(name string) (gate.Session, error) {
	s.held <- struct{}{}
	<-s.free
	return s.Sessions.Session(name)
}

// A call that was queued before a stop isn't prepared after it, and one that a stop
// meets between its preparing and its running isn't run.
func TestG6_AStopBetweenPreparingAndRunningOfAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var wrote atomic.Int64
		var r *rig
		tool := &stoppedWhilePreparing{stop: func() { r.lane.Stop() }, wrote: &wrote}
		r = newRig(t, nil, func(c *gate.Config) { require.NoError(t, c.Catalog.Register(tool)) })
		defer r.close()
		a := r.call("late", "")
		require.Equal(t, gate.CodeStopped, a.Code, a.Text)
		require.Equal(t, gate.StatusCancelled, a.Status)
		require.Zero(t, wrote.Load())
	})
}

// stoppedWhilePreparing is a tool of tier 1 that is stopped while it is prepared.
type stoppedWhilePreparing struct {
	gate.Tool
	stop  func()
	wrote *atomic.Int64
}

func (x *stoppedWhilePreparing) Spec() gate.Spec {
	return gate.Spec{Name: "late", Tier: gate.TierWrite, Description: "Writes late.", Input: gate.Obj()}
}

func (x *stoppedWhilePreparing) Prepare(ctx context.Context, c gate.Call) (gate.Action, error) {
	x.stop()
	return gate.Func(x.Spec(), func(context.Context, gate.Call) (gate.Result, error) {
		x.wrote.Add(1)
		return gate.Result{}, nil
	}).Prepare(ctx, c)
}

// brokenLane has no epoch to tell.
type brokenLane struct{ gate.Lane }

func (brokenLane) Epoch() uint64 { panic("no epoch") }

func TestG9_ALaneThatFailsHasNoStampToRunUnder(t *testing.T) {
	var wrote atomic.Int64
	r := newRig(t, nil, note(&wrote), func(c *gate.Config) { c.Lane = brokenLane{c.Lane} })
	defer r.close()
	require.NotZero(t, r.Stamp())
	for _, tool := range []string{"move", "note"} {
		require.Equal(t, gate.CodeInternal, r.call(tool, "").Code, tool)
		tk := r.Submit(inv(tool, ""))
		<-tk.Done()
		require.Equal(t, gate.CodeInternal, tk.Answer().Code, tool)
	}
	require.Zero(t, wrote.Load()+r.arm.ran.Load())
}
