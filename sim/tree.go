package sim

import (
	"math"

	"github.com/tau-robot/tau/robot"
)

// body is everything that moves with one movable joint: the joint's child link
// and all links that fixed joints attach to it. Its frame is the joint's frame
// after the motion.
type body struct {
	parent    int   // body index, -1 for what stands with the root link
	at        frame // parent body from joint frame at q = 0
	axis      vec3
	prismatic bool
	active    int // position in q that drives it
	mult, off float64
	inertia   inertia // about the body frame's origin
}

// tree is a model compiled for dynamics: fixed joints merged away, mimic joints
// tied to what drives them. It is immutable and shared between simulators.
type tree struct {
	model   *robot.Model
	n       int // active joints
	bodies  []body
	linkOf  []int   // body of each link, -1 for those fixed to the root
	place   []frame // body (or root) frame from link frame
	assumed []string
}

// maxJoints bounds what is simulated: the dynamics of a step grow with the square
// of the joints and more, and a second opinion that takes minutes is none.
const maxJoints = 64

// newTree checks a model and compiles it. Everything that dynamics divides by or
// takes a root of is checked here: a limit that isn't finite and positive fails
// at start-up, never in a motion.
func newTree(m *robot.Model) (*tree, error) {
	if m == nil || m.Description == nil {
		return nil, robot.Errf(robot.CodeInvalidArgument, "model", "there is no model to simulate")
	}
	if len(m.Active) == 0 {
		return nil, robot.Errf(robot.CodeInvalidArgument, m.Name, "the robot has no joint that can move")
	}
	if n := len(m.Active); n > maxJoints {
		return nil, robot.LimitErr(robot.CodeInvalidArgument, m.Name, float64(n), maxJoints, "", "the robot has more joints that move than can be simulated")
	}
	if len(m.Limits) != len(m.Active) {
		return nil, robot.Errf(robot.CodeInvalidArgument, m.Name, "%d joint limits for %d active joints", len(m.Limits), len(m.Active))
	}
	for i, name := range m.JointNames() {
		if err := m.Limits[i].Validate(name); err != nil {
			return nil, err
		}
	}
	if g := m.Gripper; g != nil && (g.Joint < 0 || g.Joint >= len(m.Active)) {
		return nil, robot.Errf(robot.CodeInvalidArgument, "gripper", "joint %d of %d", g.Joint, len(m.Active))
	}
	if m.Tip < 0 || m.Tip >= len(m.Links) || m.Root < 0 || m.Root >= len(m.Links) {
		return nil, robot.Errf(robot.CodeInvalidArgument, m.Name, "the tip (%d) or the root (%d) isn't one of %d links", m.Tip, m.Root, len(m.Links))
	}
	t := &tree{model: m, n: len(m.Active), linkOf: make([]int, len(m.Links)), place: make([]frame, len(m.Links))}
	seen := make([]bool, len(m.Links))
	seen[m.Root] = true
	t.linkOf[m.Root], t.place[m.Root] = -1, identityFrame()
	for k := range m.Joints {
		if err := t.addJoint(k, seen); err != nil {
			return nil, err
		}
	}
	for l := range m.Links {
		if !seen[l] {
			return nil, robot.Errf(robot.CodeInvalidArgument, m.Links[l].Name, "the link hangs on no joint that comes before it")
		}
		if err := t.addMass(l); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *tree) addJoint(k int, seen []bool) error {
	j := &t.model.Joints[k]
	links := t.model.Links
	if j.Parent < 0 || j.Parent >= len(links) || j.Child < 0 || j.Child >= len(links) || !seen[j.Parent] || seen[j.Child] {
		return robot.Errf(robot.CodeInvalidArgument, j.Name, "the joint's parent must come before it and its child must be new")
	}
	seen[j.Child] = true
	origin := frameOf(j.Origin)
	if !finite3(origin.P) || math.IsNaN(origin.R[0]) {
		return robot.Errf(robot.CodeInvalidArgument, j.Name, "the joint's origin isn't finite")
	}
	at := t.place[j.Parent].mul(&origin)
	if j.Type == robot.Fixed {
		t.linkOf[j.Child], t.place[j.Child] = t.linkOf[j.Parent], at
		return nil
	}
	b := body{parent: t.linkOf[j.Parent], at: at, prismatic: j.Type == robot.Prismatic, active: j.Active, mult: 1}
	if j.Mimic != nil {
		if j.Mimic.Joint < 0 || j.Mimic.Joint >= len(t.model.Joints) {
			return robot.Errf(robot.CodeInvalidArgument, j.Name, "the joint mimics joint %d of %d", j.Mimic.Joint, len(t.model.Joints))
		}
		b.active, b.mult, b.off = t.model.Joints[j.Mimic.Joint].Active, j.Mimic.Multiplier, j.Mimic.Offset
	}
	if b.active < 0 || b.active >= t.n {
		return robot.Errf(robot.CodeInvalidArgument, j.Name, "the joint isn't driven by an active joint")
	}
	n := j.Axis.Len()
	if !(n > 1e-9) || math.IsInf(n, 0) || math.IsNaN(b.mult) || math.IsNaN(b.off) {
		return robot.Errf(robot.CodeInvalidArgument, j.Name, "the joint's axis must be finite and not zero")
	}
	b.axis = j.Axis.Mul(1 / n)
	t.linkOf[j.Child], t.place[j.Child] = len(t.bodies), identityFrame()
	t.bodies = append(t.bodies, b)
	return nil
}

// assumedDensity is that of the bounding box of a collider, kg/m³, for links
// whose description gives no mass: about what a printed or thin-walled part with
// a motor in it has.
const assumedDensity = 500

func (t *tree) addMass(l int) error {
	link := &t.model.Links[l]
	b := t.linkOf[l]
	if b < 0 {
		return nil // what stands with the root doesn't move
	}
	if link.Inertial == nil {
		var sum float64
		for i := range link.Colliders {
			c := &link.Colliders[i]
			in, mass := boxInertia(&c.Geometry)
			sum += mass
			f := frameOf(c.Origin)
			f = t.place[l].mul(&f)
			up := f.up(&in)
			t.bodies[b].inertia.add(&up)
		}
		if sum > 0 {
			t.assumed = append(t.assumed, "mass of "+link.Name+": the description gives none; colliders' bounding boxes at 500 kg/m³")
		}
		return nil
	}
	in := link.Inertial
	c := in.Inertia
	for _, x := range [...]float64{in.Mass, c[0], c[1], c[2], c[3], c[4], c[5]} {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return robot.Errf(robot.CodeInvalidArgument, link.Name, "the link's inertial isn't finite")
		}
	}
	if in.Mass < 0 || c[0] < 0 || c[3] < 0 || c[5] < 0 {
		return robot.Errf(robot.CodeInvalidArgument, link.Name, "the link's mass and moments of inertia must not be negative")
	}
	own := inertia{m: in.Mass, i: mat3{c[0], c[1], c[2], c[1], c[3], c[4], c[2], c[4], c[5]}}
	f := frameOf(in.Origin)
	f = t.place[l].mul(&f)
	up := f.up(&own)
	t.bodies[b].inertia.add(&up)
	return nil
}

// boxInertia returns the inertia of a geometry's bounding box at assumedDensity
// about the geometry's own origin, and its mass.
func boxInertia(g *robot.Geometry) (inertia, float64) {
	lo, hi := bounds(g)
	s, mid := hi.Sub(lo), hi.Add(lo).Mul(0.5)
	m := s[0] * s[1] * s[2] * assumedDensity
	if !(m > 0) || math.IsInf(m, 0) {
		return inertia{}, 0
	}
	k := m / 12
	in := inertia{m: m, i: mat3{k * (s[1]*s[1] + s[2]*s[2]), 0, 0, 0, k * (s[0]*s[0] + s[2]*s[2]), 0, 0, 0, k * (s[0]*s[0] + s[1]*s[1])}}
	f := frame{R: identity3(), P: mid}
	return f.up(&in), m
}

func finite3(v vec3) bool {
	s := v[0] + v[1] + v[2]
	return !math.IsNaN(s) && !math.IsInf(s, 0)
}
