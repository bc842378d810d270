package bus_test

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/bus/bustest"
	"github.com/tau-robot/tau/drivers/feetech/dxl"
	"github.com/tau-robot/tau/robot"
)

func TestPingReadWrite(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		if c().PingParams() > 0 {
			r.servo(2).Ping = []byte{0x24, 0x04, 45}
		}
		p, err := r.bus.Ping(2)
		require.NoError(t, err)
		if c().PingParams() > 0 {
			require.Equal(t, bus.Pong{Model: 1060, Firmware: 45, Named: true}, p)
		} else {
			require.Equal(t, bus.Pong{}, p)
		}
		r.reads(5, 56, 15)
		r.reads(5, 0, 1)
		_, err = r.bus.Write(3, 42, []byte{1, 2, 3, 4})
		require.NoError(t, err)
		r.reads(3, 40, 8)
		require.Equal(t, []byte{1, 2, 3, 4}, r.servo(3).Memory[42:46])

		require.NoError(t, r.bus.SyncWrite(60, 2, []byte{1, 6}, []byte{7, 8, 9, 10}))
		r.reads(6, 60, 2)
		require.Equal(t, []byte{7, 8}, r.servo(1).Memory[60:62])
		var a all
		require.Equal(t, 6, a.read(r, 60))
		a.holds(r, 60)

		n := r.bus.Counters()
		require.Zero(t, n.Stray+n.Damaged+n.Foreign+n.Tries+n.Failed+n.Refused)
	})
}

// The line's own errors are the line's, whatever is under way.
func TestALineThatIsGoneIsNoSilentServo(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		r.servo(4).Mute = true
		for _, do := range []func() error{
			func() error { _, err := r.bus.Ping(4); return err },
			func() error { _, err := r.bus.Read(4, 0, make([]byte, 3)); return err },
			func() error { _, err := r.bus.Write(4, 42, []byte{1}); return err },
			func() error { _, err := r.bus.Reboot(4); return err },
			func() error { return r.bus.SyncWrite(42, 1, ids, ids) },
			func() error {
				_, err := r.bus.SyncRead(0, 1, []byte{4}, make([]byte, 1), make([]byte, 1), make([]error, 1))
				return err
			},
			func() error {
				_, err := r.bus.Scan(t.Context(), bus.ScanOptions{IDs: []byte{4}})
				return err
			},
		} {
			r.line = bustest.NewLine(baud)
			r.line.Answer = r.servos.Answer
			r.open(c, bus.Options{})
			time.AfterFunc(time.Millisecond, func() { _ = r.line.Close() })
			err := do()
			if err == nil { // it waits for nothing
				synctest.Wait()
				time.Sleep(2 * time.Millisecond)
				err = do()
			}
			require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
			require.NotErrorIs(t, err, bus.ErrSilent)
			require.Equal(t, robot.CodeDisconnected, robot.CodeOf(do()))
		}
	})
}

// How long a servo that isn't there takes is known to the bit.
func TestSilenceTakesItsTimeAndNoMore(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		const turnaround, delay = 7 * time.Millisecond, 300 * time.Microsecond
		r := six(t, c, bus.Options{Turnaround: turnaround, ReturnDelay: delay, Tries: 2})
		r.reads(1, 0, 3) // whether the adapter echoes is known from here on
		out, err := c().Append(nil, bus.Instruction{Op: bus.Read, ID: 9, Addr: 0, Count: 4})
		require.NoError(t, err)
		start := time.Now()
		_, err = r.bus.Read(9, 0, make([]byte, 4))
		require.ErrorIs(t, err, bus.ErrSilent)
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(err))
		require.ErrorContains(t, err, "servo 9")
		require.Equal(t, 2*r.bus.Exchange(len(out), 1, 4), time.Since(start))
		// With the stuffing that an answer may have.
		require.Equal(t, r.bus.WireTime(len(out)+c().StatusSize(4)+2)+turnaround+delay, r.bus.Exchange(len(out), 1, 4))

		start = time.Now()
		again := err
		_, err = r.bus.Read(9, 0, make([]byte, 4))
		require.Same(t, again, err) // no garbage
		require.Equal(t, turnaround+2*r.bus.Exchange(len(out), 1, 4), time.Since(start))

		// An answer at the last moment is one.
		s := r.servo(1)
		s.Delay = turnaround + delay
		time.Sleep(time.Second)
		tries := r.bus.Counters().Tries
		r.reads(1, 8, 4)
		require.Equal(t, tries, r.bus.Counters().Tries)
	})
}

