package calibrate

import (
	"fmt"
	"math"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
)

// words draw a pose, and which way is positive, for somebody who stands behind the base:
// x of the root frame is ahead, y to the left, z up.
type words struct {
	m    *robot.Model
	data *kinematics.Data
	jac  []float64 // of the tip
	q    []float64
}

// newWords draws at q.
func newWords(m *robot.Model, q []float64) (*words, error) {
	tree, err := kinematics.New(m.Description)
	if err != nil {
		return nil, err
	}
	w := &words{m: m, data: tree.NewData(), jac: make([]float64, 6*tree.DoF()), q: q}
	tree.FK(w.data, q)
	tree.Jacobian(w.data, m.Tip, w.jac)
	return w, nil
}

// A part of a direction that is smaller than this by itself isn't worth a word.
const slight = 0.38 // sin 22°

// heading names a direction of the root frame.
func heading(v mgl64.Vec3) string {
	if v.Len() == 0 {
		return "nowhere"
	}
	v = v.Normalize()
	var parts []string
	for _, a := range []struct {
		c        float64
		pos, neg string
	}{{v[2], "up", "down"}, {v[0], "ahead", "back"}, {v[1], "to the left", "to the right"}} {
		switch {
		case a.c > slight:
			parts = append(parts, a.pos)
		case a.c < -slight:
			parts = append(parts, a.neg)
		}
	}
	return strings.Join(parts, " and ")
}

// side names where to look from, so that a direction points at the one who looks.
func side(v mgl64.Vec3) string {
	best, name := 0.0, ""
	for _, a := range []struct {
		c        float64
		pos, neg string
	}{{v[0], "from the front", "from behind"}, {v[1], "from the left", "from the right"}, {v[2], "from above", "from below"}} {
		if math.Abs(a.c) > best {
			best, name = math.Abs(a.c), a.pos
			if a.c < 0 {
				name = a.neg
			}
		}
	}
	return name
}

// pose draws where each joint is, one line a joint, and the tool.
func (w *words) pose() []string {
	var out []string
	for i, name := range w.m.JointNames() {
		j := w.m.Joints[w.m.Active[i]]
		line := fmt.Sprintf("  %-16s at %s", gate.Escape(name), amount(w.q[i], j.Type.Unit()))
		if g := w.m.Gripper; g != nil && g.Joint == i {
			line += fmt.Sprintf(": open by %.0f %% of what it can", 100*(w.q[i]-g.Closed)/(g.Open-g.Closed))
		} else if to, what := w.next(j.Child); what != "" {
			line += fmt.Sprintf(": from there to %s the arm points %s", what, heading(to.Sub(w.data.Position(j.Child))))
		} else {
			line += ": in the middle of its turn"
		}
		out = append(out, line)
	}
	p := w.data.Position(w.m.Tip)
	return append(out, fmt.Sprintf("  The tool is then %s, %s and %s the base's origin.",
		far(p[0], "ahead of", "behind"), far(p[1], "left of", "right of"), far(p[2], "above", "below")))
}

// least is how far apart two joints have to be for a direction between them, m.
const least = 0.03

// next is the next joint, or the tool, far enough from a link to point at.
func (w *words) next(link int) (mgl64.Vec3, string) {
	from := w.data.Position(link)
	for i, name := range w.m.JointNames() {
		j := w.m.Joints[w.m.Active[i]]
		if g := w.m.Gripper; g != nil && g.Joint == i {
			continue
		}
		if to := w.data.Position(j.Child); j.Parent == link && to.Sub(from).Len() > least {
			return to, gate.Escape(name)
		}
	}
	if w.below(link, w.m.Tip) {
		if to := w.data.Position(w.m.Tip); to.Sub(from).Len() > least {
			return to, "the tool"
		}
	}
	return mgl64.Vec3{}, ""
}

// below reports a link that hangs on another, by any number of joints.
func (w *words) below(link, tip int) bool {
	for tip != link {
		up := -1
		for i := range w.m.Joints {
			if w.m.Joints[i].Child == tip {
				up = w.m.Joints[i].Parent
			}
		}
		if up < 0 {
			return false
		}
		tip = up
	}
	return true
}

// turns is the least speed of the tool, m for each rad, that is a direction to speak of.
const turns = 0.04

// positive says in words what a joint's positive side is.
func (w *words) positive(i int) string {
	if g := w.m.Gripper; g != nil && g.Joint == i {
		if g.Open > g.Closed {
			return "the gripper opens"
		}
		return "the gripper closes"
	}
	n := w.m.DoF()
	v := mgl64.Vec3{w.jac[i], w.jac[n+i], w.jac[2*n+i]}
	if v.Len() > turns {
		return "the tool goes " + heading(v)
	}
	j := w.m.Joints[w.m.Active[i]]
	axis := w.data.Direction(j.Child, j.Axis)
	return "it turns counter-clockwise, seen " + side(axis)
}

// amount spells a position for a person.
func amount(q float64, unit string) string {
	if unit == "rad" {
		return fmt.Sprintf("%.2f rad (%.0f°)", q+0, q*180/math.Pi+0)
	}
	return fmt.Sprintf("%.3f %s", q+0, unit)
}

func far(d float64, pos, neg string) string {
	if d < 0 {
		return fmt.Sprintf("%.2f m %s", -d, neg)
	}
	return fmt.Sprintf("%.2f m %s", d, pos)
}
