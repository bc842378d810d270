package gobot_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// What a file says and the board can't do is refused when it is opened: by name, with the
// value and what to do, and with nothing sent that moves.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct {
		name       string
		g          rig
		from, to   string
		where, say string
		code       robot.Code
	}{
		{"a pin that the board hasn't", servos(), "channel = 9\n", "channel = 77\n", "pan", "no such pin", robot.CodeInvalidArgument},
		{"a pin of the serial line", servos(), "channel = 9\n", "channel = 1\n", "pan", "these can: 2, 3, 4", robot.CodeInvalidArgument},
		{"a pin without servos", servos(), "channel = 9\n", "channel = 16\n", "pan", "can't drive a servo", robot.CodeInvalidArgument},
		{"PWM where there is none", servos(), "channel = 11\n", "channel = 12\n", "lamp", "can't do PWM", robot.CodeInvalidArgument},
		{"PWM of the servos' timer", elsewhere(), "channel = 11\n", "channel = 9\n", "lamp", "stretch", robot.CodeInvalidArgument},
		{"an output at a feedback's pin", measured(), "channel = 11\npwm = true\nscale = 254\n", "channel = 15\nscale = 1\n", "lamp", "feedback of tilt (A1)", robot.CodeInvalidArgument},
		{"an output at the bus", onChip(), "channel = 3\nvia = \"hat\"\nscale = 4094\n", "channel = 19\nscale = 1\n", "lamp", "hat (I2C)", robot.CodeInvalidArgument},
		{"an input that the board hasn't", measured(), "adc_pin = 1\n", "adc_pin = 9\n", "tilt", "no analogue input 9", robot.CodeInvalidArgument},
		{"another chip's address", onChip(), "address = 0x41\n", "address = 0x42\n", "hat", "at 0x42 doesn't answer", robot.CodeToolFailed},
		{"a scale beyond the output", servos(), "scale = 254\n", "scale = 300\n", "lamp", "scale", robot.CodeInvalidArgument},
		{"a scale below a step", servos(), "scale = 254\n", "scale = 0.1\n", "lamp", "scale", robot.CodeInvalidArgument},
		{"pulses that the board takes for degrees", servos(), "zero = 1472\nscale = 590.8\npulse_min = 544\n", "zero = 1330\nscale = 590.8\npulse_min = 400\n", "pan", "degrees", robot.CodeInvalidArgument},
		{"a line that is too slow", onChip(), "baud = 57600\n", "baud = 9600\n", "pantilt.toml", "too slow", robot.CodeInvalidArgument},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, c.g.file, c.from)
			c.g.old = c.g.chip
			c.g.file = strings.Replace(c.g.file, c.from, c.to, 1)
			synctest.Test(t, func(t *testing.T) {
				m := pantilt(t)
				f, err := hardware.Parse("pantilt.toml", []byte(c.g.file), m, today)
				u := c.g.board(t)
				if err == nil { // else the file's own check has seen it before
					m, err = f.Tightened(m)
					require.NoError(t, err)
					_, err = gobot.Open(context.Background(), gobot.Options{Model: m, Hardware: f, Dial: u.dial, Port: "simulated line", At: c.g.at})
					require.Equal(t, c.code, robot.CodeOf(err), "%v", err)
				}
				require.ErrorContains(t, err, c.where)
				require.ErrorContains(t, err, c.say)
				require.Empty(t, u.setpoints())
				u.do(func() { require.Nil(t, u.line, "the port is given back") })
			})
		})
	}
}

// A chip that makes another program's pulses isn't set up over them.
func TestAChipInUseIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := onChip()
		u := g.board(t)
		u.chip.regs[0], u.chip.regs[0xFE] = 0x01, 60
		copy(u.chip.regs[6+4*7:], []byte{0, 0, 0, 2})
		writes := u.chip.writes
		_, err := gobot.Open(context.Background(), g.options(t, u))
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "channel 7")
		require.Equal(t, writes, u.chip.writes, "nothing was written")
	})
}

// A board that still holds what another process told it: nothing is let go of, and it is
// known where the joints are, whatever somebody says.
func TestABoardThatHoldsIsTakenAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := servos()
		g.file = strings.Replace(g.file, "estop_powers_off = true", "estop_powers_off = false", 1)
		u := g.board(t)
		r, err := gobot.Open(context.Background(), g.options(t, u))
		require.NoError(t, err)
		actuate(t, r, robot.TorqueOn)
		_, err = r.Execute(context.Background(), moveTo(t, r, []float64{0.5, -0.25}, 0), nil)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		n := len(u.setpoints())

		again := g.open(t, u)
		s, err := again.State(context.Background())
		require.NoError(t, err)
		require.True(t, s.Powered && !s.Enabled)
		require.InDeltaSlice(t, []float64{0.5, -0.25}, s.Setpoints, 1e-3)
		require.Nil(t, s.Unreferenced)
		u.do(func() { require.Equal(t, 2, u.attached, "nothing was let go of") })
		require.Len(t, u.setpoints(), n)
		actuate(t, again, robot.TorqueOn)
	})
}

// A board whose boot loader runs when it is opened hears nothing at first.
func TestABoardThatBootsIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := servos()
		u := g.board(t)
		u.silent = true
		time.AfterFunc(2*time.Second, func() {
			u.do(func() { u.silent = false; u.boot() })
		})
		g.open(t, u)
	})
}
