package sim

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

func pan(m *robot.Model, q float64) []float64 {
	to := append([]float64(nil), m.Home...)
	to[0] = q
	return to
}

func atHome(m *robot.Model) robot.State {
	return robot.State{Positions: append([]float64(nil), m.Home...), Setpoints: append([]float64(nil), m.Home...)}
}

func TestRehearsalRecordsWhatTheMotionDoes(t *testing.T) {
	m := so101(t)
	h, err := NewRehearser(m, busyScene(), 9, RehearserOptions{})
	require.NoError(t, err)
	to := pan(m, 0.8)
	mo := motionOf(restToRest(m, m.Home, to, 0.6, 0), 42)
	s := atHome(m)
	s.StopEpoch, s.EStopped, s.Enabled = 42, true, false
	rec, err := h.Rehearse(context.Background(), s, mo)
	require.NoError(t, err, "latches are the backend's business")
	require.Equal(t, Version, rec.Simulator)
	require.EqualValues(t, 9, rec.Seed)
	require.Greater(t, rec.Duration, mo.Trajectory.Duration())
	require.Less(t, rec.Duration, mo.Trajectory.Duration()+0.6)
	require.Len(t, rec.Joints, m.DoF())
	for i, j := range rec.Joints {
		require.Equal(t, m.JointNames()[i], j.Joint)
		require.Equal(t, m.Limits[i].Velocity, j.VelocityLimit)
		require.Equal(t, m.Limits[i].Effort, j.EffortLimit)
		require.InDelta(t, to[i], j.End, 3e-3)
		require.LessOrEqual(t, j.PeakEffort, j.EffortLimit)
	}
	// The profile's own peak is d/(2T) of the limit's.
	tr := mo.Trajectory
	v := make([]float64, m.DoF())
	tr.Sample(tr.Duration()/2, nil, v, nil)
	require.InEpsilon(t, v[0], rec.Joints[0].PeakVelocity, 0.05)
	require.Positive(t, rec.PeakToolSpeed)
	// The peak efforts are those of the same motion on a robot.
	peak := make([]float64, m.DoF())
	r := newRobot(t, Options{Model: m, Scene: busyScene(), Seed: 9})
	mo.Epoch = 0
	_, err = r.Execute(context.Background(), mo, func(p robot.Progress) {
		for i, e := range p.State.Efforts {
			peak[i] = math.Max(peak[i], math.Abs(e))
		}
	})
	require.NoError(t, err)
	mo.Epoch = 42
	for i, j := range rec.Joints {
		require.GreaterOrEqual(t, j.PeakEffort, peak[i], j.Joint)
		require.InDelta(t, peak[i], j.PeakEffort, 0.1*m.Limits[i].Effort, "%s: nothing peaks between two looks", j.Joint)
	}
	require.Greater(t, peak[1], 0.1, "N·m, against gravity")

	require.Equal(t, SamplePeriod, rec.SamplePeriod)
	require.Len(t, rec.Trace, 1+int(rec.Duration/SamplePeriod+1e-9))
	require.InDeltaSlice(t, m.Home, rec.Trace[0], 1e-9)
	for k, q := range rec.Trace {
		want := make([]float64, m.DoF())
		tr.Sample(float64(k)*SamplePeriod, want, nil, nil)
		require.InDeltaSlice(t, want, q, 0.05, "sample %d", k)
	}
	// The end of the tool, by robot.Pose alone.
	at := robot.IdentityPose()
	for l := m.Tip; l != m.Root; {
		j := &m.Joints[m.Links[l].Parent]
		x := robot.IdentityPose()
		if j.Active >= 0 {
			r := rotation(j.Axis, rec.Joints[j.Active].End)
			x.Q = quatOf(&r)
		}
		at = j.Origin.Mul(x).Mul(at)
		l = j.Parent
	}
	require.InDelta(t, 0, at.P.Sub(rec.EndPosition).Len(), 1e-9)
	q := rec.EndOrientation
	require.InDelta(t, 1, math.Abs(at.Q.W*q[0]+at.Q.V[0]*q[1]+at.Q.V[1]*q[2]+at.Q.V[2]*q[3]), 1e-9)
	require.NotNil(t, rec.Clearance)
	require.Positive(t, rec.Clearance.Distance)
	require.NotEmpty(t, rec.Clearance.A)
	require.Contains(t, rec.Assumed[0], "servo")

	again, err := h.Rehearse(context.Background(), s, mo)
	require.NoError(t, err)
	require.Equal(t, rec, again, "the same bits again")
	require.Equal(t, rec.Digest(), again.Digest())
}

