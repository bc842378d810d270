package robot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// NewModel puts a description, its semantics and its limits file together; the
// last two may be nil. What they don't say is assumed as follows, and Assumed
// says so:
//
//   - the arm is the group that an end effector is mounted on, else the group
//     called "arm" or "manipulator", else the only group that isn't the
//     gripper's; without groups, the chain with the most active joints, without
//     the last one if another joint on the same link follows it, as fingers do;
//   - the tip is that chain's tip, else the link that the end effector is mounted
//     on, else the link below the last joint;
//   - home is what all group states called "home" say together; for other joints
//     zero where their limits allow it, else the middle of their range;
//   - the gripper is the end effector's group if it has one active joint, else a
//     group called "gripper" or "hand" that has; it is closed and open where the
//     group's states "closed" or "close" and "open" say, else at its lower and
//     upper limit.
//
// It refuses semantics that name what the description lacks or states outside
// the limits, and a collision body whose mesh was not read: a model is for
// moving, and a body of unknown shape can't be kept clear of anything. d is not
// modified; its findings and theirs come together in the model's Warnings.
func NewModel(d *Description, sem *Semantics, table *LimitTable) (*Model, error) {
	if err := shaped(d); err != nil {
		return nil, err
	}
	limits, err := NewLimits(d, table)
	if err != nil {
		return nil, err
	}
	own := *d
	own.Warnings = slices.Clone(d.Warnings)
	if sem == nil {
		sem = &Semantics{}
	}
	own.Warnings = append(own.Warnings, sem.Warnings...)
	if table != nil {
		own.Warnings = append(own.Warnings, table.Warnings...)
	}
	m := &Model{Description: &own, Limits: limits}
	r, err := newResolver(&own, sem)
	if err != nil {
		return nil, err
	}
	b := &modelBuilder{m: m, r: r}
	if sem.Name != "" && sem.Name != d.Name {
		b.warn(1, "robot", fmt.Sprintf("the semantics are of a robot called %q, the description of %q", sem.Name, d.Name))
	}
	for _, step := range []func() error{b.ends, b.states, b.gripper, b.arm, b.home, b.allowed} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	b.masses()
	m.ModelHash = m.hash()
	return m, nil
}

// shaped refuses a description with a collision body whose mesh was not read. It
// names the first one, where the description names it and what is missing, and
// counts the others.
func shaped(d *Description) error {
	var first *Error
	others := 0
	for i := range d.Links {
		for _, c := range d.Links[i].Colliders {
			if c.Geometry.Kind != MeshGeometry || c.Geometry.Mesh.Read() {
				continue
			}
			if first != nil {
				others++
				continue
			}
			m := c.Geometry.Mesh
			if m == nil {
				m = &Mesh{}
			}
			first = Errf(CodeInvalidArgument, cmp.Or(m.Named, d.Links[i].Name), "link %q: the collision mesh %q %s; a robot of unknown shape can't be moved",
				d.Links[i].Name, m.File, cmp.Or(m.Missing, "was not read"))
		}
	}
	if first == nil {
		return nil
	}
	if others > 0 {
		first.Text += fmt.Sprintf(" (and so of %d more)", others)
	}
	return first
}

type modelBuilder struct {
	m            *Model
	r            *resolver
	gripperGroup string
}

func (b *modelBuilder) assume(format string, args ...any) {
	b.m.Assumed = append(b.m.Assumed, fmt.Sprintf(format, args...))
}

func (b *modelBuilder) warn(line int, where, text string) {
	b.m.Warnings = append(b.m.Warnings, Finding{File: b.r.s.File, Line: line, Where: where, Code: CodeInvalidArgument, Text: text})
}

// ends checks what the end effectors name.
func (b *modelBuilder) ends() error {
	for _, e := range b.r.s.EndEffectors {
		switch {
		case b.r.groups[e.Group] == nil:
			return b.r.bad(e.Line, "end effector %q: the group %q doesn't exist", e.Name, e.Group)
		case e.ParentGroup != "" && b.r.groups[e.ParentGroup] == nil:
			return b.r.bad(e.Line, "end effector %q: the group %q doesn't exist", e.Name, e.ParentGroup)
		case b.m.LinkIndex(e.ParentLink) < 0:
			return b.r.bad(e.Line, "end effector %q: link %q doesn't exist in the description", e.Name, e.ParentLink)
		}
	}
	return nil
}