// An answer that comes after its time isn't taken for the answer to something else: not
// of the same servo, nor of the same length.
func TestALateAnswerIsNobodysAnswer(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{Turnaround: 10 * time.Millisecond, Tries: 1})
		r.reads(1, 0, 3)
		for late := 10 * time.Millisecond; late < 20*time.Millisecond; late += 610 * time.Microsecond {
			s := r.servo(1)
			s.Delay = late
			_, err := r.bus.Read(1, 20, make([]byte, 4))
			s.Delay = 100 * time.Microsecond
			if err != nil { // damaged, where the time ends within the answer
				require.Equal(t, robot.CodeStaleState, robot.CodeOf(err), "%v", err)
			}
			r.reads(1, 30, 4)

			// Nor is a late acknowledgement that of the next write.
			s.Delay = late
			_, first := r.bus.Write(1, 50, []byte{1})
			s.Delay, s.Mute = 100*time.Microsecond, true
			_, err = r.bus.Write(1, 51, []byte{2})
			s.Mute = false
			require.ErrorIs(t, err, bus.ErrSilent, "%v late, the first: %v", late, first)
			time.Sleep(time.Second)
		}
	})
}

// A read that was tried twice may be answered twice: the second one is in nobody's way.
func TestAnAnswerToTheTryBefore(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{Turnaround: 10 * time.Millisecond})
		r.reads(1, 0, 3)
		for late := 10 * time.Millisecond; late < 20*time.Millisecond; late += 470 * time.Microsecond {
			r.servo(1).Delay = late
			r.mayRead(1, 20, 4) // not where each try ends in the middle of the answer to it
			r.servo(1).Delay = 0
			r.reads(1, 30, 4)
			r.servo(1).Delay = late
			var a all
			a.read(r, 56)
			a.holds(r, 56)
			r.servo(1).Delay = 0
			r.reads(1, 60, 2)
			time.Sleep(time.Second)
		}
		require.Positive(t, r.bus.Counters().Tries)
	})
}

// What is kept without power is written slowly.
func TestAWriteThatIsKeptMayBeLate(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{KeptBelow: 40})
		r.servo(1).Delay = 90 * time.Millisecond
		_, err := r.bus.Write(1, 31, []byte{1, 2})
		require.NoError(t, err)
		_, err = r.bus.Write(1, 40, []byte{1, 2})
		require.ErrorIs(t, err, bus.ErrSilent)
		require.Equal(t, robot.CodeUnknownOutcome, robot.CodeOf(err))
		require.ErrorContains(t, err, "isn't known")
	})
}

func TestWritesThatNobodyAnswers(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		r.reads(1, 0, 3)
		start := time.Now()
		_, err := r.bus.Write(bus.Broadcast, 43, []byte{6})
		require.NoError(t, err)
		require.Zero(t, time.Since(start)) // the line sends meanwhile
		r.reads(2, 42, 2)
		require.Equal(t, byte(6), r.servo(6).Memory[43])

		start = time.Now()
		_, err = r.bus.Reboot(bus.Broadcast)
		require.NoError(t, err)
		require.Zero(t, time.Since(start))
	})
}

// Feetech's servos are gone before they could answer.
func TestReboot(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		r.reads(1, 0, 3)
		r.line.Sent()
		_, err := r.bus.Reboot(1)
		require.NoError(t, err)
		require.Len(t, r.line.Sent(), 1)
		r.servo(1).Mute = true
		_, err = r.bus.Reboot(1)
		require.Len(t, r.line.Sent(), 1) // once, answered or not
		if c().AnswersReboot() {
			require.Equal(t, robot.CodeUnknownOutcome, robot.CodeOf(err))
		} else {
			require.NoError(t, err)
		}
	})
}

