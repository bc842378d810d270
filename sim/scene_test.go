package sim

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

func post(name string, x, y float64) robot.Body {
	p := robot.IdentityPose()
	p.P = vec3{x, y, 0.15}
	return robot.Body{Name: name, Pose: p, Geometry: robot.Geometry{Kind: robot.Cylinder, Radius: 0.03, Length: 0.5}}
}

// TestABodyThatIsAddedIsHit: the next motion hits it, and once it is gone, the
// one after doesn't.
func TestABodyThatIsAddedIsHit(t *testing.T) {
	m := so101(t)
	ctx := context.Background()
	r := newRobot(t, Options{Model: m})
	empty := r.Scene()
	require.NotZero(t, empty.Hash)
	id := r.Info().Identity
	require.NoError(t, r.AddBody(post("post", 0.2, -0.2)))
	now := r.Scene()
	want, err := robot.NewScene("", []robot.Body{post("post", 0.2, -0.2)}, nil)
	require.NoError(t, err)
	require.Equal(t, want, now, "its hash is that of the same scene from a file")
	require.Equal(t, id, r.Info().Identity, "the identity says what simulates; the scene has its own hash")

	mo := motionOf(restToRest(m, m.Home, pan(m, 1.5), 0.5, 0), 0)
	_, err = r.Execute(ctx, mo, nil)
	require.Equal(t, robot.CodeContact, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "post")

	back := newRobot(t, Options{Model: m})
	require.NoError(t, back.AddBody(post("post", 0.2, -0.2)))
	require.NoError(t, back.RemoveBody("post"))
	require.Empty(t, back.Scene().Bodies)
	require.Equal(t, empty.Hash, back.Scene().Hash)
	_, err = back.Execute(ctx, mo, nil)
	require.NoError(t, err)
}

func TestAddBodyRefuses(t *testing.T) {
	m := so101(t)
	zone := robot.Zone{Name: "bench", Pose: robot.IdentityPose(), Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.01}}
	zone.Pose.P = vec3{3, 3, 3}
	s, err := robot.NewScene("", []robot.Body{post("post", 1, 1)}, []robot.Zone{zone})
	require.NoError(t, err)
	r := newRobot(t, Options{Model: m, Scene: &s})
	before := r.Scene()
	refuse := func(b robot.Body, code robot.Code, words ...string) *robot.Error {
		t.Helper()
		err := r.AddBody(b)
		var e *robot.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, code, e.Code, "%v", err)
		for _, w := range words {
			require.ErrorContains(t, err, w)
		}
		require.Equal(t, before, r.Scene(), "nothing has changed")
		return e
	}
	refuse(post("post", 2, 2), robot.CodeInvalidArgument, "post", "already")
	refuse(post("bench", 2, 2), robot.CodeInvalidArgument, "bench", "zone")
	refuse(post("gripper_link", 2, 2), robot.CodeInvalidArgument, "gripper_link", "link")
	refuse(post("", 2, 2), robot.CodeInvalidArgument, "name")
	flat := post("flat", 2, 2)
	flat.Geometry.Radius = 0
	refuse(flat, robot.CodeInvalidArgument, "radius")
	tip := post("spear", 0, 0)
	r.mon.pose(r.pl.q)
	f := r.mon.d.linkFrame(m.LinkIndex("gripper_link"))
	tip.Pose.P = f.P
	e := refuse(tip, robot.CodeSceneCollision, "spear", "_link")
	require.Less(t, e.Value.Value, 0.0, "how deep")
	require.NotNil(t, e.Limit)

	require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(r.RemoveBody("nobody")))
	require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(r.RemoveBody("bench")), "zones stay")
	require.Equal(t, before, r.Scene())

	require.NoError(t, r.AddBody(post("a", 4, 4)))
	for i := range robot.MaxBodies - 2 {
		b := post(fmt.Sprintf("b%d", i), 5, 5)
		r.mon.scene.Bodies = append(r.mon.scene.Bodies, b) // filled by hand: adding is linear in what is there
	}
	before = r.Scene()
	e = refuse(post("last", 2, 2), robot.CodeInvalidArgument, "full")
	require.InDelta(t, robot.MaxBodies, e.Limit.Value, 0)
}

// TestABodyThatTouchesWhatIsHeldIsRefused: what the gripper holds is part of the
// robot for as long as it is held, and stays in the scene.
func TestABodyThatTouchesWhatIsHeldIsRefused(t *testing.T) {
	m := so101(t)
	ctx := context.Background()
	scene, q := cubeScene(t, m)
	r := newRobot(t, Options{Model: m, Scene: scene, Start: q})
	out, err := r.Execute(ctx, gripTo(m, q, m.Gripper.Closed, 0.8, 0), nil)
	require.NoError(t, err)
	cube := r.Scene().Bodies[0]
	speck := robot.Body{Name: "a speck", Pose: cube.Pose, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.002}}
	err = r.AddBody(speck)
	require.Equal(t, robot.CodeSceneCollision, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "cube")
	err = r.RemoveBody("cube")
	require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "cube")

	// A body whose name sorts before the held one's: the held one is still held,
	// carried, and let go of.
	require.NoError(t, r.AddBody(post("a post", 1, 1)))
	require.Equal(t, "cube", r.mon.items[r.mon.held].name)
	to := append([]float64(nil), out.Final.Positions...)
	to[0], to[1] = 0.6, to[1]-0.3
	out, err = r.Execute(ctx, motionOf(restToRest(m, out.Final.Positions, to, 0.5, 0), 0), nil)
	require.NoError(t, err)
	now := r.Scene()
	require.Equal(t, "a post", now.Bodies[0].Name)
	require.Greater(t, now.Bodies[1].Pose.P.Sub(cube.Pose.P).Len(), 0.05)
	require.NoError(t, r.RemoveBody("a post"))
	out, err = r.Execute(ctx, gripTo(m, out.Final.Positions, openAt, 0, 0), nil)
	require.NoError(t, err)
	require.Empty(t, out.Final.Held)
	require.InDelta(t, 0, r.Scene().Bodies[0].Pose.P.Sub(now.Bodies[1].Pose.P).Len(), 2e-3)
	hashed, err := robot.NewScene("", r.Scene().Bodies, nil)
	require.NoError(t, err)
	require.InDelta(t, 0, hashed.Bodies[0].Pose.P.Sub(r.Scene().Bodies[0].Pose.P).Len(), 1e-12)
}

// TestTheSceneStaysWhileSomethingMoves also says what Scene gives meanwhile.
func TestTheSceneStaysWhileSomethingMoves(t *testing.T) {
	m := so101(t)
	r := newRobot(t, Options{Model: m})
	require.NoError(t, r.AddBody(post("far", 3, 3)))
	before := r.Scene()
	var add, remove error
	var meanwhile robot.Scene
	r.AtMotionTime(0.1, func() { add, remove, meanwhile = r.AddBody(post("new", 4, 4)), r.RemoveBody("far"), r.Scene() })
	_, err := r.Execute(context.Background(), motionOf(restToRest(m, m.Home, pan(m, 0.3), 0.5, 0), 0), nil)
	require.NoError(t, err)
	require.Equal(t, robot.CodeBusy, robot.CodeOf(add), "%v", add)
	require.Equal(t, robot.CodeBusy, robot.CodeOf(remove), "%v", remove)
	require.Equal(t, before, meanwhile)
	require.NoError(t, r.AddBody(post("new", 4, 4)))
	require.NoError(t, r.Close())
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(r.AddBody(post("newer", 4, 4))))
	require.Equal(t, robot.CodeDisconnected, robot.CodeOf(r.RemoveBody("far")))
}
