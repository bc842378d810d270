package motion_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/robottest"
)

// What can be compared of a robot that measures nothing is compared: the setpoints that
// it says it has with those that were approved, at the times that it says.
func TestTheWatchHoldsSetpointsToWhatWasApproved(t *testing.T) {
	t.Parallel()
	middle := func(p *robot.Progress) bool { return p.T > 0.3 && p.T < 0.5 }
	for name, c := range map[string]struct {
		bend   func(*robot.Progress)
		where  string
		leaves bool
	}{
		"as approved":     {bend: func(*robot.Progress) {}},
		"a hair off":      {bend: func(p *robot.Progress) { p.Setpoint[1] += 0.04 }},
		"another joint":   {bend: func(p *robot.Progress) { p.Setpoint[1] += 0.06 }, leaves: true, where: "tilt"},
		"for a moment":    {bend: func(p *robot.Progress) { p.Setpoint[0] += map[bool]float64{true: 0.3}[middle(p)] }, leaves: true, where: "pan"},
		"not a number":    {bend: func(p *robot.Progress) { p.Setpoint[0] = math.NaN() }, leaves: true, where: "pan"},
		"no setpoints":    {bend: func(p *robot.Progress) { p.Setpoint = nil }, leaves: true},
		"one too few":     {bend: func(p *robot.Progress) { p.Setpoint = p.Setpoint[:1] }, leaves: true},
		"time goes back":  {bend: func(p *robot.Progress) { p.T -= map[bool]float64{true: 0.05}[p.T > 0.39 && p.T < 0.41] }, leaves: true},
		"time goes ahead": {bend: func(p *robot.Progress) { p.T += 0.4 }, leaves: true, where: "pan"},
		"no time":         {bend: func(p *robot.Progress) { p.T = math.NaN() }, leaves: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, rigOptions{builtin: "pantilt", off: true, between: func(in robot.Backend) robot.Backend {
				return reporting{robottest.NewDouble(in, robottest.DoubleOptions{At: []float64{0, 0}}), c.bend}
			}})
			g.must("torque_on", `{}`, nil)
			var r told
			err := g.do("move_joints", `{"positions":{"pan":1.2}}`, &r)
			if !c.leaves {
				require.NoError(t, err)
				return
			}
			e := requireCode(t, gate.CodeDeviation, err)
			if c.where != "" {
				require.Equal(t, c.where, e.Where)
				require.Contains(t, e.Text, "its setpoint left its approved course")
			}
			require.Equal(t, robot.OutcomeFaulted, r.Outcome)
			_, err = g.prepare("home", `{}`)
			requireCode(t, gate.CodeDeviation, err)
		})
	}
}

// A robot that was never heard of on the way wasn't watched, measure what it may.
func TestAnOpenLoopMotionThatNobodyWatchedIsUnknown(t *testing.T) {
	t.Parallel()
	g := newRig(t, rigOptions{builtin: "pantilt", off: true, between: func(in robot.Backend) robot.Backend {
		return silent{robottest.NewDouble(in, robottest.DoubleOptions{At: []float64{0, 0}})}
	}})
	g.must("torque_on", `{}`, nil)
	var r told
	requireCode(t, gate.CodeUnknownOutcome, g.do("move_joints", `{"positions":{"pan":0.2}}`, &r))
	require.Equal(t, robot.OutcomeUnknown, r.Outcome)
}

// A stop takes a robot off its rehearsed course, along which it would have gone on:
// that is no deviation, however long its brake, and it may move again at once.
func TestAStopIsNoDeviation(t *testing.T) {
	t.Parallel()
	for _, openLoop := range []bool{false, true} {
		var b *robottest.Double
		o := rigOptions{builtin: "gantry"}
		if openLoop {
			m, err := builtin.Load("gantry")
			require.NoError(t, err)
			o.off, o.between = true, func(in robot.Backend) robot.Backend {
				b = robottest.NewDouble(in, robottest.DoubleOptions{At: m.Home})
				return b
			}
		}
		g := newRig(t, o)
		if openLoop {
			g.must("torque_on", `{}`, nil)
		}
		act := g.action("move_joints", fast(`{"positions":{"x":0.25,"y":0.1}}`))
		g.robot.AtMotionTime(0.6, func() { g.backend.Stop(t.Context(), robot.StopControlled) })
		_, err := act.Run(t.Context())
		requireCode(t, gate.CodeStopped, err)
		_, err = g.prepare("move_joints", `{"positions":{"x":0.05}}`)
		require.NoError(t, err, "nothing is latched")
	}
}

// But a robot that leaves its course while it brakes is found.
func TestTheWatchGoesOnWhileARobotBrakes(t *testing.T) {
	t.Parallel()
	g := newRig(t, rigOptions{builtin: "gantry", between: func(in robot.Backend) robot.Backend {
		return reporting{in, func(p *robot.Progress) {
			if p.State.StopEpoch > 0 {
				p.State.Positions[1] += 0.05
			}
		}}
	}})
	act := g.action("move_joints", fast(`{"positions":{"x":0.25}}`))
	g.robot.AtMotionTime(0.6, func() { g.robot.Stop(t.Context(), robot.StopControlled) })
	_, err := act.Run(t.Context())
	requireCode(t, gate.CodeStopped, err)
	_, err = g.prepare("home", `{}`)
	e := requireCode(t, gate.CodeDeviation, err)
	require.Equal(t, "y", e.Where)
}
