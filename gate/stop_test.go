package gate_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

type stopper struct {
	name  string
	calls atomic.Int64
	stop  func(context.Context, gate.StopKind) gate.StopVerdict
}

func (s *stopper) Name() string { return s.name }
func (s *stopper) Stop(ctx context.Context, k gate.StopKind) gate.StopVerdict {
	s.calls.Add(1)
	if s.stop != nil {
		return s.stop(ctx, k)
	}
	return gate.StopVerdict{Backend: s.name, Commanded: "yes", Acknowledged: "yes", Stationary: "yes"}
}

func withStoppers(list ...*stopper) func(*gate.Config) {
	return func(c *gate.Config) {
		for _, s := range list {
			c.Stoppers = append(c.Stoppers, s)
		}
	}
}

// Case 39: nothing gates a stop: not its arguments, not the session, not a rate
// limit, not a log that fails, not an open question, not a motion.
func TestG6_Case39_NothingGatesAStop(t *testing.T) {
	for _, name := range []string{"stop", "estop"} {
		for what, args := range map[string]string{
			"none": "", "empty": "{}", "reason": `{"reason":"smoke"}`, "malformed": `{"reason":`, "not JSON": "now!",
			"duplicate": `{"reason":"a","reason":"b"}`, "wrong kind": `{"reason":1}`, "unknown field": `{"x":1}`, "huge": string(make([]byte, gate.MaxArgsBytes+10)),
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				s := &stopper{name: "sim"}
				r := newRig(t, nil, withStoppers(s), func(c *gate.Config) {
					c.Rates.Session = &gate.Rate{PerSecond: 1e-9, Burst: 1}
				})
				defer r.close()
				require.Equal(t, gate.StatusOK, r.call("echo", "{}").Status)
				require.Equal(t, gate.CodeRateLimited, r.call("echo", "{}").Code)
				r.sink.setFail(func(gate.Event) error { return errTest })
				for i := range 3 {
					a := r.Call(t.Context(), gate.Invocation{Tool: name, Args: []byte(args), Session: "\xffnope"})
					require.Equal(t, gate.StatusOK, a.Status, a.Text)
					require.EqualValues(t, i+1, s.calls.Load())
					require.EqualValues(t, i+1, r.lane.Epoch())
				}
			})
		}
	}
	// Nothing else rides on the exemption.
	r := newRig(t, nil, withStoppers(&stopper{name: "sim"}))
	defer r.close()
	for _, name := range []string{"Stop", "stop ", "e-stop", "STOP", "stop\x00", "estop_reset"} {
		require.Equal(t, gate.CodeUnknownTool, r.call(name, "{}").Code, name)
	}
	require.Zero(t, r.lane.Epoch())
}

// Case 37: a stop that reached nothing doesn't say success.
func TestCase37_TheVerdictSaysWhatIsKnown(t *testing.T) {
	closed := &stopper{name: "bus", stop: func(context.Context, gate.StopKind) gate.StopVerdict {
		return gate.StopVerdict{Backend: "bus", Commanded: "no", Acknowledged: "no", Stationary: "unknown", Text: "the port was never opened"}
	}}
	vague := &stopper{name: "servo", stop: func(context.Context, gate.StopKind) gate.StopVerdict {
		return gate.StopVerdict{Commanded: "yes", Acknowledged: "sure", Stationary: ""}
	}}
	for name, c := range map[string]struct {
		list   []*stopper
		status gate.Status
		text   string
	}{
		"closed":     {[]*stopper{{name: "sim"}, closed}, gate.StatusError, "bus: commanded no, acknowledged no, stationary unknown (the port was never opened)"},
		"vague":      {[]*stopper{vague}, gate.StatusUnknown, "servo: commanded yes, acknowledged unknown, stationary unknown"},
		"no backend": {nil, gate.StatusError, "no backend"},
		"fine":       {[]*stopper{{name: "sim"}}, gate.StatusOK, "sim: commanded yes, acknowledged yes, stationary yes"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, nil, withStoppers(c.list...))
			defer r.close()
			a := r.call("stop", "{}")
			require.Equal(t, c.status, a.Status)
			require.Contains(t, a.Text, c.text)
			require.Equal(t, c.status == gate.StatusOK, a.Code == "")
			var rep gate.StopReport
			require.NoError(t, json.Unmarshal(a.Result, &rep))
			require.Len(t, rep.Verdicts, len(c.list))
		})
	}
}

