package feetech_test

import (
	"context"
	"sync"
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

// Joints that have power already, and who has given it.

// sag has a joint with torque stand so many ticks off its goal, as under a load.
func (b *bench) sag(t *testing.T, joint, ticks int) {
	t.Helper()
	must(t, b.line.ByHand(b.id(joint), b.line.Shaft(b.id(joint))+float64(ticks)/perRadian))
	must(t, b.line.Hold(b.id(joint), true))
	time.Sleep(100 * time.Millisecond)
}

// written are the writes to one servo's registers at an address.
func (b *bench) written(id byte, addr uint16, size int) (out []emulator.Written) {
	for _, w := range b.trace.Writes(addr, size) {
		if w.ID == id {
			out = append(out, w)
		}
	}
	return out
}

// One servo of an arm lost its torque, and the others hold a load, two degrees off their
// goals: torque_on powers the one, and those that hold are neither told anything nor let go.
func TestTorqueOnLetsAloneWhatHoldsALoad(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.enabled(t)
		b.sag(t, 0, 23)
		must(t, b.line.Restart(b.id(1)))
		time.Sleep(time.Second)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.NotEmpty(t, s.Faults)
		require.True(t, s.Powered)
		require.NoError(t, actuate(t, r, robot.EStopReset))
		at := b.observe()
		b.trace.Reset()
		require.NoError(t, actuate(t, r, robot.TorqueOn))
		require.InDeltaSlice(t, at, b.observe(), 2e-3)
		require.True(t, b.line.Powered(b.id(0)) && b.line.Powered(b.id(1)))
		for _, p := range b.trace.Packets() {
			require.False(t, wrote(p) && p.ID == b.id(0), "%v at %d to a servo that holds", p.Op, p.Addr)
		}
		addr, size := b.goal()
		require.Len(t, b.written(b.id(1), addr, size), 1)
	})
}

// A stop while one joint after the other is powered: no further one is, and those that were
// have none either.
func TestCase38_AStopEndsTorqueOnInTheMiddle(t *testing.T) {
	for _, kind := range []robot.StopKind{robot.StopControlled, robot.StopEmergency} {
		onBoth(t, func(t *testing.T, b *bench) {
			r := b.open(t)
			var v robot.StopVerdict
			var wg sync.WaitGroup
			stopped := false
			b.on.Store(&hooks{before: func(i bus.Instruction) {
				if i.Op == bus.Write && i.Addr == b.torque() && !stopped {
					stopped = true
					wg.Go(func() { v = r.Stop(context.Background(), kind) })
					time.Sleep(time.Microsecond) // it has come
				}
			}})
			err := actuate(t, r, robot.TorqueOn)
			require.Equal(t, robot.CodeStopped, robot.CodeOf(err), "%v", err)
			wg.Wait()
			require.Equal(t, robot.Yes, v.Commanded, v.Text)
			require.Equal(t, robot.Yes, v.Stationary, v.Text)
			for i := range b.o.Hardware.Joints {
				on := 0
				for _, w := range b.written(b.id(i), b.torque(), 1) {
					if w.Data[0] == 1 {
						on++
					}
				}
				require.Equal(t, map[bool]int{true: 1}[i == 0], on, "servo %d was powered after a stop", b.id(i))
				require.False(t, b.line.Powered(b.id(i)))
			}
			s, err := r.State(context.Background())
			require.NoError(t, err)
			require.False(t, s.Enabled || s.Powered)
		})
	}
}

// A watchdog that has bitten is wound up by the reset: the arm that goes on holding is
// watched again.
func TestCase42_AResetWindsTheWatchdogUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pantilt().bench(t)
		b.o.Hardware.EStopPowersOff = false
		r := b.enabled(t)
		b.line.Unplug()
		time.Sleep(time.Second)
		b.line.Plug()
		time.Sleep(5 * time.Second)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.True(t, s.Powered)
		b.movesAgain(t, r)
		b.each(t, func(id byte) error {
			v, err := b.line.Register(id, int(dxl.BusWatchdog.Addr))
			require.Equal(t, uint32(10), v, "servo %d would not stop by itself", id)
			return err
		})
	})
}

// An arm that another program has left with torque has that program's limits in it. They are
// said, and nothing moves before a person has had them set.
func TestTorqueFromAnotherProgram(t *testing.T) {
	for _, c := range []struct {
		arm  arm
		addr int
		to   uint32
	}{
		{so101(), int(sts.TorqueLimit.Addr), 1000},
		{so101(), int(sts.GoalSpeed.Addr), 100},
		{so101(), int(sts.Acceleration.Addr), 254},
		{pantilt(), int(dxl.GoalPWM.Addr), 885},
		{pantilt(), int(dxl.ProfileVelocity.Addr), 20},
		{pantilt(), int(dxl.BusWatchdog.Addr), 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := c.arm.bench(t)
			b.o.Hardware.EStopPowersOff = false
			for i := range b.o.Hardware.Joints {
				b.o.Hardware.Joints[i].TorqueLimit = 0.5
			}
			first, err := feetech.Open(context.Background(), b.o)
			require.NoError(t, err)
			require.NoError(t, actuate(t, first, robot.TorqueOn))
			ours, err := b.line.Register(b.id(1), c.addr)
			require.NoError(t, err)
			require.NotEqual(t, c.to, ours)
			require.NoError(t, first.Close())
			b.register(t, b.id(1), c.addr, c.to)

			r := b.open(t)
			at := b.observe()
			b.trace.Reset()
			s, err := r.State(context.Background())
			require.NoError(t, err)
			require.True(t, s.Powered)
			name := b.o.Hardware.Joints[1].Name
			says := ""
			for _, f := range s.Faults {
				if f.Where == name && f.Code == robot.CodeNotEnabled {
					says = f.Text
				}
			}
			require.Contains(t, says, "something else has switched the servo on")
			require.Error(t, actuate(t, r, robot.TorqueOn))
			for _, p := range b.trace.Packets() {
				require.False(t, wrote(p))
			}
			require.NoError(t, actuate(t, r, robot.EStopReset))
			got, err := b.line.Register(b.id(1), c.addr)
			require.NoError(t, err)
			require.Equal(t, ours, got)
			require.InDeltaSlice(t, at, b.observe(), 2e-3)
			b.movesAgain(t, r)
		})
	}
}

