package motion

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

// Motions of a base on two driven wheels: arcs, during which the ratio of both
// wheels' travel is constant. The joints that carry the base are never commanded.

type driveInput struct {
	Linear     float64  `json:"linear"`
	Angular    float64  `json:"angular"`
	Duration   float64  `json:"duration"`
	SpeedScale *float64 `json:"speed_scale"`
}

func (p *Planner) prepareDrive(ctx context.Context, call gate.Call, a *arm, w want) (*moveAction, error) {
	in, err := args[driveInput](call)
	if err != nil {
		return nil, err
	}
	return p.drive(ctx, a, in, w)
}

// drive plans one arc at exactly the speeds that were asked for but for its ramps,
// in exactly that time. The scale is one of acceleration and jerk alone.
func (p *Planner) drive(ctx context.Context, a *arm, in driveInput, w want) (*moveAction, error) {
	b := a.Model.Base
	if b == nil {
		return nil, robot.Errf(robot.CodeNotSupported, "drive",
			"%s has no base that drives; a file given with --actuators that has base: says which two wheels drive it", a.Model.Name)
	}
	if in.Linear == 0 && in.Angular == 0 {
		return nil, robot.Errf(robot.CodeInvalidArgument, "linear", "linear and angular are both 0: that is no motion")
	}
	scale, err := a.scale(w, in.SpeedScale)
	if err != nil {
		return nil, err
	}
	needs, err := a.driveNeeds(w, in, scale)
	if err != nil {
		return nil, err
	}
	st, err := a.ready(ctx, w)
	if err != nil {
		return nil, err
	}
	v, err := a.view(w, st, false)
	if err != nil {
		return nil, err
	}
	from := a.startOf(st)
	arc := func(seconds float64) planning.Arc { return planning.ArcFor(b, in.Linear, in.Angular, seconds) }
	if _, err := v.planner.ArcCurve(from, arc(in.Duration)); err != nil {
		return nil, err
	}
	limits := append([]robot.JointLimits(nil), a.Model.Limits...)
	for i := range limits {
		limits[i].Acceleration *= scale
		limits[i].Jerk *= scale
	}
	t, cruise, err := trajectory.CurveAtSpeed(a.info.Joints, limits, func(seconds float64) trajectory.Curve {
		c, err := v.planner.ArcCurve(from, arc(seconds))
		if err != nil {
			return nil
		}
		return c
	}, in.Duration, 1)
	if err != nil {
		return nil, in.nearest(err)
	}
	if _, err := v.planner.Drive(ctx, from, []planning.Arc{arc(cruise)}); err != nil {
		return nil, err
	}
	to, err := after(v, from, []planning.Arc{arc(cruise)})
	if err != nil {
		return nil, err
	}
	in.takes(b, from, to, cruise)
	facts := []gate.Fact{{Label: "Drives", Text: fmt.Sprintf("%s, at %.3f m/s and %.3f rad/s in %.2f s",
		arcText(b, arc(cruise)), in.Linear, in.Angular, in.Duration)}}
	return p.finish(ctx, a, st, v, course{timed: once(t), whole: true, goal: goal{joints: to}, facts: facts, needs: needs}, 1)
}

// capRounding is by how much of itself a speed may be above the cap: what rounding makes
// of one that a refusal has offered.
const capRounding = 1e-9

// driveNeeds is the speed scale that a drive has to be allowed: that of its ramps, or
// the part of a wheel's speed that it uses if that is more.
func (a *arm) driveNeeds(w want, in driveInput, scale float64) (float64, error) {
	b := a.Model.Base
	turn := planning.ArcFor(b, in.Linear, in.Angular, 1)
	part := math.Max(math.Abs(turn.Left)/a.Model.Limits[b.Left].Velocity, math.Abs(turn.Right)/a.Model.Limits[b.Right].Velocity)
	most := a.speedCap(w.session, w.principal)
	if most < 1 && !(part <= most*(1+capRounding)) {
		e := overCap("linear", part, most)
		e.Text = "is a larger part of the wheels' speed than this session may use"
		f := most / part
		e.Nearest = []robot.Quantity{{Name: "linear", Value: f * in.Linear, Unit: "m/s"}, {Name: "angular", Value: f * in.Angular, Unit: "rad/s"}}
		return 0, e
	}
	return math.Min(most, math.Max(part, scale)), nil
}

// takes sets in to where an arc at these speeds for some seconds takes a base from
// where it is in from, whatever its wheels make of it: by the chord of the arc, which
// leads half of the turn off the way it looked.
func (in driveInput) takes(b *robot.Base, from, to []float64, seconds float64) {
	turn := in.Angular * seconds
	chord := in.Linear * seconds
	if half := turn / 2; half != 0 {
		chord *= math.Sin(half) / half
	}
	sin, cos := math.Sincos(from[b.Yaw] + turn/2)
	to[b.X], to[b.Y], to[b.Yaw] = from[b.X]+chord*cos, from[b.Y]+chord*sin, from[b.Yaw]+turn
}

