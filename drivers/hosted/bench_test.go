package hosted

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

// perfect is hardware that is where it is told to be, at once.
type perfect struct {
	q     []float64
	power bool
}

func (p *perfect) Connect(context.Context) error { return nil }
func (p *perfect) Read(_ context.Context, s *Sample) error {
	s.At = time.Now()
	for i := range p.q {
		s.Joints[i].Position, s.Joints[i].Setpoint, s.Joints[i].Powered = p.q[i], p.q[i], p.power
	}
	return nil
}
func (p *perfect) Write(_ context.Context, q []float64) error { copy(p.q, q); return nil }
func (p *perfect) Confirm(context.Context, []float64) (robot.Tri, error) {
	return robot.Yes, nil
}
func (p *perfect) PowerOn(_ context.Context, q []float64) error {
	p.power = true
	return p.Write(nil, q) //nolint:staticcheck // it has no use for a context
}
func (p *perfect) PowerOff(context.Context) error { p.power = false; return nil }
func (p *perfect) Set(_ context.Context, _ int, v float64) (float64, error) {
	return v, nil
}
func (p *perfect) Clear(context.Context) error { return nil }
func (p *perfect) Disconnect() error           { return nil }

// onItsWay is an engine with six joints in mid-motion, whose loop is the caller's.
func onItsWay(t testing.TB) (*Engine, *leg) {
	t.Helper()
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	f := &hardware.File{Name: "bench", Robot: m.Name}
	for i, l := range m.Limits {
		f.Joints = append(f.Joints, hardware.Joint{
			Name: m.JointNames()[i], Direction: 1, Scale: 650, Feedback: hardware.Encoder,
			Lower: l.Lower, Upper: l.Upper, Velocity: l.Velocity, Acceleration: l.Acceleration, Jerk: l.Jerk,
		})
	}
	n := m.DoF()
	measured, most := make([]bool, n), make([]float64, n)
	for i := range measured {
		measured[i], most[i] = true, 0.2
	}
	e, err := newEngine(Options{
		Model: m, Hardware: f, Body: &perfect{q: append([]float64(nil), m.Home...), power: true},
		Traits: Traits{Backend: "bench", Version: "1", Device: "none", Period: 10 * time.Millisecond, ReadEvery: 2, Exchange: time.Millisecond, Measured: measured, Lag: 60 * time.Millisecond},
	})
	require.NoError(t, err)
	e.link, e.unlink = context.WithCancel(e.life)
	t.Cleanup(e.cancel)
	require.NoError(t, e.greet(false))
	e.ready, e.armed = true, true
	e.refresh()
	to := append([]float64(nil), m.Home...)
	for i := range to {
		to[i] += 0.1
	}
	// A day's way, so that the benchmark never gets to its end.
	path := e.way(m.Home, to)
	slow := 86400 / path.Duration()
	for k := range path.Segments {
		s := &path.Segments[k]
		s.Duration *= slow
		for i := range s.Q {
			s.V[i], s.A[i], s.J[i] = s.V[i]/slow, s.A[i]/(slow*slow), s.J[i]/(slow*slow*slow)
		}
	}
	x := e.newLeg(&robot.Motion{ID: "bench", Trajectory: path, StartTolerance: most, MaxDeviation: most})
	e.run, e.leg = &run{done: make(chan struct{})}, x
	require.True(t, e.start(x))
	return e, x
}

// BenchmarkPeriod is one control period of six joints that are read every other one: the
// setpoint, the read, what is judged and reported of it.
func BenchmarkPeriod(b *testing.B) {
	e, x := onItsWay(b)
	b.ReportAllocs()
	for b.Loop() {
		e.period(x)
		x.reports.n = 0 // somebody has taken them
	}
	require.Empty(b, e.faults)
	require.False(b, x.over)
}

// A period allocates nothing, so that no collection of garbage holds up the next one.
func TestAPeriodAllocatesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, x := onItsWay(t)
		require.Zero(t, testing.AllocsPerRun(500, func() {
			time.Sleep(e.traits.Period)
			e.period(x)
			x.reports.n = 0
		}))
		require.Empty(t, e.faults)
		require.Positive(t, x.max[0]+1)
		require.True(t, x.commands())
	})
}
