package motion_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// traceless is a rehearser whose record can't be watched against.
type traceless struct{ robot.Rehearsal }

func (r traceless) Rehearse(context.Context, robot.State, robot.Motion) (robot.Rehearsal, error) {
	return r.Rehearsal, nil
}

func TestMotionWithoutATraceIsRefused(t *testing.T) {
	for name, r := range map[string]robot.Rehearsal{
		"none":       {Simulator: "x", SamplePeriod: 0.02},
		"no period":  {Simulator: "x", Trace: [][]float64{{0, 0, 0, 0, 0, 0}}},
		"few joints": {Simulator: "x", SamplePeriod: 0.02, Trace: [][]float64{{0}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, rigOptions{rehearser: traceless{r}})
			_, err := g.prepare("move_joints", `{"positions":{"shoulder_pan":0.5}}`)
			requireCode(t, gate.CodeRehearsalFailed, err)
		})
	}
}

// played is a backend whose motion goes where a test says, whatever was commanded.
type played struct {
	robot.Backend
	// at returns the measured positions at time t, s, of a motion; nil: not measured.
	at func(m robot.Motion, t float64) []float64
	// cancel, if set, is called half-way.
	cancel func()
	// after is for how long the last motion ran, s.
	after float64
}

func (b *played) Execute(ctx context.Context, m robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	const step = 0.01 // s
	end := m.Trajectory.Duration()
	for k := 0; ; k++ {
		t := float64(k) * step
		if t > end {
			break
		}
		if b.cancel != nil && t > end/2 {
			b.cancel()
		}
		b.after = t
		progress(robot.Progress{T: t, State: robot.State{Positions: b.at(m, t)}})
		if ctx.Err() != nil {
			out := robot.Outcome{Status: robot.OutcomeCancelled, Duration: t}
			return out, robot.Errf(robot.CodeCancelled, m.ID, "cancelled: %w", context.Cause(ctx))
		}
	}
	return robot.Outcome{Status: robot.OutcomeDone, Duration: end, Final: robot.State{Positions: b.at(m, end)}}, nil
}

// commanded is the setpoint at t.
func commanded(m robot.Motion, t float64) []float64 {
	n := len(m.Trajectory.Joints)
	q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
	m.Trajectory.Sample(t, q, v, a)
	return q
}

// bend is how much of a bend there is at a part of a motion: it goes back to nothing
// by the end, since a rehearsal that ends elsewhere is refused.
func bend(part float64) float64 { return min(1, max(0, 1-part)/0.1) }

// bent is a rehearser that follows the command exactly but for a bend.
type bent struct {
	joint  int
	from   float64 // part of the motion after which it is bent
	offset float64
}

func (r bent) Rehearse(_ context.Context, _ robot.State, m robot.Motion) (robot.Rehearsal, error) {
	const period = 0.02
	rec := robot.Rehearsal{Simulator: "x", SamplePeriod: period, Duration: m.Trajectory.Duration()}
	for t := 0.0; t <= rec.Duration+period; t += period {
		q := commanded(m, t)
		if t >= r.from*rec.Duration {
			q[r.joint] += r.offset * bend(t/rec.Duration)
		}
		rec.Trace = append(rec.Trace, q)
	}
	return rec, nil
}

