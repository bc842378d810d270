package sim

import (
	"fmt"
	"math"

	"github.com/tau-robot/tau/robot"
)

// Tolerances of the contact monitor, m.
const (
	// contactMargin is the distance at which bodies count as touching: what the
	// distance iteration may be above the truth, and as much again for rounding.
	contactMargin = 2 * gjkTolerance
	// clearanceTolerance is by how much the true smallest clearance of a motion
	// may be below the reported one, the gaps between steps included; with the
	// iteration's own tolerance the report is right to 1 mm.
	clearanceTolerance = 5e-4
	// farEnough beyond the smallest clearance so far, a lower bound of a
	// distance will do.
	farEnough = 0.05
	// deeper is how much nearer than at the start of a motion bodies may get
	// that touch already then: what a servo's settling moves them. A move that
	// only parts them is allowed, one that presses them together isn't.
	deeper = 1e-3
	// unbounded stands for the range of a slider without limits, m.
	unbounded = 1e6
)

// item is a convex body: a collider of a link, a scene body or a guarded zone.
type item struct {
	name   string
	link   int // -1 for what is in the scene
	scene  int // index into Scene.Bodies, -1 for links and zones
	zone   bool
	body   int   // moving body that it is fixed to, -1 for the root
	at     frame // body frame from shape frame
	centre vec3  // of the bounding sphere, in the body frame
	shape  *shape
	// carried says of a scene body that the gripper has moved it.
	carried bool
	open    bool // a zone that the motion may enter
}

type pair struct {
	a, b  int // items
	guess vec3
}

// group is all pairs of two links, or of a link and a scene body or zone.
type group struct {
	a, b         int // items that name it
	pairs        []pair
	reach        []float64 // by active joint: m of approach for each rad or m, at most
	dist, travel float64   // lower bound when last measured; approach since, at most
	floor        float64   // contact at this distance or below: 0, or the depth at the start
	grip         bool      // a gripper link and a body that may be gripped
}

// contact is what ends a motion.
type contact struct {
	code robot.Code
	a, b *item
	dist float64
}

// monitor watches the distances of all pairs that could touch while the joints
// move. It measures a pair only when the approach since it was last measured,
// bounded through the joints' paths and the longest lever arms that the tree
// allows in any configuration, could have brought it to contact or below the
// smallest clearance so far (conservative advancement: B. Mirtich, 1996, after
// D. Turk). Every path between two steps is covered: where the bound leaves room
// for a contact within a step, the step is bisected.
//
// It owns the groups; items' shapes are shared. Not safe for concurrent use.
type monitor struct {
	t      *tree
	d      *dynamics
	items  []item
	groups []group
	scene  *robot.Scene
	held   int // item of the scene body that the gripper holds, -1 for none
	best   robot.Clearance
	some   bool // best has been measured
	grip   bool // the motion is a grip: what it grips doesn't count as clearance
	// falling says that the arm isn't led: zones, which are no bodies, don't count.
	falling bool
	met     []int     // groups with a contact in the last step
	q       []float64 // configuration that the poses in d are of
	prev    []float64 // the one before the last step
	posed   bool
	checks  int // distances measured, for tests and benchmarks
}

// compile gives an item its shape and where it is.
func (it *item) compile(t *tree, g *robot.Geometry, pose robot.Pose, where string) error {
	s, err := newShape(g, where)
	if err != nil {
		return err
	}
	f := frameOf(pose)
	if !finite3(f.P) || math.IsNaN(f.R[0]) {
		return robot.Errf(robot.CodeInvalidArgument, where, "the pose isn't finite")
	}
	it.shape = &s
	it.at = f
	if it.link >= 0 {
		it.at = t.place[it.link].mul(&f)
	}
	it.centre = it.at.apply(s.centre)
	return nil
}

// bodyItem makes the item of the scene's body of that index.
func bodyItem(t *tree, b *robot.Body, index int) (item, error) {
	it := item{name: b.Name, link: -1, scene: index, body: -1}
	err := it.compile(t, &b.Geometry, b.Pose, b.Name)
	return it, err
}

