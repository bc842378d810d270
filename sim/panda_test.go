package sim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/robottest"
	"github.com/tau-robot/tau/sim"
)

// The heavy arm passes the same suite as the small one.
func TestConformancePanda(t *testing.T) {
	robottest.Run(t, robottest.Harness{Bubble: true, New: func(t *testing.T) robottest.Fixture {
		m, err := builtin.Load("panda")
		require.NoError(t, err)
		r, err := sim.New(sim.Options{Model: m, Clock: sim.Fast, Seed: 1})
		require.NoError(t, err)
		to := append([]float64(nil), m.Home...)
		to[0], to[3] = 0.8, to[3]+0.3
		return robottest.Fixture{
			Backend: r, Target: to, Tolerance: 4e-3, MaxDeviation: 0.1, Lag: 0.012,
			Freeze:       func() { require.NoError(t, r.Inject(sim.Fault{Kind: sim.FaultFreeze})) },
			Unplug:       func() { require.NoError(t, r.Inject(sim.Fault{Kind: sim.FaultDisconnect})) },
			Block:        func(j int) { require.NoError(t, r.Inject(sim.Fault{Kind: sim.FaultStuck, Joint: m.JointNames()[j]})) },
			TorqueOff:    true,
			AtMotionTime: r.AtMotionTime,
		}
	}})
}
