package bus_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/bus/bustest"
)

// A setpoint, or a stop's, doesn't wait for what a silent servo may still say.
func TestWhatNobodyAnswersDoesntWait(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		r.reads(1, 0, 3)
		_, err := r.bus.Ping(9)
		require.ErrorIs(t, err, bus.ErrSilent)
		start := time.Now()
		require.NoError(t, r.bus.SyncWrite(42, 1, ids, ids))
		_, err = r.bus.Write(bus.Broadcast, 40, []byte{0})
		require.NoError(t, err)
		require.Zero(t, time.Since(start))
		r.reads(1, 42, 3) // which waits
		require.GreaterOrEqual(t, time.Since(start), 25*time.Millisecond)
	})
}

// What another servo says, and what has another length, is no answer, however it is asked for.
func TestForeignAnswers(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{Echo: bus.NoEcho, Tries: 1})
		other := func(s bus.Status) func([]byte) []bustest.Piece {
			return func(sent []byte) []bustest.Piece {
				p := []bustest.Piece{{Bytes: c().AppendStatus(nil, s)}}
				return append(p, r.servos.Answer(sent)...)
			}
		}
		for _, s := range []bus.Status{
			{ID: 2, Params: []byte{9, 9, 9}},
			{ID: 5, Params: []byte{9, 9}},
			{ID: 9, Params: []byte{9, 9}},
			{ID: 1, Params: []byte{9}},
			{ID: 1},
			{ID: 1, Params: []byte{9, 9, 9, 9}},
		} {
			before := r.bus.Counters()
			r.line.Answer = other(s)
			if s.ID != 5 {
				var a all
				require.Equal(t, 6, a.read(r, 56), "%+v", s)
				a.holds(r, 56)
			}
			r.reads(1, 56, 2)
			if s.ID != 1 || len(s.Params) > 0 {
				_, err := r.bus.Write(1, 90, []byte{1})
				require.NoError(t, err)
				r.servo(1).Mute = true
				_, err = r.bus.Write(1, 90, []byte{2})
				require.ErrorIs(t, err, bus.ErrDamaged)
				r.servo(1).Mute = false
			}
			require.Greater(t, r.bus.Counters().Foreign, before.Foreign)
			time.Sleep(time.Second)
		}
	})
}

// What looks like a packet's beginning hides no answer that came behind it.
func TestAnAnswerBehindAFalseBeginning(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{Tries: 1})
		r.reads(1, 0, 3)
		false1 := c().AppendStatus(nil, bus.Status{ID: 9, Params: make([]byte, 200)})
		head := false1[:c().StatusSize(0)-1] // and its length is what never comes
		r.servos.Spoil = func(p []byte) []byte { return append(append([]byte{7}, head...), p...) }
		r.reads(1, 20, 4)
		require.Positive(t, r.bus.Counters().Damaged)
		var a all
		require.Equal(t, 6, a.read(r, 56))
		a.holds(r, 56)
	})
}

// busy is a port whose reader wakes up too late: the deadline has passed, and what came
// is there.
type busy struct {
	*bustest.Line
	deadline time.Time
}

func (b *busy) SetReadDeadline(t time.Time) error {
	b.deadline = t
	return nil
}

func (b *busy) Read([]byte) (int, error) {
	time.Sleep(time.Until(b.deadline) + time.Millisecond)
	return 0, os.ErrDeadlineExceeded
}

func TestAComputerThatWakesUpLate(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		b, err := bus.New(&busy{Line: r.line}, c(), bus.Options{Baud: baud, Tries: 1})
		require.NoError(t, err)
		r.bus = b
		r.reads(1, 20, 4)
		r.reads(2, 30, 4)
		require.Zero(t, b.Counters().Tries)
	})
}
