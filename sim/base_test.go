package sim

import (
	"context"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

const (
	cartRadius, cartTrack = 0.04, 0.2
	cartMass, cartTurn    = 2.0, 0.02 // kg; kg·m² about the body's centre of mass
	wheelMass, wheelSpin  = 0.1, 1e-4 // kg; kg·m² about its axle
	wheelTurn             = 6e-5      // kg·m² across it
)

// cart is a base on two wheels whose body's centre of mass is at com, with a bumper
// in front.
func cart(t testing.TB, com vec3) *robot.Model {
	id := robot.IdentityPose()
	wheel := func(y float64) robot.Joint {
		return robot.Joint{Type: robot.Continuous, Parent: 3, Origin: robot.Pose{P: vec3{0, y, cartRadius}, Q: mgl64.QuatIdent()}, Axis: vec3{0, 1, 0}}
	}
	d := &robot.Description{
		Name: "cart",
		Links: []robot.Link{
			{Name: "odom", Parent: -1}, {Name: "carriage_x", Parent: 0}, {Name: "carriage_y", Parent: 1},
			{
				Name: "body", Parent: 2, Inertial: &robot.Inertial{Origin: robot.Pose{P: com, Q: mgl64.QuatIdent()}, Mass: cartMass, Inertia: [6]float64{.02, 0, 0, .02, 0, cartTurn}},
				Colliders: []robot.Collider{{Name: "bumper", Origin: robot.Pose{P: vec3{0.12, 0, 0.05}, Q: mgl64.QuatIdent()}, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.02}}},
			},
			{Name: "left", Parent: 3, Inertial: &robot.Inertial{Origin: id, Mass: wheelMass, Inertia: [6]float64{wheelTurn, 0, 0, wheelSpin, 0, wheelTurn}}},
			{Name: "right", Parent: 4, Inertial: &robot.Inertial{Origin: id, Mass: wheelMass, Inertia: [6]float64{wheelTurn, 0, 0, wheelSpin, 0, wheelTurn}}},
		},
		Joints: []robot.Joint{
			{Name: "x", Type: robot.Prismatic, Parent: 0, Child: 1, Origin: id, Axis: vec3{1, 0, 0}},
			{Name: "y", Type: robot.Prismatic, Parent: 1, Child: 2, Origin: id, Axis: vec3{0, 1, 0}},
			{Name: "yaw", Type: robot.Continuous, Parent: 2, Child: 3, Origin: id, Axis: vec3{0, 0, 1}},
			wheel(cartTrack / 2), wheel(-cartTrack / 2),
		},
		Active: []int{0, 1, 2, 3, 4},
	}
	d.Joints[3].Name, d.Joints[4].Name, d.Joints[3].Child, d.Joints[4].Child = "left", "right", 4, 5
	for i := range d.Joints {
		d.Joints[i].Active = i
	}
	ground := robot.JointLimits{Bounded: true, Lower: -5, Upper: 5, Velocity: 0.5, Acceleration: 1, Jerk: 20}
	turn := robot.JointLimits{Velocity: 5, Acceleration: 20, Jerk: 200}
	wheels := robot.JointLimits{Velocity: 10, Acceleration: 10, Jerk: 200, Effort: 1}
	m := &robot.Model{Description: d, Tip: 3, Home: make([]float64, 5), Limits: []robot.JointLimits{ground, ground, turn, wheels, wheels}}
	m, err := m.Equip(&robot.Equipment{File: "actuators.yaml", Base: &robot.BaseEntry{
		X: "x", Y: "y", Yaw: "yaw", Left: "left", Right: "right", Radius: cartRadius, Track: cartTrack,
	}})
	require.NoError(t, err)
	return m
}

// onArc is where a base is once it has turned its wheels by these from a start.
func onArc(start []float64, left, right float64) []float64 {
	q := append([]float64(nil), start...)
	q[3], q[4] = q[3]+left, q[4]+right
	way, turn := cartRadius*(left+right)/2, cartRadius*(right-left)/cartTrack
	if turn == 0 {
		q[0], q[1] = q[0]+way*math.Cos(q[2]), q[1]+way*math.Sin(q[2])
		return q
	}
	r := way / turn
	q[0] += r * (math.Sin(q[2]+turn) - math.Sin(q[2]))
	q[1] -= r * (math.Cos(q[2]+turn) - math.Cos(q[2]))
	q[2] += turn
	return q
}

