package planning

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/tau-robot/tau/robot"
)

// JointPath returns the waypoints of a path from one configuration to another,
// both included, at least two. Between waypoints the joints move on a straight
// line in joint space, and the checker has accepted each such line in the
// direction of travel. The straight line from start to goal is tried first, then
// detours.
//
// The goal must be inside the limits (JOINT_LIMIT). The start may be outside by
// the start tolerances; the path then begins at the nearest configuration inside.
// From a start farther outside there is one way: exactly the joints outside move
// straight back to the limit, or inside by no more than the start tolerance, and
// all others hold; the path then begins outside. Anything else is JOINT_LIMIT with
// the joints' limits as Nearest. A continuous joint takes the shorter way: the last waypoint is the
// representation of the goal that is nearest to the start.
//
// The joints of a base and its wheels hold, since a straight line in joint space is
// no way for them (INVALID_ARGUMENT); Drive moves them.
//
// Errors: JOINT_LIMIT with value, limit and nearest; the checker's own error
// where start or goal is in contact, for a goal with the last free configuration on
// the straight line to it as Nearest; NO_PATH, with the contact of the straight
// line as its cause, when no detour was found; INVALID_ARGUMENT; CANCELLED when
// ctx ends. The same arguments and the same state of rng give the same answer.
// The caller owns the waypoints.
func (p *Planner) JointPath(ctx context.Context, from, to []float64, rng *rand.Rand) ([][]float64, error) {
	if err := p.checkVector("start", from); err != nil {
		return nil, err
	}
	if err := p.checkVector("positions", to); err != nil {
		return nil, err
	}
	if rng == nil {
		return nil, robot.Errf(robot.CodeInvalidArgument, "rng", "is missing")
	}
	out := p.outside(from)
	if err := p.checkLimits("positions", to); err != nil {
		if len(out) > 0 {
			return nil, p.outsideErr(from, out)
		}
		return nil, err
	}
	b := make([]float64, len(to))
	for i := range from {
		b[i] = p.nearTurn(i, to[i], p.clamp(i, from[i]))
	}
	if len(out) > 0 {
		return p.wayIn(from, b, out)
	}
	a, err := p.inside(from)
	if err != nil {
		return nil, err
	}
	if err := p.baseHolds(a, b); err != nil {
		return nil, err
	}
	if err := cancelled(ctx); err != nil {
		return nil, err
	}
	_, direct := p.checker.CheckSegment(a, b)
	if direct == nil {
		return [][]float64{a, b}, nil
	}
	if !isContact(direct) {
		return nil, direct
	}
	if _, err := p.checker.Check(b); err != nil {
		return nil, p.short(a, b, err)
	}
	// A start that no short way leads out of can't be left at all.
	if _, err := p.checker.CheckSegment(a, a); err != nil {
		return nil, err
	}
	path, err := p.detour(ctx, a, b, rng)
	if err != nil {
		return nil, err
	}
	if path == nil {
		return nil, robot.Errf(robot.CodeNoPath, blockers(direct), "no way around was found; straight there, %w", direct)
	}
	return path, nil
}

func blockers(err error) string {
	var e *robot.Error
	if errors.As(err, &e) {
		return e.Where
	}
	return ""
}

func cancelled(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return robot.Errf(robot.CodeCancelled, "planning", "planning was cancelled: %w", context.Cause(ctx))
}

// segmentFree reports whether a straight line is free; err is a failure to answer.
func (p *Planner) segmentFree(from, to []float64) (bool, error) {
	_, err := p.checker.CheckSegment(from, to)
	if err == nil {
		return true, nil
	}
	if isContact(err) {
		return false, nil
	}
	return false, fmt.Errorf("checking a straight line: %w", err)
}
