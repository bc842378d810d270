package feetech_test

import (
	"context"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/emulator"
	"github.com/tau-robot/tau/robot"
)

// onBoth runs a test with either make of servo, in simulated time.
func onBoth(t *testing.T, f func(t *testing.T, b *bench)) {
	t.Helper()
	for _, a := range arms() {
		t.Run(a.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, a.bench(t)) })
		})
	}
}

// Whatever is asked of an arm that has no torque, nothing but reads goes to its servos.
func TestNothingIsWrittenBeforeTorqueOn(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.open(t)
		ctx := context.Background()
		m := b.motion(t, r, b.to(), 2)
		_, err := r.Execute(ctx, m, nil)
		require.Equal(t, robot.CodeNotEnabled, robot.CodeOf(err))
		require.NoError(t, actuate(t, r, robot.EStopReset))
		require.Equal(t, robot.Yes, r.Stop(ctx, robot.StopControlled).Stationary)
		_, err = r.Execute(ctx, m, nil) // from before the stop
		require.Equal(t, robot.CodeStopped, robot.CodeOf(err))
		time.Sleep(2 * time.Second)
		var w whole
		for _, p := range b.trace.Packets() {
			w.take(p)
			require.False(t, wrote(p), "%v at %d of servo %d, before torque_on", p.Op, p.Addr, p.ID)
		}
		require.Empty(t, w.bad)
		b.each(t, func(id byte) error {
			require.False(t, b.line.Powered(id))
			return nil
		})
	})
}

// Torque goes on where the arm stands: whatever goal a servo has from before, and however
// the arm was moved by hand, the goal is where it is, and is read back, before its torque.
func TestTorqueOnMovesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		addr, _ := b.goal()
		b.each(t, func(id byte) error { return b.line.SetRegister(id, int(addr), 3000) })
		r := b.open(t)
		for i := range b.o.Hardware.Joints {
			b.hand(t, i, 0.1+0.05*float64(i))
		}
		time.Sleep(100 * time.Millisecond)
		before := b.observe()
		b.trace.Reset()
		require.NoError(t, actuate(t, r, robot.TorqueOn))
		time.Sleep(time.Second)
		require.InDeltaSlice(t, before, b.observe(), 1.0/600, "no snap, not by a tick")
		b.inOrder(t, before)
		require.NoError(t, actuate(t, r, robot.TorqueOff))
	})
}

// inOrder requires that each servo was read, given its goal, read back, powered and read
// again, in that order, one after the other, and that the goal is where it stood.
func (b *bench) inOrder(t *testing.T, stood []float64) {
	t.Helper()
	addr, size := b.goal()
	const (
		none = iota
		looked
		told
		checked
		powered
	)
	at := make([]int, len(stood))
	one := 0
	for _, p := range b.trace.Packets() {
		if !p.FromHost || p.ID == bus.Broadcast {
			continue
		}
		for b.id(one) != p.ID {
			require.Equal(t, powered, at[one], "servo %d comes before %d has its torque", p.ID, b.id(one))
			one++
			require.Less(t, one, len(stood))
		}
		holds := func(a uint16) bool { return p.Addr <= a && int(a) < int(p.Addr)+p.Count }
		switch {
		case p.Op == bus.Read && at[one] == none:
			at[one] = looked
		case p.Op == bus.Write && holds(addr):
			require.Equal(t, looked, at[one])
			j := &b.o.Hardware.Joints[one]
			v, _ := b.register32(p.Data[addr-p.Addr:][:size])
			require.InDelta(t, j.Units(stood[one]), v, 1, "%s", j.Name)
			at[one] = told
		case p.Op == bus.Read && holds(addr) && at[one] == told:
			at[one] = checked
		case p.Op == bus.Write && holds(b.torque()):
			require.Equal(t, checked, at[one], "torque comes after the goal was read back")
			require.Equal(t, []byte{1}, p.Data)
			at[one] = powered
		}
	}
	for i, s := range at {
		require.Equal(t, powered, s, "%s", b.o.Hardware.Joints[i].Name)
	}
}

// register32 reads a goal.
func (b *bench) register32(raw []byte) (float64, bool) {
	var v int64
	for i, x := range raw {
		v |= int64(x) << (8 * i)
	}
	if b.kind == emulator.STS3215 && v&0x8000 != 0 {
		return -float64(v & 0x7FFF), true
	}
	return float64(int32(v)), true
}

