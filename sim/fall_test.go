package sim

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// gaps are the signed distances of all watched pairs in a configuration, by new
// queries from scratch; zones are no bodies and have none.
func gaps(m *monitor, q []float64) []float64 {
	m.posed = false
	m.pose(q)
	var out []float64
	for a := range m.items {
		for b := a + 1; b < len(m.items); b++ {
			x, y := &m.items[a], &m.items[b]
			if !m.watched(x, y) || y.zone {
				continue
			}
			wx, wy := m.world(x), m.world(y)
			pq := pairQuery{a: x.shape, b: y.shape, rel: wx.inverseMul(&wy)}
			out = append(out, pq.signedDistance(vec3{}, math.Inf(1)).dist)
		}
	}
	return out
}

// fall is one torque_off of a robot that is looked at in every step.
type fall struct {
	r       *Robot
	energy  *plant // of its own, so that nothing of the robot is touched
	looking bool
	path    [][]float64 // true positions, from the start on
	speed   [][]float64 // the velocities there
}

// newFall makes a robot that stands at q and may hold a ball at its tip.
func newFall(t require.TestingT, m *robot.Model, scene *robot.Scene, gravity vec3, q []float64, held *robot.Pose) *fall {
	f := &fall{}
	r, err := New(Options{Model: m, Scene: scene, Clock: Fast, Start: q, Gravity: &gravity, Now: func() time.Time {
		f.look()
		return time.Time{}
	}})
	require.NoError(t, err)
	f.r = r
	if held != nil {
		require.NoError(t, r.takeHeld(robot.State{Held: "load", HeldPose: held}))
	}
	f.energy = newPlant(r.tree, r.pl.params, r.gravity, q)
	return f
}

// look runs whenever the robot senses: after each step, and once more where it is
// brought to rest.
func (f *fall) look() {
	if !f.looking {
		return
	}
	f.path = append(f.path, append([]float64(nil), f.r.pl.q...))
	f.speed = append(f.speed, append([]float64(nil), f.r.pl.v...))
}

// joules returns the energy at a look and the kinetic part of it, J.
func (f *fall) joules(k int) (all, kinetic float64) {
	copy(f.energy.q, f.path[k])
	copy(f.energy.v, f.speed[k])
	all = f.energy.energy()
	clear(f.energy.v)
	return all, all - f.energy.energy()
}

// gainsNothing holds the energy of the whole fall to that of its start, but for what
// the integration is wrong by, and that of its last moment to what came before it.
func (f *fall) gainsNothing(t require.TestingT) {
	start, _ := f.joules(0)
	most := 0.0
	for k := 0; k < len(f.path); k += 10 {
		all, kinetic := f.joules(k)
		most = math.Max(most, kinetic)
		require.LessOrEqual(t, all, start+1e-6+energyError*most, "at look %d of %d", k, len(f.path))
	}
	last, moving := f.joules(len(f.path) - 1)
	require.Zero(t, moving, "it lies still")
	before := math.Inf(-1)
	for k := max(0, len(f.path)-4); k < len(f.path)-1; k++ {
		all, _ := f.joules(k)
		before = math.Max(before, all)
	}
	require.LessOrEqual(t, last, before+1e-9, "the impact takes energy")
}

// drop switches torque off and notes the way down.
func (f *fall) drop(t require.TestingT) {
	f.path, f.speed, f.looking = nil, nil, true
	f.look()
	f.actuate(t, robot.TorqueOff)
	f.looking = false
}

// brute is a monitor of its own that sees what the robot's does.
func (f *fall) brute() *monitor {
	r := f.r
	return newMonitor(r.tree, newDynamics(r.tree, r.gravity), r.mon.scene, r.mon.items)
}

// gaps are those where the robot stands.
func (f *fall) gaps() []float64 { return gaps(f.brute(), f.r.pl.q) }

// actuate gives the robot one command, which must be done.
func (f *fall) actuate(t require.TestingT, kind robot.CommandKind) robot.Outcome {
	s, err := f.r.State(context.Background())
	require.NoError(t, err)
	out, err := f.r.Actuate(context.Background(), robot.Command{Kind: kind, Epoch: s.StopEpoch})
	require.NoError(t, err)
	return out
}

