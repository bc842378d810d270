package mcu_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

// rig is a robot on a board of the bench.
type rig struct {
	name  string
	file  string // its TOML
	board boardtest.Options
	at    []float64 // where the operator says it is
	stand []int     // where the joints stand when the board is switched on, channel units
}

var today = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// servos is the pan and tilt on two servos without feedback, as the example has it.
func servos() rig {
	return rig{
		name: "pantilt", file: dimmed(example("pantilt-servo2.toml")),
		board: boardtest.Options{Map: "servo2", Kind: boardtest.Host},
		at:    []float64{0, 0}, stand: []int{1472, 1472},
	}
}

// measured is the same with a feedback voltage: 0 at 500 µs, 1023 at 2500 µs.
func measured() rig {
	r := servos()
	r.board.Feedback = 3
	r.at = nil
	for _, j := range []struct {
		name string
		sign float64
	}{{"pan", 1}, {"tilt", -1}} {
		counts := func(q float64) float64 { return (1472 + j.sign*590.8*q - 500) / 2000 * 1023 }
		adc := fmt.Sprintf("feedback = \"adc\"\nadc = [[-1.5, %.4f], [1.5, %.4f]]\n", counts(-1.5), counts(1.5))
		at := strings.Index(r.file, "[joint."+j.name+"]")
		rest := strings.Replace(r.file[at:], "feedback = \"none\"\n", adc, 1)
		r.file = r.file[:at] + rest
	}
	return r
}

// steppers is the gantry on three counted steppers with switches.
func steppers() rig {
	return rig{
		name: "gantry", file: example("gantry-stepper3.toml"),
		board: boardtest.Options{Map: "stepper3", Kind: boardtest.Host},
	}
}

// dimmed puts the lamp on the board's PWM output, which can be half bright.
func dimmed(file string) string {
	at := strings.Index(file, "[output.lamp]")
	return file[:at] + "[output.lamp]\nchannel = 4\nscale = 254\n"
}

func example(name string) string {
	b, err := os.ReadFile("../../testdata/hardware/" + name)
	if err != nil {
		panic(err) // a file of this repository
	}
	return string(b)
}

// parts are what a Robot is opened with.
func (g rig) parts(t testing.TB) (*robot.Model, *hardware.File) {
	t.Helper()
	m, err := builtin.Load(g.name)
	require.NoError(t, err)
	f, err := hardware.Parse(g.name+".toml", []byte(g.file), m, today)
	require.NoError(t, err)
	m, err = f.Tightened(m)
	require.NoError(t, err)
	return m, f
}

// args is how the core built for this machine is started as this rig's board.
func (g rig) args() []string {
	out := []string{"--map", g.board.Map}
	if g.board.Feedback != 0 {
		out = append(out, "--feedback", "adc")
	}
	for _, s := range g.board.SwitchAt {
		side := -1
		if s.Above {
			side = 1
		}
		out = append(out, "--switch", fmt.Sprintf("%d:%d:%d", s.Joint, s.Position, side))
	}
	return out
}

// start starts the board.
func (g rig) start(t testing.TB) *boardtest.Board {
	t.Helper()
	b := boardtest.Start(t, g.board)
	for j, at := range g.stand {
		b.Hand(j, at)
	}
	return b
}

func (g rig) options(t testing.TB, path string) mcu.Options {
	t.Helper()
	m, f := g.parts(t)
	return mcu.Options{Model: m, Hardware: f, Port: path, At: g.at}
}

// open opens the robot on a board, or on what stands between.
func (g rig) open(t testing.TB, path string) *mcu.Robot {
	t.Helper()
	r, err := mcu.Open(context.Background(), g.options(t, path))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func TestSmoke(t *testing.T) {
	g := measured()
	b := g.start(t)
	r := g.open(t, b.Path())
	ctx := context.Background()
	s, err := r.State(ctx)
	require.NoError(t, err)
	t.Logf("%+v", s)
	out, err := r.Actuate(ctx, robot.Command{ID: "on", Kind: robot.TorqueOn, Epoch: s.StopEpoch})
	require.NoError(t, err)
	t.Logf("%+v", out)
	v := r.Stop(ctx, robot.StopControlled)
	t.Logf("%+v", v)
}
