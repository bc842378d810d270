package hosted_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

// inBubble runs a test in simulated time.
func inBubble(t *testing.T, do func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, do)
}

func state(t testing.TB, e *hosted.Engine) robot.State {
	t.Helper()
	s, err := e.State(context.Background())
	require.NoError(t, err)
	return s
}

// do does a command in the present epoch.
func do(e *hosted.Engine, kind robot.CommandKind) (robot.Outcome, error) {
	s, _ := e.State(context.Background())
	return e.Actuate(context.Background(), robot.Command{ID: string(kind), Kind: kind, Epoch: s.StopEpoch})
}

func enable(t testing.TB, e *hosted.Engine) {
	t.Helper()
	out, err := do(e, robot.TorqueOn)
	require.NoError(t, err)
	require.True(t, out.Final.Enabled)
}

// enabled is a bench with torque.
func (g rig) enabled(t testing.TB) (*bench, *hosted.Engine) {
	t.Helper()
	b := g.bench(t)
	e := b.open(t)
	enable(t, e)
	return b, e
}

// straight is a line from rest to rest of four stretches of constant jerk, of at least so
// many seconds and within the limits.
func straight(i robot.Info, from, to []float64, least float64) robot.Trajectory {
	h := least / 4
	for k, l := range i.Limits {
		d := math.Abs(to[k]-from[k]) * 1.0001
		h = max(h, d/(2*l.Velocity), math.Sqrt(d/(2*l.Acceleration)), math.Cbrt(d/(2*l.Jerk)))
	}
	out := robot.Trajectory{Joints: i.Joints}
	n := len(from)
	q, v, a := slices.Clone(from), make([]float64, n), make([]float64, n)
	for _, p := range [...]struct{ t, sign float64 }{{h, 1}, {2 * h, -1}, {h, 1}} {
		s := robot.Segment{Duration: p.t}
		for k := range q {
			j := p.sign * (to[k] - from[k]) / (2 * h * h * h)
			s.Q, s.V, s.A, s.J = append(s.Q, q[k]), append(s.V, v[k]), append(s.A, a[k]), append(s.J, j)
			q[k] += p.t * (v[k] + p.t*(a[k]/2+p.t*j/6))
			v[k] += p.t * (a[k] + p.t*j/2)
			a[k] += p.t * j
		}
		out.Segments = append(out.Segments, s)
	}
	return out
}

// curved is a way on which each joint goes on a line of its own time: it starts when its
// part of the first half has passed, and so the joints together go round corners.
func curved(i robot.Info, from, to, part []float64, least float64) robot.Trajectory {
	line := straight(i, from, to, least)
	h := line.Duration() / 4
	// Each joint's stretches of constant jerk, by when they begin.
	cuts := []float64{0}
	for k := range from {
		for _, s := range []float64{0, 1, 3, 4} {
			cuts = append(cuts, (part[k]*2+s)*h)
		}
	}
	slices.Sort(cuts)
	cuts = slices.CompactFunc(cuts, func(a, b float64) bool { return math.Abs(b-a) < 1e-9 })
	out := robot.Trajectory{Joints: i.Joints}
	n := len(from)
	q, v, a := slices.Clone(from), make([]float64, n), make([]float64, n)
	for c := range len(cuts) - 1 {
		s := robot.Segment{Duration: cuts[c+1] - cuts[c]}
		mid := (cuts[c] + cuts[c+1]) / 2
		for k := range q {
			j := (to[k] - from[k]) / (2 * h * h * h)
			switch at := mid/h - part[k]*2; {
			case at < 0 || at > 4:
				j = 0
			case at > 1 && at < 3:
				j = -j
			}
			t := s.Duration
			s.Q, s.V, s.A, s.J = append(s.Q, q[k]), append(s.V, v[k]), append(s.A, a[k]), append(s.J, j)
			q[k] += t * (v[k] + t*(a[k]/2+t*j/6))
			v[k] += t * (a[k] + t*j/2)
			a[k] += t * j
		}
		out.Segments = append(out.Segments, s)
	}
	return out
}

// motion is one from where the robot is, of at least so many seconds.
func motion(e *hosted.Engine, s robot.State, to []float64, least float64) robot.Motion {
	i := e.Info()
	m := robot.Motion{ID: "m", Epoch: s.StopEpoch, Trajectory: straight(i, s.Where(), to, least)}
	for range i.Joints {
		m.StartTolerance, m.MaxDeviation = append(m.StartTolerance, 0.02), append(m.MaxDeviation, 0.2)
	}
	return m
}

// ended is how a motion ended.
type ended struct {
	out      robot.Outcome
	err      error
	progress []robot.Progress
	at       float64 // s of motion time, when do was called
}

// during runs a motion, and do in a goroutine of its own once it is at s seconds.
func during(t testing.TB, e *hosted.Engine, m robot.Motion, s float64, do func()) ended {
	t.Helper()
	var r ended
	called := make(chan struct{})
	running := false
	r.out, r.err = e.Execute(context.Background(), m, func(p robot.Progress) {
		r.progress = append(r.progress, p)
		if p.T >= s && !running {
			running, r.at = true, p.T
			go func() {
				defer close(called)
				do()
			}()
		}
	})
	require.True(t, running, "it never got to %g s: %v", s, r.err)
	<-called
	return r
}

// code requires an error's code.
func code(t testing.TB, want robot.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, robot.CodeOf(err), "%v", err)
}

// back waits until the robot answers again.
func back(t testing.TB, e *hosted.Engine) robot.State {
	t.Helper()
	for range 2000 {
		if s, err := e.State(context.Background()); err == nil {
			return s
		}
		time.Sleep(10 * time.Millisecond)
	}
	require.FailNow(t, "the robot doesn't come back")
	return robot.State{}
}

// takes requires that a call returns within so much simulated time.
func takes(t testing.TB, most time.Duration, what string, call func()) {
	t.Helper()
	began := time.Now()
	call()
	require.LessOrEqual(t, time.Since(began), most, what)
}
