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
	"github.com/tau-robot/tau/drivers/feetech/dxl"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/drivers/feetech/sts"
	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

// body is the arm's, connected, without an engine.
func (b *bench) body(t *testing.T) hosted.Body {
	t.Helper()
	body, err := feetech.NewBody(b.o)
	require.NoError(t, err)
	require.NoError(t, body.Connect(context.Background()))
	t.Cleanup(func() { require.NoError(t, body.Disconnect()) })
	return body
}

// A setpoint that is no number, or beyond the ticks, is refused as a whole: nothing of it
// goes on the wire.
func TestCase45_NoPartOfABadSetpointIsWritten(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		body := b.body(t)
		last := len(b.to()) - 1
		b.trace.Reset()
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 5000, -5000} {
			q := b.to()
			q[last] = bad
			err := body.Write(context.Background(), q)
			require.Contains(t, []robot.Code{robot.CodeInvalidArgument, robot.CodeJointLimit}, robot.CodeOf(err), "%g: %v", bad, err)
			require.ErrorContains(t, err, b.o.Hardware.Joints[last].Name)
			require.Error(t, body.PowerOn(context.Background(), q))
		}
		addr, size := b.goal()
		for _, w := range b.trace.Writes(addr, size) {
			require.NotEqual(t, b.id(last), w.ID)
		}
		require.NoError(t, body.PowerOff(context.Background()))
	})
}

// Whether a setpoint is with the servos is asked of them, and not of what was sent.
func TestConfirmAsksTheServos(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		body, ctx := b.body(t), context.Background()
		require.NoError(t, body.Write(ctx, b.to()))
		yes, err := body.Confirm(ctx, b.to())
		require.NoError(t, err)
		require.Equal(t, robot.Yes, yes)

		q := b.to()
		q[0] += 0.01
		no, err := body.Confirm(ctx, q)
		require.NoError(t, err)
		require.Equal(t, robot.No, no)

		must(t, b.line.Mute(b.id(0), true))
		unknown, err := body.Confirm(ctx, b.to())
		require.NoError(t, err)
		require.Equal(t, robot.Unknown, unknown)

		_, err = body.Set(ctx, 0, 1)
		require.Equal(t, robot.CodeNotSupported, robot.CodeOf(err))
	})
}

// An acknowledgement that is lost is no failure where the servo says that it was done, and
// no write is ever sent twice for it.
func TestALostAcknowledgementIsReadBack(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		body, ctx := b.body(t), context.Background()
		write := false
		b.on.Store(&hooks{
			before: func(i bus.Instruction) { write = i.Op == bus.Write },
			after: func(came []byte) []byte {
				if write {
					return nil
				}
				return came
			},
		})
		b.trace.Reset()
		require.NoError(t, body.PowerOn(ctx, b.observe()))
		b.each(t, func(id byte) error {
			require.True(t, b.line.Powered(id))
			return nil
		})
		addr, size := b.goal()
		require.Len(t, b.trace.Writes(addr, size), len(b.to()), "each goal once")
		require.Len(t, b.trace.Writes(b.torque(), 1), len(b.to()), "each torque once")
		require.NoError(t, body.PowerOff(ctx))
		require.Len(t, b.trace.Writes(b.torque(), 1), 2*len(b.to()))
	})
}

// A servo that doesn't do what it acknowledges gets no torque, and those after it neither.
func TestAServoThatDoesNotTakeItsGoal(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		body, ctx := b.body(t), context.Background()
		addr, _ := b.goal()
		last := b.id(len(b.to()) - 1)
		told := false
		b.on.Store(&hooks{before: func(i bus.Instruction) {
			if i.ID != last {
				return
			}
			if i.Op == bus.Read && told { // the goal is read back, and is another one
				ok(t, b.line.SetRegister(last, int(addr), 2100))
			}
			told = i.Op == bus.Write && i.Addr <= addr && int(addr) < int(i.Addr)+i.Count
		}})
		err := body.PowerOn(ctx, b.observe())
		require.Equal(t, robot.CodeUnknownOutcome, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, b.o.Hardware.Joints[len(b.to())-1].Name)
		require.False(t, b.line.Powered(last))
		require.True(t, b.line.Powered(b.id(0)), "those before it have power, and the next read says so")
		var s hosted.Sample
		require.NoError(t, body.Read(ctx, &s))
		require.True(t, s.Joints[0].Powered)
		require.False(t, s.Joints[len(s.Joints)-1].Powered)
		b.on.Store(nil)
		require.NoError(t, body.PowerOff(ctx))
	})
}

