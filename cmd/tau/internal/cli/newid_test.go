package cli

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/calibrate"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// line is an emulated bus of one make.
type line struct {
	*emulator.Bus
	driver string
	id     int // the address of the register that has the ID
	trace  *emulator.Recorder
}

func (l *line) options() feetech.CalibratorOptions {
	return feetech.CalibratorOptions{Driver: l.driver, Port: "bus", Baud: 1000000, Dial: func(context.Context) (feetech.Port, error) { return l.Dial() }}
}

// onlyAsked wants that nothing was written to any servo.
func (l *line) onlyAsked(t *testing.T) {
	t.Helper()
	for _, p := range l.trace.Packets() {
		require.NotContains(t, []bus.Op{bus.Write, bus.SyncWrite, bus.Reboot}, p.Op)
	}
}

// lines runs a test on a bus of each make, in simulated time.
func lines(t *testing.T, ids []byte, f func(t *testing.T, l *line)) {
	t.Helper()
	for _, l := range []line{{driver: hardware.DriverFeetech, id: 5}, {driver: hardware.DriverDynamixel, id: 7}} {
		kind := emulator.STS3215
		if l.driver == hardware.DriverDynamixel {
			kind = emulator.XL430
		}
		t.Run(l.driver, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l.trace = &emulator.Recorder{}
				var err error
				l.Bus, err = emulator.New(emulator.Options{Kind: kind, IDs: ids, Trace: l.trace.Add})
				require.NoError(t, err)
				f(t, &l)
			})
		})
	}
}

// The one servo of a line gets another ID and keeps it; nothing else of it changes, and
// asked for again it is done already.
func TestOneServoGetsAnotherID(t *testing.T) {
	lines(t, []byte{1}, func(t *testing.T, l *line) {
		said, err := renumber(t.Context(), l.options(), 6)
		require.NoError(t, err)
		require.Equal(t, "The servo with the ID 1 has the ID 6 from now on.\n", said)
		l.PowerCut()
		l.PowerBack()
		time.Sleep(time.Second)
		v, err := l.Register(1, l.id) // of the servo that was made with the ID 1
		require.NoError(t, err)
		require.EqualValues(t, 6, v)
		require.Len(t, l.trace.Writes(uint16(l.id), 1), 1)

		l.trace.Reset()
		said, err = renumber(t.Context(), l.options(), 6)
		require.NoError(t, err)
		require.Equal(t, "The servo has the ID 6 already.\n", said)
		l.onlyAsked(t)
	})
}

// A servo that was given an ID higher than those of a kit is found, and gets back.
func TestAServoWithAHighIDIsFoundAgain(t *testing.T) {
	lines(t, []byte{1}, func(t *testing.T, l *line) {
		_, err := renumber(t.Context(), l.options(), 200)
		require.NoError(t, err)
		said, err := renumber(t.Context(), l.options(), 2)
		require.NoError(t, err)
		require.Contains(t, said, "The servo with the ID 200 has the ID 2")
	})
}

// Where there isn't one servo alone, or it can't be written, nothing is written.
func TestAnIDIsGivenToOneLimpServoAlone(t *testing.T) {
	for name, c := range map[string]struct {
		ids    []byte
		change func(t *testing.T, l *line)
		want   string
		status exit.Status
	}{
		"two":    {[]byte{1, 2}, func(*testing.T, *line) {}, "2 servos answer; connect the one that is to have the ID 3 alone", exit.Calls},
		"clash":  {[]byte{1, 2}, func(t *testing.T, l *line) { require.NoError(t, l.Rename(2, 1)) }, "two devices may share this ID", exit.Calls},
		"nobody": {[]byte{1}, func(_ *testing.T, l *line) { l.PowerCut() }, "no servo answers at 1000000 bit/s: is its supply on", exit.Bridge},
		"torque": {[]byte{1}, func(t *testing.T, l *line) {
			addr := 40
			if l.driver == hardware.DriverDynamixel {
				addr = 64
			}
			require.NoError(t, l.SetRegister(1, addr, 1))
		}, "has torque: switch its supply off and on", exit.Calls},
		"another model": {[]byte{1}, func(t *testing.T, l *line) {
			addr, model := 3, uint32(5)
			if l.driver == hardware.DriverDynamixel {
				addr, model = 0, 12
			}
			require.NoError(t, l.SetRegister(1, addr, model))
		}, "has other registers", exit.Calls},
		"unplugged": {[]byte{1}, func(_ *testing.T, l *line) { l.Unplug() }, "unplugged", exit.Bridge},
	} {
		t.Run(name, func(t *testing.T) {
			lines(t, c.ids, func(t *testing.T, l *line) {
				c.change(t, l)
				_, err := renumber(t.Context(), l.options(), 3)
				require.ErrorContains(t, err, c.want)
				require.Equal(t, c.status, exit.StatusOf(err))
				l.onlyAsked(t)
			})
		})
	}
}

// Ctrl-C while servos are looked for ends that before anything is written.
func TestCtrlCWhileAServoIsLookedFor(t *testing.T) {
	lines(t, []byte{31}, func(t *testing.T, l *line) {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := renumber(ctx, l.options(), 3)
		require.Equal(t, robot.CodeCancelled, robot.CodeOf(err), "%v", err)
		l.onlyAsked(t)
	})
}

