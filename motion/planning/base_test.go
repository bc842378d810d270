package planning

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

// car is a small differential drive, 0.2 m long, with a pole on it that turns.
func car() *robot.Model {
	b := kintest.NewBuilder("car", "odom")
	x, y, z := mgl64.Vec3{1, 0, 0}, mgl64.Vec3{0, 1, 0}, mgl64.Vec3{0, 0, 1}
	l := b.Joint("x", robot.Prismatic, 0, robot.IdentityPose(), x, -3, 3)
	l = b.Joint("y", robot.Prismatic, l, robot.IdentityPose(), y, -3, 3)
	base := b.Joint("yaw", robot.Continuous, l, robot.IdentityPose(), z, 0, 0)
	b.Body(base, kintest.At(0, 0, 0.05, 0, 0, 0), robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.2, 0.1, 0.05}})
	b.Joint("left", robot.Continuous, base, kintest.At(0, 0.1, 0.04, 0, 0, 0), y, 0, 0)
	b.Joint("right", robot.Continuous, base, kintest.At(0, -0.1, 0.04, 0, 0, 0), y, 0, 0)
	pole := b.Joint("pole", robot.Revolute, base, kintest.At(0, 0, 0.1, 0, 0, 0), z, -1, 1)
	m := b.Model(pole)
	m.Base = &robot.Base{X: 0, Y: 1, Yaw: 2, Left: 3, Right: 4, Radius: 0.04, Track: 0.2}
	m.Arm = []int{5}
	return m
}

// integrated follows robot.Base's equations in small steps along a curve's wheels.
func integrated(b *robot.Base, c trajectory.Curve, from []float64) []float64 {
	n := len(from)
	q, r, out := make([]float64, n), make([]float64, 3*n), append([]float64(nil), from...)
	left, right := from[b.Left], from[b.Right]
	const steps = 20000
	for k := 1; k <= steps; k++ {
		c.At(float64(k)/steps, q, r[:n], r[n:2*n], r[2*n:])
		dl, dr := q[b.Left]-left, q[b.Right]-right
		left, right = q[b.Left], q[b.Right]
		ds, dyaw := b.Radius*(dl+dr)/2, b.Radius*(dr-dl)/b.Track
		mid := out[b.Yaw] + dyaw/2
		out[b.X] += ds * math.Cos(mid)
		out[b.Y] += ds * math.Sin(mid)
		out[b.Yaw] += dyaw
	}
	out[b.Left], out[b.Right] = left, right
	return out
}

// TestArcsObeyTheBase: an arc ends where the base's equations lead, its derivatives
// are those of its positions, and at every instant of the timed motion the base
// moves along its own x axis.
func TestArcsObeyTheBase(t *testing.T) {
	m := car()
	p := newPlanner(t, m, free{})
	b := m.Base
	rapid.Check(t, func(t *rapid.T) {
		if thin(t) {
			return
		}
		travel := rapid.Float64Range(-25, 25)
		a := Arc{travel.Draw(t, "left"), travel.Draw(t, "right")}
		if rapid.Bool().Draw(t, "nearly straight") {
			a.Right = a.Left + rapid.Float64Range(-1e-5, 1e-5).Draw(t, "by")
		}
		from := []float64{0.3, -0.2, rapid.Float64Range(-7, 7).Draw(t, "yaw"), 5, -4, 0.2}
		curves, err := p.Drive(context.Background(), from, []Arc{a})
		require.NoError(t, err)
		c := curves[0]
		n := len(from)
		q, d1, d2, d3 := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		c.At(0, q, d1, d2, d3)
		require.InDeltaSlice(t, from, q, 1e-15)
		c.At(1, q, d1, d2, d3)
		require.InDeltaSlice(t, integrated(b, c, from), q, 1e-6)
		require.Equal(t, from[5], q[5])

		s := rapid.Float64Range(0.01, 0.99).Draw(t, "s")
		const h = 1e-5
		lo, hi, r := make([][]float64, 4), make([][]float64, 4), make([][]float64, 4)
		for k := range 4 {
			lo[k], hi[k], r[k] = make([]float64, n), make([]float64, n), make([]float64, n)
		}
		c.At(s, r[0], r[1], r[2], r[3])
		c.At(s-h, lo[0], lo[1], lo[2], lo[3])
		c.At(s+h, hi[0], hi[1], hi[2], hi[3])
		for k := 1; k < 4; k++ {
			for i := range n {
				require.InDelta(t, (hi[k-1][i]-lo[k-1][i])/(2*h), r[k][i], 1e-6*(1+math.Abs(r[k][i])*10), "derivative %d of joint %d", k, i)
			}
		}
		tr, err := trajectory.ThroughCurves(p.names, m.Limits, curves, 0.7)
		require.NoError(t, err)
		v := make([]float64, n)
		for k := range 200 {
			tr.Sample(tr.Duration()*float64(k)/200, q, v, nil)
			forward := b.Radius * (v[b.Left] + v[b.Right]) / 2
			sin, cos := math.Sincos(q[b.Yaw])
			require.InDelta(t, forward*cos, v[b.X], 2e-4)
			require.InDelta(t, forward*sin, v[b.Y], 2e-4)
			require.InDelta(t, b.Radius*(v[b.Right]-v[b.Left])/b.Track, v[b.Yaw], 1e-6)
		}
	})
}