// states checks every group state, also those that nothing here uses.
func (b *modelBuilder) states() error {
	for _, s := range b.r.s.States {
		if b.r.groups[s.Group] == nil {
			return b.r.bad(s.Line, "group state %q: the group %q doesn't exist", s.Name, s.Group)
		}
		for _, v := range s.Values {
			i, ok := b.r.joints[v.Joint]
			if !ok {
				return b.r.bad(v.Line, "group state %q: joint %q doesn't exist in the description", s.Name, v.Joint)
			}
			a := b.m.Joints[i].Active
			if a < 0 {
				continue // a mimic or fixed joint follows; what is said of it doesn't count
			}
			l := b.m.Limits[a]
			if limit := clamp(v.Value, l); l.Bounded && limit != v.Value {
				return LimitErr(CodeInvalidArgument, fileLine(b.r.s.File, v.Line), v.Value, limit, b.m.Joints[i].Type.Unit(),
					fmt.Sprintf("group state %q: joint %q is outside its limits", s.Name, v.Joint))
			}
		}
	}
	return nil
}

func clamp(v float64, l JointLimits) float64 {
	if !l.Bounded {
		return v
	}
	return min(max(v, l.Lower), l.Upper)
}

// arm chooses the arm's group and the tip.
func (b *modelBuilder) arm() error {
	name := b.armGroup()
	if name == "" {
		b.longestChain()
		return nil
	}
	set := b.r.sets[name]
	line := b.r.groups[name].Line
	if b.m.Arm = b.r.active(set); len(b.m.Arm) == 0 {
		return b.r.bad(line, "group %q: the arm's group has no active joint", name)
	}
	last := b.m.Joints[b.m.Active[b.m.Arm[len(b.m.Arm)-1]]].Child
	switch mount := b.mount(name); {
	case len(set.tips) == 1:
		b.m.Tip = set.tips[0]
	case len(set.tips) > 1:
		return b.r.bad(line, "group %q: an arm of %d chains has no single tip", name, len(set.tips))
	case mount >= 0 && b.m.rigidlyBelow(mount, last):
		b.m.Tip = mount
	default:
		b.m.Tip = last
		b.assume("tip: link %q, below the last joint of group %q", b.m.Links[last].Name, name)
	}
	above := b.m.above(b.m.Tip)
	for _, a := range b.m.Arm {
		if !slices.Contains(above, a) {
			return b.r.bad(line, "group %q: joint %q isn't between the root and the tip %q; an arm is one chain",
				name, b.m.Joints[b.m.Active[a]].Name, b.m.Links[b.m.Tip].Name)
		}
	}
	return nil
}

// armGroup names the arm's group, "" if there is none to choose.
func (b *modelBuilder) armGroup() string {
	for _, e := range b.r.s.EndEffectors {
		if e.ParentGroup != "" {
			return e.ParentGroup
		}
	}
	for _, name := range []string{"arm", "manipulator"} {
		if b.r.groups[name] != nil {
			return name
		}
	}
	var others []string
	for _, g := range b.r.s.Groups {
		if g.Name != b.gripperGroup && len(g.Subgroups) == 0 {
			others = append(others, g.Name)
		}
	}
	if len(others) == 1 {
		b.assume("arm: group %q, the only one that isn't the gripper's", others[0])
		return others[0]
	}
	return ""
}

// mount returns the link that an end effector is mounted on, -1 for none.
func (b *modelBuilder) mount(group string) int {
	for _, e := range b.r.s.EndEffectors {
		if e.ParentGroup == group || e.ParentGroup == "" && e.Group == group {
			return b.m.LinkIndex(e.ParentLink)
		}
	}
	return -1
}

