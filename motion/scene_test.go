package motion_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
)

// scene is what the tests read of the scene's tools.
type scene struct {
	Hash   string `json:"hash"`
	Bodies []struct {
		Name     string          `json:"name"`
		Pose     json.RawMessage `json:"pose"`
		Geometry json.RawMessage `json:"geometry"`
		Movable  bool            `json:"movable"`
	} `json:"bodies"`
	Zones    []struct{ Name string } `json:"guarded_zones"`
	Changed  string                  `json:"changed"`
	Editable bool                    `json:"editable"`
}

func (s scene) names() []string {
	var out []string
	for _, b := range s.Bodies {
		out = append(out, b.Name)
	}
	return out
}

const (
	far   = `{"name":"far","pose":{"xyz":[1.5,0,0.1]},"geometry":{"sphere":{"radius":0.05}}}`
	block = `{"name":"block","pose":{"xyz":[0.25,0.12,0.15],"quat_wxyz":[1,0,0,0]},"geometry":{"box":{"size":[0.3,0.05,0.3]}}}`
)

// What scene_add adds is what scene_describe tells, planners keep clear of and
// scene_remove takes away; a body may be given back as it was described.
func TestTheSceneIsChangedAndPlannedIn(t *testing.T) {
	g := newGated(t, rigOptions{scene: tableScene(t)})
	var s scene
	g.ok("scene_describe", `{}`, &s)
	require.Equal(t, []string{"ball", "post", "shelf", "table"}, s.names())
	require.True(t, s.Editable)
	require.Empty(t, s.Changed)
	first := s.Hash

	// An edit answers with its body and the counts, however much there is.
	var e struct {
		Body   json.RawMessage `json:"body"`
		Bodies int             `json:"bodies"`
		Zones  int             `json:"guarded_zones"`
		Hash   string          `json:"hash"`
	}
	const crate = `{"name":"crate","pose":{"xyz":[0.25,0.1,0.5],"quat_wxyz":[0.5,0.5,-0.5,0.5]},"geometry":{"cylinder":{"radius":0.03,"length":0.1}},"movable":true}`
	add := func(body string) {
		t.Helper()
		g.ok("scene_add", body, &e)
		s = scene{} // decoding would write over what was kept of it
		g.ok("scene_describe", `{}`, &s)
		require.Len(t, s.Bodies, e.Bodies)
		require.Equal(t, s.Hash, e.Hash)
	}
	remove := func(name string) {
		t.Helper()
		g.ok("scene_remove", fmt.Sprintf(`{"name":%q}`, name), &e)
		s = scene{} // decoding would write over what was kept of it
		g.ok("scene_describe", `{}`, &s)
		require.Len(t, s.Bodies, e.Bodies)
		require.Equal(t, s.Hash, e.Hash)
	}
	add(crate)
	require.JSONEq(t, crate, string(e.Body))
	require.Equal(t, 5, e.Bodies)
	require.Zero(t, e.Zones)
	require.Equal(t, []string{"ball", "crate", "post", "shelf", "table"}, s.names())
	require.JSONEq(t, `{"xyz":[0.25,0.1,0.5],"quat_wxyz":[0.5,0.5,-0.5,0.5]}`, string(s.Bodies[1].Pose))
	require.JSONEq(t, `{"cylinder":{"radius":0.03,"length":0.1}}`, string(s.Bodies[1].Geometry))
	require.True(t, s.Bodies[1].Movable)
	require.NotEqual(t, first, s.Hash)
	require.Equal(t, `1 body added by the agent ("crate")`, s.Changed)

	remove("post")
	require.Contains(t, string(e.Body), `"post"`)
	require.Equal(t, `1 body added by the agent ("crate"), 1 removed ("post")`, s.Changed)

	// Taken out and put back as it was: nothing has changed.
	shelf := s.Bodies[2]
	require.Equal(t, "shelf", shelf.Name)
	remove("shelf")
	add(fmt.Sprintf(`{"name":"shelf","pose":%s,"geometry":%s,"movable":%t}`, shelf.Pose, shelf.Geometry, shelf.Movable))
	require.Equal(t, `1 body added by the agent ("crate"), 1 removed ("post")`, s.Changed)
	remove("shelf")
	add(fmt.Sprintf(`{"name":"shelf","pose":%s,"geometry":%s,"movable":true}`, shelf.Pose, shelf.Geometry))
	require.Equal(t, `1 body added by the agent ("crate"), 1 removed ("post"), 1 replaced ("shelf")`, s.Changed)
}

