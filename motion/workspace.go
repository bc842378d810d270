package motion

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/motion/collision"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/robot"
)

// Box is an axis-aligned box in a robot's root frame, m.
type Box struct {
	Min, Max mgl64.Vec3
}

const (
	// workspaceMargin is how far inside the workspace's faces, m, a planned tip stays:
	// what a servo may be off its course before the tip is outside.
	workspaceMargin = 2e-3
	// workspaceResolution is by how much of that margin, m, a tip may be nearer to a
	// face between two places that were looked at, and as much again at one, which is
	// for rounding. What a whole path keeps is the difference: 1.5 mm.
	workspaceResolution = 2.5e-4
)

// Check refuses a box that isn't one, or has no room for a tip.
func (b Box) Check() error {
	for k := range b.Min {
		lo, hi := b.Min[k], b.Max[k]
		if !(hi-lo > 2*workspaceMargin) || math.IsInf(hi-lo, 0) {
			return robot.Errf(robot.CodeInvalidArgument, "workspace",
				"goes from %g to %g m along %c: two finite numbers, the second more than %g m above the first", lo, hi, "xyz"[k], 2*workspaceMargin)
		}
	}
	return nil
}

// workspace is a box that one arm's tip stays in. It is immutable.
type workspace struct {
	box   Box // with the margin taken off
	whole Box
	model *robot.Model
	tree  *kinematics.Tree
	joint []int // from the tip to the root, by description
}

// newWorkspace returns the workspace of an arm.
func newWorkspace(m *robot.Model, tree *kinematics.Tree, b Box) *workspace {
	w := &workspace{whole: b, box: b, model: m, tree: tree}
	for k := range b.Min {
		w.box.Min[k] += workspaceMargin
		w.box.Max[k] -= workspaceMargin
	}
	for j := m.Links[m.Tip].Parent; j >= 0; j = m.Links[m.Joints[j].Parent].Parent {
		w.joint = append(w.joint, j)
	}
	return w
}

// beyond is how far a tip is beyond each face: below 0 inside.
type beyond [6]float64

func (w *workspace) beyond(p mgl64.Vec3) beyond {
	var b beyond
	for k := range p {
		b[k], b[3+k] = w.box.Min[k]-p[k], p[k]-w.box.Max[k]
	}
	return b
}

// within returns what a tip that is so far beyond the faces may be beyond them later:
// one that begins outside may only get nearer.
func (b beyond) within(most *beyond) beyond {
	for k := range b {
		b[k] = math.Max(0, math.Min(b[k], most[k]))
	}
	return b
}

// room is how far it is to the nearest face, or to as far beyond it as it may be.
func (b beyond) room(most *beyond) float64 {
	room := math.Inf(1)
	for k := range b {
		room = math.Min(room, most[k]-b[k])
	}
	return room
}

// boxed is a checker of bodies that holds the tip in a workspace as well.
type boxed struct {
	*collision.Checker
	w    *workspace
	most beyond // what the tip may be beyond the faces: where the motion starts
}

func (b *boxed) tip(d *kinematics.Data, q []float64) mgl64.Vec3 {
	b.w.tree.FK(d, q)
	return d.Position(b.w.model.Tip)
}

// Check adds the workspace to the checker's.
func (b *boxed) Check(q []float64) (*robot.Clearance, error) {
	c, err := b.Checker.Check(q)
	if err != nil {
		return c, err
	}
	tip := b.tip(b.w.tree.NewData(), q)
	if off := b.w.beyond(tip); !(off.room(&b.most) >= -workspaceResolution) {
		return b.w.clearance(&off, 0), b.w.outside(&off, &b.most, tip, "")
	}
	return c, nil
}

// CheckSegment adds the workspace to the checker's. At is a part of the segment.
func (b *boxed) CheckSegment(from, to []float64) (*robot.Clearance, error) {
	c, err := b.Checker.CheckSegment(from, to)
	if err != nil && !isContact(err) {
		return c, err
	}
	n := len(from)
	s := robot.Segment{Duration: 1, Q: from, V: make([]float64, n), A: make([]float64, n), J: make([]float64, n)}
	for i := range from {
		s.V[i] = to[i] - from[i]
	}
	return first(c, err)(b.follow([]robot.Segment{s}, ""))
}

// CheckTrajectory adds the workspace to the checker's.
func (b *boxed) CheckTrajectory(t robot.Trajectory) (*robot.Clearance, error) {
	c, err := b.Checker.CheckTrajectory(t)
	if err != nil && !isContact(err) {
		return c, err
	}
	return first(c, err)(b.follow(t.Segments, "s"))
}

// first returns of two findings that which is met first.
func first(c *robot.Clearance, err error) func(*robot.Clearance, error) (*robot.Clearance, error) {
	return func(d *robot.Clearance, out error) (*robot.Clearance, error) {
		if out == nil || err != nil && (c == nil || c.At <= d.At) {
			return c, err
		}
		return d, out
	}
}

// maxLooks bounds the places that are looked at on one path: some kilometres along a
// face.
const maxLooks = 1 << 24

