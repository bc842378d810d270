package motion

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

type referenceInput struct {
	Joint *string `json:"joint"`
}

func (p *Planner) prepareReference(ctx context.Context, call gate.Call, a *arm, w want) (*moveAction, error) {
	in, err := args[referenceInput](call)
	if err != nil {
		return nil, err
	}
	return p.reference(ctx, a, in, w)
}

// reference plans the search of a joint for its switch: the joint's position counts
// for nothing, so the way is as long as the search may be.
func (p *Planner) reference(ctx context.Context, a *arm, in referenceInput, w want) (*moveAction, error) {
	st, err := a.stateFor(ctx, w)
	if err != nil {
		return nil, err
	}
	if w.moves {
		if err := a.canMove(st); err != nil {
			return nil, err
		}
	}
	ref, err := a.referenceOf(in.Joint, st)
	if err != nil {
		return nil, err
	}
	if names := a.untold(st); len(names) > 0 { // they would have to hold where nobody knows
		return nil, robot.Errf(robot.CodeNotCalibrated, strings.Join(names, ", "), "%s", a.untoldText(names))
	}
	if err := a.placed(st); err != nil {
		return nil, err
	}
	v, err := a.view(w, st, false)
	if err != nil {
		return nil, err
	}
	way, err := a.searchFree(v, ref, st)
	if err != nil {
		return nil, err
	}
	from := a.startOf(st)
	to := append([]float64(nil), from...)
	to[ref.Joint] += ref.Direction * ref.Travel
	seek := &robot.Seek{Joint: ref.Joint, Switch: ref.Switch, Direction: ref.Direction, Speed: ref.Speed, Travel: ref.Travel}
	limits := append([]robot.JointLimits(nil), a.Model.Limits...)
	for i := range limits {
		limits[i].Bounded = false
	}
	scale, err := a.scale(w, nil)
	if err != nil {
		return nil, err
	}
	l, most := &limits[ref.Joint], a.speedCap(w.session, w.principal)
	fast := math.Min(ref.Speed, most*l.Velocity)
	needs := math.Min(most, math.Max(scale, fast/l.Velocity))
	l.Velocity, l.Acceleration, l.Jerk = fast, l.Acceleration*scale, l.Jerk*scale
	t, err := trajectory.PointToPoint(a.info.Joints, limits, from, to, 1)
	if err != nil {
		return nil, err
	}
	return p.finish(ctx, a, st, v, course{timed: once(t), seek: seek, needs: needs, way: way, goal: goal{joints: to}, facts: a.searchFacts(ref, st), found: func(r *robot.Rehearsal) []gate.Fact {
		if ref.Joint >= len(r.Joints) {
			return nil
		}
		text := fmt.Sprintf("from the far end of its range, the switch closed and %s was at %.3f %s after %.1f s",
			a.info.Joints[ref.Joint], r.Joints[ref.Joint].End, a.unit(ref.Joint), r.Duration)
		return []gate.Fact{{Label: "In the rehearsal", Text: text}}
	}}, 1)
}

// searchFacts are what a card says of a search before its rehearsal.
func (a *arm) searchFacts(ref *robot.Reference, st robot.State) []gate.Fact {
	n, u := a.info.Joints[ref.Joint], a.unit(ref.Joint)
	facts := []gate.Fact{{Label: "Searches", Text: fmt.Sprintf("%s towards its %s end for the switch at %.3f %s, at most %.3f %s/s fast and %.3f %s far",
		n, end(ref.Direction), ref.Switch, u, ref.Speed, u, ref.Travel, u)}}
	unknown := "where " + n + " is, until its switch is found"
	if !unreferenced(st, ref.Joint) {
		unknown = "whether " + n + " is where it counts to be, until its switch is found"
	}
	var others []string
	for _, o := range a.unreferencedNames(st) {
		if o != n {
			others = append(others, o)
		}
	}
	if len(others) > 0 {
		unknown += "; nor where " + strings.Join(others, " and ") + " are"
		if len(others) == 1 {
			unknown = strings.TrimSuffix(unknown, "are") + "is"
		}
		unknown += ": the rehearsal takes them to be where they count to be, and the way is only as free as their counts are true"
	}
	return append(facts, gate.Fact{Label: "Not known", Text: unknown})
}

// searchFree checks the whole way that a search may take, from the far end of the
// joint's range to its switch, and returns it, as far as it is known where the other
// joints are.
func (a *arm) searchFree(v *view, ref *robot.Reference, st robot.State) (way [2][]float64, err error) {
	for i := range a.info.Joints {
		if i != ref.Joint && unreferenced(st, i) {
			return way, nil // the rehearsal takes them to be where they count to be, and says so
		}
	}
	l := a.Model.Limits[ref.Joint]
	from, to := a.startOf(st), a.startOf(st)
	from[ref.Joint], to[ref.Joint] = l.Lower, ref.Switch
	if ref.Direction < 0 {
		from[ref.Joint] = l.Upper
	}
	_, err = v.lines.CheckSegment(from, to)
	return [2][]float64{from, to}, err
}

// referenceOf finds the joint that is to look for its switch.
func (a *arm) referenceOf(joint *string, st robot.State) (*robot.Reference, error) {
	m := a.Model
	if len(m.References) == 0 {
		return nil, robot.Errf(robot.CodeNotSupported, "reference", "no joint of %s has a reference switch", m.Name)
	}
	if joint != nil {
		i := m.ActiveIndex(*joint)
		if i < 0 {
			return nil, a.notMovable("joint", *joint)
		}
		if ref := m.Reference(i); ref != nil {
			return ref, nil
		}
		return nil, robot.Errf(robot.CodeNotSupported, "joint", "%s has no reference switch; those that have: %s", *joint, strings.Join(a.switched(nil), ", "))
	}
	needs := a.switched(func(i int) bool { return unreferenced(st, i) })
	if len(needs) == 0 {
		needs = a.switched(nil)
	}
	if len(needs) > 1 {
		return nil, robot.Errf(robot.CodeInvalidArgument, "joint", "which one? %s; one is referenced at a time", strings.Join(needs, ", "))
	}
	return m.Reference(m.ActiveIndex(needs[0])), nil
}

// switched names the joints that have a switch and, if it is given, are wanted.
func (a *arm) switched(want func(int) bool) []string {
	var names []string
	for k := range a.Model.References {
		if i := a.Model.References[k].Joint; want == nil || want(i) {
			names = append(names, a.info.Joints[i])
		}
	}
	return names
}
