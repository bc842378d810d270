package sim

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tau-robot/tau/robot"
)

// A joint that counts steps knows where it is from the moment at which its switch
// closes. The switch is closed from Reference.Switch on to the end stop behind it.
// It closes where the joint truly is, whatever is counted, and then the count
// becomes Switch; the joint comes to rest a little further on and goes back there.
//
// A switch that is closed already when the search begins ends it at once. The
// count is then off by as much as lies behind the switch at most, switchRoom.
const (
	// switchRoom is the largest distance, rad, between a switch and the end stop
	// behind it for which a search may begin with the switch closed; switchRoomM
	// for sliding joints, m.
	switchRoom  = 0.02
	switchRoomM = 5e-3
	// stopMargin is how far behind where a search's brake ends the end stop is at
	// least, rad; stopMarginM for sliding joints, m.
	stopMargin  = 4e-3
	stopMarginM = 1e-3
)

// endStops moves the end stops behind the switches, so that a search that brakes
// where its switch closes doesn't run into them, and says so.
func endStops(t *tree, params []jointParams) (assumed []string) {
	for k := range t.model.References {
		ref := &t.model.References[k]
		i, l, margin := ref.Joint, t.model.Limits[ref.Joint], stopMargin
		if unitOf(t, i) == "m" {
			margin = stopMarginM
		}
		for _, p := range robot.Brake(0, ref.Speed, 0, l) {
			margin += p.Duration * (p.V + p.Duration*(p.A/2+p.Duration*p.J/6))
		}
		if ref.Direction < 0 {
			params[i].lower = math.Min(params[i].lower, ref.Switch-margin)
		} else {
			params[i].upper = math.Max(params[i].upper, ref.Switch+margin)
		}
		assumed = append(assumed, fmt.Sprintf("end stop of %s: %.3g %s behind its switch",
			t.model.Joints[t.model.Active[i]].Name, behind(ref, params), unitOf(t, i)))
	}
	return assumed
}

// behind is how far a joint gets behind its switch.
func behind(ref *robot.Reference, params []jointParams) float64 {
	if ref.Direction < 0 {
		return ref.Switch - params[ref.Joint].lower
	}
	return params[ref.Joint].upper - ref.Switch
}

// checkUnreferenced refuses joints that could never be referenced.
func checkUnreferenced(t *tree, unknown []bool) error {
	if unknown == nil {
		return nil
	}
	if len(unknown) != t.n {
		return robot.Errf(robot.CodeInvalidArgument, "unreferenced", "%d flags for %d joints", len(unknown), t.n)
	}
	for i, u := range unknown {
		if u && t.model.Reference(i) == nil {
			name := t.model.JointNames()[i]
			return robot.Errf(robot.CodeInvalidArgument, name, "%s has no switch that it could be referenced by", name)
		}
	}
	return nil
}

// admissibleSeek holds a search to the robot's own switch.
func (r *Robot) admissibleSeek(s *robot.Seek) error {
	name := r.info.Joints[s.Joint]
	ref := r.tree.model.Reference(s.Joint)
	switch {
	case ref == nil:
		return robot.Errf(robot.CodeNotSupported, name, "%s has no reference switch", name)
	case s.Direction != ref.Direction:
		return robot.Errf(robot.CodeInvalidArgument, "seek.direction", "the switch of %s is in the direction %+g, not %+g", name, ref.Direction, s.Direction)
	case s.Switch != ref.Switch:
		return robot.LimitErr(robot.CodeInvalidArgument, "seek.switch", s.Switch, ref.Switch, unitOf(r.tree, s.Joint), "the switch of "+name+" is elsewhere")
	case s.Speed > ref.Speed:
		return robot.LimitErr(robot.CodeSpeedLimit, name, s.Speed, ref.Speed, unitOf(r.tree, s.Joint)+"/s", "the search is faster than this joint's may be")
	case s.Travel > ref.Travel:
		return robot.LimitErr(robot.CodeInvalidArgument, "seek.travel", s.Travel, ref.Travel, unitOf(r.tree, s.Joint), "the search is longer than that of "+name+" may be")
	}
	return nil
}

// referenced refuses a motion while it isn't known where the joints are; mu is held.
func (r *Robot) referenced(m *robot.Motion) error {
	if m.Seek != nil {
		ref, room := r.tree.model.Reference(m.Seek.Joint), switchRoom
		if unitOf(r.tree, m.Seek.Joint) == "m" {
			room = switchRoomM
		}
		if b := behind(ref, r.pl.params); b > room && r.closedSwitch(m.Seek) {
			name := r.info.Joints[m.Seek.Joint]
			return robot.LimitErr(robot.CodeNotCalibrated, name, b, room, unitOf(r.tree, m.Seek.Joint),
				"the switch of "+name+" is closed already, and so much lies behind it that this doesn't say where the joint is")
		}
		return nil
	}
	if names := r.unknown(); names != nil {
		return robot.Errf(robot.CodeNotCalibrated, names[0], "it isn't known where %s is until the reference switch is found", strings.Join(names, ", "))
	}
	return nil
}

// unknown names the joints that aren't referenced; mu is held.
func (r *Robot) unknown() (names []string) {
	for i, u := range r.unref {
		if u {
			names = append(names, r.info.Joints[i])
		}
	}
	return names
}

// closedSwitch reports whether the switch of a search is closed.
func (r *Robot) closedSwitch(s *robot.Seek) bool {
	return (r.pl.q[s.Joint]-s.Switch)*s.Direction >= 0
}

