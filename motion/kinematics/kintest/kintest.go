// Package kintest builds robots for the tests of motion: an arm like panda, a
// small five-joint arm with a gripper, and random trees. Only tests import it;
// it imports robot and rapid and nothing else of ours.
package kintest

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

// Builder assembles a model joint by joint.
type Builder struct{ m *robot.Model }

// NewBuilder returns a builder whose model has a root link.
func NewBuilder(name, root string) *Builder {
	return &Builder{m: &robot.Model{Description: &robot.Description{
		Name: name, Links: []robot.Link{{Name: root, Parent: -1}},
	}}}
}

// RPY is the rotation that URDF writes as rpy, radians.
func RPY(r, p, y float64) mgl64.Quat {
	return mgl64.QuatRotate(y, mgl64.Vec3{0, 0, 1}).
		Mul(mgl64.QuatRotate(p, mgl64.Vec3{0, 1, 0})).
		Mul(mgl64.QuatRotate(r, mgl64.Vec3{1, 0, 0}))
}

// At is a pose from a position and rpy.
func At(x, y, z, r, p, w float64) robot.Pose {
	return robot.Pose{P: mgl64.Vec3{x, y, z}, Q: RPY(r, p, w)}
}

// Joint adds a joint and its child link and returns the child's index. Active
// joints get limits of 2 rad/s (or m/s) and belong to the arm.
func (b *Builder) Joint(name string, typ robot.JointType, parent int, origin robot.Pose, axis mgl64.Vec3, lower, upper float64) int {
	child := len(b.m.Links)
	j := robot.Joint{
		Name: name, Type: typ, Parent: parent, Child: child, Origin: origin, Axis: axis,
		Bounded: typ != robot.Continuous && typ != robot.Fixed, Lower: lower, Upper: upper, Velocity: 2, Active: -1,
	}
	if typ == robot.Fixed {
		j.Axis = mgl64.Vec3{}
	} else {
		j.Active = len(b.m.Active)
		b.m.Active = append(b.m.Active, len(b.m.Joints))
		b.m.Limits = append(b.m.Limits, robot.JointLimits{
			Bounded: j.Bounded, Lower: lower, Upper: upper, Velocity: 2, Acceleration: 2, Jerk: 20,
		})
		b.m.Arm = append(b.m.Arm, j.Active)
		b.m.Home = append(b.m.Home, 0)
	}
	b.m.Joints = append(b.m.Joints, j)
	b.m.Links = append(b.m.Links, robot.Link{Name: "link_" + name, Parent: len(b.m.Joints) - 1})
	return child
}

// Mimic adds a joint that follows an active joint and returns the child's index.
func (b *Builder) Mimic(name string, typ robot.JointType, parent int, origin robot.Pose, axis mgl64.Vec3, of int, mult, off float64) int {
	child := len(b.m.Links)
	b.m.Joints = append(b.m.Joints, robot.Joint{
		Name: name, Type: typ, Parent: parent, Child: child, Origin: origin, Axis: axis, Active: -1,
		Mimic: &robot.Mimic{Joint: b.m.Active[of], Multiplier: mult, Offset: off},
	})
	b.m.Links = append(b.m.Links, robot.Link{Name: "link_" + name, Parent: len(b.m.Joints) - 1})
	return child
}

// Body adds a collision body to a link.
func (b *Builder) Body(link int, origin robot.Pose, g robot.Geometry) {
	l := &b.m.Links[link]
	l.Colliders = append(l.Colliders, robot.Collider{
		Name: fmt.Sprintf("%s_%d", l.Name, len(l.Colliders)), Origin: origin, Geometry: g,
	})
}

// Model finishes with the given tip; neighbours are allowed to touch, and so
// are links that only fixed joints part.
func (b *Builder) Model(tip int) *robot.Model {
	b.m.Tip = tip
	for i := range b.m.Links {
		a := i
		for b.m.Links[a].Parent >= 0 {
			j := &b.m.Joints[b.m.Links[a].Parent]
			a = j.Parent
			b.m.Allowed = append(b.m.Allowed, [2]int{min(i, a), max(i, a)})
			if j.Type != robot.Fixed {
				break
			}
		}
	}
	return b.m
}

// Arm7 is a seven-joint arm with the proportions that Franka publishes for its
// Panda (modified DH table of the FCI documentation), without bodies. The tip is the flange.
func Arm7() *robot.Model {
	b := NewBuilder("arm7", "base")
	z := mgl64.Vec3{0, 0, 1}
	const h = math.Pi / 2
	l := b.Joint("j1", robot.Revolute, 0, At(0, 0, 0.333, 0, 0, 0), z, -2.8973, 2.8973)
	l = b.Joint("j2", robot.Revolute, l, At(0, 0, 0, -h, 0, 0), z, -1.7628, 1.7628)
	l = b.Joint("j3", robot.Revolute, l, At(0, -0.316, 0, h, 0, 0), z, -2.8973, 2.8973)
	l = b.Joint("j4", robot.Revolute, l, At(0.0825, 0, 0, h, 0, 0), z, -3.0718, -0.0698)
	l = b.Joint("j5", robot.Revolute, l, At(-0.0825, 0.384, 0, -h, 0, 0), z, -2.8973, 2.8973)
	l = b.Joint("j6", robot.Revolute, l, At(0, 0, 0, h, 0, 0), z, -0.0175, 3.7525)
	l = b.Joint("j7", robot.Revolute, l, At(0.088, 0, 0, h, 0, 0), z, -2.8973, 2.8973)
	l = b.Joint("flange", robot.Fixed, l, At(0, 0, 0.107, 0, 0, 0), z, 0, 0)
	m := b.Model(l)
	copy(m.Home, []float64{0, -0.7854, 0, -2.3562, 0, 1.5708, 0.7854})
	return m
}

