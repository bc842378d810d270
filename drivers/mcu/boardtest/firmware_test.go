package boardtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu/wire"
)

// one is a position unit on the wire: 1 µs or one step.
const one = 256

// each runs a test with the firmware in the emulated chip and with the host build.
func each(t *testing.T, test func(t *testing.T, kind Kind)) {
	for _, kind := range []Kind{Host, Emulated} {
		t.Run(kind.String(), func(t *testing.T) { test(t, kind) })
	}
}

// enabled greets a board, sets wide limits and enables its joints at q.
func enabled(t *testing.T, b *Board, q []int32, limits wire.Configure) *client {
	t.Helper()
	c, hello := talk(t, b)
	require.Len(t, q, int(hello.Joints))
	for j := range q {
		limits.Channel = byte(j)
		c.do(limits)
	}
	c.enable(q)
	return c
}

// A ramp is a way of all joints from one place to another in one cubic, at rest at both
// ends, in pieces.
type ramp struct {
	from, to []int32
	ticks    int
	only     int // so many pieces are sent, 0: all
}

const pieceTicks = 25

func (r ramp) at(j, tick int) (q, v int32) {
	d, s, n := float64(r.to[j]-r.from[j]), float64(tick)/float64(r.ticks), float64(r.ticks)
	return r.from[j] + int32(d*s*s*(3-2*s)), int32(d * 6 * s * (1 - s) / n * one)
}

// run streams a ramp, never more ahead than the board has room for, until the board
// doesn't move any more.
func (r ramp) run(c *client, begin wire.Begin) {
	c.t.Helper()
	begin.Stops = c.status.Stops
	c.do(begin)
	pieces := r.ticks / pieceTicks
	const ahead = 7
	send := pieces
	if r.only > 0 {
		send = r.only
	}
	for i := range send {
		if i == ahead {
			c.do(wire.Go{Motion: begin.Motion})
			c.until("the start", func(s wire.Status) bool { return s.Motion == begin.Motion && s.MotionMS > 0 })
		}
		if i >= ahead && c.until("room", func(s wire.Status) bool {
			return int(s.MotionMS)/pieceTicks+ahead > i || s.State != wire.Moving
		}).State != wire.Moving {
			return
		}
		s := wire.Segment{Index: byte(i), Ticks: pieceTicks, Last: i == pieces-1}
		for j := range r.from {
			q, v := r.at(j, (i+1)*pieceTicks)
			if s.Last {
				v = 0
			}
			s.Knots = append(s.Knots, wire.Knot{Q: q, V: v})
		}
		c.send(s)
	}
}

func servoLimits() wire.Configure {
	return wire.Configure{Lower: 600 * one, Upper: 2400 * one, V: 4 * one * one, A: 500_000, Ramp: 50}
}

func TestPulsesFollowAMotionOnTheFirmware(t *testing.T) {
	each(t, func(t *testing.T, kind Kind) {
		b := Start(t, Options{Map: "servo2", Kind: kind})
		c := enabled(t, b, []int32{1500 * one, 1000 * one}, servoLimits())
		mark := b.Mark()
		b.Wait(mark, "pulses", func(e Event) bool { return e.Is("servo", 1) })
		r := ramp{from: []int32{1500 * one, 1000 * one}, to: []int32{1700 * one, 900 * one}, ticks: 500}
		r.run(c, wire.Begin{Motion: 1, Seek: wire.NoSeek})
		s := c.until("the end", func(s wire.Status) bool { return s.MotionMS == 500 && s.State == wire.Hold })
		require.Equal(t, wire.FaultNone, s.Fault)
		require.Equal(t, r.to, s.Setpoints)
		b.Pass(60 * time.Millisecond)

		for j := range r.from {
			pulses := b.Trace().Pulses(j, mark)
			require.InDelta(t, us(r.to[j]), pulses[len(pulses)-1].Width, float64(2*time.Microsecond), "joint %d", j)
			for i := 1; i < len(pulses); i++ {
				require.InDelta(t, 20*time.Millisecond, pulses[i].At-pulses[i-1].At, float64(time.Millisecond), "the period of joint %d", j)
			}
			start, worst := r.fit(j, pulses)
			require.Less(t, worst, 3*time.Microsecond, "joint %d", j)
			t.Logf("joint %d follows within %v a motion that began at %v", j, worst, start)
		}
	})
}

// fit finds the start of the motion that a joint's pulses follow best, and by how much
// the worst of them is off.
func (r ramp) fit(j int, pulses []Pulse) (start, worst time.Duration) {
	worst = time.Hour
	for at := pulses[0].At; at < pulses[len(pulses)-1].At; at += time.Millisecond {
		var off time.Duration
		for _, p := range pulses {
			q, _ := r.at(j, min(max(int((p.At-at)/time.Millisecond), 0), r.ticks))
			off = max(off, (p.Width - us(q)).Abs())
		}
		if off < worst {
			start, worst = at, off
		}
	}
	return start, worst
}