// off switches torque off and holds the fall to what it promises. It returns the
// pairs' gaps before and after.
func (f *fall) off(t require.TestingT) (before, after []float64) {
	r := f.r
	start := append([]float64(nil), r.pl.q...)
	f.drop(t)
	brute := f.brute()
	before, after = gaps(brute, start), gaps(brute, r.pl.q)
	for k := range before {
		require.GreaterOrEqual(t, after[k], math.Min(0, before[k])-restSlack-gjkTolerance, "pair %d has gone in, from %g m", k, before[k])
	}
	f.gainsNothing(t)
	return before, after
}

// energyError is the part of the kinetic energy by which the integration may be
// wrong at 1 ms.
const energyError = 0.02

// out is a short motion on which every pair that touches parts and no other comes
// near; ok is false where there is none in the direction that parts them fastest.
func (f *fall) out() (m robot.Motion, ok bool) {
	r := f.r
	const near, h = 2e-3, 1e-6
	brute, n := f.brute(), r.tree.n
	rest := gaps(brute, r.pl.q)
	step := func(by []float64, s float64) []float64 {
		to := append([]float64(nil), r.pl.q...)
		for i, l := range r.info.Limits {
			if to[i] += s * by[i]; l.Bounded {
				to[i] = math.Max(l.Lower, math.Min(l.Upper, to[i]))
			}
		}
		return to
	}
	// The sum of the touching pairs' slopes, each of length 1.
	by := make([]float64, n)
	slopes := make([][]float64, n)
	for i := range n {
		at := append([]float64(nil), r.pl.q...)
		at[i] += h
		slopes[i] = gaps(brute, at)
	}
	for k, d := range rest {
		var length float64
		for i := range n {
			length += (slopes[i][k] - d) * (slopes[i][k] - d) / (h * h)
		}
		for i := range n {
			if d < near && length > 0 {
				by[i] += (slopes[i][k] - d) / h / math.Sqrt(length)
			}
		}
	}
	const parts = 200
	last := append([]float64(nil), rest...)
	for s := 1; s <= parts; s++ {
		to := step(by, float64(s)/parts)
		now, parted := gaps(brute, to), true
		for k, d := range now {
			if d < near && (rest[k] >= near || d < last[k]-gjkTolerance) {
				return m, false
			}
			parted = parted && d >= near
		}
		if bruteDistance(brute, to, true) < near {
			return m, false // a guarded zone
		}
		if last = now; parted {
			return motionOf(restToRest(r.opts.Model, r.pl.q, to, 0.1, 0), r.snap.StopEpoch), true
		}
	}
	return m, false
}

// freely draws a configuration within the limits in which nothing touches; ok is
// false where there is hardly any.
func freely(t *rapid.T, m *robot.Model, brute *monitor) (q []float64, ok bool) {
	rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "start"), 0))
	q = make([]float64, len(m.Limits))
	for range 100 {
		for i, l := range m.Limits {
			q[i] = l.Lower + rnd.Float64()*(l.Upper-l.Lower)
		}
		if bruteDistance(brute, q, false) > 1e-3 {
			return q, true
		}
	}
	return nil, false
}

// inTheWay adds a small box to a scene where a part of the robot comes to in the fall
// from q, if it gets anywhere.
func inTheWay(t *rapid.T, m *robot.Model, scene *robot.Scene, gravity vec3, q []float64) {
	f := newFall(t, m, scene, gravity, q, nil)
	f.drop(t)
	require.NoError(t, f.r.Close())
	at := f.path[rapid.IntRange(0, len(f.path)-1).Draw(t, "when")]
	d := newDynamics(f.r.tree, gravity)
	d.place(at)
	d.worlds()
	var moving []item
	for _, it := range f.r.mon.items {
		if it.body >= 0 {
			moving = append(moving, it)
		}
	}
	it := moving[rapid.IntRange(0, len(moving)-1).Draw(t, "body")]
	pose := robot.IdentityPose()
	pose.P = d.world[it.body].apply(it.at.apply(it.shape.support(drawVec(t, "side", 1))))
	s := rapid.Float64Range(0.005, 0.05).Draw(t, "size")
	box := robot.Body{Name: "in the way", Pose: pose, Geometry: robot.Geometry{Kind: robot.Box, Size: vec3{s, s, s}}}
	all := *scene
	all.Bodies = append(all.Bodies[:len(all.Bodies):len(all.Bodies)], box)
	items, err := compileItems(f.r.tree, &all)
	require.NoError(t, err)
	if bruteDistance(newMonitor(f.r.tree, newDynamics(f.r.tree, gravity), &all, items), q, false) > 1e-3 {
		*scene = all
	}
}

