package boardtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu/wire"
)

// What these tests do to a real board's servos: nothing beyond 1400 to 1600 µs.
const (
	realMiddle = 1500 * one
	realWay    = 100 * one
)

// servos greets a board, which may be a real one, and describes it. The test is skipped
// where a joint isn't a servo.
func servos(t *testing.T) (*client, []int32) {
	t.Helper()
	b := Start(t, Options{Map: "servo2", RealToo: true})
	c, hello := talk(t, b)
	c.do(wire.Disable{}) // where opening reset nothing, the test before may have left it powered
	at := make([]int32, hello.Joints)
	for j := range at {
		c.send(wire.Describe{Channel: byte(j)})
		var ch wire.Channel
		require.NoError(t, ch.Parse(c.next(wire.TypeChannel).Payload))
		if ch.Kind != wire.KindServo {
			t.Skipf("joint %d of the board is a %v: only servos are moved without an axis of known length", j, ch.Kind)
		}
		c.do(wire.Configure{
			Channel: byte(j), Lower: realMiddle - realWay, Upper: realMiddle + realWay,
			V: one * one, A: 200_000, Ramp: 50,
		})
	}
	known := c.positions()
	for j := range at {
		at[j] = realMiddle
		if known.Joints[j].Known != wire.KnownNot {
			at[j] = known.Joints[j].Q // the test before moved it, and opening reset nothing
		}
	}
	t.Cleanup(func() {
		if b.Kind() == Real {
			c.send(wire.Stop{Kind: wire.StopControlled})
			c.send(wire.Disable{})
			c.wait(wire.TypeAck, greetWait)
		}
	})
	return c, at
}

func (c *client) positions() wire.Positions {
	c.t.Helper()
	c.send(wire.Report{})
	var p wire.Positions
	require.NoError(c.t, p.Parse(c.next(wire.TypePositions).Payload))
	return p
}

func (c *client) enable(q []int32) {
	c.t.Helper()
	c.do(wire.Enable{Report: c.positions().Report, Q: q})
}

// refused sends what has to be answered by that code.
func (c *client) refused(m message, code wire.Code) {
	c.t.Helper()
	c.send(m)
	var a wire.Ack
	require.NoError(c.t, a.Parse(c.next(wire.TypeAck).Payload))
	require.Equal(c.t, code, a.Code, "%T", m)
}

func TestABoardMovesThereAndBackAndStops(t *testing.T) {
	c, at := servos(t)
	c.refused(wire.Begin{Motion: 1, Seek: wire.NoSeek}, wire.CodeNotEnabled)
	c.enable(at)
	to := make([]int32, len(at))
	for j := range to {
		to[j] = realMiddle + realWay*3/4
	}
	there := ramp{from: at, to: to, ticks: 500}
	there.run(c, wire.Begin{Motion: 1, Seek: wire.NoSeek})
	s := c.until("the end", func(s wire.Status) bool { return s.MotionMS == 500 && s.State == wire.Hold })
	require.Equal(t, to, s.Setpoints)

	back := ramp{from: to, to: at, ticks: 1000, only: 20}
	back.run(c, wire.Begin{Motion: 2, Seek: wire.NoSeek})
	c.do(wire.Stop{Kind: wire.StopControlled})
	s = c.until("rest", func(s wire.Status) bool { return s.State == wire.Hold && s.Stops > 0 })
	require.Equal(t, wire.FaultNone, s.Fault, "a controlled stop is no fault")
	require.Less(t, s.Setpoints[0], to[0])
	require.NotEqual(t, at[0], s.Setpoints[0], "it stopped on its way")
	c.refused(wire.Begin{Motion: 3, Seek: wire.NoSeek}, wire.CodeStopped)
	c.do(wire.Disable{})
	c.until("no power", func(s wire.Status) bool { return s.State == wire.Idle && !s.Flags.Has(wire.FlagPowered) })
}

func TestABoardLatchesAnEStopUntilItIsCleared(t *testing.T) {
	c, at := servos(t)
	c.enable(at)
	c.do(wire.Stop{Kind: wire.StopEmergency})
	s := c.until("the fault", func(s wire.Status) bool { return s.State == wire.Faulted })
	require.Equal(t, wire.FaultEStopCommand, s.Fault)
	c.refused(wire.Begin{Motion: 1, Stops: s.Stops, Seek: wire.NoSeek}, wire.CodeFault)
	c.refused(wire.Clear{Fault: wire.FaultWatchdog}, wire.CodeBadValue)
	c.do(wire.Clear{Fault: wire.FaultEStopCommand})
	s = c.until("no fault", func(s wire.Status) bool { return s.State == wire.Idle })
	require.Equal(t, wire.FaultNone, s.Fault)
	c.refused(wire.Begin{Motion: 1, Stops: s.Stops, Seek: wire.NoSeek}, wire.CodeNotEnabled)
}

func TestABoardKeepsItsLimits(t *testing.T) {
	c, at := servos(t)
	loose := wire.Configure{Lower: realMiddle - 2*realWay, Upper: realMiddle + realWay, V: one * one, A: 200_000, Ramp: 50}
	c.refused(loose, wire.CodeLooser)
	at[0] = realMiddle + realWay + 1
	c.refused(wire.Enable{Report: c.positions().Report, Q: at}, wire.CodeLimit)
}
