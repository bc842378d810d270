package motion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
)

// A body's name stays one on a card, whatever the agent called it.
func TestG30_ABodysNameIsQuotedOnTheCard(t *testing.T) {
	g := newGated(t, rigOptions{}, gatetest.Approve())
	g.ok("scene_add", `{"name":"cup), 0 bodies removed by the agent (none","pose":{"xyz":[1.5,0,0.1]},"geometry":{"sphere":{"radius":0.05}}}`, nil)
	g.ok("scene_add", `{"name":"near, 9 m off","pose":{"xyz":[0.9,0,0.1]},"geometry":{"sphere":{"radius":0.05}}}`, nil)
	g.ok("move_joints", turn, nil)
	require.Equal(t, `2 bodies added by the agent ("cup), 0 bodies removed by the agent (none", "near, 9 m off")`, g.fact("Scene"))
	if c := g.fact("Clearance"); len(c) > 0 {
		require.NotContains(t, c, ` near, 9 m off`)
	}
}

// small is a move that the table leaves room for.
const small = `{"positions":{"shoulder_pan":0.1}}`

// during is an editor that calls a function while an edit is made, before and after
// the scene has changed.
type during struct {
	motion.SceneEditor
	then func()
}

func (d *during) AddBody(b robot.Body) error {
	err := d.SceneEditor.AddBody(b)
	d.then()
	return err
}

func (d *during) RemoveBody(name string) error {
	err := d.SceneEditor.RemoveBody(name)
	d.then()
	return err
}

// A plan that is made as soon as the scene has changed says so, and an edit that is
// refused is none.
func TestG30_APlanMadeDuringASceneEditSaysSo(t *testing.T) {
	d := &during{}
	g := newRig(t, rigOptions{scene: tableScene(t), rehearser: bent{}, edit: func(e motion.SceneEditor) motion.SceneEditor { d.SceneEditor = e; return d }})
	said := ""
	d.then = func() { said = factOf(g.action("move_joints", small).Card(), "Scene") }
	g.must("scene_add", far, nil)
	require.Equal(t, `1 body added by the agent ("far")`, said)
	g.must("scene_remove", `{"name":"far"}`, nil)
	require.Empty(t, said)
	g.must("scene_remove", `{"name":"post"}`, nil)
	require.Equal(t, `1 body removed by the agent ("post")`, said)

	d.then = func() {}
	err := g.do("scene_add", `{"name":"x","pose":{"xyz":[0,0,0.05]},"geometry":{"sphere":{"radius":0.05}}}`, nil)
	requireCode(t, gate.CodeSceneCollision, err)
	require.Equal(t, `1 body removed by the agent ("post")`, factOf(g.action("move_joints", small).Card(), "Scene"))
}

// strict refuses every edit.
type strict struct{}

func (strict) AddBody(robot.Body) error { return robot.Errf(robot.CodeBusy, "scene", "not now") }
func (strict) RemoveBody(string) error  { return robot.Errf(robot.CodeBusy, "scene", "not now") }

// An edit that was refused isn't the agent's, also where its body is carried later.
func TestARefusedSceneEditIsTakenBack(t *testing.T) {
	scene := tableScene(t)
	bodies := append([]robot.Body(nil), scene.Bodies...)
	require.Equal(t, "ball", bodies[0].Name)
	bodies[0].Pose.P[0] += 0.5
	carried, now := scene.WithBodies(bodies), &scene
	g := newRig(t, rigOptions{
		scene: scene, rehearser: bent{}, sceneNow: func() *robot.Scene { return now },
		edit: func(motion.SceneEditor) motion.SceneEditor { return strict{} },
	})
	requireCode(t, gate.CodeBusy, g.do("scene_remove", `{"name":"ball"}`, nil))
	now = &carried
	require.Empty(t, factOf(g.action("move_joints", small).Card(), "Scene"))
}
