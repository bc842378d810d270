package bridge

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/events"
	"github.com/tau-robot/tau/robot"
)

// backend plays back one outcome.
type backend struct {
	robot.Backend
	out robot.Outcome
	err error
}

func (b *backend) Info() robot.Info { return robot.Info{Backend: "sim", Mode: robot.ModeSim} }
func (b *backend) Execute(_ context.Context, _ robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	q := []float64{0}
	for k := range 3 * traceLength {
		q[0] = float64(k) // the receiver has to copy it
		progress(robot.Progress{T: float64(k) / 100, State: robot.State{Positions: q, Velocities: []float64{1}}})
	}
	return b.out, b.err
}

type memorySink struct{ got []gate.Event }

func (m *memorySink) Emit(e gate.Event) error { m.got = append(m.got, e); return nil }

func TestTheRecorderKeepsTheTraceOfAMotionThatDidNotEndAsPlanned(t *testing.T) {
	for status, want := range map[robot.OutcomeStatus]string{
		robot.OutcomeDone: "", robot.OutcomeRefused: "",
		robot.OutcomeStopped: "stop", robot.OutcomeCancelled: "cancel", robot.OutcomeFaulted: "fault", robot.OutcomeUnknown: "fault",
	} {
		sink := &memorySink{}
		r := &recorder{
			Backend: &backend{
				out: robot.Outcome{Status: status, Duration: 2, Final: robot.State{Positions: []float64{599}, Velocities: []float64{0}}},
				err: robot.Errf(robot.CodeContact, "elbow", "touched"),
			},
			sink: sink, session: "s", now: func() time.Time { return time.Unix(7, 0) }, log: slog.New(slog.DiscardHandler),
		}
		seen := 0
		out, err := r.Execute(t.Context(), robot.Motion{ID: "m"}, func(robot.Progress) { seen++ })
		require.Equal(t, status, out.Status)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeContact))
		require.Equal(t, 3*traceLength, seen)
		if want == "" {
			require.Empty(t, sink.got)
			continue
		}
		require.Len(t, sink.got, 1)
		e := sink.got[0]
		require.Equal(t, want, e.Type)
		require.Equal(t, gate.CodeContact, e.Code)
		require.Equal(t, time.Unix(7, 0), e.Time)
		var tr traceEvent
		require.NoError(t, json.Unmarshal(e.Data, &tr))
		require.Len(t, tr.T, traceLength)
		require.Equal(t, row{3*traceLength - 1}, tr.Position[traceLength-1])
		require.Equal(t, row{2 * traceLength}, tr.Position[0])
		require.Len(t, tr.Velocity, traceLength)
		require.True(t, *tr.AtRest)
	}
}

// What is recorded is what ended the motion, whichever of the two ways by which a
// backend hears of it came first.
func TestTheRecorderSaysWhatEndedAMotion(t *testing.T) {
	ends := func(cause error) context.Context {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		return ctx
	}
	for want, ctx := range map[string]context.Context{
		"stop":   ends(gate.Errf(gate.CodeStopped, "lane", "a stop ended it")),
		"cancel": ends(context.Canceled),
		"fault":  ends(robot.Errf(robot.CodeDeviation, "elbow", "0.3 rad off")),
	} {
		sink := &memorySink{}
		r := &recorder{
			Backend: &backend{out: robot.Outcome{Status: robot.OutcomeCancelled}}, sink: sink, session: "s",
			now: time.Now, log: slog.New(slog.DiscardHandler),
		}
		_, err := r.Execute(ctx, robot.Motion{ID: "m"}, nil)
		require.NoError(t, err)
		require.Len(t, sink.got, 1)
		require.Equal(t, want, sink.got[0].Type)
		require.Equal(t, "s", sink.got[0].SessionID, "it is nobody's call")
	}
}

// A motion is recorded in the session that it was asked in.
func TestTheTraceOfAMotionIsInItsOwnSession(t *testing.T) {
	s := setup(t)
	w := &wedged{began: make(chan struct{}), release: make(chan struct{}), obeys: true}
	s.wrap = w.around
	h, err := Start(s)
	require.NoError(t, err)
	_, err = h.all.New("other")
	require.NoError(t, err)
	_, err = h.store.Session("other")
	require.NoError(t, err)
	ticket := h.Gate.Submit(gate.Invocation{
		Tool: "move_joints", Args: []byte(`{"positions":{"shoulder_pan":0.5}}`), Session: "other", Principal: Agent, Origin: "test",
	})
	<-w.began
	ticket.Cancel("not needed any more")
	<-ticket.Done()
	require.Equal(t, gate.StatusCancelled, ticket.Answer().Status)
	require.NoError(t, h.Close())
	for session, want := range map[string]int{"sim": 0, "other": 1} {
		n := 0
		for entry, err := range events.Read(events.Path(h.setup.DataDir, session)) {
			e := entry.Event
			require.NoError(t, err)
			if e.Where != "motion" {
				continue
			}
			n++
			require.Equal(t, "cancel", e.Type)
			require.Equal(t, ticket.ID(), e.CallID)
			require.Equal(t, "move_joints", e.Tool)
			require.Equal(t, Agent, e.Principal)
		}
		require.Equal(t, want, n, session)
	}
}

// blind plays back a motion of a robot that measures nothing, or only its first joint.
type blind struct {
	backend
	measured []float64
}

func (b *blind) Execute(_ context.Context, _ robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	for k := range 2 * traceLength {
		progress(robot.Progress{T: float64(k) / 100, Setpoint: []float64{float64(k), 2}, State: robot.State{Positions: b.measured, Velocities: b.measured}})
	}
	return b.out, b.err
}

// What nothing measures is null in a trace, and what it was told stands beside it.
func TestTheTraceOfARobotThatMeasuresNothingSaysSo(t *testing.T) {
	for name, measured := range map[string][]float64{"nothing": nil, "one of two": {0.5, math.NaN()}} {
		sink := &memorySink{}
		b := &blind{measured: measured, backend: backend{
			out: robot.Outcome{Status: robot.OutcomeStopped, Final: robot.State{Positions: measured, Velocities: measured}},
			err: robot.Errf(robot.CodeStopped, "", "stopped"),
		}}
		r := &recorder{Backend: b, sink: sink, session: "s", now: time.Now, log: slog.New(slog.DiscardHandler)}
		_, err := r.Execute(t.Context(), robot.Motion{ID: "m"}, nil)
		require.Error(t, err, name)
		require.Len(t, sink.got, 1, name)
		var tr struct {
			AtRest    *bool        `json:"at_rest"`
			Final     []*float64   `json:"final"`
			T         []float64    `json:"t"`
			Positions [][]*float64 `json:"positions"`
			Setpoints [][]float64  `json:"setpoints"`
		}
		require.NoError(t, json.Unmarshal(sink.got[0].Data, &tr), name)
		require.Len(t, tr.T, traceLength, name)
		require.Len(t, tr.Setpoints, traceLength, name)
		require.Equal(t, []float64{2*traceLength - 1, 2}, tr.Setpoints[traceLength-1], name)
		require.Nil(t, tr.AtRest, "%s: nothing measured it", name)
		if measured == nil {
			require.Empty(t, tr.Positions, name)
			require.Nil(t, tr.Final, name)
			continue
		}
		require.Len(t, tr.Positions, traceLength, name)
		require.Nil(t, tr.Positions[0][1], name)
		require.Nil(t, tr.Final[1], name)
	}
}
