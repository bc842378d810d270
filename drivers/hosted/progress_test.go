package hosted_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

// At least 20 reports a second of motion time, at every period that there may be.
func TestReportsOfAMotion(t *testing.T) {
	for _, period := range []time.Duration{1, 7, 10, 20, 25, 33, 50} {
		t.Run(fmt.Sprint(period), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				g := measuredRig
				g.period = period * time.Millisecond
				b := g.bench(t)
				b.reads, b.writes = 100*time.Microsecond, 100*time.Microsecond
				b.o.Traits.ReadEvery = max(1, int(20*time.Millisecond/g.period))
				e := b.open(t)
				enable(t, e)
				var at []float64
				_, err := e.Execute(context.Background(), motion(e, state(t, e), b.target(), 2), func(p robot.Progress) { at = append(at, p.T) })
				require.NoError(t, err)
				for k := 1; k < len(at); k++ {
					require.GreaterOrEqual(t, at[k], at[k-1])
					require.LessOrEqual(t, at[k]-at[k-1], 0.05+1e-9)
				}
				require.Greater(t, at[len(at)-1], 2.0)
			})
		})
	}
}

// Who doesn't take the reports ends the motion by a fault, and so does one that panics.
func TestWhoeverFollowsAMotion(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		slow := true
		_, err := e.Execute(context.Background(), motion(e, state(t, e), b.target(), 20), func(robot.Progress) {
			if slow {
				time.Sleep(10 * time.Second)
			}
			slow = false
		})
		code(t, robot.CodeInternal, err)
		require.ErrorContains(t, err, "reports")
	})
	inBubble(t, func(t *testing.T) {
		b, e := measuredRig.enabled(t)
		m := motion(e, state(t, e), b.target(), 2)
		require.Panics(t, func() { _, _ = e.Execute(context.Background(), m, func(robot.Progress) { panic("oops") }) })
		s := state(t, e)
		require.Equal(t, robot.CodeInternal, s.Faults[0].Code)
		require.False(t, s.Moving, "it has come to rest before the panic went on")
		require.Greater(t, m.Trajectory.End()[0]-s.Positions[0], 0.1)
	})
}

// What Open needs, it says.
func TestWhatAnEngineIsMadeFrom(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		good := measuredRig.bench(t)
		for name, spoil := range map[string]func(o *hosted.Options){
			"no model":        func(o *hosted.Options) { o.Model = nil },
			"no file":         func(o *hosted.Options) { o.Hardware = nil },
			"no body":         func(o *hosted.Options) { o.Body = nil },
			"no name":         func(o *hosted.Options) { o.Traits.Backend = "" },
			"no version":      func(o *hosted.Options) { o.Traits.Version = "" },
			"no device":       func(o *hosted.Options) { o.Traits.Device = "" },
			"no period":       func(o *hosted.Options) { o.Traits.Period = 0 },
			"a long period":   func(o *hosted.Options) { o.Traits.Period = 51 * time.Millisecond },
			"never read":      func(o *hosted.Options) { o.Traits.ReadEvery = 0 },
			"rarely read":     func(o *hosted.Options) { o.Traits.ReadEvery = 26 },
			"no exchange":     func(o *hosted.Options) { o.Traits.Exchange = 0 },
			"a negative lag":  func(o *hosted.Options) { o.Traits.Lag = -1 },
			"a joint too few": func(o *hosted.Options) { o.Traits.Measured = o.Traits.Measured[1:] },
			"a place too few": func(o *hosted.Options) { o.At = []float64{0} },
			"a joint unbound": func(o *hosted.Options) { f := *o.Hardware; f.Joints = f.Joints[1:]; o.Hardware = &f },
		} {
			o := good.o
			spoil(&o)
			_, err := hosted.Open(context.Background(), o)
			code(t, robot.CodeInvalidArgument, err)
			require.NotEmpty(t, err.Error(), name)
		}
		require.Zero(t, good.count("connect"))
	})
}

// The identity covers what leads to other setpoints.
func TestIdentity(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		seen := map[[32]byte]string{}
		for name, change := range map[string]func(o *hosted.Options){
			"as it is":          func(*hosted.Options) {},
			"another version":   func(o *hosted.Options) { o.Traits.Version = "2" },
			"another backend":   func(o *hosted.Options) { o.Traits.Backend = "other" },
			"another period":    func(o *hosted.Options) { o.Traits.Period = 20 * time.Millisecond },
			"read more often":   func(o *hosted.Options) { o.Traits.ReadEvery = 1 },
			"calibrated anew":   func(o *hosted.Options) { f := *o.Hardware; f.Baud = 500000; o.Hardware = &f },
			"elsewhere plugged": func(o *hosted.Options) { o.Traits.Device = "another line" },
		} {
			b := measuredRig.bench(t)
			change(&b.o)
			id := b.open(t).Info().Identity
			if other, twice := seen[id]; twice {
				require.ElementsMatch(t, []string{"as it is", "elsewhere plugged"}, []string{name, other})
			}
			seen[id] = name
		}
		require.Len(t, seen, 6)
	})
}
