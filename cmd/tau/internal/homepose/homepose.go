// Package homepose says which links of a robot are in contact where it starts. Such
// a robot may only move these apart, or not at all where they are deep in each other,
// and the way out is an SRDF that lets the two touch, or another pose called home.
//
// It asks the planner's own checker, through what that offers everybody. It is pure:
// no I/O, no clock, and what is random comes from the caller. It imports robot,
// motion/kinematics and motion/collision; it must never import gate or sim.
package homepose

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tau-robot/tau/motion/collision"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
)

// What is tested is bounded, so that a robot of any size is answered soon. What is
// left out is said.
const (
	// Poses is how many other poses tell a pair that is always in contact from one
	// that is at home.
	Poses = 200
	// meshPoses is the same for a pair with a mesh, where each takes a millisecond.
	meshPoses = 50
	// maxBodies bounds the links that have a collision body.
	maxBodies = 200
	// maxSuspects bounds the pairs that are looked at closely.
	maxSuspects = 100
	// maxTriangles bounds the triangles of the meshes that are covered, counted once
	// for each pair that they are in.
	maxTriangles = 8_000
)

// The overshoots with which bodies are covered before the planner's own, m. Both find
// every contact and some that are none: boxes about everything first, then the
// meshes of one pair.
const (
	aroundBoxes  = 32e-3
	aroundMeshes = 16e-3
)

// Contact is two links that are in contact at home.
type Contact struct {
	A, B string // in the order of the description
	// Depth is how far one is inside the other as the planner measures it, m; 0 for
	// two that only touch.
	Depth float64
	// Stuck: they are deeper in each other than any motion may begin.
	Stuck bool
	Tried int  // other poses that were looked at, up to the first in which the two are apart
	Apart bool // there is such a pose
}

// Always reports that the two were in contact in every pose that was tried.
func (c *Contact) Always() bool { return c.Tried > 0 && !c.Apart }

// SRDF is the element that lets the two touch.
func (c *Contact) SRDF() string {
	why := "Default" // MoveIt's word for a pair that is in contact at home
	if c.Always() {
		why = "Always"
	}
	return fmt.Sprintf(`<disable_collisions link1="%s" link2="%s" reason="%s"/>`, attribute(c.A), attribute(c.B), why)
}

// String says what was found, without the names.
func (c *Contact) String() string {
	var b strings.Builder
	const millimetre, readable = 1e-3, 0.05e-3
	b.WriteString("touch")
	if c.Depth >= readable {
		b.Reset()
		fmt.Fprintf(&b, "are %.1f mm inside each other", c.Depth/millimetre)
	}
	b.WriteString(" at the home pose")
	switch {
	case c.Always():
		fmt.Fprintf(&b, " and in all of %d other poses", c.Tried)
	case c.Apart:
		b.WriteString(", but not in every other pose")
	}
	if c.Stuck {
		b.WriteString(": every motion from there is refused (SELF_COLLISION)")
	} else {
		b.WriteString(": from there they may only be moved apart (else SELF_COLLISION)")
	}
	return b.String()
}

func attribute(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}

// Report is what was found. The caller owns it.
type Report struct {
	Contacts []Contact // in the order of the description
	Untested string    // what wasn't looked at, and why; "": everything was
}

// Find tests m at its home pose and the pairs in contact there at other poses within
// the joints' limits, as many as that. rng is used only if there are such pairs. It
// blocks for tenths of a second where meshes touch, else for milliseconds. The error
// is a *robot.Error: the model can't be planned for.
func Find(m *robot.Model, poses int, rng *rand.Rand) (Report, error) {
	var r Report
	bodies := 0
	for i := range m.Links {
		if len(m.Links[i].Colliders) > 0 {
			bodies++
		}
	}
	if m.DoF() == 0 || bodies < 2 {
		return r, nil
	}
	if bodies > maxBodies {
		r.Untested = fmt.Sprintf("whether links touch at the home pose wasn't tested: %d links have a collision body, and up to %d are tested", bodies, maxBodies)
		return r, nil
	}
	kin, err := kinematics.New(m.Description)
	if err != nil {
		return r, err
	}
	f := finder{m: m, kin: kin}
	pairs, all, err := f.suspects()
	if err != nil {
		return r, err
	}
	if !all {
		r.Untested = fmt.Sprintf("which links touch at the home pose was tested of %d pairs only: more than that are near each other", len(pairs))
	}
	others := f.poses(poses, rng)
	left, covered := 0, 0
	for _, p := range pairs {
		n := triangles(&m.Links[p[0]]) + triangles(&m.Links[p[1]])
		if covered+n > maxTriangles {
			left++
			continue
		}
		covered += n
		if err := f.look(p, others, &r); err != nil {
			return r, err
		}
	}
	if left > 0 {
		r.Untested = fmt.Sprintf("whether links touch at the home pose wasn't tested of %d of the %d pairs that are near each other: their meshes have more than the %d triangles that are tested",
			left, len(pairs), maxTriangles)
	}
	return r, nil
}