// An arm that a hand moves while it is to be switched on isn't: what has no power keeps
// none, and nothing snaps back.
func TestAHandThatMovesTheArmWhileItIsSwitchedOn(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.open(t)
		last := len(b.o.Hardware.Joints) - 1
		b.on.Store(&hooks{before: func(i bus.Instruction) {
			if i.Op == bus.Read && i.ID == b.id(last) {
				b.hand(t, last, 0.4)
			}
		}})
		err := actuate(t, r, robot.TorqueOn)
		require.Equal(t, robot.CodeStartMoved, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, b.o.Hardware.Joints[last].Name)
		b.each(t, func(id byte) error {
			require.False(t, b.line.Powered(id), "half an arm has torque")
			return nil
		})
		require.InDelta(t, 0.4, b.observe()[last], 1e-9)
		b.on.Store(nil)
		require.NoError(t, actuate(t, r, robot.EStopReset))
		require.NoError(t, actuate(t, r, robot.TorqueOn))
		require.InDelta(t, 0.4, b.observe()[last], 2e-3)
	})
}

// An approved motion is what goes over the wire: each goal is a point of the trajectory to
// the tick, one period after the other.
func TestGoalsFollowTheApprovedTrajectory(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.enabled(t)
		m := b.motion(t, r, b.to(), 2)
		b.trace.Reset()
		out, err := r.Execute(context.Background(), m, nil)
		require.NoError(t, err)
		require.Equal(t, robot.OutcomeDone, out.Status)
		require.InDeltaSlice(t, b.to(), out.Final.Positions, 0.004)
		require.InDeltaSlice(t, b.to(), b.observe(), 0.004)

		addr, size := b.goal()
		period := r.Info().ControlPeriod
		q := make([]float64, len(m.Trajectory.Joints))
		first := map[byte]time.Duration{}
		last := map[byte]float64{}
		for _, w := range b.trace.Writes(addr, size) {
			if _, seen := first[w.ID]; !seen {
				first[w.ID] = w.At
			}
			since := w.At - first[w.ID]
			i := b.joint(w.ID)
			j := &b.o.Hardware.Joints[i]
			got, _ := b.register32(w.Data)
			lo, hi := math.Inf(1), math.Inf(-1)
			for _, k := range []time.Duration{0, period / 2, period, 3 * period / 2, 2 * period} {
				m.Trajectory.Sample((since - period/2 + k).Seconds(), q, nil, nil)
				lo, hi = math.Min(lo, j.Units(q[i])), math.Max(hi, j.Units(q[i]))
			}
			require.GreaterOrEqual(t, got, lo-1, "%s, %v after the first", j.Name, since)
			require.LessOrEqual(t, got, hi+1, "%s, %v after the first", j.Name, since)
			last[w.ID] = got
		}
		require.Len(t, last, len(q))
		for id, got := range last {
			i := b.joint(id)
			require.InDelta(t, b.o.Hardware.Joints[i].Units(b.to()[i]), got, 0.5001)
		}
		require.GreaterOrEqual(t, len(b.trace.Writes(addr, size)), int(2/period.Seconds())*len(q))
		var w whole
		for _, p := range b.trace.Packets() {
			w.take(p)
		}
		require.Empty(t, w.bad)
	})
}

// joint is the one whose servo has an ID.
func (b *bench) joint(id byte) int {
	for i := range b.o.Hardware.Joints {
		if b.id(i) == id {
			return i
		}
	}
	return -1
}

// The state is asked for 200 times a second from outside, and the wire never shows it: one
// owner, whole exchanges, and as many as without.
func TestPollingTheStateTouchesNoWire(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bench) {
		r := b.enabled(t)
		quiet := b.packetsOf(t, func() {
			_, err := b.moveTo(t, r, b.to(), 2)
			require.NoError(t, err)
		})
		_, err := b.moveTo(t, r, configuration(b.o.Model, b.start), 2)
		require.NoError(t, err)
		asked := 0
		polled := b.packetsOf(t, func() {
			ctx, cancel := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			wg.Go(func() {
				tick := time.NewTicker(5 * time.Millisecond)
				defer tick.Stop()
				for {
					select {
					case <-tick.C:
						if s, err := r.State(ctx); err != nil || len(s.Positions) != len(b.to()) {
							t.Errorf("%v: %v", s.Positions, err)
						}
						asked++
					case <-ctx.Done():
						return
					}
				}
			})
			_, err := b.moveTo(t, r, b.to(), 2)
			cancel()
			wg.Wait()
			require.NoError(t, err)
		})
		require.Greater(t, asked, 350)
		require.InDelta(t, quiet, polled, 0.05*float64(quiet), "who asks costs the line nothing")
	})
}

// packetsOf counts what is on the wire while do runs, and requires that it is whole.
func (b *bench) packetsOf(t *testing.T, do func()) int {
	t.Helper()
	b.trace.Reset()
	do()
	var w whole
	all := b.trace.Packets()
	for _, p := range all {
		w.take(p)
	}
	require.Empty(t, w.bad)
	return len(all)
}