// compileItems makes the convex bodies of a robot and a scene, the links' first.
func compileItems(t *tree, scene *robot.Scene) ([]item, error) {
	var out []item
	for l := range t.model.Links {
		for i := range t.model.Links[l].Colliders {
			c := &t.model.Links[l].Colliders[i]
			name := t.model.Links[l].Name
			it := item{name: name, link: l, scene: -1, body: t.linkOf[l]}
			if err := it.compile(t, &c.Geometry, c.Origin, fmt.Sprintf("%s.collision[%d]", name, i)); err != nil {
				return nil, err
			}
			out = append(out, it)
		}
	}
	if scene == nil {
		return out, nil
	}
	for i := range scene.Bodies {
		it, err := bodyItem(t, &scene.Bodies[i], i)
		if err != nil {
			return nil, err
		}
		out = append(out, it)
	}
	for i := range scene.Zones {
		z := &scene.Zones[i]
		it := item{name: z.Name, link: -1, scene: -1, zone: true, body: -1}
		if err := it.compile(t, &z.Geometry, z.Pose, z.Name); err != nil {
			return nil, err
		}
		out = append(out, it)
	}
	return out, nil
}

func newMonitor(t *tree, d *dynamics, scene *robot.Scene, items []item) *monitor {
	m := &monitor{
		t: t, d: d, scene: scene, held: -1,
		items: append([]item(nil), items...), q: make([]float64, t.n), prev: make([]float64, t.n),
	}
	m.regroup()
	return m
}

// watched reports whether a contact of two items would be one that matters.
func (m *monitor) watched(a, b *item) bool {
	if a.body == b.body {
		return false // they don't move against each other
	}
	if a.link >= 0 && b.link >= 0 {
		return !m.t.model.IsAllowed(a.link, b.link)
	}
	if m.held >= 0 {
		h := &m.items[m.held]
		for _, x := range [...]*item{a, b} {
			o := a
			if x == a {
				o = b
			}
			if x.scene >= 0 && x.scene == h.scene && o.link >= 0 && m.isGripper(o.link) {
				return false
			}
		}
	}
	return true
}

func (m *monitor) isGripper(link int) bool {
	if m.t.model.Gripper == nil {
		return false
	}
	for _, l := range m.t.model.Gripper.Links {
		if l == link {
			return true
		}
	}
	return false
}

func (m *monitor) grippable(a, b int) bool {
	x, y := &m.items[a], &m.items[b]
	return x.link >= 0 && m.isGripper(x.link) && y.scene >= 0 && m.scene.Bodies[y.scene].Movable
}

// regroup makes the groups anew; refresh must follow.
func (m *monitor) regroup() {
	m.groups = m.groups[:0]
	at := map[[2]int]int{} // looked up only, never ranged over
	key := func(i int) int {
		if it := &m.items[i]; it.link >= 0 {
			return it.link
		}
		return len(m.t.model.Links) + i
	}
	n := m.t.n
	lever := make([][]float64, len(m.items))
	for a := range m.items {
		for b := a + 1; b < len(m.items); b++ {
			if !m.watched(&m.items[a], &m.items[b]) {
				continue
			}
			k := [2]int{key(a), key(b)}
			g, ok := at[k]
			if !ok {
				g = len(m.groups)
				at[k] = g
				m.groups = append(m.groups, group{a: a, b: b, reach: make([]float64, n), grip: m.grippable(a, b)})
			}
			m.groups[g].pairs = append(m.groups[g].pairs, pair{a: a, b: b})
			if lever[a] == nil {
				lever[a] = m.levers(&m.items[a])
			}
			if lever[b] == nil {
				lever[b] = m.levers(&m.items[b])
			}
			m.addReach(m.groups[g].reach, a, b, lever)
		}
	}
}

