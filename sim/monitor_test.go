package sim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

// bruteDistance is the least distance of all watched pairs in one configuration,
// by new queries from scratch.
func bruteDistance(m *monitor, q []float64, zones bool) float64 {
	m.posed = false
	m.pose(q)
	least := math.Inf(1)
	for a := range m.items {
		for b := a + 1; b < len(m.items); b++ {
			x, y := &m.items[a], &m.items[b]
			if !m.watched(x, y) || y.zone != zones {
				continue
			}
			wx, wy := m.world(x), m.world(y)
			pq := pairQuery{a: x.shape, b: y.shape, rel: wx.inverseMul(&wy)}
			least = math.Min(least, pq.signedDistance(vec3{}, math.Inf(1)).dist)
		}
	}
	return least
}

func drawScene(t *rapid.T) *robot.Scene {
	s := &robot.Scene{}
	for i := range rapid.IntRange(0, 5).Draw(t, "bodies") {
		p := robot.IdentityPose()
		p.P = drawVec(t, "at", 0.4)
		r := drawRotation(t, "turned")
		p.Q = quatOf(&r)
		g := drawGeometry(t, "body")
		scale := func(v *float64) { *v *= 0.3 }
		scale(&g.Radius)
		scale(&g.Length)
		g.Size = g.Size.Mul(0.3)
		if g.Mesh != nil {
			for k := range g.Mesh.Vertices {
				g.Mesh.Vertices[k] = g.Mesh.Vertices[k].Mul(0.2)
			}
		}
		name := "body " + string(rune('a'+i))
		if rapid.IntRange(0, 4).Draw(t, "zone") == 0 {
			s.Zones = append(s.Zones, robot.Zone{Name: name, Pose: p, Geometry: g})
		} else {
			s.Bodies = append(s.Bodies, robot.Body{Name: name, Pose: p, Geometry: g})
		}
	}
	return s
}

// TestMonitorMissesNothing sweeps the arm along lines in joint space, at speeds up
// to far beyond its limits, and holds what the skipping monitor says to every
// pair measured at every step and between.
func TestMonitorMissesNothing(t *testing.T) {
	model := so101(t)
	tree, err := newTree(model)
	require.NoError(t, err)
	checkOneIn(t, 4, func(t *rapid.T) {
		scene := drawScene(t)
		items, err := compileItems(tree, scene)
		require.NoError(t, err)
		d := newDynamics(tree, down)
		m := newMonitor(tree, d, scene, items)
		brute := newMonitor(tree, newDynamics(tree, down), scene, items)
		q, dq, mid := make([]float64, tree.n), make([]float64, tree.n), make([]float64, tree.n)
		for i, l := range model.Limits {
			q[i] = rapid.Float64Range(l.Lower, l.Upper).Draw(t, "from")
			dq[i] = (rapid.Float64Range(l.Lower, l.Upper).Draw(t, "to") - q[i]) / 15
		}
		m.refresh(q, 0)
		if bruteDistance(brute, q, false) <= deeper || bruteDistance(brute, q, true) <= deeper {
			t.Skip("starts in contact")
		}
		least := bruteDistance(brute, q, false)
		for k := range 15 {
			const parts = 3
			zone := math.Inf(1)
			for s := 1; s <= parts; s++ {
				for i := range q {
					mid[i] = q[i] + dq[i]*float64(s)/parts
				}
				least = math.Min(least, bruteDistance(brute, mid, false))
				zone = math.Min(zone, bruteDistance(brute, mid, true))
			}
			for i := range q {
				q[i] += dq[i]
			}
			c := m.advance(q, dq, float64(k+1)*Step)
			if least <= 0 || zone <= 0 {
				require.NotNil(t, c, "step %d: contact missed, distance %g, zone %g", k, least, zone)
			}
			if c != nil {
				// A contact between the four looks of the oracle is at most this far from one.
				var span float64
				for _, g := range m.groups {
					var s float64
					for i := range dq {
						s += g.reach[i] * math.Abs(dq[i])
					}
					span = math.Max(span, s)
				}
				require.LessOrEqual(t, math.Min(least, zone), span/parts+contactMargin, "contact where there is none")
				return
			}
			if math.Abs(least-m.best.Distance) > 1e-3 {
				// The monitor looks between the oracle's three looks of a step of some
				// centimetres. Where they differ the oracle has to look as closely.
				const closely = 1000
				for s := range closely {
					for i := range q {
						mid[i] = q[i] - dq[i]*float64(s)/closely
					}
					least = math.Min(least, bruteDistance(brute, mid, false))
				}
			}
			require.InDelta(t, least, m.best.Distance, 1e-3, "smallest clearance is right to 1 mm")
		}
	})
}