// TestBaseToGetsThere: turn, straight, turn ends at the pose, turning no more than a
// turn and a half in all, and backwards only to a yaw that was asked for.
func TestBaseToGetsThere(t *testing.T) {
	m := car()
	p := newPlanner(t, m, free{})
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.Float64Range(-2, 2)
		from := []float64{place.Draw(t, "x0"), place.Draw(t, "y0"), rapid.Float64Range(-9, 9).Draw(t, "yaw0"), 1, 2, 0}
		x, y := place.Draw(t, "x"), place.Draw(t, "y")
		var yaw *float64
		if rapid.Bool().Draw(t, "with yaw") {
			v := rapid.Float64Range(-9, 9).Draw(t, "yaw")
			yaw = &v
		}
		arcs, err := p.BaseTo(from, x, y, yaw)
		require.NoError(t, err)
		require.LessOrEqual(t, len(arcs), 3)
		curves, err := p.Drive(context.Background(), from, arcs)
		require.NoError(t, err)
		end := curves[len(curves)-1].(*arcCurve).end()
		require.InDelta(t, x, end[0], 1e-8)
		require.InDelta(t, y, end[1], 1e-8)
		if yaw != nil {
			require.InDelta(t, 0, math.Remainder(end[2]-*yaw, 2*math.Pi), 1e-9)
		}
		var turned float64
		for _, a := range arcs {
			require.True(t, a.Left == a.Right || math.Abs(a.Left+a.Right) < 1e-12, "neither straight nor on the spot")
			turned += math.Abs(a.Right-a.Left) * m.Base.Radius / m.Base.Track
			if a.Left == a.Right && yaw == nil {
				require.GreaterOrEqual(t, a.Left, 0.0)
			}
		}
		require.LessOrEqual(t, turned, 1.5*math.Pi+1e-9)
	})
}

func TestBaseToBackwards(t *testing.T) {
	m := car()
	p := newPlanner(t, m, free{})
	zero, from := 0.0, make([]float64, 6)
	arcs, err := p.BaseTo(from, -0.4, 0, &zero)
	require.NoError(t, err)
	require.Len(t, arcs, 1)
	require.InDelta(t, -10, arcs[0].Left, 1e-9)
	arcs, err = p.BaseTo(from, -0.4, 0, nil)
	require.NoError(t, err)
	require.Len(t, arcs, 2, "without a yaw it looks where it goes")
	arcs, err = p.BaseTo(from, 0, 0, &zero)
	require.NoError(t, err)
	require.Equal(t, []Arc{{}}, arcs)
	curves, err := p.Drive(context.Background(), from, arcs)
	require.NoError(t, err)
	tr, err := trajectory.ThroughCurves(p.names, m.Limits, curves, 1)
	require.NoError(t, err)
	require.Equal(t, from, tr.End())
}

func TestDriveAtSpeed(t *testing.T) {
	m := car()
	p := newPlanner(t, m, free{})
	m.Limits[3].Velocity, m.Limits[4].Velocity = 20, 20
	m.Limits[3].Acceleration, m.Limits[4].Acceleration = 40, 40
	m.Limits[3].Jerk, m.Limits[4].Jerk = 400, 400
	from := make([]float64, 6)
	at := func(c float64) trajectory.Curve {
		curve, err := p.ArcCurve(from, ArcFor(m.Base, 0.3, 0.5, c))
		require.NoError(t, err)
		return curve
	}
	tr, c, err := trajectory.CurveAtSpeed(p.names, m.Limits, at, 4, 1)
	require.NoError(t, err)
	require.InDelta(t, 4, tr.Duration(), 1e-9)
	v, q := make([]float64, 6), make([]float64, 6)
	tr.Sample(2, q, v, nil)
	require.InDelta(t, 0.3, math.Hypot(v[0], v[1]), 1e-5)
	require.InDelta(t, 0.5, v[2], 1e-9)
	// The same arc is what Drive checks.
	curves, err := p.Drive(context.Background(), from, []Arc{ArcFor(m.Base, 0.3, 0.5, c)})
	require.NoError(t, err)
	require.InDeltaSlice(t, curves[0].(*arcCurve).end(), tr.End(), 1e-8)
}

