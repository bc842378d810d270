package feetech_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/robot"
)

// A calibration that is killed before whichever packet leaves a servo that fits the file
// from before, or one that is refused with it: never one that is moved by the wrong file.
// And calibrating again works, and locks the memory.
func TestACalibrationThatIsKilledLeavesNothingThatMovesWrongly(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		ctx := context.Background()
		j := &b.o.Hardware.Joints[0]
		id := b.id(0)
		write := func(c *feetech.Calibrator) error {
			return errors.Join(c.SetOffset(int(id), j.Offset+30), c.SetLimits(int(id), int(j.TickMin)+30, int(j.TickMax)-30))
		}
		stayed, refused := 0, 0
		for kill := 0; ; kill++ {
			b.register(t, id, b.offsetRegister(), b.offsetValue(j.Offset))
			c := b.calibrator(t)
			sent := 0
			b.on.Store(&hooks{before: func(bus.Instruction) {
				if sent == kill {
					b.line.Unplug()
				}
				sent++
			}})
			err := write(c)
			b.on.Store(nil)
			require.NoError(t, c.Close())
			b.line.Plug()
			time.Sleep(time.Second)
			if err == nil {
				break // all of it was sent before
			}
			v, err := b.line.Register(id, b.offsetRegister())
			require.NoError(t, err)
			r, err := feetech.Open(ctx, b.o)
			if v == b.offsetValue(j.Offset) {
				stayed++
				require.NoError(t, err)
				require.NoError(t, r.Close())
				continue
			}
			refused++
			require.Equal(t, robot.CodeNotCalibrated, robot.CodeOf(err), "%v", err)
			c = b.calibrator(t)
			require.NoError(t, c.SetOffset(int(id), j.Offset))
			require.NoError(t, c.SetLimits(int(id), 0, feetech.Turn-1))
			require.NoError(t, c.Close())
			if b.kind == emulator.STS3215 {
				lock, err := b.line.Register(id, 55)
				require.NoError(t, err)
				require.EqualValues(t, 1, lock)
			}
			r, err = feetech.Open(ctx, b.o)
			require.NoError(t, err)
			require.NoError(t, r.Close())
		}
		require.Positive(t, stayed)
		require.Positive(t, refused)
	})
}