// longestChain takes the chain with the most active joints, the first of equals.
func (b *modelBuilder) longestChain() {
	depth := make([]int, len(b.m.Links))
	leaf := make([]bool, len(b.m.Links))
	leaf[b.m.Root] = len(b.m.Joints) == 0
	for _, j := range b.m.Joints { // parents come first
		depth[j.Child] = depth[j.Parent]
		if j.Active >= 0 {
			depth[j.Child]++
		}
		leaf[j.Parent], leaf[j.Child] = false, true
	}
	b.m.Tip = b.m.Root
	for i := range b.m.Links {
		if leaf[i] && depth[i] > depth[b.m.Tip] {
			b.m.Tip = i
		}
	}
	b.m.Arm = b.m.above(b.m.Tip)
	if j := b.finger(); j != nil {
		b.m.Tip = j.Parent
		b.m.Arm = b.m.above(b.m.Tip)
		b.assume("arm and tip: the chain with the most joints, down to link %q, which the fingers of joint %q are on", b.m.Links[b.m.Tip].Name, j.Name)
		return
	}
	b.assume("arm and tip: the chain with the most joints, down to link %q", b.m.Links[b.m.Tip].Name)
}

// finger returns the last joint of an arm of several if it looks like a finger, nil
// if it doesn't: another joint on the same link follows it. Fingers don't reach.
func (b *modelBuilder) finger() *Joint {
	if len(b.m.Arm) < 2 {
		return nil
	}
	last := b.m.Active[b.m.Arm[len(b.m.Arm)-1]]
	for i := range b.m.Joints {
		if f := &b.m.Joints[i]; f.Mimic != nil && f.Mimic.Joint == last && f.Parent == b.m.Joints[last].Parent {
			return &b.m.Joints[last]
		}
	}
	return nil
}

// home gathers the pose called home.
func (b *modelBuilder) home() error {
	m := b.m
	m.Home = make([]float64, len(m.Active))
	said := make([]bool, len(m.Active))
	for _, s := range b.r.s.States {
		if s.Name != "home" {
			continue
		}
		for _, v := range s.Values {
			a := m.Joints[b.r.joints[v.Joint]].Active // states has checked the name
			if a < 0 {
				continue
			}
			if said[a] && m.Home[a] != v.Value {
				return b.r.bad(v.Line, "group state %q: joint %q has two positions, %g and %g", s.Name, v.Joint, m.Home[a], v.Value)
			}
			m.Home[a], said[a] = v.Value, true
		}
	}
	var assumed []string
	for a, l := range m.Limits {
		if said[a] {
			continue
		}
		if l.Bounded && (l.Lower > 0 || l.Upper < 0) {
			m.Home[a] = (l.Lower + l.Upper) / 2
		}
		assumed = append(assumed, m.Joints[m.Active[a]].Name)
	}
	if len(assumed) > 0 {
		b.assume("home: zero, or the middle of the range where zero is outside, for %s", strings.Join(assumed, ", "))
	}
	return nil
}

// gripper chooses the gripper's group and reads its states.
func (b *modelBuilder) gripper() error {
	var names []string
	for _, e := range b.r.s.EndEffectors {
		names = append(names, e.Group)
	}
	for _, g := range b.r.s.Groups {
		if g.Name == "gripper" || g.Name == "hand" {
			names = append(names, g.Name)
		}
	}
	for _, name := range names {
		if name == "arm" || name == "manipulator" || slices.ContainsFunc(b.r.s.EndEffectors, func(e EndEffector) bool { return e.ParentGroup == name }) {
			continue // the arm itself; some files call it its own end effector
		}
		set := b.r.sets[name]
		if a := b.r.active(set); len(a) == 1 && b.m.Limits[a[0]].Bounded {
			b.gripperGroup = name
			b.setGripper(name, a[0], set)
			return nil
		}
	}
	return nil
}

