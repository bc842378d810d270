package gobot_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/robot"
)

// bench is a robot on an emulated Arduino Uno that runs a StandardFirmata which nobody
// here wrote or built, and a real pseudo-terminal. It keeps to the wall clock: whatever
// is asserted is in the bench's own time.
type bench struct {
	*boardtest.Board
	t *testing.T
	g rig
	r *gobot.Robot
}

func (g rig) bench(t *testing.T) *bench {
	b := &bench{Board: boardtest.Start(t, boardtest.Options{Map: "uno", Hex: boardtest.StandardFirmata(t), Bytes: true}), t: t, g: g}
	m, f := g.parts(t)
	o := gobot.Options{Model: m, Hardware: f, Port: b.Path(), At: g.at, Within: waitLimit}
	r, err := gobot.Open(context.Background(), o)
	for try := 1; err != nil && stalled(err) && try < 5; try++ {
		t.Logf("the machine was too busy: %v", err)
		r, err = gobot.Open(context.Background(), o)
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := r.Close(); err != nil && !stalled(err) { // which it then may say
			t.Error(err)
		}
	})
	b.r = r
	return b
}

// waitLimit is how long a test waits for an event, of a machine that may stall.
const waitLimit = 60 * time.Second

// pulse is one of a servo's.
type pulse struct {
	at time.Duration
	us float64
}

// pulses are those of a joint since a mark, in order.
func (b *bench) pulses(from boardtest.Mark, j int) []pulse {
	var out []pulse
	for _, e := range b.Trace().Of(from, "servo") {
		if e.Int(0) == int64(j) {
			out = append(out, pulse{e.At, float64(e.Int(1)) / 1000})
		}
	}
	return out
}

// state waits until the robot says where it is.
func (b *bench) state() robot.State {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	defer cancel()
	for {
		s, err := b.r.State(ctx)
		if err == nil {
			return s
		}
		require.NoError(b.t, ctx.Err(), "%v", err)
		time.Sleep(10 * time.Millisecond)
	}
}

// stalled reports a motion that a busy machine ended: it is to be begun anew.
func stalled(err error) bool {
	return slices.Contains([]robot.Code{robot.CodeLinkTimeout, robot.CodeStaleState, robot.CodeUnknownOutcome}, robot.CodeOf(err))
}

// enable switches torque on, also after a fault.
func (b *bench) enable() {
	b.t.Helper()
	for range 20 {
		if s := b.state(); len(s.Faults) > 0 || s.EStopped {
			_, _ = b.r.Actuate(context.Background(), robot.Command{ID: "reset", Kind: robot.EStopReset, Epoch: s.StopEpoch})
		}
		_, err := b.r.Actuate(context.Background(), robot.Command{ID: "on", Kind: robot.TorqueOn, Epoch: b.state().StopEpoch})
		if err == nil {
			return
		}
		require.True(b.t, stalled(err) || robot.CodeOf(err) == robot.CodeDisconnected, "%v", err)
	}
	b.t.Fatal("torque never came on")
}

// us is the pulse of joint j at q.
func (b *bench) us(j int, q float64) float64 {
	_, f := b.g.parts(b.t)
	return f.Joints[j].Units(q)
}

const precise = 10 // µs

// TestOnTheEmulatedBoard: a real StandardFirmata, its pins and its time.
func TestOnTheEmulatedBoard(t *testing.T) {
	t.Run("OpenLoop", func(t *testing.T) { servos().bench(t).openLoop() })
	t.Run("Measured", func(t *testing.T) { measured().bench(t).measured() })
	t.Run("Chip", func(t *testing.T) {
		g := onChip()
		g.file = strings.Replace(g.file, "address = 0x41", "address = 0x40", 1)
		g.bench(t).chip()
	})
}

