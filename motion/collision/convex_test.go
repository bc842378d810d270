package collision

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

// gapOf measures two bodies, the second at t in the first one's frame.
func gapOf(a, b robot.Geometry, t transform) float64 {
	sa, sb := newSolid(a), newSolid(b)
	gap, _ := (&couple{a: &sa, b: &sb, t: t}).gap()
	return gap
}

func shifted(x, y, z float64) transform {
	t := identity
	t[9], t[10], t[11] = x, y, z
	return t
}

// nearest is the smallest signed distance that a point of a body has to another:
// for bodies that are apart their distance. A signed distance to a convex body is
// convex, so one golden section inside another finds it; nothing of the checker's
// own search is used.
func nearest(a robot.Geometry, b exact) float64 {
	golden := func(lo, hi float64, f func(float64) float64) float64 {
		const g = 0.6180339887498949
		x1, x2 := hi-g*(hi-lo), lo+g*(hi-lo)
		f1, f2 := f(x1), f(x2)
		for hi-lo > 1e-6 {
			if f1 < f2 {
				hi, x2, f2 = x2, x1, f1
				x1 = hi - g*(hi-lo)
				f1 = f(x1)
			} else {
				lo, x1, f1 = x1, x2, f2
				x2 = lo + g*(hi-lo)
				f2 = f(x2)
			}
		}
		return min(f1, f2)
	}
	at := func(x, y, z float64) float64 { return b.distance([3]float64{x, y, z}) }
	switch a.Kind {
	case robot.Sphere:
		return at(0, 0, 0) - a.Radius
	case robot.Capsule:
		return golden(-a.Length/2, a.Length/2, func(z float64) float64 { return at(0, 0, z) }) - a.Radius
	case robot.Cylinder:
		return golden(-a.Length/2, a.Length/2, func(z float64) float64 {
			return golden(-a.Radius, a.Radius, func(x float64) float64 {
				w := math.Sqrt(max(0, a.Radius*a.Radius-x*x))
				return golden(-w, w, func(y float64) float64 { return at(x, y, z) })
			})
		})
	default:
		h := a.Size.Mul(0.5)
		return golden(-h[0], h[0], func(x float64) float64 {
			return golden(-h[1], h[1], func(y float64) float64 {
				return golden(-h[2], h[2], func(z float64) float64 { return at(x, y, z) })
			})
		})
	}
}

// TestGapIsTheDistanceOfBodiesApart: of all kinds in all poses, by other means.
func TestGapIsTheDistanceOfBodiesApart(t *testing.T) {
	apart := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPrimitive(t), drawPrimitive(t)
		tr := drawTransform(t)
		want := nearest(a, exact{tr, newSolid(b)})
		got := gapOf(a, b, tr)
		tolerance := 1e-5
		if got < -0.01 {
			tolerance = 1e-3 // deeper than any start in contact
		}
		require.InDelta(t, got, gapOf(b, a, relative(&tr, &identity)), tolerance, "the same from both sides")
		if want > 1e-5 {
			apart++
			require.InDelta(t, want, got, 4e-6)
			return
		}
		require.LessOrEqual(t, got, 1e-5)
		// The shortest way out is no shorter than the deepest point's.
		require.LessOrEqual(t, got, want+1e-5)
	})
	require.Greater(t, apart, 5)
}

// TestDepthIsTheShortestWayOut: in no direction of many does less than the depth
// that was found part two bodies that overlap.
func TestDepthIsTheShortestWayOut(t *testing.T) {
	overlaps := 0
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPrimitive(t), drawPrimitive(t)
		tr := drawTransform(t)
		for k := 9; k < 12; k++ {
			tr[k] *= 0.25
		}
		depth := -gapOf(a, b, tr)
		if depth <= 1e-4 {
			return
		}
		overlaps++
		for range 10 {
			f := func() float64 { return rapid.Float64Range(-1, 1).Draw(t, "n") }
			n := mgl64.Vec3{f(), f(), f()}
			if n.Len() < 0.1 {
				continue
			}
			n = n.Normalize()
			out := tr
			for k := range 3 {
				out[9+k] += 0.98 * depth * n[k]
			}
			require.LessOrEqual(t, nearest(a, exact{out, newSolid(b)}), 1e-5, "a shorter way parts them")
		}
	})
	require.Greater(t, overlaps, 5)
}

