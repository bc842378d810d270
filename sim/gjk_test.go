package sim

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

func mustShape(t require.TestingT, g robot.Geometry) *shape {
	s, err := newShape(&g, "test")
	require.NoError(t, err)
	return &s
}

func drawVec(t *rapid.T, name string, r float64) vec3 {
	c := rapid.Float64Range(-r, r)
	return vec3{c.Draw(t, name+".x"), c.Draw(t, name+".y"), c.Draw(t, name+".z")}
}

func drawRotation(t *rapid.T, name string) mat3 {
	q := mgl64.Quat{W: rapid.Float64Range(-1, 1).Draw(t, name+".w"), V: drawVec(t, name, 1)}
	if q.Len() < 1e-3 {
		return identity3()
	}
	return rotationOf(q)
}

func drawGeometry(t *rapid.T, name string) robot.Geometry {
	size := rapid.Float64Range(0.01, 0.5)
	switch rapid.IntRange(0, 4).Draw(t, name+".kind") {
	case 0:
		return robot.Geometry{Kind: robot.Box, Size: vec3{size.Draw(t, name+".a"), size.Draw(t, name+".b"), size.Draw(t, name+".c")}}
	case 1:
		return robot.Geometry{Kind: robot.Cylinder, Radius: size.Draw(t, name+".r"), Length: size.Draw(t, name+".l")}
	case 2:
		return robot.Geometry{Kind: robot.Capsule, Radius: size.Draw(t, name+".r"), Length: size.Draw(t, name+".l")}
	case 3:
		return robot.Geometry{Kind: robot.Sphere, Radius: size.Draw(t, name+".r")}
	}
	n := rapid.IntRange(4, 12).Draw(t, name+".n")
	m := &robot.Mesh{}
	for range n {
		m.Vertices = append(m.Vertices, drawVec(t, name+".v", 0.4))
	}
	return robot.Geometry{Kind: robot.MeshGeometry, Mesh: m}
}

// segmentDistance is the distance of two segments after Sunday, by brute
// minimisation over both ends and the interior: the oracle for capsules.
func segmentDistance(p1, q1, p2, q2 vec3) float64 {
	d1, d2, r := q1.Sub(p1), q2.Sub(p2), p1.Sub(p2)
	a, e, f := d1.Dot(d1), d2.Dot(d2), d2.Dot(r)
	c, b := d1.Dot(r), d1.Dot(d2)
	best := math.Inf(1)
	at := func(s, t float64) {
		s, t = math.Max(0, math.Min(1, s)), math.Max(0, math.Min(1, t))
		best = math.Min(best, p1.Add(d1.Mul(s)).Sub(p2.Add(d2.Mul(t))).Len())
	}
	if den := a*e - b*b; den > 1e-12 {
		s := (b*f - c*e) / den
		at(s, (b*s+f)/e)
	}
	for _, s := range [...]float64{0, 1} {
		at(s, (b*s+f)/math.Max(e, 1e-300))
		at((b*s-c)/math.Max(a, 1e-300), s)
	}
	return best
}

func TestDistanceAgainstClosedForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rel := frame{R: drawRotation(t, "r"), P: drawVec(t, "p", 1)}
		r1, r2 := rapid.Float64Range(0.01, 0.3).Draw(t, "r1"), rapid.Float64Range(0.01, 0.3).Draw(t, "r2")
		l1, l2 := rapid.Float64Range(0, 0.5).Draw(t, "l1"), rapid.Float64Range(0, 0.5).Draw(t, "l2")
		size := vec3{rapid.Float64Range(0.01, 0.5).Draw(t, "x"), rapid.Float64Range(0.01, 0.5).Draw(t, "y"), rapid.Float64Range(0.01, 0.5).Draw(t, "z")}
		sphere := mustShape(t, robot.Geometry{Kind: robot.Sphere, Radius: r2})
		check := func(a, b *shape, want float64) {
			q := pairQuery{a: a, b: b, rel: rel}
			got := q.signedDistance(vec3{}, math.Inf(1))
			require.True(t, got.exact)
			tol := contactMargin
			if got.cores {
				tol = 2e-4 // the polytope is slow where a round body is as deep in all directions
			}
			require.InDelta(t, want, got.dist, tol)
		}
		// sphere against sphere
		check(mustShape(t, robot.Geometry{Kind: robot.Sphere, Radius: r1}), sphere, rel.P.Len()-r1-r2)
		// capsule against capsule, while the segments don't meet
		e1, e2 := vec3{0, 0, l1 / 2}, rel.R.mul(vec3{0, 0, l2 / 2})
		check(mustShape(t, robot.Geometry{Kind: robot.Capsule, Radius: r1, Length: l1}),
			mustShape(t, robot.Geometry{Kind: robot.Capsule, Radius: r2, Length: l2}),
			segmentDistance(e1.Mul(-1), e1, rel.P.Sub(e2), rel.P.Add(e2))-r1-r2)
		// box against sphere: clamp outside, nearest face inside
		d, in := vec3{}, math.Inf(1)
		for k := range 3 {
			d[k] = math.Max(0, math.Abs(rel.P[k])-size[k]/2)
			in = math.Min(in, size[k]/2-math.Abs(rel.P[k]))
		}
		want := d.Len() - r2
		if in > 0 {
			want = -in - r2
		}
		check(mustShape(t, robot.Geometry{Kind: robot.Box, Size: size}), sphere, want)
		// cylinder against sphere
		rad, z := math.Hypot(rel.P[0], rel.P[1])-r1, math.Abs(rel.P[2])-l2/2-0.01
		want = math.Hypot(math.Max(0, rad), math.Max(0, z)) - r2
		if rad < 0 && z < 0 {
			want = math.Max(rad, z) - r2
		}
		check(mustShape(t, robot.Geometry{Kind: robot.Cylinder, Radius: r1, Length: l2 + 0.02}), sphere, want)
	})
}