// One that another program has sent somewhere goes there by that program's profile: with
// this driver's it would jump, so it isn't given it.
func TestTorqueFromAnotherProgramThatMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		b.o.Hardware.EStopPowersOff = false
		first := b.open(t)
		require.NoError(t, actuate(t, first, robot.TorqueOn))
		require.NoError(t, first.Close())
		name := b.o.Hardware.Joints[0].Name
		for _, c := range []struct {
			goal uint32
			code robot.Code
		}{{2500, robot.CodeStartMoved}, {4090, robot.CodeJointLimit}} {
			b.register(t, b.id(0), int(sts.GoalSpeed.Addr), 1) // a tick a second
			b.register(t, b.id(0), int(sts.GoalPosition.Addr), c.goal)
			r := b.open(t)
			b.trace.Reset()
			err := actuate(t, r, robot.EStopReset)
			require.Equal(t, c.code, robot.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, name)
			for _, p := range b.trace.Packets() {
				require.False(t, wrote(p), "%v at %d", p.Op, p.Addr)
			}
			s, err := r.State(context.Background())
			require.NoError(t, err)
			require.NotEmpty(t, s.Faults)
			require.NoError(t, r.Close())
		}
	})
}

// rival is a second master that speaks for a moment: it has each servo hold where it is, but
// the first one, that many ticks off. Where others than 0 would move the arm: no servo can
// tell its masters apart.
func (b *bench) rival(t testing.TB, ticks int) {
	goal, _ := b.goal()
	place := int(sts.PresentPosition.Addr)
	if b.kind == emulator.XL430 {
		place = int(dxl.PresentPosition.Addr)
	}
	for i := range b.o.Hardware.Joints {
		v, err := b.line.Register(b.id(i), place)
		ok(t, err)
		ok(t, b.line.SetRegister(b.id(i), int(goal), uint32(int32(v)+int32(ticks))))
		ticks = 0
	}
}

// A second master that sends the arm elsewhere is noticed by the servo's own word, at rest
// and in motion, and nothing more is written that would have the arm jump back.
func TestASecondMasterIsNoticed(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		name := b.o.Hardware.Joints[0].Name
		r := b.enabled(t)
		b.rival(t, 40)
		time.Sleep(time.Second)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.Equal(t, robot.CodeDisconnected, s.Faults[0].Code)
		require.Equal(t, name, s.Faults[0].Where)
		require.Contains(t, s.Faults[0].Text, "somebody else commands it")
		require.False(t, s.Enabled)
		b.movesAgain(t, r)

		got := b.midway(t, r, func() {
			again := 5
			b.on.Store(&hooks{before: func(i bus.Instruction) {
				if i.Op == bus.SyncRead && again > 0 {
					again--
					time.Sleep(time.Millisecond) // our own goals have arrived
					b.rival(t, 30)
				}
			}})
		})
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(got.err), "%v", got.err)
		require.Equal(t, robot.OutcomeFaulted, got.out.Status)
		addr, size := b.goal()
		b.trace.Reset()
		time.Sleep(time.Second)
		require.Empty(t, b.trace.Writes(addr, size))
	})
}

// A joint across the seam of its encoder answers: whether it has torque is known, and an
// e-stop that takes it away says nothing else.
func TestTheTorqueOfAJointAcrossTheSeamIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := so101().bench(t)
		b.o.Hardware.EStopPowersOff = true
		body := b.body(t)
		require.NoError(t, body.PowerOn(context.Background(), b.observe()))
		must(t, b.line.Hold(b.id(0), true))
		j := &b.o.Hardware.Joints[0]
		must(t, b.line.ByHand(b.id(0), (-30+float64(j.Offset)-feetech.Turn/2)/perRadian))
		var s hosted.Sample
		require.NoError(t, body.Read(context.Background(), &s))
		require.NoError(t, s.Joints[0].Err)
		require.Equal(t, robot.CodeNotCalibrated, robot.CodeOf(s.Joints[0].Lost))
		require.True(t, s.Joints[0].Powered)
		require.NoError(t, body.PowerOff(context.Background()))
		require.NoError(t, body.Read(context.Background(), &s))
		require.False(t, s.Joints[0].Powered)
	})
}

// A Dynamixel says of its torque in another block than of its place. One that goes on saying
// where it is, and nothing of its torque, isn't taken to have what it had.
func TestOldNewsOfTheTorqueIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pantilt().bench(t)
		r := b.enabled(t)
		slow := false
		b.on.Store(&hooks{
			before: func(i bus.Instruction) { slow = i.Addr == dxl.TorqueEnable.Addr },
			after: func(came []byte) []byte {
				if slow {
					return nil
				}
				return came
			},
		})
		b.register(t, b.id(0), int(dxl.TorqueEnable.Addr), 0)
		time.Sleep(2 * time.Second)
		for range 50 {
			time.Sleep(10 * time.Millisecond)
			s, err := r.State(context.Background())
			require.False(t, err == nil && s.Enabled, "it has no torque")
		}
		b.on.Store(nil)
		time.Sleep(time.Second)
		s, err := r.State(context.Background())
		require.NoError(t, err)
		require.False(t, s.Enabled)
		require.NotEmpty(t, s.Faults)
	})
}