// TestDepthsThatAreKnown are those with a formula.
func TestDepthsThatAreKnown(t *testing.T) {
	cyl := robot.Geometry{Kind: robot.Cylinder, Radius: 0.05, Length: 0.2}
	ball := robot.Geometry{Kind: robot.Sphere, Radius: 0.02}
	rod := robot.Geometry{Kind: robot.Capsule, Radius: 0.01, Length: 0.1}
	plate := box(1, 1, 0.001)
	quarter, ok := fromPose(robot.Pose{Q: mgl64.QuatRotate(math.Pi/4, mgl64.Vec3{0, 1, 0})})
	require.True(t, ok)
	tilted := quarter
	tilted[11] = 0.05*math.Sqrt2 + 0.05 - 0.001
	across, ok := fromPose(robot.Pose{Q: mgl64.QuatRotate(math.Pi/2, mgl64.Vec3{1, 0, 0})})
	require.True(t, ok)
	for name, c := range map[string]struct {
		a, b robot.Geometry
		t    transform
		want float64
	}{
		"box 1 mm in a table":      {box(0.1, 0.1, 0.1), box(2, 2, 0.1), shifted(0, 0, -0.099), -0.001},
		"box through a thin plate": {box(0.02, 0.02, 0.1), plate, shifted(0, 0, 0.03), -0.0205},
		"edge in a face":           {box(0.1, 0.1, 0.1), box(0.1, 0.1, 0.1), tilted, -0.001},
		"ball in a box":            {ball, box(0.1, 0.1, 0.1), shifted(0, 0.01, 0), -0.06},
		"ball at a box's corner":   {ball, box(0.1, 0.1, 0.1), shifted(0.06, 0.06, 0.06), 0.01*math.Sqrt(3) - 0.02},
		"ball in a cylinder":       {cyl, ball, shifted(0.03, 0, 0), -0.04},
		"ball in another":          {ball, ball, shifted(0.03, 0, 0), -0.01},
		"ball in the same place":   {ball, ball, identity, -0.04},
		"crossed rods":             {rod, rod, across, -0.02},
		"rod in a box":             {rod, box(0.1, 0.1, 0.1), shifted(0, 0, 0), -0.06},
		"cylinder on a cylinder":   {cyl, cyl, shifted(0.01, 0, 0.199), -0.001},
		"cylinder beside another":  {cyl, cyl, shifted(0.06, 0.079, 0), math.Hypot(0.06, 0.079) - 0.1},
		"cylinder in a wall":       {cyl, box(0.1, 1, 1), shifted(0.099, 0, 0), -0.001},
		"cylinder across another":  {cyl, cyl, func() transform { x := across; x[9] = 0.099; return x }(), -0.001},
	} {
		require.InDelta(t, c.want, gapOf(c.a, c.b, c.t), 1e-6, name)
	}
}

// TestGapNeverJumps: it changes by no more than the bodies move.
func TestGapNeverJumps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawPrimitive(t), drawPrimitive(t)
		tr := drawTransform(t)
		f := func() float64 { return rapid.Float64Range(-1, 1).Draw(t, "by") }
		by := mgl64.Vec3{f(), f(), f()}.Mul(1e-3)
		for k := 9; k < 12; k++ {
			tr[k] *= 0.4
		}
		before := gapOf(a, b, tr)
		for k := range 3 {
			tr[9+k] += by[k]
		}
		tolerance := 1e-5
		if before < -0.01 {
			tolerance = 1e-3 // deeper than any start in contact
		}
		require.InDelta(t, before, gapOf(a, b, tr), by.Len()+tolerance)
	})
}