// What the doctor is told of servos is what they say of themselves, also of one whose ID
// is none of a kit's; and it only asks.
func TestADoctorAsksServosThatAnswer(t *testing.T) {
	lines(t, []byte{1, 3, 77}, func(t *testing.T, l *line) {
		require.NoError(t, l.SetOffset(3, 40))
		require.NoError(t, l.Heat(3, 44))
		l.Voltage(11.5)
		dial := l.options().Dial
		speeds := []int{}
		ask := busOf(feetech.ScanOptions{Driver: l.driver, Port: "bus", DialAt: func(ctx context.Context, baud int) (feetech.Port, error) {
			if speeds = append(speeds, baud); baud != 1000000 {
				return l.DialAt(baud)
			}
			return dial(ctx)
		}})
		servos, err := ask(t.Context(), 1000000, []int{3, 77, 78})
		require.NoError(t, err)
		require.Len(t, servos, 3)
		for i, id := range []int{1, 3, 77} {
			s := servos[i]
			require.Equal(t, id, s.ID)
			require.True(t, s.Known)
			require.Contains(t, []string{"STS3215", "XL430-W250"}, s.Model)
			require.NotEmpty(t, s.Firmware)
			require.InDelta(t, 11.5, s.Voltage, 0.06)
			require.False(t, s.Shared || s.Powered)
			require.Empty(t, s.Trouble)
			require.Equal(t, 4095, s.High)
		}
		require.Equal(t, 40, servos[1].Offset)
		require.InDelta(t, 44, servos[1].Temperature, 1)

		// At another speed nobody is there, and that is no error.
		servos, err = ask(t.Context(), 57600, []int{3, 77})
		require.NoError(t, err)
		require.Empty(t, servos)
		require.Subset(t, speeds, []int{1000000, 57600})
		time.Sleep(time.Second) // what servos took for the beginning of a packet is forgotten

		// Two with one ID, one that is set up for something else, a line that is lost.
		require.NoError(t, l.Rename(77, 3))
		mode := map[string]int{hardware.DriverFeetech: 33, hardware.DriverDynamixel: 11}[l.driver]
		require.NoError(t, l.SetRegister(1, mode, 1))
		servos, err = ask(t.Context(), 1000000, nil)
		require.NoError(t, err)
		require.Len(t, servos, 2)
		require.Contains(t, servos[0].Trouble, "operating mode is 1")
		require.True(t, servos[1].Shared)
		l.onlyAsked(t)
		l.Unplug()
		_, err = ask(t.Context(), 1000000, nil)
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
	})
}

// A bus on which nobody answers is asked in seconds, at all speeds together.
func TestADoctorIsDoneWithASilentBusInSeconds(t *testing.T) {
	lines(t, []byte{1}, func(t *testing.T, l *line) {
		l.PowerCut()
		ask := busOf(feetech.ScanOptions{Driver: l.driver, Port: "bus", DialAt: func(_ context.Context, baud int) (feetech.Port, error) { return l.DialAt(baud) }})
		began := time.Now()
		for _, baud := range hardware.Bauds(l.driver) {
			servos, err := ask(t.Context(), baud, nil)
			require.NoError(t, err)
			require.Empty(t, servos)
		}
		require.Less(t, time.Since(began), 15*time.Second)
	})
}

// The servos of an arm may have any ID that its file may name, and what else hangs on the bus
// is nobody's business: it isn't touched, whatever it is.
func TestAHandBusIsOfTheArmAlone(t *testing.T) {
	lines(t, []byte{40, 2, 9}, func(t *testing.T, l *line) {
		model := map[string]int{hardware.DriverFeetech: 3, hardware.DriverDynamixel: 0}[l.driver]
		require.NoError(t, l.SetRegister(9, model, 5)) // one that nobody knows
		b := &handBus{o: l.options(), ids: []int{40, 2}}
		found, err := b.Scan(t.Context())
		require.NoError(t, err)
		require.Len(t, found, 3)
		l.trace.Reset()
		into := make([]calibrate.Reading, 2)
		require.NoError(t, b.Read(t.Context(), b.ids, into))
		require.NoError(t, into[0].Err)
		require.NoError(t, into[1].Err)
		require.NoError(t, b.PowerOff(t.Context(), b.ids))
		for _, p := range l.trace.Packets() {
			require.NotEqual(t, byte(9), p.ID)
		}
		require.NoError(t, b.Close())
	})
}

// A servo that the driver wouldn't move is named before the work of calibrating it.
func TestAServoThatIsSetUpForSomethingElseIsNotCalibrated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := walk(t, func(b *emulator.Bus) { require.NoError(t, b.SetRegister(2, 33, 1)) }, 0.5, 0.6)
		<-w.done
		require.Equal(t, robot.CodeNotSupported, robot.CodeOf(w.err))
		require.ErrorContains(t, w.err, "tilt")
		require.ErrorContains(t, w.err, "operating mode is 1")
		w.says("Nothing was written.")
	})
}
