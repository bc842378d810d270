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
	"github.com/tau-robot/tau/robot/builtin"
)

// thin reports whether to leave a case of a long test out: three of four under the
// race detector.
func thin(t *rapid.T) bool { return raceEnabled && rapid.IntRange(0, 3).Draw(t, "thin") > 0 }

// builtins returns every built-in robot.
func builtins(t require.TestingT) map[string]*robot.Model {
	out := map[string]*robot.Model{}
	for _, name := range builtin.Names() {
		m, err := builtin.Load(name)
		require.NoError(t, err)
		out[name] = m
	}
	return out
}

// straight is what a curve of Lines is held to, by kinematics alone.
type straight struct {
	p        *Planner
	tip      int
	from, to robot.Pose
	turns    bool // the orientation is held to
}

// at checks the tip at q against the line, u of the way along it, and returns how
// far along it is. With a negative u it is where it is nearest to the line, which of
// a short line is known less well.
func (s straight) at(t require.TestingT, q []float64, u float64) float64 {
	d := s.p.tree.NewData()
	s.p.tree.FK(d, q)
	pose := d.Pose(s.tip)
	way := s.to.P.Sub(s.from.P)
	along, most := u, 1e-3
	if n := way.Len(); n > 0 {
		along = pose.P.Sub(s.from.P).Dot(way) / (n * n)
		if off := pose.P.Sub(s.from.P.Add(way.Mul(along))).Len(); !(off <= 1e-4) {
			require.Fail(t, "off the line", "%g at %g", off, u)
		}
		if u < 0 {
			most += turnBetween(s.from.Q, s.to.Q) * 1e-4 / n
			u = along
		}
	}
	if s.turns && u >= 0 {
		want := mgl64.QuatSlerp(s.from.Q, s.to.Q, u)
		if s.from.Q.Dot(s.to.Q) < 0 {
			want = mgl64.QuatSlerp(s.from.Q, s.to.Q.Scale(-1), u)
		}
		if off := turnBetween(want, pose.Q); !(off <= most) {
			require.Fail(t, "turned", "%g at %g", off, u)
		}
	}
	return along
}

func turnBetween(a, b mgl64.Quat) float64 {
	d := a.Inverse().Mul(b)
	return 2 * math.Atan2(d.V.Len(), math.Abs(d.W))
}

// requireStraight samples a curve densely, holds it against the line and the limits,
// and times it.
func requireStraight(t require.TestingT, s straight, c trajectory.Curve, from []float64) []float64 {
	n := len(from)
	q, was, d := make([]float64, n), make([]float64, n), make([]float64, 3*n)
	const samples = 400
	for k := range samples + 1 {
		u := float64(k) / samples
		c.At(u, q, d[:n], d[n:2*n], d[2*n:])
		s.at(t, q, u)
		for i, l := range s.p.m.Limits {
			if x := q[i]; l.Bounded && (x < l.Lower-robot.PositionTolerance || x > l.Upper+robot.PositionTolerance) {
				require.Fail(t, "outside", "joint %d at %g: %g", i, u, x)
			}
			if k > 0 && !(math.Abs(q[i]-was[i]) <= 0.1) {
				require.Fail(t, "step", "joint %d at %g: %g", i, u, q[i]-was[i])
			}
		}
		if k == 0 {
			require.Equal(t, from, q)
		}
		copy(was, q)
	}
	end := append([]float64(nil), q...)
	tr, err := trajectory.ThroughCurves(s.p.names, s.p.m.Limits, []trajectory.Curve{c}, 0.5)
	require.NoError(t, err)
	require.InDeltaSlice(t, end, tr.End(), 1e-8)
	last := -1.0
	for k := range 301 {
		tr.Sample(tr.Duration()*float64(k)/300, q, nil, nil)
		along := s.at(t, q, -1)
		// By no more than the line's tolerance, of which a short line is full.
		if back := (last - along) * s.to.P.Sub(s.from.P).Len(); back > 5e-5 {
			require.Fail(t, "it turns back", "from %g to %g", last, along)
		}
		last = max(last, along)
	}
	return end
}

