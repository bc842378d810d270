package planning

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

// goesOnPart and goesOnLength are how far ahead on a line it is looked for whether
// the arm reaches it: a part of the line, and m.
const (
	goesOnPart   = 0.01
	goesOnLength = 0.005
)

// MaxWaypoints bounds the waypoints of one call of Lines.
const MaxWaypoints = 256

// Lines returns the curves on which the tip goes straight from where it is at from
// to the first waypoint, and from each waypoint to the next; one curve for each
// waypoint, each in proportion to the length of its line. Along a line
//
//   - a waypoint with an orientation has the tip turn to it evenly by the shorter
//     way (slerp); a turn of nearly half a turn is INVALID_ARGUMENT, since it has two;
//   - a waypoint with a tool axis has that axis turn evenly; the turn about it is
//     free and as small as the joints permit;
//   - a waypoint with neither keeps the line's start orientation, if the tip depends
//     on six of the arm's joints or more. An arm with fewer can't hold an
//     orientation in general: there the tip turns as little as the line permits, and
//     a line on which it would turn by more than a quarter turn is refused.
//
// On the whole curve the tip is within 0.1 mm of where it should be, and within
// 1 mrad of the orientation or tool axis where there is one. Each knot is solved for
// from the one before, so that the arm never changes its branch, and each curve has
// two continuous derivatives. Continuous joints go on counting across ±π. Only the
// arm's joints move, none of a base. The checker has accepted the whole way, in the direction of
// travel.
//
// from may be outside the limits by the start tolerances, as in JointPath; a line
// begins at the limit then. A joint that begins at its limit, and that others can make
// up for, may be led up to a millimetre or milliradian inside on the line's first part.
//
// A path that can't be done whole is refused, with how much of it can be done, by
// length, as Value "fraction", and the last pose reached as Nearest (x, y, z in m
// and qw, qx, qy, qz, in the root frame): UNREACHABLE (Where is the tip),
// JOINT_LIMIT (the joint, with its limit), SINGULAR (the joint that would have to
// move far more than the tip, or jump; also where the arm reaches what is next on the
// line, but not from how it stands), SELF_COLLISION, SCENE_COLLISION and
// ZONE_NOT_GRANTED (the pair; the checker's error is the cause). Other errors are
// INVALID_ARGUMENT, NOT_SUPPORTED for a link that only a base moves, JOINT_LIMIT of
// the start, and CANCELLED when ctx ends. rng is
// only used to find out whether a waypoint that can't be reached on a line can be
// reached at all, which the text says; the same arguments give the same curves. The
// caller owns them.
func (p *Planner) Lines(ctx context.Context, from []float64, waypoints []Target, rng *rand.Rand) ([]trajectory.Curve, error) {
	start, err := p.inside(from)
	if err != nil {
		return nil, err
	}
	switch {
	case rng == nil:
		return nil, robot.Errf(robot.CodeInvalidArgument, "rng", "is missing")
	case len(waypoints) == 0 || len(waypoints) > MaxWaypoints:
		return nil, robot.Errf(robot.CodeInvalidArgument, "waypoints", "there are %d; a path has 1 to %d", len(waypoints), MaxWaypoints)
	}
	w := way{p: p, ctx: ctx, rng: rng, waypoints: waypoints, goals: make([]goal, len(waypoints))}
	for k := range waypoints {
		if w.goals[k], err = p.check(&waypoints[k]); err != nil {
			return nil, inWaypoint(k, err)
		}
	}
	w.measure(start)
	return w.run(start)
}

func inWaypoint(k int, err error) error {
	var e *robot.Error
	if !errors.As(err, &e) {
		return err
	}
	out := *e
	out.Where = fmt.Sprintf("waypoints[%d].%s", k, e.Where)
	return &out
}

// way is a call of Lines.
type way struct {
	p         *Planner
	ctx       context.Context
	rng       *rand.Rand
	waypoints []Target
	goals     []goal
	done      []float64 // by line: what part of the whole is done where it starts; then 1
	curves    []trajectory.Curve
}

// measure finds out which part of the way each line is.
func (w *way) measure(start []float64) {
	n := len(w.goals)
	w.done = make([]float64, n+1)
	d := w.p.tree.NewData()
	w.p.tree.FK(d, start)
	at := d.Position(w.goals[0].tip)
	for k := range w.goals {
		w.done[k+1] = w.done[k] + w.goals[k].p.Sub(at).Len()
		at = w.goals[k].p
	}
	total := w.done[n]
	for k := range w.done {
		if total > 0 {
			w.done[k] /= total
		} else {
			w.done[k] = float64(k) / float64(n)
		}
	}
}

