package planning

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/collision"
	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

// TestBuiltinRoundTrip: on each built-in robot with its own bodies, a free
// configuration's pose, with orientation or without, is reached again from a seed
// that is as random, inside the limits and free.
func TestBuiltinRoundTrip(t *testing.T) {
	for name, m := range builtins(t) {
		p, c := checked(t, m, nil)
		t.Run(name, func(t *testing.T) {
			solved, tried := 0, 0
			rapid.Check(t, func(t *rapid.T) {
				if thin(t) {
					return
				}
				q, seed := kintest.Q(t, m), kintest.Q(t, m)
				if _, err := c.Check(q); err != nil {
					return
				}
				tried++
				pose := tipAt(p, q)
				target := Target{Tip: m.Tip, Position: pose.P}
				if rapid.Bool().Draw(t, "turn") {
					target.Orientation = &pose.Q
				}
				got, err := p.IK(context.Background(), target, seed, seeded(rapid.Uint64().Draw(t, "rng")))
				if isContact(err) {
					return // free in one way, found in others
				}
				require.NoError(t, err)
				solved++
				requireInside(t, m, got.Q)
				requireReached(t, p, target, got.Q)
				_, err = c.Check(got.Q)
				require.NoError(t, err)
				for i := range seed {
					if !containsInt(m.Arm, i) {
						require.Equal(t, seed[i], got.Q[i])
					}
				}
			})
			require.GreaterOrEqual(t, solved*10, tried*9, "%d of %d", solved, tried)
			require.True(t, raceEnabled || tried > 20, tried)
		})
	}
}

func containsInt(list []int, x int) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// TestBuiltinTiming: on each built-in robot, any path in joint space that the checker
// accepts is timed within the limits, faster with more speed, and the checker says the
// same of the trajectory, to its resolution.
func TestBuiltinTiming(t *testing.T) {
	for name, m := range builtins(t) {
		p, c := checked(t, m, nil)
		done := 0
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				if thin(t) {
					return
				}
				from, to := kintest.Q(t, m), kintest.Q(t, m)
				for i := range to {
					if p.belongs(i) {
						to[i] = from[i]
					}
				}
				if _, err := c.CheckSegment(from, to); err != nil {
					return
				}
				path, err := p.JointPath(context.Background(), from, to, seeded(1))
				require.NoError(t, err)
				scale := rapid.Float64Range(0.05, 0.9).Draw(t, "scale")
				slow, err := trajectory.ThroughWaypoints(p.names, m.Limits, path, scale)
				require.NoError(t, err)
				require.NoError(t, slow.Validate(scaled(m, scale)))
				fast, err := trajectory.ThroughWaypoints(p.names, m.Limits, path, scale*1.1)
				require.NoError(t, err)
				require.LessOrEqual(t, fast.Duration(), slow.Duration())
				if _, err = c.CheckTrajectory(slow); err != nil {
					// It looks at other instants than CheckSegment did: what lies between
					// those may have used up the resolution.
					var e *robot.Error
					require.ErrorAs(t, err, &e)
					require.GreaterOrEqual(t, e.Value.Value, e.Limit.Value-collision.DefaultResolution)
				}
				done++
			})
		})
		require.True(t, raceEnabled || done > 5, name)
	}
}

func scaled(m *robot.Model, by float64) []robot.JointLimits {
	out := make([]robot.JointLimits, len(m.Limits))
	for i, l := range m.Limits {
		out[i] = l.Scaled(by)
	}
	return out
}

// TestLinesOnRandomTrees: whatever the tree, a line of its last link to somewhere
// near is straight, inside the limits and timed, or it is refused for a reason.
func TestLinesOnRandomTrees(t *testing.T) {
	done := 0
	rapid.Check(t, func(t *rapid.T) {
		m := kintest.Tree(t, 9)
		p := newPlanner(t, m, free{})
		from, near := kintest.Q(t, m), []float64(nil)
		near = append(near, from...)
		for i := range near {
			near[i] = p.clamp(i, near[i]+rapid.Float64Range(-0.2, 0.2).Draw(t, "by"))
		}
		start, end := tipAt(p, from), tipAt(p, near)
		target := Target{Tip: m.Tip, Position: end.P}
		s := straight{p: p, tip: m.Tip, from: start, to: end}
		if rapid.Bool().Draw(t, "turn") {
			target.Orientation, s.turns = &end.Q, true
		} else if len(p.newSolver(m.Tip).joints) >= fullJoints {
			s.turns, s.to.Q = true, start.Q
		}
		curves, err := p.Lines(context.Background(), from, []Target{target}, seeded(1))
		if err != nil {
			requireRefusal(t, m, err)
			return
		}
		done++
		requireStraight(t, s, curves[0], from)
	})
	require.Greater(t, done, 10)
}
