package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// stage is two sliders that count steps: x, whose switch is at its lower end, and
// y across it, whose switch is at its upper end; a ball of 1 cm rides on y.
func stage(t testing.TB) *robot.Model {
	id := robot.IdentityPose()
	mass := &robot.Inertial{Origin: id, Mass: 1, Inertia: [6]float64{.01, 0, 0, .01, 0, .01}}
	d := &robot.Description{
		Name: "stage",
		Links: []robot.Link{
			{Name: "bed", Parent: -1}, {Name: "beam", Parent: 0, Inertial: mass},
			{Name: "ball", Parent: 1, Inertial: mass, Colliders: []robot.Collider{{Name: "ball", Origin: id, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.01}}}},
		},
		Joints: []robot.Joint{
			{Name: "x", Type: robot.Prismatic, Parent: 0, Child: 1, Origin: id, Axis: vec3{1, 0, 0}, Active: 0},
			{Name: "y", Type: robot.Prismatic, Parent: 1, Child: 2, Origin: id, Axis: vec3{0, 1, 0}, Active: 1},
		},
		Active: []int{0, 1},
	}
	l := robot.JointLimits{Bounded: true, Upper: 0.5, Velocity: 0.2, Acceleration: 3, Jerk: 100, Effort: 60}
	m := &robot.Model{Description: d, Tip: 2, Home: []float64{0.2, 0.2}, Arm: []int{0, 1}, Limits: []robot.JointLimits{l, l}}
	m, err := m.Equip(&robot.Equipment{File: "actuators.yaml", References: []robot.ReferenceEntry{
		{Joint: "x", Switch: 0.002, Speed: 0.1, Travel: 0.55},
		{Joint: "y", Switch: 0.5, Upper: true, Speed: 0.1, Travel: 0.55},
	}})
	require.NoError(t, err)
	return m
}

// search looks for the switch of joint j of a stage from what is counted, over a
// way of at most travel.
func search(t testing.TB, m *robot.Model, s robot.State, j int, travel float64) robot.Motion {
	ref := m.Reference(j)
	to := append([]float64(nil), s.Positions...)
	to[j] += ref.Direction * travel
	slow := *m
	slow.Limits = append([]robot.JointLimits(nil), m.Limits...)
	slow.Limits[j].Velocity = ref.Speed
	mo := motionOf(restToRest(&slow, s.Positions, to, 1, 0), s.StopEpoch)
	mo.StartTolerance, mo.MaxDeviation = bounds6(2, 1e-3), bounds6(2, 0.01)
	mo.Seek = &robot.Seek{Joint: j, Switch: ref.Switch, Direction: ref.Direction, Speed: ref.Speed, Travel: ref.Travel}
	require.NoError(t, mo.Validate(m.JointNames(), m.Limits))
	return mo
}

func stateOf(t testing.TB, r *Robot) robot.State {
	s, err := r.State(context.Background())
	require.NoError(t, err)
	return s
}