// levers returns, by body, how far a point of an item moves for each rad or m of
// that body's joint, at most, in any configuration.
func (m *monitor) levers(it *item) []float64 {
	out := make([]float64, len(m.t.bodies))
	centre := it.centre // in the frame of the body below
	rest := it.shape.bound
	for b := it.body; b >= 0; b = m.t.bodies[b].parent {
		k := &m.t.bodies[b]
		if k.prismatic {
			out[b] = 1
		} else {
			// The frame's origin is on the axis: only what is across it counts.
			out[b] = k.axis.Cross(centre).Len() + rest
		}
		rest += centre.Len()
		centre = k.at.P
		if k.prismatic {
			l := &m.t.model.Limits[k.active]
			r := unbounded
			if l.Bounded {
				r = math.Abs(k.mult)*math.Max(math.Abs(l.Lower), math.Abs(l.Upper)) + math.Abs(k.off)
			}
			rest += r
		}
	}
	return out
}

// addReach raises a group's reach to what a pair of items needs: joints that move
// both alike don't count.
func (m *monitor) addReach(reach []float64, a, b int, lever [][]float64) {
	sum := make([]float64, len(reach))
	above := func(root, b int) bool {
		for ; b >= 0; b = m.t.bodies[b].parent {
			if b == root {
				return true
			}
		}
		return false
	}
	for _, side := range [...][2]int{{a, b}, {b, a}} {
		for k := m.items[side[0]].body; k >= 0; k = m.t.bodies[k].parent {
			if !above(k, m.items[side[1]].body) {
				sum[m.t.bodies[k].active] += math.Abs(m.t.bodies[k].mult) * lever[side[0]][k]
			}
		}
	}
	for i := range reach {
		reach[i] = math.Max(reach[i], sum[i])
	}
}

// pose brings the bodies' poses to a configuration.
func (m *monitor) pose(q []float64) {
	if !m.posed || !same(m.q, q) {
		copy(m.q, q)
		m.d.place(q)
		m.d.worlds()
		m.posed = true
	}
}

