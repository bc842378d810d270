package collision

import (
	"math"
	"slices"
	"sync"

	"github.com/tau-robot/tau/robot"
)

// Kinematics computes the frames of all links in the root frame at q: nine
// elements of the rotation by rows, then the position, m. It must be safe for
// concurrent use. kinematics.Tree is one.
type Kinematics interface {
	FrameFK(frames [][12]float64, q []float64)
}

// Checker checks one robot in one scene. It is immutable; its methods may be
// called from any goroutine, don't block, and neither keep nor change the slices
// they are given.
//
// Two bodies that no joint moves relative to each other aren't compared: the
// robot's base may stand on or in a body of the scene. Pairs that the model
// allows aren't either.
type Checker struct {
	m         *robot.Model
	names     []string // of the active joints
	kin       Kinematics
	opts      Options
	covers    []cover // of the links, by their index, then of what is carried
	obstacles []obstacle
	ways      *ways
	carried   int // the obstacle that moves with a link instead, -1 for none
	pairs     []pair
	pool      *sync.Pool // of *data
}

// cover is the spheres of a link, or of a body that it carries, in its frame.
type cover struct {
	link  int
	tree  tree
	reach float64 // of any point from the link's origin, m; 0 for a link without bodies
	parts []part  // its bodies; of a mesh its convex hull
	mesh  bool    // not all of them are primitive
	over  float64 // how far the spheres reach beyond the bodies at most, m
	thin  float64 // thickness of its thinnest body, m
	round bool    // the joint above turns all of it about its own axis of symmetry
}

type obstacle struct {
	name    string
	frame   transform // root from body
	shape   robot.Geometry
	parts   []part  // its body, or the convex hull of its mesh, in the root frame
	tree    *tree   // of a mesh, nil for a primitive body
	thin    float64 // its thickness, m
	zone    bool
	movable bool
}

// pair is two bodies that must not touch.
type pair struct {
	body, other int // covers; other is -1 for an obstacle
	obstacle    int
	a, b        string
	code        robot.Code
	margin      float64
	// sure is the exact distance from which on the spheres say that the margin is
	// kept, +Inf for a pair with a mesh.
	sure float64
	// started says that the pair is in contact where With was told that the motion
	// starts, and least is the distance that it needs at a goal then.
	started bool
	spheres bool // as data.spheres says
	least   float64
	// The joints from each body up to where the two chains meet, nearest first.
	// An obstacle stands still, so the second chain is empty.
	up, down []step
}

// step is what one joint above a body contributes to how far the body can move.
type step struct {
	link          int        // the joint's child
	axis          [3]float64 // in its frame
	active        int32      // position in q, -1 for a fixed joint
	slide         bool
	scale, offset float64 // of a mimic joint; 1 and 0 otherwise
	lever         float64 // distance of the joint's origin from its parent link's, m
}

