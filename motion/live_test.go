package motion_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// live is a backend whose description and state a test can bend.
type live struct {
	robot.Backend
	info  func(*robot.Info)
	state func(*robot.State)
}

func (b *live) Info() robot.Info {
	i := b.Backend.Info()
	i.Identity, i.Calibration = [32]byte{1}, [32]byte{2} // they don't follow the scene
	if b.info != nil {
		b.info(&i)
	}
	return i
}

func (b *live) State(ctx context.Context) (robot.State, error) {
	s, err := b.Backend.State(ctx)
	if b.state != nil {
		b.state(&s)
	}
	return s, err
}

// fixed is a rehearser whose record doesn't follow what it rehearses.
type fixed struct{ robot.Rehearsal }

func (r *fixed) Rehearse(_ context.Context, _ robot.State, m robot.Motion) (robot.Rehearsal, error) {
	rec, end := r.Rehearsal, m.Trajectory.End()
	rec.Trace = append(append([][]float64(nil), rec.Trace...), end) // it comes to rest where it should
	rec.Joints = append([]robot.JointRehearsal(nil), rec.Joints...)
	for i := range rec.Joints {
		rec.Joints[i].End = end[i]
	}
	return rec, nil
}

func newLive(t *testing.T, o rigOptions) (*rig, *live, *fixed) {
	t.Helper()
	b := &live{}
	r := &fixed{robot.Rehearsal{Simulator: "x", SamplePeriod: 0.02, Trace: [][]float64{make([]float64, 6)}}}
	o.between = func(in robot.Backend) robot.Backend { b.Backend = in; return b }
	o.rehearser = r
	return newRig(t, o), b, r
}

const turn = `{"positions":{"shoulder_pan":0.5}}`

// run asks a tool that answers at once.
func (g *rig) run(tool, args string, out any) {
	g.t.Helper()
	res, err := g.action(tool, args).Run(g.t.Context())
	require.NoError(g.t, err)
	require.NoError(g.t, json.Unmarshal(res.Data, out))
}

func (g *rig) action(tool, args string) gate.Action {
	g.t.Helper()
	a, err := g.prepare(tool, args)
	require.NoError(g.t, err)
	return a
}

// Each input of an action's digest changes it by itself, and an action that was
// prepared before such a change is refused before it runs.
func TestG12_EachInputIsInTheDigestAndCheckedLive(t *testing.T) {
	for tool, args := range map[string]string{"move_joints": turn, "torque_off": `{}`} {
		t.Run(tool, func(t *testing.T) {
			for name, change := range map[string]func(*rig, *live){
				"driver":      func(_ *rig, b *live) { b.info = func(i *robot.Info) { i.Identity[5]++ } },
				"calibration": func(_ *rig, b *live) { b.info = func(i *robot.Info) { i.Calibration[5]++ } },
				"port":        func(_ *rig, b *live) { b.info = func(i *robot.Info) { i.Port = "/dev/ttyUSB1" } },
				"mode":        func(_ *rig, b *live) { b.info = func(i *robot.Info) { i.Mode = robot.ModeReal } },
				"backend":     func(_ *rig, b *live) { b.info = func(i *robot.Info) { i.Backend = "mcu" } },
				"robot":       func(_ *rig, b *live) { b.info = func(i *robot.Info) { i.Robot = "so102" } },
				"model":       func(g *rig, _ *live) { g.model.ModelHash[3]++ },
			} {
				g, b, _ := newLive(t, rigOptions{})
				before := g.action(tool, args)
				require.Equal(t, before.Digest(), g.action(tool, args).Digest(), name)
				require.NoError(t, before.Check(t.Context()), name)
				change(g, b)
				require.NotEqual(t, before.Digest(), g.action(tool, args).Digest(), name)
				requireCode(t, gate.CodeStartMoved, before.Check(t.Context()))
			}
			g, b, reh := newLive(t, rigOptions{})
			base := g.action(tool, args).Digest()
			other, _, _ := newLive(t, rigOptions{name: "left"})
			require.NotEqual(t, base, other.action(tool, args).Digest(), "another arm of the same kind")
			scene, err := robot.ParseScene("s.json", []byte(`{"name":"s","bodies":[{"name":"far","pose":{"xyz":[2,0,0],"quat_wxyz":[1,0,0,0]},"geometry":{"sphere":{"radius":0.1}}}]}`))
			require.NoError(t, err)
			other, _, _ = newLive(t, rigOptions{scene: scene})
			require.NotEqual(t, base, other.action(tool, args).Digest(), "another scene")
			if tool == "move_joints" {
				require.NotEqual(t, base, g.action(tool, `{"positions":{"shoulder_pan":0.5},"speed_scale":0.49}`).Digest(), "another trajectory")
				reh.PeakToolSpeed += 0.001
				require.NotEqual(t, base, g.action(tool, args).Digest(), "another rehearsal")
				return
			}
			require.NotEqual(t, base, g.action("estop_reset", args).Digest(), "another command")
			b.state = func(s *robot.State) { s.Positions[2] += 1e-6 }
			require.NotEqual(t, base, g.action(tool, args).Digest(), "another start")
		})
	}
}

