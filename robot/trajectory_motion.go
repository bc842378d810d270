package robot

import (
	"crypto/sha256"
	"fmt"
)

// Validate reports why a motion must not run on a robot with these joints and
// limits, or nil. It is what a backend's Execute refuses before it looks at the
// robot: a trajectory about other joints or in another order, whatever
// Trajectory.Validate refuses, tolerances that aren't one finite number above 0
// for each joint, a grip without such an effort, a search that moves another joint,
// the other way, or beyond its own bounds, and zones that aren't names in ascending
// order. ID and Epoch are for the backend to judge, and so is whether there are such
// zones.
func (m Motion) Validate(joints []string, limits []JointLimits) error {
	t := &m.Trajectory
	if len(t.Joints) != len(joints) {
		return Errf(CodeInvalidArgument, "joints", "the trajectory is about %d joints, the robot has %d", len(t.Joints), len(joints))
	}
	for i, name := range joints {
		if t.Joints[i] != name {
			return Errf(CodeInvalidArgument, "joints", "joint %d of the trajectory is %q, the robot's is %q", i, t.Joints[i], name)
		}
	}
	if m.Seek != nil {
		var err error
		if limits, err = m.Seek.limits(t, limits); err != nil {
			return err
		}
	}
	if err := t.Validate(limits); err != nil {
		return err
	}
	for _, list := range [...]struct {
		name string
		x    []float64
	}{{"start_tolerance", m.StartTolerance}, {"max_deviation", m.MaxDeviation}} {
		if len(list.x) != len(joints) {
			return Errf(CodeInvalidArgument, list.name, "%d numbers for %d joints", len(list.x), len(joints))
		}
		for i, x := range list.x {
			if !(x > 0) || !finite(x) {
				return LimitErr(CodeInvalidArgument, fmt.Sprintf("%s.%s", list.name, joints[i]), x, 0, "rad or m",
					"a tolerance must be finite and above 0")
			}
		}
	}
	if m.Grip != nil && (!(m.Grip.MaxEffort > 0) || !finite(m.Grip.MaxEffort)) {
		return LimitErr(CodeInvalidArgument, "grip.max_effort", m.Grip.MaxEffort, 0, "N·m or N",
			"a grip's effort must be finite and above 0")
	}
	before := ""
	for _, name := range m.Zones {
		if name <= before {
			return Errf(CodeInvalidArgument, "zones", "%q after %q: zones are names in ascending order, each once", name, before)
		}
		before = name
	}
	return nil
}

// limits returns the limits that a search is held to: its own bounds for the joint
// that searches, no motion at all for the others, wherever they stand.
func (s *Seek) limits(t *Trajectory, limits []JointLimits) ([]JointLimits, error) {
	if len(limits) != len(t.Joints) || s.Joint < 0 || s.Joint >= len(limits) {
		return nil, Errf(CodeInvalidArgument, "seek.joint", "joint %d of %d", s.Joint, len(t.Joints))
	}
	name := t.Joints[s.Joint]
	for _, b := range [...]struct {
		what  string
		value float64
	}{{"speed", s.Speed}, {"travel", s.Travel}} {
		if !(b.value > 0) || !finite(b.value) {
			return nil, LimitErr(CodeInvalidArgument, "seek."+b.what, b.value, 0, "", "a search's "+b.what+" must be finite and above 0")
		}
	}
	l := limits[s.Joint]
	switch {
	case s.Direction != 1 && s.Direction != -1:
		return nil, Errf(CodeInvalidArgument, "seek.direction", "is %g, neither 1 nor -1", s.Direction)
	case !finite(s.Switch) || l.Bounded && (s.Switch < l.Lower || s.Switch > l.Upper):
		return nil, Errf(CodeInvalidArgument, "seek.switch", "%g isn't within the limits of %s", s.Switch, name)
	case s.Speed > l.Velocity:
		return nil, LimitErr(CodeSpeedLimit, name, s.Speed, l.Velocity, "(rad or m)/s", "the search is faster than the joint may be")
	}
	out := append([]JointLimits(nil), limits...)
	start := t.Start()
	for i := range out {
		if i >= len(start) {
			break // a shape that Validate refuses
		}
		o := &out[i]
		o.Bounded, o.Lower, o.Upper = true, start[i], start[i]
		switch {
		case i != s.Joint: // it holds
		case s.Direction > 0:
			o.Upper += s.Travel
		default:
			o.Lower -= s.Travel
		}
	}
	out[s.Joint].Velocity = s.Speed
	return out, nil
}

// AppendCanonical appends the canonical encoding of what a motion does and in
// which bounds: the header "tau.mot" and a version byte, the trajectory's
// encoding, StartTolerance, MaxDeviation, a byte that says whether there is a Grip,
// with its MaxEffort after it if there is, another for a Seek, with its fields in
// their order after it, and the Zones. Numbers and lists are encoded as in a
// trajectory.
//
// ID and Epoch aren't part of it. They say which call a motion belongs to and
// which stops it has outlived, and both are given again when a stored motion is
// taken up after a restart; they are held against the call and the backend
// themselves.
func (m Motion) AppendCanonical(dst []byte) []byte {
	dst = append(dst, motionMagic...)
	dst = m.Trajectory.AppendCanonical(dst)
	dst = appendFloats(dst, m.StartTolerance)
	dst = appendFloats(dst, m.MaxDeviation)
	if m.Grip == nil {
		dst = append(dst, 0)
	} else {
		dst = appendFloat(append(dst, 1), m.Grip.MaxEffort)
	}
	if s := m.Seek; s == nil {
		dst = append(dst, 0)
	} else {
		dst = appendCount(append(dst, 1), s.Joint)
		for _, x := range [...]float64{s.Switch, s.Direction, s.Speed, s.Travel} {
			dst = appendFloat(dst, x)
		}
	}
	return appendStrings(dst, m.Zones)
}

// Digest returns the SHA-256 of the canonical encoding, and so is the same for
// the same motion in another call or another epoch.
func (m Motion) Digest() [32]byte { return sha256.Sum256(m.AppendCanonical(nil)) }

// DecodeMotion is the inverse of Motion.AppendCanonical, as strict as
// DecodeTrajectory. ID is empty and Epoch 0: the caller sets them.
func DecodeMotion(data []byte) (Motion, error) {
	d := decoder{what: "motion", data: data}
	d.magic(motionMagic)
	m := Motion{Trajectory: d.trajectory()}
	n := len(m.Trajectory.Joints)
	m.StartTolerance = d.floatsFor(n)
	m.MaxDeviation = d.floatsFor(n)
	if d.flag() {
		m.Grip = &Grip{MaxEffort: d.float()}
	}
	if d.flag() {
		at := d.off
		s := &Seek{Joint: d.count(0), Switch: d.float(), Direction: d.float(), Speed: d.float(), Travel: d.float()}
		if s.Joint >= n && d.err == nil {
			d.off = at
			d.fail("a switch of joint %d of %d", s.Joint, n)
		}
		m.Seek = s
	}
	m.Zones = d.strings()
	return m, d.end()
}

// flag reads a byte that is 0 or 1.
func (d *decoder) flag() bool {
	b := d.take(1)
	if b == nil {
		return false
	}
	if b[0] > 1 {
		d.off--
		d.fail("a flag of %d, which is neither 0 nor 1", b[0])
	}
	return b[0] == 1
}