// drive is an arc from rest to rest in last seconds. The path over time goes through
// a cubic B-spline, whose pieces have constant jerk and fit in position, speed and
// acceleration; its coefficients interpolate to the fourth order (C. de Boor, A
// Practical Guide to Splines, 2001, chapter XII).
func drive(m *robot.Model, start []float64, left, right, last float64) robot.Trajectory {
	const h = 0.01
	at := func(k int) []float64 {
		s := math.Max(0, math.Min(1, (float64(k)-3)*h/last))
		s = s * s * s * s * (35 + s*(-84+s*(70-20*s))) // rest, acceleration and jerk 0 at both ends
		return onArc(start, left*s, right*s)
	}
	n := int(math.Ceil(last/h)) + 6
	c := make([][]float64, n+3)
	for k := range c {
		a, b, d := at(k-1), at(k), at(k+1)
		c[k] = make([]float64, len(b))
		for i := range b {
			c[k][i] = b[i] - (a[i]-2*b[i]+d[i])/6
		}
	}
	out := robot.Trajectory{Joints: m.JointNames()}
	for k := 1; k <= n; k++ {
		s := robot.Segment{Duration: h}
		for i := range start {
			c0, c1, c2, c3 := c[k-1][i], c[k][i], c[k+1][i], c[k+2-k/n][i]
			s.Q = append(s.Q, (c0+4*c1+c2)/6)
			s.V = append(s.V, (c2-c0)/(2*h))
			s.A = append(s.A, (c0-2*c1+c2)/(h*h))
			s.J = append(s.J, (c3-3*c2+3*c1-c0)/(h*h*h))
		}
		out.Segments = append(out.Segments, s)
	}
	return out
}

// TestARollingBaseKeepsItsEnergy: what holds the wheels to the floor does no work,
// whatever path the base takes and wherever its mass is.
func TestARollingBaseKeepsItsEnergy(t *testing.T) {
	m := cart(t, vec3{0.05, 0.02, 0.1})
	tree, err := newTree(m)
	require.NoError(t, err)
	params, _ := driveParams(tree, down)
	for i := range params {
		params[i].damping, params[i].friction = 0, 0
	}
	p := newPlant(tree, params, down, []float64{0.3, -0.2, 0.4, 0, 0})
	p.v[3], p.v[4] = 3, 5
	follow(m.Base, p.q[2], p.v)
	before := p.energy()
	for range 8000 {
		require.True(t, p.step(p.q, p.v, false))
		s, c := math.Sincos(p.q[2])
		require.InDelta(t, 0, p.v[1]*c-p.v[0]*s, 1e-12, "it doesn't slip sideways")
	}
	require.InEpsilon(t, before, p.energy(), 2e-3)
	require.Greater(t, math.Abs(p.q[2]), 2.0, "it has turned a long way")
	require.Greater(t, math.Abs(p.v[3]-3)+math.Abs(p.v[4]-5), 0.5, "and its mass, off the middle, has changed the arc")
}

// TestABaseAcceleratesAsItsMassSays, straight on and on the spot, against the
// closed forms of a body on two wheels.
func TestABaseAcceleratesAsItsMassSays(t *testing.T) {
	const torque = 0.05
	mass, spin := cartMass+2*wheelMass, wheelSpin
	turn := cartTurn + 2*(wheelTurn+wheelMass*cartTrack*cartTrack/4)
	for _, c := range []struct {
		left  float64
		carry float64 // kg·m² that each wheel carries
	}{
		{1, mass * cartRadius * cartRadius / 2},
		{-1, turn * 2 * cartRadius * cartRadius / (cartTrack * cartTrack)},
	} {
		m := cart(t, vec3{0, 0, 0.1})
		tree, err := newTree(m)
		require.NoError(t, err)
		params, _ := driveParams(tree, down)
		p := newPlant(tree, params, down, []float64{0, 0, 0.7, 0, 0})
		p.ext[3], p.ext[4] = c.left*torque, torque
		for range 100 {
			require.True(t, p.step(p.q, p.v, false))
		}
		require.InEpsilon(t, 0.1*torque/(c.carry+spin+params[4].armature), p.v[4], 1e-9)
		require.InEpsilon(t, c.left*p.v[4], p.v[3], 1e-9)
	}
}

