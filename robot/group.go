package robot

import "slices"

// groupSet is a group resolved against a description.
type groupSet struct {
	joints map[int]bool // indices into Joints, fixed and mimic ones included
	links  map[int]bool // links named, and links below its joints
	tips   []int        // tips of its chains, in their order
}

// resolver turns groups into sets of indices.
type resolver struct {
	d      *Description
	s      *Semantics
	groups map[string]*Group
	sets   map[string]*groupSet
	links  map[string]int
	joints map[string]int
}

func newResolver(d *Description, s *Semantics) (*resolver, error) {
	r := &resolver{d: d, s: s, groups: make(map[string]*Group, len(s.Groups)), sets: make(map[string]*groupSet, len(s.Groups))}
	r.links = make(map[string]int, len(d.Links))
	for i := range d.Links {
		r.links[d.Links[i].Name] = i
	}
	r.joints = make(map[string]int, len(d.Joints))
	for i := range d.Joints {
		r.joints[d.Joints[i].Name] = i
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		if first, dup := r.groups[g.Name]; dup {
			return nil, r.bad(g.Line, "group %q is defined twice; the first is in line %d", g.Name, first.Line)
		}
		r.groups[g.Name] = g
	}
	// All of them, so that a group that names nothing is found also where it isn't used.
	for i := range s.Groups {
		set, err := r.set(&s.Groups[i])
		if err != nil {
			return nil, err
		}
		r.sets[s.Groups[i].Name] = set
	}
	return r, nil
}

func (r *resolver) bad(line int, format string, args ...any) error {
	return Errf(CodeInvalidArgument, fileLine(r.s.File, line), format, args...)
}

// set resolves a group with its subgroups.
func (r *resolver) set(g *Group) (*groupSet, error) {
	out := &groupSet{joints: map[int]bool{}, links: map[int]bool{}}
	done := map[string]bool{}
	todo := []*Group{g}
	for len(todo) > 0 {
		g := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if done[g.Name] {
			continue // named twice, or a loop: a set stays the same
		}
		done[g.Name] = true
		if err := r.own(g, out); err != nil {
			return nil, err
		}
		for _, s := range g.Subgroups {
			sub := r.groups[s.Name]
			if sub == nil {
				return nil, r.bad(s.Line, "group %q: the group %q doesn't exist", g.Name, s.Name)
			}
			todo = append(todo, sub)
		}
	}
	return out, nil
}

// own adds what a group itself names.
func (r *resolver) own(g *Group, out *groupSet) error {
	addJoint := func(j int) {
		out.joints[j] = true
		out.links[r.d.Joints[j].Child] = true
	}
	for _, j := range g.Joints {
		i, ok := r.joints[j.Name]
		if !ok {
			return r.bad(j.Line, "group %q: joint %q doesn't exist in the description", g.Name, j.Name)
		}
		addJoint(i)
	}
	for _, l := range g.Links {
		i, ok := r.links[l.Name]
		if !ok {
			return r.bad(l.Line, "group %q: link %q doesn't exist in the description", g.Name, l.Name)
		}
		out.links[i] = true
		if p := r.d.Links[i].Parent; p >= 0 {
			addJoint(p)
		}
	}
	for _, c := range g.Chains {
		base, okBase := r.links[c.Base]
		tip, okTip := r.links[c.Tip]
		if !okBase || !okTip {
			return r.bad(c.Line, "group %q: chain from %q to %q: no such link in the description", g.Name, c.Base, c.Tip)
		}
		at := tip
		for at != base {
			p := r.d.Links[at].Parent
			if p < 0 {
				return r.bad(c.Line, "group %q: %q isn't below %q, so that they span no chain", g.Name, c.Tip, c.Base)
			}
			addJoint(p)
			at = r.d.Joints[p].Parent
		}
		out.links[base] = true
		out.tips = append(out.tips, tip)
	}
	return nil
}

// active returns the positions in q of the group's active joints, from the root
// outward as Description.Active has them.
func (r *resolver) active(g *groupSet) []int {
	var out []int
	for i, j := range r.d.Active {
		if g.joints[j] {
			out = append(out, i)
		}
	}
	return out
}

// above returns the positions in q of all active joints between the root and a link, root first.
func (d *Description) above(link int) []int {
	var out []int
	for p := d.Links[link].Parent; p >= 0; p = d.Links[d.Joints[p].Parent].Parent {
		if a := d.Joints[p].Active; a >= 0 {
			out = append(out, a)
		}
	}
	slices.Reverse(out)
	return out
}

// rigidlyBelow reports whether link hangs on top by fixed joints only, or is top.
func (d *Description) rigidlyBelow(link, top int) bool {
	for link != top {
		p := d.Links[link].Parent
		if p < 0 || d.Joints[p].Type != Fixed {
			return false
		}
		link = d.Joints[p].Parent
	}
	return true
}
