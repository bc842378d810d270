package gobot_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

// rig is a pan and tilt on a board.
type rig struct {
	file string // its TOML
	at   []float64
	// pins of the joints, or with chip its channels
	pan, tilt int
	chip      bool
	old       bool // its firmware is version 2.4
}

var today = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const head = `robot = "pantilt"
driver = "gobot"
adaptor = "firmata"
calibrated = 2026-11-30
baud = 57600
estop_powers_off = true
lost_link_powers_off = false
`

const joint = `
[joint.%s]
channel = %d
kind = "servo"
direction = %d
zero = 1472
scale = 590.8
pulse_min = 544
pulse_max = 2400
`

const lamp = `
[output.lamp]
channel = 11
pwm = true
scale = 254
`

const hat = `
[chip.hat]
kind = "pca9685"
address = 0x41
frequency = 50
`

// servos is two of them without feedback, at pins of the board.
func servos() rig {
	return rig{
		file: head + fmt.Sprintf(joint, "pan", 9, 1) + "feedback = \"none\"\nlower = -1.4\nupper = 1.4\n" +
			fmt.Sprintf(joint, "tilt", 10, -1) + "feedback = \"none\"\n" + lamp,
		at: []float64{0, 0}, pan: 9, tilt: 10,
	}
}

// elsewhere is the same with the pan at a pin that no timer has to do with.
func elsewhere() rig {
	r := servos()
	r.file, r.pan = strings.Replace(r.file, "channel = 9\n", "channel = 2\n", 1), 2
	return r
}

// measured is the same with a feedback voltage at A0 and A1.
func measured() rig {
	r := servos()
	r.at, r.old = nil, true
	adc := func(pin int, sign float64) string {
		counts := func(q float64) float64 { return (1472 + sign*590.8*q - 500) / 2000 * 1023 }
		return fmt.Sprintf("feedback = \"adc\"\nadc_pin = %d\nadc = [[-1.5, %.4f], [1.5, %.4f]]\n", pin, counts(-1.5), counts(1.5))
	}
	first, rest, _ := strings.Cut(r.file, "[joint.tilt]")
	r.file = strings.Replace(first, "feedback = \"none\"\n", adc(0, 1), 1) + "[joint.tilt]" + strings.Replace(rest, "feedback = \"none\"\n", adc(1, -1), 1)
	return r
}

// half is the same with one of them measured.
func half() rig {
	r := measured()
	first, rest, _ := strings.Cut(r.file, "[joint.tilt]")
	before, after, _ := strings.Cut(rest, "feedback = \"adc\"")
	_, after, _ = strings.Cut(after, "]]\n")
	r.file = first + "[joint.tilt]" + before + "feedback = \"none\"\n" + after
	r.at = []float64{math.NaN(), 0}
	return r
}

// onChip is two servos without feedback at a PCA9685, and the lamp as well.
func onChip() rig {
	return rig{
		file: head + hat + fmt.Sprintf(joint, "pan", 0, 1) + "via = \"hat\"\nfeedback = \"none\"\nlower = -1.4\nupper = 1.4\n" +
			fmt.Sprintf(joint, "tilt", 15, -1) + "via = \"hat\"\nfeedback = \"none\"\n" +
			"\n[output.lamp]\nchannel = 3\nvia = \"hat\"\nscale = 4094\n",
		at: []float64{0, 0}, pan: 0, tilt: 15, chip: true,
	}
}

// mixed is one servo at the chip and one at a pin of the board.
func mixed() rig {
	return rig{
		file: head + hat + fmt.Sprintf(joint, "pan", 0, 1) + "via = \"hat\"\nfeedback = \"none\"\nlower = -1.4\nupper = 1.4\n" +
			fmt.Sprintf(joint, "tilt", 10, -1) + "feedback = \"none\"\n" + lamp,
		at: []float64{0, 0}, chip: true,
	}
}

// pantilt is the built-in robot with a lamp that may stay on.
func pantilt(t testing.TB) *robot.Model {
	t.Helper()
	m, err := builtin.Load("pantilt")
	require.NoError(t, err)
	e := &robot.Equipment{File: "actuators.yaml"}
	for _, a := range m.Actuators {
		a.OnLost = "unchanged"
		e.Actuators = append(e.Actuators, robot.ActuatorEntry{Actuator: a})
	}
	m, err = m.Equip(e)
	require.NoError(t, err)
	return m
}

