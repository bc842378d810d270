package mcu_test

import (
	"context"
	"fmt"
	"math"
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

// eight is the same on a board of eight servos, of which six are nobody's.
func eight() rig {
	r := measured()
	r.board.Map, r.board.Feedback = "servo8", 255
	r.file = strings.Replace(r.file, "channel = 4\n", "channel = 10\n", 1)
	return r
}

// half is the same with one of the joints measured and the other not.
func half() rig {
	r := measured()
	pan, tilt, _ := strings.Cut(r.file, "[joint.tilt]")
	before, adc, _ := strings.Cut(tilt, "feedback = \"adc\"")
	_, behind, _ := strings.Cut(adc, "]]")
	r.file = pan + "[joint.tilt]" + before + "feedback = \"none\"" + behind
	r.at = []float64{math.NaN(), 0}
	return r
}

// steppers is the gantry on three counted steppers with switches. It is switched on a
// little way from each of its switches.
func steppers() rig {
	r := rig{
		// As fast as the description lets it, which the core takes and an Arduino doesn't.
		name: "gantry", file: strings.ReplaceAll(example("gantry-stepper3.toml"), "velocity = 0.1", "velocity = 0.3"),
		board: boardtest.Options{Map: "stepper3", Kind: boardtest.Host},
	}
	for joint, j := range []struct {
		scale, at float64 // steps per m; m
		from      float64 // where the joint is when it is switched on
		end       float64 // +1: the switch is at the upper end
	}{{20000, -0.298, -0.29, -1}, {-20000, -0.198, -0.195, -1}, {100000, -0.002, -0.004, 1}} {
		r.board.SwitchAt = append(r.board.SwitchAt, boardtest.SwitchAt{
			Joint: joint, Position: int(math.Round(j.scale * (j.at - j.from))), Above: j.scale*j.end > 0,
		})
	}
	return r
}

// straight is a way from rest to rest in four pieces of constant jerk, within the limits
// and at least that long.
func straight(info robot.Info, from, to []float64, least float64) robot.Trajectory {
	h := math.Max(least/4, 0.01)
	for i, l := range info.Limits {
		d := math.Abs(to[i]-from[i]) * 1.0001
		h = math.Max(h, math.Max(d/(2*l.Velocity), math.Max(math.Sqrt(d/(2*l.Acceleration)), math.Cbrt(d/(2*l.Jerk)))))
	}
	n := len(from)
	out := robot.Trajectory{Joints: info.Joints}
	q, v, a := append([]float64(nil), from...), make([]float64, n), make([]float64, n)
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
func moveTo(t testing.TB, r *mcu.Robot, to []float64, least float64) robot.Motion {
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

// search is one for a joint's switch, over a short way.
func search(t testing.TB, r *mcu.Robot, ref robot.Reference) robot.Motion {
	t.Helper()
	s, err := r.State(context.Background())
	require.NoError(t, err)
	to := s.Where()
	ref.Travel = 0.012
	to[ref.Joint] += ref.Direction * ref.Travel
	out := moveTo(t, r, to, 0)
	slow := r.Info()
	slow.Limits[ref.Joint].Velocity = ref.Speed
	out.Trajectory = straight(slow, s.Where(), to, 0)
	out.Seek = &robot.Seek{Joint: ref.Joint, Switch: ref.Switch, Direction: ref.Direction, Speed: ref.Speed, Travel: ref.Travel}
	return out
}

// actuate does a command in the present epoch.
func actuate(t testing.TB, r *mcu.Robot, kind robot.CommandKind) robot.Outcome {
	t.Helper()
	s, err := r.State(context.Background())
	require.NoError(t, err)
	out, err := r.Actuate(context.Background(), robot.Command{ID: t.Name(), Kind: kind, Epoch: s.StopEpoch})
	require.NoError(t, err)
	return out
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