// seek ends a search whose switch has closed: the count is right from here on, and
// the setpoint moves with it, so that the drive feels nothing.
func (x *motion) seek() {
	s := x.m.Seek
	if s == nil || x.why != toItsEnd || !x.r.closedSwitch(s) {
		return
	}
	r, j := x.r, s.Joint
	by := s.Switch - (r.pl.q[j] + r.pl.offset[j])
	r.pl.offset[j] += by
	r.s.offset[j] += by
	r.s.q[j] += by
	r.qs[j] += by
	r.setReferenced(j, true)
	x.why = bySwitch
	x.follow(x.braking())
}

// returns takes a joint that has found its switch and has come to rest behind it
// back to it, once; it reports whether there is a way to go.
func (x *motion) returns() bool {
	if x.why != bySwitch || x.returned {
		return false
	}
	x.returned = true
	r, s := x.r, x.m.Seek
	l := r.info.Limits[s.Joint]
	l.Velocity = math.Min(l.Velocity, s.Speed)
	clear(r.vs)
	clear(r.as)
	x.follow(retrace(r.info.Joints, r.qs, s.Joint, s.Switch, l))
	return true
}

// retrace moves one joint from rest to rest, within its limits, in four pieces of
// constant jerk j, -j, -j, j; the others hold.
func retrace(joints []string, q []float64, joint int, to float64, l robot.JointLimits) robot.Trajectory {
	d := to - q[joint]
	// The way is 2·j·T³, the largest speed j·T², the largest acceleration j·T.
	t := math.Max(math.Abs(d)/(2*l.Velocity), math.Max(math.Sqrt(math.Abs(d)/(2*l.Acceleration)), math.Cbrt(math.Abs(d)/(2*l.Jerk))))
	if !(t > Step) {
		t = Step
	}
	out := robot.Trajectory{Joints: slices.Clone(joints)}
	at, v, a := slices.Clone(q), make([]float64, len(q)), make([]float64, len(q))
	for _, k := range [...]struct{ t, sign float64 }{{t, 1}, {2 * t, -1}, {t, 1}} {
		s := robot.Segment{Duration: k.t, Q: slices.Clone(at), V: slices.Clone(v), A: slices.Clone(a), J: make([]float64, len(q))}
		j := k.sign * d / (2 * t * t * t)
		s.J[joint] = j
		at[joint] += k.t * (v[joint] + k.t*(a[joint]/2+k.t*j/6))
		v[joint] += k.t * (a[joint] + k.t*j/2)
		a[joint] += k.t * j
		out.Segments = append(out.Segments, s)
	}
	return out
}

// unfound ends a search that came to its end without a switch: what was counted is
// worth nothing any more.
func (x *motion) unfound() {
	r, s := x.r, x.m.Seek
	name := r.info.Joints[s.Joint]
	r.setReferenced(s.Joint, false)
	went := math.Abs(x.m.Trajectory.End()[s.Joint] - x.m.Trajectory.Start()[s.Joint])
	x.fail(robot.LimitErr(robot.CodeNotCalibrated, name, went, s.Travel, unitOf(r.tree, s.Joint),
		fmt.Sprintf("%s didn't find its switch on its way at %.3f s", name, x.t)), true)
}

func (r *Robot) setReferenced(j int, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unref[j] = !known
}

// farthest returns where a rehearsal of a motion starts from: where the robot is
// counted to be, but for a joint that searches. That one, whose count is then
// returned too, stands at the far end of its range, or as far from its switch as
// the search goes: wherever it truly is, the way from there is part of this one.
func farthest(t *tree, counted []float64, m *robot.Motion) (start []float64, count *float64) {
	s := m.Seek
	if s == nil || len(counted) != t.n || m.Validate(t.model.JointNames(), t.model.Limits) != nil || t.model.Reference(s.Joint) == nil {
		return counted, nil // an ordinary motion, or one that will be refused
	}
	q := counted[s.Joint]
	if math.IsNaN(q) || math.IsInf(q, 0) {
		return counted, nil
	}
	l, margin := t.model.Limits[s.Joint], settleTolerance
	if unitOf(t, s.Joint) == "m" {
		margin = settleToleranceM
	}
	way := math.Abs(m.Trajectory.End()[s.Joint]-m.Trajectory.Segments[0].Q[s.Joint]) - margin
	far := l.Upper
	if s.Direction > 0 {
		far = l.Lower
	}
	way = math.Min(math.Max(way, 0), math.Abs(far-s.Switch))
	start = slices.Clone(counted)
	start[s.Joint] = s.Switch - s.Direction*way
	return start, &q
}

// recount makes a joint count another position than the one where it is.
func (r *Robot) recount(j int, count float64) {
	off := count - r.pl.q[j]
	r.pl.offset[j], r.s.offset[j] = off, off
	r.qs[j] = count
	r.sense(0)
	r.publish(false)
}

// slip lets the joints go on losing the steps that they are to lose: what is
// counted follows the drive, and the joint falls behind it, at the joint's largest
// speed and not through an end stop.
func (r *Robot) slip() {
	for i, left := range r.lose {
		if left == 0 {
			continue
		}
		by := clamp(left, r.tree.model.Limits[i].Velocity*Step)
		to := math.Max(math.Min(r.pl.q[i]-by, math.Max(r.pl.q[i], r.pl.params[i].upper)), math.Min(r.pl.q[i], r.pl.params[i].lower))
		by = r.pl.q[i] - to
		r.pl.q[i] = to
		r.pl.dq[i] -= by
		r.pl.offset[i] += by
		r.s.offset[i] += by
		r.lose[i] -= by
		if b := r.tree.model.Base; b != nil && (i == b.Left || i == b.Right) {
			r.pl.roundAbout(i, -by)
		}
	}
}