// A planner keeps clear of a body from the call on that added it.
func TestAnAddedBodyIsInTheWay(t *testing.T) {
	g := newGated(t, rigOptions{})
	var p planned
	const there = `{"positions":{"shoulder_pan":-1}}`
	g.ok("plan_joints", there, &p)
	var there1 moved
	newRig(t, rigOptions{}).must("move_joints", there, &there1)
	at := there1.Tip.Position
	g.ok("scene_add", fmt.Sprintf(`{"name":"ball","pose":{"xyz":[%g,%g,%g]},"geometry":{"sphere":{"radius":0.03}}}`, at[0], at[1], at[2]), nil)
	a := g.refused(gate.CodeSceneCollision, "move_joints", there)
	require.Contains(t, a.Text, "ball")
	// The plan made before is void: it was made for another scene.
	g.refused(gate.CodeStartMoved, "execute_plan", fmt.Sprintf(`{"plan_id":%q}`, p.PlanID))
	g.ok("scene_remove", `{"name":"ball"}`, nil)
	g.ok("plan_joints", there, nil)
}

// An open question is about the scene that its card was made for.
func TestG12_ASceneEditVoidsAnOpenApproval(t *testing.T) {
	var g *gated
	edit := gatetest.Approve()
	edit.Do = func(context.Context, gate.Request) { g.ok("scene_add", far, nil) }
	g = newGated(t, rigOptions{}, edit, gatetest.Approve(), gatetest.Approve())
	before := g.positions()
	a := g.ask("move_joints", turn)
	require.Equal(t, gate.CodeStartMoved, a.Code, a.Text)
	require.Equal(t, gate.StatusRefused, a.Status)
	require.Equal(t, gate.ApprovalApproved, a.Approval)
	require.Equal(t, before, g.positions())

	// Asked again, the card says what the agent has changed.
	g.ok("move_joints", turn, nil)
	require.Equal(t, `1 body added by the agent ("far")`, g.fact("Scene"))
	g.ok("scene_remove", `{"name":"far"}`, nil)
	g.ok("home", `{}`, nil)
	require.Empty(t, g.fact("Scene"), "it is as it was at the start")
}

// meddler changes the scene while a motion is rehearsed.
type meddler struct {
	motion.Rehearser
	meddle func()
}

func (m *meddler) Rehearse(ctx context.Context, st robot.State, mo robot.Motion) (robot.Rehearsal, error) {
	r, err := m.Rehearser.Rehearse(ctx, st, mo)
	m.meddle()
	return r, err
}

// A motion is bound to the scene that it was planned in, also where that changes
// before anybody has been asked.
func TestG12_ASceneEditDuringThePlanningVoidsThePlan(t *testing.T) {
	var g *rig
	m := &meddler{Rehearser: &fixed{robot.Rehearsal{Simulator: "x", SamplePeriod: 0.02, Trace: [][]float64{make([]float64, 6)}}}}
	g = newRig(t, rigOptions{rehearser: m})
	m.meddle = func() { g.must("scene_add", far, nil) }
	act := g.action("move_joints", turn)
	requireCode(t, gate.CodeStartMoved, act.Check(t.Context()))
	m.meddle = func() {}
	require.NoError(t, g.action("move_joints", turn).Check(t.Context()))
}

// While the robot moves its scene stays as it is.
func TestTheSceneStaysWhileTheRobotMoves(t *testing.T) {
	var g *gated
	var answers []gate.Answer
	g = newGated(t, rigOptions{between: func(b robot.Backend) robot.Backend {
		return &onProgress{b, func() {
			if len(answers) == 0 {
				answers = append(answers, g.ask("scene_add", far))
			}
		}}
	}}, gatetest.Approve())
	g.ok("move_joints", turn, nil)
	require.Len(t, answers, 1)
	require.Equal(t, gate.CodeBusy, answers[0].Code, answers[0].Text)
	require.Empty(t, g.robot.Scene().Bodies)
}

// onProgress is a backend that calls a function at each progress of a motion.
type onProgress struct {
	robot.Backend
	f func()
}

func (b *onProgress) Execute(ctx context.Context, m robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	return b.Backend.Execute(ctx, m, func(p robot.Progress) { b.f(); progress(p) })
}

