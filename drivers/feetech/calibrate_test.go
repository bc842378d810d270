package feetech_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/drivers/feetech/sts"
	"github.com/tau-robot/tau/robot"
)

func (b *bench) dialAt(_ context.Context, baud int) (feetech.Port, error) {
	l, err := b.line.DialAt(baud)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (b *bench) calibrator(t testing.TB, ids ...int) *feetech.Calibrator {
	t.Helper()
	c, _, err := feetech.OpenCalibrator(context.Background(), feetech.CalibratorOptions{
		Driver: b.o.Hardware.Driver, Port: "the bus", Baud: b.o.Hardware.Baud, IDs: ids, Dial: b.o.Dial,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// What opens a servo's memory is answered by its lock, also where nobody heard that it was
// opened.
func TestAMemoryIsNotLeftOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		c := b.calibrator(t, 1, 2, 3, 4, 5, 6)
		lock := sts.Lock.Addr
		opened, deaf := false, false
		b.on.Store(&hooks{
			before: func(i bus.Instruction) {
				if i.Op == bus.Write && i.Addr == lock {
					opened = i.Data[0] == 0
				}
				deaf = opened && i.Op == bus.Read
			},
			after: func(came []byte) []byte {
				if deaf {
					return nil
				}
				return came
			},
		})
		for name, do := range map[string]func() error{
			"an offset": func() error { return c.SetOffset(1, 5) },
			"an ID":     func() error { return c.SetID(context.Background(), 1, 9) },
		} {
			err := do()
			require.ErrorContains(t, err, "servo 1", name)
			v, err := b.line.Register(1, int(lock))
			require.NoError(t, err)
			require.Equal(t, uint32(1), v, "%s: its memory is left open", name)
		}
		id, err := b.line.Register(1, int(sts.ID.Addr))
		require.NoError(t, err)
		require.Equal(t, uint32(1), id)
	})
}

// A scan finds who is there, at whatever speed, and changes nothing.
func TestScan(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		found, err := feetech.Scan(context.Background(), feetech.ScanOptions{Driver: b.o.Hardware.Driver, Port: "the bus", DialAt: b.dialAt})
		require.NoError(t, err)
		require.Len(t, found, len(b.o.Hardware.Joints))
		for i, d := range found {
			j := &b.o.Hardware.Joints[i]
			require.Equal(t, j.Channel, d.ID)
			require.Equal(t, 1000000, d.Baud)
			require.Equal(t, j.Offset, d.Offset)
			require.True(t, d.Known)
			require.Empty(t, d.Trouble)
			require.Contains(t, []string{"STS3215", "XL430-W250"}, d.Model)
			require.NotEmpty(t, d.Firmware)
			require.InDelta(t, b.volts, d.Voltage, 0.06)
			require.InDelta(t, 25, d.Temperature, 1)
			require.False(t, d.Powered)
			require.InDelta(t, j.Units(b.observe()[i]), d.Ticks, 1)
		}
		for _, p := range b.trace.Packets() {
			require.False(t, wrote(p))
		}

		// Two with one ID are said to be two, and one that isn't there isn't.
		must(t, b.line.Rename(b.id(1), b.id(0)))
		found, err = feetech.Scan(context.Background(), feetech.ScanOptions{Driver: b.o.Hardware.Driver, Port: "the bus", DialAt: b.dialAt, Bauds: []int{1000000}, IDs: []int{1, 2, 9}})
		require.NoError(t, err)
		require.Len(t, found, 1)
		require.True(t, found[0].Shared)
		require.Contains(t, found[0].Trouble, "two devices may share this ID")

		// Nobody is there: no error, and nobody.
		b.line.PowerCut()
		found, err = feetech.Scan(context.Background(), feetech.ScanOptions{Driver: b.o.Hardware.Driver, Port: "the bus", DialAt: b.dialAt, IDs: []int{1}})
		require.NoError(t, err)
		require.Empty(t, found)

		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = feetech.Scan(ctx, feetech.ScanOptions{Driver: b.o.Hardware.Driver, Port: "the bus", DialAt: b.dialAt})
		require.Equal(t, robot.CodeCancelled, robot.CodeOf(err))
	})
	for _, o := range []feetech.ScanOptions{{Driver: "mcu"}, {Driver: "feetech", IDs: []int{254}}, {Driver: "dynamixel", IDs: []int{-1}}} {
		_, err := feetech.Scan(context.Background(), o)
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err))
	}
}