// surface returns points of a shape, hull corners and rims included.
func surface(s *shape, n int) []vec3 {
	var out []vec3
	for i := range n {
		// Fibonacci directions
		z := 1 - 2*(float64(i)+0.5)/float64(n)
		a := float64(i) * math.Pi * (3 - math.Sqrt(5))
		r := math.Sqrt(1 - z*z)
		d := vec3{r * math.Cos(a), r * math.Sin(a), z}
		out = append(out, s.support(d).Add(d.Mul(s.round)))
	}
	return out
}

// TestDistanceIsWhatSeparates proves a distance from both sides without any
// other distance code: no two points are nearer than a separating plane says, and
// there are points as near as the distance says.
func TestDistanceIsWhatSeparates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := mustShape(t, drawGeometry(t, "a")), mustShape(t, drawGeometry(t, "b"))
		q := pairQuery{a: a, b: b, rel: frame{R: drawRotation(t, "r"), P: drawVec(t, "p", 1)}}
		got := q.signedDistance(drawVec(t, "guess", 1), math.Inf(1))
		if got.dist > 0 && !got.cores {
			n := got.dir.Normalize()
			// width of the gap along n
			gap := -q.support(n.Mul(-1)).Dot(n.Mul(-1)) - a.round - b.round
			require.GreaterOrEqual(t, gap, got.dist-contactMargin, "a plane separates the bodies by the distance")
			pb := surface(b, 200)
			for i := range pb {
				pb[i] = q.rel.apply(pb[i])
			}
			nearest := math.Inf(1)
			for _, x := range surface(a, 200) {
				for _, y := range pb {
					nearest = math.Min(nearest, x.Sub(y).Len())
				}
			}
			require.GreaterOrEqual(t, nearest, got.dist-contactMargin, "points nearer than the distance")
			return
		}
		// Overlap: moving by the depth parts them, moving by less in any of many
		// directions doesn't.
		depth := -got.dist
		best := math.Inf(1)
		for i := range 2000 {
			z := 1 - 2*(float64(i)+0.5)/2000
			an := float64(i) * math.Pi * (3 - math.Sqrt(5))
			r := math.Sqrt(1 - z*z)
			d := vec3{r * math.Cos(an), r * math.Sin(an), z}
			best = math.Min(best, q.support(d).Dot(d)+a.round+b.round)
		}
		require.LessOrEqual(t, depth, best+1e-4, "no direction parts them sooner")
		require.GreaterOrEqual(t, depth, best-0.1*(a.bound+b.bound), "some direction parts them that soon")
	})
}

func TestDistanceIsSymmetricAndTurnsWithTheBodies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := mustShape(t, drawGeometry(t, "a")), mustShape(t, drawGeometry(t, "b"))
		rel := frame{R: drawRotation(t, "r"), P: drawVec(t, "p", 1)}
		id := identityFrame()
		one := pairQuery{a: a, b: b, rel: rel}
		two := pairQuery{a: b, b: a, rel: rel.inverseMul(&id)}
		require.InDelta(t, one.signedDistance(vec3{}, math.Inf(1)).dist, two.signedDistance(vec3{}, math.Inf(1)).dist, 2e-4)
	})
}

func TestDistanceCutShortIsALowerBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := pairQuery{a: mustShape(t, drawGeometry(t, "a")), b: mustShape(t, drawGeometry(t, "b")),
			rel: frame{R: drawRotation(t, "r"), P: drawVec(t, "p", 2)}}
		full := q.signedDistance(vec3{}, math.Inf(1))
		short := q.signedDistance(vec3{}, 0.1)
		if short.exact {
			require.InDelta(t, full.dist, short.dist, 1e-4)
		} else {
			require.Greater(t, short.dist, 0.1)
			require.LessOrEqual(t, short.dist, full.dist+1e-9)
		}
	})
}

func TestShapeRefusesImpossibleSizes(t *testing.T) {
	for _, g := range []robot.Geometry{
		{}, {Kind: robot.Box, Size: vec3{1, 0, 1}}, {Kind: robot.Sphere, Radius: math.NaN()},
		{Kind: robot.Cylinder, Radius: 1, Length: math.Inf(1)}, {Kind: robot.MeshGeometry},
		{Kind: robot.Capsule, Radius: 1, Length: -1},
		{Kind: robot.MeshGeometry, Mesh: &robot.Mesh{Vertices: []mgl64.Vec3{{math.NaN(), 0, 0}}}},
	} {
		_, err := newShape(&g, "link.collision[0]")
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err))
		require.ErrorContains(t, err, "link.collision[0]")
	}
}