// New prepares a checker. scene may be nil for an empty one. It refuses bodies
// without a finite positive size and pose, two bodies or zones of one name
// (INVALID_ARGUMENT), and geometry that it doesn't know (NOT_SUPPORTED).
func New(m *robot.Model, scene *robot.Scene, kin Kinematics, opts Options) (*Checker, error) {
	if m == nil || m.Description == nil || kin == nil {
		return nil, robot.Errf(robot.CodeInvalidArgument, "model", "a checker needs a model and its kinematics")
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	w := allWays()
	c := &Checker{m: m, names: m.JointNames(), kin: kin, opts: opts, covers: make([]cover, len(m.Links)), ways: &w, carried: -1}
	for i := range m.Links {
		if err := c.coverLink(i); err != nil {
			return nil, err
		}
	}
	if err := c.addScene(scene, nil); err != nil {
		return nil, err
	}
	c.addPairs()
	c.makePool()
	return c, nil
}

// WithScene returns a checker of the same bare robot in another scene, nil for an
// empty one: without the exceptions of c. It shares with c what covers the robot and
// the meshes that both scenes hold, so that a scene that a body is added to or taken
// from costs no more than that body. It refuses what New refuses of a scene.
func (c *Checker) WithScene(scene *robot.Scene) (*Checker, error) {
	links := len(c.m.Links)
	out := &Checker{m: c.m, names: c.names, kin: c.kin, opts: c.opts, covers: c.covers[:links:links], ways: c.ways, carried: -1}
	if err := out.addScene(scene, c.obstacles); err != nil {
		return nil, err
	}
	out.addPairs()
	out.makePool()
	return out, nil
}

func (c *Checker) makePool() {
	links, pairs, dof := len(c.m.Links), len(c.pairs), c.m.DoF()
	c.pool = &sync.Pool{New: func() any {
		return &data{
			frames: make([]transform, links), q: make([]float64, dof), speed: make([]float64, dof), extent: make([]float64, dof),
			zero: make([]float64, dof), travel: make([]float64, dof), top: make([]float64, dof), lever: make([]float64, pairs*dof),
			slack: make([]float64, pairs), need: make([]float64, pairs), rate: make([]float64, pairs), contact: make([]bool, pairs), first: make([]float64, pairs), spheres: make([]bool, pairs), moved: make([]float64, dof),
		}
	}}
}

func (c *Checker) coverLink(i int) error {
	l := &c.m.Links[i]
	c.covers[i].link, c.covers[i].thin = i, math.Inf(1)
	t := &c.covers[i].tree
	var roots []int32
	for k := range l.Colliders {
		body := &l.Colliders[k]
		where := l.Name + "/" + body.Name
		if err := checkGeometry(where, &body.Geometry); err != nil {
			return err
		}
		frame, ok := fromPose(body.Origin)
		if !ok {
			return robot.Errf(robot.CodeInvalidArgument, where, "pose isn't finite or its quaternion isn't of unit length")
		}
		if body.Geometry.Kind == robot.MeshGeometry {
			c.covers[i].mesh = true
		}
		c.covers[i].parts = append(c.covers[i].parts, newPart(&body.Geometry, frame, c.ways))
		var one tree
		root, over := one.cover(&body.Geometry, c.opts.Overshoot)
		c.covers[i].over = max(c.covers[i].over, over)
		c.covers[i].thin = min(c.covers[i].thin, thickness(&body.Geometry))
		one.move(&frame)
		base := int32(len(t.nodes))
		for _, n := range one.nodes {
			if n.left >= 0 {
				n.left, n.right = n.left+base, n.right+base
			}
			t.nodes = append(t.nodes, n)
		}
		roots = append(roots, root+base)
	}
	if len(roots) > 0 {
		t.root = t.join(roots)
		c.covers[i].reach = t.reach()
		c.covers[i].round = c.isRound(i)
	}
	return nil
}

// addScene covers a scene's bodies and zones. known are those of an earlier scene,
// whose meshes needn't be covered again.
func (c *Checker) addScene(s *robot.Scene, known []obstacle) error {
	if s == nil {
		return nil
	}
	seen := make(map[string]bool)
	add := func(kind, name string, pose robot.Pose, g *robot.Geometry, movable bool) error {
		where := kind + "." + name
		if name == "" || seen[name] {
			return robot.Errf(robot.CodeInvalidArgument, where, "name is empty or taken by another body or zone")
		}
		seen[name] = true
		if err := checkGeometry(where, g); err != nil {
			return err
		}
		frame, ok := fromPose(pose)
		if !ok {
			return robot.Errf(robot.CodeInvalidArgument, where, "pose isn't finite or its quaternion isn't of unit length")
		}
		o := obstacle{name: name, frame: frame, shape: *g, zone: kind == "zones", movable: movable, thin: thickness(g)}
		if g.Kind == robot.MeshGeometry {
			if i := slices.IndexFunc(known, func(k obstacle) bool { return k.shape == *g }); i >= 0 {
				o.tree, o.parts = known[i].tree, slices.Clone(known[i].parts)
				o.parts[0].frame = frame
			} else {
				o.tree = new(tree)
				o.tree.root, _ = o.tree.cover(g, c.opts.Overshoot)
			}
		}
		if o.parts == nil {
			o.parts = []part{newPart(g, frame, c.ways)}
		}
		c.obstacles = append(c.obstacles, o)
		return nil
	}
	for i := range s.Bodies {
		if err := add("bodies", s.Bodies[i].Name, s.Bodies[i].Pose, &s.Bodies[i].Geometry, s.Bodies[i].Movable); err != nil {
			return err
		}
	}
	for i := range s.Zones {
		if err := add("zones", s.Zones[i].Name, s.Zones[i].Pose, &s.Zones[i].Geometry, false); err != nil {
			return err
		}
	}
	return nil
}

func (c *Checker) addPairs() {
	for a := range c.m.Links {
		for b := a + 1; b < len(c.m.Links); b++ {
			if !c.m.IsAllowed(a, b) {
				c.addPair(a, b, robot.CodeSelfCollision, c.opts.SelfMargin)
			}
		}
		c.addObstaclePairs(a)
	}
}

// addPair adds two covers unless one is empty or no joint moves them relative to
// each other.
func (c *Checker) addPair(a, b int, code robot.Code, margin float64) {
	if len(c.covers[a].tree.nodes) == 0 || len(c.covers[b].tree.nodes) == 0 {
		return
	}
	up, down := c.chains(c.covers[a].link, c.covers[b].link)
	c.covers[a].still(up)
	c.covers[b].still(down)
	if moves(up) || moves(down) {
		c.pairs = append(c.pairs, pair{
			body: a, other: b, a: c.name(a), b: c.name(b), code: code, margin: margin, up: up, down: down,
			sure: sure(margin, &c.covers[a], &c.covers[b]),
		})
	}
}

func sure(margin float64, a, b *cover) float64 {
	if a.mesh || b.mesh {
		return math.Inf(1)
	}
	return margin/goodEnough + a.over + b.over
}

// addObstaclePairs adds a cover with each obstacle but what is carried.
func (c *Checker) addObstaclePairs(a int) {
	up, _ := c.chains(c.covers[a].link, c.m.Root)
	c.covers[a].still(up)
	if len(c.covers[a].tree.nodes) == 0 || !moves(up) {
		return
	}
	for k := range c.obstacles {
		if k == c.carried {
			continue
		}
		p := pair{
			body: a, other: -1, obstacle: k, a: c.name(a), b: c.obstacles[k].name,
			code: robot.CodeSceneCollision, margin: c.opts.SceneMargin, up: up,
			sure: sure(c.opts.SceneMargin, &c.covers[a], &cover{mesh: c.obstacles[k].tree != nil}),
		}
		if c.obstacles[k].zone {
			p.code = robot.CodeZoneNotGranted
		}
		c.pairs = append(c.pairs, p)
	}
}

// isRound says whether the joint above a link turns about an axis about which each
// of the link's bodies looks the same from all sides: a wheel that is a cylinder.
// Turning it moves nothing.
func (c *Checker) isRound(link int) bool {
	const tiny = 1e-9
	l := &c.m.Links[link]
	if l.Parent < 0 || c.covers[link].mesh {
		return false
	}
	j := &c.m.Joints[l.Parent]
	if j.Type != robot.Revolute && j.Type != robot.Continuous {
		return false
	}
	axis := [3]float64(j.Axis)
	for i := range c.covers[link].parts {
		p := &c.covers[link].parts[i]
		if off := cross(axis, [3]float64(p.frame[9:])); dot(off, off) > tiny*tiny {
			return false
		}
		z := [3]float64{p.frame[2], p.frame[5], p.frame[8]}
		if off := cross(axis, z); p.solid.kind == robot.Box || p.solid.kind != robot.Sphere && dot(off, off) > tiny*tiny {
			return false
		}
	}
	return true
}

// still takes the joint that moves nothing out of a chain that begins at the cover.
func (c *cover) still(chain []step) {
	if c.round && len(chain) > 0 {
		chain[0].active = -1
	}
}

// name returns the name of the link or body that a cover is of.
func (c *Checker) name(cover int) string {
	if cover < len(c.m.Links) {
		return c.m.Links[cover].Name
	}
	return c.obstacles[c.carried].name
}

// chains returns the joints from links a and b up to their nearest common ancestor.
func (c *Checker) chains(a, b int) (up, down []step) {
	m := c.m
	above := map[int]bool{a: true}
	for l := a; m.Links[l].Parent >= 0; {
		l = m.Joints[m.Links[l].Parent].Parent
		above[l] = true
	}
	meet := b
	for !above[meet] {
		j := m.Links[meet].Parent
		down = append(down, c.step(j))
		meet = m.Joints[j].Parent
	}
	for l := a; l != meet; {
		j := m.Links[l].Parent
		up = append(up, c.step(j))
		l = m.Joints[j].Parent
	}
	return up, down
}

func (c *Checker) step(joint int) step {
	j := &c.m.Joints[joint]
	s := step{link: j.Child, axis: [3]float64(j.Axis), active: int32(j.Active), slide: j.Type == robot.Prismatic, scale: 1, lever: j.Origin.P.Len()}
	if j.Mimic != nil {
		s.active = int32(c.m.Joints[j.Mimic.Joint].Active)
		s.scale, s.offset = math.Abs(j.Mimic.Multiplier), math.Abs(j.Mimic.Offset)
	}
	return s
}

func moves(chain []step) bool {
	return slices.ContainsFunc(chain, func(s step) bool { return s.active >= 0 && s.scale != 0 })
}

// Spheres returns the number of spheres that cover each link.
func (c *Checker) Spheres() []int {
	out := make([]int, len(c.m.Links))
	for i := range out {
		for _, n := range c.covers[i].tree.nodes {
			if n.left < 0 {
				out[i]++
			}
		}
	}
	return out
}
