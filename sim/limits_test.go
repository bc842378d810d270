package sim

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// TestCase11_AJointOutsideItsLimitsOnlyComesBackIn, a slider as in the report and a
// hinge: rehearsal and robot accept what Trajectory.Validate accepts, nothing is a
// fault on the way, and out again is refused.
func TestCase11_AJointOutsideItsLimitsOnlyComesBackIn(t *testing.T) {
	ctx := context.Background()
	slider := stage(t)
	slider.References = nil
	slider.Limits[0].Lower = -0.1
	hinge := bare(t)
	for _, c := range []struct {
		name        string
		m           *robot.Model
		joint       int
		from, limit float64
		to          float64
	}{
		{"slider, a hair below", slider, 0, -0.1000005, -0.1, 0.4},
		{"slider, below", slider, 0, -0.12, -0.1, -0.1},
		{"slider, far below and on", slider, 0, -0.3, -0.1, 0.4},
		{"hinge, far above", hinge, 0, hinge.Limits[0].Upper + 0.8, hinge.Limits[0].Upper, 0},
		{"hinge under gravity", hinge, 1, hinge.Limits[1].Lower - 0.2, hinge.Limits[1].Lower, hinge.Limits[1].Lower + 0.1},
	} {
		t.Run(c.name, func(t *testing.T) {
			start, to := append([]float64(nil), c.m.Home...), append([]float64(nil), c.m.Home...)
			start[c.joint], to[c.joint] = c.from, c.to
			r := newRobot(t, Options{Model: c.m, Start: start})
			s := stateOf(t, r)
			require.InDeltaSlice(t, start, s.Positions, 1e-12)
			mo := motionOf(restToRest(c.m, start, to, 1, 0), 0)
			require.NoError(t, mo.Validate(c.m.JointNames(), c.m.Limits))
			h, err := NewRehearser(c.m, nil, 0, RehearserOptions{})
			require.NoError(t, err)
			rec, err := h.Rehearse(ctx, s, mo)
			require.NoError(t, err)
			out, err := r.Execute(ctx, mo, func(p robot.Progress) {
				require.LessOrEqual(t, math.Abs(p.State.Positions[c.joint]-c.to), math.Abs(c.from-c.to)+1e-3, "never farther out")
			})
			require.NoError(t, err)
			require.InDeltaSlice(t, to, out.Final.Positions, 3e-3)
			require.InDelta(t, rec.Joints[c.joint].End, out.Final.Positions[c.joint], 1e-9)

			// Outwards, there and from the inside, is no motion.
			farther := append([]float64(nil), start...)
			farther[c.joint] += c.from - c.to
			if math.Abs(c.from-c.limit) < 1e-3 {
				return
			}
			_, err = newRobot(t, Options{Model: c.m, Start: start}).Execute(ctx, motionOf(restToRest(c.m, start, farther, 1, 0), 0), nil)
			require.Equal(t, robot.CodeJointLimit, robot.CodeOf(err), "%v", err)
			_, err = r.Execute(ctx, motionOf(restToRest(c.m, out.Final.Positions, start, 1, 0), 0), nil)
			require.Equal(t, robot.CodeJointLimit, robot.CodeOf(err), "%v", err)
			_, err = h.Rehearse(ctx, s, motionOf(restToRest(c.m, start, farther, 1, 0), 0))
			refusedWith(t, err, robot.CodeJointLimit)
		})
	}
}

// TestOutsideAndPushedFartherOutIsAFault: on the way in a joint may be as far out as
// it has come by then, not as far as it began.
func TestOutsideAndPushedFartherOutIsAFault(t *testing.T) {
	m := bare(t)
	start := append([]float64(nil), m.Home...)
	start[0] = m.Limits[0].Upper + 0.5
	to := append([]float64(nil), m.Home...)
	mo := motionOf(restToRest(m, start, to, 0.5, 0), 0)
	mo.MaxDeviation = bounds6(m.DoF(), 10)
	r := newRobot(t, Options{Model: m, Start: start, Faults: []Fault{{Kind: FaultEncoder, Joint: m.JointNames()[0], At: 0.28 * mo.Trajectory.Duration(), Value: 0.1}}})
	at := make([]float64, m.DoF())
	mo.Trajectory.Sample(0.28*mo.Trajectory.Duration(), at, nil, nil)
	require.Greater(t, at[0], m.Limits[0].Upper, "it is still outside then")
	require.Less(t, at[0]+0.1, start[0], "and not as far out as it began")
	_, err := r.Execute(context.Background(), mo, nil)
	require.Equal(t, robot.CodeJointLimit, robot.CodeOf(err), "%v", err)
}