// follow holds the tip in the workspace all along a path: between two places that are
// looked at, the joints' rates can't take it farther than it has room, and the
// resolution more. Where it leaves is the clearance's At.
func (b *boxed) follow(segments []robot.Segment, unit string) (*robot.Clearance, error) {
	w := b.w
	d := w.tree.NewData()
	q := make([]float64, w.model.DoF())
	most, start, looks := b.most, 0.0, 0
	for k := range segments {
		s := &segments[k]
		rate := w.rate(s)
		for t := 0.0; ; looks++ {
			for i := range q {
				q[i] = s.Q[i] + t*(s.V[i]+t*(s.A[i]/2+t*s.J[i]/6))
			}
			tip := b.tip(d, q)
			off := w.beyond(tip)
			room := off.room(&most)
			if !(room >= -workspaceResolution) {
				when := ""
				if unit != "" {
					when = fmt.Sprintf(" at %.3f %s", start+t, unit)
				}
				return w.clearance(&off, start+t), w.outside(&off, &most, tip, when)
			}
			most = off.within(&most)
			if t >= s.Duration {
				break
			}
			if looks > maxLooks || math.IsNaN(rate) {
				return nil, robot.Errf(robot.CodeInvalidArgument, "workspace", "the way of %s is too long to be held in it", w.name())
			}
			t = math.Min(s.Duration, t+(math.Max(0, room)+workspaceResolution)/rate)
		}
		start += s.Duration
	}
	return nil, nil
}

// rate bounds the speed of the tip during a segment, in m for each unit of its
// duration: the sum over the joints of their largest rate and the longest lever that
// they can have.
func (w *workspace) rate(s *robot.Segment) float64 {
	var sum, lever float64
	for _, j := range w.joint {
		x := &w.model.Joints[j]
		i, mult, off := x.Active, 1.0, 0.0
		if x.Mimic != nil {
			i, mult, off = w.model.Joints[x.Mimic.Joint].Active, math.Abs(x.Mimic.Multiplier), math.Abs(x.Mimic.Offset)
		}
		if x.Type != robot.Fixed && i >= 0 {
			v := mult * fastest(s, i)
			if x.Type == robot.Prismatic {
				sum += v
				lever += mult*math.Abs(s.Q[i]) + off + v*s.Duration
			} else {
				sum += v * lever
			}
		}
		lever += x.Origin.P.Len()
	}
	return sum
}

// fastest is the largest |velocity| of joint i during a segment.
func fastest(s *robot.Segment, i int) float64 {
	v, a, j, d := s.V[i], s.A[i], s.J[i], s.Duration
	most := math.Max(math.Abs(v), math.Abs(v+d*(a+d*j/2)))
	if t := -a / j; t > 0 && t < d {
		most = math.Max(most, math.Abs(v+t*(a+t*j/2)))
	}
	return most
}

func (w *workspace) name() string { return w.model.Links[w.model.Tip].Name }

// worst is the face that a tip is farthest beyond of what it may be.
func (b *beyond) worst(most *beyond) int {
	worst := 0
	for k := range b {
		if b[k]-most[k] > b[worst]-most[worst] {
			worst = k
		}
	}
	return worst
}

func (w *workspace) clearance(off *beyond, at float64) *robot.Clearance {
	return &robot.Clearance{Distance: -off[off.worst(&beyond{})], A: w.name(), B: "workspace", At: at}
}

// outside refuses a place of the tip, with the nearest one inside.
func (w *workspace) outside(off, most *beyond, tip mgl64.Vec3, when string) *robot.Error {
	k := off.worst(most)
	axis, limit := k%3, w.box.Min[k%3]
	if k >= 3 {
		limit = w.box.Max[axis]
	}
	text := "would leave the workspace"
	if most[k] > 0 {
		text = "is outside the workspace at the start and may only come back, which it doesn't"
	}
	e := robot.LimitErr(robot.CodeWorkspace, w.name(), tip[axis], limit, "m", fmt.Sprintf("%s %s%s", w.name(), text, when))
	e.Value.Name, e.Limit.Name = "xyz"[axis:axis+1], "xyz"[axis:axis+1]
	e.Nearest = quantities(w.nearest(tip), nil)
	return e
}

// nearest is the place in the workspace that is nearest to another.
func (w *workspace) nearest(p mgl64.Vec3) mgl64.Vec3 {
	for k := range p {
		p[k] = math.Min(math.Max(p[k], w.box.Min[k]), w.box.Max[k])
	}
	return p
}

// holds refuses a target of the tip that is outside the workspace, before anything
// looks for a way to it.
func (v *view) holds(where string, t *planning.Target) error {
	if v.box == nil || t.Tip != v.box.w.model.Tip {
		return nil
	}
	off := v.box.w.beyond(t.Position)
	if off.room(&v.box.most) >= -workspaceResolution {
		return nil
	}
	e := v.box.w.outside(&off, &v.box.most, t.Position, "")
	e.Where, e.Text = where, "is outside the workspace of "+v.box.w.name()
	return e
}