func TestRehearsalsAtOnceAreAloneInTheirWorlds(t *testing.T) {
	m := so101(t)
	h, err := NewRehearser(m, busyScene(), 9, RehearserOptions{})
	require.NoError(t, err)
	s := atHome(m)
	var wg sync.WaitGroup
	got := make([][2]robot.Rehearsal, 6)
	errs := make([]error, 6)
	for i := range got {
		wg.Go(func() {
			for k := range got[i] {
				var err error
				got[i][k], err = h.Rehearse(context.Background(), s, motionOf(restToRest(m, m.Home, pan(m, 0.1*float64(i%3)), 1, 0), 0))
				errs[i] = errors.Join(errs[i], err)
			}
		})
	}
	wg.Wait()
	for i := range got {
		require.NoError(t, errs[i])
		require.Equal(t, got[i%3][0], got[i][0])
		require.Equal(t, got[i%3][0], got[i][1])
	}
}

// refusedWith requires REHEARSAL_FAILED because of a cause.
func refusedWith(t *testing.T, err error, code robot.Code, words ...string) {
	t.Helper()
	require.Equal(t, robot.CodeRehearsalFailed, robot.CodeOf(err), "%v", err)
	var e *robot.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, code, robot.CodeOf(e.Err), "%v", err)
	for _, w := range words {
		require.ErrorContains(t, err, w)
	}
}