// nearest turns the fraction of the speed that would do into the arguments' own words.
func (in driveInput) nearest(err error) error {
	var e *robot.Error
	if !errors.As(err, &e) || len(e.Nearest) != 1 || e.Nearest[0].Name != "speed" {
		return err
	}
	f := e.Nearest[0].Value
	out := *e
	out.Nearest = []robot.Quantity{{Name: "linear", Value: f * in.Linear, Unit: "m/s"}, {Name: "angular", Value: f * in.Angular, Unit: "rad/s"}}
	return &out
}

// arcText says what an arc is.
func arcText(b *robot.Base, arc planning.Arc) string {
	way, turn := b.Radius*(arc.Left+arc.Right)/2, b.Radius*(arc.Right-arc.Left)/b.Track
	var parts []string
	if math.Abs(way) > movedRad {
		parts = append(parts, fmt.Sprintf("%.3f m %s", math.Abs(way), pick(way > 0, "forwards", "backwards")))
	}
	if math.Abs(turn) > movedRad {
		parts = append(parts, fmt.Sprintf("turning %.3f rad to the %s", math.Abs(turn), pick(turn > 0, "left", "right")))
	}
	if len(parts) == 0 {
		return "not at all"
	}
	return strings.Join(parts, " ")
}

func pick(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// arcs drives a base along arcs, from rest to rest each.
func (p *Planner) arcs(ctx context.Context, a *arm, st robot.State, v *view, from []float64, arcs []planning.Arc, scale *float64, g goal, facts []gate.Fact) (*moveAction, error) {
	curves, err := v.planner.Drive(ctx, from, arcs)
	if err != nil {
		return nil, err
	}
	return p.along(ctx, a, st, v, curves, scale, g, append(facts, drives(a.Model.Base, arcs)))
}

func drives(b *robot.Base, arcs []planning.Arc) gate.Fact {
	parts := make([]string, len(arcs))
	for k := range arcs {
		parts[k] = arcText(b, arcs[k])
	}
	return gate.Fact{Label: "Drives", Text: strings.Join(parts, ", then ")}
}

// wheelGoal is where wheels have to end; the base goes where they take it.
func (a *arm) wheelGoal(to []float64) goal {
	b := a.Model.Base
	end := append([]float64(nil), to...)
	for _, i := range [...]int{b.X, b.Y, b.Yaw} {
		end[i] = math.NaN()
	}
	return goal{joints: end}
}

// isWheel reports whether active joint i is one of a base's wheels.
func (a *arm) isWheel(i int) bool {
	b := a.Model.Base
	return b != nil && (i == b.Left || i == b.Right)
}

// onBase reports whether only a base moves a link.
func (a *arm) onBase(link int) bool {
	m := a.Model
	if m.Base == nil {
		return false
	}
	for p := m.Links[link].Parent; p >= 0; p = m.Links[m.Joints[p].Parent].Parent {
		if j := &m.Joints[p]; j.Mimic != nil || j.Active >= 0 && !m.Base.Carries(j.Active) {
			return false
		}
	}
	return true
}

// wheelArc is the arc that turns the wheels that a target names by exactly as much
// as it says, whole turns too; false if it names no wheel.
func (a *arm) wheelArc(from, to []float64, positions map[string]float64) (planning.Arc, bool, error) {
	wheels := 0
	for n := range positions {
		if a.isWheel(a.Model.ActiveIndex(n)) {
			wheels++
		}
	}
	if wheels == 0 {
		return planning.Arc{}, false, nil
	}
	if wheels < len(positions) {
		return planning.Arc{}, false, robot.Errf(robot.CodeInvalidArgument, "positions", "wheels drive the base; move them and other joints one after the other")
	}
	b := a.Model.Base
	return planning.Arc{Left: to[b.Left] - from[b.Left], Right: to[b.Right] - from[b.Right]}, true, nil
}

// baseHome takes a base to where home has it, and after that the other joints. The
// wheels' own angles are of no interest.
func (p *Planner) baseHome(ctx context.Context, a *arm, st robot.State, v *view, from []float64, scale *float64) (*moveAction, error) {
	b, home := a.Model.Base, a.Model.Home
	arcs, err := v.planner.BaseTo(from, home[b.X], home[b.Y], &home[b.Yaw])
	if err != nil {
		return nil, err
	}
	curves, err := v.planner.Drive(ctx, from, arcs)
	if err != nil {
		return nil, err
	}
	at, err := after(v, from, arcs)
	if err != nil {
		return nil, err
	}
	to, others := append([]float64(nil), at...), false
	for i := range to {
		if !b.Carries(i) && !a.isWheel(i) {
			to[i] = home[i]
			others = others || home[i] != at[i]
		}
	}
	if others {
		path, err := v.planner.JointPath(ctx, at, to, p.rng(at, to))
		if err != nil {
			return nil, err
		}
		for k := 1; k < len(path); k++ {
			curves = append(curves, trajectory.Line{From: path[k-1], To: path[k]})
		}
	}
	end := append([]float64(nil), home...)
	end[b.Left], end[b.Right] = math.NaN(), math.NaN()
	return p.along(ctx, a, st, v, curves, scale, goal{joints: end, turns: true}, []gate.Fact{drives(b, arcs)})
}