func TestG6_OneBadStopperHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		good := &stopper{name: "good"}
		bad := &stopper{name: "bad", stop: func(context.Context, gate.StopKind) gate.StopVerdict { panic("x") }}
		hung := &stopper{name: "hung", stop: func(context.Context, gate.StopKind) gate.StopVerdict {
			<-release
			return gate.StopVerdict{}
		}}
		polite := &stopper{name: "polite", stop: func(ctx context.Context, _ gate.StopKind) gate.StopVerdict {
			<-ctx.Done()
			return gate.StopVerdict{Commanded: "yes", Acknowledged: "no", Stationary: "unknown"}
		}}
		r := newRig(t, nil, withStoppers(bad, hung, polite, good))
		gone, cancel := context.WithCancel(t.Context())
		cancel() // the caller is gone already; its stop isn't
		got := make(chan gate.StopReport, 1)
		go func() { got <- r.Stop(gone, gate.StopEmergency, "test", "unit", "p") }()
		synctest.Wait()
		require.EqualValues(t, 1, good.calls.Load())
		rep := <-got
		require.Equal(t, gate.StopEmergency, rep.Kind)
		require.Equal(t, []string{"unknown", "unknown", "yes", "yes"}, []string{
			rep.Verdicts[0].Commanded, rep.Verdicts[1].Commanded, rep.Verdicts[2].Commanded, rep.Verdicts[3].Commanded})
		require.Equal(t, "hung", rep.Verdicts[1].Backend)
		require.Contains(t, rep.Verdicts[1].Text, "no answer within 10s")
		require.InDelta(t, 10.5, rep.DurationS, 0.001)
		close(release)
		r.close()
		e := r.sink.of("estop")
		require.Len(t, e, 1)
		require.Equal(t, "test", e[0].Reason)
	})
}

// Each backend is told which stop it is; what is no kind is the stronger one.
func TestG6_EachBackendIsToldTheKind(t *testing.T) {
	var told []gate.StopKind
	s := &stopper{name: "sim", stop: func(_ context.Context, k gate.StopKind) gate.StopVerdict {
		told = append(told, k)
		return gate.StopVerdict{Commanded: "yes", Acknowledged: "yes", Stationary: "yes"}
	}}
	r := newRig(t, nil, withStoppers(s))
	defer r.close()
	r.call("stop", "{}")
	r.call("estop", "{}")
	<-r.Submit(inv("estop", "{}")).Done()
	for _, k := range []gate.StopKind{gate.StopControlled, gate.StopEmergency, "", "smooth"} {
		r.Stop(t.Context(), k, "", "test", "p")
	}
	const stop, estop = gate.StopControlled, gate.StopEmergency
	require.Equal(t, []gate.StopKind{stop, estop, estop, stop, estop, estop, estop}, told)
}

// Everything pending, approved, queued or running ends STOPPED, whichever phase
// it is in (case 38), and stays away.
func TestG6_Case38_AStopWinsInEachPhase(t *testing.T) {
	type phases struct{ prepare, decide, run bool }
	for name, at := range map[string]phases{"preparing": {prepare: true}, "asked": {decide: true}, "running": {run: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reached := make(chan struct{})
				block := func(ctx context.Context) error {
					close(reached)
					<-ctx.Done()
					return context.Cause(ctx)
				}
				var steps []gatetest.Step
				switch {
				case at.decide:
					steps = []gatetest.Step{{Decision: gate.Approved, Do: func(ctx context.Context, _ gate.Request) { _ = block(ctx) }}}
				case at.run:
					steps = []gatetest.Step{gatetest.Approve()}
				}
				r := newRig(t, gatetest.Script(t, steps...), withStoppers(&stopper{name: "sim"}))
				defer r.close()
				if at.prepare {
					r.arm.prepare = func(ctx context.Context, _ gate.Call) error { return block(ctx) }
				}
				if at.run {
					r.arm.run = func(ctx context.Context) (gate.Result, error) {
						err := block(ctx)
						return gate.Result{Data: json.RawMessage(`{"positions":{"a":0.4}}`)}, err
					}
				}
				first := r.Submit(inv("move", `{"to":1}`))
				<-reached
				queued := r.Submit(inv("move", `{"to":2}`))
				synctest.Wait()
				before := time.Now()
				a := r.call("stop", `{}`)
				require.Equal(t, gate.StatusOK, a.Status)
				require.Zero(t, time.Since(before))
				for _, tk := range []gate.Ticket{first, queued} {
					<-tk.Done()
					got := tk.Answer()
					require.Equal(t, gate.CodeStopped, got.Code, got.Text)
					require.Equal(t, gate.StatusCancelled, got.Status)
				}
				if at.run {
					require.JSONEq(t, `{"positions":{"a":0.4}}`, string(first.Answer().Result), "where it stopped")
					require.Equal(t, gate.RequestDone, r.state(first.ID()))
					require.EqualValues(t, 1, r.arm.ran.Load())
				} else {
					require.Zero(t, r.arm.ran.Load())
				}
				if at.decide {
					require.Equal(t, gate.RequestStopped, r.state(first.ID()))
					e := r.sink.of("approval")
					require.Len(t, e, 1)
					require.Equal(t, "stopped", e[0].Decision)
				}
			})
		})
	}
}

