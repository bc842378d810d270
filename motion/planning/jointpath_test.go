package planning

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

func post(x, y float64) *robot.Scene {
	return &robot.Scene{Bodies: []robot.Body{{
		Name: "post", Pose: kintest.At(x, y, 0.1, 0, 0, 0),
		Geometry: robot.Geometry{Kind: robot.Cylinder, Radius: 0.015, Length: 0.5},
	}}}
}

// TestStraightLineFirst: where the straight line is free, it is the path.
func TestStraightLineFirst(t *testing.T) {
	m := kintest.Arm5()
	p, _ := checked(t, m, nil)
	to := []float64{0.5, -0.3, 1, 0.5, 0.2, 0.3}
	path, err := p.JointPath(context.Background(), m.Home, to, seeded(1))
	require.NoError(t, err)
	require.Equal(t, [][]float64{m.Home, to}, path)
}

// TestDetour: a post stands in the way; a way around is found, each line of it is
// free and inside the limits, and the same seed finds the same way.
func TestDetour(t *testing.T) {
	m := kintest.Arm5()
	p, c := checked(t, m, post(0.22, 0))
	from, to := []float64{-0.8, 0.9, 0.4, 0.2, 0, 0}, []float64{0.8, 0.9, 0.4, 0.2, 0, 0.4}
	_, err := c.CheckSegment(from, to)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	path, err := p.JointPath(context.Background(), from, to, seeded(1))
	require.NoError(t, err)
	require.Greater(t, len(path), 2)
	require.Less(t, len(path), 8)
	require.Equal(t, from, path[0])
	require.Equal(t, to, path[len(path)-1])
	for i := range path {
		requireInside(t, m, path[i])
		if i > 0 {
			_, err := c.CheckSegment(path[i-1], path[i])
			require.NoError(t, err)
		}
	}
	again, err := p.JointPath(context.Background(), from, to, seeded(1))
	require.NoError(t, err)
	require.Equal(t, path, again)
}

// TestNoPath: walls on both sides of the base reach above the arm.
func TestNoPath(t *testing.T) {
	m := kintest.Arm5()
	s := &robot.Scene{Bodies: []robot.Body{
		{Name: "wall", Pose: kintest.At(0, 0, 0.45, 0, 0, 0), Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{2, 0.04, 0.6}}},
		{Name: "front", Pose: kintest.At(0.56, 0, 0.1, 0, 0, 0), Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{1, 0.04, 1}}},
	}}
	p, _ := checked(t, m, s)
	from, to := []float64{-1.2, 0.9, 0.4, 0.2, 0, 0}, []float64{1.2, 0.9, 0.4, 0.2, 0, 0}
	_, err := p.JointPath(context.Background(), from, to, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeNoPath))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision), "the cause is what was in the way")
	require.Contains(t, err.Error(), "wall")
}

func TestGoalOrStartInContact(t *testing.T) {
	m := kintest.Arm5()
	p, _ := checked(t, m, post(0.22, 0))
	in, out := []float64{0, 0.9, 0.4, 0.2, 0, 0}, []float64{0.8, 0.9, 0.4, 0.2, 0, 0}
	_, err := p.JointPath(context.Background(), out, in, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	_, err = p.JointPath(context.Background(), in, out, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	require.Contains(t, err.Error(), "post")
}

func TestGoalOutsideLimits(t *testing.T) {
	m := kintest.Arm5()
	p, _ := checked(t, m, nil)
	for _, v := range []float64{1.93, -1.93, 1e9} {
		to := append([]float64(nil), m.Home...)
		to[0] = v
		_, err := p.JointPath(context.Background(), m.Home, to, seeded(1))
		var e *robot.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, robot.CodeJointLimit, e.Code)
		require.Equal(t, "positions.pan", e.Where)
		require.Equal(t, v, e.Value.Value)
		require.Equal(t, math.Copysign(1.92, v), e.Limit.Value)
		require.Equal(t, "rad", e.Limit.Unit)
		require.Equal(t, []robot.Quantity{{Name: "pan", Value: math.Copysign(1.92, v), Unit: "rad"}}, e.Nearest)
	}
}

// TestEveryPathIsFree: random scenes and goals, also with detours: every line of
// an accepted path is accepted again by a fresh checker.
func TestEveryPathIsFree(t *testing.T) {
	m := kintest.Arm5()
	rapid.Check(t, func(t *rapid.T) {
		if thin(t) {
			return
		}
		s := post(rapid.Float64Range(0.15, 0.35).Draw(t, "x"), rapid.Float64Range(-0.2, 0.2).Draw(t, "y"))
		p, _ := checked(t, m, s)
		from, to := kintest.Q(t, m), kintest.Q(t, m)
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		p.checker = &patience{Checker: p.checker, left: 250, cancel: cancel}
		path, err := p.JointPath(ctx, from, to, seeded(1))
		if err != nil {
			return
		}
		_, fresh := checked(t, m, s)
		for i := 1; i < len(path); i++ {
			requireInside(t, m, path[i])
			_, err := fresh.CheckSegment(path[i-1], path[i])
			require.NoError(t, err)
		}
		require.Equal(t, to, path[len(path)-1])
	})
}

// patience cancels a search after so many lines, to keep a test short.
type patience struct {
	Checker
	left   int
	cancel func()
}

func (p *patience) CheckSegment(a, b []float64) (*robot.Clearance, error) {
	if p.left--; p.left < 0 {
		p.cancel()
	}
	return p.Checker.CheckSegment(a, b)
}

// broken fails to answer.
type broken struct{ after, checks int }

func (b *broken) Check([]float64) (*robot.Clearance, error) {
	b.checks++
	return nil, robot.Errf(robot.CodeNotSupported, "checker", "can't")
}

func (b *broken) CheckSegment(_, _ []float64) (*robot.Clearance, error) {
	if b.after--; b.after >= 0 {
		return nil, robot.Errf(robot.CodeSelfCollision, "a, b", "touch")
	}
	return nil, robot.Errf(robot.CodeNotSupported, "checker", "can't")
}

// TestCheckerThatCantAnswer: a failure to answer is never a path.
func TestCheckerThatCantAnswer(t *testing.T) {
	m := kintest.Arm5()
	to := []float64{0.5, -0.3, 1, 0.5, 0.2, 0.3}
	for after := range 4 {
		_, err := newPlanner(t, m, &broken{after: after}).JointPath(context.Background(), m.Home, to, seeded(1))
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeNotSupported))
	}
	d := newPlanner(t, m, free{}).tree.NewData()
	b := &broken{}
	p := newPlanner(t, m, b)
	p.tree.FK(d, m.Home)
	_, err := p.IK(context.Background(), Target{Tip: m.Tip, Position: d.Position(m.Tip)}, m.Home, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeNotSupported))
	require.Equal(t, 1, b.checks, "it isn't asked again")
}

func TestPathArgumentsAreRefused(t *testing.T) {
	m := kintest.Arm5()
	p := newPlanner(t, m, free{})
	nan := append([]float64(nil), m.Home...)
	nan[2] = math.NaN()
	for _, q := range [][]float64{nil, {1, 2}, nan} {
		_, err := p.JointPath(context.Background(), q, m.Home, seeded(1))
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
		_, err = p.JointPath(context.Background(), m.Home, q, seeded(1))
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	}
	_, err := p.JointPath(context.Background(), m.Home, m.Home, nil)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	cause := errors.New("told to")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	_, err = p.JointPath(ctx, m.Home, m.Home, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeCancelled))
	require.ErrorIs(t, err, cause)

	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	_, err = New(m, tree, nil)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	_, err = New(nil, tree, free{})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
}
