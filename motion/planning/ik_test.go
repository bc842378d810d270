package planning

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/collision"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

var _ Checker = (*collision.Checker)(nil)

// free accepts everything; it is how the tests switch the checker off.
type free struct{}

func (free) Check([]float64) (*robot.Clearance, error)             { return nil, nil }
func (free) CheckSegment(_, _ []float64) (*robot.Clearance, error) { return nil, nil }

func newPlanner(t require.TestingT, m *robot.Model, c Checker) *Planner {
	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	p, err := New(m, tree, c)
	require.NoError(t, err)
	return p
}

func checked(t require.TestingT, m *robot.Model, s *robot.Scene) (*Planner, *collision.Checker) {
	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	c, err := collision.New(m, s, tree, collision.DefaultOptions())
	require.NoError(t, err)
	return newPlanner(t, m, c), c
}

func seeded(n uint64) *rand.Rand { return rand.New(rand.NewPCG(n, 2)) }

func requireInside(t require.TestingT, m *robot.Model, q []float64) {
	require.Len(t, q, m.DoF())
	for i, l := range m.Limits {
		require.False(t, math.IsNaN(q[i]))
		if l.Bounded {
			require.GreaterOrEqual(t, q[i], l.Lower, m.JointNames()[i])
			require.LessOrEqual(t, q[i], l.Upper, m.JointNames()[i])
		}
	}
}

// requireReached checks a solution with kinematics alone.
func requireReached(t require.TestingT, p *Planner, target Target, q []float64) {
	d := p.tree.NewData()
	p.tree.FK(d, q)
	require.LessOrEqual(t, d.Position(target.Tip).Sub(target.Position).Len(), PositionTolerance)
	if target.Orientation != nil {
		dot := math.Abs(d.Pose(target.Tip).Q.Dot(*target.Orientation))
		require.Greater(t, dot, 1-1e-11) // cos of half of 1e-6 rad, and rounding
	}
	if target.ToolAxis != nil {
		axis := target.Axis
		if axis == (mgl64.Vec3{}) {
			axis = mgl64.Vec3{0, 0, 1}
		}
		require.LessOrEqual(t, d.Direction(target.Tip, axis).Cross(*target.ToolAxis).Len(), 1.5*AngleTolerance)
		require.Positive(t, d.Direction(target.Tip, axis).Dot(*target.ToolAxis))
	}
}

func models(t require.TestingT) map[string]*robot.Model {
	so101, err := builtin.Load("so101")
	require.NoError(t, err)
	return map[string]*robot.Model{"so101": so101, "arm5": kintest.Arm5(), "arm7": kintest.Arm7()}
}

// TestRoundTrip: q → FK → IK reaches the pose again from a random seed, inside
// the limits, for each kind of target, and leaves the gripper alone.
func TestRoundTrip(t *testing.T) {
	for name, m := range models(t) {
		p := newPlanner(t, m, free{})
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				q, seed := kintest.Q(t, m), kintest.Q(t, m)
				d := p.tree.NewData()
				p.tree.FK(d, q)
				pose := d.Pose(m.Tip)
				target := Target{Tip: m.Tip, Position: pose.P}
				switch rapid.IntRange(0, 2).Draw(t, "kind") {
				case 1:
					target.Orientation = &pose.Q
				case 2:
					a := d.Direction(m.Tip, mgl64.Vec3{0, 0, 1})
					target.ToolAxis = &a
				}
				got, err := p.IK(context.Background(), target, seed, seeded(rapid.Uint64().Draw(t, "rng")))
				require.NoError(t, err)
				requireInside(t, m, got.Q)
				requireReached(t, p, target, got.Q)
				if m.Gripper != nil {
					require.Equal(t, seed[m.Gripper.Joint], got.Q[m.Gripper.Joint])
				}
			})
		})
	}
}

// TestRandomTrees: whatever the tree, an answer is inside the limits and reaches
// the target, or it is UNREACHABLE.
func TestRandomTrees(t *testing.T) {
	solved := 0
	rapid.Check(t, func(t *rapid.T) {
		m := kintest.Tree(t, 8)
		p := newPlanner(t, m, free{})
		q, seed := kintest.Q(t, m), kintest.Q(t, m)
		d := p.tree.NewData()
		p.tree.FK(d, q)
		target := Target{Tip: m.Tip, Position: d.Position(m.Tip)}
		got, err := p.IK(context.Background(), target, seed, seeded(1))
		if err != nil {
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeUnreachable))
			return
		}
		solved++
		requireInside(t, m, got.Q)
		requireReached(t, p, target, got.Q)
		for i := range seed {
			if p.spans[i] {
				require.LessOrEqual(t, math.Abs(got.Q[i]-seed[i]), math.Pi+1e-9, "the nearest turn")
			}
		}
	})
	require.Greater(t, solved, 60)
}