func TestABaseDrivesArcs(t *testing.T) {
	t.Parallel()
	m := cart(t, vec3{0.03, 0.01, 0.1})
	ctx := context.Background()
	r := newRobot(t, Options{Model: m, Start: []float64{0.5, 0.2, 0.3, 1, -1}})
	for _, c := range [][2]float64{{12, 18}, {-5, 5}, {15, 15}, {-9, -3}, {0, 8}} {
		s := stateOf(t, r)
		end := onArc(s.Positions, c[0], c[1])
		mo := motionOf(drive(m, s.Positions, c[0], c[1], 6), 0)
		mo.MaxDeviation = bounds6(5, 0.1)
		h, err := NewRehearser(m, nil, 0, RehearserOptions{})
		require.NoError(t, err)
		rec, err := h.Rehearse(ctx, s, mo)
		require.NoError(t, err)
		out, err := r.Execute(ctx, mo, nil)
		require.NoError(t, err)
		require.InDeltaSlice(t, end, out.Final.Positions, 1.5e-3)
		for i := range end {
			require.InDelta(t, rec.Joints[i].End, out.Final.Positions[i], 2e-4)
		}
		require.Less(t, math.Max(out.MaxTrackingError[0], out.MaxTrackingError[1]), 5e-3)
		require.Less(t, math.Max(rec.Joints[0].PeakEffort, rec.Joints[2].PeakEffort), 1e-12, "nothing drives the base but its wheels")
		require.Positive(t, rec.Joints[3].PeakEffort)
	}
}

// TestABaseDoesOnlyWhatItsWheelsMake, by the simulator's own sum over the wheels.
func TestABaseDoesOnlyWhatItsWheelsMake(t *testing.T) {
	m := cart(t, vec3{0, 0, 0.1})
	r := newRobot(t, Options{Model: m})
	refuse := func(tr robot.Trajectory, joint string, off float64) {
		t.Helper()
		require.NoError(t, tr.Validate(m.Limits))
		out, err := r.Execute(context.Background(), motionOf(tr, 0), nil)
		var e *robot.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, robot.CodeInvalidArgument, e.Code, "%v", err)
		require.Equal(t, joint, e.Where)
		require.Equal(t, robot.OutcomeRefused, out.Status)
		require.InDelta(t, math.Copysign(rollTolerance, off), e.Limit.Value, 1e-12)
		require.InDelta(t, math.Copysign(rollTolerance, off), e.Value.Value, rollTolerance, "by how much, where it is seen first")
		h, err := NewRehearser(m, nil, 0, RehearserOptions{})
		require.NoError(t, err)
		_, err = h.Rehearse(context.Background(), robot.State{Positions: m.Home}, motionOf(tr, 0))
		refusedWith(t, err, robot.CodeInvalidArgument, joint, "wheels")
	}
	straight := func(to ...float64) robot.Trajectory { return restToRest(m, m.Home, to, 0.5, 0) }
	refuse(straight(0, 0.2, 0, 0, 0), "y", 1)         // sideways
	refuse(straight(0.4, 0.01, 0, 10, 10), "y", 1)    // a little sideways
	refuse(straight(0.42, 0, 0, 10, 10), "x", 1)      // farther than the wheels go
	refuse(straight(0.4, 0, 0, 9, 9), "x", 1)         // the same
	refuse(straight(0, 0, -0.5, 1, -1), "yaw", -1)    // more than the wheels turn it
	refuse(straight(-0.4, 0, 0, 10, 10), "x", -1)     // backwards while they go forwards
	refuse(straight(onArc(m.Home, 5, 10)...), "y", 1) // a chord instead of the arc
	tr := drive(m, m.Home, 12, 18, 6)                 // an arc of another base
	for k := range tr.Segments {
		for _, x := range [][]float64{tr.Segments[k].Q, tr.Segments[k].V, tr.Segments[k].A, tr.Segments[k].J} {
			x[2] *= 1.01
		}
	}
	refuse(tr, "yaw", 1)
	_, err := r.Execute(context.Background(), motionOf(straight(0.4, 0, 0, 10, 10), 0), nil)
	require.NoError(t, err)
}