type finder struct {
	m   *robot.Model
	kin *kinematics.Tree
}

// suspects are the pairs that could be in contact at home, in order: those whose
// boxes are. all is false if there are more.
func (f *finder) suspects() (pairs [][2]int, all bool, err error) {
	opts := collision.DefaultOptions()
	opts.Overshoot = aroundBoxes
	m := boxed(f.m)
	for len(pairs) < maxSuspects {
		c, err := collision.New(m, nil, f.kin, opts)
		if err != nil {
			return nil, false, err
		}
		at, err := c.Check(m.Home)
		if err == nil {
			slices.SortFunc(pairs, compare)
			return pairs, true, nil
		}
		if !errors.Is(err, robot.ErrCode(robot.CodeSelfCollision)) {
			return nil, false, err
		}
		a, b := m.LinkIndex(at.A), m.LinkIndex(at.B)
		p := [2]int{min(a, b), max(a, b)}
		pairs = append(pairs, p)
		next := *m
		next.Allowed = append(slices.Clone(m.Allowed), p)
		slices.SortFunc(next.Allowed, compare)
		m = &next
	}
	slices.SortFunc(pairs, compare)
	return pairs, false, nil
}

func compare(x, y [2]int) int { return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1])) }

// look measures one pair and adds it to the report if it is in contact.
func (f *finder) look(p [2]int, others [][]float64, r *Report) error {
	opts := collision.DefaultOptions()
	m := only(f.m, p)
	if triangles(&f.m.Links[p[0]])+triangles(&f.m.Links[p[1]]) > 0 {
		others = others[:min(len(others), meshPoses)]
		opts.Overshoot = aroundMeshes
		c, err := collision.New(m, nil, f.kin, opts)
		if err != nil {
			return err
		}
		if gap, _, err := measure(c, m.Home); err != nil || gap >= opts.SelfMargin {
			return err
		}
		opts.Overshoot = collision.DefaultOvershoot
	}
	c, err := collision.New(m, nil, f.kin, opts)
	if err != nil {
		return err
	}
	gap, stuck, err := measure(c, m.Home)
	if err != nil || gap >= opts.SelfMargin {
		return err
	}
	found := Contact{A: m.Links[p[0]].Name, B: m.Links[p[1]].Name, Depth: max(-gap, 0), Stuck: stuck}
	for ; found.Tried < len(others) && !found.Apart; found.Tried++ {
		if gap, _, err = measure(c, others[found.Tried]); err != nil {
			return err
		}
		found.Apart = gap >= opts.SelfMargin
	}
	r.Contacts = append(r.Contacts, found)
	return nil
}

// measure returns the gap of the one pair of a checker as a motion that begins at q
// finds it, which is the most exact that there is, m. stuck: none may begin there.
func measure(c *collision.Checker, q []float64) (gap float64, stuck bool, err error) {
	at, err := c.CheckSegment(q, q)
	if stuck = errors.Is(err, robot.ErrCode(robot.CodeSelfCollision)); err != nil && !stuck {
		return 0, false, err
	}
	if at == nil {
		return math.Inf(1), false, nil
	}
	return at.Distance, stuck, nil
}

// poses returns n configurations within the limits.
func (f *finder) poses(n int, rng *rand.Rand) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, f.m.DoF())
		for k, l := range f.m.Limits {
			lower, upper := l.Lower, l.Upper
			if !l.Bounded {
				lower, upper = -math.Pi, math.Pi
			}
			out[i][k] = lower + rng.Float64()*(upper-lower)
		}
	}
	return out
}

// only is m without the bodies of other links than two.
func only(m *robot.Model, p [2]int) *robot.Model {
	return withBodies(m, func(i int, own []robot.Collider) []robot.Collider {
		if i == p[0] || i == p[1] {
			return own
		}
		return nil
	})
}

// boxed is m with a box about each mesh in its place, a little larger because a mesh
// that isn't closed stands for somewhat more than its hull.
func boxed(m *robot.Model) *robot.Model {
	const more = 0.02 // of the diagonal, at each end
	return withBodies(m, func(_ int, own []robot.Collider) []robot.Collider {
		out := slices.Clone(own)
		for i := range out {
			if out[i].Geometry.Mesh == nil {
				continue
			}
			lo, hi := bounds(out[i].Geometry.Mesh)
			size := hi.Sub(lo)
			pad := more * size.Len()
			for k := range size {
				size[k] += 2 * pad
			}
			out[i].Origin.P = out[i].Origin.Apply(lo.Add(hi).Mul(0.5))
			out[i].Geometry = robot.Geometry{Kind: robot.Box, Size: size}
		}
		return out
	})
}

func withBodies(m *robot.Model, of func(link int, own []robot.Collider) []robot.Collider) *robot.Model {
	d := *m.Description
	d.Links = slices.Clone(m.Links)
	for i := range d.Links {
		d.Links[i].Colliders = of(i, d.Links[i].Colliders)
	}
	out := *m
	out.Description = &d
	return &out
}
