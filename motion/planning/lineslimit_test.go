package planning

import (
	"math"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

// liftArm is an arm of six joints with a round wrist on a lift.
func liftArm() *robot.Model {
	b := kintest.NewBuilder("lift", "base")
	l := b.Joint("lift", robot.Prismatic, 0, kintest.At(0, 0, 0.3, 0, 0, 0), mgl64.Vec3{0, 0, 1}, 0, 0.4)
	return b.Model(roundWrist(b, l))
}

// roundWrist adds an arm of six joints whose last three axes meet, and returns its tip.
// At zero its forearm is level, and the fourth and the sixth are the same axis.
func roundWrist(b *kintest.Builder, l int) int {
	l = b.Joint("pan", robot.Revolute, l, kintest.At(0.1, 0, 0.2, 0, 0, 0), mgl64.Vec3{0, 0, 1}, -2, 2)
	l = b.Joint("shoulder", robot.Revolute, l, kintest.At(0.1, 0, 0.05, 0, 0, 0), mgl64.Vec3{0, 1, 0}, -1.5, 1.5)
	l = b.Joint("elbow", robot.Revolute, l, kintest.At(0, 0, 0.35, 0, 0, 0), mgl64.Vec3{0, 1, 0}, -2.5, 2.5)
	l = b.Joint("turn", robot.Revolute, l, kintest.At(0.15, 0, 0, 0, 0, 0), mgl64.Vec3{1, 0, 0}, -3, 3)
	l = b.Joint("wrist", robot.Revolute, l, kintest.At(0.15, 0, 0, 0, 0, 0), mgl64.Vec3{0, 1, 0}, -2, 2)
	return b.Joint("roll", robot.Revolute, l, kintest.At(0.15, 0, 0, 0, 0, 0), mgl64.Vec3{1, 0, 0}, -3, 3)
}

// TestLinesFromALimit: a joint that starts at its limit is no reason to refuse a line
// that the arm can follow with that joint inside, as long as others can make up for
// it: between knots on the limit the curve would dip below it.
func TestLinesFromALimit(t *testing.T) {
	m := liftArm()
	p := newPlanner(t, m, free{})
	rng := seeded(3)
	draws := 120
	if raceEnabled {
		draws = 24
	}
	done, led := 0, 0
	for k := range draws {
		from := make([]float64, m.DoF())
		for i := 1; i < len(from); i++ {
			from[i] = 2*rng.Float64() - 1
		}
		from[0] = [...]float64{0, 0.4}[k%2]
		at := tipAt(p, from)
		to := robot.Pose{P: at.P.Add(mgl64.Vec3{rng.Float64() - 0.5, rng.Float64() - 0.5, rng.Float64() - 0.5}.Mul(0.2)), Q: at.Q}
		curves, e := lines(t, p, from, to.P)
		if e != nil {
			if e.Where == "lift" && strings.Contains(e.Text, "can be reached") {
				require.NotContains(t, e.Text, "go to -0.0000 m", "%v to %v", from, to.P)
				require.NotContains(t, e.Text, "go to 0.4000 m", "%v to %v", from, to.P)
			}
			continue
		}
		done++
		end := requireStraight(t, straight{p: p, tip: m.Tip, from: at, to: to, turns: true}, curves[0], from)
		if off := math.Abs(end[0] - from[0]); off > 0.9*lineInset && off < 1.1*lineInset {
			led++
		}
	}
	require.Greater(t, done, draws/2)
	require.Positive(t, led, "lines on which the lift would rather stay at its limit")
}

// TestLinesEaseOffALimit: a joint that is led off its limit may begin where it stands,
// and stays within its limits, however narrow they are.
func TestLinesEaseOffALimit(t *testing.T) {
	m := liftArm()
	m.Limits[0].Upper = 1e-3 // narrower than the usual inset
	p := newPlanner(t, m, free{})
	tr := tracker{p: p, s: p.newSolver(m.Tip), from: make([]float64, m.DoF()), inset: lineInset, eases: true}
	for _, from := range []float64{0, 1e-4, 9e-4, 1e-3} {
		tr.from[0] = from
		for k := range 21 {
			tr.bound(float64(k) / 20)
			lower, upper := tr.s.lower[0], tr.s.upper[0]
			require.LessOrEqual(t, lower, upper)
			require.GreaterOrEqual(t, lower, 0.0)
			require.LessOrEqual(t, upper, m.Limits[0].Upper)
			if k == 0 {
				require.LessOrEqual(t, lower, from)
				require.GreaterOrEqual(t, upper, from)
			}
			if k >= 5 {
				require.InDelta(t, 2.5e-4, lower, 1e-12)
				require.InDelta(t, 7.5e-4, upper, 1e-12)
			}
		}
	}
}

// TestLinesFromAStretchedWrist: an arm whose wrist is straight can't move its tip
// sideways without turning it, though it reaches all there is on the line: the joint
// that would have to jump is named, and what holds the orientation.
func TestLinesFromAStretchedWrist(t *testing.T) {
	b := kintest.NewBuilder("wrist", "base")
	m := b.Model(roundWrist(b, 0))
	p := newPlanner(t, m, free{})
	bent, straightWrist := []float64{0, 0, 0.5, 0, -0.5, 0}, make([]float64, 6)
	at := tipAt(p, straightWrist)
	side := at.P.Add(mgl64.Vec3{0, 0.01, 0})
	_, e := lines(t, p, straightWrist, side)
	require.Equal(t, robot.CodeSingular, e.Code)
	require.Contains(t, []string{"turn", "roll"}, e.Where)
	require.Zero(t, e.Value.Value)
	require.Contains(t, e.Text, "can be reached, but not straight")
	require.Contains(t, e.Text, "the start's is held: another orientation, or moving by move_joints or move_pose, may help")
	require.NotContains(t, e.Text, "leaves the arm's reach")

	// A waypoint that gives the same orientation was asked for it.
	_, err := p.Lines(t.Context(), straightWrist, []Target{{Tip: m.Tip, Position: side, Orientation: &at.Q}}, seeded(1))
	e = requireRefusal(t, m, err)
	require.Equal(t, robot.CodeSingular, e.Code)
	require.NotContains(t, e.Text, "is held")

	// Upwards nothing turns, and from a bent wrist it is no trouble either.
	_, e = lines(t, p, straightWrist, at.P.Add(mgl64.Vec3{0, 0, 0.01}))
	require.Nil(t, e)
	_, e = lines(t, p, bent, tipAt(p, bent).P.Add(mgl64.Vec3{0, 0.01, 0}))
	require.Nil(t, e)
}