// TestDriveIsChecked: a post stands on the arc and not on its chord; the pair is
// named, and what is offered instead is free and can be driven.
func TestDriveIsChecked(t *testing.T) {
	m := car()
	// A circle of 1 m through the origin, to the left; the post is a quarter on.
	scene := &robot.Scene{Bodies: []robot.Body{{Name: "post", Pose: kintest.At(1, 1, 0.1, 0, 0, 0),
		Geometry: robot.Geometry{Kind: robot.Cylinder, Radius: 0.02, Length: 0.4}}}}
	p, c := checked(t, m, scene)
	for name, p := range map[string]*Planner{"followed": p, "by lines": newPlanner(t, m, onlyLines{c})} {
		arc := ArcFor(m.Base, math.Pi, math.Pi, 1)
		from := make([]float64, 6)
		_, err := p.Drive(context.Background(), from, []Arc{arc})
		e := new(robot.Error)
		require.ErrorAs(t, err, &e, name)
		require.Equal(t, robot.CodeSceneCollision, e.Code)
		require.Contains(t, e.Where, "post")
		require.ErrorIs(t, e.Err, robot.ErrCode(robot.CodeSceneCollision), "the cause is the checker's")
		require.Equal(t, "fraction", e.Value.Name)
		// It stops a tenth of a metre and a bit before the post, of 3.14 m.
		require.InDelta(t, 0.5-0.12/math.Pi, e.Value.Value, 0.01, name)
		require.Equal(t, "x", e.Nearest[0].Name)
		part := Arc{arc.Left * e.Value.Value, arc.Right * e.Value.Value}
		curves, err := p.Drive(context.Background(), from, []Arc{part})
		require.NoError(t, err, name)
		end := curves[0].(*arcCurve).end()
		for k := range 3 {
			require.InDelta(t, e.Nearest[k].Value, end[k], 1e-9)
		}
		// Another way round is free.
		_, err = p.Drive(context.Background(), from, []Arc{{-arc.Left, -arc.Right}})
		require.NoError(t, err)
	}
}

// onlyLines is a checker that can't follow a trajectory.
type onlyLines struct{ Checker }

func TestDriveRefuses(t *testing.T) {
	m := car()
	p := newPlanner(t, m, free{})
	from := make([]float64, 6)
	ok := []Arc{{1, 1}}
	for name, arcs := range map[string][]Arc{
		"none": nil, "nan": {{math.NaN(), 1}}, "far": {{1, 1e9}}, "infinite": {{math.Inf(-1), 1}}, "too many": make([]Arc, MaxArcs+1),
	} {
		_, err := p.Drive(context.Background(), from, arcs)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), name)
	}
	_, err := p.Drive(context.Background(), from[:2], ok)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	_, err = p.BaseTo(from, math.NaN(), 0, nil)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	cause := errors.New("told to")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	_, err = p.Drive(ctx, from, ok)
	require.ErrorIs(t, err, cause)

	// 2.9 m forward and 2.9 m backward are inside, 3.2 m isn't: at 3 of 3.2 m.
	_, err = p.Drive(context.Background(), from, []Arc{{72.5, 72.5}, {-72.5, -72.5}})
	require.NoError(t, err)
	_, err = p.Drive(context.Background(), from, []Arc{{80, 80}})
	e := new(robot.Error)
	require.ErrorAs(t, err, &e)
	require.Equal(t, robot.CodeJointLimit, e.Code)
	require.Equal(t, "x", e.Where)
	require.Equal(t, robot.Quantity{Name: "x", Value: 3, Unit: "m"}, *e.Limit)
	require.LessOrEqual(t, e.Value.Value, 3/3.2)
	_, err = p.BaseTo(from, 3.5, 0, nil)
	require.ErrorAs(t, err, &e)
	require.Equal(t, robot.CodeJointLimit, e.Code)
	require.Equal(t, "position.x", e.Where)
	require.Equal(t, []robot.Quantity{{Name: "x", Value: 3, Unit: "m"}}, e.Nearest)

	arm := newPlanner(t, kintest.Arm5(), free{})
	_, err = arm.Drive(context.Background(), from, ok)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeNotSupported))
	_, err = arm.BaseTo(from, 0, 0, nil)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeNotSupported))
	_, err = arm.ArcCurve(from, Arc{})
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeNotSupported))
}

// TestOnlyArcsMoveABase: no straight line in joint space moves a base or its wheels,
// and no detour for another joint does.
func TestOnlyArcsMoveABase(t *testing.T) {
	m := car()
	p, _ := checked(t, m, nil)
	from := make([]float64, 6)
	for i := range 5 {
		to := append([]float64(nil), from...)
		to[i] = 0.5
		_, err := p.JointPath(context.Background(), from, to, seeded(1))
		e := new(robot.Error)
		require.ErrorAs(t, err, &e)
		require.Equal(t, robot.CodeInvalidArgument, e.Code)
		require.Equal(t, "positions."+m.JointNames()[i], e.Where)
	}
	path, err := p.JointPath(context.Background(), from, []float64{0, 0, 0, 0, 0, 0.5}, seeded(1))
	require.NoError(t, err)
	require.Len(t, path, 2)
	_, err = p.Lines(context.Background(), from, []Target{{Tip: m.Joints[2].Child, Position: mgl64.Vec3{0.1, 0, 0}}}, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeNotSupported))
}
