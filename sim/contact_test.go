package sim

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// TestCase19_WhatStartsInContactMayOnlyPart in rehearsals and in runs: a link that
// is 1 mm inside a body of the scene, and a held body that is; a move that parts
// them runs, one that goes deeper is refused, and so is one that takes another link
// into the same body.
func TestCase19_WhatStartsInContactMayOnlyPart(t *testing.T) {
	ctx := context.Background()
	m := stage(t)
	m.References = nil
	d := *m.Description
	d.Links = append([]robot.Link(nil), d.Links...)
	arm := robot.IdentityPose()
	arm.P = vec3{-0.17, 0.4, 0}
	d.Links[1].Colliders = []robot.Collider{{Name: "arm", Origin: arm, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.01}}}
	m.Description = &d
	m.Allowed = [][2]int{{1, 2}}
	// The ball's lower side is 1 mm inside the table's upper one, along x.
	p := robot.IdentityPose()
	p.P = vec3{m.Home[0] - 0.01 - 0.05 + 1e-3, 0.25, 0}
	scene := &robot.Scene{Bodies: []robot.Body{{Name: "table", Pose: p, Geometry: robot.Geometry{Kind: robot.Box, Size: vec3{0.1, 0.4, 0.2}}}}}
	rehearse := func(to ...float64) error {
		h, err := NewRehearser(m, scene, 0, RehearserOptions{})
		require.NoError(t, err)
		rec, err := h.Rehearse(ctx, robot.State{Positions: m.Home}, motionOf(restToRest(m, m.Home, to, 0.3, 0), 0))
		require.InDelta(t, -1e-3, rec.Clearance.Distance, 1.5e-3, "the record says that they touch")
		return err
	}
	run := func(to ...float64) error {
		r := newRobot(t, Options{Model: m, Scene: scene})
		_, err := r.Execute(ctx, motionOf(restToRest(m, m.Home, to, 0.3, 0), 0), nil)
		return err
	}
	require.NoError(t, rehearse(0.24, 0.2), "away")
	require.NoError(t, run(0.24, 0.2))
	require.NoError(t, rehearse(0.2, 0.3), "along it, no deeper")
	refusedWith(t, rehearse(0.19, 0.2), robot.CodeContact, "ball", "table")
	require.Equal(t, robot.CodeContact, robot.CodeOf(run(0.19, 0.2)))
	refusedWith(t, rehearse(0.3, 0.2), robot.CodeContact, "beam", "table") // the ball leaves, the arm behind it comes in

	// There and back again: what has parted doesn't touch again.
	h, err := NewRehearser(m, scene, 0, RehearserOptions{})
	require.NoError(t, err)
	there := restToRest(m, m.Home, []float64{0.22, 0.2}, 0.3, 0)
	back := restToRest(m, []float64{0.22, 0.2}, m.Home, 0.3, 0)
	there.Segments = append(there.Segments, back.Segments...)
	_, err = h.Rehearse(ctx, robot.State{Positions: m.Home}, motionOf(there, 0))
	refusedWith(t, err, robot.CodeContact, "ball", "table")
}

// carrying is the state of the built-in arm at home that holds a small body at a
// pose in its tip's frame, and the scene with it.
func carrying(t *testing.T, m *robot.Model, at robot.Pose, more ...robot.Body) (robot.State, *robot.Scene) {
	s := robot.State{Positions: append([]float64(nil), m.Home...), Held: "load", HeldPose: &at}
	tree, err := newTree(m)
	require.NoError(t, err)
	d := newDynamics(tree, down)
	d.place(m.Home)
	d.worlds()
	tip := d.linkFrame(m.Tip)
	rel := frameOf(at)
	world := tip.mul(&rel)
	load := robot.Body{Name: "load", Pose: world.pose(), Movable: true, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.005}}
	return s, &robot.Scene{Bodies: append([]robot.Body{load}, more...)}
}

// TestCase19_AHeldBodyThatStartsInContactMayOnlyPart lifts a load off a plate that it
// is pressed 1 mm into.
func TestCase19_AHeldBodyThatStartsInContactMayOnlyPart(t *testing.T) {
	m := so101(t)
	ahead := robot.IdentityPose()
	ahead.P = vec3{0, 0, 0.1}
	_, alone := carrying(t, m, ahead)
	at := alone.Bodies[0].Pose.P
	plate := robot.Body{Name: "plate", Pose: robot.IdentityPose(), Geometry: robot.Geometry{Kind: robot.Box, Size: vec3{0.02, 0.02, 0.002}}}
	plate.Pose.P = at.Sub(vec3{0, 0, 0.005 + 0.001 - 1e-3})
	s, scene := carrying(t, m, ahead, plate)
	h, err := NewRehearser(m, scene, 0, RehearserOptions{})
	require.NoError(t, err)
	move := func(by float64) error {
		to := append([]float64(nil), m.Home...)
		to[1] += by
		_, err := h.Rehearse(context.Background(), s, motionOf(restToRest(m, m.Home, to, 0.3, 0), 0))
		return err
	}
	up, downwards := move(-0.15), move(0.15)
	require.NoError(t, up)
	refusedWith(t, downwards, robot.CodeContact, "load", "plate")
}

