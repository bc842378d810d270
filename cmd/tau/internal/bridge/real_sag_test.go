package bridge

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
	"github.com/tau-robot/tau/sim"
)

// so101OnABus makes a setup's real robot an SO-101 on a servo bus.
func so101OnABus(t *testing.T) func(*Setup) {
	t.Helper()
	data, err := os.ReadFile("../../../../testdata/hardware/so101-feetech.toml")
	require.NoError(t, err)
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	f, err := hardware.Parse("so101-feetech.toml", data, m, time.Now())
	require.NoError(t, err)
	m, err = f.Tightened(m)
	require.NoError(t, err)
	return func(s *Setup) {
		s.Model = m
		s.Real = &Real{Driver: "feetech", Port: devicePort, File: f, Open: func(context.Context, *slog.Logger) (robot.Backend, error) {
			d := &device{}
			var err error
			if d.Robot, err = sim.New(sim.Options{Model: m, Scene: &robot.Scene{}, Clock: sim.Fast, Now: time.Now, Disabled: true}); err != nil {
				return nil, err
			}
			d.info = d.Robot.Info()
			d.info.Backend, d.info.Mode, d.info.Port, d.info.Calibration = "feetech", robot.ModeReal, devicePort, f.Hash()
			return d, nil
		}}
	}
}

// The card of a real robot's torque_off says what drops, and by how far in the simulator.
func TestARealRobotsTorqueOffSaysHowFarItDrops(t *testing.T) {
	h, _, script := startReal(t, sim.Fast, so101OnABus(t), gatetest.Approve(), gatetest.Approve())
	require.Equal(t, gate.StatusOK, callIn(h, "cell", "torque_on", "{}").Status)
	require.Equal(t, gate.StatusOK, callIn(h, "cell", "torque_off", "{}").Status)
	require.Equal(t, "feetech", script.Requests()[1].Session.Backend)
	var facts strings.Builder
	for _, f := range script.Requests()[1].Card.Facts {
		facts.WriteString(f.Label + ": " + f.Text + "\n")
	}
	require.Contains(t, facts.String(), "Warning: the arm sinks under its own weight")
	require.Regexp(t, `In the rehearsal: sinks within [0-9.]+ s in tau-sim[^:]*: .*shoulder_lift by -?[0-9.]+ rad.*; the tool by [0-9.]+ m`, facts.String())
}
