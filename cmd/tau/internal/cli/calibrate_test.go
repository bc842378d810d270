package cli

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/calibrate"
	"github.com/tau-robot/tau/drivers/feetech"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

// walked is a person who calibrates a pantilt on an emulated bus, in a synctest bubble.
type walked struct {
	t     *testing.T
	bus   *emulator.Bus
	trace *emulator.Recorder
	in    *io.PipeWriter
	stop  context.CancelFunc
	done  chan struct{}
	at    []float64 // rad, of the servos' shafts from the middle of their encoders

	mu   sync.Mutex
	out  strings.Builder
	file []byte
	err  error
}

func (w *walked) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Write(p)
}

// says wants a text among all that was said.
func (w *walked) says(texts ...string) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range texts {
		require.Contains(w.t, w.out.String(), x)
	}
}

func (w *walked) types(line string) {
	w.t.Helper()
	_, err := io.WriteString(w.in, line+"\n")
	require.NoError(w.t, err)
	time.Sleep(time.Second) // of the bubble: scans and writes take their time on the wire
}

// moves turns a servo by hand, slowly, and holds it.
func (w *walked) moves(i int, to float64) {
	w.t.Helper()
	const step = 0.2 // rad in 100 ms
	for w.at[i] != to {
		w.at[i] += min(max(to-w.at[i], -step), step)
		require.NoError(w.t, w.bus.ByHand(byte(i+1), w.at[i]))
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(time.Second)
}

func walk(t *testing.T, change func(b *emulator.Bus), start ...float64) *walked {
	t.Helper()
	w := &walked{t: t, trace: &emulator.Recorder{}, done: make(chan struct{}), at: append([]float64(nil), start...)}
	ids := []byte{1, 2}
	var err error
	w.bus, err = emulator.New(emulator.Options{Kind: emulator.STS3215, IDs: ids, Arm: emulator.NewFree(start...), Trace: w.trace.Add})
	require.NoError(t, err)
	change(w.bus)
	m, err := builtin.Load("pantilt")
	require.NoError(t, err)
	s, err := calibrate.New(calibrate.Options{Model: m, Driver: "feetech", Baud: 1000000, Name: "arm.toml", Now: time.Now()})
	require.NoError(t, err)
	bus := &handBus{ids: s.IDs(), o: feetech.CalibratorOptions{Driver: "feetech", Port: "bus", Baud: 1000000, Dial: func(context.Context) (feetech.Port, error) {
		return w.bus.Dial()
	}}}
	ctx, cancel := context.WithCancel(t.Context())
	w.stop = cancel
	r, in := io.Pipe()
	w.in = in
	go func() {
		defer close(w.done)
		w.err = calibrate.Run(ctx, s, bus, calibrate.Terminal{In: r, Out: w, Paint: true}, func(data []byte) (string, error) {
			w.file = data
			return "", nil
		})
		_ = r.Close()
		require.NoError(t, bus.Close())
	}()
	t.Cleanup(func() { cancel(); _ = in.Close() })
	time.Sleep(2 * time.Second)
	return w
}

// An arm on an emulated bus is calibrated: torque off after a yes, offsets and bounds
// after a yes, the file after a yes, never a goal; and the doctor finds the servos as the
// file has them.
func TestAnArmOnABusIsCalibrated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The seam of servo 1 lies within its range, and servo 2 sits the other way round.
		w := walk(t, func(b *emulator.Bus) { require.NoError(t, b.SetRegister(1, 40, 1)) }, 2.9, -0.4)
		w.says("WITH TORQUE NOW: pan", "type yes to switch the torque off")
		require.True(t, w.bus.Powered(1))
		w.types("yes")
		w.says("Torque is off.")
		require.False(t, w.bus.Powered(1))
		w.types("")
		w.says("Type yes to write them")
		require.Empty(t, w.trace.Writes(31, 2))
		w.types("yes")
		w.says("Written and read back")
		w.types("")
		w.says("Move pan alone")
		w.moves(0, 2.9+0.4)
		w.types("")
		w.says("Move tilt alone")
		w.moves(1, -0.4-0.4)
		w.types("")
		w.says("from one end to the other")
		m, err := builtin.Load("pantilt")
		require.NoError(t, err)
		for _, q := range []float64{m.Limits[0].Lower, m.Limits[0].Upper, 0} {
			w.moves(0, 2.9+q)
		}
		for _, q := range []float64{m.Limits[1].Upper, m.Limits[1].Lower, 0} {
			w.moves(1, -0.4-q)
		}
		require.Empty(t, w.trace.Writes(9, 2))
		w.types("")
		w.says("Type yes to write these ticks")
		require.Nil(t, w.file)
		w.types("yes")
		<-w.done
		require.NoError(t, w.err)

		f, err := hardware.Parse("arm.toml", w.file, m, time.Now())
		require.NoError(t, err)
		require.Equal(t, []float64{1, -1}, []float64{f.Joints[0].Direction, f.Joints[1].Direction})
		for i := range f.Joints {
			j := &f.Joints[i]
			ticks, err := w.bus.Register(byte(i+1), 56) // where it is now: at 0
			require.NoError(t, err)
			require.InDelta(t, 0, j.Position(float64(ticks)), 0.01)
			require.InDelta(t, m.Limits[i].Lower, j.Lower, 0.01)
			require.InDelta(t, m.Limits[i].Upper, j.Upper, 0.01)
			low, err := w.bus.Register(byte(i+1), 9)
			require.NoError(t, err)
			require.InDelta(t, j.TickMin, float64(low), 0)
		}
		require.Empty(t, w.trace.Writes(42, 2), "no goal was ever written")
		require.False(t, w.bus.Powered(1) || w.bus.Powered(2))
	})
}

// Ctrl-C before an answer writes nothing, to a servo or to a file.
func TestCtrlCOnABusWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := walk(t, func(*emulator.Bus) {}, 0.5, 0.5)
		w.types("")
		w.says("Type yes to write them")
		w.stop()
		<-w.done
		require.Equal(t, robot.CodeCancelled, robot.CodeOf(w.err))
		w.says("Nothing was written.")
		require.Nil(t, w.file)
		for addr := range uint16(70) {
			require.Empty(t, w.trace.Writes(addr, 1), "register %d", addr)
		}
	})
}

// Two servos with one ID, and one too few, are named before anything is done.
func TestServosThatAreTwiceOrMissingOnABus(t *testing.T) {
	for name, c := range map[string]struct {
		to   byte
		want string
	}{
		"missing": {7, "ID 2 (tilt) doesn't answer; there is ID 1, 7"},
		"twice":   {1, "more than one servo answers to it"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := walk(t, func(b *emulator.Bus) { require.NoError(t, b.Rename(2, c.to)) }, 0.5, 0.6)
				<-w.done
				require.ErrorContains(t, w.err, c.want)
				require.Empty(t, w.trace.Writes(40, 1))
			})
		})
	}
}