// TestLinesProperties: on each built-in robot, lines from a random configuration to
// a pose nearby, with orientation or without, are straight or refused for a reason.
func TestLinesProperties(t *testing.T) {
	for name, m := range builtins(t) {
		p, c := checked(t, m, nil)
		done := 0
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				if thin(t) {
					return
				}
				from := kintest.Q(t, m)
				if _, err := c.Check(from); err != nil {
					return
				}
				near := append([]float64(nil), from...)
				for _, i := range m.Arm {
					near[i] = p.clamp(i, near[i]+rapid.Float64Range(-0.3, 0.3).Draw(t, "near"))
				}
				d := p.tree.NewData()
				p.tree.FK(d, from)
				start := d.Pose(m.Tip)
				p.tree.FK(d, near)
				end := d.Pose(m.Tip)
				target := Target{Tip: m.Tip, Position: end.P}
				s := straight{p: p, tip: m.Tip, from: start, to: end}
				if full := len(p.newSolver(m.Tip).joints) >= fullJoints; rapid.Bool().Draw(t, "turn") {
					target.Orientation, s.turns = &end.Q, true
				} else if full {
					s.turns, s.to.Q = true, start.Q
				}
				curves, err := p.Lines(context.Background(), from, []Target{target}, seeded(1))
				if err != nil {
					requireRefusal(t, m, err)
					return
				}
				require.Len(t, curves, 1)
				done++
				requireStraight(t, s, curves[0], from)
			})
			t.Logf("%d lines done", done)
			if len(m.Arm) >= 5 && m.Base == nil && !raceEnabled {
				require.Greater(t, done, 3)
			}
		})
	}
}

// requireRefusal checks that a refused path says what the caller is promised.
func requireRefusal(t require.TestingT, m *robot.Model, err error) *robot.Error {
	e := new(robot.Error)
	require.ErrorAs(t, err, &e)
	if e.Code == robot.CodeNotSupported {
		require.NotNil(t, m.Base)
		return e
	}
	require.NotNil(t, e.Value, "%v", err)
	require.Equal(t, "fraction", e.Value.Name)
	require.GreaterOrEqual(t, e.Value.Value, 0.0)
	require.Less(t, e.Value.Value, 1.0)
	require.Len(t, e.Nearest, 7)
	switch e.Code {
	case robot.CodeUnreachable:
		require.Equal(t, m.Links[m.Tip].Name, e.Where)
	case robot.CodeJointLimit, robot.CodeSingular:
		require.GreaterOrEqual(t, m.ActiveIndex(e.Where), 0, "%v", err)
	default:
		require.True(t, isContact(err), "%v", err)
		require.Contains(t, e.Where, ", ")
	}
	return e
}

func tipAt(p *Planner, q []float64) robot.Pose {
	d := p.tree.NewData()
	p.tree.FK(d, q)
	return d.Pose(p.m.Tip)
}

// TestLinesThroughWaypoints: a square in space, with a turn of the hand on one side,
// comes back to where it started in as many curves, on the arm's branch.
func TestLinesThroughWaypoints(t *testing.T) {
	m := kintest.Arm7()
	p := newPlanner(t, m, free{})
	start := tipAt(p, m.Home)
	turned := start.Q.Mul(mgl64.QuatRotate(0.6, mgl64.Vec3{0, 0, 1}))
	var way []Target
	for k, by := range []mgl64.Vec3{{0.1, 0, 0}, {0.1, 0.1, -0.1}, {0, 0.1, 0}, {}} {
		w := Target{Tip: m.Tip, Position: start.P.Add(by)}
		switch k {
		case 1:
			w.Orientation = &turned
		case 3:
			w.Orientation = &start.Q
		}
		way = append(way, w)
	}
	curves, err := p.Lines(context.Background(), m.Home, way, seeded(1))
	require.NoError(t, err)
	require.Len(t, curves, 4)
	q, from := m.Home, start
	for k, c := range curves {
		to := robot.Pose{P: way[k].Position, Q: from.Q}
		if way[k].Orientation != nil {
			to.Q = *way[k].Orientation
		}
		q = requireStraight(t, straight{p: p, tip: m.Tip, from: from, to: to, turns: true}, c, q)
		from = to
	}
	require.InDelta(t, 0, tipAt(p, q).P.Sub(start.P).Len(), 1e-6)
	for i := range q {
		require.InDelta(t, m.Home[i], q[i], 0.3, "it stays on its branch")
	}
	again, err := p.Lines(context.Background(), m.Home, way, seeded(2))
	require.NoError(t, err)
	require.Equal(t, curves, again, "nothing of a path is random")
	all, err := trajectory.ThroughCurves(p.names, m.Limits, curves, 0.5)
	require.NoError(t, err)
	require.NoError(t, all.Validate(m.Limits))
}

