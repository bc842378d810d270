package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/cmd/tau/internal/source"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/lane"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/sim"
)

// unlike says how a description of the collection differs from most: they load, and
// their first joint with a range moves when a person approves it. The value is the
// code with which that motion is refused, and part of the reason.
var unlike = map[string][2]string{
	// No speed is known, so that no motion can be timed.
	"robots/al5d/al5d_robot.urdf":                                 {"SPEED_LIMIT", "j1, j2, j3, j4"},
	"robots/crlf_double_pendulum/double_pendulum_continuous.urdf": {"SPEED_LIMIT", "joint1, joint2"},
	"robots/turtlebot3/turtlebot3_burger.urdf":                    {"SPEED_LIMIT", "wheel_left_joint"},
	"robots/turtlebot3/turtlebot3_waffle_pi.urdf":                 {"SPEED_LIMIT", "wheel_left_joint"},
	"urdf_small/continuous_no_limit.urdf":                         {"SPEED_LIMIT", "j1"},
	"urdf_small/zero_velocity_effort.urdf":                        {"SPEED_LIMIT", "j1"},
	// No joint has a range.
	"robots/crlf_double_pendulum/double_pendulum_simple.urdf": {"JOINT_LIMIT", "joint1"},
	"robots/robotiq_2f/robotiq_arg2f_85_model.urdf":           {"JOINT_LIMIT", "finger_joint"},
	"robots/simple_humanoid/simple_humanoid.urdf":             {"JOINT_LIMIT", "RLEG_HIP_R"},
	"robots/simple_humanoid/simple_humanoid_rel_mesh.urdf":    {"JOINT_LIMIT", "RLEG_HIP_R"},
	// Their links overlap at home, and no SRDF says that these may.
	"robots/panda_mesh/urdf/panda.urdf":           {"SELF_COLLISION", "panda_link5, panda_hand"},
	"robots/panda_mesh/urdf/panda_collision.urdf": {"SELF_COLLISION", "panda_link5, panda_hand"},
	// Springs that a URDF can't state carry its arms.
	"robots/pr2/pr2.urdf": {"REHEARSAL_FAILED", "shoulder_lift_joint"},
	// Not to be simulated.
	"urdf_small/single_link.urdf":     {"INVALID_ARGUMENT", "no joint that can move"},
	"urdf_small/deep_chain_2000.urdf": {"INVALID_ARGUMENT", "more joints that move than can be simulated"},
}

// served is a robot behind planner, rehearsal and gate, as the bridge puts them.
type served struct {
	t        *testing.T
	gate     *gate.Gate
	approver *gatetest.Scripted
}

type corpusSession struct{}

func (corpusSession) Session(name string) (gate.Session, error) {
	return gate.Session{Name: name, Mode: gate.ModeSim, Backend: "sim"}, nil
}

type corpusSink struct{}

func (corpusSink) Emit(gate.Event) error { return nil }

type corpusStop struct{ robot.Backend }

func (corpusStop) Name() string { return "sim" }

func (s corpusStop) Stop(ctx context.Context, kind gate.StopKind) gate.StopVerdict {
	v := s.Backend.Stop(ctx, robot.StopKind(kind))
	return gate.StopVerdict{Backend: v.Backend, Commanded: string(v.Commanded), Acknowledged: string(v.Acknowledged), Stationary: string(v.Stationary)}
}

// serve starts a robot; a robot that can't be simulated is an error.
func serve(t *testing.T, m *robot.Model, steps ...gatetest.Step) (*served, error) {
	t.Helper()
	rob, err := sim.New(sim.Options{Model: m, Scene: &robot.Scene{}, Clock: sim.Fast, Seed: 1, Now: time.Now})
	if err != nil {
		return nil, err
	}
	rehearser, err := sim.NewRehearser(m, &robot.Scene{}, 1, sim.RehearserOptions{})
	require.NoError(t, err)
	planner, err := motion.New(motion.Config{
		Arms: map[string]motion.Arm{"sim": {Model: m, Backend: rob, Rehearser: rehearser, Edit: rob}}, Now: time.Now, Seed: 1,
	})
	require.NoError(t, err)
	catalog := gate.NewCatalog()
	require.NoError(t, catalog.Register(planner.Tools()...))
	l := lane.New()
	s := &served{t: t, approver: gatetest.Script(t, steps...)}
	s.gate, err = gate.New(gate.Config{
		Catalog: catalog, Lane: l, Requests: approval.NewMemory(), Sink: corpusSink{}, Sessions: corpusSession{},
		Approver: s.approver, Stoppers: []gate.Stopper{corpusStop{rob}},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, s.gate.Close(ctx))
		require.NoError(t, l.Close())
	})
	return s, nil
}