// The offset that takes the seam out of a joint's range is kept in the servo, in a memory
// that is locked again.
func TestAnOffsetMovesTheSeamOutOfARange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		c := b.calibrator(t, 1, 2, 3, 4, 5, 6)
		// From 3000 across the seam to 5250 the encoder's middle is 4125, which is to be read
		// as 2048, nearly: by -2019, since 2077 doesn't fit.
		const offset = -2019
		must(t, c.SetOffset(1, offset))
		for _, at := range []struct{ encoder, want float64 }{{3000, 923}, {4095, 2018}, {4097, 2020}, {5250, 3173}} {
			must(t, b.line.ByHand(1, (at.encoder-feetech.Turn/2)/perRadian))
			time.Sleep(10 * time.Millisecond)
			all, err := c.Ticks()
			require.NoError(t, err)
			require.Len(t, all, 6)
			require.NoError(t, all[0].Err)
			require.False(t, all[0].Powered)
			require.InDelta(t, at.want, all[0].Ticks, 1)
		}
		// It is there after the power was off, and the memory is locked.
		b.line.PowerCut()
		b.line.PowerBack()
		time.Sleep(time.Second)
		v, err := b.line.Register(1, 31)
		require.NoError(t, err)
		require.Equal(t, b.offsetValue(offset), v)
		v, err = b.line.Register(1, 55)
		require.NoError(t, err)
		require.Equal(t, uint32(1), v)
	})
}

// What a servo's memory is written with lies between an unlocking and a locking, once, and
// nothing else of it is touched.
func TestCalibratingUnlocksForOneWrite(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		c := b.calibrator(t)
		b.trace.Reset()
		must(t, c.SetOffset(1, 77))
		must(t, c.SetLimits(1, 700, 3300))
		var at []uint16
		for _, p := range b.trace.Packets() {
			if p.FromHost && p.Op == bus.Write {
				require.Equal(t, byte(1), p.ID)
				at = append(at, p.Addr)
			}
			require.False(t, p.FromHost && p.Op == bus.SyncWrite)
		}
		if b.kind == emulator.STS3215 {
			require.Equal(t, []uint16{55, 31, 55, 55, 9, 55, 55, 11, 55}, at)
		} else {
			require.Equal(t, []uint16{20, 52, 48}, at)
		}
		found, err := feetech.Scan(context.Background(), feetech.ScanOptions{Driver: b.o.Hardware.Driver, Bauds: []int{1000000}, IDs: []int{1}, Port: "the bus",
			DialAt: func(context.Context, int) (feetech.Port, error) {
				return nil, robot.Errf(robot.CodeBusy, "line", "taken")
			}})
		require.Equal(t, robot.CodeBusy, robot.CodeOf(err))
		require.Empty(t, found)
	})
}

