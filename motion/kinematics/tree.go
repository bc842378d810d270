package kinematics

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

// Frame is the pose of a link in the root frame: elements 0 to 8 are the
// rotation matrix by rows, elements 9 to 11 the position of the link's origin in
// metres. It is an alias of a plain array so that other packages can name it in
// an interface of their own without importing this one.
type Frame = [12]float64

// unitTolerance bounds how far the norm of a joint's axis or of an origin's
// quaternion may be from 1 before the description is refused.
const unitTolerance = 1e-6

type kind uint8

const (
	fixed kind = iota
	turnX
	turnY
	turnZ
	turnAny
	slide
)

// op is what one joint does to its parent's frame.
type op struct {
	kind          kind
	noTurn        bool // the origin's rotation is the identity
	parent, child int32
	active        int32 // position in q, -1 if fixed
	up            int32 // index of the next moving op towards the root, -1 if none
	// The joint's value is scale·q[active] + offset. For an axis along -x, -y
	// or -z the sign of the axis is in turnSign, not here.
	scale, offset float64
	turnSign      float64
	r             [9]float64 // parent from joint at 0, by rows
	p             [3]float64 // m
	axis          [3]float64 // unit, in the joint frame
	slideDir      [3]float64 // the axis in the parent's frame, for prismatic joints
}

// Tree is the kinematics of one description. It is immutable and may be shared
// between goroutines; what a computation writes to belongs to its caller (Data).
type Tree struct {
	ops   []op
	last  []int32 // by link: index of the first moving op at or above it, -1 if none
	links int
	root  int
	dof   int
}

// Data is the scratch of one goroutine: the frames of all links at the last q
// that FK was given.
type Data struct {
	Frames []Frame // by link
}

// New prepares the kinematics of a description. It refuses, with
// INVALID_ARGUMENT and the joint's name, a description whose joints aren't in
// order from the root or that holds a number that isn't finite.
func New(d *robot.Description) (*Tree, error) {
	if d == nil || len(d.Links) == 0 || d.Root < 0 || d.Root >= len(d.Links) {
		return nil, robot.Errf(robot.CodeInvalidArgument, "description", "has no root link")
	}
	t := &Tree{links: len(d.Links), root: d.Root, dof: len(d.Active)}
	t.last = make([]int32, t.links)
	placed := make([]bool, t.links)
	placed[d.Root] = true
	t.last[d.Root] = -1
	for i := range d.Joints {
		j := &d.Joints[i]
		if j.Parent < 0 || j.Parent >= t.links || j.Child < 0 || j.Child >= t.links || !placed[j.Parent] || placed[j.Child] {
			return nil, robot.Errf(robot.CodeInvalidArgument, j.Name, "joint isn't part of a tree in order from the root")
		}
		o, err := newOp(d, j)
		if err != nil {
			return nil, err
		}
		o.up = t.last[j.Parent]
		placed[j.Child] = true
		if o.active >= 0 {
			t.last[j.Child] = int32(len(t.ops))
		} else {
			t.last[j.Child] = o.up
		}
		t.ops = append(t.ops, o)
	}
	for i, ok := range placed {
		if !ok {
			return nil, robot.Errf(robot.CodeInvalidArgument, d.Links[i].Name, "link isn't connected to the root")
		}
	}
	return t, nil
}

func newOp(d *robot.Description, j *robot.Joint) (op, error) {
	bad := func(text string) (op, error) {
		return op{}, robot.Errf(robot.CodeInvalidArgument, j.Name, "%s", text)
	}
	o := op{parent: int32(j.Parent), child: int32(j.Child), active: -1, scale: 1, turnSign: 1}
	if !finite(j.Origin.P[:]...) || !finite(j.Origin.Q.W, j.Origin.Q.X(), j.Origin.Q.Y(), j.Origin.Q.Z()) {
		return bad("origin isn't finite")
	}
	if math.Abs(j.Origin.Q.Len()-1) > unitTolerance {
		return bad("origin's quaternion isn't of unit length")
	}
	o.r = Rotation(j.Origin.Q)
	o.noTurn = o.r == [9]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}
	o.p = [3]float64(j.Origin.P)
	if j.Type == robot.Fixed {
		return o, nil
	}
	if !finite(j.Axis[:]...) || math.Abs(j.Axis.Len()-1) > unitTolerance {
		return bad("axis isn't a unit vector")
	}
	o.axis = [3]float64(j.Axis.Normalize())
	switch j.Type {
	case robot.Revolute, robot.Continuous:
		o.kind = turnAny
		for k, special := range [3]kind{turnX, turnY, turnZ} {
			if math.Abs(o.axis[k]) == 1 && o.axis[(k+1)%3] == 0 && o.axis[(k+2)%3] == 0 {
				o.kind, o.turnSign = special, o.axis[k]
			}
		}
	case robot.Prismatic:
		o.kind = slide
		o.slideDir = mulVec(&o.r, o.axis)
	default:
		return bad("joint type isn't known")
	}
	master := j
	if m := j.Mimic; m != nil {
		if m.Joint < 0 || m.Joint >= len(d.Joints) || !finite(m.Multiplier, m.Offset) {
			return bad("mimic isn't valid")
		}
		master = &d.Joints[m.Joint]
		o.scale, o.offset = m.Multiplier, m.Offset
	}
	if master.Active < 0 || master.Active >= len(d.Active) {
		return bad("joint has no place in the configuration")
	}
	o.active = int32(master.Active)
	return o, nil
}

