package urdf

import (
	"fmt"

	"github.com/tau-robot/tau/robot"
)

// ParseSRDF reads a semantic description: groups of joints, links, chains and
// other groups, group states, end effectors and disabled collision pairs.
// passive_joint and the sphere approximations that planners add are ignored. So is
// a virtual_joint, which says how the root stands in the world and is none of the
// description's; a group or a state that names one is read without it, with a
// warning. Names are held against the description by robot.NewModel.
//
// A file whose name ends in .xacro is expanded first, without arguments and
// packages; Load hands it those of Options.
func ParseSRDF(file string, data []byte) (*robot.Semantics, error) {
	return parseSRDF(file, data, Options{})
}

func parseSRDF(file string, data []byte, opt Options) (*robot.Semantics, error) {
	r := &report{file: file}
	data, err := r.expand(data, opt, false)
	if err != nil {
		return nil, err
	}
	root, err := parseXML(file, data, "robot", r.warn)
	if err != nil {
		return nil, r.mapped(err)
	}
	out := &robot.Semantics{File: file}
	out.Name = r.name(root, "name")
	r.strangers(root, "robot", []string{
		"group", "group_state", "end_effector", "disable_collisions", "virtual_joint", "passive_joint", "link_sphere_approximation",
	}, []string{"name", "version"})
	virtual := map[string]bool{}
	for _, e := range root.all("virtual_joint") {
		virtual[r.name(e, "name")] = true
	}
	for _, e := range root.all("group") {
		out.Groups = append(out.Groups, r.group(e, virtual))
	}
	if len(out.Groups) > MaxGroups {
		r.bad(out.Groups[MaxGroups].Line, "more than %d groups", MaxGroups)
	}
	for _, e := range root.all("group_state") {
		out.States = append(out.States, r.groupState(e, virtual))
	}
	for _, e := range root.all("end_effector") {
		out.EndEffectors = append(out.EndEffectors, r.endEffector(e))
	}
	for _, e := range root.all("disable_collisions") {
		p := robot.LinkPair{Line: e.line}
		p.A = r.name(e, "link1")
		p.B = r.name(e, "link2")
		r.strangers(e, "disable_collisions", nil, []string{"link1", "link2", "reason"})
		if a, ok := e.attr("reason"); ok {
			p.Reason = a.value
		}
		out.Disabled = append(out.Disabled, p)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	out.Warnings = r.warnings()
	if r.src != nil {
		r.topLines(out)
	}
	return out, nil
}

func (r *report) group(e *element, virtual map[string]bool) robot.Group {
	g := robot.Group{Line: e.line}
	g.Name = r.name(e, "name")
	who := fmt.Sprintf("group %q", g.Name)
	r.strangers(e, who, []string{"joint", "link", "chain", "group", "passive_joint"}, []string{"name"})
	refs := func(kind string) []robot.NamedRef {
		var out []robot.NamedRef
		for _, c := range e.all(kind) {
			name := r.name(c, "name")
			if kind == "joint" && r.virtual(c, who, name, virtual) {
				continue
			}
			out = append(out, robot.NamedRef{Name: name, Line: c.line})
		}
		return out
	}
	g.Joints, g.Links, g.Subgroups = refs("joint"), refs("link"), refs("group")
	for _, c := range e.all("chain") {
		ch := robot.Chain{Line: c.line}
		ch.Base = r.name(c, "base_link")
		ch.Tip = r.name(c, "tip_link")
		g.Chains = append(g.Chains, ch)
	}
	if len(g.Chains) > MaxGroups {
		r.bad(g.Chains[MaxGroups].Line, "%s: more than %d chains", who, MaxGroups)
	}
	return g
}

func (r *report) groupState(e *element, virtual map[string]bool) robot.GroupState {
	s := robot.GroupState{Line: e.line}
	s.Name = r.name(e, "name")
	s.Group = r.name(e, "group")
	who := fmt.Sprintf("group state %q", s.Name)
	r.strangers(e, who, []string{"joint"}, []string{"name", "group"})
	seen := map[string]bool{}
	for _, c := range e.all("joint") {
		v := robot.JointValue{Line: c.line}
		v.Joint = r.name(c, "name")
		if r.virtual(c, who, v.Joint, virtual) {
			continue // its value is a pose, several numbers
		}
		v.Value, _ = r.number(c, who, "value")
		if seen[v.Joint] {
			r.bad(c.line, "%s: joint %q is given twice", who, v.Joint)
		}
		seen[v.Joint] = true
		s.Values = append(s.Values, v)
	}
	return s
}

// virtual reports whether name is a virtual joint's, and warns that it is ignored.
func (r *report) virtual(e *element, who, name string, virtual map[string]bool) bool {
	if name == "" || !virtual[name] {
		return false
	}
	r.warn(e.line, who, fmt.Sprintf("joint %q is virtual, how the root stands in the world, and is ignored", name))
	return true
}

func (r *report) endEffector(e *element) robot.EndEffector {
	out := robot.EndEffector{Line: e.line}
	out.Name = r.name(e, "name")
	out.Group = r.name(e, "group")
	out.ParentLink = r.name(e, "parent_link")
	if _, given := e.attr("parent_group"); given {
		out.ParentGroup = r.name(e, "parent_group")
	}
	r.strangers(e, fmt.Sprintf("end effector %q", out.Name), nil, []string{"name", "group", "parent_link", "parent_group"})
	return out
}
