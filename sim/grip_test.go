package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

const openAt = 1.0

// cubeScene puts a cube of 2 cm between the jaws of the arm at home with its
// gripper open: 1 mm from the fixed jaw.
func cubeScene(t *testing.T, m *robot.Model) (*robot.Scene, []float64) {
	tree, err := newTree(m)
	require.NoError(t, err)
	d := newDynamics(tree, down)
	q := append([]float64(nil), m.Home...)
	q[m.Gripper.Joint] = openAt
	d.place(q)
	d.worlds()
	g := d.linkFrame(m.LinkIndex("gripper_link"))
	cube := frame{R: identity3(), P: vec3{-0.0085 + 0.001 + 0.01, 0, -0.08}}
	at := g.mul(&cube)
	return &robot.Scene{Bodies: []robot.Body{{
		Name: "cube", Pose: at.pose(), Movable: true, Geometry: robot.Geometry{Kind: robot.Box, Size: vec3{0.02, 0.02, 0.02}},
	}}}, q
}

func gripTo(m *robot.Model, from []float64, to, effort float64, epoch uint64) robot.Motion {
	end := append([]float64(nil), from...)
	end[m.Gripper.Joint] = to
	mo := motionOf(restToRest(m, from, end, 0.3, 0), epoch)
	if effort > 0 {
		mo.Grip = &robot.Grip{MaxEffort: effort}
	}
	return mo
}

func TestGripHoldsCarriesAndLetsGo(t *testing.T) {
	m := so101(t)
	scene, q := cubeScene(t, m)
	g := m.Gripper.Joint
	r := newRobot(t, Options{Model: m, Scene: scene, Start: q})
	ctx := context.Background()

	out, err := r.Execute(ctx, gripTo(m, q, m.Gripper.Closed, 0.8, 0), nil)
	require.NoError(t, err)
	require.Equal(t, robot.OutcomeDone, out.Status)
	require.Equal(t, "cube", out.Gripped)
	require.Equal(t, "cube", out.Final.Held)
	require.NotNil(t, out.Final.HeldPose)
	at := out.Final.Positions[g]
	require.Greater(t, at, m.Gripper.Closed+0.1, "it closes on the cube, not on nothing")
	require.Less(t, at, openAt-0.1)
	require.InDelta(t, -0.8, out.Final.Efforts[g], 1e-9, "it presses with what it may, in the closing direction")
	require.InDelta(t, at, out.Final.Setpoints[g], 1e-3)
	before := r.Scene().Bodies[0].Pose

	// Gripping again changes nothing.
	again, err := r.Execute(ctx, gripTo(m, out.Final.Positions, m.Gripper.Closed, 0.5, 0), nil)
	require.NoError(t, err)
	require.Equal(t, robot.OutcomeDone, again.Status)
	require.Equal(t, "cube", again.Gripped)
	require.InDelta(t, -0.5, again.Final.Efforts[g], 1e-9)

	// Carrying: the cube goes where the tip goes.
	to := append([]float64(nil), again.Final.Positions...)
	to[0], to[1] = 0.6, to[1]-0.3
	mo := motionOf(restToRest(m, again.Final.Positions, to, 0.5, 0), 0)
	h, err := NewRehearser(m, scene, 0, RehearserOptions{})
	require.NoError(t, err)
	rec, err := h.Rehearse(ctx, again.Final, mo)
	require.NoError(t, err)
	out, err = r.Execute(ctx, mo, nil)
	require.NoError(t, err)
	require.Equal(t, "cube", out.Final.Held)
	require.InDelta(t, at, out.Final.Positions[g], 2e-3)
	for i, j := range rec.Joints {
		require.InDelta(t, j.End, out.Final.Positions[i], 1e-3)
	}
	after := r.Scene().Bodies[0].Pose
	require.Greater(t, after.P.Sub(before.P).Len(), 0.05)
	tip := robot.Pose{P: rec.EndPosition}
	tip.Q.W, tip.Q.V = rec.EndOrientation[0], vec3{rec.EndOrientation[1], rec.EndOrientation[2], rec.EndOrientation[3]}
	require.InDelta(t, 0, tip.Mul(*out.Final.HeldPose).P.Sub(after.P).Len(), 1e-3)

	// Letting go leaves it there, which the rehearsal says.
	require.NotContains(t, rec.Assumed, "cube: let go of, it stays where it was, in the air too")
	opening := gripTo(m, out.Final.Positions, openAt, 0, 0)
	rec, err = h.Rehearse(ctx, out.Final, opening)
	require.NoError(t, err)
	require.Contains(t, rec.Assumed, "cube: let go of, it stays where it was, in the air too")
	out, err = r.Execute(ctx, opening, nil)
	require.NoError(t, err)
	require.Empty(t, out.Final.Held)
	require.Nil(t, out.Final.HeldPose)
	require.InDelta(t, openAt, out.Final.Positions[g], 3e-3)
	require.InDelta(t, 0, r.Scene().Bodies[0].Pose.P.Sub(after.P).Len(), 1e-3)
}