// call calls a tool; whatever it says, it is no internal fault, and its result is JSON.
func (s *served) call(tool string, args map[string]any) gate.Answer {
	s.t.Helper()
	raw, err := json.Marshal(args)
	require.NoError(s.t, err)
	a := s.gate.Call(context.Background(), gate.Invocation{Tool: tool, Args: raw, Session: "s", Principal: "tester", Origin: "test"})
	require.NotEqual(s.t, gate.CodeInternal, a.Code, "%s %s: %s", tool, raw, a.Text)
	if a.Status == gate.StatusOK {
		require.True(s.t, json.Valid(a.Result), "%s: %s", tool, a.Result)
	} else {
		require.NotEmpty(s.t, a.Code, tool)
		require.NotEmpty(s.t, a.Text, tool)
	}
	for _, odd := range []string{"NaN", "Inf", "%!"} {
		require.NotContains(s.t, a.Text, odd, tool)
	}
	return a
}

func (s *served) ok(tool string, args map[string]any) gate.Answer {
	s.t.Helper()
	a := s.call(tool, args)
	require.Equal(s.t, gate.StatusOK, a.Status, "%s: %s %s", tool, a.Code, a.Text)
	return a
}

// smallStep is the first joint with a range and a step of it that stays inside; where no
// joint has one, the first joint.
func smallStep(m *robot.Model) (name string, delta float64) {
	for i, l := range m.Limits {
		if !l.Bounded {
			return m.JointNames()[i], 0.05
		}
		if l.Upper > l.Lower {
			delta = math.Min(0.05, (l.Upper-l.Lower)/10)
			if m.Home[i] > (l.Lower+l.Upper)/2 {
				delta = -delta
			}
			return m.JointNames()[i], delta
		}
	}
	return m.JointNames()[0], 0.05
}

// bare is a description without the meshes that the collection hasn't.
func bare(d *robot.Description) *robot.Description {
	own := *d
	own.Links = append([]robot.Link(nil), d.Links...)
	for i := range own.Links {
		var keep []robot.Collider
		for _, c := range own.Links[i].Colliders {
			if c.Geometry.Kind != robot.MeshGeometry || c.Geometry.Mesh.Read() {
				keep = append(keep, c)
			}
		}
		own.Links[i].Colliders = keep
	}
	return &own
}

// corpusRobots are the descriptions of the collection by their path in it.
func corpusRobots(t *testing.T) map[string]source.Robot {
	t.Helper()
	root := cases(t)
	all := map[string]source.Robot{}
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".urdf") {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			all[filepath.ToSlash(rel)] = source.Robot{Name: path}
		}
		return err
	}))
	at := func(parts ...string) string { return cases(t, append([]string{"robots"}, parts...)...) }
	for _, name := range []string{"panda.urdf", "panda_collision.urdf"} {
		rel := "robots/panda_mesh/urdf/" + name
		r := all[rel]
		r.Packages = []string{"example-robot-data/robots/panda_description=" + at("panda_mesh")}
		all[rel] = r
	}
	with := all["robots/panda_mesh/urdf/panda.urdf"]
	with.SRDF = at("panda_mesh", "srdf", "panda.srdf")
	all["panda.urdf with its SRDF"] = with
	all["ur_mocked.urdf.xacro"] = source.Robot{
		Name: at("ur5e_xacro", "urdf", "ur_mocked.urdf.xacro"), Packages: []string{"ur_description=" + at("ur5e_xacro")}, Args: []string{"ur_type=ur5e", "name=ur5e"},
	}
	all["panda.urdf.xacro"] = source.Robot{
		Name: at("panda_moveit", "panda_description", "urdf", "panda.urdf.xacro"), Packages: []string{"moveit_resources_panda_description=" + at("panda_moveit", "panda_description")},
	}
	return all
}

