package feetech_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/drivers/feetech/dxl"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// What Open refuses in plain words, with the joint, and with no byte that changes anything.
func TestOpenRefusesServosThatAreSetUpOtherwise(t *testing.T) {
	for _, c := range []struct {
		name  string
		arm   arm
		set   func(t *testing.T, b *bench)
		code  robot.Code
		says  []string
		joint string
	}{
		{"another offset", so101(), func(t *testing.T, b *bench) { b.register(t, 2, 31, 1020) },
			robot.CodeNotCalibrated, []string{"1020", "1021", "calibrate again"}, "shoulder_lift"},
		{"narrower limits", so101(), func(t *testing.T, b *bench) { b.register(t, 3, 11, 3000) },
			robot.CodeNotCalibrated, []string{"angle limits", "3000", "3150"}, "elbow_flex"},
		{"counts several turns", so101(), func(t *testing.T, b *bench) { b.register(t, 1, 18, 12|16) },
			robot.CodeNotSupported, []string{"several turns"}, "shoulder_pan"},
		{"a speed of 0 is none", so101(), func(t *testing.T, b *bench) { b.register(t, 1, 18, 4) },
			robot.CodeNotSupported, []string{"speed of 0"}, "shoulder_pan"},
		{"another resolution", so101(), func(t *testing.T, b *bench) { b.register(t, 6, 30, 2) },
			robot.CodeNotSupported, []string{"resolution is 2"}, "gripper"},
		{"says nothing to a write", so101(), func(t *testing.T, b *bench) { b.register(t, 5, 8, 0) },
			robot.CodeNotSupported, []string{"status return level"}, "wrist_roll"},
		{"another model", so101(), func(t *testing.T, b *bench) { b.register(t, 4, 3, 1284) },
			robot.CodeNotSupported, []string{"1284", "other registers"}, "wrist_flex"},
		{"too little voltage", so101(), func(_ *testing.T, b *bench) { b.line.Voltage(4.2) },
			robot.CodeOverload, []string{"too low", "4.2 V", "4.5 V"}, "shoulder_pan"},
		{"too much voltage", so101(), func(_ *testing.T, b *bench) { b.line.Voltage(12) },
			robot.CodeOverload, []string{"too high", "12 V"}, "shoulder_pan"},
		{"one is silent", so101(), func(t *testing.T, b *bench) { must(t, b.line.Detach(4, true)) },
			robot.CodeDisconnected, []string{"servo 4 (wrist_flex)", "doesn't answer and the others do"}, "wrist_flex"},
		{"several are silent", so101(), func(t *testing.T, b *bench) {
			must(t, b.line.Detach(4, true))
			must(t, b.line.Detach(6, true))
		}, robot.CodeDisconnected, []string{"servo 4, 6 (wrist_flex, gripper)"}, "wrist_flex"},
		{"no supply", so101(), func(_ *testing.T, b *bench) { b.line.PowerCut() },
			robot.CodeDisconnected, []string{"no servo answers at 1000000 bit/s", "supply"}, ""},

		{"another offset", pantilt(), func(t *testing.T, b *bench) { b.register(t, 1, 20, uint32(100)) },
			robot.CodeNotCalibrated, []string{"-100", "200", "calibrate again"}, "pan"},
		{"narrower limits", pantilt(), func(t *testing.T, b *bench) { b.register(t, 2, 52, 1300) },
			robot.CodeNotCalibrated, []string{"angle limits", "1300", "1250"}, "tilt"},
		{"another mode", pantilt(), func(t *testing.T, b *bench) { b.register(t, 1, 11, 1) },
			robot.CodeNotSupported, []string{"operating mode is 1"}, "pan"},
		{"counts the other way round", pantilt(), func(t *testing.T, b *bench) { b.register(t, 1, 10, dxl.DriveReverse) },
			robot.CodeNotSupported, []string{"drive mode", "direction = -1"}, "pan"},
		{"follows another motor", pantilt(), func(t *testing.T, b *bench) { b.register(t, 1, 10, dxl.DriveSlave) },
			robot.CodeNotSupported, []string{"drive mode", "another servo"}, "pan"},
		{"a goal switches it on", pantilt(), func(t *testing.T, b *bench) { b.register(t, 1, 10, dxl.DriveWakes|dxl.DriveTimeBased) },
			robot.CodeNotSupported, []string{"drive mode", "power itself at a new goal"}, "pan"},
		{"an old firmware", pantilt(), func(t *testing.T, b *bench) { b.register(t, 1, 6, 37) },
			robot.CodeNotSupported, []string{"firmware 37", "watchdog"}, "pan"},
		{"powers itself", pantilt(), func(t *testing.T, b *bench) { b.register(t, 2, 60, 1) },
			robot.CodeNotSupported, []string{"powers itself"}, "tilt"},
		{"says nothing to a write", pantilt(), func(t *testing.T, b *bench) { b.register(t, 2, 68, 1) },
			robot.CodeNotSupported, []string{"status return level"}, "tilt"},
		{"obeys the other's ID", pantilt(), func(t *testing.T, b *bench) { b.register(t, 2, 12, 1) },
			robot.CodeNotSupported, []string{"secondary ID"}, "tilt"},
		{"another model", pantilt(), func(t *testing.T, b *bench) { b.register(t, 2, 0, 350) },
			robot.CodeNotSupported, []string{"350", "other registers"}, "tilt"},
	} {
		t.Run(c.arm.name+" "+c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := c.arm.bench(t)
				c.set(t, b)
				_, err := feetech.Open(context.Background(), b.o)
				require.Equal(t, c.code, robot.CodeOf(err), "%v", err)
				for _, s := range c.says {
					require.ErrorContains(t, err, s)
				}
				require.ErrorContains(t, err, c.joint)
				for _, p := range b.trace.Packets() {
					require.False(t, wrote(p), "%v at %d", p.Op, p.Addr)
				}
				l, err := b.line.Dial()
				require.NoError(t, err, "nothing is open")
				require.NoError(t, l.Close())
			})
		})
	}
}

