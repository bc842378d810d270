package motion

import (
	"context"
	"math/rand/v2"

	"github.com/tau-robot/tau/motion/collision"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/robot"
)

// paths plans for one arm with the contacts that a motion may have.
type paths struct {
	model   *robot.Model
	tree    *kinematics.Tree
	free    *planning.Planner  // no contact at all
	movable []string           // bodies that the gripper may close on
	checker *collision.Checker // nil where Arm.Checker replaces it
}

func newPaths(a Arm, scene *robot.Scene, tree *kinematics.Tree) (*paths, error) {
	p := &paths{model: a.Model, tree: tree}
	for i := range scene.Bodies {
		if scene.Bodies[i].Movable {
			p.movable = append(p.movable, scene.Bodies[i].Name)
		}
	}
	c := a.Checker
	if c == nil {
		var err error
		if p.checker, err = collision.New(a.Model, scene, tree, collision.DefaultOptions()); err != nil {
			return nil, err
		}
		c = p.checker
	}
	var err error
	p.free, err = planning.New(a.Model, tree, c)
	return p, err
}

// touching returns the planner in which the gripper's own links may touch the
// named bodies.
func (p *paths) touching(bodies ...string) (*planning.Planner, error) {
	if p.checker == nil || len(bodies) == 0 {
		return p.free, nil
	}
	c, err := p.checker.With(collision.Exceptions{Touch: bodies})
	if err != nil {
		return nil, err
	}
	return planning.New(p.model, p.tree, c)
}

// planner picks the planner for a motion: a grip may touch what can be gripped,
// and a robot that holds something may go on touching it.
func (p *paths) planner(grip bool, held string) (*planning.Planner, error) {
	switch {
	case grip:
		return p.touching(p.movable...)
	case held != "":
		return p.touching(held)
	}
	return p.free, nil
}

// path plans from one configuration to another.
func (p *paths) path(ctx context.Context, from, to []float64, grip bool, held string, rng *rand.Rand) ([][]float64, error) {
	pl, err := p.planner(grip, held)
	if err != nil {
		return nil, err
	}
	return pl.JointPath(ctx, from, to, rng)
}
