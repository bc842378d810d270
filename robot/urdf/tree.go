package urdf

import (
	"fmt"
	"math"
	"strings"

	"github.com/tau-robot/tau/robot"
)

// tree checks that links and joints form one tree and fills d in its order:
// depth first from the root, children in the order of the file. Nothing here
// recurses, so that a chain of thousands of links costs no stack.
func (p *parser) tree(d *robot.Description, links []rawLink, joints []rawJoint) {
	if len(links) == 0 {
		p.bad(1, "the robot has no links")
		return
	}
	index := make(map[string]int, len(links))
	for i, l := range links {
		if first, dup := index[l.Name]; dup {
			p.bad(l.line, "link %q is defined twice; the first is in %s", l.Name, p.line(links[first].line))
			continue
		}
		index[l.Name] = i
	}
	names := make(map[string]int, len(joints))
	above := make([]int, len(links)) // joint above each link, -1 for none
	for i := range above {
		above[i] = -1
	}
	below := make([][]int, len(links)) // joints below each link
	for i := range joints {
		j := &joints[i]
		if first, dup := names[j.Name]; dup {
			p.bad(j.line, "joint %q is defined twice; the first is in %s", j.Name, p.line(joints[first].line))
			continue
		}
		names[j.Name] = i
		parent, okP := index[j.parent]
		child, okC := index[j.child]
		switch {
		case !okP:
			p.bad(j.parentLine, "joint %q: the parent link %q doesn't exist", j.Name, j.parent)
		case !okC:
			p.bad(j.childLine, "joint %q: the child link %q doesn't exist", j.Name, j.child)
		case parent == child:
			p.bad(j.line, "joint %q: link %q is its own parent", j.Name, j.parent)
		case above[child] >= 0:
			p.bad(j.line, "link %q has two parents: joint %q and joint %q", j.child, joints[above[child]].Name, j.Name)
		default:
			above[child] = i
			below[parent] = append(below[parent], i)
			j.Parent, j.Child = parent, child
		}
	}
	if len(p.errs) > 0 {
		return
	}
	root := p.root(links, above, joints)
	if root < 0 {
		return
	}
	p.order(d, root, links, joints, below)
	if len(d.Links) < len(links) {
		p.loops(links, joints, above, root)
		return
	}
	p.mimics(d, joints)
}

// root returns the one link without a parent, or -1.
func (p *parser) root(links []rawLink, above []int, joints []rawJoint) int {
	var roots []int
	for i := range links {
		if above[i] < 0 {
			roots = append(roots, i)
		}
	}
	switch len(roots) {
	case 0:
		p.bad(joints[above[0]].line, "there is no root link: every link has a parent, so that joint %q is part of a loop", joints[above[0]].Name)
		return -1
	case 1:
		return roots[0]
	}
	quoted := make([]string, 0, maxErrors)
	for _, r := range roots[:min(len(roots), maxErrors)] {
		quoted = append(quoted, fmt.Sprintf("%q", links[r].Name))
	}
	p.bad(links[roots[1]].line, "there are %d root links: %s; a robot is one tree", len(roots), strings.Join(quoted, ", "))
	return -1
}

// loops names what the root doesn't reach. Since there is one root and each
// link has at most one parent, that can only be loops and what hangs on them.
func (p *parser) loops(links []rawLink, joints []rawJoint, above []int, root int) {
	state := make([]int, len(links)) // the walk that met the link first
	walk := 0
	for start := range links {
		walk++
		at := start
		for at != root && state[at] == 0 {
			state[at] = walk
			at = joints[above[at]].Parent
		}
		if at != root && state[at] == walk {
			j := joints[above[at]]
			p.bad(j.line, "joint %q: link %q is part of a loop that doesn't hang on the root %q", j.Name, j.child, links[root].Name)
		}
	}
}

// order fills d.Links and d.Joints with what the root reaches.
func (p *parser) order(d *robot.Description, root int, links []rawLink, joints []rawJoint, below [][]int) {
	newLink := make([]int, len(links))
	stack := []int{-1} // joints to go down, -1 for the root
	for len(stack) > 0 {
		j := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		at := root
		if j >= 0 {
			at = joints[j].Child
		}
		newLink[at] = len(d.Links)
		l := links[at].Link
		if j >= 0 {
			l.Parent = len(d.Joints)
			out := joints[j].Joint
			out.Parent, out.Child = newLink[out.Parent], newLink[at]
			joints[j].index = len(d.Joints)
			d.Joints = append(d.Joints, out)
		}
		d.Links = append(d.Links, l)
		for k := len(below[at]) - 1; k >= 0; k-- {
			stack = append(stack, below[at][k])
		}
	}
}