// People bring their own arm: each description of the collection that loads is
// described, planned, rehearsed, asked about and moved; what can't be says why.
func TestEveryCorpusRobotIsServed(t *testing.T) {
	robots := corpusRobots(t)
	require.Greater(t, len(robots), 60)
	for name := range unlike {
		require.Contains(t, robots, name)
	}
	moved := 0
	for name, r := range robots {
		l, err := r.Load()
		if err != nil {
			require.Contains(t, err.Error(), r.Name+":", "%s: a refusal names file and line", name)
			continue
		}
		t.Run(name, func(t *testing.T) {
			m := l.Model
			if m == nil {
				// What is missing is said with its place, and the rest of the robot is served.
				require.Regexp(t, `:\d+: link ".*": the collision mesh ".*" (doesn't exist|isn't read: only STL is|isn't read: no folder was given for the package "(.*)" \(--package .*=DIR\)); a robot`, l.Why.Error())
				var err error
				m, err = robot.NewModel(bare(l.Description), nil, nil)
				require.NoError(t, err)
			}
			if serveOne(t, m, unlike[name]) {
				moved++
			}
		})
	}
	require.Greater(t, moved, 30)
}

// serveOne reports whether the robot moved.
func serveOne(t *testing.T, m *robot.Model, refusal [2]string) bool {
	t.Helper()
	steps := []gatetest.Step{gatetest.Approve(), gatetest.Approve(), gatetest.Approve()} // torque_off, estop_reset, torque_on
	if refusal[0] == "" {
		steps = append(steps, gatetest.Approve()) // jog
	}
	if refusal[0] == "INVALID_ARGUMENT" {
		steps = nil
	}
	s, err := serve(t, m, steps...)
	if refusal[0] == "INVALID_ARGUMENT" {
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
		require.Contains(t, err.Error(), refusal[1])
		return false
	}
	require.NoError(t, err)
	for _, tool := range []string{"robot_describe", "robot_state", "list_actuators", "scene_describe"} {
		s.ok(tool, map[string]any{})
	}
	joint, delta := smallStep(m)
	step := map[string]any{"joint": joint, "delta": delta}
	if code := gate.Code(refusal[0]); code != "" {
		for tool, args := range map[string]map[string]any{"jog": step, "rehearse": {"jog": step}} {
			a := s.call(tool, args)
			require.Equal(t, code, a.Code, "%s: %s", tool, a.Text)
			require.Contains(t, a.Text, refusal[1])
		}
	} else {
		s.ok("plan_joints", map[string]any{"positions": map[string]any{joint: m.Home[m.ActiveIndex(joint)] + delta}})
		s.ok("rehearse", map[string]any{"jog": step})
		a := s.ok("jog", step)
		var got struct {
			Positions map[string]float64 `json:"positions"`
		}
		require.NoError(t, json.Unmarshal(a.Result, &got))
		require.InDelta(t, m.Home[m.ActiveIndex(joint)]+delta, got.Positions[joint], 0.02, "measured")
		require.Contains(t, s.approver.Requests()[0].Tool, "jog")
	}
	for i := range m.Joints {
		if m.Joints[i].Mimic != nil { // a follower isn't commanded
			a := s.call("jog", map[string]any{"joint": m.Joints[i].Name, "delta": 0.01})
			require.Equal(t, gate.CodeInvalidArgument, a.Code, a.Text)
			break
		}
	}
	if m.Gripper == nil {
		require.Equal(t, gate.CodeNotSupported, s.call("gripper", map[string]any{"position": 1}).Code)
	}
	s.ok("torque_off", map[string]any{})
	a := s.call("jog", step)
	require.Contains(t, []gate.Code{"NOT_ENABLED", "SPEED_LIMIT", "JOINT_LIMIT"}, a.Code, a.Text)
	s.ok("stop", map[string]any{})
	s.ok("estop", map[string]any{})
	require.Equal(t, gate.CodeEStopped, s.call("torque_on", map[string]any{}).Code)
	s.ok("estop_reset", map[string]any{})
	s.ok("torque_on", map[string]any{})
	return refusal[0] == ""
}