// TestCase22_TheLimitIsMeasuredFromTheSetpoint: a joint of 1 rad/s that is given a
// setpoint every 10 ms, and whose servo lags by three of them, arrives in time, as
// its setpoints are spaced from each other and not from where it is; and where it is
// decides whether it is out of its limits.
func TestCase22_TheLimitIsMeasuredFromTheSetpoint(t *testing.T) {
	const period, lag = 10, 3 // steps; periods
	m := pendulum(1, 0.1)
	m.Limits[0] = robot.JointLimits{Bounded: true, Lower: -1, Upper: 1.1, Velocity: 1, Acceleration: 200, Jerk: 1e5}
	tr := ramp(t, m, 1)
	tree, err := newTree(m)
	require.NoError(t, err)
	params, _ := driveParams(tree, vec3{})
	p := newPlant(tree, params, vec3{}, []float64{0})
	cur := robot.NewCursor(tr)
	given := make([]float64, lag+1) // the servo follows the oldest of these
	q, v, arrived := []float64{0}, []float64{0}, math.NaN()
	speed := 0.0
	for k := range 1500 {
		if k%period == 0 {
			last := given[0]
			cur.Sample(float64(k)*Step, q, v, nil)
			require.LessOrEqual(t, q[0]-last, 0.01+1e-9, "one period's step at %d ms", k)
			copy(given[1:], given)
			given[0] = q[0]
			speed = (given[lag-1] - given[lag]) / (period * Step)
		}
		part := float64(k%period) / period
		require.True(t, p.step([]float64{given[lag] + part*(given[lag-1]-given[lag])}, []float64{speed}, true))
		if math.IsNaN(arrived) && p.q[0] >= 1-1e-3 {
			arrived = float64(k+1) * Step
		}
	}
	require.GreaterOrEqual(t, arrived, 1.0)
	require.LessOrEqual(t, arrived, 1.06)

	// The simulated robot itself, which lags less, and its limits.
	r := newRobot(t, Options{Model: m, Gravity: &vec3{}})
	mo := motionOf(tr, 0)
	arrived = math.NaN()
	_, err = r.Execute(context.Background(), mo, func(p robot.Progress) {
		if math.IsNaN(arrived) && p.State.Positions[0] >= 1-5e-3 {
			arrived = p.T
		}
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, arrived, 1.0)
	require.LessOrEqual(t, arrived, 1.06)
	r = newRobot(t, Options{Model: m, Gravity: &vec3{}, Faults: []Fault{{Kind: FaultEncoder, Joint: "hinge", At: 1, Value: 0.13}}})
	out, err := r.Execute(context.Background(), mo, nil)
	require.Equal(t, robot.CodeJointLimit, robot.CodeOf(err), "%v", err)
	require.Equal(t, robot.OutcomeFaulted, out.Status)
	require.False(t, out.Final.Moving)
}

// ramp is a move of the only joint at its largest speed, which it takes a few
// milliseconds to come to.
func ramp(t *testing.T, m *robot.Model, to float64) robot.Trajectory {
	l := m.Limits[0]
	T := math.Max(math.Sqrt(l.Velocity/l.Jerk), 1e-3) // v = J·T², J ≤ l.Jerk, J·T ≤ l.Acceleration
	T = math.Max(T, l.Velocity/l.Acceleration)
	j := l.Velocity / (T * T)
	out := robot.Trajectory{Joints: m.JointNames()}
	q, v, a := 0.0, 0.0, 0.0
	for _, k := range [...]struct{ t, j float64 }{{T, j}, {T, -j}, {to/l.Velocity - 2*T, 0}, {T, -j}, {T, j}} {
		out.Segments = append(out.Segments, robot.Segment{Duration: k.t, Q: []float64{q}, V: []float64{v}, A: []float64{a}, J: []float64{k.j}})
		q, v, a = q+k.t*(v+k.t*(a/2+k.t*k.j/6)), v+k.t*(a+k.t*k.j/2), a+k.t*k.j
	}
	require.NoError(t, out.Validate(m.Limits))
	return out
}

// TestCase9_AJointWithoutASpeedStands while the others move, and is refused to move.
func TestCase9_AJointWithoutASpeedStands(t *testing.T) {
	m := bare(t)
	m.Limits = append([]robot.JointLimits(nil), m.Limits...)
	for _, i := range []int{1, 2} { // the ones that carry the arm
		m.Limits[i].Velocity, m.Limits[i].Acceleration, m.Limits[i].Jerk = 0, 0, 0
	}
	m.Limits[2].Effort = 0
	ctx := context.Background()
	r := newRobot(t, Options{Model: m})
	require.Contains(t, r.Assumed(), "speed of shoulder_lift: none is given, so it only stands")
	mo := func(to []float64) robot.Motion {
		whole := so101(t)
		return motionOf(restToRest(whole, m.Home, to, 0.5, 2), 0)
	}
	h, err := NewRehearser(m, nil, 0, RehearserOptions{})
	require.NoError(t, err)
	rec, err := h.Rehearse(ctx, robot.State{Positions: m.Home}, mo(pan(m, 0.8)))
	require.NoError(t, err)
	for _, x := range rec.Joints {
		require.False(t, math.IsNaN(x.PeakEffort) || math.IsInf(x.PeakEffort, 0), x.Joint)
	}
	out, err := r.Execute(ctx, mo(pan(m, 0.8)), func(p robot.Progress) {
		require.InDelta(t, m.Home[1], p.State.Positions[1], 2e-3, "held against gravity")
		require.InDelta(t, m.Home[2], p.State.Positions[2], 2e-3)
	})
	require.NoError(t, err)
	require.InDelta(t, 0.8, out.Final.Positions[0], 3e-3)
	lift := append([]float64(nil), m.Home...)
	lift[1] += 0.01
	_, err = newRobot(t, Options{Model: m}).Execute(ctx, mo(lift), nil)
	require.Equal(t, robot.CodeSpeedLimit, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "shoulder_lift")
}