// TestASearchFindsTheSwitch wherever the joint truly is and whatever it counts, in
// the robot and in the rehearsal before it.
func TestASearchFindsTheSwitch(t *testing.T) {
	t.Parallel()
	m := stage(t)
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		joint int
		start float64 // true
		off   float64 // counted too much
	}{
		{"count is true", 0, 0.2, 0}, {"counts too much", 0, 0.2, 0.25}, {"counts too little", 0, 0.4, -0.35},
		{"at the far end", 0, 0.5, -0.1}, {"just off the switch", 0, 0.003, 0.1}, {"on the switch", 0, 0.001, 0.2},
		{"upwards", 1, 0.1, 0.3}, {"upwards, count beyond its limits", 1, 0.3, 0.4}, {"upwards, on the end stop", 1, 0.501, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := append([]float64(nil), m.Home...)
			start[c.joint] = c.start
			r := newRobot(t, Options{Model: m, Start: start, Unreferenced: []bool{c.joint == 0, c.joint == 1}})
			if c.off != 0 {
				require.NoError(t, r.Inject(Fault{Kind: FaultEncoder, Joint: m.JointNames()[c.joint], Value: c.off}))
			}
			s := stateOf(t, r)
			require.InDelta(t, c.start+c.off, s.Positions[c.joint], 1e-9, "it is counted that it is there")
			require.Equal(t, []bool{c.joint == 0, c.joint == 1}, s.Unreferenced)
			mo := search(t, m, s, c.joint, 0.55)
			h, err := NewRehearser(m, nil, 0, RehearserOptions{})
			require.NoError(t, err)
			rec, err := h.Rehearse(ctx, s, mo)
			require.NoError(t, err)
			require.InDelta(t, m.Reference(c.joint).Switch, rec.Joints[c.joint].End, 2e-4)
			out, err := r.Execute(ctx, mo, nil)
			require.NoError(t, err)
			require.Equal(t, robot.OutcomeDone, out.Status)
			require.InDelta(t, m.Reference(c.joint).Switch, out.Final.Positions[c.joint], 2e-4)
			require.InDelta(t, m.Home[1-c.joint], out.Final.Positions[1-c.joint], 2e-4, "the other joint holds")
			require.Nil(t, out.Final.Unreferenced)
			require.Greater(t, rec.Duration+1e-3, out.Duration, "the rehearsal looks over the whole way")
			if c.start > 0.0025 && c.start < 0.4995 {
				require.InDelta(t, r.pl.q[c.joint], out.Final.Positions[c.joint], 1e-4, "and now the count is true")
			} else {
				require.InDelta(t, r.pl.q[c.joint], out.Final.Positions[c.joint], switchRoomM, "as true as it can be")
			}
			// Now it may move, and gets where it is told to.
			to := []float64{0.3, 0.3}
			out, err = r.Execute(ctx, motionOf(restToRest(m, out.Final.Positions, to, 1, 0), 0), nil)
			require.NoError(t, err)
			require.InDeltaSlice(t, to, out.Final.Positions, 1e-3)
		})
	}
}

// TestARehearsedSearchLooksOverItsWholeWay: what stands where only a joint that
// counts wrong would pass is found before anybody is asked.
func TestARehearsedSearchLooksOverItsWholeWay(t *testing.T) {
	m := stage(t)
	p := robot.IdentityPose()
	p.P = vec3{0.35, 0.2, 0}
	wall := &robot.Scene{Bodies: []robot.Body{{Name: "wall", Pose: p, Geometry: robot.Geometry{Kind: robot.Box, Size: vec3{0.02, 0.1, 0.2}}}}}
	h, err := NewRehearser(m, wall, 0, RehearserOptions{})
	require.NoError(t, err)
	s := robot.State{Positions: m.Home, Unreferenced: []bool{true, false}}
	_, err = h.Rehearse(context.Background(), s, search(t, m, s, 0, 0.5))
	refusedWith(t, err, robot.CodeContact, "ball", "wall")
	// A search that can't come from beyond the wall.
	_, err = h.Rehearse(context.Background(), s, search(t, m, s, 0, 0.3))
	require.NoError(t, err)
}

func TestAnUnreferencedJointMovesOnlyToItsSwitch(t *testing.T) {
	m := stage(t)
	ctx := context.Background()
	r := newRobot(t, Options{Model: m, Unreferenced: []bool{true, true}})
	s := stateOf(t, r)
	mo := motionOf(restToRest(m, m.Home, []float64{0.3, 0.2}, 1, 0), 0)
	out, err := r.Execute(ctx, mo, nil)
	require.Equal(t, robot.CodeNotCalibrated, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "x, y")
	require.Equal(t, robot.OutcomeRefused, out.Status)
	require.Empty(t, stateOf(t, r).Faults)
	h, err := NewRehearser(m, nil, 0, RehearserOptions{})
	require.NoError(t, err)
	_, err = h.Rehearse(ctx, s, mo)
	refusedWith(t, err, robot.CodeNotCalibrated, "x, y")

	rec, err := h.Rehearse(ctx, s, search(t, m, s, 1, 0.5))
	require.NoError(t, err)
	require.Contains(t, rec.Assumed, "position of x: not referenced, taken to be what it counts")
	_, err = r.Execute(ctx, search(t, m, s, 1, 0.5), nil)
	require.NoError(t, err)
	require.Equal(t, []bool{true, false}, stateOf(t, r).Unreferenced)
	s = stateOf(t, r)
	_, err = r.Execute(ctx, motionOf(restToRest(m, s.Positions, s.Positions, 1, 0), 0), nil)
	require.Equal(t, robot.CodeNotCalibrated, robot.CodeOf(err), "not while one still isn't")
	_, err = r.Execute(ctx, search(t, m, s, 0, 0.5), nil)
	require.NoError(t, err)
	require.Nil(t, stateOf(t, r).Unreferenced)

	for _, o := range []Options{
		{Model: m, Clock: Fast, Unreferenced: []bool{true}},
		{Model: so101(t), Clock: Fast, Unreferenced: make([]bool, 5)},
		{Model: so101(t), Clock: Fast, Unreferenced: []bool{true, false, false, false, false, false}},
	} {
		_, err := New(o)
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%v", err)
	}
}

