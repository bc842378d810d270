package bridge

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// traceLength bounds a recorded trace: the last samples of a motion. A backend
// reports at least 20 a second.
const traceLength = 200

// stillVelocity is the speed below which a joint counts as at rest in a trace,
// rad/s or m/s. It only labels; the backend's own verdict is what stops trust.
const stillVelocity = 0.02

// recorder is a backend that writes into the event log how each motion ended that
// didn't run to its end: the measured trace down to rest, which shows that the arm
// was brought to a stop and wasn't left moving. It also tells a watcher where a
// motion is. Everything else passes through.
type recorder struct {
	robot.Backend
	sink    gate.Sink
	watch   Watcher // nil: nobody
	session string  // of a motion that is nobody's call
	now     func() time.Time
	log     *slog.Logger
}

var _ robot.Backend = (*recorder)(nil)

// traceEvent is the data of the event.
type traceEvent struct {
	Motion    string              `json:"motion,omitempty"`
	Outcome   robot.OutcomeStatus `json:"outcome"`
	DurationS float64             `json:"duration_s"` // of motion time, from the first actuation to rest
	PlannedS  float64             `json:"planned_s"`
	AtRest    *bool               `json:"at_rest,omitempty"` // measured at the end; left out where it isn't measured of each joint
	Joints    []string            `json:"joints"`
	Final     row                 `json:"final,omitempty"`     // measured, rad or m
	T         []float64           `json:"t"`                   // s of motion time
	Position  []row               `json:"positions"`           // measured, by sample; empty where nothing measures any joint
	Setpoint  []row               `json:"setpoints,omitempty"` // what it was told, by sample, where something isn't measured
	Velocity  []row               `json:"velocities,omitempty"`
}

// row is a number for each joint, null in JSON for one that nothing measures.
type row []float64

// MarshalJSON writes what isn't a number as null.
func (r row) MarshalJSON() ([]byte, error) {
	out := make([]*float64, len(r))
	for i := range r {
		if !math.IsNaN(r[i]) {
			out[i] = &r[i]
		}
	}
	return json.Marshal(out)
}

// copied is a copy without its first elements, as many as are more than a trace has.
func copied(list []row, q []float64) []row {
	if len(list) == traceLength {
		list = list[1:]
	}
	return append(list, append(row(nil), q...))
}

// Execute runs the motion on the backend beneath.
func (r *recorder) Execute(ctx context.Context, m robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	tr := traceEvent{Motion: m.ID, Joints: m.Trajectory.Joints, PlannedS: m.Trajectory.Duration()}
	of, ofCall := gate.RunningOf(ctx)
	tell := func(t float64) {
		if ofCall && r.watch != nil {
			r.watch.Motion(of, t, tr.PlannedS)
		}
	}
	tell(0)
	out, err := r.Backend.Execute(ctx, m, func(p robot.Progress) {
		tr.add(p)
		tell(p.T)
		if progress != nil {
			progress(p)
		}
	})
	if out.Status != robot.OutcomeDone && out.Status != robot.OutcomeRefused {
		r.emit(ctx, tr, out, err)
	}
	return out, err
}

// kind is the type of the event: what ended the motion. What ends its context may
// reach the backend before a stop of its own does, and is told by the cause: a stop
// is one all the same, and a motion that left its rehearsal behind is a fault.
func kind(ctx context.Context, out robot.Outcome) string {
	cause := context.Cause(ctx)
	switch {
	case out.Status == robot.OutcomeFaulted, out.Status == robot.OutcomeUnknown, robot.CodeOf(cause) == robot.CodeDeviation:
		return "fault"
	case out.Status == robot.OutcomeStopped, gate.CodeOf(cause) == gate.CodeStopped:
		return "stop"
	}
	return "cancel"
}

func (t *traceEvent) add(p robot.Progress) {
	told := p.Setpoint != nil && (p.State.Positions == nil || slices.ContainsFunc(p.State.Positions, math.IsNaN))
	if p.State.Positions == nil && !told {
		return
	}
	if len(t.T) == traceLength {
		t.T = t.T[1:]
	}
	t.T = append(t.T, p.T)
	if p.State.Positions != nil {
		t.Position = copied(t.Position, p.State.Positions)
	}
	if told {
		t.Setpoint = copied(t.Setpoint, p.Setpoint)
	}
	if p.State.Velocities != nil {
		t.Velocity = copied(t.Velocity, p.State.Velocities)
	}
}

func (r *recorder) emit(ctx context.Context, t traceEvent, out robot.Outcome, err error) {
	t.Outcome, t.DurationS, t.Final = out.Status, out.Duration, out.Final.Positions
	if out.Final.Velocities != nil && !slices.ContainsFunc(out.Final.Velocities, math.IsNaN) {
		rest := true
		for _, v := range out.Final.Velocities {
			rest = rest && math.Abs(v) <= stillVelocity
		}
		t.AtRest = &rest
	}
	e := gate.Event{
		Type: kind(ctx, out), Time: r.now(), SessionID: r.session, Where: "motion", Backend: r.Info().Backend,
		Mode: gate.Mode(r.Info().Mode), Text: "a motion ended before its end: " + string(out.Status),
	}
	if of, ok := gate.RunningOf(ctx); ok {
		e.SessionID, e.CallID, e.Tool, e.Principal, e.Origin = of.Session, of.CallID, of.Tool, of.Principal, of.Origin
	}
	if err != nil {
		e.Code, e.Text = gate.Code(robot.CodeOf(err)), e.Text+": "+err.Error()
	}
	data, jerr := json.Marshal(t)
	if jerr == nil {
		e.Data = data
	}
	// The motion is over; a log that can't be written changes nothing of that.
	if err := r.sink.Emit(e); err != nil {
		r.log.Error("the trace of a motion could not be recorded", "err", err)
	}
}