// A motion is held to its rehearsal, each joint at each moment, and not to its
// command; a joint may lag as a servo does.
func TestWatchHoldsAMotionToItsRehearsal(t *testing.T) {
	const pan, elbow, gripper = 0, 2, 5
	off := func(joint int, from, by float64) func(robot.Motion, float64) []float64 {
		return func(m robot.Motion, t float64) []float64 {
			q := commanded(m, t)
			if t >= from*m.Trajectory.Duration() {
				q[joint] += by
			}
			return q
		}
	}
	bentBack := func(joint int, by float64) func(robot.Motion, float64) []float64 {
		return func(m robot.Motion, t float64) []float64 {
			return off(joint, 0, by*bend(t/m.Trajectory.Duration()))(m, t)
		}
	}
	// At full speed a joint may be further off, and only there.
	passing := func(by float64) func(robot.Motion, float64) []float64 {
		return func(m robot.Motion, t float64) []float64 {
			q := commanded(m, t)
			if mid := t / m.Trajectory.Duration(); mid > 0.48 && mid < 0.52 {
				q[pan] += by
			}
			return q
		}
	}
	late := func(lag float64) func(robot.Motion, float64) []float64 {
		return func(m robot.Motion, t float64) []float64 { return commanded(m, max(t-lag, 0)) }
	}
	for name, c := range map[string]struct {
		tool, args string // "": a move of the first joint
		rehearsed  bent
		at         func(robot.Motion, float64) []float64
		leaves     bool
	}{
		"as commanded":                   {at: commanded},
		"not measured":                   {at: func(robot.Motion, float64) []float64 { return nil }, leaves: true},
		"within the bound":               {at: off(elbow, 0.9, 0.049)},
		"beyond the bound":               {at: off(elbow, 0.9, 0.051), leaves: true},
		"the other way":                  {at: off(elbow, 0.9, -0.051), leaves: true},
		"NaN":                            {at: off(elbow, 0.9, math.NaN()), leaves: true},
		"the joint that moves":           {at: off(pan, 0.98, 0.07), leaves: true},
		"off at full speed":              {at: passing(0.12)},
		"too far off at full speed":      {at: passing(0.16), leaves: true},
		"late as a servo":                {at: late(0.06)},
		"too late":                       {at: late(0.4), leaves: true},
		"stands still":                   {at: func(m robot.Motion, _ float64) []float64 { return commanded(m, 0) }, leaves: true},
		"as commanded, not as rehearsed": {rehearsed: bent{joint: elbow, from: 0.5, offset: 0.2}, at: commanded, leaves: true},
		"as rehearsed, not as commanded": {rehearsed: bent{joint: elbow, offset: 0.15}, at: bentBack(elbow, 0.15)},
		"the gripper in a move":          {at: off(gripper, 0.9, 0.1), leaves: true},
		"the gripper in its own grip":    {tool: "gripper", args: `{"position":0.2}`, at: off(gripper, 0.5, 0.5)},
		"the arm in a grip":              {tool: "gripper", args: `{"position":0.2}`, at: off(elbow, 0.5, 0.1), leaves: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, rigOptions{rehearser: c.rehearsed, between: func(b robot.Backend) robot.Backend {
				return &played{Backend: b, at: c.at}
			}})
			if c.tool == "" {
				c.tool, c.args = "move_joints", `{"positions":{"shoulder_pan":1.2}}`
			}
			var r moved
			err := g.do(c.tool, c.args, &r)
			if !c.leaves {
				require.NoError(t, err)
				return
			}
			requireCode(t, gate.CodeDeviation, err)
			require.Equal(t, "faulted", r.Outcome)
			if name == "not measured" {
				require.Contains(t, err.Error(), "can't be watched")
			} else {
				require.Contains(t, err.Error(), "left its rehearsed course")
			}
			// It stays latched until somebody has seen and released it.
			_, err = g.prepare("move_joints", `{"positions":{"shoulder_pan":0.1}}`)
			requireCode(t, gate.CodeDeviation, err)
			g.must("estop_reset", `{}`, nil)
			_, err = g.prepare("move_joints", `{"positions":{"shoulder_pan":0.1}}`)
			require.NoError(t, err)
		})
	}
}

// What leaves its course is told to stop at once, by the very report that shows it, and not
// only said to have left it in the end.
func TestWatchStopsWhatLeavesItsCourse(t *testing.T) {
	const left = 0.4 // s
	b := &played{at: func(m robot.Motion, at float64) []float64 {
		q := commanded(m, at)
		if at >= left {
			q[2] += 0.5
		}
		return q
	}}
	g := newRig(t, rigOptions{rehearser: bent{}, between: func(inner robot.Backend) robot.Backend {
		b.Backend = inner
		return b
	}})
	requireCode(t, gate.CodeDeviation, g.do("move_joints", `{"positions":{"shoulder_pan":1.2}}`, new(moved)))
	require.InDelta(t, left, b.after, 1e-9, "it went on")
}

// A caller's own cancel stays one.
func TestWatchLeavesACancelACancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := newRig(t, rigOptions{rehearser: bent{}, between: func(b robot.Backend) robot.Backend {
		return &played{Backend: b, at: commanded, cancel: cancel}
	}})
	act, err := g.prepare("move_joints", `{"positions":{"shoulder_pan":1.2}}`)
	require.NoError(t, err)
	res, err := act.Run(ctx)
	requireCode(t, gate.CodeCancelled, err)
	require.Equal(t, gate.StatusCancelled, res.Status)
}

// A deviation that is found while the robot comes to rest after its caller's own
// cancel is latched, but the motion was cancelled, not faulted.
func TestWatchLatchesADeviationAfterACancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := newRig(t, rigOptions{rehearser: bent{}, between: func(b robot.Backend) robot.Backend {
		return &played{Backend: b, cancel: cancel, at: func(m robot.Motion, at float64) []float64 {
			q := commanded(m, at)
			if at > m.Trajectory.Duration()/2 {
				q[2] += 0.5
			}
			return q
		}}
	}})
	res, err := g.action("move_joints", `{"positions":{"shoulder_pan":1.2}}`).Run(ctx)
	requireCode(t, gate.CodeCancelled, err)
	require.Equal(t, gate.StatusCancelled, res.Status)
	_, err = g.prepare("move_joints", turn)
	requireCode(t, gate.CodeDeviation, err)
}