func TestSameSeedSameAnswer(t *testing.T) {
	m := kintest.Arm7()
	p := newPlanner(t, m, free{})
	target := Target{Tip: m.Tip, Position: mgl64.Vec3{0.4, 0.2, 0.5}}
	a, err := p.IK(context.Background(), target, m.Home, seeded(5))
	require.NoError(t, err)
	b, err := p.IK(context.Background(), target, m.Home, seeded(5))
	require.NoError(t, err)
	require.Equal(t, a, b)
}

// TestSeedThatIsThereStays: a seed that reaches the target is the answer.
func TestSeedThatIsThereStays(t *testing.T) {
	for name, m := range models(t) {
		p := newPlanner(t, m, free{})
		d := p.tree.NewData()
		p.tree.FK(d, m.Home)
		pose := d.Pose(m.Tip)
		got, err := p.IK(context.Background(), Target{Tip: m.Tip, Position: pose.P, Orientation: &pose.Q}, m.Home, seeded(1))
		require.NoError(t, err, name)
		for i := range m.Home {
			require.InDelta(t, m.Home[i], got.Q[i], 1e-7, name)
		}
	}
}

func TestUnreachable(t *testing.T) {
	for name, m := range models(t) {
		p := newPlanner(t, m, free{})
		for _, far := range []mgl64.Vec3{{5, 0, 0}, {0, -3, 2}, {0, 0, 9}, {1e3, 1e3, 1e3}} {
			_, err := p.IK(context.Background(), Target{Tip: m.Tip, Position: far}, m.Home, seeded(1))
			var e *robot.Error
			require.ErrorAs(t, err, &e, name)
			require.Equal(t, robot.CodeUnreachable, e.Code)
			require.Equal(t, "distance", e.Value.Name)
			require.Len(t, e.Nearest, 3)
			near := mgl64.Vec3{e.Nearest[0].Value, e.Nearest[1].Value, e.Nearest[2].Value}
			require.InDelta(t, e.Value.Value, near.Sub(far).Len(), 1e-6*(1+far.Len()))
			// What is offered can be asked for.
			got, err := p.IK(context.Background(), Target{Tip: m.Tip, Position: near}, m.Home, seeded(1))
			require.NoError(t, err, "%s towards %v", name, far)
			requireInside(t, m, got.Q)
			// No random configuration comes nearer.
			d, rng := p.tree.NewData(), seeded(9)
			q := make([]float64, m.DoF())
			for range 400 {
				for i, l := range m.Limits {
					q[i] = l.Lower + rng.Float64()*(l.Upper-l.Lower)
				}
				p.tree.FK(d, q)
				require.GreaterOrEqual(t, d.Position(m.Tip).Sub(far).Len(), e.Value.Value-1e-6-1e-9*far.Len(), name)
			}
		}
	}
}

// TestOrientationOutOfReach: a five-joint arm reaches the position, not every
// orientation; what it can do is said and can be asked for.
func TestOrientationOutOfReach(t *testing.T) {
	m := kintest.Arm5()
	p := newPlanner(t, m, free{})
	d := p.tree.NewData()
	p.tree.FK(d, m.Home)
	sideways := mgl64.QuatRotate(0.7, mgl64.Vec3{0, 0, 1}).Mul(d.Pose(m.Tip).Q)
	target := Target{Tip: m.Tip, Position: d.Position(m.Tip), Orientation: &sideways}
	_, err := p.IK(context.Background(), target, m.Home, seeded(1))
	var e *robot.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, robot.CodeUnreachable, e.Code)
	require.Equal(t, "angle", e.Value.Name)
	require.Greater(t, e.Value.Value, 0.1)
	require.Len(t, e.Nearest, 7)
	v := func(i int) float64 { return e.Nearest[i].Value }
	q := mgl64.Quat{W: v(3), V: mgl64.Vec3{v(4), v(5), v(6)}}
	require.InDelta(t, 0, target.Position.Sub(mgl64.Vec3{v(0), v(1), v(2)}).Len(), 1e-3)
	angle := 2 * math.Acos(min(1, math.Abs(q.Dot(sideways))))
	require.InDelta(t, e.Value.Value, angle, 1e-6)
	got, err := p.IK(context.Background(), Target{Tip: m.Tip, Position: mgl64.Vec3{v(0), v(1), v(2)}, Orientation: &q}, m.Home, seeded(1))
	require.NoError(t, err)
	requireInside(t, m, got.Q)
}