// Where no servo answers it is looked for them at the other speeds, and said what to write
// into the file.
func TestOpenSaysAtWhichSpeedServosAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		right := b.o.Hardware.Baud
		b.o.Hardware.Baud = 115200
		at := func(baud int) func(context.Context) (feetech.Port, error) {
			return func(context.Context) (feetech.Port, error) { return b.line.DialAt(baud) }
		}
		b.o.Dial = at(115200)
		_, err := feetech.Open(context.Background(), b.o)
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "no servo answers at 115200 bit/s")
		require.NotContains(t, err.Error(), "but servo", "it can't look without being told how")

		b.o.DialAt = func(ctx context.Context, baud int) (feetech.Port, error) { return at(baud)(ctx) }
		_, err = feetech.Open(context.Background(), b.o)
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "set baud = 1000000 in "+b.file)
		require.Equal(t, 1000000, right)
		b.o.Hardware.Baud, b.o.Dial = right, at(right)
		require.NoError(t, b.open(t).Close())
	})
}

func TestOpenRefusesWhatIsNoServoBus(t *testing.T) {
	m, f := so101().load(t)
	good := feetech.Options{Model: m, Hardware: f, Port: "p", Dial: func(context.Context) (feetech.Port, error) {
		return nil, errors.New("it was opened")
	}}
	for name, change := range map[string]func(o *feetech.Options, f *hardware.File){
		"no model":           func(o *feetech.Options, _ *hardware.File) { o.Model = nil },
		"no file":            func(o *feetech.Options, _ *hardware.File) { o.Hardware = nil },
		"no port":            func(o *feetech.Options, _ *hardware.File) { o.Port = "" },
		"another driver":     func(_ *feetech.Options, f *hardware.File) { f.Driver = "mcu" },
		"no speed":           func(_ *feetech.Options, f *hardware.File) { f.Baud = 0 },
		"too slow":           func(_ *feetech.Options, f *hardware.File) { f.Baud = 38400 },
		"a joint less":       func(_ *feetech.Options, f *hardware.File) { f.Joints = f.Joints[1:] },
		"something beside":   func(_ *feetech.Options, f *hardware.File) { f.Outputs = []hardware.Output{{}} },
		"another kind":       func(_ *feetech.Options, f *hardware.File) { f.Joints[0].Kind = hardware.Servo },
		"not measured":       func(_ *feetech.Options, f *hardware.File) { f.Joints[0].Feedback = hardware.None },
		"no ID":              func(_ *feetech.Options, f *hardware.File) { f.Joints[0].Channel = 254 },
		"an ID twice":        func(_ *feetech.Options, f *hardware.File) { f.Joints[0].Channel = 2 },
		"no direction":       func(_ *feetech.Options, f *hardware.File) { f.Joints[0].Direction = 0 },
		"no scale":           func(_ *feetech.Options, f *hardware.File) { f.Joints[0].Scale = 0 },
		"beyond the seam":    func(_ *feetech.Options, f *hardware.File) { f.Joints[0].TickMax = 4096 },
		"below the seam":     func(_ *feetech.Options, f *hardware.File) { f.Joints[0].TickMin = -1 },
		"no torque":          func(_ *feetech.Options, f *hardware.File) { f.Joints[0].TorqueLimit = 0 },
		"half a turn":        func(_ *feetech.Options, f *hardware.File) { f.Joints[0].Offset = 2048 },
		"limits out of tick": func(_ *feetech.Options, f *hardware.File) { f.Joints[0].TickMax = 2500 },
		"a bound of nothing": func(_ *feetech.Options, f *hardware.File) { f.Joints[0].MaxCurrent = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			o, file := good, *f
			file.Joints = append([]hardware.Joint(nil), f.Joints...)
			o.Hardware = &file
			change(&o, &file)
			_, err := feetech.Open(context.Background(), o)
			require.Contains(t, []robot.Code{robot.CodeInvalidArgument, robot.CodeNotSupported}, robot.CodeOf(err), "%v", err)
		})
	}
	_, err := feetech.Open(context.Background(), good)
	require.ErrorContains(t, err, "it was opened")
}

// A context that ends, or a line that says nothing, ends an opening.
func TestOpenEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		ctx, cancel := context.WithCancel(context.Background())
		dialled := b.o.Dial
		b.o.Dial = func(c context.Context) (feetech.Port, error) {
			time.AfterFunc(50*time.Millisecond, cancel)
			return dialled(c)
		}
		began := time.Now()
		_, err := feetech.Open(ctx, b.o)
		require.Equal(t, robot.CodeCancelled, robot.CodeOf(err), "%v", err)
		require.Less(t, time.Since(began), time.Second)
		l, err := b.line.Dial()
		require.NoError(t, err)
		require.NoError(t, l.Close())
	})
}

// What an arm says of itself.
func TestInfo(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		i := b.open(t).Info()
		require.Equal(t, map[emulator.Kind]string{emulator.STS3215: "feetech", emulator.XL430: "dynamixel"}[b.kind], i.Backend)
		require.Equal(t, "the bus", i.Port)
		require.Equal(t, robot.ModeReal, i.Mode)
		require.True(t, i.MeasuresPosition)
		require.False(t, i.MeasuresEffort)
		require.Nil(t, i.OpenLoop)
		require.Equal(t, 10*time.Millisecond, i.ControlPeriod)
		require.Equal(t, b.o.Hardware.Hash(), i.Calibration)
	})
}
