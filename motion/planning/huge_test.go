package planning

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

// TestFarPositionsAreRefused: a position that no robot reaches is refused as such by
// lines and inverse kinematics, at once, with the limit.
func TestFarPositionsAreRefused(t *testing.T) {
	m := kintest.Arm7()
	p := newPlanner(t, m, free{})
	from := m.Home
	for _, x := range []float64{1000.001, 1e4, 1e17, 1e150, 1e200, 1e300, math.MaxFloat64, math.Inf(1), math.NaN()} {
		for axis := range 3 {
			for _, sign := range []float64{1, -1} {
				var at mgl64.Vec3
				at[axis] = sign * x
				target := Target{Tip: m.Tip, Position: at}
				_, lines := p.Lines(context.Background(), from, []Target{target}, seeded(1))
				_, ik := p.IK(context.Background(), target, from, seeded(1))
				for where, err := range map[string]error{"waypoints[0].position": lines, "position": ik} {
					e := new(robot.Error)
					require.ErrorAs(t, err, &e)
					require.Equal(t, robot.CodeInvalidArgument, e.Code)
					require.Equal(t, where, e.Where)
					if finite(x) {
						name := string("xyz"[axis])
						require.Equal(t, robot.Quantity{Name: name, Value: sign * x, Unit: "m"}, *e.Value)
						require.Equal(t, robot.Quantity{Name: name, Value: sign * LargestPosition, Unit: "m"}, *e.Limit)
					}
				}
			}
		}
	}
	// The farthest that is looked at is out of reach like anything nearer.
	_, err := p.Lines(context.Background(), from, []Target{{Tip: m.Tip, Position: mgl64.Vec3{LargestPosition, -LargestPosition, LargestPosition}}}, seeded(1))
	require.ErrorIs(t, err, robot.ErrCode(robot.CodeUnreachable))
}

// countdown is a context that is cancelled by being asked so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func (c *countdown) Deadline() (time.Time, bool) { return time.Time{}, false }

// TestKnotsHeedTheContext: between any two knots of a line, not only between lines.
func TestKnotsHeedTheContext(t *testing.T) {
	m := kintest.Arm7()
	p := newPlanner(t, m, free{})
	from := m.Home
	d := p.tree.NewData()
	p.tree.FK(d, from)
	target := Target{Tip: m.Tip, Position: d.Position(m.Tip).Add(mgl64.Vec3{0, 0, -0.05})}
	asked := &countdown{Context: context.Background(), left: math.MaxInt}
	_, err := p.Lines(asked, from, []Target{target}, seeded(1))
	require.NoError(t, err)
	total := math.MaxInt - asked.left
	require.Greater(t, total, leastKnots)
	for n := range total {
		_, err := p.Lines(&countdown{Context: context.Background(), left: n}, from, []Target{target}, seeded(1))
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeCancelled), "asked %d times", n)
	}
}

// TestBeforeEndsWithoutANumber: where a checker says that there is contact at no
// number, the start is what is offered.
func TestBeforeEndsWithoutANumber(t *testing.T) {
	m := car()
	p := newPlanner(t, m, free{})
	from := make([]float64, m.DoF())
	c, err := p.arc(from, Arc{1, 1})
	require.NoError(t, err)
	d := drive{p: p, curves: []*arcCurve{c}, done: []float64{0, 1}}
	require.Zero(t, d.before(0, math.NaN()))
	require.InDelta(t, 0.5-1.0/mostIntervals, d.before(0, 0.5), 1e-12)
	line := newSpline(make([]float64, (leastKnots+1)*m.DoF()), m.DoF())
	w := way{p: p}
	w.curves = append(w.curves, line)
	q, u := w.before(0, math.NaN())
	require.Zero(t, u)
	require.Equal(t, from, q)
}

// TestCountedTooFar: a continuous joint's position is refused where rounding would
// be larger than a motion.
func TestCountedTooFar(t *testing.T) {
	m := car()
	p := newPlanner(t, m, free{})
	for _, x := range []float64{1.001e6, 1e200, -1e300} {
		from := make([]float64, m.DoF())
		from[2] = x
		e := new(robot.Error)
		_, err := p.Drive(context.Background(), from, []Arc{{1, 1}})
		require.ErrorAs(t, err, &e)
		require.Equal(t, robot.CodeInvalidArgument, e.Code)
		require.Equal(t, "start.yaw", e.Where)
		require.Equal(t, math.Copysign(1e6, x), e.Limit.Value)
	}
}

// TestArcsOfTooManyTurns: an arc that would take more pieces than are checked at once
// is refused before any is made, whatever the base's size; what is offered is driven,
// and can be timed.
func TestArcsOfTooManyTurns(t *testing.T) {
	m := car()
	for _, l := range []int{0, 1} {
		m.Limits[l].Lower, m.Limits[l].Upper = -1e5, 1e5
	}
	p := newPlanner(t, m, free{})
	from := make([]float64, m.DoF())
	for _, size := range [][2]float64{
		{0.033, 0.16}, {robot.MaxWheelRadius, robot.MinTrack}, {1e9, 0.16}, {1e9, 1e-300}, {1e300, 1e-300}, {math.MaxFloat64, math.SmallestNonzeroFloat64},
	} {
		m.Base.Radius, m.Base.Track = size[0], size[1]
		_, err := p.Drive(context.Background(), from, []Arc{{Left: 9999}})
		_, curve := p.ArcCurve(from, Arc{Left: 9999})
		require.Equal(t, curve, err)
		e := new(robot.Error)
		require.ErrorAs(t, err, &e)
		require.Equal(t, robot.CodeInvalidArgument, e.Code)
		require.Equal(t, "left", e.Where)
		require.Equal(t, robot.Quantity{Value: 9999, Unit: "rad"}, *e.Value)
		require.Less(t, e.Limit.Value, 9999.0)
		if size[0] > robot.MaxWheelRadius {
			continue // no robot
		}
		require.Len(t, e.Nearest, 2)
		curves, err := p.Drive(context.Background(), from, []Arc{{e.Nearest[0].Value, e.Nearest[1].Value}})
		require.NoError(t, err)
		require.GreaterOrEqual(t, curves[0].(*arcCurve).pieces(), mostPieces-2.0)
		if size[0] < 1 {
			_, err = trajectory.ThroughCurves(p.names, m.Limits, curves, 0.5)
			require.NoError(t, err)
		}
	}
	// Arcs share what one drive may have.
	m.Base.Radius, m.Base.Track = 0.033, 0.16
	one := Arc{Left: 1000}
	_, err := p.Drive(context.Background(), from, []Arc{one, one})
	require.NoError(t, err)
	_, err = p.Drive(context.Background(), from, []Arc{one, one, one, one})
	e := new(robot.Error)
	require.ErrorAs(t, err, &e)
	require.Equal(t, robot.CodeInvalidArgument, e.Code)
	_, err = p.Drive(context.Background(), from, []Arc{one, one, {e.Nearest[0].Value, e.Nearest[1].Value}})
	require.NoError(t, err)
	// Farther than any wheel: what is offered is refused for its turns, not its size.
	for _, far := range []float64{2e4, -1e300, math.Inf(1)} {
		_, err = p.Drive(context.Background(), from, []Arc{{Right: far}})
		require.ErrorAs(t, err, &e)
		require.Equal(t, []robot.Quantity{{Name: "right", Value: math.Copysign(largestWheelTravel, far), Unit: "rad"}}, e.Nearest)
	}
}