// What is read live before the first actuation: the latches, torque, motion under
// way, the stop epoch, and that each joint is within 0.02 rad of the start.
func TestG12_StateIsReadAgainBeforeItRuns(t *testing.T) {
	for name, c := range map[string]struct {
		change        func(*robot.State)
		move, command gate.Code // "": not refused
	}{
		"nothing":       {func(*robot.State) {}, "", ""},
		"moved enough":  {func(s *robot.State) { s.Positions[4] += 0.0205 }, gate.CodeStartMoved, gate.CodeStartMoved},
		"the other way": {func(s *robot.State) { s.Positions[0] -= 0.0205 }, gate.CodeStartMoved, gate.CodeStartMoved},
		"hardly moved":  {func(s *robot.State) { s.Positions[4] += 0.019 }, "", ""},
		"NaN":           {func(s *robot.State) { s.Positions[4] /= 0; s.Positions[4] *= 0 }, gate.CodeStartMoved, gate.CodeStartMoved},
		"stopped":       {func(s *robot.State) { s.StopEpoch++ }, gate.CodeStopped, gate.CodeStopped},
		"e-stopped":     {func(s *robot.State) { s.EStopped = true }, gate.CodeEStopped, gate.CodeStartMoved},
		"faulted":       {func(s *robot.State) { s.Faults = []robot.Fault{{Code: robot.CodeContact}} }, gate.CodeContact, gate.CodeStartMoved},
		"torque off":    {func(s *robot.State) { s.Enabled = false }, gate.CodeNotEnabled, gate.CodeStartMoved},
		"holding":       {func(s *robot.State) { s.Held = "cup" }, gate.CodeStartMoved, gate.CodeStartMoved},
		"moving":        {func(s *robot.State) { s.Moving = true }, gate.CodeBusy, gate.CodeBusy},
	} {
		t.Run(name, func(t *testing.T) {
			g, b, _ := newLive(t, rigOptions{})
			move, command := g.action("move_joints", turn), g.action("torque_off", `{}`)
			b.state = c.change
			for want, a := range map[*gate.Code]gate.Action{&c.move: move, &c.command: command} {
				err := a.Check(t.Context())
				require.Equal(t, *want, gate.CodeOf(err), "%v", err)
			}
		})
	}
}

// A motion carries the epoch that it was planned in, and the backend refuses an
// older one by itself: Run needs no Check for that.
func TestG6_AMotionCarriesItsEpoch(t *testing.T) {
	g := newRig(t, rigOptions{})
	g.robot.Stop(t.Context(), robot.StopControlled)
	old, command := g.action("move_joints", turn), g.action("torque_off", `{}`)
	before := g.positions()
	g.robot.Stop(t.Context(), robot.StopControlled)
	for _, a := range []gate.Action{old, command} {
		_, err := a.Run(t.Context())
		requireCode(t, gate.CodeStopped, err)
	}
	require.Equal(t, before, g.positions())
	g.must("move_joints", turn, nil)
	g.must("torque_off", `{}`, nil)
}

// refuser is a rehearser that must not be asked.
type refuser struct{ t *testing.T }

func (r refuser) Rehearse(context.Context, robot.State, robot.Motion) (robot.Rehearsal, error) {
	r.t.Error("a plan that breaks a hard limit was rehearsed")
	return robot.Rehearsal{}, robot.Errf(robot.CodeRehearsalFailed, "", "no")
}

// The planner's own checks refuse before anything is rehearsed or asked.
func TestG7_HardLimitsComeFirst(t *testing.T) {
	var there moved
	newRig(t, rigOptions{}).must("move_joints", `{"positions":{"shoulder_pan":0.9}}`, &there)
	post := robot.IdentityPose()
	post.P = there.Tip.Position
	scene, err := robot.NewScene("s", []robot.Body{{Name: "post", Pose: post, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.02}}}, nil)
	require.NoError(t, err)
	g := newRig(t, rigOptions{scene: scene, rehearser: refuser{t}})
	for args, want := range map[string]gate.Code{
		`{"positions":{"shoulder_pan":0.9}}`: gate.CodeSceneCollision,
		`{"positions":{"shoulder_pan":9}}`:   gate.CodeJointLimit,
	} {
		_, err := g.prepare("move_joints", args)
		requireCode(t, want, err)
	}
}