// fraction returns how much of the whole is done u along line k.
func (w *way) fraction(k int, u float64) float64 { return w.done[k] + u*(w.done[k+1]-w.done[k]) }

func (w *way) run(start []float64) ([]trajectory.Curve, error) {
	q := start
	var segments []robot.Segment
	for k := range w.goals {
		s := w.p.newSolver(w.goals[k].tip)
		s.joints = slices.DeleteFunc(s.joints, w.p.belongs)
		if w.p.m.Base != nil && len(s.joints) == 0 {
			return nil, robot.Errf(robot.CodeNotSupported, w.p.m.Links[w.goals[k].tip].Name, "only the base moves this link, and a base drives (Drive, BaseTo)")
		}
		w.p.tree.FK(s.d, q)
		l, err := newLine(w.goals[k], s.d, len(s.joints))
		if err != nil {
			return nil, inWaypoint(k, err)
		}
		if l.length() == 0 && l.angle == 0 {
			w.curves = append(w.curves, trajectory.Line{From: q, To: q})
			segments = append(segments, still(q))
			continue
		}
		dof := len(q)
		flat := make([]float64, 3*dof)
		t := tracker{p: w.p, s: s, l: l, from: q, q: flat[:dof], was: flat[dof : 2*dof], trial: flat[2*dof:]}
		t.bound(0)
		c, why, reached, err := t.track(w.ctx)
		if err != nil {
			return nil, err
		}
		if why != nil {
			return nil, w.ends(&t, k, why, reached, segments)
		}
		w.curves = append(w.curves, c)
		segments = c.segments(segments)
		q = c.knot(c.intervals())
	}
	if at, err := w.p.follow(w.ctx, segments); err != nil {
		return nil, w.blocked(at, err)
	}
	return w.curves, nil
}

// still is a curve that goes nowhere as a segment.
func still(q []float64) robot.Segment {
	zero := make([]float64, len(q))
	return robot.Segment{Duration: 1, Q: q, V: zero, A: zero, J: zero}
}

// ends returns the error for a line that ends early, or for what is in the way
// before that.
func (w *way) ends(t *tracker, k int, why *trouble, reached []float64, segments []robot.Segment) error {
	dof := len(t.from)
	n := len(reached)/dof - 1
	u := float64(n) / mostIntervals
	last := reached[n*dof:]
	if n >= leastKnots {
		// The curve so far, as if the line ended there: its parameter is stretched.
		c := newSpline(reached, dof)
		w.curves = append(w.curves, c)
		at, err := w.p.follow(w.ctx, c.segments(segments))
		if err != nil && isContact(err) {
			if int(at) == k {
				w.done[k+1] = w.fraction(k, u)
			}
			return w.blocked(at, err)
		}
		if err != nil {
			return err
		}
	}
	if why.code == robot.CodeSingular || why.code == robot.CodeUnreachable && why.value == 0 {
		switch joint := w.goesOn(t, u, last); {
		case joint < 0:
			why = &trouble{code: robot.CodeUnreachable, joint: -1}
		case why.code == robot.CodeUnreachable:
			why = &trouble{code: robot.CodeSingular, joint: joint}
		}
	}
	e := &robot.Error{Code: why.code, Where: t.p.m.Links[t.l.tip].Name}
	done := w.fraction(k, u)
	e.Value = &robot.Quantity{Name: "fraction", Value: done}
	e.Nearest = w.p.pose(t.l.tip, last)
	where := fmt.Sprintf("after %.1f %% of the way, towards waypoint %d,", 100*done, k)
	switch {
	case why.code == robot.CodeJointLimit:
		name, side, limit := t.p.names[why.joint], "upper", t.p.m.Limits[why.joint].Upper
		if l := &t.p.m.Limits[why.joint]; why.value < (l.Lower+l.Upper)/2 {
			side, limit = "lower", l.Lower
		}
		e.Where = name
		e.Text = fmt.Sprintf("%s joint %s would have to go to %.4f %s, to or beyond its %s limit", where, name, why.value, t.p.unit(why.joint), side)
		e.Limit = &robot.Quantity{Name: name, Value: limit, Unit: t.p.unit(why.joint)}
	case why.code == robot.CodeSingular:
		e.Where = t.p.names[why.joint]
		e.Text = fmt.Sprintf("%s joint %s would have to jump or to move far more than the tip: the arm is at a singularity", where, e.Where)
	case why.value > 0:
		e.Text = fmt.Sprintf("%s the tip would be turned by %.2f rad, since this arm can't hold it; give the waypoint an orientation or a tool axis", where, why.value)
	default:
		e.Text = where + " the line leaves the arm's reach"
	}
	if _, err := w.p.IK(w.ctx, w.waypoints[k], last, w.rng); err == nil {
		e.Text += "; the waypoint can be reached, but not straight from here"
	} else if w.ctx.Err() != nil {
		return cancelled(w.ctx)
	}
	if t.l.turn == fullTurn && w.goals[k].turn == anyTurn {
		e.Text += "; the waypoint gives no orientation, so that the start's is held: another orientation, or moving by move_joints or move_pose, may help"
	}
	return e
}