// mimics resolves chains of mimic joints, narrows the limits of the joints that
// are followed, and numbers the active joints.
func (p *parser) mimics(d *robot.Description, joints []rawJoint) {
	byName := make(map[string]*rawJoint, len(joints))
	for i := range joints {
		byName[joints[i].Name] = &joints[i]
	}
	for i := range joints {
		if joints[i].mimic != nil {
			p.resolve(d, &joints[i], byName)
		}
	}
	if len(p.errs) > 0 {
		return
	}
	for i := range joints {
		if joints[i].mimic != nil {
			p.narrow(d, &joints[i])
		}
	}
	for i := range d.Joints {
		j := &d.Joints[i]
		if j.Type != robot.Fixed && j.Mimic == nil {
			j.Active = len(d.Active)
			d.Active = append(d.Active, i)
		}
	}
}

// minMultiplier is the smallest mimic multiplier that limits are divided by.
const minMultiplier = 1e-6

// resolve follows a chain q = m·q' + o, q' = m'·q” + o', … to its active joint.
func (p *parser) resolve(d *robot.Description, j *rawJoint, byName map[string]*rawJoint) {
	mult, off := 1.0, 0.0
	at := j
	for steps := 0; at.mimic != nil; steps++ {
		next := byName[at.mimic.joint]
		switch {
		case next == nil:
			p.bad(at.mimic.line, "joint %q mimics %q, which doesn't exist", at.Name, at.mimic.joint)
			return
		case next.Type == robot.Fixed:
			p.bad(at.mimic.line, "joint %q mimics %q, which is fixed and has no position", at.Name, next.Name)
			return
		case next == j || steps > len(byName):
			p.bad(j.mimic.line, "joint %q mimics itself", j.Name)
			return
		}
		off += mult * at.mimic.offset
		mult *= at.mimic.multiplier
		at = next
	}
	if math.Abs(mult) > maxMagnitude || math.Abs(off) > maxMagnitude {
		p.bad(j.mimic.line, "joint %q: multiplier or offset out of range along its mimic chain", j.Name)
		return
	}
	if mult != 0 && math.Abs(mult) < minMultiplier {
		p.bad(j.mimic.line, "joint %q: the multiplier %g along its mimic chain is too small to divide by", j.Name, mult)
		return
	}
	if mult == 0 {
		p.warn(j.mimic.line, fmt.Sprintf("joint %q", j.Name), "a mimic multiplier of 0 holds the joint still")
	}
	d.Joints[j.index].Mimic = &robot.Mimic{Joint: at.index, Multiplier: mult, Offset: off}
}

// narrow lets the limits of a mimic joint bind the joint that it follows:
// lower ≤ m·q + o ≤ upper, and |m|·v ≤ velocity.
func (p *parser) narrow(d *robot.Description, raw *rawJoint) {
	j := &d.Joints[raw.index]
	m := j.Mimic
	master := &d.Joints[m.Joint]
	who := fmt.Sprintf("joint %q", j.Name)
	if m.Multiplier == 0 {
		if j.Bounded && (m.Offset < j.Lower || m.Offset > j.Upper) {
			p.bad(raw.mimic.line, "%s: the mimic offset %g is outside its limits", who, m.Offset)
		}
		return
	}
	if j.Velocity > 0 && master.Velocity > 0 {
		master.Velocity = math.Min(master.Velocity, j.Velocity/math.Abs(m.Multiplier))
	}
	if !j.Bounded {
		return
	}
	lo, hi := (j.Lower-m.Offset)/m.Multiplier, (j.Upper-m.Offset)/m.Multiplier
	if m.Multiplier < 0 {
		lo, hi = hi, lo
	}
	if !master.Bounded {
		// A joint that something bounded follows can't turn for ever.
		p.warn(raw.mimic.line, who, fmt.Sprintf("the continuous joint %q is bounded by the joint that follows it", master.Name))
		master.Type, master.Bounded, master.Lower, master.Upper = robot.Revolute, true, lo, hi
		return
	}
	had := master.Upper - master.Lower
	// + 0: no zero with a sign, which a division by a negative multiplier leaves.
	master.Lower, master.Upper = math.Max(master.Lower, lo)+0, math.Min(master.Upper, hi)+0
	switch {
	case master.Lower > master.Upper:
		p.bad(raw.mimic.line, "%s: its limits leave no position for %q, which it follows", who, master.Name)
	case master.Lower == master.Upper && had > 0:
		p.warn(raw.mimic.line, who, fmt.Sprintf("its limits %g to %g and its multiplier %g leave only %g for %q, which it follows: neither can be moved before they are set right",
			j.Lower, j.Upper, m.Multiplier, master.Lower, master.Name))
	}
}