func TestMonitorSkipsMostOfTheWork(t *testing.T) {
	model := so101(t)
	tree, err := newTree(model)
	require.NoError(t, err)
	scene := busyScene()
	items, err := compileItems(tree, scene)
	require.NoError(t, err)
	m := newMonitor(tree, newDynamics(tree, down), scene, items)
	q := append([]float64(nil), model.Home...)
	dq := make([]float64, tree.n)
	dq[0] = 0.0005
	m.refresh(q, 0)
	pairs := 0
	for _, g := range m.groups {
		pairs += len(g.pairs)
	}
	m.checks = 0
	for k := range 2000 {
		q[0] += dq[0]
		require.Nil(t, m.advance(q, dq, float64(k)*Step))
	}
	require.Less(t, m.checks, pairs*2000/50)
	require.NotZero(t, m.checks)
}

// TestCase19_ALinkThatStartsInContactMayOnlyLeave: a table that the gripper is in
// already doesn't forbid moving away, and does forbid going deeper.
func TestCase19_ALinkThatStartsInContactMayOnlyLeave(t *testing.T) {
	p := robot.IdentityPose()
	m := pendulum(1, 0.5)
	m.Links[1].Colliders = []robot.Collider{{Name: "bob", Origin: robot.Pose{P: vec3{0, 0, -0.5}, Q: p.Q}, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.05}}}
	p.P = vec3{0.1, 0, -0.5}
	scene := &robot.Scene{Bodies: []robot.Body{{Name: "wall", Pose: p, Geometry: robot.Geometry{Kind: robot.Box, Size: vec3{0.102, 1, 1}}}}}
	tree, err := newTree(m)
	require.NoError(t, err)
	items, err := compileItems(tree, scene)
	require.NoError(t, err)
	sweep := func(step float64) *contact {
		mo := newMonitor(tree, newDynamics(tree, down), scene, items)
		q := []float64{0}
		mo.refresh(q, 0)
		require.InDelta(t, -1e-3, mo.best.Distance, 1e-4)
		for k := range 100 {
			q[0] += step
			if c := mo.advance(q, []float64{step}, float64(k)*Step); c != nil {
				return c
			}
		}
		return nil
	}
	// Positive turns about y swing the bob towards -x, away from the wall.
	require.Nil(t, sweep(0.001))
	require.NotNil(t, sweep(-0.001))
	// More than a settling servo's depth is a contact, in one step too.
	deep := newMonitor(tree, newDynamics(tree, down), scene, items)
	deep.refresh([]float64{0}, 0)
	require.NotNil(t, deep.advance([]float64{-0.004}, []float64{-0.004}, Step))
	// Away and back again is a contact.
	mo := newMonitor(tree, newDynamics(tree, down), scene, items)
	q := []float64{0}
	mo.refresh(q, 0)
	for k := range 50 {
		q[0] += 0.001
		require.Nil(t, mo.advance(q, []float64{0.001}, float64(k)*Step))
	}
	var back *contact
	for k := range 60 {
		q[0] -= 0.001
		if back = mo.advance(q, []float64{-0.001}, float64(k)*Step); back != nil {
			break
		}
	}
	require.NotNil(t, back)
	require.Greater(t, q[0], 0.0, "it may not come back to where it started")
}

// TestMonitorSeesWhatAStepJumpsOver swings a small ball past another one in a
// single step that starts and ends well clear of it.
func TestMonitorSeesWhatAStepJumpsOver(t *testing.T) {
	for _, gap := range []float64{-1e-4, 1e-3} {
		m := pendulum(1, 0.5)
		m.Links[1].Colliders = []robot.Collider{{Origin: robot.Pose{P: vec3{0, 0, -0.5}, Q: robot.IdentityPose().Q}, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.005}}}
		p := robot.IdentityPose()
		p.P = vec3{0, 0, -0.51 - gap}
		scene := &robot.Scene{Bodies: []robot.Body{{Name: "ball", Pose: p, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.005}}}}
		tree, err := newTree(m)
		require.NoError(t, err)
		items, err := compileItems(tree, scene)
		require.NoError(t, err)
		mo := newMonitor(tree, newDynamics(tree, down), scene, items)
		q := []float64{-0.093}
		mo.refresh(q, 0)
		q[0] += 0.2
		c := mo.advance(q, []float64{0.2}, Step)
		if gap < 0 {
			require.NotNil(t, c)
			continue
		}
		require.Nil(t, c)
		require.InDelta(t, gap, mo.best.Distance, clearanceTolerance)
	}
}