func TestRefusedByTheServo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := six(t, dynamixel, bus.Options{})
		r.servo(3).Error = 7
		st, err := r.bus.Write(3, 11, []byte{4})
		require.ErrorIs(t, err, bus.ErrRefused)
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err))
		require.ErrorContains(t, err, "servo 3")
		require.ErrorContains(t, err, "torque")
		require.Equal(t, byte(7), st)
		dst := []byte{9, 9}
		_, err = r.bus.Read(3, 11, dst)
		require.ErrorIs(t, err, bus.ErrRefused)
		require.Equal(t, robot.CodeNotSupported, robot.CodeOf(err))
		require.Equal(t, []byte{9, 9}, dst)
		var a all
		require.Equal(t, 5, a.read(r, 132))
		a.holds(r, 132)
		require.ErrorIs(t, a.errs[2], bus.ErrRefused)
		require.Equal(t, byte(7), a.status[2])

		// The alert bit is a complaint and no refusal.
		r.servo(3).Error = 0x80
		st, err = r.bus.Read(3, 11, dst)
		require.NoError(t, err)
		require.True(t, dxl.Alert(st))
	})
}

func TestWhatCantBeAskedForIsRefused(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		var a all
		for name, err := range map[string]error{
			"nothing to read": func() error { _, err := r.bus.Read(1, 0, nil); return err }(),
			"no such servo":   func() error { _, err := r.bus.Read(bus.Broadcast, 0, make([]byte, 1)); return err }(),
			"short slices":    func() error { _, err := r.bus.SyncRead(0, 2, ids, a.data[:11], a.status[:], a.errs[:]); return err }(),
			"few errors":      func() error { _, err := r.bus.SyncRead(0, 2, ids, a.data[:], a.status[:], a.errs[:5]); return err }(),
			"an ID twice": func() error {
				_, err := r.bus.SyncRead(0, 2, []byte{1, 2, 1}, a.data[:6], a.status[:3], a.errs[:3])
				return err
			}(),
			"nobody":   r.bus.SyncWrite(0, 2, nil, nil),
			"few data": r.bus.SyncWrite(0, 2, ids, a.data[:11]),
		} {
			require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%s: %v", name, err)
		}
		require.Empty(t, r.line.Sent())
		for _, o := range []bus.Options{{}, {Baud: -1}, {Baud: 1, Turnaround: -1}, {Baud: 1, ReturnDelay: -1}, {Baud: 1, Tries: -1}, {Baud: 1, StoreTime: -1}} {
			_, err := bus.New(r.line, c(), o)
			require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%+v", o)
		}
	})
}

// A port that can't say what has come is looked at for a moment before each instruction.
func TestAPlainPort(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		b, err := bus.New(r.line.Plain(), c(), bus.Options{Baud: baud})
		require.NoError(t, err)
		r.bus = b
		r.reads(1, 0, 3)
		r.line.Inject(0, c().AppendStatus(nil, bus.Status{ID: 2, Params: []byte{0, 0, 0, 0}})...)
		time.Sleep(time.Millisecond)
		r.reads(2, 9, 4)
		require.EqualValues(t, c().StatusSize(4), b.Counters().Stray)
	})
}

// A read that returns nothing, and an error that is none of ours.
type oddPort struct {
	bus.Port
	err error
}

func (p oddPort) Read([]byte) (int, error)        { return 0, p.err }
func (p oddPort) SetReadDeadline(time.Time) error { return nil }
func (p oddPort) Write(b []byte) (int, error)     { return len(b), nil }

func TestAnOddPortIsALineThatIsGone(t *testing.T) {
	for _, err := range []error{nil, os.ErrClosed, context.Canceled} {
		b, e := bus.New(oddPort{err: err}, feetech(), bus.Options{Baud: baud, Name: "port x"})
		require.NoError(t, e)
		_, got := b.Ping(1)
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(got))
		require.ErrorContains(t, got, "port x")
		if err != nil {
			require.ErrorIs(t, got, err)
		}
	}
}
