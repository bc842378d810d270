package gobot_test

import (
	"context"
	"testing"
	"time"

	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/robot/robottest"
)

// fixture is a robot for the suite.
func (g rig) fixture(t *testing.T) robottest.Fixture {
	u := g.board(t)
	o := g.options(t, u)
	f := robottest.Fixture{
		Backend: thawing{g.open(t, u), u}, Model: o.Model, Disabled: true, Target: []float64{1.3, 0.9},
		Tolerance: 0.012, MaxDeviation: 0.25,
		// A period, and the servo's lag of 60 ms with that of its reports.
		Lag: 0.14, Watchdog: 0.14,
		Freeze:    u.freeze,
		Unplug:    u.unplug,
		Replug:    u.replug,
		Silence:   func() { u.do(func() { u.silent = true }) },
		Observe:   g.observe(t, u),
		TorqueOff: true,
		Rival: func() error {
			again, err := gobot.Open(context.Background(), o)
			if err != nil {
				return err
			}
			return again.Close()
		},
		Reboot: func() {
			u.reset()
			if g.chip {
				u.do(u.chip.powerUp)
			}
		},
	}
	if g.at == nil {
		f.Block = func(j int) { u.do(func() { u.block([]int{g.pan, g.tilt}[j]) }) }
	}
	return f
}

// thawing is a robot whose board hears and answers again before it is closed: one that
// doesn't isn't left safe, and Close says so, which another test looks at.
type thawing struct {
	*gobot.Robot
	u *uno
}

func (r thawing) Close() error {
	var dumb bool
	r.u.do(func() { dumb, r.u.silent = r.u.silent || r.u.frozen, false })
	if r.u.thaw(); dumb {
		time.Sleep(5 * time.Second) // of the bubble's: it is asked again, or connected anew
	}
	return r.Robot.Close()
}

// block holds the servo at a pin; u.mu is held.
func (u *uno) block(pin int) {
	u.blocked[pin] = true
	p := &u.pins[pin]
	p.follows.follow(p.follows.now())
}

func (g rig) harness() robottest.Harness {
	h := robottest.Harness{Bubble: true, New: g.fixture}
	if g.at != nil {
		unknown := g
		unknown.at = nil
		h.Unknown = unknown.fixture
	}
	return h
}

func TestConformanceOfOpenLoopServos(t *testing.T) { robottest.Run(t, servos().harness()) }
func TestConformanceOfMeasuredServos(t *testing.T) { robottest.Run(t, measured().harness()) }
func TestConformanceOfHalfMeasured(t *testing.T)   { robottest.Run(t, half().harness()) }
func TestConformanceOnAChip(t *testing.T)          { robottest.Run(t, onChip().harness()) }
