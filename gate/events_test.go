package gate_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

func TestG50_Case51_EveryCallIsOneEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Step{Decision: gate.Approved, Reason: "answered",
			Do: func(context.Context, gate.Request) { time.Sleep(2 * time.Second) }}, gatetest.Reject())
		r := newRig(t, s, func(c *gate.Config) { c.Stoppers = []gate.Stopper{&stopper{name: "sim"}} })
		defer r.close()
		var answers []gate.Answer
		for _, i := range []struct{ tool, args string }{
			{"echo", `{"text":"hi"}`}, {"echo", `{"text":1}`}, {"reboot", `{}`}, {"move", `{"to": 1}`}, {"move", `{"to":2}`},
			{"move", "{\"to\":\xff}"}, {"current_time", ""}, {"stop", `{}`}, {"demo_physical_action", `{"x":1}`},
		} {
			answers = append(answers, r.call(i.tool, i.args))
		}
		events := r.sink.of("tool_call")
		require.Len(t, events, len(answers))
		for i, e := range events {
			a := answers[i]
			require.Equal(t, a.Tool, e.Tool)
			require.Equal(t, a.Status, e.Status)
			require.Equal(t, a.Code, e.Code)
			require.Equal(t, a.CallID, e.CallID)
			require.Len(t, e.CallID, 32)
			require.Equal(t, a.Approval, e.Approval)
			require.NotEmpty(t, e.Approval)
			require.Equal(t, "s", e.SessionID)
			require.Equal(t, "use-1", e.ToolUseID)
			require.Equal(t, "p", e.Principal)
			require.Equal(t, "test", e.Origin)
			require.False(t, e.Time.IsZero())
			require.NotEmpty(t, e.ResultSummary, e.Tool)
			require.True(t, strings.HasPrefix(a.Text, strings.TrimSuffix(e.ResultSummary, "…")))
		}
		require.Equal(t, `{"text":"hi"}`, string(events[0].Arguments))
		require.Equal(t, `"{\"text\":1}"`, string(events[1].Arguments), "what wasn't valid is a string")
		require.Nil(t, events[2].Tier)
		require.Equal(t, 2, *events[3].Tier)
		require.Equal(t, `{"to":1}`, string(events[3].Arguments))
		require.InDelta(t, 2000, events[3].DurationMS, 0.001)
		require.Equal(t, `"{\"to\":�}"`, string(events[5].Arguments))

		// Case 51: each answer names the backend that produced it.
		require.Equal(t, gate.ModeSim, answers[3].Mode)
		require.Equal(t, "sim", answers[3].Backend)
		require.Equal(t, "sim", answers[0].Backend)
		require.Equal(t, "sim", events[3].Backend)
		require.Contains(t, string(answers[3].JSON()), `"backend":"sim"`)

		q := r.sink.of("approval")
		require.Len(t, q, 2)
		require.Equal(t, []string{"approved", "rejected"}, []string{q[0].Decision, q[1].Decision})
		require.Equal(t, "scripted", q[0].Decider)
		require.Equal(t, "answered", q[0].Reason)
		require.Equal(t, answers[3].Digest, q[0].Digest)
		require.Equal(t, "Duration", q[0].Card.Facts[0].Label)
		require.Len(t, r.sink.of("stop"), 1)
	})
}

func TestG52_LogLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Approve(), gatetest.Reject(), gatetest.Step{Err: errTest}, gatetest.Step{Decision: gate.TimedOut})
		r := newRig(t, s, func(c *gate.Config) { c.Stoppers = []gate.Stopper{&stopper{name: "sim"}} })
		defer r.close()
		for _, c := range []struct {
			tool, args string
			want       []string
		}{
			{"echo", `{}`, []string{"DEBUG call"}},
			{"cancel_call", `{"call_id":"x"}`, []string{"INFO call"}},
			{"move", `{"to":0}`, []string{"INFO decision", "INFO call"}},
			{"move", `{"to":1}`, []string{"INFO decision", "INFO call"}},
			{"move", `{"to":2}`, []string{"ERROR decision", "INFO call"}},
			{"move", `{"to":3}`, []string{"WARN decision", "INFO call"}},
			{"stop", `{}`, []string{"INFO stopped"}},
			{"reboot", `{}`, []string{"WARN Tool 'reboot' is not registered; it was not run."}},
		} {
			before := len(r.log.levels())
			r.call(c.tool, c.args)
			require.Equal(t, c.want, r.log.levels()[before:], "%s %s", c.tool, c.args)
		}
	})
}