// TestLinesWithAToolAxis: a five-joint arm swings its tool axis evenly on the way.
func TestLinesWithAToolAxis(t *testing.T) {
	m := kintest.Arm5()
	p := newPlanner(t, m, free{})
	d := p.tree.NewData()
	p.tree.FK(d, m.Home)
	start, z := d.Pose(m.Tip), mgl64.Vec3{0, 0, 1}
	away := d.Direction(m.Tip, z)
	// In the arm's plane it can tilt its tool.
	towards := mgl64.QuatRotate(0.4, mgl64.Vec3{0, 1, 0}).Rotate(away)
	target := Target{Tip: m.Tip, Position: start.P.Add(mgl64.Vec3{0.03, 0, -0.04}), ToolAxis: &towards}
	curves, err := p.Lines(context.Background(), m.Home, []Target{target}, seeded(1))
	require.NoError(t, err)
	requireStraight(t, straight{p: p, tip: m.Tip, from: start, to: robot.Pose{P: target.Position, Q: start.Q}}, curves[0], m.Home)
	q, r := make([]float64, 6), make([]float64, 18)
	for k := range 101 {
		u := float64(k) / 100
		curves[0].At(u, q, r[:6], r[6:12], r[12:])
		p.tree.FK(d, q)
		want := mgl64.QuatRotate(0.4*u, mgl64.Vec3{0, 1, 0}).Rotate(away)
		require.LessOrEqual(t, d.Direction(m.Tip, z).Cross(want).Len(), 1e-3)
	}
}

// TestLinesKeepWhatTheArmCan: without an orientation a five-joint arm turns its tip
// no more than it has to: forward not at all, sideways with the base.
func TestLinesKeepWhatTheArmCan(t *testing.T) {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	p, _ := checked(t, m, nil)
	start := tipAt(p, m.Home)
	for _, c := range []struct {
		by   mgl64.Vec3
		most float64
	}{{mgl64.Vec3{0.05, 0, -0.02}, 0.05}, {mgl64.Vec3{0, 0.1, 0}, 0.45}} {
		curves, err := p.Lines(context.Background(), m.Home, []Target{{Tip: m.Tip, Position: start.P.Add(c.by)}}, seeded(1))
		require.NoError(t, err)
		end := requireStraight(t, straight{p: p, tip: m.Tip, from: start, to: robot.Pose{P: start.P.Add(c.by)}}, curves[0], m.Home)
		require.LessOrEqual(t, turnBetween(start.Q, tipAt(p, end).Q), c.most)
	}
}

func TestLinesArgumentsAreRefused(t *testing.T) {
	m := kintest.Arm7()
	p := newPlanner(t, m, free{})
	start := tipAt(p, m.Home)
	ok := Target{Tip: m.Tip, Position: start.P}
	half := start.Q.Mul(mgl64.QuatRotate(math.Pi, mgl64.Vec3{0, 0, 1}))
	many := make([]Target, MaxWaypoints+1)
	for i := range many {
		many[i] = ok
	}
	for name, way := range map[string][]Target{
		"none": nil, "too many": many,
		"nan":       {ok, {Tip: m.Tip, Position: mgl64.Vec3{math.NaN(), 0, 0}}},
		"link":      {{Tip: 99, Position: start.P}},
		"half turn": {{Tip: m.Tip, Position: start.P, Orientation: &half}},
	} {
		_, err := p.Lines(context.Background(), m.Home, way, seeded(1))
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), name)
	}
	_, err := p.Lines(context.Background(), m.Home, []Target{ok, {Tip: m.Tip, Position: mgl64.Vec3{math.Inf(1), 0, 0}}}, seeded(1))
	e := new(robot.Error)
	require.ErrorAs(t, err, &e)
	require.Equal(t, "waypoints[1].position", e.Where)
	_, err = p.Lines(context.Background(), m.Home, []Target{ok}, nil)
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	_, err = p.Lines(context.Background(), m.Home[:3], []Target{ok}, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	outside := append([]float64(nil), m.Home...)
	outside[3] = 0
	_, err = p.Lines(context.Background(), outside, []Target{ok}, seeded(1))
	require.ErrorAs(t, err, &e)
	require.Equal(t, robot.CodeJointLimit, e.Code)
	require.Equal(t, "start.j4", e.Where)
	cause := errors.New("told to")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	_, err = p.Lines(ctx, m.Home, []Target{{Tip: m.Tip, Position: start.P.Add(mgl64.Vec3{0.1, 0, 0})}}, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeCancelled))
	require.ErrorIs(t, err, cause)
	// Being there already is no error, and no motion.
	curves, err := p.Lines(context.Background(), m.Home, []Target{ok, ok}, seeded(1))
	require.NoError(t, err)
	tr, err := trajectory.ThroughCurves(p.names, m.Limits, curves, 0.5)
	require.NoError(t, err)
	require.Equal(t, robot.Hold(p.names, m.Home).Segments[0].V, tr.Segments[0].V)
}