// TestASearchThatFindsNothing is a fault, and what it counted is worth nothing.
func TestASearchThatFindsNothing(t *testing.T) {
	m := stage(t)
	ctx := context.Background()
	r := newRobot(t, Options{Model: m})
	mo := search(t, m, stateOf(t, r), 0, 0.1) // the switch is twice as far away
	out, err := r.Execute(ctx, mo, nil)
	require.Equal(t, robot.CodeNotCalibrated, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "x didn't find its switch")
	require.Equal(t, robot.OutcomeFaulted, out.Status)
	require.Equal(t, []bool{true, false}, out.Final.Unreferenced)
	require.Equal(t, robot.CodeNotCalibrated, out.Final.Faults[0].Code)
	_, err = r.Actuate(ctx, robot.Command{Kind: robot.EStopReset})
	require.NoError(t, err)
	s := stateOf(t, r)
	_, err = r.Execute(ctx, motionOf(restToRest(m, s.Positions, m.Home, 1, 0), 0), nil)
	require.Equal(t, robot.CodeNotCalibrated, robot.CodeOf(err))
	_, err = r.Execute(ctx, search(t, m, s, 0, 0.5), nil)
	require.NoError(t, err)
}

// TestASearchIsTheRobotsOwn: its bounds are those of the switch that there is.
func TestASearchIsTheRobotsOwn(t *testing.T) {
	m := stage(t)
	r := newRobot(t, Options{Model: m})
	for _, c := range []struct {
		name  string
		code  robot.Code
		spoil func(*robot.Motion)
	}{
		{"switch elsewhere", robot.CodeInvalidArgument, func(mo *robot.Motion) { mo.Seek.Switch = 0.1 }},
		{"longer", robot.CodeInvalidArgument, func(mo *robot.Motion) { mo.Seek.Travel = 0.56 }},
		{"faster", robot.CodeSpeedLimit, func(mo *robot.Motion) { mo.Seek.Speed = 0.101 }},
		{"the other way", robot.CodeInvalidArgument, func(mo *robot.Motion) {
			*mo = search(t, m, robot.State{Positions: m.Home}, 1, 0.1)
			mo.Seek.Joint, mo.Seek.Switch = 0, 0.002
			to := []float64{0.3, 0.2}
			slow := *m
			slow.Limits = []robot.JointLimits{m.Limits[0].Scaled(0.4), m.Limits[1]}
			mo.Trajectory = restToRest(&slow, m.Home, to, 1, 0)
		}},
	} {
		mo := search(t, m, stateOf(t, r), 0, 0.5)
		c.spoil(&mo)
		require.NoError(t, mo.Validate(m.JointNames(), m.Limits), c.name)
		out, err := r.Execute(context.Background(), mo, nil)
		require.Equal(t, c.code, robot.CodeOf(err), "%s: %v", c.name, err)
		require.Equal(t, robot.OutcomeRefused, out.Status)
	}
	arm := so101(t)
	mo := motionOf(restToRest(arm, arm.Home, pan(arm, -0.1), 0.2, 0), 0)
	mo.Seek = &robot.Seek{Joint: 0, Direction: -1, Speed: arm.Limits[0].Velocity, Travel: 1}
	_, err := newRobot(t, Options{Model: arm}).Execute(context.Background(), mo, nil)
	require.Equal(t, robot.CodeNotSupported, robot.CodeOf(err), "%v", err)
	// A switch in the middle of the way says nothing while it is closed.
	m.References[0].Switch = 0.1
	r = newRobot(t, Options{Model: m, Start: []float64{0.05, 0.2}})
	mo = search(t, m, stateOf(t, r), 0, 0.04)
	_, err = r.Execute(context.Background(), mo, nil)
	require.Equal(t, robot.CodeNotCalibrated, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "closed already")
}

