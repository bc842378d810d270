package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/robottest"
	"github.com/tau-robot/tau/sim"
)

// setup is how one robot is put to the suite.
type setup struct {
	robot string
	clock sim.Clock
	hooks bool // motion time is held while something is done in mid-motion
	noise sim.Noise
}

// target is where a robot goes from home, on a straight line in joint space.
func target(t *testing.T, m *robot.Model) []float64 {
	by := map[string]map[string]float64{
		"so101":   {"shoulder_pan": 0.8, "wrist_flex": -0.3, "gripper": 0.4},
		"panda":   {"panda_joint1": 0.8, "panda_joint4": 0.3},
		"ur5e":    {"shoulder_pan_joint": 0.8, "elbow_joint": -0.3, "wrist_3_joint": 0.5},
		"pantilt": {"pan": 0.8, "tilt": 0.3},
		"gantry":  {"x": 0.25, "y": -0.1, "z": -0.05},
		"rover":   {"x": 0.231, "left_wheel": 7, "right_wheel": 7},
	}[m.Name]
	require.NotEmpty(t, by, "a robot that is built in has a target here: %s", m.Name)
	to := append([]float64(nil), m.Home...)
	for name, d := range by {
		i := m.ActiveIndex(name)
		require.GreaterOrEqual(t, i, 0, name)
		to[i] += d
	}
	return to
}

func (s setup) fixture(t *testing.T, unreferenced []bool) robottest.Fixture {
	m, err := builtin.Load(s.robot)
	require.NoError(t, err)
	r, err := sim.New(sim.Options{Model: m, Clock: s.clock, Seed: 1, Noise: s.noise, Unreferenced: unreferenced})
	require.NoError(t, err)
	inject := func(f sim.Fault) { require.NoError(t, r.Inject(f)) }
	f := robottest.Fixture{
		Backend: r, Model: m, Target: target(t, m), Tolerance: 4e-3 + 10*s.noise.Position, MaxDeviation: 0.1,
		// One step until the brake begins, and the servo's lag of 7 ms.
		Lag:       0.012,
		Freeze:    func() { inject(sim.Fault{Kind: sim.FaultFreeze}) },
		Unplug:    func() { inject(sim.Fault{Kind: sim.FaultDisconnect}) },
		Block:     func(j int) { inject(sim.Fault{Kind: sim.FaultStuck, Joint: m.JointNames()[j]}) },
		TorqueOff: true,
	}
	if m.Joints[m.Active[0]].Type == robot.Prismatic && m.Base == nil {
		f.Tolerance, f.MaxDeviation = 1e-3, 0.02 // metres
	}
	if s.hooks {
		f.AtMotionTime = r.AtMotionTime
	} else {
		f.Lag += 0.05 // a stop from Progress may be that late
	}
	return f
}

func (s setup) harness(t *testing.T) robottest.Harness {
	h := robottest.Harness{Bubble: !s.hooks, New: func(t *testing.T) robottest.Fixture { return s.fixture(t, nil) }}
	m, err := builtin.Load(s.robot)
	require.NoError(t, err)
	if len(m.References) > 0 {
		unknown := make([]bool, m.DoF())
		for _, ref := range m.References {
			unknown[ref.Joint] = true
		}
		h.Unreferenced = func(t *testing.T) robottest.Fixture { return s.fixture(t, unknown) }
	}
	return h
}

// TestConformance puts every built-in robot to the suite, and the first one on the
// wall clock and with noise, too.
func TestConformance(t *testing.T) {
	for _, name := range builtin.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			robottest.Run(t, setup{robot: name, clock: sim.Fast, hooks: true}.harness(t))
		})
	}
	first := builtin.Names()[0]
	t.Run("real", func(t *testing.T) { robottest.Run(t, setup{robot: first, clock: sim.Real}.harness(t)) })
	t.Run("noisy", func(t *testing.T) {
		robottest.Run(t, setup{robot: first, clock: sim.Fast, hooks: true, noise: sim.Noise{Position: 2e-4, Velocity: 1e-3}}.harness(t))
	})
}

func oneCase(t *testing.T, number int, robots ...string) {
	for _, name := range robots {
		t.Run(name, func(t *testing.T) {
			robottest.RunCase(t, setup{robot: name, clock: sim.Fast, hooks: true}.harness(t), number)
		})
	}
}

// The cases of the public bug reports that the suite proves, by number.
func TestCase37_AStopThatIsNotSentIsNotCommanded(t *testing.T) { oneCase(t, 37, "so101") }
func TestCase38_AStopWinsOverWhatIsBeingStarted(t *testing.T)  { oneCase(t, 38, "so101") }
func TestCase40_ACancelIsAControlledStop(t *testing.T)         { oneCase(t, 40, "so101") }
func TestCase41_AResetEnablesAndStartsNothing(t *testing.T)    { oneCase(t, 41, "so101") }
func TestCase43_ASecondStartIsBusy(t *testing.T)               { oneCase(t, 43, "so101") }
func TestCase44_AFaultEndsTheMotionForGood(t *testing.T)       { oneCase(t, 44, "so101") }
func TestCase45_NonsenseIsNoTarget(t *testing.T)               { oneCase(t, 45, "so101") }
func TestCase47_RadiansAndMetresEverywhere(t *testing.T)       { oneCase(t, 47, builtin.Names()...) }
func TestCase48_AResultIsMeasuredNotEchoed(t *testing.T)       { oneCase(t, 48, "so101") }