func TestSceneEditsThatAreRefused(t *testing.T) {
	zoned := tableScene(t)
	zoned, err := robot.NewScene("s", zoned.Bodies, []robot.Zone{{Name: "door", Pose: robot.IdentityPose(), Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.01}}})
	require.NoError(t, err)
	for i := range zoned.Zones {
		zoned.Zones[i].Pose.P[0] = 2
	}
	g := newGated(t, rigOptions{scene: zoned})
	var before, after scene
	g.ok("scene_describe", `{}`, &before)
	body := func(name, pose, geometry string) string {
		return fmt.Sprintf(`{"name":%q,"pose":%s,"geometry":%s}`, name, pose, geometry)
	}
	const at, ball = `{"xyz":[1,1,1]}`, `{"sphere":{"radius":0.05}}`
	for name, c := range map[string]struct {
		args string
		want gate.Code
	}{
		"a body's name":         {body("table", at, ball), gate.CodeInvalidArgument},
		"a zone's name":         {body("door", at, ball), gate.CodeInvalidArgument},
		"a link's name":         {body("gripper_link", at, ball), gate.CodeInvalidArgument},
		"no name":               {body("", at, ball), gate.CodeInvalidArgument},
		"a name with a newline": {body("a\nb", at, ball), gate.CodeInvalidArgument},
		"a quoted name":         {body(`a" b`, at, ball), gate.CodeInvalidArgument},
		"another quote":         {body("a” b", at, ball), gate.CodeInvalidArgument},
		"a backtick":            {body("a` b", at, ball), gate.CodeInvalidArgument},
		"a blank name":          {body(" ", at, ball), gate.CodeInvalidArgument},
		"a blank before":        {body(" ok", at, ball), gate.CodeInvalidArgument},
		"a blank behind":        {body("ok ", at, ball), gate.CodeInvalidArgument},
		"two shapes":            {body("x", at, `{"sphere":{"radius":0.05},"box":{"size":[1,1,1]}}`), gate.CodeInvalidArgument},
		"no shape":              {body("x", at, `{}`), gate.CodeInvalidArgument},
		"a mesh":                {body("x", at, `{"mesh":{"file":"/etc/passwd"}}`), gate.CodeInvalidArgument},
		"no size":               {body("x", at, `{"sphere":{"radius":0}}`), gate.CodeInvalidArgument},
		"a negative size":       {body("x", at, `{"box":{"size":[0.1,-0.1,0.1]}}`), gate.CodeInvalidArgument},
		"too far":               {body("x", `{"xyz":[1e9,0,0]}`, ball), gate.CodeInvalidArgument},
		"not a unit quaternion": {body("x", `{"xyz":[1,1,1],"quat_wxyz":[1,1,0,0]}`, ball), gate.CodeInvalidArgument},
		"no position":           {body("x", `{"quat_wxyz":[1,0,0,0]}`, ball), gate.CodeInvalidArgument},
		"an unknown field":      {`{"name":"x","pose":{"xyz":[1,1,1]},"geometry":{"sphere":{"radius":0.05}},"mass":1}`, gate.CodeInvalidArgument},
		"in the robot":          {body("x", `{"xyz":[0,0,0.05]}`, ball), gate.CodeSceneCollision},
	} {
		g.refused(c.want, "scene_add", c.args)
		g.ok("scene_describe", `{}`, &after)
		require.Equal(t, before, after, name)
	}
	a := g.refused(gate.CodeNotSupported, "scene_remove", `{"name":"door"}`)
	require.Contains(t, a.Text, "operator")
	g.refused(gate.CodeInvalidArgument, "scene_remove", `{"name":"nothing"}`)

	fixed := newGated(t, rigOptions{scene: zoned, fixed: true})
	fixed.refused(gate.CodeNotSupported, "scene_add", far)
	fixed.refused(gate.CodeNotSupported, "scene_remove", `{"name":"table"}`)
	fixed.ok("scene_describe", `{}`, &after)
	require.False(t, after.Editable)
}

// A real session's scene is the operator's.
func TestARealSessionsSceneIsTheOperators(t *testing.T) {
	g := newRig(t, rigOptions{between: func(b robot.Backend) robot.Backend {
		return &live{Backend: b, info: func(i *robot.Info) { i.Mode = robot.ModeReal }}
	}})
	for tool, args := range map[string]string{"scene_add": far, "scene_remove": `{"name":"far"}`} {
		call := g.call(tool, args)
		call.Session.Mode = gate.ModeReal
		act, err := g.tools[tool].Prepare(t.Context(), call)
		require.NoError(t, err)
		_, err = act.Run(t.Context())
		e := requireCode(t, gate.CodeNotSupported, err)
		require.Contains(t, e.Text, "operator")
	}
	require.Empty(t, g.robot.Scene().Bodies)
}