// goesOn returns the joint that would have to move most for the arm to be on the
// line a little after u, -1 if it can't be there at all. Where an arm is stretched
// out it can't, and is at a singularity only because of that.
func (w *way) goesOn(t *tracker, u float64, last []float64) int {
	g := t.l.at(min(1, u+max(goesOnPart, goesOnLength/max(t.l.length(), goesOnLength))))
	s := w.p.newSolver(g.tip)
	q := make([]float64, len(last))
	for k := range nearestAttempts {
		s.restart(k, last, q, w.rng)
		if dist, angle := s.descend(&g, s.weight, q, false); dist > PositionTolerance || angle > AngleTolerance {
			continue
		}
		most := s.joints[0]
		for _, i := range s.joints {
			q[i] = w.p.nearTurn(i, q[i], last[i])
			if math.Abs(q[i]-last[i]) > math.Abs(q[most]-last[most]) {
				most = i
			}
		}
		return most
	}
	return -1
}

// blocked returns the error for a contact at a parameter of the whole way, which is
// 1 for each curve. What is reached is what is free before it.
func (w *way) blocked(at float64, err error) error {
	var e *robot.Error
	if !errors.As(err, &e) || !isContact(err) {
		return err
	}
	k := min(int(at), len(w.curves)-1)
	u := at - float64(k)
	q, free := w.before(k, u)
	out := &robot.Error{Code: e.Code, Where: e.Where, Err: err}
	done := w.fraction(k, free)
	out.Value = &robot.Quantity{Name: "fraction", Value: done}
	out.Nearest = w.p.pose(w.goals[k].tip, q)
	out.Text = fmt.Sprintf("after %.1f %% of the way, towards waypoint %d, there would be contact", 100*done, k)
	if text := w.words(k, u, e.Where); text != "" {
		out.Text = fmt.Sprintf("after %.1f %% of the way, towards waypoint %d: %s", 100*done, k, text)
	}
	return out
}

// words returns what the checker says of a contact at or just behind u on curve k,
// without the time that it names on a path, "" if it doesn't find the same pair.
func (w *way) words(k int, u float64, pair string) string {
	n := w.p.m.DoF()
	q, d := make([]float64, n), make([]float64, 3*n)
	for _, on := range [...]float64{0, 1e-6, 1e-4, 1e-3} {
		w.curves[k].At(min(1, u+on), q, d[:n], d[n:2*n], d[2*n:])
		var e *robot.Error
		if _, err := w.p.checker.Check(q); errors.As(err, &e) && e.Where == pair {
			return e.Text
		}
	}
	return ""
}

// before returns the last configuration on curve k that is free before u, and
// where it is; the curve's start if there is none.
func (w *way) before(k int, u float64) ([]float64, float64) {
	n := w.p.m.DoF()
	q, d := make([]float64, n), make([]float64, 3*n)
	for back := 1.0 / mostIntervals; ; back *= 2 {
		at := 0.0 // also where u isn't a number
		if u > back {
			at = u - back
		}
		w.curves[k].At(at, q, d[:n], d[n:2*n], d[2*n:])
		if at == 0 {
			return q, at
		}
		if _, err := w.p.checker.Check(q); err == nil {
			return q, at
		}
	}
}

// pose returns where a link is as quantities: x, y, z in m, qw, qx, qy, qz.
func (p *Planner) pose(link int, q []float64) []robot.Quantity {
	d := p.tree.NewData()
	p.tree.FK(d, q)
	return quantities(d.Pose(link), true)
}

func quantities(pose robot.Pose, turn bool) []robot.Quantity {
	out := []robot.Quantity{
		{Name: "x", Value: pose.P[0], Unit: "m"}, {Name: "y", Value: pose.P[1], Unit: "m"}, {Name: "z", Value: pose.P[2], Unit: "m"},
	}
	if turn {
		out = append(out, robot.Quantity{Name: "qw", Value: pose.Q.W}, robot.Quantity{Name: "qx", Value: pose.Q.X()},
			robot.Quantity{Name: "qy", Value: pose.Q.Y()}, robot.Quantity{Name: "qz", Value: pose.Q.Z()})
	}
	return out
}
