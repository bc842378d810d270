package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/robottest"
	"github.com/tau-robot/tau/sim"
)

// board is how a double of a board with servos is put to the suite.
type board struct {
	robot    string
	openLoop []bool // nil: all
	clock    sim.Clock
}

func (b board) fixture(t *testing.T, known bool) robottest.Fixture {
	m, err := builtin.Load(b.robot)
	require.NoError(t, err)
	r, err := sim.New(sim.Options{Model: m, Clock: b.clock, Seed: 1, Disabled: true})
	require.NoError(t, err)
	o := robottest.DoubleOptions{OpenLoop: b.openLoop, Port: "/dev/double"}
	if known {
		o.At = m.Home
	}
	d := robottest.NewDouble(r, o)
	f := robottest.Fixture{
		Backend: d, Model: m, Disabled: true, Target: target(t, m), Tolerance: 4e-3, MaxDeviation: 0.1,
		Lag: 0.012, Watchdog: 0.25, TorqueOff: true, AtMotionTime: r.AtMotionTime,
		Freeze: func() { require.NoError(t, r.Inject(sim.Fault{Kind: sim.FaultFreeze})) },
		Unplug: d.Unplug, Replug: d.Replug, Silence: d.Silence, Reboot: d.Reboot, Intrude: d.Intrude,
		Trip: d.Trip, Untrip: d.Untrip, Rival: d.Rival, Observe: d.Observe,
	}
	if b.clock == sim.Real {
		f.AtMotionTime, f.Stall, f.Seconds = nil, 0.15, 1
	}
	return f
}

func (b board) harness() robottest.Harness {
	return robottest.Harness{
		Parallel: 8, // most of it is looking whether something moves that shouldn't
		New:      func(t *testing.T) robottest.Fixture { return b.fixture(t, true) },
		Unknown:  func(t *testing.T) robottest.Fixture { return b.fixture(t, false) },
	}
}

// TestDoubleConformance puts a board to the suite that starts disabled and measures
// nothing, or only some of its joints: the suite can be passed by such a robot.
func TestDoubleConformance(t *testing.T) {
	for name, b := range map[string]board{
		"blind":   {robot: "pantilt", clock: sim.Fast},
		"one eye": {robot: "pantilt", clock: sim.Fast, openLoop: []bool{false, true}},
		"an arm":  {robot: "so101", clock: sim.Fast},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			robottest.Run(t, b.harness())
		})
	}
	// Where motion time is the wall clock's the suite allows for a machine that stalls.
	t.Run("in time", func(t *testing.T) {
		t.Parallel()
		for _, number := range []int{40, 42, 48} {
			robottest.RunCase(t, board{robot: "pantilt", clock: sim.Real}.harness(), number)
		}
	})
}
