package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/robottest"
	"github.com/tau-robot/tau/sim"
)

func harness(clock sim.Clock, hooks bool, noise sim.Noise) robottest.Harness {
	return robottest.Harness{Bubble: !hooks, New: func(t *testing.T) robottest.Fixture {
		m, err := builtin.Load("so101")
		require.NoError(t, err)
		r, err := sim.New(sim.Options{Model: m, Clock: clock, Seed: 1, Noise: noise})
		require.NoError(t, err)
		to := append([]float64(nil), m.Home...)
		to[0], to[3], to[5] = 0.8, to[3]-0.3, 0.4
		f := robottest.Fixture{
			Backend: r, Target: to, Tolerance: 4e-3 + 10*noise.Position, MaxDeviation: 0.1,
			// One step until the brake begins, and the servo's lag of 7 ms.
			Lag:       0.012,
			Freeze:    func() { require.NoError(t, r.Inject(sim.Fault{Kind: sim.FaultFreeze})) },
			Unplug:    func() { require.NoError(t, r.Inject(sim.Fault{Kind: sim.FaultDisconnect})) },
			Block:     func(j int) { require.NoError(t, r.Inject(sim.Fault{Kind: sim.FaultStuck, Joint: m.JointNames()[j]})) },
			TorqueOff: true,
		}
		if hooks {
			f.AtMotionTime = r.AtMotionTime
		} else {
			f.Lag += 0.05 // a stop from Progress may be that late
		}
		return f
	}}
}

func TestConformance(t *testing.T) {
	t.Run("fast", func(t *testing.T) { robottest.Run(t, harness(sim.Fast, true, sim.Noise{})) })
	t.Run("real", func(t *testing.T) { robottest.Run(t, harness(sim.Real, false, sim.Noise{})) })
	t.Run("noisy", func(t *testing.T) {
		robottest.Run(t, harness(sim.Fast, true, sim.Noise{Position: 2e-4, Velocity: 1e-3}))
	})
}

func oneCase(t *testing.T, number int) {
	robottest.RunCase(t, harness(sim.Fast, true, sim.Noise{}), number)
}

// The cases of the public bug reports that the suite proves, by number.
func TestCase37_AStopThatIsNotSentIsNotCommanded(t *testing.T) { oneCase(t, 37) }
func TestCase38_AStopWinsOverWhatIsBeingStarted(t *testing.T)  { oneCase(t, 38) }
func TestCase40_ACancelIsAControlledStop(t *testing.T)         { oneCase(t, 40) }
func TestCase41_AResetEnablesAndStartsNothing(t *testing.T)    { oneCase(t, 41) }
func TestCase43_ASecondStartIsBusy(t *testing.T)               { oneCase(t, 43) }
func TestCase44_AFaultEndsTheMotionForGood(t *testing.T)       { oneCase(t, 44) }
func TestCase45_NonsenseIsNoTarget(t *testing.T)               { oneCase(t, 45) }
func TestCase47_RadiansEverywhere(t *testing.T)                { oneCase(t, 47) }
func TestCase48_AResultIsMeasuredNotEchoed(t *testing.T)       { oneCase(t, 48) }
