package sim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// TestAFallComesToRestOnContactByRule holds the parts of a fall's end to what they are for,
// where the drawn falls of TestAFallComesToRestOnContact may all end otherwise.
func TestAFallComesToRestOnContactByRule(t *testing.T) {
	m := pendulum(1, 0.5)
	m.Joints[0].Damping = 0.5
	m.Links[1].Colliders = []robot.Collider{{Origin: robot.Pose{P: vec3{0, 0, -0.5}, Q: robot.IdentityPose().Q}, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.05}}}
	p := robot.IdentityPose()
	p.P = vec3{-0.35, 0, -0.35}
	scene := &robot.Scene{Bodies: []robot.Body{{Name: "body", Pose: p, Geometry: robot.Geometry{Kind: robot.Box, Size: vec3{0.1, 0.1, 0.1}}}}}
	f := newFall(t, m, scene, down, []float64{math.Pi / 2}, nil)
	defer func() { require.NoError(t, f.r.Close()) }()
	f.off(t)
	require.InDelta(t, 0, f.gaps()[0], 2*restGap, "it lies on the body")
	at := f.r.pl.q[0]

	// Whatever speed it comes with, what has met something has none.
	f.r.pl.v[0] = 1
	f.r.meet(false)
	require.Zero(t, f.r.pl.v[0], "the contact takes its speed")

	// What lies on something may get no nearer by being let go of again.
	mon := f.brute()
	mon.falling = true
	require.Equal(t, restSlack, mon.slack())
	mon.falling = false
	require.Equal(t, deeper, mon.slack())

	// Torque begins with what carries the weight, so that nothing moves.
	require.True(t, f.actuate(t, robot.TorqueOn).Final.Enabled)
	require.InDelta(t, at, f.r.pl.q[0], 1e-6, "torque moves nothing")
	require.NotZero(t, f.r.pl.integ[0], "nothing carries the weight")
}
