package hosted_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

// deed is one thing that is done to a robot at random.
type deed struct {
	what  string
	joint int
	size  float64 // 0 to 1
	wait  time.Duration
}

var deeds = []string{
	"move", "move", "move", "move", "move", "cancelled move", "stop", "e-stop", "torque on", "torque on", "torque off", "reset", "reset", "lamp", "state",
	"unplug", "silence", "hang", "refuse", "garbage", "restart", "hold", "hand", "heat", "power loss", "delay", "write error", "other master",
}

func drawDeed(t *rapid.T) deed {
	return deed{
		what: rapid.SampledFrom(deeds).Draw(t, "what"), joint: rapid.IntRange(0, 5).Draw(t, "joint"), size: rapid.Float64Range(0, 1).Draw(t, "size"),
		wait: time.Duration(rapid.IntRange(0, 500).Draw(t, "wait")) * time.Millisecond,
	}
}

// chaos is a robot to which deeds are done.
type chaos struct {
	b   *bench
	e   *hosted.Engine
	wg  sync.WaitGroup
	bad func(format string, args ...any)
}

// longest is what any call may take, of simulated time: the longest motion, what it takes
// to come to rest, and a hang.
const longest = 30 * time.Second

// call makes one call beside the others, and sees to it that it returns.
func (c *chaos) call(what string, do func(s robot.State)) {
	c.wg.Go(func() {
		began := time.Now()
		s, _ := c.e.State(context.Background())
		do(s)
		if d := time.Since(began); d > longest {
			c.bad("%s took %v", what, d)
		}
	})
}

func (c *chaos) command(kind robot.CommandKind, value float64) {
	c.call(string(kind), func(s robot.State) {
		out, err := c.e.Actuate(context.Background(), robot.Command{ID: string(kind), Kind: kind, Name: "lamp", Value: value, Epoch: s.StopEpoch})
		c.agrees(string(kind), out, err)
	})
}

// agrees holds an outcome to its error.
func (c *chaos) agrees(what string, out robot.Outcome, err error) {
	if (err == nil) != (out.Status == robot.OutcomeDone) || err != nil && robot.CodeOf(err) == "" {
		c.bad("%s: %s with %T %+v", what, out.Status, err, err)
	}
	if out.Status == robot.OutcomeUnknown && (out.Final.Positions != nil || out.Final.Setpoints != nil) && what == "move" {
		c.bad("%s is unknown, and claims a place", what)
	}
}

func (c *chaos) move(d deed, cancelled bool) {
	c.call("move", func(s robot.State) {
		from := s.Where()
		if len(from) == 0 || slices.ContainsFunc(from, math.IsNaN) {
			return
		}
		to := slices.Clone(from)
		for i, l := range c.b.m.Limits {
			to[i] = l.Lower + (l.Upper-l.Lower)*math.Mod(d.size*float64(7+i), 1)
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if cancelled {
			time.AfterFunc(time.Duration(d.size*float64(time.Second)), cancel)
		}
		last := -1.0
		out, err := c.e.Execute(ctx, motion(c.e, s, to, 2*d.size), func(p robot.Progress) {
			if p.T < last {
				c.bad("progress goes back from %g to %g", last, p.T)
			}
			last = p.T
		})
		c.agrees("move", out, err)
		if err == nil {
			for i, q := range out.Final.Where() {
				if math.Abs(q-to[i]) > 0.06 {
					c.bad("joint %d is done at %g, it was to be at %g", i, q, to[i])
				}
			}
		}
	})
}

// fault does one deed to the device, and undoes it after a while.
func (c *chaos) fault(d deed) {
	b := c.b
	j := d.joint % len(b.m.Limits)
	long := time.Duration(d.size * float64(600*time.Millisecond))
	undo := func(do func()) { c.wg.Go(func() { time.Sleep(long); b.do(do) }) }
	method := methods[int(d.size*1000)%len(methods)]
	switch d.what {
	case "unplug":
		if b.count("disconnect") < 30 {
			b.unplug()
			undo(func() { b.unplugged = false })
		}
	case "silence":
		b.do(func() { b.silent[j] = true })
		undo(func() { b.silent[j] = false })
	case "hang":
		b.do(func() { b.hang[method] = true })
		undo(func() { delete(b.hang, method) })
	case "refuse":
		b.do(func() { b.refuses[j], b.clings[j] = d.size > 0.3, d.size < 0.6 })
		undo(func() { b.refuses[j], b.clings[j] = false, false })
	case "garbage":
		random := rand.New(rand.NewPCG(uint64(d.size*1e9), 1))
		b.do(func() { b.garbage = func(s *hosted.Sample) { spoil(s, random) } })
		undo(func() { b.garbage = nil })
	case "restart":
		b.restart()
	case "hold":
		b.do(func() { b.stuck[j] = true })
		undo(func() { b.stuck[j] = false })
	case "hand":
		b.do(func() {
			if !b.power[j] {
				b.q[j] += 0.2 * (d.size - 0.5)
			}
		})
	case "heat":
		b.do(func() { b.complains = []robot.Fault{{Code: robot.CodeOverload, Where: "a servo", Text: "too hot"}} })
		undo(func() { b.complains = nil })
	case "power loss":
		b.do(func() { b.power[j] = false })
	case "delay":
		b.do(func() { b.delay[method] = long })
	case "write error":
		b.do(func() { b.broken["write"] = robot.Errf(robot.CodeStaleState, "fake", "the adapter is full") })
		undo(func() { delete(b.broken, "write") })
	case "other master":
		if !b.measured[j] {
			return // nobody can know
		}
		b.do(func() { b.goal[j], b.deaf[j], b.foreign[j] = b.goal[j]+0.1, true, true }) // the bench's judge can't tell whose jump that is
		c.wg.Go(func() { time.Sleep(150*time.Millisecond + long); b.do(func() { b.deaf[j] = false }) })
	}
}

// spoil makes nonsense of what was read.
func spoil(s *hosted.Sample, random *rand.Rand) {
	j := &s.Joints[random.IntN(len(s.Joints))]
	odd := [...]float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, -7, 0}
	switch random.IntN(9) {
	case 0:
		j.Position = odd[random.IntN(len(odd))]
	case 1:
		j.Velocity = odd[random.IntN(len(odd))]
	case 2:
		j.Effort = odd[random.IntN(len(odd))]
	case 3:
		j.Setpoint = odd[random.IntN(len(odd))]
	case 4:
		s.Joints = s.Joints[:random.IntN(len(s.Joints))]
	case 5:
		s.At = time.Now().Add(time.Duration(random.IntN(2000)-1000) * time.Millisecond)
	case 6:
		s.Actuators = append(s.Actuators, odd[random.IntN(len(odd))])
	case 7:
		s.Faults = append(s.Faults, robot.Fault{})
	}
}

