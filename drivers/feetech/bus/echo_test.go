package bus_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/bus/bustest"
	"github.com/tau-robot/tau/robot"
)

// Everything works with an adapter that gives our own bytes back, whatever comes first.
func TestAnAdapterThatEchoes(t *testing.T) {
	first := map[string]func(r *rig){
		"ping":       func(r *rig) { _, err := r.bus.Ping(1); require.NoError(r.t, err) },
		"read":       func(r *rig) { r.reads(1, 0, 2) },
		"long read":  func(r *rig) { r.reads(1, 0, 9) },
		"write":      func(r *rig) { _, err := r.bus.Write(1, 40, []byte{1, 2}); require.NoError(r.t, err) },
		"sync read":  func(r *rig) { var a all; require.Equal(r.t, 6, a.read(r, 56)); a.holds(r, 56) },
		"sync write": func(r *rig) { require.NoError(r.t, r.bus.SyncWrite(42, 1, ids, ids)) },
		"silence": func(r *rig) {
			_, err := r.bus.Ping(9)
			require.ErrorIs(r.t, err, bus.ErrSilent)
		},
		"scan": func(r *rig) {
			found, err := r.bus.Scan(r.t.Context(), bus.ScanOptions{})
			require.NoError(r.t, err)
			require.Len(r.t, found, 6)
			for _, f := range found {
				require.False(r.t, f.Shared, "%+v", f)
			}
		},
	}
	both(t, func(t *testing.T, c func() bus.Codec) {
		for name, does := range first {
			for _, echo := range []bool{true, false} {
				for _, status := range []byte{0, 1, 0x20} {
					if c().Refused(status) != "" {
						continue
					}
					for _, late := range []time.Duration{0, 16 * time.Millisecond} {
						if late > 0 && status > 0 {
							continue
						}
						r := six(t, c, bus.Options{})
						r.line.Echo, r.line.Late = echo, late
						for _, s := range r.servos.Servos {
							s.Error = status
						}
						does(r)
						want := bus.NoEcho
						if echo {
							want = bus.Echoes
						}
						if name != "silence" || want == bus.Echoes || c().Instruction(bus.Status{Error: 1}) {
							require.Equal(t, want, r.bus.Echo(), "%s, echo %v, status %d", name, echo, status)
						}
						for _, then := range []string{"ping", "sync write", "read", "silence", "sync read"} {
							first[then](r)
						}
						require.Equal(t, want, r.bus.Echo(), "%s, echo %v, status %d", name, echo, status)
						n := r.bus.Counters()
						require.Zero(t, n.Damaged+n.Stray, "%s, echo %v: %+v", name, echo, n)
						require.Equal(t, echo, n.Echoed > 0)
					}
				}
			}
		}
	})
}

// A Ping's bytes are the answer of a servo that complains of its voltage.
func TestTheBytesOfAnInstruction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, echo := range []bool{false, true} {
			r := six(t, feetech, bus.Options{})
			r.line.Echo = echo
			r.servo(1).Error = 1
			p, err := r.bus.Ping(1)
			require.NoError(t, err)
			require.Equal(t, byte(1), p.Status)
			_, err = r.bus.Ping(7)
			require.ErrorIs(t, err, bus.ErrSilent, "echo %v", echo)

			// Two bytes of a servo whose encoder is broken are some Read's: alone they are
			// believed, of several they aren't.
			r.servo(2).Error = 2
			dst := make([]byte, 2)
			st, err := r.bus.Read(2, 56, dst)
			require.NoError(t, err)
			require.Equal(t, byte(2), st)
			var a all
			require.Equal(t, 5, a.read(r, 56))
			a.holds(r, 56)
			require.ErrorIs(t, a.errs[1], bus.ErrDamaged)
			r.reads(2, 40, 30)
		}
	})
}

// Another host's instructions are no answers, nor are the answers to them.
func TestAnotherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := six(t, feetech, bus.Options{Tries: 1})
		r.reads(1, 0, 3)
		theirs := bustest.Hex(t, "FFFF0104023802BE"+"FFFF010400EEEE1E") // reads ID 1, which answers EEEE
		for late := time.Duration(0); late < 3*time.Millisecond; late += 170 * time.Microsecond {
			for _, n := range []int{1, 2, 4} {
				r.servo(1).Delay = 2 * time.Millisecond
				r.line.Inject(late, theirs...)
				_ = r.mayRead(1, 20, n)
				time.Sleep(time.Second)
			}
			r.servo(1).Mute = true
			r.line.Inject(late, bustest.Hex(t, "FFFF0104032801CE"+"FFFF010200FC")...)
			_, err := r.bus.Write(1, 40, []byte{0})
			require.Equal(t, robot.CodeUnknownOutcome, robot.CodeOf(err), "%v late", late)
			r.servo(1).Mute = false
			time.Sleep(time.Second)
		}
		r.reads(1, 20, 2)
	})
}

// An echo that isn't what was sent: somebody else spoke.
func TestAnEchoThatChanged(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		r.line.Echo = true
		r.reads(1, 0, 3)
		r.line.Echo = false // it is lost
		_, err := r.bus.Read(1, 0, make([]byte, 4))
		require.ErrorIs(t, err, bus.ErrDamaged)
		err = r.bus.SyncWrite(42, 1, ids, ids)
		require.ErrorIs(t, err, bus.ErrDamaged)
		require.Equal(t, robot.CodeUnknownOutcome, robot.CodeOf(err))
		r.line.Echo = true
		answer := r.line.Answer
		r.line.Answer = nil
		time.Sleep(time.Second)
		r.line.Inject(0, 0x00) // it is hit
		err = r.bus.SyncWrite(42, 1, ids, ids)
		require.ErrorIs(t, err, bus.ErrDamaged)
		r.line.Answer = answer
		r.reads(1, 0, 3)
	})
}
