package robottest

import (
	"math"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// onArc is where a base is once its wheels have turned by these from q.
func onArc(b *robot.Base, q []float64, left, right float64) []float64 {
	out := append([]float64(nil), q...)
	way, turn := b.Radius*(left+right)/2, b.Radius*(right-left)/b.Track
	out[b.Left], out[b.Right], out[b.Yaw] = q[b.Left]+left, q[b.Right]+right, q[b.Yaw]+turn
	chord := way
	if turn != 0 {
		chord = 2 * way / turn * math.Sin(turn/2)
	}
	out[b.X] = q[b.X] + chord*math.Cos(q[b.Yaw]+turn/2)
	out[b.Y] = q[b.Y] + chord*math.Sin(q[b.Yaw]+turn/2)
	return out
}

// arc turns the wheels by these from rest to rest, fast enough to need braking and
// within half of every limit. The path over time is a cubic B-spline through it to
// the fourth order (C. de Boor, A Practical Guide to Splines, 2001, chapter XII):
// its pieces have constant jerk and fit.
func (c *check) arc(left, right float64) robot.Motion {
	c.Helper()
	b, s := c.Model.Base, c.state()
	wheel := c.info.Limits[b.Left]
	far := math.Max(math.Abs(left), math.Abs(right))
	// The profile below peaks at 2.2/T, 7.6/T² and 53/T³.
	T := math.Max(2.2*far/(0.5*wheel.Velocity), math.Max(math.Sqrt(7.6*far/(0.5*wheel.Acceleration)), math.Cbrt(53*far/(0.5*wheel.Jerk))))
	const h = 0.01
	at := func(k int) []float64 {
		x := math.Max(0, math.Min(1, float64(k-3)*h/T))
		x = x * x * x * x * (35 + x*(-84+x*(70-20*x)))
		return onArc(b, s.Positions, left*x, right*x)
	}
	n := int(math.Ceil(T/h)) + 7
	control := make([][]float64, n+3)
	for k := range control {
		p, q, r := at(k-1), at(k), at(k+1)
		for i := range q {
			control[k] = append(control[k], q[i]-(p[i]-2*q[i]+r[i])/6)
		}
	}
	m := c.motionFrom(s.Positions, s.Positions, 0.1, s.StopEpoch)
	m.Trajectory.Segments = nil
	for k := 1; k <= n-1; k++ {
		g := robot.Segment{Duration: h}
		for i := range s.Positions {
			c0, c1, c2, c3 := control[k-1][i], control[k][i], control[k+1][i], control[k+2][i]
			g.Q, g.V = append(g.Q, (c0+4*c1+c2)/6), append(g.V, (c2-c0)/(2*h))
			g.A, g.J = append(g.A, (c0-2*c1+c2)/(h*h)), append(g.J, (c3-3*c2+3*c1-c0)/(h*h*h))
		}
		m.Trajectory.Segments = append(m.Trajectory.Segments, g)
	}
	require.NoError(c, m.Trajectory.Validate(c.info.Limits), "the suite's own arc is within limits")
	return m
}

// turns are wheels' travels, rad: an arc, one on the spot, one backwards.
var turns = [...][2]float64{{5, 9}, {-4, 4}, {-9, -6}}

func drivesArcs(c *check) {
	for _, w := range turns {
		start := c.state().Positions
		r := c.execute(c.ctx, c.arc(w[0], w[1]))
		require.NoError(c, r.err)
		require.InDeltaSlice(c, onArc(c.Model.Base, start, w[0], w[1]), r.out.Final.Positions, c.Tolerance)
	}
}

// stopsOnArc: stopped in mid-arc the wheels keep their ratio, so that the base comes
// to rest on the arc that was checked.
func stopsOnArc(c *check) {
	b := c.Model.Base
	for _, w := range turns {
		start := c.state().Positions
		m := c.arc(w[0], w[1])
		var v robot.StopVerdict
		r, at := c.midway(c.ctx, m, 0.4*m.Trajectory.Duration(), func() { v = c.stop(robot.StopControlled) })
		c.stopped(v)
		require.Equal(c, robot.CodeStopped, robot.CodeOf(r.err), "%v", r.err)
		end := r.out.Final.Positions
		left, right := end[b.Left]-start[b.Left], end[b.Right]-start[b.Right]
		require.InDelta(c, w[0]*right, w[1]*left, 10*c.Tolerance, "the wheels' ratio")
		require.InDeltaSlice(c, onArc(b, start, left, right), end, c.Tolerance, "the base is where its wheels have brought it")

		q, speed := make([]float64, len(end)), make([]float64, len(end))
		m.Trajectory.Sample(at, q, speed, nil)
		for _, i := range []int{b.Left, b.Right} {
			l := c.info.Limits[i]
			// Braking takes v²/2a, and half of v for each a/j until the brake is on.
			most := speed[i]*speed[i]/(2*l.Acceleration) + math.Abs(speed[i])*(l.Acceleration/l.Jerk+c.Lag)
			require.LessOrEqual(c, math.Abs(end[i]-q[i]), 1.5*most+c.Tolerance, "%s stopped as soon as it could", c.info.Joints[i])
		}
		require.Greater(c, math.Abs(m.Trajectory.End()[b.Left]-end[b.Left])+math.Abs(m.Trajectory.End()[b.Right]-end[b.Right]), 0.2, "before its end")
	}
}

// refusesSlip: what no wheels could do is refused, with the joint and by how much.
func refusesSlip(c *check) {
	b, before := c.Model.Base, c.state()
	for _, joint := range []int{b.Y, b.X, b.Yaw} {
		to := append([]float64(nil), before.Positions...)
		to[joint] += 0.1
		r := c.execute(c.ctx, c.motion(to, 1))
		c.refusal(before, r.out, r.err, robot.CodeInvalidArgument)
		require.ErrorContains(c, r.err, c.info.Joints[joint])
	}
	to := append([]float64(nil), before.Positions...)
	to[b.Left], to[b.Right] = to[b.Left]+1, to[b.Right]+1
	r := c.execute(c.ctx, c.motion(to, 1))
	c.refusal(before, r.out, r.err, robot.CodeInvalidArgument)
	require.Empty(c, c.state().Faults)
}