func TestCalibratorRefuses(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		c := b.calibrator(t)
		b.trace.Reset()
		most := 2047
		if b.kind == emulator.XL430 {
			most = 1024
		}
		for _, offset := range []int{most + 1, -most - 1, 2048, -2048, 4096, math.MaxInt32} {
			require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(c.SetOffset(1, offset)), "%d", offset)
		}
		for _, l := range [][2]int{{-1, 100}, {100, 100}, {200, 100}, {0, 4096}} {
			require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(c.SetLimits(1, l[0], l[1])), "%v", l)
		}
		for _, id := range []int{-1, 254, 300} {
			require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(c.SetOffset(id, 0)), "%d", id)
			require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(c.SetID(context.Background(), 1, id)), "%d", id)
		}
		require.Error(t, c.SetID(context.Background(), 1, 1))
		require.ErrorContains(t, c.SetID(context.Background(), 1, 2), "a servo has the ID 2 already")
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(c.SetID(context.Background(), 9, 10)))
		require.Error(t, c.SetOffset(9, 0), "nobody has that ID")
		for _, p := range b.trace.Packets() {
			require.False(t, p.FromHost && p.Op == bus.Write && p.ID == 1, "nothing was written")
		}
		// One that has torque isn't set up.
		b.register(t, 1, int(b.torque()), 1)
		require.Equal(t, robot.CodeBusy, robot.CodeOf(c.SetOffset(1, 5)))
		all, err := c.Ticks()
		require.NoError(t, err)
		require.True(t, all[0].Powered)
		require.NoError(t, c.Release())
		require.False(t, b.line.Powered(1))
		require.NoError(t, c.SetOffset(1, 5))
	})
}

// A lost answer hides no servo that is named.
func TestNamedServosAreAskedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		ids := make([]int, len(b.o.Hardware.Joints))
		for i := range ids {
			ids[i] = b.o.Hardware.Joints[i].Channel
		}
		for n := 3; n <= 12; n++ {
			b.line.Drop(n)
			c := b.calibrator(t, ids...)
			require.NoError(t, c.Close())
		}
	})
}

// An ID is given to a servo that is the only one with it, and only to one.
func TestSetID(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		c := b.calibrator(t)
		ctx := context.Background()
		must(t, c.SetID(ctx, 2, 9))
		all, err := c.Ticks()
		require.NoError(t, err)
		require.Equal(t, 9, all[len(all)-1].ID)
		require.NoError(t, all[len(all)-1].Err)
		must(t, c.SetID(ctx, 9, 2))
		require.NoError(t, c.Close())

		must(t, b.line.Rename(2, 1))
		_, found, err := feetech.OpenCalibrator(ctx, feetech.CalibratorOptions{Driver: b.o.Hardware.Driver, Port: "the bus", Baud: 1000000, Dial: b.o.Dial})
		require.ErrorContains(t, err, "two devices may share")
		require.NotEmpty(t, found)
		// One is unplugged, the other gets another ID.
		must(t, b.line.Detach(2, true))
		c = b.calibrator(t)
		must(t, c.SetID(ctx, 1, 7))
		must(t, b.line.Detach(2, false))
		must(t, c.SetID(ctx, 1, 2))
		must(t, c.SetID(ctx, 7, 1))
	})
}

// Both with the ID get what is written to it: so it is refused as long as there are two.
func TestSetIDOfTwoServosIsRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		c := b.calibrator(t)
		must(t, b.line.Rename(2, 1))
		b.trace.Reset()
		err := c.SetID(context.Background(), 1, 9)
		require.ErrorContains(t, err, "two devices may share the ID 1")
		for _, p := range b.trace.Packets() {
			require.False(t, wrote(p))
		}
	})
}

func TestOpenCalibratorRefuses(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		o := feetech.CalibratorOptions{Driver: b.o.Hardware.Driver, Port: "the bus", Baud: 1000000, Dial: b.o.Dial}
		for name, change := range map[string]func(*feetech.CalibratorOptions){
			"another driver": func(o *feetech.CalibratorOptions) { o.Driver = "mcu" },
			"no ID":          func(o *feetech.CalibratorOptions) { o.IDs = []int{400} },
			"one that isn't": func(o *feetech.CalibratorOptions) { o.IDs = []int{1, 30} },
			"no speed":       func(o *feetech.CalibratorOptions) { o.Baud = 0 },
		} {
			changed := o
			change(&changed)
			_, _, err := feetech.OpenCalibrator(context.Background(), changed)
			require.NotEmpty(t, robot.CodeOf(err), name)
		}
		b.line.PowerCut()
		_, _, err := feetech.OpenCalibrator(context.Background(), o)
		require.ErrorContains(t, err, "no servo answers")
		l, err := b.line.Dial()
		require.NoError(t, err, "nothing is open")
		require.NoError(t, l.Close())
	})
}
