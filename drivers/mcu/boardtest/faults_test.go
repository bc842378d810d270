package boardtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu/wire"
)

func TestBootsOfTheFirmwareAreToldApart(t *testing.T) {
	each(t, func(t *testing.T, kind Kind) {
		b := Start(t, Options{Map: "servo2", Kind: kind})
		boots := map[uint32]bool{}
		greet := func(cause wire.ResetFlags) {
			t.Helper()
			c, hello := talk(t, b)
			require.Equal(t, cause, hello.Flags)
			require.False(t, boots[hello.Boot], "boot %d again", hello.Boot)
			boots[hello.Boot] = true
			c.close()
		}
		greet(0)
		b.Reset()
		greet(0)
		b.BrownOut()
		greet(wire.WasBrownOut)
		mark := b.Mark()
		b.Hang()
		b.Wait(mark, "the watchdog", func(e Event) bool { return e.Kind == "boot" && e.Text == "watchdog" })
		greet(wire.WasWatchdog)
		require.Empty(t, b.Trace().Of(0, "servo"), "no pulse before ENABLE")
	})
}

func TestPulsesEndWithABoot(t *testing.T) {
	each(t, func(t *testing.T, kind Kind) {
		b := Start(t, Options{Map: "servo2", Kind: kind})
		c := enabled(t, b, []int32{1500 * one, 1500 * one}, servoLimits())
		b.Wait(0, "pulses", func(e Event) bool { return e.Is("servo", 1) })
		c.close()
		b.Reset()
		mark := b.Mark()
		c, hello := talk(t, b)
		require.Zero(t, hello.Flags&wire.WasConfigured)
		c.until("a status", func(s wire.Status) bool { return s.State == wire.Idle && s.Flags&wire.FlagPowered == 0 })
		b.Pass(50 * time.Millisecond)
		require.Empty(t, b.Trace().Of(mark, "servo"))
	})
}

func TestALostHostEndsAMotionOnTheFirmware(t *testing.T) {
	each(t, func(t *testing.T, kind Kind) {
		b := Start(t, Options{Map: "servo2", Kind: kind})
		c := enabled(t, b, []int32{1500 * one, 1500 * one}, servoLimits())
		r := ramp{from: []int32{1500 * one, 1500 * one}, to: []int32{2100 * one, 900 * one}, ticks: 1000, only: 20}
		r.run(c, wire.Begin{Motion: 1, Seek: wire.NoSeek})
		mark := b.Mark()
		gone := b.Do("note").At
		c.close()
		b.Pass(700 * time.Millisecond)

		// 200 ms without a frame, the brake, and a period of pulses.
		const latest = 400 * time.Millisecond
		last, ok := b.Trace().PulseAt(0, b.Trace().Now())
		require.True(t, ok)
		require.Less(t, last, 2100*time.Microsecond)
		for _, p := range b.Trace().Pulses(0, mark) {
			if p.At > gone+latest {
				require.InDelta(t, last, p.Width, float64(2*time.Microsecond))
			}
		}
		c, _ = talk(t, b)
		s := c.until("the fault", func(s wire.Status) bool { return s.State == wire.Faulted })
		require.Contains(t, []wire.Fault{wire.FaultWatchdog, wire.FaultUnderrun}, s.Fault, "whichever came first is latched")
		require.InDelta(t, us(s.Setpoints[0]), last, float64(2*time.Microsecond))
	})
}

func TestEightServosHaveTheirPulses(t *testing.T) {
	each(t, func(t *testing.T, kind Kind) {
		b := Start(t, Options{Map: "servo8", Kind: kind})
		at := make([]int32, 8)
		for j := range at {
			at[j] = int32(700+200*j) * one
		}
		enabled(t, b, at, servoLimits())
		mark := b.Mark()
		b.Pass(300 * time.Millisecond)
		for j := range at {
			pulses := b.Trace().Pulses(j, mark)
			require.Greater(t, len(pulses), 10)
			for _, p := range pulses[1:] {
				require.InDelta(t, us(at[j]), p.Width, float64(10*time.Microsecond), "joint %d", j)
			}
		}
	})
}

func TestFeedbackAndOutputsOfTheFirmware(t *testing.T) {
	each(t, func(t *testing.T, kind Kind) {
		b := Start(t, Options{Map: "servo2", Kind: kind, Feedback: 3})
		c, _ := talk(t, b)
		counts := func() []int32 {
			var f wire.Feedbacks
			require.NoError(t, f.Parse(c.next(wire.TypeFeedback).Payload))
			return f.Values
		}
		want := func(joint int, value int32) {
			t.Helper()
			for range 100 {
				if counts()[joint] == value {
					return
				}
			}
			require.Equal(t, value, counts()[joint])
		}
		want(0, 512)
		b.Raw(0, 100)
		b.Raw(1, 900)
		want(0, 100)
		want(1, 900)

		mark := b.Mark()
		for o, most := range []uint16{1, 1, 255} {
			c.do(wire.ConfigureOutput{Output: byte(o), Max: most})
			c.do(wire.Output{Output: byte(o), Value: most})
			b.Wait(mark, "the output", func(e Event) bool { return e.Is("output", int64(o), int64(most)) })
		}
	})
}