func (c *chaos) do(d deed) {
	switch d.what {
	case "move":
		c.move(d, false)
	case "cancelled move":
		c.move(d, true)
	case "stop":
		c.call("stop", func(robot.State) { c.e.Stop(context.Background(), robot.StopControlled) })
	case "e-stop":
		c.call("e-stop", func(robot.State) { c.e.Stop(context.Background(), robot.StopEmergency) })
	case "torque on":
		c.command(robot.TorqueOn, 0)
	case "torque off":
		c.command(robot.TorqueOff, 0)
	case "reset":
		c.command(robot.EStopReset, 0)
	case "lamp":
		c.command(robot.SetActuator, d.size)
	case "state":
		c.call("state", func(robot.State) {})
	default:
		c.fault(d)
	}
	time.Sleep(d.wait)
}

// recovers requires that a robot whose hardware is well again can be used again.
func (c *chaos) recovers() error {
	ctx := context.Background()
	var s robot.State
	time.Sleep(time.Second) // it has heard of all that happened
	err := fmt.Errorf("it doesn't answer")
	for k := 0; k < 1000 && err != nil; k++ {
		time.Sleep(10 * time.Millisecond)
		s, err = c.e.State(ctx)
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(s.Unreferenced, func(u bool) bool { return u }) {
		if err := c.e.Declare(c.b.m.Home); err != nil && robot.CodeOf(err) != robot.CodeBusy {
			return err
		}
	}
	for _, kind := range []robot.CommandKind{robot.EStopReset, robot.TorqueOff, robot.TorqueOn} {
		if out, err := c.e.Actuate(ctx, robot.Command{Kind: kind, Epoch: s.StopEpoch}); err != nil {
			return fmt.Errorf("%s: %s: %w", kind, out.Status, err)
		}
	}
	if s, err = c.e.State(ctx); err != nil {
		return err
	}
	_, err = c.e.Execute(ctx, motion(c.e, s, c.b.target(), 1), nil)
	return err
}

// heal makes the device well.
func (c *chaos) heal() {
	b := c.b
	b.do(func() {
		n := len(b.q)
		b.unplugged, b.garbage, b.complains = false, nil, nil
		b.silent, b.stuck, b.deaf, b.refuses, b.clings = make([]bool, n), make([]bool, n), make([]bool, n), make([]bool, n), make([]bool, n)
		clear(b.hang)
		clear(b.broken)
		clear(b.delay)
		for i, l := range b.m.Limits { // by hand
			b.q[i] = math.Max(l.Lower, math.Min(l.Upper, b.q[i]))
			b.goal[i] = math.Max(l.Lower, math.Min(l.Upper, b.goal[i])) // which the other master may have left outside
		}
	})
}

// Whatever is asked of a robot and whatever happens to it, in any order: the wire has one
// master, every setpoint is within its limits and a step from the one before, nothing is
// written that torque wasn't approved for (the device and the bench's judge say so), every
// call returns in time, and once the hardware is well the robot can be used again.
func TestWhateverHappens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := rapid.SampledFrom([]rig{lampRig, blindRig, halfRig, measuredRig}).Draw(rt, "rig")
		g.powersOff = rapid.Bool().Draw(rt, "powers off")
		todo := rapid.SliceOfN(rapid.Custom(drawDeed), 1, 40).Draw(rt, "deeds")
		var mu sync.Mutex
		var wrong []string
		inBubble(t, func(t *testing.T) {
			b := g.bench(t)
			c := &chaos{b: b, bad: func(format string, args ...any) {
				mu.Lock()
				defer mu.Unlock()
				wrong = append(wrong, fmt.Sprintf(format, args...))
			}}
			b.wrong = c.bad
			var err error
			c.e, err = hosted.Open(context.Background(), b.o)
			require.NoError(t, err)
			if _, err := do(c.e, robot.TorqueOn); err != nil {
				c.bad("torque on: %v", err)
			}
			for _, d := range todo {
				c.do(d)
			}
			c.wg.Wait()
			c.heal()
			if err := c.recovers(); err != nil {
				c.bad("it isn't to be used again: %v", err)
			}
			if err := c.e.Close(); err != nil {
				c.bad("Close: %v", err)
			}
		})
		if len(wrong) > 0 {
			rt.Fatalf("%d things are wrong, first %q", len(wrong), wrong[0])
		}
	})
}