// TestAFallComesToRestOnContact: where an arm without torque meets itself, a body or
// what it has let go of, it lies on the surface; it neither gains energy nor goes in;
// torque moves nothing; and a motion that parts what touches is admitted.
func TestAFallComesToRestOnContact(t *testing.T) {
	for _, x := range []struct {
		name    string
		share   int  // of rapid's draws, by what a fall costs
		gravity vec3 // stronger than the earth's where friction stands that
	}{
		{"so101", 25, down}, {"panda", 50, down}, {"ur5e", 50, down},
		{"pantilt", 10, vec3{50, 100, -400}}, {"gantry", 10, vec3{5, 10, -40}},
	} {
		t.Run(x.name, func(t *testing.T) {
			m, err := builtin.Load(x.name)
			require.NoError(t, err)
			tree, err := newTree(m)
			require.NoError(t, err)
			var falls, touched, out int
			checkOneIn(t, x.share, func(t *rapid.T) {
				scene := drawScene(t)
				items, err := compileItems(tree, scene)
				require.NoError(t, err)
				q, ok := freely(t, m, newMonitor(tree, newDynamics(tree, x.gravity), scene, items))
				if !ok {
					t.Skip("there is no room between the bodies")
				}
				inTheWay(t, m, scene, x.gravity, q)
				var held *robot.Pose
				if m.Gripper != nil && rapid.Bool().Draw(t, "holds something") {
					held = new(robot.IdentityPose())
					scene.Bodies = append(scene.Bodies, robot.Body{
						Name: "load", Pose: *held, Movable: true, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.01},
					})
				}
				f := newFall(t, m, scene, x.gravity, q, held)
				defer func() { require.NoError(t, f.r.Close()) }()
				falls++
				if f.land(t) {
					touched++
				}
				if f.leave(t) {
					out++
				}
			})
			t.Logf("%d falls, %d ended in contact, %d led out again", falls, touched, out)
			if falls >= 50 { // fewer may all end in the air
				require.Positive(t, touched)
				require.Positive(t, out)
			}
		})
	}
}

// land has the robot fall and switches torque on and off where it lies. It reports
// whether something touches.
func (f *fall) land(t *rapid.T) bool {
	_, after := f.off(t)
	at := append([]float64(nil), f.r.pl.q...)
	require.True(t, f.actuate(t, robot.TorqueOn).Final.Enabled)
	require.InDeltaSlice(t, at, f.r.pl.q, 1e-6, "torque moves nothing")
	if !slices.ContainsFunc(after, func(d float64) bool { return d < 2*restGap }) {
		return false
	}
	for range 3 {
		f.off(t)
		f.actuate(t, robot.TorqueOn)
	}
	for k, d := range after {
		require.GreaterOrEqual(t, f.gaps()[k], math.Min(0, d)-2*restSlack, "however often it is switched, nothing sinks in")
	}
	return true
}

// leave moves the robot back on the way that it has come, if that leads out.
func (f *fall) leave(t *rapid.T) bool {
	m, ok := f.out()
	if !ok {
		return false
	}
	out, err := f.r.Execute(context.Background(), m, nil)
	require.NoError(t, err)
	require.Equal(t, robot.OutcomeDone, out.Status)
	return true
}

// TestAFallGoesThroughAGuardedZone: a zone is no body that something could lie on.
func TestAFallGoesThroughAGuardedZone(t *testing.T) {
	m := pendulum(1, 0.5)
	m.Joints[0].Damping = 0.5
	m.Links[1].Colliders = []robot.Collider{{Origin: robot.Pose{P: vec3{0, 0, -0.5}, Q: robot.IdentityPose().Q}, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.05}}}
	p := robot.IdentityPose()
	p.P = vec3{-0.35, 0, -0.35}
	box := robot.Geometry{Kind: robot.Box, Size: vec3{0.1, 0.1, 0.1}}
	for _, scene := range []*robot.Scene{
		{Zones: []robot.Zone{{Name: "zone", Pose: p, Geometry: box}}},
		{Bodies: []robot.Body{{Name: "body", Pose: p, Geometry: box}}},
	} {
		f := newFall(t, m, scene, down, []float64{math.Pi / 2}, nil)
		f.off(t)
		if len(scene.Zones) > 0 {
			require.InDelta(t, 0, f.r.pl.q[0], 0.1, "it hangs down")
		} else {
			require.InDelta(t, 0, f.gaps()[0], 2*restGap, "it lies on the body")
		}
		require.NoError(t, f.r.Close())
	}
}