// TestABaseStopsOnItsArc: a stop, a cancel and a fault leave the wheels' ratio and
// the circle as they are.
func TestABaseStopsOnItsArc(t *testing.T) {
	m := cart(t, vec3{0.02, 0, 0.1})
	ctx := context.Background()
	const left, right = 12.0, 24.0
	radius := cartTrack / 2 * (right + left) / (right - left)
	tr := drive(m, m.Home, left, right, 6)
	for _, at := range []float64{0.6, 1.5, 3, 4.6, 5.5} {
		r := newRobot(t, Options{Model: m})
		r.AtMotionTime(at, func() { r.Stop(ctx, robot.StopControlled) })
		var last []float64
		out, err := r.Execute(ctx, motionOf(tr, 0), func(p robot.Progress) {
			last = p.Setpoint
			require.InDelta(t, radius, math.Hypot(p.Setpoint[0], p.Setpoint[1]-radius), 2e-5, "the setpoint at %.3f s", p.T)
			require.InDelta(t, radius, math.Hypot(p.State.Positions[0], p.State.Positions[1]-radius), 2e-3)
			require.InDelta(t, left*p.Setpoint[4], right*p.Setpoint[3], 1e-3)
		})
		require.Equal(t, robot.CodeStopped, robot.CodeOf(err), "%v", err)
		require.InDeltaSlice(t, onArc(m.Home, last[3], last[4]), last, 1e-4)
		require.InDeltaSlice(t, last, out.Final.Positions, 2e-3, "it comes to rest where it is to")
		require.Less(t, out.Duration, 6.0)
		q, v := make([]float64, 5), make([]float64, 5)
		tr.Sample(at, q, v, nil)
		require.Greater(t, last[4], q[4])
		require.Less(t, last[4]-q[4], v[4]*v[4]/(2*m.Limits[4].Acceleration)+0.1*v[4], "as soon as its wheels can")
	}
}

// TestABaseHitsWhatIsOnItsArc and not what is on the chord of it.
func TestABaseHitsWhatIsOnItsArc(t *testing.T) {
	m := cart(t, vec3{0, 0, 0.1})
	ctx := context.Background()
	tr := drive(m, m.Home, 12, 24, 6)
	mid := onArc(m.Home, 6, 12)
	bumper := func(q []float64) vec3 { return vec3{q[0] + 0.12*math.Cos(q[2]), q[1] + 0.12*math.Sin(q[2]), 0.05} }
	at := func(p vec3) *robot.Scene {
		pose := robot.IdentityPose()
		pose.P = p
		return &robot.Scene{Bodies: []robot.Body{{Name: "bollard", Pose: pose, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.02}}}}
	}
	rehearse := func(s *robot.Scene) (robot.Rehearsal, error) {
		h, err := NewRehearser(m, s, 0, RehearserOptions{})
		require.NoError(t, err)
		return h.Rehearse(ctx, robot.State{Positions: m.Home}, motionOf(tr, 0))
	}
	_, err := rehearse(at(bumper(mid)))
	refusedWith(t, err, robot.CodeContact, "body", "bollard")
	aside := bumper(onArc(m.Home, 12, 24)).Mul(0.4)
	rec, err := rehearse(at(aside))
	require.NoError(t, err)
	least := math.Inf(1)
	for s := 0.0; s <= 1; s += 1e-3 {
		least = math.Min(least, bumper(onArc(m.Home, 12*s, 24*s)).Sub(aside).Len()-0.04)
	}
	require.Positive(t, least)
	require.InDelta(t, least, rec.Clearance.Distance, 2e-3)

	r := newRobot(t, Options{Model: m, Scene: at(bumper(mid))})
	out, err := r.Execute(ctx, motionOf(tr, 0), nil)
	require.Equal(t, robot.CodeContact, robot.CodeOf(err), "%v", err)
	require.Less(t, out.Final.Positions[3], 6.5)
}

// TestABaseOffItsPathIsSeen: what its wheels really do decides where it is.
func TestABaseOffItsPathIsSeen(t *testing.T) {
	m := cart(t, vec3{0, 0, 0.1})
	ctx := context.Background()
	mo := motionOf(drive(m, m.Home, 20, 20, 6), 0)
	mo.MaxDeviation = bounds6(5, 0.1)
	for _, f := range []Fault{
		{Kind: FaultStuck, Joint: "left", At: 2},
		{Kind: FaultLostSteps, Joint: "left", At: 2, Value: 1}, // the wheel's count says that all is well
		{Kind: FaultKick, Joint: "yaw", At: 2, Value: 20, Duration: 1},
	} {
		r := newRobot(t, Options{Model: m, Faults: []Fault{f}})
		_, err := r.Execute(ctx, mo, nil)
		require.Equal(t, robot.CodeDeviation, robot.CodeOf(err), "%s: %v", f.Kind, err)
		var e *robot.Error
		require.ErrorAs(t, err, &e)
		if f.Kind == FaultLostSteps {
			require.Equal(t, "yaw", e.Where)
		}
	}
	for _, f := range []Fault{{Kind: FaultStuck, Joint: "x"}, {Kind: FaultLostSteps, Joint: "yaw", Value: 1}} {
		_, err := New(Options{Model: m, Clock: Fast, Faults: []Fault{f}})
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "wheels")
	}
}