// TestSingularSeeds: from stretched and folded configurations, where the
// Jacobian loses rank, other poses are still found.
func TestSingularSeeds(t *testing.T) {
	arm5, arm7 := kintest.Arm5(), kintest.Arm7()
	for _, c := range []struct {
		m    *robot.Model
		seed []float64
		at   mgl64.Vec3
	}{
		{arm5, make([]float64, 6), mgl64.Vec3{0.02, 0, 0.3}}, // straight up, and straight down the singular line
		{arm5, make([]float64, 6), mgl64.Vec3{0.2, 0.1, 0.1}},
		{arm7, []float64{0, 0, 0, -0.0698, 0, 0, 0}, mgl64.Vec3{0.3, 0, 0.6}},
		{arm7, []float64{0, 0, 0, -1.5, 0, 0, 0}, mgl64.Vec3{0, -0.4, 0.4}},
	} {
		p := newPlanner(t, c.m, free{})
		target := Target{Tip: c.m.Tip, Position: c.at}
		got, err := p.IK(context.Background(), target, c.seed, seeded(3))
		require.NoError(t, err)
		requireInside(t, c.m, got.Q)
		requireReached(t, p, target, got.Q)
	}
}

func TestTargetsAreRefused(t *testing.T) {
	m := kintest.Arm5()
	p := newPlanner(t, m, free{})
	nan, inf := math.NaN(), math.Inf(1)
	unit, q := mgl64.Vec3{0, 0, -1}, mgl64.QuatIdent()
	at := mgl64.Vec3{0.2, 0, 0.2}
	ok := Target{Tip: m.Tip, Position: at}
	for name, target := range map[string]Target{
		"nan":         {Tip: m.Tip, Position: mgl64.Vec3{nan, 0, 0}},
		"inf":         {Tip: m.Tip, Position: mgl64.Vec3{0, inf, 0}},
		"no link":     {Tip: len(m.Links), Position: at},
		"minus":       {Tip: -1, Position: at},
		"zero quat":   {Tip: m.Tip, Position: at, Orientation: &mgl64.Quat{}},
		"nan quat":    {Tip: m.Tip, Position: at, Orientation: &mgl64.Quat{W: nan}},
		"long axis":   {Tip: m.Tip, Position: at, ToolAxis: &mgl64.Vec3{0, 0, 2}},
		"nan axis":    {Tip: m.Tip, Position: at, ToolAxis: &mgl64.Vec3{nan, 0, 1}},
		"of what":     {Tip: m.Tip, Position: at, ToolAxis: &unit, Axis: mgl64.Vec3{5, 0, 0}},
		"both":        {Tip: m.Tip, Position: at, ToolAxis: &unit, Orientation: &q},
		"zero target": {Tip: m.Tip, Position: mgl64.Vec3{nan, nan, nan}},
	} {
		_, err := p.IK(context.Background(), target, m.Home, seeded(1))
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), name)
	}
	for _, seed := range [][]float64{nil, {1}, {nan, 0, 0, 0, 0, 0}} {
		_, err := p.IK(context.Background(), ok, seed, seeded(1))
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	}
	_, err := p.IK(context.Background(), ok, m.Home, nil)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	cause := errors.New("told to")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	_, err = p.IK(ctx, ok, m.Home, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeCancelled))
	require.ErrorIs(t, err, cause)
}

// TestOnlyFreeSolutions: a position inside the base is reached by no free
// configuration, and the error says what is in the way.
func TestOnlyFreeSolutions(t *testing.T) {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	p, c := checked(t, m, nil)
	_, err = p.IK(context.Background(), Target{Tip: m.Tip, Position: mgl64.Vec3{0, 0, 0.04}}, m.Home, seeded(1))
	require.Contains(t, []robot.Code{robot.CodeSelfCollision, robot.CodeUnreachable}, robot.CodeOf(err))
	rng := seeded(4)
	found := 0
	for range 60 {
		at := mgl64.Vec3{0.1 + 0.25*rng.Float64(), 0.4 * (rng.Float64() - 0.5), 0.3 * rng.Float64()}
		got, err := p.IK(context.Background(), Target{Tip: m.Tip, Position: at}, m.Home, rng)
		if err != nil {
			continue
		}
		found++
		_, err = c.Check(got.Q)
		require.NoError(t, err)
		requireInside(t, m, got.Q)
	}
	require.Greater(t, found, 30)
}