// TestWhatIsHeldHitsTheArmThatHoldsIt: a load is in the way of the arm's own links,
// but not of the fingers that hold it, and counts for the clearance.
func TestWhatIsHeldHitsTheArmThatHoldsIt(t *testing.T) {
	m := so101(t)
	tree, err := newTree(m)
	require.NoError(t, err)
	d := newDynamics(tree, down)
	end := append([]float64(nil), m.Home...)
	end[0], end[3] = 0.5, m.Home[3]-0.5
	d.place(end)
	d.worlds()
	tip, base := d.linkFrame(m.Tip), d.linkFrame(m.LinkIndex("upper_arm_link"))
	rel := tip.inverseMul(&base)
	s, scene := carrying(t, m, rel.pose())
	h, err := NewRehearser(m, scene, 0, RehearserOptions{})
	require.NoError(t, err)
	_, err = h.Rehearse(context.Background(), s, motionOf(restToRest(m, m.Home, end, 0.3, 0), 0))
	refusedWith(t, err, robot.CodeContact, "load", "_link")

	short := append([]float64(nil), m.Home...)
	short[3] -= 0.02
	rec, err := h.Rehearse(context.Background(), s, motionOf(restToRest(m, m.Home, short, 0.3, 0), 0))
	require.NoError(t, err)
	require.Equal(t, "load", rec.Clearance.B)
}

// TestWhatTouchesAlreadyLetsNothingElseIn: a link that touches with one body of its
// own, a centimetre deep, may not go that deep into the same thing with another.
func TestWhatTouchesAlreadyLetsNothingElseIn(t *testing.T) {
	m := pendulum(1, 0.5)
	at := func(x, z float64) robot.Pose { p := robot.IdentityPose(); p.P = vec3{x, 0, z}; return p }
	ball := robot.Geometry{Kind: robot.Sphere, Radius: 0.05}
	m.Links[1].Colliders = []robot.Collider{
		{Name: "upper", Origin: at(0, -0.1), Geometry: ball}, {Name: "lower", Origin: at(-0.05, -0.5), Geometry: ball},
	}
	scene := &robot.Scene{Bodies: []robot.Body{{Name: "wall", Pose: at(0.54, -0.3), Geometry: robot.Geometry{Kind: robot.Box, Size: vec3{1, 1, 1}}}}}
	r := newRobot(t, Options{Model: m, Scene: scene})
	before := gaps(r.mon, r.pl.q)
	require.InDeltaSlice(t, []float64{-0.01, 0.04}, before, 1e-4)
	r.mon.refresh(r.pl.q, 0)
	q := 0.0
	for k := range 200 {
		q -= 0.001 // towards the wall: the upper ball by 0.1 mm, the lower one by 0.5 mm
		if c := r.mon.advance([]float64{q}, []float64{-0.001}, float64(k)*Step); c != nil {
			break
		}
		require.Greater(t, gaps(r.mon, []float64{q})[1], 0.0)
	}
	require.InDelta(t, -deeper/0.1, q, 0.002, "the upper one may only settle")

	// Turned about so that the upper ball parts while the lower one comes in.
	m.Links[1].Colliders[0].Origin, m.Links[1].Colliders[1].Origin = at(0, 0.1), at(-0.02, -0.5)
	r = newRobot(t, Options{Model: m, Scene: scene})
	r.mon.refresh(r.pl.q, 0)
	var c *contact
	for q = 0; c == nil && q > -0.2; {
		q -= 0.001
		c = r.mon.advance([]float64{q}, []float64{-0.001}, 0)
	}
	require.NotNil(t, c)
	require.InDelta(t, 0, gaps(r.mon, []float64{q})[1], 6e-4, "it is a contact where the lower one meets the wall")
}

// TestAContactStopsTheArmAtTheSurface: what a motion runs into is what it stands at,
// however fast it was.
func TestAContactStopsTheArmAtTheSurface(t *testing.T) {
	m := so101(t)
	p := robot.IdentityPose()
	p.P = vec3{0.2, -0.2, 0.15}
	scene := &robot.Scene{Bodies: []robot.Body{{Name: "post", Pose: p, Geometry: robot.Geometry{Kind: robot.Cylinder, Radius: 0.03, Length: 0.5}}}}
	for _, scale := range []float64{0.1, 1} {
		r := newRobot(t, Options{Model: m, Scene: scene})
		_, err := r.Execute(context.Background(), motionOf(restToRest(m, m.Home, pan(m, 1.5), scale, 0), 0), nil)
		require.Equal(t, robot.CodeContact, robot.CodeOf(err))
		require.InDelta(t, 0, slices.Min(gaps(r.mon, r.pl.q)), 2*restGap)
	}
}