// Arm5 is a small five-joint arm with a one-finger gripper and box and cylinder
// bodies, of the size of a desktop arm. The tip's z axis points out of the hand.
func Arm5() *robot.Model {
	b := NewBuilder("arm5", "base")
	x, y, z := mgl64.Vec3{1, 0, 0}, mgl64.Vec3{0, 1, 0}, mgl64.Vec3{0, 0, 1}
	box := func(sx, sy, sz float64) robot.Geometry {
		return robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{sx, sy, sz}}
	}
	b.Body(0, At(0, 0, 0.025, 0, 0, 0), robot.Geometry{Kind: robot.Cylinder, Radius: 0.045, Length: 0.05})
	pan := b.Joint("pan", robot.Revolute, 0, At(0, 0, 0.055, 0, 0, 0), z, -1.92, 1.92)
	b.Body(pan, At(0, 0, 0.025, 0, 0, 0), box(0.05, 0.05, 0.045))
	lift := b.Joint("lift", robot.Revolute, pan, At(0.02, 0, 0.05, 0, 0, 0), y, -1.75, 1.75)
	b.Body(lift, At(0, 0, 0.06, 0, 0, 0), box(0.03, 0.04, 0.11))
	elbow := b.Joint("elbow", robot.Revolute, lift, At(0, 0, 0.116, 0, 0, 0), y, -1.69, 1.69)
	b.Body(elbow, At(0, 0, 0.065, 0, 0, 0), robot.Geometry{Kind: robot.Capsule, Radius: 0.018, Length: 0.09})
	flex := b.Joint("flex", robot.Revolute, elbow, At(0, 0, 0.135, 0, 0, 0), y, -1.66, 1.66)
	b.Body(flex, At(0, 0, 0.025, 0, 0, 0), box(0.03, 0.03, 0.04))
	roll := b.Joint("roll", robot.Revolute, flex, At(0, 0, 0.05, 0, 0, 0), z, -2.74, 2.84)
	b.Body(roll, At(0, 0.015, 0.05, 0, 0, 0), box(0.03, 0.012, 0.09))
	jaw := b.Joint("gripper", robot.Revolute, roll, At(0, -0.015, 0.02, 0, 0, 0), x, -0.17, 1.75)
	b.Body(jaw, At(0, 0, 0.035, 0, 0, 0), box(0.02, 0.008, 0.07))
	tip := b.Joint("tip", robot.Fixed, roll, At(0, 0, 0.095, 0, 0, 0), z, 0, 0)
	m := b.Model(tip)
	m.Arm = m.Arm[:5]
	m.Gripper = &robot.Gripper{Joint: 5, Closed: 0, Open: 1.5, MaxEffort: 1, Links: []int{roll, jaw}}
	copy(m.Home, []float64{0, -0.6, 1.2, 0.8, 0, 0})
	return m
}

// Tree draws a random tree with joints of all types and mimics; at least one
// joint is active. The tip is the last link.
func Tree(t *rapid.T, maxJoints int) *robot.Model {
	b := NewBuilder("random", "root")
	n := rapid.IntRange(1, maxJoints).Draw(t, "joints")
	f := func(lo, hi float64, name string) float64 { return rapid.Float64Range(lo, hi).Draw(t, name) }
	link := 0
	for i := range n {
		parent := link
		if rapid.IntRange(0, 4).Draw(t, "branch") == 0 {
			parent = rapid.IntRange(0, link).Draw(t, "parent")
		}
		origin := At(f(-0.4, 0.4, "x"), f(-0.4, 0.4, "y"), f(-0.4, 0.4, "z"), f(-3, 3, "r"), f(-1.5, 1.5, "p"), f(-3, 3, "w"))
		if rapid.Bool().Draw(t, "plain") {
			origin.Q = mgl64.QuatIdent()
		}
		axes := []mgl64.Vec3{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}}
		axis := rapid.SampledFrom(axes).Draw(t, "axis")
		if rapid.Bool().Draw(t, "skew") {
			axis = mgl64.Vec3{f(0.1, 1, "ax"), f(-1, 1, "ay"), f(-1, 1, "az")}.Normalize()
		}
		types := []robot.JointType{robot.Revolute, robot.Continuous, robot.Prismatic, robot.Fixed}
		typ := rapid.SampledFrom(types).Draw(t, "type")
		if i == 0 && typ == robot.Fixed {
			typ = robot.Revolute
		}
		name := fmt.Sprintf("j%d", i)
		if typ != robot.Fixed && i > 0 && rapid.IntRange(0, 3).Draw(t, "mimic") == 0 {
			of := rapid.IntRange(0, len(b.m.Active)-1).Draw(t, "of")
			link = b.Mimic(name, typ, parent, origin, axis, of, f(-2, 2, "mult"), f(-0.5, 0.5, "off"))
			continue
		}
		lo := f(-2.5, 0, "lower")
		link = b.Joint(name, typ, parent, origin, axis, lo, lo+f(0.1, 3, "range"))
	}
	return b.Model(link)
}

// Q draws a configuration inside the limits; continuous joints within ±4 rad.
func Q(t *rapid.T, m *robot.Model) []float64 {
	q := make([]float64, m.DoF())
	for i, l := range m.Limits {
		lo, hi := -4.0, 4.0
		if l.Bounded {
			lo, hi = l.Lower, l.Upper
		}
		q[i] = rapid.Float64Range(lo, hi).Draw(t, fmt.Sprintf("q%d", i))
	}
	return q
}
