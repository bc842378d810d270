package mcu_test

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/robottest"
)

// The cases of the public bug reports, by number, on this driver. Those that every
// backend is held to are robottest's; what is particular to a board follows.

func oneCase(t *testing.T, number int, rigs ...rig) {
	for _, g := range rigs {
		t.Run(g.board.Map, func(t *testing.T) { robottest.RunCase(t, g.harness(t), number) })
	}
}

func TestCase37_AStopThatIsNotSentIsNotCommanded(t *testing.T)  { oneCase(t, 37, measured()) }
func TestCase38_AStopWinsOverWhatIsBeingStarted(t *testing.T)   { oneCase(t, 38, measured()) }
func TestCase40_ACancelIsAControlledStop(t *testing.T)          { oneCase(t, 40, measured(), eight()) }
func TestCase41_AResetEnablesAndStartsNothing(t *testing.T)     { oneCase(t, 41, measured()) }
func TestCase42_TheBoardsWatchdogStopsIt(t *testing.T)          { oneCase(t, 42, measured()) }
func TestCase43_ASecondStartIsBusy(t *testing.T)                { oneCase(t, 43, measured(), eight()) }
func TestCase44_AFaultEndsTheMotionForGood(t *testing.T)        { oneCase(t, 44, measured()) }
func TestCase45_NonsenseIsNoTarget(t *testing.T)                { oneCase(t, 45, measured()) }
func TestCase48_AResultIsMeasuredNotEchoed(t *testing.T)        { oneCase(t, 48, measured(), servos()) }
func TestCase49_ALostLinkIsUnknownAndNoInvitation(t *testing.T) { oneCase(t, 49, measured()) }
func TestCase50_TheNextBridgeGetsTheRobot(t *testing.T)         { oneCase(t, 50, measured()) }
func TestCase51_EveryAnswerNamesItsBackend(t *testing.T)        { oneCase(t, 51, measured()) }

// inBubble runs a test in simulated time, with the program of the board.
func inBubble(t *testing.T, f func(t *testing.T, bin string)) {
	t.Helper()
	bin := boardtest.HostBuild(t)
	synctest.Test(t, func(t *testing.T) { f(t, bin) })
}

// frames decodes what the board was given.
type frames struct {
	mu  sync.Mutex
	dec wire.Decoder
	all []wire.Frame
}

func (f *frames) take(b []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(b) > 0 {
		n, frame, ok := f.dec.Next(b)
		b = b[n:]
		if ok {
			frame.Payload = append([]byte(nil), frame.Payload...)
			f.all = append(f.all, frame)
		}
	}
}

// of counts the frames of those types.
func (f *frames) of(types ...wire.Type) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for i := range f.all {
		for _, t := range types {
			if f.all[i].Type == t {
				n++
			}
		}
	}
	return n
}

// moving are the frames that move something.
var moving = []wire.Type{wire.TypeEnable, wire.TypeBegin, wire.TypeSegment, wire.TypeGo}

// A port that can't be opened: nothing was ever sent, and Open says so.
func TestCase37_APortThatCannotBeOpened(t *testing.T) {
	o := measured().options(t, "/nowhere/tty")
	cause := errors.New("no such device")
	o.Dial = func(context.Context) (mcu.Port, error) { return nil, cause }
	_, err := mcu.Open(context.Background(), o)
	require.ErrorIs(t, err, cause)
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err))
}

// A stop while the robot is being opened ends that; there is nothing yet that moved.
func TestCase38_AContextThatEndsWhileOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := measured().options(t, "silent")
		here, there := pipe()
		o.Dial = func(context.Context) (mcu.Port, error) { return here, nil }
		ctx, cancel := context.WithCancelCause(context.Background())
		why := errors.New("stopped")
		time.AfterFunc(200*time.Millisecond, func() { cancel(why) })
		began := time.Now()
		_, err := mcu.Open(ctx, o)
		require.ErrorIs(t, err, why)
		require.Equal(t, robot.CodeCancelled, robot.CodeOf(err))
		require.Less(t, time.Since(began), time.Second)
		_, err = there.Read(make([]byte, 1)) // HELLOs, then the line's end
		for err == nil {
			_, err = there.Read(make([]byte, 64))
		}
		require.ErrorIs(t, err, io.EOF)
	})
}

