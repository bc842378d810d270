package motion

import (
	"math"
	"slices"

	"github.com/tau-robot/tau/motion/collision"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/robot"
)

// paths plans for one arm in one scene.
type paths struct {
	model   *robot.Model
	tree    *kinematics.Tree
	free    *view              // no contact, nothing carried
	movable []string           // bodies that the gripper may close on
	checker *collision.Checker // nil where Arm.Checker replaces it
	space   *workspace         // nil: there is none, or Arm.Checker replaces the check
}

// view plans with the contacts that one motion may have and what it carries.
type view struct {
	want
	paths   *paths
	planner *planning.Planner
	lines   planning.Checker   // says whether straight lines in joint space are free
	checker *collision.Checker // of whole trajectories; nil where Arm.Checker replaces it
	bare    *collision.Checker // the same for a motion that starts anywhere; nil as checker is
	scene   *robot.Scene       // that all of it is about
	box     *boxed             // holds the tip in the workspace; nil: nothing does
	open    []string           // guarded zones that the motion may enter, in ascending order
	except  collision.Exceptions
}

// newPaths returns the planning in a scene. before is that in the scene before it was
// changed, nil for none: what covers the robot is taken from there.
func newPaths(a *arm, scene *robot.Scene, before *paths) (*paths, error) {
	p := &paths{model: a.Model, tree: a.tree}
	for i := range scene.Bodies {
		if scene.Bodies[i].Movable {
			p.movable = append(p.movable, scene.Bodies[i].Name)
		}
	}
	p.free = &view{paths: p, lines: a.Checker, scene: scene}
	if a.Checker == nil {
		var err error
		if before != nil {
			p.checker, err = before.checker.WithScene(scene)
		} else {
			p.checker, err = collision.New(a.Model, scene, a.tree, collision.DefaultOptions())
		}
		if err != nil {
			return nil, err
		}
		p.space = a.space
		p.free.lines, p.free.checker, p.free.bare = p.checker, p.checker, p.checker
		p.free.boxIn(nil)
	}
	var err error
	p.free.planner, err = planning.New(a.Model, a.tree, p.free.lines)
	return p, err
}

// boxIn adds the workspace, if there is one, to what says whether lines are free. from
// is where the motion starts; nil: inside.
func (v *view) boxIn(from []float64) {
	w := v.paths.space
	if w == nil {
		return
	}
	v.box = &boxed{Checker: v.checker, w: w}
	if from != nil {
		off := w.beyond(v.box.tip(w.tree.NewData(), from))
		v.box.most = off.within(&beyond{math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1), math.Inf(1)})
	}
	v.lines = v.box
}

// view returns the view of a motion from a state: a grip may touch what can be
// gripped, what the gripper holds moves with it, zones that are open to whoever wants
// it don't count, and what is in contact where the motion starts needn't be apart at
// its goal.
func (a *arm) view(w want, st robot.State, grip bool) (*view, error) {
	p, err := a.pathsFor(w)
	if err != nil {
		return nil, err
	}
	return p.view(w, a.openZones(w, p.free.scene), st, a.startOf(st), grip)
}

func (p *paths) view(w want, open []string, st robot.State, from []float64, grip bool) (*view, error) {
	v := *p.free
	v.want, v.open = w, open
	if p.checker == nil {
		return &v, nil
	}
	e := collision.Exceptions{Zones: open}
	if grip {
		for _, n := range p.movable {
			if n != st.Held {
				e.Touch = append(e.Touch, n)
			}
		}
	}
	if st.Held != "" && st.HeldPose != nil {
		e.Attached = &collision.Attached{Body: st.Held, Link: p.model.Tip, Pose: *st.HeldPose}
	}
	v.except = e
	var err error
	if len(e.Zones) > 0 || len(e.Touch) > 0 || e.Attached != nil {
		if v.bare, err = p.checker.With(e); err != nil {
			return nil, err
		}
	}
	v.checker = v.bare
	if _, err := v.bare.Check(from); isContact(err) {
		if v.checker, err = v.bare.With(collision.Exceptions{StartedAt: from}); err != nil {
			return nil, err
		}
	}
	v.lines = v.checker
	v.boxIn(from)
	if v.checker == p.checker && (v.box == nil || v.box.most == beyond{}) {
		return &v, nil // p.free's planner will do
	}
	v.planner, err = planning.New(p.model, p.tree, v.lines)
	return &v, err
}

// enters returns which of the open zones a motion enters, in ascending order: those
// that would refuse it were they closed.
func (v *view) enters(check func(*collision.Checker) error) ([]string, error) {
	if v.checker == nil {
		return nil, nil // nothing can tell, so that the rehearsal lets it into none
	}
	var in []string
	for _, z := range v.open {
		e := v.except
		e.Zones = slices.DeleteFunc(slices.Clone(v.open), func(o string) bool { return o == z })
		c, err := v.paths.checker.With(e)
		if err != nil {
			return nil, err
		}
		// Whatever else is met on the way hides what comes after it.
		switch err := check(c); {
		case isContact(err):
			in = append(in, z)
		case err != nil:
			return nil, err
		}
	}
	return in, nil
}

// isContact reports whether an error of a checker is about bodies, zones or the
// workspace, and not a failure to answer.
func isContact(err error) bool {
	switch robot.CodeOf(err) {
	case robot.CodeSelfCollision, robot.CodeSceneCollision, robot.CodeZoneNotGranted, robot.CodeWorkspace:
		return true
	}
	return false
}