// However a motion ends, its setpoints are continuous in position and speed: no two of them
// are farther apart than the largest speed, and no three of them bend by more than the
// largest acceleration allows in a period.
func TestSetpointsAreContinuous(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		g := rapid.SampledFrom([]rig{measuredRig, blindRig, halfRig}).Draw(rt, "rig")
		g.period = time.Duration(rapid.IntRange(2, 40).Draw(rt, "period")) * time.Millisecond
		part := rapid.SliceOfN(rapid.Float64Range(0, 1), 6, 6).Draw(rt, "to")
		late := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0, 0.25, 0.5, 1}), 6, 6).Draw(rt, "late")
		seconds := rapid.Float64Range(0.05, 3).Draw(rt, "seconds")
		sag := rapid.Float64Range(-0.015, 0.015).Draw(rt, "sag")
		when := rapid.Float64Range(0, 1).Draw(rt, "when")
		how := rapid.SampledFrom([]string{"to its end", "stop", "e-stop", "cancel", "close", "heat"}).Draw(rt, "how")
		var wrong []string
		inBubble(t, func(t *testing.T) {
			b := g.bench(t)
			b.wrong = func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
			b.reads, b.writes = 100*time.Microsecond, 100*time.Microsecond
			e, err := hosted.Open(context.Background(), b.o)
			require.NoError(t, err)
			enable(t, e)
			b.do(func() {
				for i := range b.sag {
					b.sag[i] = sag
				}
			})
			time.Sleep(300 * time.Millisecond)
			s := state(t, e)
			to := slices.Clone(b.m.Home)
			for i, l := range b.m.Limits {
				to[i] = l.Lower + part[i]*(l.Upper-l.Lower)
			}
			m := motion(e, s, to, seconds)
			m.Trajectory = curved(e.Info(), s.Where(), to, late, seconds)
			require.NoError(t, m.Trajectory.Validate(e.Info().Limits), "the test's own trajectory")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var wg sync.WaitGroup
			ended := false
			_, err = e.Execute(ctx, m, func(p robot.Progress) {
				if ended || p.T < when*m.Trajectory.Duration() {
					return
				}
				ended = true
				switch how {
				case "stop":
					wg.Go(func() { e.Stop(ctx, robot.StopControlled) })
				case "e-stop":
					wg.Go(func() { e.Stop(ctx, robot.StopEmergency) })
				case "cancel":
					cancel()
				case "close":
					wg.Go(func() { _ = e.Close() })
				case "heat":
					b.do(func() { b.complains = []robot.Fault{{Code: robot.CodeOverload, Text: "too hot"}} })
				}
			})
			if how == "to its end" && err != nil {
				wrong = append(wrong, err.Error())
			}
			wg.Wait()
			_ = e.Close()
			bends(b, &wrong)
		})
		if len(wrong) > 0 {
			rt.Fatalf("%q", wrong)
		}
	})
}

// bends looks at how setpoints bend.
func bends(b *bench, wrong *[]string) {
	log := b.writings()
	h := b.o.Traits.Period.Seconds()
	for k := 2; k < len(log); k++ {
		for i, l := range b.m.Limits {
			bend := math.Abs(log[k].q[i] - 2*log[k-1].q[i] + log[k-2].q[i])
			if bend > l.Acceleration*h*h*(1+1e-6)+1e-9 {
				*wrong = append(*wrong, fmt.Sprintf("joint %d bends by %g at setpoint %d of %d, %g are allowed", i, bend, k, len(log), l.Acceleration*h*h))
				return
			}
		}
	}
}
