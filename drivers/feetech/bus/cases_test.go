package bus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/bus/bustest"
	"github.com/tau-robot/tau/drivers/feetech/sts"
	"github.com/tau-robot/tau/robot"
)

// Two servos with one ID answer at once: what comes is short or changed.
func TestCase24TwoServosWithOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := six(t, feetech, bus.Options{})
		heard := [][]byte{bustest.Hex(t, "FF6018FBEF"), bustest.Hex(t, "FFFF01040067")}
		n := 0
		r.servos.Spoil = func(p []byte) []byte {
			if p[2] != 1 {
				return p
			}
			n++
			return heard[n%2]
		}
		last := []byte{0x34, 0x12} // the last good value, which nothing overwrites
		_, err := r.bus.Read(1, sts.PresentPosition.Addr, last)
		require.ErrorIs(t, err, bus.ErrDamaged)
		require.Equal(t, robot.CodeStaleState, robot.CodeOf(err))
		require.ErrorContains(t, err, "do two servos have this ID")
		require.Equal(t, []byte{0x34, 0x12}, last)

		var a all
		require.Equal(t, 5, a.read(r, sts.PresentPosition.Addr))
		a.holds(r, sts.PresentPosition.Addr)
		require.ErrorIs(t, a.errs[0], bus.ErrDamaged)

		found, err := r.bus.Scan(t.Context(), bus.ScanOptions{})
		require.NoError(t, err)
		require.Len(t, found, 6)
		for _, f := range found {
			require.Equal(t, f.ID == 1, f.Shared, "%+v", f)
		}
		require.Zero(t, found[0].Good)
	})
}

func TestCase27ABusThatDropsEveryTenthAnswer(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		n := 0
		r.servos.Spoil = func(p []byte) []byte {
			if n++; n%10 == 0 {
				return nil
			}
			return p
		}
		r.line.Sent()
		var a all
		for range 500 {
			for _, s := range r.servos.Servos {
				s.Memory[56]++
			}
			require.Equal(t, 6, a.read(r, 56))
			a.holds(r, 56)
			require.LessOrEqual(t, len(r.line.Sent()), 3)
		}
		require.Positive(t, r.bus.Counters().Tries)
		require.Zero(t, r.bus.Counters().Failed)

		// One that stays silent is unknown, and keeps the others from nothing.
		r.servo(3).Mute = true
		for range 50 {
			require.Equal(t, 5, a.read(r, 56))
			a.holds(r, 56)
			require.ErrorIs(t, a.errs[2], bus.ErrSilent)
			require.ErrorContains(t, a.errs[2], "servo 3")
			require.LessOrEqual(t, len(r.line.Sent()), 3)
		}
		require.EqualValues(t, 50, r.bus.Counters().Failed)
	})
}

func TestCase28AMuteServoAndAnAcknowledgementThatNobodyRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := six(t, feetech, bus.Options{})
		r.servo(4).Mute = true
		r.line.Sent()
		for _, id := range ids {
			_, err := r.bus.Write(id, sts.TorqueEnable.Addr, []byte{sts.TorqueOff})
			if id == 4 {
				require.ErrorIs(t, err, bus.ErrSilent)
				require.Equal(t, robot.CodeUnknownOutcome, robot.CodeOf(err))
				require.ErrorContains(t, err, "servo 4")
				continue
			}
			require.NoError(t, err)
		}
		require.Len(t, r.line.Sent(), 6) // each once
		r.servo(4).Mute = false
		var a all
		require.Equal(t, 6, a.read(r, sts.PresentPosition.Addr))
		a.holds(r, sts.PresentPosition.Addr)

		// Acknowledgements that lie on the line, of this and of another process.
		stray := r.bus.Counters().Stray
		for _, id := range []byte{1, 4} {
			ack := sts.New().AppendStatus(nil, bus.Status{ID: id})
			if id == 1 {
				require.Equal(t, bustest.Hex(t, "FFFF010200FC"), ack)
			}
			r.line.Inject(0, ack...)
			time.Sleep(time.Millisecond)
			r.reads(id, sts.PresentPosition.Addr, 2)
			r.line.Inject(0, ack...)
			time.Sleep(time.Millisecond)
			r.servo(id).Mute = true
			_, err := r.bus.Write(id, sts.TorqueEnable.Addr, []byte{sts.TorqueOn})
			require.ErrorIs(t, err, bus.ErrSilent)
			r.servo(id).Mute = false
		}
		require.Equal(t, stray+4*6, r.bus.Counters().Stray)

		// One that comes while an answer is waited for isn't the answer.
		time.Sleep(time.Second)
		r.line.Inject(85*time.Microsecond, bustest.Hex(t, "FFFF010200FC")...)
		r.reads(1, sts.PresentPosition.Addr, 2)
		require.EqualValues(t, 1, r.bus.Counters().Foreign)
	})
}

// cut is a port that can't send.
type cut struct{ bus.Port }

func (cut) Write([]byte) (int, error) {
	return 0, robot.Errf(robot.CodeDisconnected, "port x", "it isn't there")
}

func TestCase29TorqueOffIsWhatWasAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := six(t, feetech, bus.Options{})
		good := r.bus
		broken, err := bus.New(cut{r.line}, sts.New(), bus.Options{Baud: baud})
		require.NoError(t, err)
		for _, id := range ids {
			_, err := broken.Write(id, sts.TorqueEnable.Addr, []byte{sts.TorqueOff})
			require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err))
		}
		require.Empty(t, r.line.Sent())
		require.Zero(t, broken.Counters().Sent)

		want := [][]byte{}
		for _, s := range []string{"FFFF0104032800CF", "FFFF0204032800CE", "FFFF0304032800CD", "FFFF0404032800CC", "FFFF0504032800CB", "FFFF0604032800CA"} {
			want = append(want, bustest.Hex(t, s))
		}
		for k, id := range ids {
			r.servo(id).Memory[40] = 1
			start := time.Now()
			_, err := good.Write(id, sts.TorqueEnable.Addr, []byte{sts.TorqueOff})
			require.NoError(t, err)
			// Not before its acknowledgement has come: 8 bytes, the servo's delay, 6 bytes.
			require.Equal(t, 14*r.line.Byte()+r.servo(id).Delay, time.Since(start))
			require.Equal(t, want[k:k+1], r.line.Sent())
			require.Zero(t, r.servo(id).Memory[40])
		}
	})
}

// Six servos' positions are 62 bytes, 0.62 ms at 1 Mbaud.
func TestSixPositionsTake62Bytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := six(t, feetech, bus.Options{})
		for _, s := range r.servos.Servos {
			s.Delay = 0
		}
		var a all
		a.read(r, 56) // and the adapter is known
		r.line.Sent()
		start := time.Now()
		require.Equal(t, 6, a.read(r, 56))
		out := r.line.Sent()
		require.Len(t, out, 1)
		require.Equal(t, 62, len(out[0])+6*sts.New().StatusSize(2))
		require.Equal(t, 620*time.Microsecond, r.bus.WireTime(62))
		require.Equal(t, 620*time.Microsecond, time.Since(start))
	})
}