// TestASearchIsStoppedLikeAnyMotion before its switch and on its way back to it.
func TestASearchIsStoppedLikeAnyMotion(t *testing.T) {
	m := stage(t)
	ctx := context.Background()
	whole, err := newRobot(t, Options{Model: m}).Execute(ctx, search(t, m, robot.State{Positions: m.Home}, 0, 0.5), nil)
	require.NoError(t, err)
	for _, at := range []float64{1, whole.Duration - restTime - 0.05} {
		r := newRobot(t, Options{Model: m, Unreferenced: []bool{true, false}})
		r.AtMotionTime(at, func() { r.Stop(ctx, robot.StopControlled) })
		out, err := r.Execute(ctx, search(t, m, stateOf(t, r), 0, 0.5), nil)
		require.Equal(t, robot.CodeStopped, robot.CodeOf(err), "%v", err)
		require.Equal(t, robot.OutcomeStopped, out.Status)
		if at == 1 {
			require.Equal(t, []bool{true, false}, out.Final.Unreferenced)
		} else {
			require.Nil(t, out.Final.Unreferenced, "the switch had been found")
			require.InDelta(t, r.pl.q[0], out.Final.Positions[0], 1e-4)
		}
		require.False(t, out.Final.Moving)
	}
}

// TestLostStepsAreFoundByTheSwitchOnly: what is counted says that all is well, the
// joint is elsewhere, hits what nobody planned to hit, and a search puts it right.
func TestLostStepsAreFoundByTheSwitchOnly(t *testing.T) {
	m := stage(t)
	ctx := context.Background()
	const lost = 0.06
	faults := []Fault{{Kind: FaultLostSteps, Joint: "x", Motion: 1, At: 0.2, Value: lost}}
	r := newRobot(t, Options{Model: m, Faults: faults})
	mo := motionOf(restToRest(m, m.Home, []float64{0.4, 0.2}, 1, 0), 0)
	mo.MaxDeviation = bounds6(2, 0.01)
	out, err := r.Execute(ctx, mo, nil)
	require.NoError(t, err, "nothing is noticed")
	require.Nil(t, out.Final.Unreferenced)
	require.InDelta(t, 0.4, out.Final.Positions[0], 1e-3, "what is counted")
	require.InDelta(t, 0.4-lost, r.pl.q[0], 1e-3, "what is true")
	back := motionOf(restToRest(m, out.Final.Positions, []float64{0.3, 0.2}, 1, 0), 0)
	out, err = r.Execute(ctx, back, nil)
	require.NoError(t, err)
	require.InDelta(t, 0.3-lost, r.pl.q[0], 1e-3, "no more are lost than were to be")

	out, err = r.Execute(ctx, search(t, m, out.Final, 0, 0.5), nil)
	require.NoError(t, err)
	require.InDelta(t, 0.002, out.Final.Positions[0], 1e-4)
	require.InDelta(t, 0.002, r.pl.q[0], 1e-4)

	// A wall that the motion as it was planned keeps clear of.
	p := robot.IdentityPose()
	p.P = vec3{0.25, 0.3, 0}
	wall := &robot.Scene{Bodies: []robot.Body{{Name: "wall", Pose: p, Geometry: robot.Geometry{Kind: robot.Box, Size: vec3{0.2, 0.02, 0.2}}}}}
	across := func(faults []Fault) error {
		r := newRobot(t, Options{Model: m, Scene: wall, Faults: faults})
		out, err := r.Execute(ctx, mo, nil)
		require.NoError(t, err)
		_, err = r.Execute(ctx, motionOf(restToRest(m, out.Final.Positions, []float64{0.4, 0.4}, 1, 0), 0), nil)
		return err
	}
	require.NoError(t, across(nil))
	err = across(faults)
	require.Equal(t, robot.CodeContact, robot.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "wall")
}
