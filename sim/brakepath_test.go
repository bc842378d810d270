package sim

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// bend moves the shoulder and the elbow of an arm by d rad each with the elbow
// late seconds behind, so that the tip goes round a bend. Each takes four pieces of
// constant jerk (j, -j, -j, j) of quarter seconds.
func bend(m *robot.Model, shoulder, elbow int, d, quarter, late float64) robot.Trajectory {
	j := d / (2 * quarter * quarter * quarter)
	jerk := func(t float64) float64 {
		switch {
		case t < 0 || t >= 4*quarter:
			return 0
		case t < quarter || t >= 3*quarter:
			return j
		}
		return -j
	}
	n := len(m.Home)
	out := robot.Trajectory{Joints: m.JointNames()}
	q, v, a := append([]float64(nil), m.Home...), make([]float64, n), make([]float64, n)
	// late is half a quarter, and so every change of either joint is a multiple of it.
	for k := range 9 {
		t := (float64(k) + 0.5) * late
		s := robot.Segment{
			Duration: late, Q: append([]float64(nil), q...), V: append([]float64(nil), v...),
			A: append([]float64(nil), a...), J: make([]float64, n),
		}
		s.J[shoulder], s.J[elbow] = jerk(t), jerk(t-late)
		for i := range n {
			q[i] += late * (v[i] + late*(a[i]/2+late*s.J[i]/6))
			v[i] += late * (a[i] + late*s.J[i]/2)
			a[i] += late * s.J[i]
		}
		out.Segments = append(out.Segments, s)
	}
	return out
}

// TestAStopKeepsToACurvedPath: wherever a curved motion is stopped, the tip is
// measured within a millimetre of the approved path until it is at rest; each joint
// braking by itself would leave it by more at some instants, so the test can tell.
func TestAStopKeepsToACurvedPath(t *testing.T) {
	for _, tt := range []struct {
		robot, shoulder, elbow string
		d, quarter             float64
	}{
		{"so101", "shoulder_pan", "wrist_flex", -0.8, 0.3},
		{"panda", "panda_joint1", "panda_joint4", 0.8, 0.4},
	} {
		t.Run(tt.robot, func(t *testing.T) {
			t.Parallel()
			m, err := builtin.Load(tt.robot)
			require.NoError(t, err)
			tr := bend(m, m.ActiveIndex(tt.shoulder), m.ActiveIndex(tt.elbow), tt.d, tt.quarter, tt.quarter/2)
			require.NoError(t, tr.Validate(m.Limits))
			r := newRobot(t, Options{Model: m})
			tip := func(q []float64) vec3 {
				r.mon.pose(q)
				return r.mon.d.linkFrame(m.Tip).P
			}
			var path []vec3
			q, v, a := make([]float64, len(m.Home)), make([]float64, len(m.Home)), make([]float64, len(m.Home))
			for k := range 2001 {
				tr.Sample(tr.Duration()*float64(k)/2000, q, nil, nil)
				path = append(path, tip(q))
			}
			off := func(p vec3) float64 {
				d := math.Inf(1)
				for _, x := range path {
					d = math.Min(d, x.Sub(p).Len())
				}
				return d
			}
			alone, stopped := 0.0, 0.0
			for part := 0.15; part < 0.9; part += 0.125 {
				at := math.Round(part*tr.Duration()/Step) * Step
				tr.Sample(at, q, v, a)
				own := robot.BrakeTrajectory(tr.Joints, q, v, a, m.Limits)
				for k := range 51 {
					own.Sample(own.Duration()*float64(k)/50, q, nil, nil)
					alone = math.Max(alone, off(tip(q)))
				}

				fresh := newRobot(t, Options{Model: m})
				fresh.AtMotionTime(at, func() { fresh.Stop(context.Background(), robot.StopControlled) })
				rec := newRecorder(fresh)
				rec.every = 1
				out, err := fresh.execute(context.Background(), motionOf(tr, 0), nil, rec)
				require.Equal(t, robot.CodeStopped, robot.CodeOf(err))
				require.Equal(t, robot.OutcomeStopped, out.Status)
				require.Less(t, out.Duration, tr.Duration()+0.1)
				for _, q := range rec.trace {
					stopped = math.Max(stopped, off(tip(q)))
				}
			}
			t.Logf("the tip off the path: %.2f mm measured, %.2f mm if each joint braked by itself", 1e3*stopped, 1e3*alone)
			require.Less(t, stopped, 1e-3)
			require.Greater(t, alone, 2e-3)
		})
	}
}
