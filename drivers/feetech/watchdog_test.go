package feetech_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/dxl"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/robot"
)

// What Info says of a watchdog is what the servos were told: of a Feetech's that there is
// none, of a Dynamixel's the time in its register once it has torque.
func TestCase42_InfoSaysWhatTheServosWereTold(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.open(t)
		if b.kind == emulator.STS3215 {
			require.Zero(t, r.Info().Watchdog)
			return
		}
		require.Positive(t, r.Info().Watchdog)
		require.NoError(t, actuate(t, r, robot.TorqueOn))
		for i := range b.o.Hardware.Joints {
			v, err := b.line.Register(b.id(i), int(dxl.BusWatchdog.Addr))
			require.NoError(t, err)
			require.Equal(t, r.Info().Watchdog, time.Duration(v)*dxl.WatchdogUnit*time.Millisecond)
		}
	})
}