// A stop between the approval and the lane: the action isn't run.
func TestG6_AStopAfterTheApprovalWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		s := gatetest.Script(t, gatetest.Step{Decision: gate.Approved, Do: func(context.Context, gate.Request) { r.lane.Stop() }})
		r = newRig(t, s)
		defer r.close()
		a := r.call("move", `{"to":1}`)
		require.Equal(t, gate.CodeStopped, a.Code)
		require.Equal(t, gate.StatusCancelled, a.Status)
		require.Zero(t, r.arm.ran.Load())
		require.Equal(t, gate.RequestStopped, r.state(a.CallID))
	})
}

// A stop that only the lane has seen: what waited isn't even planned.
func TestG6_WhatWaitedIsNotPlannedAfterAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		r := newRig(t, gatetest.Script(t, gatetest.Step{Decision: gate.Rejected, Do: func(context.Context, gate.Request) { <-open }}))
		defer r.close()
		first := r.Submit(in("s", `{"to":1}`))
		synctest.Wait()
		second := r.Submit(in("s", `{"to":2}`))
		synctest.Wait()
		r.lane.Stop()
		close(open)
		<-first.Done()
		<-second.Done()
		require.Equal(t, gate.CodeStopped, second.Answer().Code)
		require.EqualValues(t, 1, r.arm.prepared.Load())
	})
}

func TestG6_AStopIsLoggedAfterItHasActed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stopper{name: "sim"}
		r := newRig(t, nil, withStoppers(s))
		defer r.close()
		stuck := make(chan struct{})
		r.sink.setFail(func(gate.Event) error {
			if s.calls.Load() == 0 {
				t.Error("logged before it acted")
			}
			<-stuck
			return nil
		})
		start := time.Now()
		a := r.call("stop", `{"reason":"smoke"}`)
		require.Equal(t, gate.StatusOK, a.Status)
		require.LessOrEqual(t, time.Since(start), time.Second, "a log that hangs holds a stop up")
		close(stuck)
		synctest.Wait()
		e := r.sink.of("stop")
		require.Len(t, e, 1)
		require.Equal(t, "smoke", e[0].Reason)
		require.Equal(t, "s", e[0].SessionID)
		c := r.sink.of("tool_call")
		require.Len(t, c, 1)
		require.Equal(t, "stop", c[0].Tool)
		require.Equal(t, 1, *c[0].Tier)
		require.JSONEq(t, `{"reason":"smoke"}`, string(c[0].Arguments))
		require.Equal(t, a.CallID, c[0].CallID)
	})
}

func TestG6_ASubmittedStopHasActedWhenSubmitReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, withStoppers(&stopper{name: "sim"}))
		tk := r.Submit(inv("estop", `{`))
		require.EqualValues(t, 1, r.lane.Epoch())
		<-tk.Done()
		require.Equal(t, gate.StatusOK, tk.Answer().Status)
		require.Equal(t, tk.ID(), tk.Answer().CallID)
		r.close()
		// A closed gate still stops.
		require.Equal(t, gate.StatusOK, r.call("stop", "").Status)
		require.Equal(t, gate.CodeCancelled, r.call("move", `{"to":1}`).Code)
		synctest.Wait()
	})
}