func (b *bench) openLoop() {
	t := b.t
	require.Empty(t, b.Trace().Of(0, "servo"), "connecting powers nothing")
	require.False(t, b.state().Enabled)

	// Torque: at the setpoint, but for the one pulse that the firmware gives by itself.
	mark := b.Mark()
	b.enable()
	b.Pass(200 * time.Millisecond)
	for j := range 2 {
		got := b.pulses(mark, j)
		require.Greater(t, len(got), 3)
		for i, p := range got {
			if i == 0 && math.Abs(p.us-1500) < precise {
				continue
			}
			require.InDelta(t, b.us(j, 0), p.us, precise, "joint %d, pulse %d", j, i)
		}
	}

	b.approved([]float64{0.8, -0.5})
	b.refused()
	b.stopped()
	b.lamp()
	b.unpluggedInMidMotion()
	b.rebooted()
}

// approved: the pulses follow the motion, each within 10 µs of a place on its way, in
// order, and not faster than it.
func (b *bench) approved(to []float64) {
	t := b.t
	for try := 1; ; try++ {
		b.enable()
		m := moveTo(t, b.r, to, 1)
		mark := b.Mark()
		out, err := b.r.Execute(context.Background(), m, nil)
		if stalled(err) && try < 5 {
			t.Logf("the machine was too busy: %v", err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, robot.OutcomeDone, out.Status)
		b.Pass(60 * time.Millisecond)
		b.follows(mark, m.Trajectory)
		return
	}
}

// follows holds the pulses since a mark against a trajectory: each is where it is at some
// time, and those times go on as the bench's do, or more slowly where the machine was busy.
func (b *bench) follows(mark boardtest.Mark, traj robot.Trajectory) {
	t := b.t
	n := len(traj.Joints)
	const step = 1e-3
	for j := range n {
		got := b.pulses(mark, j)
		require.NotEmpty(t, got)
		at := 0.0 // s into the motion
		var began time.Duration
		worst := 0.0
		for _, p := range got {
			best, when := math.Inf(1), at
			for x := at; x <= traj.Duration()+step; x += step {
				if d := math.Abs(b.us(j, sample(traj, x)[j]) - p.us); d < best-1e-9 {
					best, when = d, x
				}
				if best < 0.6 {
					break // the board's resolution is 1 µs
				}
			}
			require.LessOrEqual(t, best, float64(precise), "joint %d: a pulse of %.3f µs at %v isn't on the way", j, p.us, p.at)
			worst = math.Max(worst, best)
			if at == 0 && when > 0 {
				began = p.at - time.Duration(when*float64(time.Second))
			}
			at = when
			if began != 0 {
				// A period of setpoints, one of pulses, and what the bench may be late by
				// before it says so; and for how long it stood still, which it says.
				require.LessOrEqual(t, at, (p.at-began+b.slipped(mark, p.at)).Seconds()+0.15, "joint %d is ahead of its motion", j)
			}
		}
		require.InDelta(t, b.us(j, traj.End()[j]), got[len(got)-1].us, precise)
		t.Logf("joint %d: %d pulses, the worst %.1f µs off the way", j, len(got), worst)
	}
}

// slipped is for how long the bench has stood still between a mark and a time.
func (b *bench) slipped(from boardtest.Mark, until time.Duration) (sum time.Duration) {
	for _, e := range b.Trace().Of(from, "slip") {
		if e.At <= until {
			sum += time.Duration(e.Int(0))
		}
	}
	return sum
}

func sample(traj robot.Trajectory, at float64) []float64 {
	q := make([]float64, len(traj.Joints))
	robot.NewCursor(traj).Sample(at, q, nil, nil)
	return q
}

// refused: nothing on the pins changes.
func (b *bench) refused() {
	t := b.t
	m := moveTo(t, b.r, []float64{-0.5, 0.5}, 1)
	m.Epoch++
	mark := b.Mark()
	_, err := b.r.Execute(context.Background(), m, nil)
	require.Equal(t, robot.CodeStopped, robot.CodeOf(err), "%v", err)
	b.Pass(200 * time.Millisecond)
	b.hold(mark)
}

// hold requires that the pulses since a mark are all the same, but for what the firmware's
// other interrupts make of them.
func (b *bench) hold(mark boardtest.Mark) {
	for j := range 2 {
		got := b.pulses(mark, j)
		require.NotEmpty(b.t, got)
		for _, p := range got {
			require.InDelta(b.t, got[0].us, p.us, precise, "joint %d moves", j)
		}
	}
}

// ran is what became of a motion; there says that it got as far as was wanted before a busy
// machine ended it.
type ran struct {
	out   robot.Outcome
	err   error
	there bool
}

// midway runs a motion and does something in the middle of it.
func (b *bench) midway(do func()) ran {
	b.t.Helper()
	s := b.state()
	to := []float64{-0.9, 0.6}
	if s.Where()[0] < 0 {
		to = []float64{0.9, -0.6}
	}
	m := moveTo(b.t, b.r, to, 2)
	middle, done := make(chan struct{}), make(chan ran, 1)
	go func() {
		var once sync.Once
		out, err := b.r.Execute(context.Background(), m, func(p robot.Progress) {
			if p.T > 0.8 {
				once.Do(func() { close(middle) })
			}
		})
		done <- ran{out, err, true}
	}()
	select {
	case <-middle:
		do()
		return <-done
	case x := <-done:
		require.True(b.t, stalled(x.err), "%v", x.err)
		x.there = false
		return x
	}
}

// again repeats a try that a busy machine has spoilt.
func (b *bench) again(try func() bool) {
	b.t.Helper()
	for range 5 {
		b.enable()
		if try() {
			return
		}
	}
	b.t.Fatal("the machine is too busy")
}

// stopped: the pulses come to rest where the stop's brake ends.
func (b *bench) stopped() {
	t := b.t
	b.again(func() bool {
		var v robot.StopVerdict
		x := b.midway(func() { v = b.r.Stop(context.Background(), robot.StopControlled) })
		if !x.there || stalled(x.err) {
			return false
		}
		require.Equal(t, robot.CodeStopped, robot.CodeOf(x.err), "%v", x.err)
		require.Equal(t, robot.OutcomeStopped, x.out.Status)
		require.Equal(t, robot.Yes, v.Commanded)
		require.Equal(t, robot.Yes, v.Acknowledged, "the board has said that it holds the last setpoint")
		require.Equal(t, robot.Unknown, v.Stationary, "nothing measures it")
		mark := b.Mark()
		b.Pass(200 * time.Millisecond)
		b.hold(mark)
		for j, q := range x.out.Final.Setpoints {
			require.InDelta(t, b.us(j, q), b.pulses(mark, j)[0].us, precise)
		}
		return true
	})
}

// lamp: the board's PWM.
func (b *bench) lamp() {
	mark := b.Mark()
	require.NoError(b.t, light(b.t, b.r, 0.5))
	b.Wait(mark, "half the lamp", func(e boardtest.Event) bool { return e.Is("output", 2, 127) })
	require.NoError(b.t, light(b.t, b.r, 0))
	b.Wait(mark, "no lamp", func(e boardtest.Event) bool { return e.Is("output", 2, 0) })
}

// unpluggedInMidMotion: the servos stay where they were told last, nothing moves when the
// board is plugged in again, and it is known where they are.
func (b *bench) unpluggedInMidMotion() {
	t := b.t
	b.again(func() bool {
		x := b.midway(b.Unplug)
		if !x.there {
			return false
		}
		require.Contains(t, []robot.Code{robot.CodeDisconnected, robot.CodeStaleState, robot.CodeLinkTimeout}, robot.CodeOf(x.err), "%v", x.err)
		require.Equal(t, robot.OutcomeUnknown, x.out.Status)
		_, err := b.r.State(context.Background())
		require.Equal(t, robot.CodeDisconnected, robot.CodeOf(err), "%v", err)
		b.Pass(60 * time.Millisecond)
		mark := b.Mark()
		b.Pass(100 * time.Millisecond)
		b.Plug()
		if b.cutShort() {
			t.Log("the cable came out within a message: the board waits for its end until it is reset")
			b.Reset()
			b.state()
			require.NoError(t, b.r.Declare(b.g.at))
			return false
		}
		s := b.state()
		require.False(t, s.Enabled)
		require.True(t, s.Powered, "a stock board holds them")
		b.Pass(100 * time.Millisecond)
		b.hold(mark)
		for j := range 2 {
			require.InDelta(t, b.us(j, s.Setpoints[j]), b.pulses(mark, j)[0].us, precise, "joint %d is where the board was told last", j)
		}
		return true
	})
}

// cutShort reports whether the board has heard the beginning of a message and not its end.
func (b *bench) cutShort() bool {
	open := false
	for _, e := range b.Trace().Of(0, "rx") {
		data, err := hex.DecodeString(e.Text)
		require.NoError(b.t, err)
		for _, x := range data {
			open = x == 0xF0 || open && x != 0xF7
		}
	}
	return open
}

// rebooted: the board forgets everything, which is seen, and nothing is powered by itself.
func (b *bench) rebooted() {
	t := b.t
	b.enable()
	b.Reset()
	mark := b.Mark()
	require.Eventually(t, func() bool {
		s, err := b.r.State(context.Background())
		return err == nil && !s.Enabled && !s.Powered && s.Unreferenced != nil
	}, waitLimit, 20*time.Millisecond, "that the board has booted isn't seen")
	b.Pass(300 * time.Millisecond)
	require.Empty(t, b.Trace().Of(mark, "servo"))
	require.NoError(t, b.r.Declare(b.g.at))
	b.enable()
	b.approved([]float64{0.3, 0.2})
}

// measured: what the board's converter says is where the servos are, and one that is held
// ends the motion.
func (b *bench) measured() {
	t := b.t
	b.enable()
	b.approved([]float64{0.7, -0.4})
	s := b.state()
	require.InDelta(t, 0.7, s.Positions[0], 0.03)
	require.InDelta(t, -0.4, s.Positions[1], 0.03)
	b.again(func() bool {
		b.Do("stall 0 off")
		b.Pass(500 * time.Millisecond)
		x := b.midway(func() { b.Do("stall 0 on") })
		if !x.there || stalled(x.err) {
			return false
		}
		require.Equal(t, robot.CodeDeviation, robot.CodeOf(x.err), "%v", x.err)
		require.Equal(t, robot.OutcomeFaulted, x.out.Status)
		return true
	})
}

// chip: servos at a PCA9685; without its wires nothing of it is said.
func (b *bench) chip() {
	t := b.t
	require.Empty(t, b.Trace().Of(0, "chip"), "connecting powers nothing")
	mark := b.Mark()
	b.enable()
	b.chipAt(mark, []float64{0, 0})
	for try := 1; ; try++ {
		m := moveTo(t, b.r, []float64{0.8, -0.5}, 1)
		mark = b.Mark()
		_, err := b.r.Execute(context.Background(), m, nil)
		if stalled(err) && try < 5 {
			b.enable()
			continue
		}
		require.NoError(t, err)
		break
	}
	b.chipAt(mark, []float64{0.8, -0.5})

	b.Do("i2c off")
	require.Eventually(t, func() bool {
		_, err := b.r.State(context.Background())
		return robot.CodeOf(err) == robot.CodeStaleState && strings.Contains(err.Error(), "hat")
	}, waitLimit, 20*time.Millisecond, "that the chip is gone isn't seen")
	b.Do("i2c on")
	require.Eventually(t, func() bool {
		s, err := b.r.State(context.Background())
		return err == nil && !s.Enabled && !s.Powered && s.Unreferenced != nil
	}, waitLimit, 20*time.Millisecond, "that it was without power isn't seen")
	last := b.Trace().Of(mark, "chip")
	require.Zero(t, last[len(last)-1].Int(1), "no pulse without torque_on")
}

// chipAt waits for the chip's pulses of a place.
func (b *bench) chipAt(mark boardtest.Mark, q []float64) {
	for j, ch := range []int64{0, 15} {
		want := b.us(j, q[j])
		b.Wait(mark, fmt.Sprintf("a pulse of %.0f µs at channel %d", want, ch), func(e boardtest.Event) bool {
			return e.Is("chip", ch) && math.Abs(float64(e.Int(1))/1000-want) < precise
		})
	}
}