// A limit of the torque is in force before the torque is, and never more than the servo's
// own.
func TestTheTorqueLimitOfTheFile(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		reg, all := int(sts.TorqueLimit.Addr), 1000.0
		if b.kind == emulator.XL430 {
			reg, all = int(dxl.GoalPWM.Addr), 885
		}
		b.enabled(t)
		for i := range b.o.Hardware.Joints {
			v, err := b.line.Register(b.id(i), reg)
			require.NoError(t, err)
			require.InDelta(t, all*b.o.Hardware.Joints[i].TorqueLimit, v, 1)
		}
	})
}

// An error of a Dynamixel that hasn't taken its torque isn't cleared by a reboot that
// would: that is for a person to decide.
func TestAnErrorThatKeepsItsTorqueIsNotRebootedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pantilt().bench(t)
		b.o.Hardware.MinVoltage, b.o.Hardware.MaxVoltage = 0, 0
		b.register(t, 1, int(dxl.Shutdown.Addr), dxl.Overload|dxl.TooHot|dxl.BadElectric)
		b.register(t, 2, int(dxl.Shutdown.Addr), dxl.Overload|dxl.TooHot|dxl.BadElectric)
		r := b.enabled(t)
		got := b.midway(t, r, func() { b.line.Voltage(5.5) })
		b.faulted(t, r, got, robot.CodeOverload, "pan", "supply")
		b.line.Voltage(12)
		b.trace.Reset()
		err := actuate(t, r, robot.EStopReset)
		require.ErrorContains(t, err, "forgets only by a reboot")
		for _, p := range b.trace.Packets() {
			require.NotEqual(t, bus.Reboot, p.Op)
		}
		require.True(t, b.line.Powered(1))
		b.line.PowerCut()
		time.Sleep(2 * time.Second)
		b.line.PowerBack()
		time.Sleep(5 * time.Second)
		b.movesAgain(t, r)
	})
}

// A Dynamixel that stands a little beyond its seam would go round once if it were switched
// on there: it isn't.
func TestNoTorqueBeyondTheSeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pantilt().bench(t)
		j := &b.o.Hardware.Joints[0]
		j.Offset, j.TickMin, j.Lower = -1000, 1000, j.Position(1000)
		b.register(t, 1, int(dxl.HomingOffset.Addr), b.offsetValue(j.Offset))
		body, ctx := b.body(t), context.Background()
		must(t, b.line.ByHand(1, b.shaftAt(j, j.Position(995)))) // 5 ticks below the encoder's 0
		b.trace.Reset()
		err := body.PowerOn(ctx, []float64{j.Position(1000), 0})
		require.Equal(t, robot.CodeNotCalibrated, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "beyond the seam")
		for _, p := range b.trace.Packets() {
			require.False(t, wrote(p))
		}
		must(t, b.line.ByHand(1, b.shaftAt(j, j.Position(1005))))
		require.NoError(t, body.PowerOn(ctx, []float64{j.Position(1005), 0}))
		require.NoError(t, body.PowerOff(ctx))
	})
}

// What was opened is closed by a second Disconnect no more, and one that comes while the
// line is being opened ends that.
func TestDisconnectEndsAConnect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		dialled := b.o.Dial
		var body hosted.Body
		b.o.Dial = func(ctx context.Context) (feetech.Port, error) {
			<-ctx.Done() // a line that takes its time
			return dialled(context.Background())
		}
		body, err := feetech.NewBody(b.o)
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { _ = body.Disconnect() })
		began := time.Now()
		err = body.Connect(context.Background())
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
		require.Equal(t, time.Second, time.Since(began))
		require.NoError(t, body.Disconnect())
		l, err := b.line.Dial()
		require.NoError(t, err, "nothing is left open")
		require.NoError(t, l.Close())
	})
}

// A device that isn't there is said by name, whoever asks for it.
func TestADeviceThatIsNotThere(t *testing.T) {
	m, f := so101().load(t)
	const nowhere = "/nowhere/ttyACM0"
	ctx := context.Background()
	_, err := feetech.Open(ctx, feetech.Options{Model: m, Hardware: f, Port: nowhere})
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, nowhere)
	_, err = feetech.Scan(ctx, feetech.ScanOptions{Driver: "feetech", Port: nowhere})
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
	_, _, err = feetech.OpenCalibrator(ctx, feetech.CalibratorOptions{Driver: "dynamixel", Port: nowhere, Baud: 57600})
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
}
