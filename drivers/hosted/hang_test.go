package hosted_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

// bound is how long any call may take while the hardware hangs: the patience for the
// exchange that hangs, for its being disconnected, and what a stop waits for besides.
const bound = 12 * time.Second

// provoke has the engine call a method of its body soon.
func provoke(e *hosted.Engine, b *bench, s robot.State, method string) {
	ctx := context.Background()
	c := robot.Command{ID: method, Epoch: s.StopEpoch}
	switch method {
	case "write":
		_, _ = e.Execute(ctx, motion(e, s, b.target(), 2), nil)
		return
	case "confirm":
		e.Stop(ctx, robot.StopControlled)
		return
	case "power on":
		c.Kind = robot.TorqueOff
		_, _ = e.Actuate(ctx, c)
		c.Kind = robot.TorqueOn
	case "power off":
		c.Kind = robot.TorqueOff
	case "set":
		c.Kind, c.Name, c.Value = robot.SetActuator, "lamp", 1
	case "clear":
		c.Kind = robot.EStopReset
	}
	_, _ = e.Actuate(ctx, c)
}

var methods = []string{"read", "write", "confirm", "power on", "power off", "set", "clear"}

// A method that doesn't return is unblocked by disconnecting, and nobody waits for it for
// long meanwhile: the link counts as lost, and comes back when the hardware does.
func TestHardwareThatHangs(t *testing.T) {
	for _, method := range methods {
		t.Run(method, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b, e := lampRig.enabled(t)
				s := state(t, e)
				b.do(func() { b.hang[method] = true })
				var wg sync.WaitGroup
				wg.Go(func() { takes(t, bound, "what was asked for", func() { provoke(e, b, s, method) }) })
				for range 40 {
					time.Sleep(50 * time.Millisecond)
					takes(t, time.Second, "State", func() {
						s, err := e.State(context.Background())
						if err == nil {
							require.Less(t, time.Since(s.MeasuredAt), 2*hosted.StaleAfter)
						} else {
							require.Contains(t, []robot.Code{robot.CodeStaleState, robot.CodeDisconnected}, robot.CodeOf(err))
						}
					})
				}
				takes(t, bound, "Stop", func() { e.Stop(context.Background(), robot.StopEmergency) })
				wg.Wait()
				b.do(func() { b.hang = map[string]bool{} })
				s = back(t, e)
				require.NotEmpty(t, s.Faults)
				require.Equal(t, robot.CodeDisconnected, s.Faults[0].Code)
				require.False(t, s.Enabled)
			})
		})
	}
}

// A Body that hangs while the robot is let go of is disconnected all the same.
func TestCloseOfHardwareThatHangs(t *testing.T) {
	for _, method := range append([]string{"disconnect"}, methods...) {
		for _, moving := range []bool{false, true} {
			t.Run(method, func(t *testing.T) {
				inBubble(t, func(t *testing.T) {
					b := lampRig.bench(t)
					e, err := hosted.Open(context.Background(), b.o)
					require.NoError(t, err)
					enable(t, e)
					s := state(t, e)
					var wg sync.WaitGroup
					if moving {
						wg.Go(func() { _, _ = e.Execute(context.Background(), motion(e, s, b.target(), 2), nil) })
						time.Sleep(time.Second)
					}
					b.do(func() { b.hang[method] = true })
					takes(t, bound+closing, "Close", func() { _ = e.Close() })
					wg.Wait()
					_, err = e.State(context.Background())
					code(t, robot.CodeDisconnected, err)
					require.False(t, b.used(), "the port is free")
				})
			})
		}
	}
}

// closing is how long Close may wait for rest.
const closing = 10 * time.Second

// A Body that hangs even when it is disconnected holds up nobody but its own goroutine:
// a stop, the state and Close answer, and say so.
func TestHardwareThatGoesOnHanging(t *testing.T) {
	for _, method := range methods {
		t.Run(method, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				b := lampRig.bench(t)
				e, err := hosted.Open(context.Background(), b.o)
				require.NoError(t, err)
				enable(t, e)
				s := state(t, e)
				calls := 0
				b.do(func() { b.spell[method], calls = true, b.calls[method] })
				var wg sync.WaitGroup
				wg.Go(func() {
					time.Sleep(time.Millisecond)
					takes(t, bound, "what was asked for", func() { provoke(e, b, s, method) })
				})
				for b.count(method) == calls {
					time.Sleep(time.Millisecond)
				}
				takes(t, bound, "Stop", func() {
					v := e.Stop(context.Background(), robot.StopControlled)
					require.NotEqual(t, robot.Yes, v.Stationary)
				})
				time.Sleep(5 * time.Second)
				_, err = e.State(context.Background())
				code(t, robot.CodeDisconnected, err)
				wg.Wait()
				takes(t, bound+closing, "Close", func() { err = e.Close() })
				code(t, robot.CodeLinkTimeout, err)
				require.ErrorContains(t, err, "hang")
				time.Sleep(2 * time.Minute) // until it has come to its senses, and the loop has ended
			})
		})
	}
}

// Open ends in time whatever the hardware does, and leaves nothing open.
func TestOpenOfHardwareThatHangs(t *testing.T) {
	for _, how := range []func(d *device){
		func(d *device) { d.hang["connect"] = true },
		func(d *device) { d.hang["read"] = true },
		func(d *device) { d.hang["set"] = true },
		func(d *device) { d.spell["connect"] = true },
		func(d *device) { d.spell["read"] = true },
		func(d *device) { d.delay["connect"] = time.Hour },
	} {
		for _, cancelled := range []bool{false, true} {
			inBubble(t, func(t *testing.T) {
				b := lampRig.bench(t)
				how(b.device)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				want := robot.CodeLinkTimeout
				if cancelled {
					time.AfterFunc(time.Second, cancel)
				}
				var err error
				takes(t, hosted.OpenWithin+6*time.Second, "Open", func() { _, err = hosted.Open(ctx, b.o) })
				require.Error(t, err)
				require.Contains(t, []robot.Code{want, robot.CodeCancelled, robot.CodeDisconnected}, robot.CodeOf(err), "%v", err)
				time.Sleep(2 * time.Minute)
				require.False(t, b.used())
			})
		}
	}
}

// What Connect refuses is what Open answers, and nothing is tried again.
func TestOpenAnswersWhatTheHardwareRefuses(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		b := measuredRig.bench(t)
		b.broken["connect"] = robot.Errf(robot.CodeInvalidArgument, "fake", "servo 3 is another model")
		_, err := hosted.Open(context.Background(), b.o)
		code(t, robot.CodeInvalidArgument, err)
		require.ErrorContains(t, err, "servo 3 is another model")
		require.Equal(t, 1, b.count("connect"))
		delete(b.broken, "connect")
		b.silent[2] = true
		_, err = hosted.Open(context.Background(), b.o)
		code(t, robot.CodeStaleState, err)
		require.ErrorContains(t, err, b.m.JointNames()[2])
		require.False(t, b.used())
		b.silent[2] = false
		b.broken["read"] = robot.Errf(robot.CodeInternal, "fake", "nonsense")
		_, err = hosted.Open(context.Background(), b.o)
		code(t, robot.CodeStaleState, err)
		require.ErrorContains(t, err, "nonsense")
		require.False(t, b.used())
	})
}