func TestWhatIsHeldCollidesToo(t *testing.T) {
	m := so101(t)
	scene, q := cubeScene(t, m)
	r := newRobot(t, Options{Model: m, Scene: scene, Start: q})
	out, err := r.Execute(context.Background(), gripTo(m, q, m.Gripper.Closed, 0.8, 0), nil)
	require.NoError(t, err)
	// A plate a little below the cube, where neither jaw gets to, as the arm sinks.
	p := robot.IdentityPose()
	p.P = r.Scene().Bodies[0].Pose.P
	scene.Bodies[0].Pose = p
	to := append([]float64(nil), out.Final.Positions...)
	to[0] = 0.4
	mo := motionOf(restToRest(m, out.Final.Positions, to, 0.5, 0), 0)
	h, err := NewRehearser(m, scene, 0, RehearserOptions{})
	require.NoError(t, err)
	rec, err := h.Rehearse(context.Background(), out.Final, mo)
	require.NoError(t, err)
	// Something where the cube ends up, and where only the cube gets to first.
	end := robot.Pose{P: rec.EndPosition}
	end.Q.W, end.Q.V = rec.EndOrientation[0], vec3{rec.EndOrientation[1], rec.EndOrientation[2], rec.EndOrientation[3]}
	speck := robot.Body{Name: "speck", Pose: end.Mul(*out.Final.HeldPose), Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.002}}
	with := &robot.Scene{Bodies: append([]robot.Body{speck}, scene.Bodies...)}
	h, err = NewRehearser(m, with, 0, RehearserOptions{})
	require.NoError(t, err)
	_, err = h.Rehearse(context.Background(), out.Final, mo)
	refusedWith(t, err, robot.CodeContact, "cube", "speck")

	lost := out.Final.Clone()
	lost.HeldPose = nil
	_, err = h.Rehearse(context.Background(), lost, mo)
	refusedWith(t, err, robot.CodeStaleState, "cube")
	lost = out.Final.Clone()
	lost.Held = "nothing that is there"
	_, err = h.Rehearse(context.Background(), lost, mo)
	refusedWith(t, err, robot.CodeInvalidArgument, "nothing that is there")
}

func TestClosingOnABodyWithoutAGripIsAContact(t *testing.T) {
	m := so101(t)
	scene, q := cubeScene(t, m)
	r := newRobot(t, Options{Model: m, Scene: scene, Start: q})
	_, err := r.Execute(context.Background(), gripTo(m, q, m.Gripper.Closed, 0, 0), nil)
	require.Equal(t, robot.CodeContact, robot.CodeOf(err))
	require.ErrorContains(t, err, "cube")

	scene.Bodies[0].Movable = false
	r = newRobot(t, Options{Model: m, Scene: scene, Start: q})
	_, err = r.Execute(context.Background(), gripTo(m, q, m.Gripper.Closed, 0.8, 0), nil)
	require.Equal(t, robot.CodeContact, robot.CodeOf(err), "what is fixed can't be gripped")
}

func TestGripOfNothingEndsClosed(t *testing.T) {
	m := so101(t)
	q := append([]float64(nil), m.Home...)
	q[m.Gripper.Joint] = openAt
	r := newRobot(t, Options{Model: m, Start: q})
	out, err := r.Execute(context.Background(), gripTo(m, q, m.Gripper.Closed, 0.8, 0), nil)
	require.NoError(t, err)
	require.Empty(t, out.Gripped)
	require.InDelta(t, m.Gripper.Closed, out.Final.Positions[m.Gripper.Joint], 3e-3)
	_, err = newRobot(t, Options{Model: pendulum(1, 1)}).Execute(context.Background(),
		func() robot.Motion {
			mo := motionOf(restToRest(pendulum(1, 1), []float64{0}, []float64{1}, 1, 0), 0)
			mo.Grip = &robot.Grip{MaxEffort: 1}
			return mo
		}(), nil)
	require.Equal(t, robot.CodeNotSupported, robot.CodeOf(err))
}
