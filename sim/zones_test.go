package sim

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// sweep is a scene with a guarded zone on either side of the so101's tip at home.
func sweep(t *testing.T, m *robot.Model) *robot.Scene {
	tr, err := newTree(m)
	require.NoError(t, err)
	d := newDynamics(tr, vec3{})
	zone := func(name string, angle float64) robot.Zone {
		d.place(pan(m, angle))
		d.worlds()
		tip := d.linkFrame(m.Tip)
		p := robot.IdentityPose()
		p.P = tip.P
		return robot.Zone{Name: name, Pose: p, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.03}}
	}
	s, err := robot.NewScene("", nil, []robot.Zone{zone("left", 0.5), zone("right", -0.5)})
	require.NoError(t, err)
	return &s
}

// A motion enters the zones that it names and no others, in the rehearsal and on the
// robot, and what one may the next one mayn't.
func TestAMotionEntersTheZonesThatItNames(t *testing.T) {
	m := so101(t)
	scene := sweep(t, m)
	h, err := NewRehearser(m, scene, 1, RehearserOptions{})
	require.NoError(t, err)
	ctx := context.Background()
	to := func(from, angle float64, zones ...string) robot.Motion {
		mo := motionOf(restToRest(m, pan(m, from), pan(m, angle), 0.8, 0), 0)
		mo.Zones = zones
		return mo
	}
	refuse := func(mo robot.Motion, zone string) {
		t.Helper()
		_, err := h.Rehearse(ctx, atHome(m), mo)
		refusedWith(t, err, robot.CodeZoneNotGranted, zone, "enters the guarded zone")
		var e *robot.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, "zone:"+zone, e.Access)
	}
	refuse(to(0, 0.8), "left")
	refuse(to(0, -0.8), "right")
	refuse(to(0, -0.8, "left"), "right")
	_, err = h.Rehearse(ctx, atHome(m), to(0, 0.8, "left"))
	require.NoError(t, err)
	_, err = h.Rehearse(ctx, atHome(m), to(0, 0.8, "left", "right"))
	require.NoError(t, err)
	refuse(to(0, 0.8), "left") // nothing of the one before is left

	r := newRobot(t, Options{Model: m, Scene: scene})
	out, err := r.Execute(ctx, to(0, 0.8, "cellar"), nil)
	require.Equal(t, robot.OutcomeRefused, out.Status)
	require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err))
	require.ErrorContains(t, err, "cellar")
	_, err = r.Execute(ctx, to(0, 0.8, "left"), nil)
	require.NoError(t, err)
	out, err = r.Execute(ctx, to(0.8, 0), nil)
	require.Equal(t, robot.CodeZoneNotGranted, robot.CodeOf(err))
	require.Equal(t, robot.OutcomeFaulted, out.Status)
	_, err = h.Rehearse(ctx, robot.State{Positions: m.Home}, to(0, 0.1, "cellar"))
	refusedWith(t, err, robot.CodeInvalidArgument, "", "cellar")
}

// A rehearsal tells what is held and where bodies lie at its end, and can begin in a
// scene that another one leaves.
func TestARehearsalTellsWhereBodiesAreAtItsEnd(t *testing.T) {
	m := so101(t)
	scene, q := cubeScene(t, m)
	h, err := NewRehearser(m, scene, 1, RehearserOptions{})
	require.NoError(t, err)
	ctx := context.Background()
	open := robot.State{Positions: q, Setpoints: q}
	grip := gripTo(m, q, m.Gripper.Closed, 0.8, 0)
	closed, err := h.Rehearse(ctx, open, grip)
	require.NoError(t, err)
	require.Equal(t, "cube", closed.Held)
	require.NotNil(t, closed.HeldPose)

	end := make([]float64, m.DoF())
	for i := range end {
		end[i] = closed.Joints[i].End
	}
	turned := append([]float64(nil), end...)
	turned[0] += 0.3
	s := robot.State{Positions: end, Setpoints: end, Held: closed.Held, HeldPose: closed.HeldPose}
	carried, err := h.Rehearse(ctx, s, motionOf(restToRest(m, end, turned, 0.5, 0), 0))
	require.NoError(t, err)
	require.Equal(t, "cube", carried.Held)
	require.Len(t, carried.Moved, 1)
	require.Equal(t, "cube", carried.Moved[0].Name)
	require.Greater(t, carried.Moved[0].Pose.P.Sub(scene.Bodies[0].Pose.P).Len(), 0.02)

	// Let go of there, it lies there.
	s.Positions, s.Setpoints = turned, turned
	left, err := h.Rehearse(ctx, s, gripTo(m, turned, openAt, 0.8, 0))
	require.NoError(t, err)
	require.Empty(t, left.Held)
	require.Nil(t, left.HeldPose)
	require.Len(t, left.Moved, 1)
	require.InDelta(t, 0, left.Moved[0].Pose.P.Sub(carried.Moved[0].Pose.P).Len(), 2e-3)

	// In the scene that is left there is nothing to grip where it was.
	bodies := append([]robot.Body(nil), scene.Bodies...)
	bodies[0].Pose = left.Moved[0].Pose
	after := scene.WithBodies(bodies)
	again, err := h.RehearseIn(ctx, &after, open, grip)
	require.NoError(t, err)
	require.Empty(t, again.Held)
	require.Empty(t, again.Moved)
	again, err = h.Rehearse(ctx, open, grip)
	require.NoError(t, err)
	require.Equal(t, "cube", again.Held, "nothing of the other scene stays")

	// What differs in more than places is compiled.
	bodies[0].Pose, bodies[0].Geometry.Size = scene.Bodies[0].Pose, vec3{0.001, 0.001, 0.001}
	tiny := scene.WithBodies(bodies)
	again, err = h.RehearseIn(ctx, &tiny, open, grip)
	require.NoError(t, err)
	g := m.Gripper.Joint
	require.Less(t, again.Joints[g].End, closed.Joints[g].End-0.1, "the jaws close on what is there")
	again, err = h.RehearseIn(ctx, &robot.Scene{}, open, grip)
	require.NoError(t, err)
	require.Empty(t, again.Held)
	bodies[0].Pose.P[0] = math.NaN()
	nowhere := scene.WithBodies(bodies)
	_, err = h.RehearseIn(ctx, &nowhere, open, grip)
	refusedWith(t, err, robot.CodeInvalidArgument, "cube")
	bodies[0].Geometry = scene.Bodies[0].Geometry
	nowhere = scene.WithBodies(bodies)
	_, err = h.RehearseIn(ctx, &nowhere, open, grip)
	refusedWith(t, err, robot.CodeInvalidArgument, "cube")
}