func same(a, b []float64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// world returns root from shape for an item.
func (m *monitor) world(it *item) frame {
	if it.body < 0 {
		return it.at
	}
	return m.d.world[it.body].mul(&it.at)
}

// measure returns a group's distance in the posed configuration: the exact one
// (within contactMargin) where it is at most enough, else a lower bound above it.
func (m *monitor) measure(g *group, enough float64) float64 {
	least := math.Inf(1)
	for i := range g.pairs {
		p := &g.pairs[i]
		a, b := &m.items[p.a], &m.items[p.b]
		ca, cb := a.centre, b.centre
		if a.body >= 0 {
			ca = m.d.world[a.body].apply(ca)
		}
		if b.body >= 0 {
			cb = m.d.world[b.body].apply(cb)
		}
		if low := ca.Sub(cb).Len() - a.shape.bound - b.shape.bound; low > enough || low > least {
			least = math.Min(least, low)
			continue
		}
		wa, wb := m.world(a), m.world(b)
		q := pairQuery{a: a.shape, b: b.shape, rel: wa.inverseMul(&wb)}
		s := q.signedDistance(p.guess, math.Min(enough, least))
		p.guess = s.dir
		m.checks++
		least = math.Min(least, s.dist)
	}
	return least
}

// refresh measures every group at the start of a motion or fall, and takes the
// depth of those that touch already for what is allowed.
func (m *monitor) refresh(q []float64, t float64) {
	m.posed = false
	m.pose(q)
	for i := 0; i < len(m.groups); i++ {
		for k := range m.groups[i].pairs {
			m.groups[i].pairs[k].guess = vec3{}
		}
		d := m.measure(&m.groups[i], m.enough(&m.groups[i]))
		if d <= m.near(&m.groups[i]) && m.split(i) {
			d = m.measure(&m.groups[i], m.enough(&m.groups[i]))
		}
		g := &m.groups[i]
		g.floor = 0
		g.dist, g.travel = d-contactMargin, 0
		if d <= m.near(g) {
			g.floor = math.Min(0, d) - m.slack()
		}
		m.note(g, d, t)
	}
}

func (m *monitor) enough(g *group) float64 {
	if m.some && !m.items[g.b].zone {
		return math.Max(m.best.Distance, 0) + farEnough
	}
	if m.items[g.b].zone {
		return farEnough
	}
	return math.Inf(1)
}

// need is the distance at or below which a group has to be looked at.
func (m *monitor) need(g *group) float64 {
	need := g.floor + contactMargin
	if m.some && !m.items[g.b].zone && !(m.grip && g.grip) {
		need = math.Max(need, m.best.Distance-clearanceTolerance)
	}
	return need
}

// note keeps the smallest clearance. Guarded zones are no bodies and don't count.
func (m *monitor) note(g *group, d, t float64) {
	if m.items[g.b].zone || m.grip && g.grip || m.some && d >= m.best.Distance {
		return
	}
	m.some = true
	m.best = robot.Clearance{Distance: d, A: m.items[g.a].name, B: m.items[g.b].name, At: t}
}

// advance accounts for one step of the joints by dq to q, which ends at time t,
// and returns the first contact in it, nil if there is none.
func (m *monitor) advance(q, dq []float64, t float64) *contact {
	var hit *contact
	m.met = m.met[:0]
	for i := range m.groups {
		g := &m.groups[i]
		if z := &m.items[g.b]; z.zone && (z.open || m.falling) {
			continue
		}
		by := g.approach(dq)
		start := g.dist - g.travel
		g.travel += by
		if by == 0 || start-by > m.need(g) {
			continue
		}
		if c := m.look(g, q, dq, start, by, t); c != nil {
			m.met = append(m.met, i)
			if hit == nil {
				hit = c
			}
		}
	}
	return hit
}

// look measures a group at the end of a step and wherever within it the bound
// leaves room for something nearer.
func (m *monitor) look(g *group, q, dq []float64, start, by, t float64) *contact {
	m.pose(q)
	end := m.measure(g, m.enough(g))
	least := end
	g.dist, g.travel = end-contactMargin, 0
	m.note(g, end, t)
	if (start+end-by)/2 <= m.need(g) && end > g.floor+contactMargin {
		// The start's bound may be old; its distance is worth measuring now.
		start = m.measureAt(g, q, dq, 0)
		least = math.Min(least, m.between(g, q, dq, 0, 1, start, end, by, t))
	}
	if least <= g.floor+contactMargin {
		c := &contact{code: robot.CodeContact, a: &m.items[g.a], b: &m.items[g.b], dist: least}
		if c.b.zone {
			c.code = robot.CodeZoneNotGranted
		}
		return c
	}
	// Bodies that touched at the start may part, but not come back.
	if g.floor < 0 {
		g.floor = math.Max(g.floor, math.Min(0, end-m.slack()))
	}
	return nil
}

// measureAt measures a group at the part s of a step, 0 its start, 1 its end.
func (m *monitor) measureAt(g *group, q, dq []float64, s float64) float64 {
	for i := range m.prev {
		m.prev[i] = q[i] - (1-s)*dq[i]
	}
	m.pose(m.prev)
	return m.measure(g, m.enough(g))
}

// between returns the least distance in a part of a step, measured closely
// enough that nothing nearer than need by more than contactMargin is missed.
func (m *monitor) between(g *group, q, dq []float64, s0, s1, d0, d1, by, t float64) float64 {
	span := by * (s1 - s0)
	if (d0+d1-span)/2 > m.need(g) || span < contactMargin {
		return math.Min(d0, d1)
	}
	mid := (s0 + s1) / 2
	d := m.measureAt(g, q, dq, mid)
	m.note(g, d, t)
	return math.Min(m.between(g, q, dq, s0, mid, d0, d, by, t), m.between(g, q, dq, mid, s1, d, d1, by, t))
}

// attach fixes the named scene body to a moving body at a pose in its frame.
func (m *monitor) attach(it, body int, at frame) {
	m.move(it, body, at)
	m.held = it
	m.regroup()
}

// detach leaves the held body where it is in the root frame.
func (m *monitor) detach() {
	if m.held < 0 {
		return
	}
	at := m.world(&m.items[m.held])
	m.move(m.held, -1, at)
	m.held = -1
	m.regroup()
}

func (m *monitor) move(it, body int, at frame) {
	x := &m.items[it]
	x.body, x.at, x.centre, x.carried = body, at, at.apply(x.shape.centre), true
}
