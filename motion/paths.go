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
	scene   *robot.Scene       // that all of it is about
}

func newPaths(a Arm, scene *robot.Scene, tree *kinematics.Tree) (*paths, error) {
	p := &paths{model: a.Model, tree: tree}
	for i := range scene.Bodies {
		if scene.Bodies[i].Movable {
			p.movable = append(p.movable, scene.Bodies[i].Name)
		}
	}
	p.free = &view{lines: a.Checker, scene: scene}
	if a.Checker == nil {
		var err error
		if p.checker, err = collision.New(a.Model, scene, tree, collision.DefaultOptions()); err != nil {
			return nil, err
		}
		p.free.lines, p.free.checker = p.checker, p.checker
	}
	var err error
	p.free.planner, err = planning.New(a.Model, tree, p.free.lines)
	return p, err
}

// view returns the view of a motion from a state: a grip may touch what can be
// gripped, and what the gripper holds moves with it.
func (a *arm) view(st robot.State, grip bool) (*view, error) {
	p, err := a.pathsNow()
	if err != nil {
		return nil, err
	}
	return p.view(st, grip)
}

func (p *paths) view(st robot.State, grip bool) (*view, error) {
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
	if p.checker == nil || len(e.Touch) == 0 && e.Attached == nil {
		return p.free, nil
	}
	c, err := p.checker.With(e)
	if err != nil {
		return nil, err
	}
	pl, err := planning.New(p.model, p.tree, c)
	return &view{planner: pl, lines: c, checker: c, scene: p.free.scene}, err
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