func (b *modelBuilder) setGripper(name string, a int, set *groupSet) {
	m, l := b.m, b.m.Limits[a]
	g := &Gripper{Joint: a, Closed: l.Lower, Open: l.Upper, MaxEffort: l.Effort}
	var closed, open bool
	for _, s := range b.r.s.States {
		if s.Group != name {
			continue
		}
		for _, v := range s.Values {
			if m.ActiveIndex(v.Joint) != a {
				continue
			}
			switch s.Name {
			case "closed", "close":
				g.Closed, closed = v.Value, true
			case "open":
				g.Open, open = v.Value, true
			}
		}
	}
	if !closed {
		b.assume("gripper closed: lower limit of %s", m.Joints[m.Active[a]].Name)
	}
	if !open {
		b.assume("gripper open: upper limit of %s", m.Joints[m.Active[a]].Name)
	}
	// Whatever the joint moves may touch what is gripped, and so may the link
	// that holds the other jaw.
	touch := map[int]bool{m.Joints[m.Active[a]].Parent: true}
	for link := range set.links {
		touch[link] = true
	}
	for i := range m.Joints {
		if j := &m.Joints[i]; j.Active == a || j.Mimic != nil && m.Joints[j.Mimic.Joint].Active == a {
			touch[j.Child] = true
		}
	}
	for link := range touch {
		g.Links = append(g.Links, link)
	}
	slices.Sort(g.Links)
	m.Gripper = g
}

// allowed gathers the pairs of links that may touch: neighbours, also across
// links without a body; links that are fixed to each other; and what the
// semantics disable.
func (b *modelBuilder) allowed() error {
	m := b.m
	// Gathered with repeats and nearly in order: of 2,000 links fixed to each other
	// there are two million pairs, over which a set would take seconds.
	add := func(x, y int) {
		if x != y {
			m.Allowed = append(m.Allowed, [2]int{min(x, y), max(x, y)})
		}
	}
	rigid := make([]int, len(m.Links)) // the topmost link that each is fixed to
	byRigid := map[int][]int{}         // links with bodies by that
	for i := range rigid {
		rigid[i] = i
	}
	for _, j := range m.Joints { // parents come first
		if j.Type == Fixed {
			rigid[j.Child] = rigid[j.Parent]
		}
	}
	pairs := 0
	for i := range m.Links {
		if len(m.Links[i].Colliders) > 0 {
			pairs += len(byRigid[rigid[i]])
			byRigid[rigid[i]] = append(byRigid[rigid[i]], i)
		}
	}
	m.Allowed = make([][2]int, 0, pairs+2*len(m.Joints))
	both := func(x, y int) bool { // are among those pairs
		return rigid[x] == rigid[y] && len(m.Links[x].Colliders) > 0 && len(m.Links[y].Colliders) > 0
	}
	for _, j := range m.Joints {
		if !both(j.Parent, j.Child) {
			add(j.Parent, j.Child)
		}
		if up := m.bodyAbove(j); up >= 0 && !both(up, j.Child) {
			add(up, j.Child)
		}
	}
	for _, links := range byRigid {
		for i, x := range links {
			for _, y := range links[i+1:] {
				add(x, y)
			}
		}
	}
	for _, p := range b.r.s.Disabled {
		x, okX := b.r.links[p.A]
		y, okY := b.r.links[p.B]
		if !okX || !okY || x == y {
			b.warn(p.Line, "disable_collisions", fmt.Sprintf("the pair %q, %q names no two links of the description and is ignored", p.A, p.B))
			continue
		}
		add(x, y)
	}
	slices.SortFunc(m.Allowed, func(x, y [2]int) int {
		if x[0] != y[0] {
			return x[0] - y[0]
		}
		return x[1] - y[1]
	})
	m.Allowed = slices.Clip(slices.Compact(m.Allowed))
	return nil
}

// bodyAbove returns the first link above j that has a body, if no more than one
// moving joint lies between it and j's child; else -1.
func (d *Description) bodyAbove(j Joint) int {
	for moving := 0; ; j = d.Joints[d.Links[j.Parent].Parent] {
		if j.Type != Fixed {
			moving++
		}
		switch {
		case moving > 1:
			return -1
		case len(d.Links[j.Parent].Colliders) > 0:
			return j.Parent
		case d.Links[j.Parent].Parent < 0:
			return -1
		}
	}
}

// masses says where bodies that move have no known mass.
func (b *modelBuilder) masses() {
	var none []string
	for i := range b.m.Links {
		if l := &b.m.Links[i]; l.Inertial == nil && len(l.Colliders) > 0 && len(b.m.above(i)) > 0 {
			none = append(none, l.Name)
		}
	}
	if len(none) > 0 {
		b.assume("mass: none is known for %s; torques leave them out", strings.Join(none, ", "))
	}
}
