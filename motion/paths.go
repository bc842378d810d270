package motion

import (
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
}

// view plans with the contacts that one motion may have and what it carries.
type view struct {
	planner *planning.Planner
	lines   planning.Checker   // says whether straight lines in joint space are free
	checker *collision.Checker // of whole trajectories; nil where Arm.Checker replaces it
	bare    *collision.Checker // the same for a motion that starts anywhere; nil as checker is
	scene   *robot.Scene       // that all of it is about
}

// newPaths returns the planning in a scene. before is that in the scene before it was
// changed, nil for none: what covers the robot is taken from there.
func newPaths(a Arm, scene *robot.Scene, tree *kinematics.Tree, before *paths) (*paths, error) {
	p := &paths{model: a.Model, tree: tree}
	for i := range scene.Bodies {
		if scene.Bodies[i].Movable {
			p.movable = append(p.movable, scene.Bodies[i].Name)
		}
	}
	p.free = &view{lines: a.Checker, scene: scene}
	if a.Checker == nil {
		var err error
		if before != nil {
			p.checker, err = before.checker.WithScene(scene)
		} else {
			p.checker, err = collision.New(a.Model, scene, tree, collision.DefaultOptions())
		}
		if err != nil {
			return nil, err
		}
		p.free.lines, p.free.checker, p.free.bare = p.checker, p.checker, p.checker
	}
	var err error
	p.free.planner, err = planning.New(a.Model, tree, p.free.lines)
	return p, err
}

// view returns the view of a motion from a state: a grip may touch what can be
// gripped, what the gripper holds moves with it, and what is in contact where the
// motion starts needn't be apart at its goal.
func (a *arm) view(st robot.State, grip bool) (*view, error) {
	p, err := a.pathsNow()
	if err != nil {
		return nil, err
	}
	return p.view(st, a.startOf(st), grip)
}

func (p *paths) view(st robot.State, from []float64, grip bool) (*view, error) {
	if p.checker == nil {
		return p.free, nil
	}
	var e collision.Exceptions
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
	bare := p.checker
	if len(e.Touch) > 0 || e.Attached != nil {
		var err error
		if bare, err = bare.With(e); err != nil {
			return nil, err
		}
	}
	c := bare
	if _, err := bare.Check(from); isContact(err) {
		if c, err = bare.With(collision.Exceptions{StartedAt: from}); err != nil {
			return nil, err
		}
	}
	if c == p.checker {
		return p.free, nil
	}
	pl, err := planning.New(p.model, p.tree, c)
	return &view{planner: pl, lines: c, checker: c, bare: bare, scene: p.free.scene}, err
}

// isContact reports whether an error of a checker is about bodies, and not a
// failure to answer.
func isContact(err error) bool {
	switch robot.CodeOf(err) {
	case robot.CodeSelfCollision, robot.CodeSceneCollision, robot.CodeZoneNotGranted:
		return true
	}
	return false
}