func TestRehearsalRefuses(t *testing.T) {
	m := so101(t)
	s := atHome(m)
	post := robot.IdentityPose()
	post.P = vec3{0.2, -0.2, 0.15}
	geometry := robot.Geometry{Kind: robot.Cylinder, Radius: 0.03, Length: 0.5}
	good := motionOf(restToRest(m, m.Home, pan(m, 1.5), 0.5, 0), 0)
	rehearse := func(m *robot.Model, scene *robot.Scene, s robot.State, mo robot.Motion) error {
		h, err := NewRehearser(m, scene, 0, RehearserOptions{})
		require.NoError(t, err)
		_, err = h.Rehearse(context.Background(), s, mo)
		return err
	}
	require.NoError(t, rehearse(m, nil, s, good))

	t.Run("a body in the way", func(t *testing.T) {
		err := rehearse(m, &robot.Scene{Bodies: []robot.Body{{Name: "post", Pose: post, Geometry: geometry}}}, s, good)
		refusedWith(t, err, robot.CodeContact, "post", " at 1.00")
	})
	t.Run("a guarded zone", func(t *testing.T) {
		err := rehearse(m, &robot.Scene{Zones: []robot.Zone{{Name: "bench", Pose: post, Geometry: geometry}}}, s, good)
		refusedWith(t, err, robot.CodeZoneNotGranted, "bench", " at 1.00")
	})
	t.Run("itself", func(t *testing.T) {
		to := append([]float64(nil), m.Home...)
		to[1], to[2], to[3] = m.Limits[1].Lower, m.Limits[2].Upper, m.Limits[3].Upper
		err := rehearse(m, nil, s, motionOf(restToRest(m, m.Home, to, 0.5, 0), 0))
		refusedWith(t, err, robot.CodeContact, "_link")
	})
	t.Run("too heavy", func(t *testing.T) {
		heavy := *m
		heavy.Limits = append([]robot.JointLimits(nil), m.Limits...)
		for i := range heavy.Limits {
			heavy.Limits[i].Effort = 0.2
		}
		mo := good
		mo.MaxDeviation = bounds6(m.DoF(), 10)
		refusedWith(t, rehearse(&heavy, nil, s, mo), robot.CodeTorqueLimit, "limit 0.2 N·m")
	})
	t.Run("tracking too loose", func(t *testing.T) {
		mo := good
		mo.MaxDeviation = bounds6(m.DoF(), 1e-4)
		refusedWith(t, rehearse(m, nil, s, mo), robot.CodeDeviation, "shoulder_pan")
	})
	t.Run("beyond a limit", func(t *testing.T) {
		refusedWith(t, rehearse(m, nil, s, motionOf(restToRest(m, m.Home, pan(m, 1.93), 0.5, 0), 0)), robot.CodeJointLimit, "shoulder_pan")
	})
	t.Run("another start", func(t *testing.T) {
		other := atHome(m)
		other.Positions[2] += 0.1
		refusedWith(t, rehearse(m, nil, other, good), robot.CodeStartMoved, "elbow_flex")
	})
	t.Run("nothing measured", func(t *testing.T) {
		refusedWith(t, rehearse(m, nil, robot.State{}, good), robot.CodeStaleState)
	})
	t.Run("a state of NaN", func(t *testing.T) {
		other := atHome(m)
		other.Positions[2] = math.NaN()
		refusedWith(t, rehearse(m, nil, other, good), robot.CodeInvalidArgument, "elbow_flex")
	})
	t.Run("cancelled", func(t *testing.T) {
		h, err := NewRehearser(m, nil, 0, RehearserOptions{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err = h.Rehearse(ctx, s, good)
		require.Equal(t, robot.CodeCancelled, robot.CodeOf(err))
	})
}

// TestRehearsalPredictsTheRun: a run on a robot with another seed and noise stays
// near the trace of its rehearsal.
func TestRehearsalPredictsTheRun(t *testing.T) {
	m := so101(t)
	h, err := NewRehearser(m, nil, 0, RehearserOptions{})
	require.NoError(t, err)
	mo := motionOf(restToRest(m, m.Home, pan(m, -0.9), 1, 0), 0)
	rec, err := h.Rehearse(context.Background(), atHome(m), mo)
	require.NoError(t, err)
	r := newRobot(t, Options{Model: m, Seed: 3, Noise: Noise{Position: 3e-4}})
	seen := 0
	_, err = r.Execute(context.Background(), mo, func(p robot.Progress) {
		k := int(math.Round(p.T / SamplePeriod))
		if math.Abs(float64(k)*SamplePeriod-p.T) > 1e-9 || k >= len(rec.Trace) {
			return
		}
		seen++
		require.InDeltaSlice(t, rec.Trace[k], p.State.Positions, 5e-3)
	})
	require.NoError(t, err)
	require.Greater(t, seen, 20)
}

func TestSceneMayChangeBetweenRehearsals(t *testing.T) {
	m := so101(t)
	post := robot.IdentityPose()
	post.P = vec3{0.2, -0.2, 0.15}
	empty := &robot.Scene{}
	full := &robot.Scene{Bodies: []robot.Body{{Name: "post", Pose: post, Geometry: robot.Geometry{Kind: robot.Cylinder, Radius: 0.03, Length: 0.5}}}}
	now := empty
	h, err := NewRehearser(m, nil, 0, RehearserOptions{Scene: func() *robot.Scene { return now }})
	require.NoError(t, err)
	mo := motionOf(restToRest(m, m.Home, pan(m, 1.5), 0.5, 0), 0)
	_, err = h.Rehearse(context.Background(), atHome(m), mo)
	require.NoError(t, err)
	now = full
	_, err = h.Rehearse(context.Background(), atHome(m), mo)
	refusedWith(t, err, robot.CodeContact, "post")
	now = empty
	_, err = h.Rehearse(context.Background(), atHome(m), mo)
	require.NoError(t, err)
}

// TestRehearsalFindsWhatThePathHits holds rehearsals of random moves among
// obstacles to the commanded path, measured by brute force: what goes deeper than
// the servo's error can explain is refused, what keeps clear of it is not.
func TestRehearsalFindsWhatThePathHits(t *testing.T) {
	n := draws(t, 20)
	t.Parallel()
	m := so101(t)
	scene := busyScene()
	h, err := NewRehearser(m, scene, 1, RehearserOptions{})
	require.NoError(t, err)
	tree, err := newTree(m)
	require.NoError(t, err)
	items, err := compileItems(tree, scene)
	require.NoError(t, err)
	brute := newMonitor(tree, newDynamics(tree, down), scene, items)
	rnd := rand.New(rand.NewPCG(3, 4))
	const servo = 5e-3 // m, at the speeds of this test
	var hits, clear int
	for k := range n {
		from, to := make([]float64, m.DoF()), make([]float64, m.DoF())
		for i, l := range m.Limits {
			from[i] = l.Lower + rnd.Float64()*(l.Upper-l.Lower)
			to[i] = l.Lower + rnd.Float64()*(l.Upper-l.Lower)
		}
		if bruteDistance(brute, from, false) < servo {
			continue
		}
		tr := restToRest(m, from, to, 0.7, 0)
		least, q := math.Inf(1), make([]float64, m.DoF())
		for s := 0.0; s <= tr.Duration(); s += SamplePeriod {
			tr.Sample(s, q, nil, nil)
			least = math.Min(least, bruteDistance(brute, q, false))
		}
		rec, err := h.Rehearse(context.Background(), robot.State{Positions: from}, motionOf(tr, 0))
		switch {
		case least < -servo:
			hits++
			refusedWith(t, err, robot.CodeContact)
		case least > servo:
			clear++
			require.NoError(t, err, "case %d, clearance %g", k, least)
			require.InDelta(t, least, rec.Clearance.Distance, servo)
		}
	}
	require.Greater(t, hits, n/20)
	require.Greater(t, clear, n/20)
}