// parts are what a Robot is opened with.
func (g rig) parts(t testing.TB) (*robot.Model, *hardware.File) {
	t.Helper()
	m := pantilt(t)
	f, err := hardware.Parse("pantilt.toml", []byte(g.file), m, today)
	require.NoError(t, err)
	m, err = f.Tightened(m)
	require.NoError(t, err)
	return m, f
}

func (g rig) options(t testing.TB, u *uno) gobot.Options {
	t.Helper()
	m, f := g.parts(t)
	return gobot.Options{Model: m, Hardware: f, Port: "simulated line", Dial: u.dial, At: g.at}
}

// board makes the board that the rig is for; within a bubble.
func (g rig) board(t testing.TB) *uno {
	u := newUno(t)
	u.old = g.old
	if g.chip {
		u.chip = newPCA(0x41)
	}
	return u
}

func (g rig) open(t testing.TB, u *uno) *gobot.Robot {
	t.Helper()
	r, err := gobot.Open(context.Background(), g.options(t, u))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// observe sees the joints as somebody beside the robot does: by their servos.
func (g rig) observe(t testing.TB, u *uno) func() []float64 {
	_, f := g.parts(t)
	return func() []float64 {
		u.mu.Lock()
		defer u.mu.Unlock()
		out := make([]float64, len(f.Joints))
		for i := range out {
			j := &f.Joints[i]
			var us float64
			if g.chip {
				if us = u.chip.pulse(j.Channel); us == 0 {
					us = 1472
				}
			} else {
				us = u.at(j.Channel)
			}
			out[i] = j.Position(us)
		}
		return out
	}
}

// straight is a way from rest to rest in three pieces of constant jerk, within the limits
// and at least that long.
func straight(info robot.Info, from, to []float64, least float64) robot.Trajectory {
	h := math.Max(least/4, 0.01)
	for i, l := range info.Limits {
		d := math.Abs(to[i]-from[i]) * 1.0001
		h = math.Max(h, math.Max(d/(2*l.Velocity), math.Max(math.Sqrt(d/(2*l.Acceleration)), math.Cbrt(d/(2*l.Jerk)))))
	}
	n := len(from)
	out := robot.Trajectory{Joints: info.Joints}
	q, v, a := slices.Clone(from), make([]float64, n), make([]float64, n)
	for _, k := range [...]struct{ t, sign float64 }{{h, 1}, {2 * h, -1}, {h, 1}} {
		s := robot.Segment{Duration: k.t}
		for i := range q {
			j := k.sign * (to[i] - from[i]) / (2 * h * h * h)
			s.Q, s.V, s.A, s.J = append(s.Q, q[i]), append(s.V, v[i]), append(s.A, a[i]), append(s.J, j)
			q[i] += k.t * (v[i] + k.t*(a[i]/2+k.t*j/6))
			v[i] += k.t * (a[i] + k.t*j/2)
			a[i] += k.t * j
		}
		out.Segments = append(out.Segments, s)
	}
	return out
}

// moveTo is a motion from where the robot is, in the present epoch.
func moveTo(t testing.TB, r robot.Backend, to []float64, least float64) robot.Motion {
	t.Helper()
	s, err := r.State(context.Background())
	require.NoError(t, err)
	info := r.Info()
	m := robot.Motion{ID: t.Name(), Epoch: s.StopEpoch, Trajectory: straight(info, s.Where(), to, least)}
	for _, l := range info.Limits {
		m.StartTolerance = append(m.StartTolerance, 0.02)
		m.MaxDeviation = append(m.MaxDeviation, 0.1*(1+l.Velocity/2))
	}
	return m
}

// actuate does a command in the present epoch.
func actuate(t testing.TB, r robot.Backend, kind robot.CommandKind) {
	t.Helper()
	s, err := r.State(context.Background())
	require.NoError(t, err)
	_, err = r.Actuate(context.Background(), robot.Command{ID: t.Name(), Kind: kind, Epoch: s.StopEpoch})
	require.NoError(t, err)
}

// light sets the lamp.
func light(t testing.TB, r robot.Backend, v float64) error {
	t.Helper()
	s, err := r.State(context.Background())
	require.NoError(t, err)
	_, err = r.Actuate(context.Background(), robot.Command{ID: t.Name(), Kind: robot.SetActuator, Name: "lamp", Value: v, Epoch: s.StopEpoch})
	return err
}
