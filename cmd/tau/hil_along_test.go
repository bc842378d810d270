package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// told is a setpoint that reached the hardware: of one joint, or of several that were told
// theirs at once.
type told struct {
	at time.Duration
	q  []float64 // rad, as the joints of along
}

// ahead is by how much setpoints that a computer times may come before their time: a period
// of them, one of a servo's pulses, and what a bridge may be late by before it ends a motion.
const ahead = 150 * time.Millisecond

// along requires that setpoints are those of an approved trajectory: each is, within a
// tolerance of each joint (rad), a place on its way, in its order and no sooner than it is due,
// and the last one is its end. slipped is for how long the clock of the setpoints went on
// without the bridge's until a time, which nothing here counts against the bridge.
func along(t *testing.T, traj robot.Trajectory, joints []int, got []told, tolerance []float64, slipped func(time.Duration) time.Duration) {
	t.Helper()
	const step = 1e-3 // s
	require.NotEmpty(t, got, "nothing was told")
	cursor := robot.NewCursor(traj)
	q := make([]float64, len(traj.Joints))
	// off is how far a setpoint is from the way at a time, in tolerances.
	off := func(p told, x float64) float64 {
		cursor.Sample(x, q, nil, nil)
		worst := 0.0
		for k, i := range joints {
			worst = math.Max(worst, math.Abs(p.q[k]-q[i])/tolerance[k])
		}
		return worst
	}
	names := make([]string, len(joints))
	for k, i := range joints {
		names[k] = traj.Joints[i]
	}
	what := fmt.Sprint(names)
	at, most := 0.0, 0.0 // s into the motion
	began := got[0].at
	moving := false
	for n, p := range got {
		best, when := math.Inf(1), at
		for x := at; x <= traj.Duration()+step; x += step {
			if d := off(p, x); d < best {
				best, when = d, x
			} else if best <= 1 {
				break // from the first place that will do it gets no better
			}
		}
		require.LessOrEqual(t, best, 1.0, "%s: setpoint %d of %d, %v, isn't on the approved way behind %.3f s", what, n, len(got), p.q, at)
		most, at = math.Max(most, best), when
		if at > 0 && !moving {
			moving, began = true, p.at-seconds(at)
		}
		if moving {
			require.LessOrEqual(t, seconds(at), p.at-began+slipped(p.at)-slipped(began)+ahead, "%s: setpoint %d of %d is ahead of its time", what, n, len(got))
		}
	}
	last := got[len(got)-1]
	for k, i := range joints {
		require.InDelta(t, traj.End()[i], last.q[k], tolerance[k], "%s ends where it was approved to", traj.Joints[i])
	}
	t.Logf("%s: %d setpoints, the worst %.2f of the tolerance off the approved way", what, len(got), most)
}

// never is the slipping of a clock that doesn't.
func never(time.Duration) time.Duration { return 0 }
