package planning

import (
	"context"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

// TestNearestIsFree: a plate stands where the arm's reach ends; what is offered
// instead of a point beyond it is in front of the plate or beside it, and can be
// asked for.
func TestNearestIsFree(t *testing.T) {
	m := kintest.Arm5()
	plate := &robot.Scene{Bodies: []robot.Body{{Name: "plate", Pose: kintest.At(0.40, 0, 0.2, 0, 0, 0),
		Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.06, 0.3, 0.6}}}}}
	p, c := checked(t, m, plate)
	blind := newPlanner(t, m, free{})
	told := 0
	for _, at := range []mgl64.Vec3{{2, 0, 0.2}, {1, 0.05, 0.3}, {1.5, -0.1, 0.1}, {0, 2, 0.2}, {0, 0, 3}} {
		for kind := range 3 {
			target := Target{Tip: m.Tip, Position: at}
			switch kind {
			case 1:
				target.ToolAxis = &mgl64.Vec3{1, 0, 0}
			case 2:
				target.Orientation = &mgl64.Quat{W: 1}
			}
			_, err := p.IK(context.Background(), target, m.Home, seeded(1))
			e := new(robot.Error)
			require.ErrorAs(t, err, &e)
			require.Equal(t, robot.CodeUnreachable, e.Code)
			require.Len(t, e.Nearest, 3)
			near := point(e.Nearest)
			require.InDelta(t, e.Value.Value, near.Sub(at).Len(), 1e-6)
			got, err := p.IK(context.Background(), Target{Tip: m.Tip, Position: near}, m.Home, seeded(2))
			require.NoError(t, err, "what is offered is refused")
			_, err = c.Check(got.Q)
			require.NoError(t, err)

			_, err = blind.IK(context.Background(), target, m.Home, seeded(1))
			open := new(robot.Error)
			require.ErrorAs(t, err, &open)
			require.LessOrEqual(t, open.Value.Value, e.Value.Value+1e-6)
			if e.Value.Value > open.Value.Value+1e-3 {
				told++
				require.Contains(t, e.Text, "the nearest pose is in contact")
			}
		}
	}
	require.GreaterOrEqual(t, told, 3)
}

// inContact accepts nothing.
type inContact struct{}

func (inContact) Check([]float64) (*robot.Clearance, error) {
	return nil, robot.Errf(robot.CodeSelfCollision, "hand, base", "hand touches base")
}

func (inContact) CheckSegment(_, _ []float64) (*robot.Clearance, error) {
	return inContact{}.Check(nil)
}

// TestNothingNearIsFree: what isn't free isn't offered, and the pair is named.
func TestNothingNearIsFree(t *testing.T) {
	m := kintest.Arm5()
	p := newPlanner(t, m, inContact{})
	start := tipAt(p, m.Home)
	sideways := mgl64.QuatRotate(0.7, mgl64.Vec3{0, 0, 1}).Mul(start.Q)
	for _, target := range []Target{
		{Tip: m.Tip, Position: mgl64.Vec3{2, 0, 0.2}}, {Tip: m.Tip, Position: start.P, Orientation: &sideways},
	} {
		_, err := p.IK(context.Background(), target, m.Home, seeded(1))
		e := new(robot.Error)
		require.ErrorAs(t, err, &e)
		require.Equal(t, robot.CodeUnreachable, e.Code)
		require.Empty(t, e.Nearest)
		require.Contains(t, e.Text, "hand touches base")
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeSelfCollision))
		require.Positive(t, e.Value.Value)
	}
}

// TestContactOffersWhatIsFree: a point 10 mm inside a table, and a configuration in
// it: what is offered is free and near.
func TestContactOffersWhatIsFree(t *testing.T) {
	m := kintest.Arm5()
	table := &robot.Scene{Bodies: []robot.Body{{Name: "table", Pose: kintest.At(0.3, 0, -0.02, 0, 0, 0),
		Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.4, 0.6, 0.04}}}}}
	p, c := checked(t, m, table)
	at := mgl64.Vec3{0.2, 0.05, -0.01}
	_, err := p.IK(context.Background(), Target{Tip: m.Tip, Position: at}, m.Home, seeded(1))
	e := new(robot.Error)
	require.ErrorAs(t, err, &e)
	require.Equal(t, robot.CodeSceneCollision, e.Code)
	require.Contains(t, e.Where, "table")
	require.Len(t, e.Nearest, 3)
	near := point(e.Nearest)
	require.Less(t, near.Sub(at).Len(), 0.05)
	got, err := p.IK(context.Background(), Target{Tip: m.Tip, Position: near}, m.Home, seeded(2))
	require.NoError(t, err)

	// The same as a goal in joint space: the arm lowered until it touches.
	from, to := got.Q, append([]float64(nil), got.Q...)
	to[1] += 0.4
	_, err = c.Check(to)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
	_, err = p.JointPath(context.Background(), from, to, seeded(1))
	require.ErrorAs(t, err, &e)
	require.Equal(t, robot.CodeSceneCollision, e.Code)
	require.Len(t, e.Nearest, 1)
	require.Equal(t, "lift", e.Nearest[0].Name)
	to[1] = e.Nearest[0].Value
	_, err = p.JointPath(context.Background(), from, to, seeded(1))
	require.NoError(t, err)

	// Where nothing is free, nothing is offered.
	_, err = newPlanner(t, m, inContact{}).IK(context.Background(), Target{Tip: m.Tip, Position: mgl64.Vec3{0.2, 0.05, 0.1}}, m.Home, seeded(1))
	require.ErrorAs(t, err, &e)
	require.Equal(t, robot.CodeSelfCollision, e.Code)
	require.Empty(t, e.Nearest)
}
