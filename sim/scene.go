package sim

import (
	"cmp"
	"slices"

	"github.com/tau-robot/tau/robot"
)

// liveScene is a robot's own copy of the scene that it was made with, hashed.
func liveScene(s *robot.Scene) (*robot.Scene, error) {
	if s == nil {
		empty, err := robot.NewScene("", nil, nil)
		return &empty, err
	}
	own := s.WithBodies(slices.Clone(s.Bodies))
	own.Zones = slices.Clone(own.Zones)
	return &own, nil
}

// Scene returns what stands around the robot: what New was given, with what
// AddBody and RemoveBody have changed, and the bodies where the robot has carried
// them; while something moves, as it was when that began. Its hash is that of
// what it holds. The slices are the caller's.
func (r *Robot) Scene() robot.Scene {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := *r.mon.scene
	s.Bodies, s.Zones = slices.Clone(s.Bodies), slices.Clone(s.Zones)
	return s
}

// keepScene takes over where bodies were carried; mu is held and nothing moves.
func (r *Robot) keepScene() {
	var bodies []robot.Body
	for i := range r.mon.items {
		it := &r.mon.items[i]
		if it.scene < 0 || !it.carried {
			continue
		}
		r.mon.pose(r.pl.q)
		w := r.mon.world(it)
		if pose := w.pose(); pose != r.mon.scene.Bodies[it.scene].Pose {
			if bodies == nil {
				bodies = slices.Clone(r.mon.scene.Bodies)
			}
			bodies[it.scene].Pose = pose
		}
	}
	if bodies != nil {
		s := r.mon.scene.WithBodies(bodies)
		r.mon.scene = &s
	}
}

// AddBody puts a body into the scene, where the robot's next motion finds it. It
// refuses what robot.NewScene refuses, a name that a body, a zone or a link has
// already, a body beyond robot.MaxBodies (all INVALID_ARGUMENT), and one that the
// robot touches where it stands, what it holds included (SCENE_COLLISION); while
// something moves it is BUSY, and without a connection or a fresh measurement it
// is what State then is. After an error the scene is what it was. It never blocks.
func (r *Robot) AddBody(b robot.Body) error {
	one, err := robot.NewScene("", []robot.Body{b}, nil)
	if err != nil {
		return err
	}
	b = one.Bodies[0]
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.editable(); err != nil {
		return err
	}
	scene := r.mon.scene
	same := func(name string) bool { return name == b.Name }
	switch {
	case slices.ContainsFunc(scene.Bodies, func(o robot.Body) bool { return same(o.Name) }):
		return robot.Errf(robot.CodeInvalidArgument, b.Name, "the scene has a body %q already", b.Name)
	case slices.ContainsFunc(scene.Zones, func(o robot.Zone) bool { return same(o.Name) }):
		return robot.Errf(robot.CodeInvalidArgument, b.Name, "the scene has a zone %q already", b.Name)
	case r.tree.model.LinkIndex(b.Name) >= 0:
		return robot.Errf(robot.CodeInvalidArgument, b.Name, "%q is the name of a link of the robot", b.Name)
	case len(scene.Bodies) >= robot.MaxBodies:
		return robot.LimitErr(robot.CodeInvalidArgument, b.Name, float64(len(scene.Bodies)+1), robot.MaxBodies, "bodies", "the scene is full")
	}
	it, err := bodyItem(r.tree, &b, len(scene.Bodies))
	if err != nil {
		return err
	}
	r.mon.pose(r.pl.q)
	if what, d := r.mon.nearest(&it); d <= contactMargin {
		e := robot.LimitErr(robot.CodeSceneCollision, b.Name, d, 0, "m", "it would touch "+what+" where the robot stands")
		e.Value.Name = "distance to " + what
		return e
	}
	bodies := append(slices.Clone(scene.Bodies), b)
	slices.SortStableFunc(bodies, func(x, y robot.Body) int { return cmp.Compare(x.Name, y.Name) })
	r.mon.change(scene.WithBodies(bodies), &it)
	return nil
}

// RemoveBody takes a body out of the scene. It refuses a name that no body has and
// a body that the gripper holds (INVALID_ARGUMENT), and is refused otherwise as
// AddBody is. After an error the scene is what it was. It never blocks.
func (r *Robot) RemoveBody(name string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.editable(); err != nil {
		return err
	}
	scene := r.mon.scene
	i := slices.IndexFunc(scene.Bodies, func(b robot.Body) bool { return b.Name == name })
	switch {
	case i < 0:
		return robot.Errf(robot.CodeInvalidArgument, name, "the scene has no body %q", name)
	case r.held == name:
		return robot.Errf(robot.CodeInvalidArgument, name, "the gripper holds %q; let go of it first", name)
	}
	r.mon.change(scene.WithBodies(slices.Delete(slices.Clone(scene.Bodies), i, i+1)), nil)
	return nil
}

// editable says why the scene can't be changed now; mu is held.
func (r *Robot) editable() error {
	if r.run != nil && !r.closed {
		return robot.Errf(robot.CodeBusy, "sim", "the scene stays as it is while a motion or command is running")
	}
	_, err := r.state()
	return err
}

// nearest returns which link or held body is nearest to a body of the scene, and
// how far it is; the monitor is posed.
func (m *monitor) nearest(it *item) (what string, dist float64) {
	dist = farEnough
	for i := range m.items {
		a := &m.items[i]
		if !m.watched(a, it) {
			continue
		}
		wa, wb := m.world(a), m.world(it)
		q := pairQuery{a: a.shape, b: it.shape, rel: wa.inverseMul(&wb)}
		if s := q.signedDistance(vec3{}, dist); s.dist < dist {
			what, dist = a.name, s.dist
		}
	}
	return what, dist
}

// change makes another scene the one that is watched: the items of bodies that
// stay are kept as they are, fresh is that of a body that is new, nil for none.
func (m *monitor) change(scene robot.Scene, fresh *item) {
	named := map[string]item{} // looked up only, never ranged over
	held := ""
	if m.held >= 0 {
		held = m.items[m.held].name
	}
	var items, zones []item
	for _, it := range m.items {
		switch {
		case it.scene >= 0:
			named[it.name] = it
		case it.zone:
			zones = append(zones, it)
		default:
			items = append(items, it)
		}
	}
	if fresh != nil {
		named[fresh.name] = *fresh
	}
	m.held = -1
	for i := range scene.Bodies {
		it := named[scene.Bodies[i].Name]
		it.scene = i
		if it.name == held {
			m.held = len(items)
		}
		items = append(items, it)
	}
	items = append(items, zones...)
	m.items, m.scene = items, &scene
	m.regroup()
}