func us(q int32) time.Duration { return time.Duration(q) * time.Microsecond / one }

func TestTheButtonStopsAMotionOnTheFirmware(t *testing.T) {
	each(t, func(t *testing.T, kind Kind) {
		b := Start(t, Options{Map: "servo2", Kind: kind})
		c := enabled(t, b, []int32{1500 * one, 1500 * one}, servoLimits())
		r := ramp{from: []int32{1500 * one, 1500 * one}, to: []int32{2100 * one, 900 * one}, ticks: 1000}
		mark := b.Mark()
		pressed := b.Do("note").At + 400*time.Millisecond
		b.At(pressed, "button on")
		r.run(c, wire.Begin{Motion: 1, Seek: wire.NoSeek})
		s := c.until("the fault", func(s wire.Status) bool { return s.State == wire.Faulted })
		require.Equal(t, wire.FaultEStopInput, s.Fault)
		require.NotEqual(t, r.to, s.Setpoints, "it stopped on its way")
		b.Pass(100 * time.Millisecond)
		at := b.Wait(mark, "the button", func(e Event) bool { return e.Is("button", 1) }).At
		for j := range r.from {
			w, ok := b.Trace().PulseAt(j, b.Trace().Now())
			require.True(t, ok, "its power stays")
			require.InDelta(t, us(s.Setpoints[j]), w, float64(2*time.Microsecond))
			for _, p := range b.Trace().Pulses(j, mark) {
				if p.At > at+300*time.Millisecond {
					require.InDelta(t, w, p.Width, float64(2*time.Microsecond), "joint %d stands after the brake", j)
				}
			}
		}
	})
}

func TestStepsFollowAMotionOnTheFirmware(t *testing.T) {
	each(t, func(t *testing.T, kind Kind) {
		b := Start(t, Options{Map: "stepper3", Kind: kind, SwitchAt: []SwitchAt{{Joint: 0, Position: -100}}})
		at := []int32{0, 0, 0}
		c := enabled(t, b, at, wire.Configure{Lower: -10000 * one, Upper: 10000 * one, V: 4 * one * one, A: 500_000, Ramp: 50})
		b.Wait(0, "the drivers' power", func(e Event) bool { return e.Is("enable", 1) })

		// Only a motion that seeks may run before the joints have found their switches.
		c.send(wire.Begin{Motion: 1, Stops: c.status.Stops, Seek: wire.NoSeek})
		var a wire.Ack
		require.NoError(t, a.Parse(c.next(wire.TypeAck).Payload))
		require.Equal(t, wire.CodeNotReferenced, a.Code)
		for j := range at {
			c.reference(b, j)
		}

		// Where a joint's counting begins is its own affair; what it moves isn't.
		var begin [3]int64
		from := c.until("rest", func(s wire.Status) bool { return s.State == wire.Hold }).Setpoints
		now := b.Trace().Now()
		for j := range begin {
			begin[j] = b.Trace().StepsAt(j, now)
		}
		r := ramp{from: from, to: []int32{from[0] + 300*one, from[1] + 200*one, from[2] - 100*one}, ticks: 500}
		r.run(c, wire.Begin{Motion: 9, Seek: wire.NoSeek})
		c.until("the end", func(s wire.Status) bool { return s.MotionMS == 500 && s.State == wire.Hold })
		b.Pass(20 * time.Millisecond)
		now = b.Trace().Now()
		for j := range begin {
			require.Equal(t, int64(r.to[j]-from[j])/one, b.Trace().StepsAt(j, now)-begin[j], "joint %d", j)
		}
		require.Empty(t, b.Trace().Of(0, "marginal"))
		require.Empty(t, b.Trace().Of(0, "unpowered"))
	})
}

// reference lets a joint seek its switch, which is closed by hand where no axis model
// does it, and calls the place 0.
func (c *client) reference(b *Board, joint int) {
	c.t.Helper()
	from := c.until("rest", func(s wire.Status) bool { return s.State == wire.Hold }).Setpoints
	to := append([]int32(nil), from...)
	to[joint] -= 400 * one
	motion := uint16(joint + 1)
	r := ramp{from: from, to: to, ticks: 500}
	mark := b.Mark()
	if joint > 0 {
		b.At(b.Do("note").At+400*time.Millisecond, "switch %d on", joint)
	}
	r.run(c, wire.Begin{Motion: motion, Seek: byte(joint)})
	c.until("the switch", func(s wire.Status) bool { return s.State == wire.Hold && s.Motion == motion && s.MotionMS > 0 })
	b.Wait(mark, "the switch in the trace", func(e Event) bool { return e.Is("switch", int64(joint), 1) })
	c.do(wire.Reference{Channel: byte(joint), Q: 0})
	if joint > 0 {
		b.SwitchAuto(joint)
	}
}
