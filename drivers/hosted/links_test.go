package hosted_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// Unplugged and plugged in a hundred times, in motion and at rest: nothing moves by itself,
// no state is older than its plug, why it stopped stays latched, and nothing is left over.
func TestAHundredUnplugs(t *testing.T) {
	for _, g := range []rig{measuredRig, blindRig} {
		inBubble(t, func(t *testing.T) {
			b := g.bench(t)
			e := b.open(t)
			least := 0
			for k := range 100 {
				s := back(t, e)
				if len(s.Faults) > 0 {
					require.Equal(t, robot.CodeDisconnected, s.Faults[0].Code)
					_, err := do(e, robot.EStopReset)
					require.NoError(t, err)
				}
				enable(t, e)
				s = state(t, e)
				to := b.target()
				if k%4 >= 2 {
					to = b.m.Home
				}
				m := motion(e, s, to, 1)
				if k%2 == 0 {
					r := during(t, e, m, 0.3, b.unplug)
					code(t, robot.CodeDisconnected, r.err)
					require.Equal(t, robot.OutcomeUnknown, r.out.Status)
					require.Nil(t, r.out.Final.Positions)
					require.Nil(t, r.out.Final.Setpoints)
				} else {
					b.unplug()
				}
				time.Sleep(time.Duration(1+k%7) * 100 * time.Millisecond)
				_, err := e.State(context.Background())
				code(t, robot.CodeDisconnected, err)
				writes, at := b.count("write"), b.where()
				plugged := time.Now()
				b.replug()
				s = back(t, e)
				require.False(t, s.MeasuredAt.Before(plugged), "it is measured after the plug")
				require.False(t, s.Enabled || s.Moving && s.Positions == nil)
				time.Sleep(200 * time.Millisecond)
				out, err := e.Execute(context.Background(), m, nil)
				require.Error(t, err, "what was prepared before is void")
				require.Equal(t, robot.OutcomeRefused, out.Status)
				require.Equal(t, writes, b.count("write"), "nothing was written")
				require.InDeltaSlice(t, at, b.where(), 0.01)
				if n := runtime.NumGoroutine(); k == 10 {
					least = n
				} else if k > 10 { // some end a moment later; one left over by each would be 90
					require.Less(t, n, least+20, "goroutines are left over")
				}
			}
		})
	}
}

// A link that can't be made again is tried ever more rarely, and nothing of it is a reason
// for Close to wait.
func TestALinkThatDoesNotComeBack(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		e := b.open(t)
		b.unplug()
		time.Sleep(time.Minute)
		require.Less(t, b.count("connect"), 45)
		require.Greater(t, b.count("connect"), 25)
		_, err := e.State(context.Background())
		code(t, robot.CodeDisconnected, err)
		b.do(func() { b.hang["connect"] = true })
		time.Sleep(3 * time.Second)
		takes(t, bound, "Close", func() { require.NoError(t, e.Close()) })
	})
}

// A device that connects and then says nothing isn't a robot that answers.
func TestADeviceThatComesBackHalf(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		e := b.open(t)
		b.unplug()
		time.Sleep(time.Second)
		b.do(func() { b.silent[5] = true })
		b.replug()
		time.Sleep(5 * time.Second)
		_, err := e.State(context.Background())
		code(t, robot.CodeDisconnected, err)
		require.ErrorContains(t, err, b.m.JointNames()[5])
		b.do(func() { b.silent[5] = false })
		back(t, e)
	})
}
