package mcu_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/robottest"
)

// target is where the suite sends a robot from home.
func (g rig) target(m *robot.Model) []float64 {
	by := map[string]map[string]float64{
		"pantilt": {"pan": 1.3, "tilt": 0.9},
		"gantry":  {"x": -0.05, "y": -0.1, "z": -0.05},
	}[g.name]
	to := append([]float64(nil), m.Home...)
	for name, d := range by {
		to[m.ActiveIndex(name)] += d
	}
	return to
}

// bench is a robot on a board in simulated time.
type bench struct {
	rig
	s    *stepped
	o    mcu.Options
	away []float64 // see offset
}

// newBench starts the board; within a bubble.
func (g rig) newBench(t *testing.T, bin string) *bench {
	b := &bench{rig: g, s: startStepped(t, bin, g.args()...), o: g.options(t, "simulated line")}
	b.o.Dial = b.s.dial
	for j, at := range g.stand {
		b.s.do("hand %d %d", j, at)
	}
	return b
}

func (b *bench) open(t *testing.T) *mcu.Robot {
	t.Helper()
	r, err := mcu.Open(context.Background(), b.o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// observe sees the joints as somebody beside the robot does: the servos by their last
// pulse, the steppers by their steps.
func (b *bench) observe() []float64 {
	out := make([]float64, len(b.o.Hardware.Joints))
	for i := range out {
		j := &b.o.Hardware.Joints[i]
		at, ok := b.s.places(j.Kind == "stepper", j.Channel)
		if !ok {
			at = float64(b.stand[i])
		}
		out[i] = j.Position(at)
		if b.away != nil {
			out[i] += b.away[i]
		}
	}
	return out
}

// fixture is a robot for the suite.
func (b *bench) fixture(t *testing.T) robottest.Fixture {
	f := robottest.Fixture{
		Backend: b.open(t), Model: b.o.Model, Disabled: true, Target: b.target(b.o.Model),
		Tolerance: 0.012, MaxDeviation: 0.25,
		// A report's period, the frame that is on its way, and the servo's lag of 60 ms.
		Lag: 0.12, Watchdog: 0.22,
		Freeze:    func() { b.s.do("freeze") },
		Unplug:    b.s.unplug,
		Replug:    b.s.replug,
		Silence:   b.s.silence,
		Reboot:    func() { b.s.do("reset") },
		Intrude:   func() { b.s.inject(intrusion(t)) },
		Trip:      func() { b.s.do("button on") },
		Untrip:    func() { b.s.do("button off") },
		Observe:   b.observe,
		TorqueOff: true,
		Rival: func() error {
			again, err := mcu.Open(context.Background(), b.o)
			if err != nil {
				return err
			}
			return again.Close()
		},
	}
	if b.board.Feedback != 0 {
		f.Block = func(j int) { b.s.do("stall %d on", j) }
	}
	if b.name == "gantry" {
		f.MaxDeviation, f.Lag = 0.02, 0.06
		f.Tolerance = 2e-3 // a search comes to rest as far behind its switch
	}
	return f
}

// referenced is a fixture whose joints have found their switches, and which isn't enabled
// any more. It is powered: without that nobody would know where they are.
func (b *bench) referenced(t *testing.T) robottest.Fixture {
	f := b.fixture(t)
	r := f.Backend.(*mcu.Robot)
	actuate(t, r, robot.TorqueOn)
	for _, ref := range b.o.Model.References {
		_, err := r.Execute(context.Background(), search(t, r, ref), nil)
		require.NoError(t, err)
	}
	require.Equal(t, robot.Yes, r.Stop(context.Background(), robot.StopEmergency).Stationary)
	actuate(t, r, robot.EStopReset)
	b.away = b.offset(t, r)
	return f
}

// offset is what the steps that were made since the board was switched on are off the
// joints' positions by, which nobody knew then.
func (b *bench) offset(t *testing.T, r *mcu.Robot) []float64 {
	s, err := r.State(context.Background())
	require.NoError(t, err)
	out := s.Where()
	for i, q := range b.observe() {
		out[i] -= q
	}
	return out
}

// intrusion is what a second bridge says that begins a motion of its own.
func intrusion(t testing.TB) []byte {
	var out []byte
	for seq, m := range []interface {
		Append(dst []byte, seq byte) ([]byte, error)
	}{
		wire.Hello{Version: wire.Version, Nonce: 12345},
		wire.Begin{Motion: 7, Seek: wire.NoSeek},
		wire.Segment{Index: 0, Ticks: 100, Last: true, Knots: []wire.Knot{{Q: 1600 * 256}, {Q: 1600 * 256}}},
		wire.Go{Motion: 7},
	} {
		var err error
		out, err = m.Append(out, byte(seq))
		require.NoError(t, err)
	}
	return out
}

// harness puts a rig to the suite, in simulated time.
func (g rig) harness(t *testing.T) robottest.Harness {
	bin := boardtest.HostBuild(t)
	h := robottest.Harness{Bubble: true, New: func(t *testing.T) robottest.Fixture { return g.newBench(t, bin).fixture(t) }}
	if g.name == "gantry" {
		h.Unreferenced = h.New
		h.New = func(t *testing.T) robottest.Fixture { return g.newBench(t, bin).referenced(t) }
	}
	if g.at != nil {
		unknown := g
		unknown.at = nil
		h.Unknown = func(t *testing.T) robottest.Fixture { return unknown.newBench(t, bin).fixture(t) }
	}
	return h
}

func TestConformanceOfMeasuredServos(t *testing.T) { robottest.Run(t, measured().harness(t)) }
func TestConformanceOfOpenLoopServos(t *testing.T) { robottest.Run(t, servos().harness(t)) }

func TestConformanceOfHalfMeasured(t *testing.T) { robottest.Run(t, half().harness(t)) }
func TestConformanceOfSteppers(t *testing.T)     { robottest.Run(t, steppers().harness(t)) }
