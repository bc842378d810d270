package collision

import (
	"slices"

	"github.com/tau-robot/tau/robot"
)

// Exceptions are how a motion's contacts differ from those of the bare robot in
// its scene. The zero value is no exception.
type Exceptions struct {
	Zones    []string  // guarded zones that a grant opens, to the robot and to what it carries
	Touch    []string  // bodies that the gripper's links, and what it carries, may touch
	Attached *Attached // the body that is carried, nil for none
	// StartedAt is where the motion starts, nil if that isn't known. With it Check
	// judges a goal as the paths to it are judged: a pair that is in contact there, no
	// deeper than a path may start, is measured body by body, and it is enough that it
	// is no deeper than there.
	StartedAt []float64
}

// Attached is a movable body of the scene that a link carries along: it no
// longer stands where the scene says but moves with the link.
//
// It is checked like a link: against every other body (SCENE_COLLISION), every
// guarded zone (ZONE_NOT_GRANTED) and the robot's own links (SCENE_COLLISION),
// all with the scene's margin. The gripper's links, the links in Touch and those
// that no joint moves relative to the body aren't compared with it. A clearance
// or an error calls it by its name.
type Attached struct {
	Body  string
	Link  int        // index in the description
	Pose  robot.Pose // link from body
	Touch []string   // further links that may touch it
}

// With returns a checker with the exceptions as well. It shares everything else
// with c, so it is cheap enough to be made for each plan. What c opened stays
// open, what it carries stays carried, and of two starts the later counts. A zone, body or link that there isn't,
// a body that isn't movable and a pose that isn't one are INVALID_ARGUMENT, and
// so is a second body while c carries one.
func (c *Checker) With(e Exceptions) (*Checker, error) {
	open, err := c.find(e.Zones, true)
	if err != nil {
		return nil, err
	}
	touch, err := c.find(e.Touch, false)
	if err != nil {
		return nil, err
	}
	out := *c
	out.pairs = slices.Clone(c.pairs)
	if e.Attached != nil {
		if err := out.attach(e.Attached); err != nil {
			return nil, err
		}
	}
	out.pairs = slices.DeleteFunc(out.pairs, func(p pair) bool {
		return p.other < 0 && (open[p.obstacle] || touch[p.obstacle] && out.grips(p.body))
	})
	out.makePool()
	if e.StartedAt != nil {
		if err := out.startAt(e.StartedAt); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// startAt notes which pairs are in contact at q and how deep. The pairs are c's own.
func (c *Checker) startAt(q []float64) error {
	if err := c.checkVector("started_at", q); err != nil {
		return err
	}
	d := c.take("")
	defer c.pool.Put(d)
	c.begin(d, q)
	c.kin.FrameFK(d.frames, d.q)
	for i := range c.pairs {
		p := &c.pairs[i]
		gap := c.measure(d, i, p.margin)
		p.started, p.spheres = d.contact[i] && gap >= d.need[i], d.spheres[i]
		p.least = min(p.margin, gap-c.contactResolution())
	}
	return nil
}

// find returns which obstacles the names are of.
func (c *Checker) find(names []string, zone bool) (map[int]bool, error) {
	found := make(map[int]bool, len(names))
	for _, n := range names {
		i := slices.IndexFunc(c.obstacles, func(o obstacle) bool { return o.name == n && o.zone == zone })
		if i < 0 {
			return nil, robot.Errf(robot.CodeInvalidArgument, n, "the scene has nothing of this name")
		}
		found[i] = true
	}
	return found, nil
}

// grips reports whether a cover belongs to the gripper or is what it carries.
func (c *Checker) grips(cover int) bool {
	return cover >= len(c.m.Links) || c.m.Gripper != nil && slices.Contains(c.m.Gripper.Links, cover)
}

// attach takes a body out of what stands still and adds it to what moves.
func (c *Checker) attach(a *Attached) error {
	const where = "attached"
	if c.carried >= 0 {
		return robot.Errf(robot.CodeInvalidArgument, where, "the robot carries %s already", c.obstacles[c.carried].name)
	}
	bodies, err := c.find([]string{a.Body}, false)
	if err != nil {
		return err
	}
	for i := range bodies {
		c.carried = i
	}
	o := &c.obstacles[c.carried]
	if !o.movable {
		return robot.Errf(robot.CodeInvalidArgument, where, "%s isn't movable, so it can't be carried", a.Body)
	}
	if a.Link < 0 || a.Link >= len(c.m.Links) {
		return robot.Errf(robot.CodeInvalidArgument, where, "%s would be carried by link %d, the robot has %d links", a.Body, a.Link, len(c.m.Links))
	}
	frame, ok := fromPose(a.Pose)
	if !ok {
		return robot.Errf(robot.CodeInvalidArgument, where, "the pose of %s isn't finite or its quaternion isn't of unit length", a.Body)
	}
	touch := make(map[int]bool, len(a.Touch))
	for _, n := range a.Touch {
		i := c.m.LinkIndex(n)
		if i < 0 {
			return robot.Errf(robot.CodeInvalidArgument, where, "the robot has no link %s that %s could touch", n, a.Body)
		}
		touch[i] = true
	}
	carried := cover{link: a.Link, mesh: o.tree != nil, thin: o.thin}
	carried.parts = slices.Clone(o.parts)
	carried.parts[0].frame = frame
	if carried.mesh {
		carried.tree = tree{nodes: slices.Clone(o.tree.nodes), root: o.tree.root}
	} else {
		carried.tree.root, carried.over = carried.tree.cover(&o.shape, c.opts.Overshoot)
	}
	carried.tree.move(&frame)
	carried.reach = carried.tree.reach()
	c.covers = append(slices.Clone(c.covers), carried)
	c.pairs = slices.DeleteFunc(c.pairs, func(p pair) bool { return p.other < 0 && p.obstacle == c.carried })
	body := len(c.covers) - 1
	c.addObstaclePairs(body)
	for l := range c.m.Links {
		if !c.grips(l) && !touch[l] {
			c.addPair(body, l, robot.CodeSceneCollision, c.opts.SceneMargin)
		}
	}
	return nil
}