// A log that can't be written: nothing physical is asked or run, everything else
// goes on, and it heals by itself.
func TestG50_ALogThatFailsClosesThePhysicalSide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Approve(), gatetest.Approve())
		r := newRig(t, s)
		defer r.close()
		// It fails while a question is open: the approval event can't be written.
		r.sink.setFail(func(e gate.Event) error {
			if e.Type == "approval" {
				return errTest
			}
			return nil
		})
		a := r.call("move", `{"to":1}`)
		require.Equal(t, gate.StatusRefused, a.Status)
		require.Equal(t, gate.CodeInternal, a.Code)
		require.Contains(t, a.Text, "event log can't be written")
		require.Zero(t, r.arm.ran.Load())
		require.Equal(t, gate.RequestWithdrawn, r.state(a.CallID))

		// It is known to fail: nobody is asked, nothing is prepared.
		r.sink.setFail(func(gate.Event) error { return errTest })
		require.Equal(t, gate.StatusOK, r.call("echo", `{}`).Status)
		before := r.arm.prepared.Load()
		require.Equal(t, gate.CodeInternal, r.call("move", `{"to":1}`).Code)
		undo := r.Exempt(func(gate.Query) bool { return true })
		require.Equal(t, gate.CodeInternal, r.call("move", `{"to":1}`).Code)
		undo()
		require.Equal(t, before, r.arm.prepared.Load())
		require.Len(t, s.Requests(), 1)

		r.sink.setFail(func(gate.Event) error { panic("x") })
		require.Equal(t, gate.CodeInternal, r.call("move", `{"to":1}`).Code)
		r.sink.setFail(nil)
		require.Equal(t, gate.StatusOK, r.call("echo", `{}`).Status)
		require.Equal(t, gate.StatusOK, r.call("move", `{"to":1}`).Status)
	})
}

// readySink says beforehand whether it could write.
type readySink struct {
	sink
	err error
}

func (s *readySink) Ready() error { return s.err }

func TestG50_ASinkThatSaysItIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs := &readySink{err: errTest}
		s := gatetest.Script(t, gatetest.Step{Decision: gate.Approved, Do: func(context.Context, gate.Request) { rs.err = errTest }})
		r := newRig(t, s, func(c *gate.Config) { c.Sink = rs })
		defer r.close()
		require.Equal(t, gate.CodeInternal, r.call("move", `{"to":1}`).Code)
		require.Empty(t, s.Requests())
		// It fails while the call is planned: nobody is asked either.
		rs.err = nil
		r.arm.change(func(a *arm) { a.prepare = func(context.Context, gate.Call) error { rs.err = errTest; return nil } })
		require.Equal(t, gate.CodeInternal, r.call("move", `{"to":1}`).Code)
		require.Empty(t, s.Requests())
		r.arm.change(func(a *arm) { a.prepare = nil })
		rs.err = nil // and fails again while the question is open
		a := r.call("move", `{"to":1}`)
		require.Equal(t, gate.CodeInternal, a.Code, a.Text)
		require.Zero(t, r.arm.ran.Load())
	})
}

// A panic in the gate's own goroutine refuses like any other fault (G9).
func TestG9_ToolsThatFailInside(t *testing.T) {
	r := newRig(t, nil, func(c *gate.Config) {
		for name, f := range map[string]func(context.Context, gate.Call) (gate.Result, error){
			"panics":   func(context.Context, gate.Call) (gate.Result, error) { panic("secret text") },
			"untyped":  func(context.Context, gate.Call) (gate.Result, error) { return gate.Result{}, errTest },
			"not_json": func(context.Context, gate.Call) (gate.Result, error) { return gate.Result{Data: []byte("NaN")}, nil },
			"lies": func(context.Context, gate.Call) (gate.Result, error) {
				return gate.Result{Status: gate.StatusOK}, errTest
			},
			"odd": func(context.Context, gate.Call) (gate.Result, error) { return gate.Result{Status: "great"}, nil },
			"deviation": func(context.Context, gate.Call) (gate.Result, error) {
				return gate.Result{}, gate.Errf(gate.CodeDeviation, "a", "went off")
			},
		} {
			_ = c.Catalog.Register(gate.Func(gate.Spec{Name: name, Tier: gate.TierRead, Description: "Fails.", Input: gate.Obj()}, f))
		}
	})
	defer r.close()
	a := r.call("panics", "")
	require.Equal(t, gate.StatusError, a.Status)
	require.Equal(t, gate.CodeInternal, a.Code)
	require.NotContains(t, a.Text, "secret")
	require.Contains(t, r.log.levels(), "ERROR a call failed inside")
	require.Equal(t, gate.StatusError, r.call("untyped", "").Status)
	require.Nil(t, r.call("not_json", "").Result)
	require.Equal(t, gate.StatusError, r.call("lies", "").Status)
	require.Equal(t, gate.StatusOK, r.call("odd", "").Status)
	require.Equal(t, gate.StatusError, r.call("deviation", "").Status)
	require.Len(t, r.sink.of("tool_call"), 6)
}