// deaf is a backend that says "done" however its context ended.
type deaf struct{ played }

func (b *deaf) Execute(_ context.Context, m robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	return b.played.Execute(context.Background(), m, progress)
}

// What left its course isn't done, even where nothing stopped it any more.
func TestWatchReportsADeviationAtTheVeryEnd(t *testing.T) {
	g := newRig(t, rigOptions{rehearser: bent{}, between: func(b robot.Backend) robot.Backend {
		return &deaf{played{Backend: b, at: func(m robot.Motion, at float64) []float64 {
			q := commanded(m, at)
			if at > m.Trajectory.Duration()-0.015 {
				q[2] += 0.5
			}
			return q
		}}}
	}})
	var r moved
	requireCode(t, gate.CodeDeviation, g.do("move_joints", `{"positions":{"shoulder_pan":1.2}}`, &r))
	require.Equal(t, "faulted", r.Outcome)
}

// silent is a backend that says "done" without ever having reported.
type silent struct{ robot.Backend }

func (b silent) Execute(context.Context, robot.Motion, func(robot.Progress)) (robot.Outcome, error) {
	st, err := b.State(context.Background())
	return robot.Outcome{Status: robot.OutcomeDone, Duration: 1, Final: st}, err
}

func TestAMotionThatNobodyWatchedIsUnknown(t *testing.T) {
	g := newRig(t, rigOptions{between: func(b robot.Backend) robot.Backend { return silent{b} }})
	var r moved
	requireCode(t, gate.CodeUnknownOutcome, g.do("move_joints", `{"positions":{"shoulder_pan":0.5}}`, &r))
	require.Equal(t, "unknown", r.Outcome)
}

func TestAMotionThatTakesTooLongIsRefusedAtOnce(t *testing.T) {
	g := newRig(t, rigOptions{rehearser: refuser{t}})
	for _, scale := range []string{"1e-3", "1e-9", "1e-300", "5e-324"} {
		for _, tool := range []string{"move_joints", "gripper"} {
			args := map[string]string{
				"move_joints": `{"positions":{"shoulder_pan":1},"speed_scale":` + scale + `}`,
				"gripper":     `{"position":1,"speed_scale":` + scale + `}`,
			}[tool]
			_, err := g.prepare(tool, args)
			e := requireCode(t, gate.CodeInvalidArgument, err)
			require.Contains(t, []string{"speed_scale", "duration"}, e.Where, scale)
		}
	}
	// The nearest is admissible, where there is one.
	_, err := g.prepare("move_joints", `{"positions":{"shoulder_pan":1},"speed_scale":1e-3}`)
	e := requireCode(t, gate.CodeInvalidArgument, err)
	require.Len(t, e.Nearest, 1)
	// Its five minutes in the simulator are no business of this test.
	g = newRig(t, rigOptions{rehearser: bent{}})
	_, err = g.prepare("move_joints", fmt.Sprintf(`{"positions":{"shoulder_pan":1},"speed_scale":%g}`, e.Nearest[0].Value))
	require.NoError(t, err)
}

// The scene as it is now is part of what was approved.
func TestG12_AChangedSceneRefuses(t *testing.T) {
	one, two := tableScene(t), tableScene(t)
	two.Bodies = append([]robot.Body(nil), two.Bodies...)
	two.Bodies[0].Pose.P[2] += 0.001
	two = two.WithBodies(two.Bodies)
	scene := &one
	g := newRig(t, rigOptions{scene: one, sceneNow: func() *robot.Scene { return scene }})
	move, command := g.action("move_joints", `{"positions":{"shoulder_pan":0.2}}`), g.action("torque_off", `{}`)
	require.NoError(t, move.Check(t.Context()))
	scene = &two
	requireCode(t, gate.CodeStartMoved, move.Check(t.Context()))
	requireCode(t, gate.CodeStartMoved, command.Check(t.Context()))

	// And what is planned then is planned in it.
	wall := tableScene(t)
	wall = wall.WithBodies(append(append([]robot.Body(nil), wall.Bodies...), robot.Body{
		Name: "wall", Pose: robot.Pose{P: mgl64.Vec3{0.2, -0.1, 0.1}, Q: mgl64.QuatIdent()},
		Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.4, 0.02, 0.4}},
	}))
	scene = &wall
	_, err := g.prepare("move_joints", `{"positions":{"shoulder_pan":1}}`)
	require.Contains(t, []gate.Code{gate.CodeSceneCollision, gate.CodeNoPath}, gate.CodeOf(err), "%v", err)
}