// NewData returns scratch for this tree.
func (t *Tree) NewData() *Data { return &Data{Frames: make([]Frame, t.links)} }

// DoF returns the length of q.
func (t *Tree) DoF() int { return t.dof }

// FK computes the frames of all links at q (length DoF, rad or m) into d. It
// allocates nothing. A q or d of another length is a mistake of the caller and
// panics like an index out of range; a q that isn't finite gives frames that aren't.
func (t *Tree) FK(d *Data, q []float64) { t.FrameFK(d.Frames, q) }

// FrameFK is FK into a slice of frames, one for each link.
func (t *Tree) FrameFK(frames []Frame, q []float64) {
	frames = frames[:t.links]
	q = q[:t.dof]
	frames[t.root] = Frame{1, 0, 0, 0, 1, 0, 0, 0, 1}
	for i := range t.ops {
		o := &t.ops[i]
		p, c := &frames[o.parent], &frames[o.child]
		var v float64
		if o.active >= 0 {
			v = o.scale*q[o.active] + o.offset
		}
		x, y, z := o.p[0], o.p[1], o.p[2]
		if o.kind == slide {
			x += v * o.slideDir[0]
			y += v * o.slideDir[1]
			z += v * o.slideDir[2]
		}
		c[9] = p[0]*x + p[1]*y + p[2]*z + p[9]
		c[10] = p[3]*x + p[4]*y + p[5]*z + p[10]
		c[11] = p[6]*x + p[7]*y + p[8]*z + p[11]
		if o.noTurn {
			copy(c[:9], p[:9])
		} else {
			mulInto(c, p, &o.r)
		}
		switch o.kind {
		case turnX:
			s, cs := math.Sincos(o.turnSign * v)
			turn(c, 1, 2, s, cs)
		case turnY:
			s, cs := math.Sincos(o.turnSign * v)
			turn(c, 2, 0, s, cs)
		case turnZ:
			s, cs := math.Sincos(o.turnSign * v)
			turn(c, 0, 1, s, cs)
		case turnAny:
			r := axisAngle(o.axis, v)
			b := *c
			mulInto(c, &b, &r)
		}
	}
}

// turn multiplies the rotation of f from the right with a turn from axis a
// towards axis b.
func turn(f *Frame, a, b int, s, c float64) {
	u0, v0 := f[a], f[b]
	f[a], f[b] = c*u0+s*v0, c*v0-s*u0
	u1, v1 := f[3+a], f[3+b]
	f[3+a], f[3+b] = c*u1+s*v1, c*v1-s*u1
	u2, v2 := f[6+a], f[6+b]
	f[6+a], f[6+b] = c*u2+s*v2, c*v2-s*u2
}

func mulInto(dst, a *Frame, b *[9]float64) {
	dst[0] = a[0]*b[0] + a[1]*b[3] + a[2]*b[6]
	dst[1] = a[0]*b[1] + a[1]*b[4] + a[2]*b[7]
	dst[2] = a[0]*b[2] + a[1]*b[5] + a[2]*b[8]
	dst[3] = a[3]*b[0] + a[4]*b[3] + a[5]*b[6]
	dst[4] = a[3]*b[1] + a[4]*b[4] + a[5]*b[7]
	dst[5] = a[3]*b[2] + a[4]*b[5] + a[5]*b[8]
	dst[6] = a[6]*b[0] + a[7]*b[3] + a[8]*b[6]
	dst[7] = a[6]*b[1] + a[7]*b[4] + a[8]*b[7]
	dst[8] = a[6]*b[2] + a[7]*b[5] + a[8]*b[8]
}

func mulVec(r *[9]float64, v [3]float64) [3]float64 {
	return [3]float64{
		r[0]*v[0] + r[1]*v[1] + r[2]*v[2],
		r[3]*v[0] + r[4]*v[1] + r[5]*v[2],
		r[6]*v[0] + r[7]*v[1] + r[8]*v[2],
	}
}

// axisAngle is Rodrigues' formula: the rotation by angle about the unit axis.
func axisAngle(a [3]float64, angle float64) [9]float64 {
	s, c := math.Sincos(angle)
	k := 1 - c
	return [9]float64{
		c + k*a[0]*a[0], k*a[0]*a[1] - s*a[2], k*a[0]*a[2] + s*a[1],
		k*a[0]*a[1] + s*a[2], c + k*a[1]*a[1], k*a[1]*a[2] - s*a[0],
		k*a[0]*a[2] - s*a[1], k*a[1]*a[2] + s*a[0], c + k*a[2]*a[2],
	}
}

// Rotation returns the rotation matrix, by rows, of a quaternion that isn't zero.
// It normalises to the last digit, which mgl64.Quat.Normalize doesn't: that
// leaves a norm within 1e-10 of 1 as it is.
func Rotation(q mgl64.Quat) [9]float64 {
	q = q.Scale(1 / q.Len())
	w, x, y, z := q.W, q.X(), q.Y(), q.Z()
	return [9]float64{
		1 - 2*(y*y+z*z), 2 * (x*y - w*z), 2 * (x*z + w*y),
		2 * (x*y + w*z), 1 - 2*(x*x+z*z), 2 * (y*z - w*x),
		2 * (x*z - w*y), 2 * (y*z + w*x), 1 - 2*(x*x+y*y),
	}
}

func finite(v ...float64) bool {
	for _, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return false
		}
	}
	return true
}