// Stop takes no approval, no torque and no known place: it is sent in every state.
func TestCase39_AStopIsNeverRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		b := servos().newBench(t, bin)
		b.o.At = nil
		var got frames
		b.s.onBoard = got.take
		r := b.open(t)
		for n, kind := range []robot.StopKind{robot.StopControlled, robot.StopEmergency, "nonsense", robot.StopControlled} {
			v := r.Stop(context.Background(), kind)
			require.Equal(t, robot.Yes, v.Commanded, v.Text)
			require.Equal(t, robot.Yes, v.Acknowledged, v.Text)
			require.Equal(t, robot.Unknown, v.Stationary)
			require.Equal(t, n+1, got.of(wire.TypeStop))
			s, err := r.State(context.Background())
			require.NoError(t, err)
			require.Equal(t, uint64(n+1), s.StopEpoch)
			require.Equal(t, n > 0, s.EStopped)
		}
		require.Zero(t, got.of(moving...), "and nothing rides on it")
	})
}

// What isn't finite, or isn't a command, leaves no byte on the wire but heartbeats.
func TestCase45_NonsensePutsNothingOnTheWire(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		b := measured().newBench(t, bin)
		r := b.open(t)
		actuate(t, r, robot.TorqueOn)
		var got frames
		b.s.mu.Lock()
		b.s.onBoard = got.take
		b.s.mu.Unlock()
		for _, q := range []float64{math.NaN(), math.Inf(1), 5000} {
			m := moveTo(t, r, []float64{0.1, 0.1}, 1)
			m.Trajectory.Segments[1].Q[0] = q
			out, err := r.Execute(context.Background(), m, nil)
			require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%v", err)
			require.Equal(t, robot.OutcomeRefused, out.Status)
			_, err = r.Actuate(context.Background(), robot.Command{Kind: robot.SetActuator, Name: "lamp", Value: q})
			require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%v", err)
		}
		_, err := r.Actuate(context.Background(), robot.Command{Kind: "true"})
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err))
		time.Sleep(time.Second)
		require.Positive(t, got.of(wire.TypeHeartbeat))
		require.Equal(t, len(got.all), got.of(wire.TypeHeartbeat), "%v", got.all)
	})
}

// Every joint and the port are given up though one of them fails: the stop that nobody
// answers doesn't keep the port open.
func TestCase50_CloseEndsThePortWhateverFails(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		b := measured().newBench(t, bin)
		r := b.open(t)
		actuate(t, r, robot.TorqueOn)
		b.s.silence()
		require.NoError(t, r.Close())
		b.s.mu.Lock()
		defer b.s.mu.Unlock()
		select {
		case <-b.s.line.closed:
		default:
			require.Fail(t, "the port is still open")
		}
	})
}

// Info names the driver, the port and the mode, and a stop's verdict the backend.
func TestCase51_InfoNamesWhatItIs(t *testing.T) {
	inBubble(t, func(t *testing.T, bin string) {
		b := measured().newBench(t, bin)
		r := b.open(t)
		i := r.Info()
		require.Equal(t, "mcu", i.Backend)
		require.Equal(t, robot.ModeReal, i.Mode)
		require.Equal(t, "simulated line", i.Port)
		require.Equal(t, b.o.Hardware.Hash(), i.Calibration)
		require.True(t, i.EStopPowersOff)
		require.Equal(t, "mcu", r.Stop(context.Background(), robot.StopControlled).Backend)

		other := servos().newBench(t, bin)
		require.NotEqual(t, i.Identity, other.open(t).Info().Identity, "another file is another robot")
	})
}
