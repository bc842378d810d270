package collision

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

// solid is a primitive body in its own frame.
type solid struct {
	kind   robot.GeometryKind
	half   mgl64.Vec3 // box
	radius float64    // sphere, cylinder, capsule
	hz     float64    // half the length of a cylinder or of a capsule's straight part
	// Of the convex hull of a mesh, which has a radius as well; only hullGap and what
	// it calls know this kind.
	corners []mgl64.Vec3
	reach   *[len(ways{})]float64 // how far it reaches along each of the ways, m
}

func newSolid(g robot.Geometry) solid {
	return solid{kind: g.Kind, half: g.Size.Mul(0.5), radius: g.Radius, hz: g.Length / 2}
}

// distance returns the exact signed distance of p to the body's surface, m,
// negative inside. It is 1-Lipschitz: it changes by no more than p moves.
func (s *solid) distance(p [3]float64) float64 {
	switch s.kind {
	case robot.Sphere:
		return math.Sqrt(p[0]*p[0]+p[1]*p[1]+p[2]*p[2]) - s.radius
	case robot.Capsule:
		z := max(0, math.Abs(p[2])-s.hz)
		return math.Sqrt(p[0]*p[0]+p[1]*p[1]+z*z) - s.radius
	case robot.Cylinder:
		dr := math.Sqrt(p[0]*p[0]+p[1]*p[1]) - s.radius
		dz := math.Abs(p[2]) - s.hz
		if dr <= 0 || dz <= 0 {
			return max(dr, dz)
		}
		return math.Sqrt(dr*dr + dz*dz)
	default: // box
		x := math.Abs(p[0]) - s.half[0]
		y := math.Abs(p[1]) - s.half[1]
		z := math.Abs(p[2]) - s.half[2]
		if x <= 0 && y <= 0 && z <= 0 {
			return max(x, y, z)
		}
		x, y, z = max(x, 0), max(y, 0), max(z, 0)
		return math.Sqrt(x*x + y*y + z*z)
	}
}

// thickness returns the smallest extent of the body, m.
func (s *solid) thickness() float64 {
	switch s.kind {
	case robot.Sphere, robot.Capsule:
		return 2 * s.radius
	case robot.Cylinder:
		return 2 * min(s.radius, s.hz)
	default: // box
		return 2 * min(s.half[0], s.half[1], s.half[2])
	}
}

// diagonal returns the diameter of the smallest ball about the body's centre.
func (s *solid) diagonal() float64 {
	switch s.kind {
	case robot.Sphere:
		return 2 * s.radius
	case robot.Capsule:
		return 2 * (s.hz + s.radius)
	case robot.Cylinder:
		return 2 * math.Hypot(s.hz, s.radius)
	default:
		return 2 * s.half.Len()
	}
}

// checkGeometry refuses a body that has no finite positive size.
func checkGeometry(where string, g *robot.Geometry) error {
	bad := func(text string) error {
		return robot.Errf(robot.CodeInvalidArgument, where, "%s %s", g.Kind, text)
	}
	positive := func(v ...float64) bool {
		for _, x := range v {
			if !(x > 0) || math.IsInf(x, 0) {
				return false
			}
		}
		return true
	}
	switch g.Kind {
	case robot.Box:
		if !positive(g.Size[:]...) {
			return bad("must have a finite positive size")
		}
	case robot.Sphere:
		if !positive(g.Radius) {
			return bad("must have a finite positive radius")
		}
	case robot.Cylinder, robot.Capsule:
		if !positive(g.Radius, g.Length) {
			return bad("must have a finite positive radius and length")
		}
	case robot.MeshGeometry:
		if g.Mesh == nil || len(g.Mesh.Triangles) == 0 {
			return bad("has no triangles")
		}
		for _, v := range g.Mesh.Vertices {
			for _, x := range v {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					return bad("has a vertex that isn't finite")
				}
			}
		}
		for _, t := range g.Mesh.Triangles {
			for _, i := range t {
				if i < 0 || int(i) >= len(g.Mesh.Vertices) {
					return bad("has a triangle without its vertices")
				}
			}
		}
	default:
		return robot.Errf(robot.CodeNotSupported, where, "kind of geometry isn't known")
	}
	return nil
}

// transform maps coordinates: nine elements of the rotation by rows, then the
// translation; the layout of a link's frame.
type transform = [12]float64

func apply(t *transform, p [3]float64) [3]float64 {
	return [3]float64{
		t[0]*p[0] + t[1]*p[1] + t[2]*p[2] + t[9],
		t[3]*p[0] + t[4]*p[1] + t[5]*p[2] + t[10],
		t[6]*p[0] + t[7]*p[1] + t[8]*p[2] + t[11],
	}
}

// relative returns a⁻¹·b: it maps coordinates in frame b to frame a.
func relative(a, b *transform) transform {
	var t transform
	for i := range 3 {
		for j := range 3 {
			t[3*i+j] = a[i]*b[j] + a[3+i]*b[3+j] + a[6+i]*b[6+j]
		}
	}
	x, y, z := b[9]-a[9], b[10]-a[10], b[11]-a[11]
	for i := range 3 {
		t[9+i] = a[i]*x + a[3+i]*y + a[6+i]*z
	}
	return t
}

// compose returns a·b: it maps coordinates by b and then by a.
func compose(a, b *transform) transform {
	var t transform
	for i := range 3 {
		for j := range 3 {
			t[3*i+j] = a[3*i]*b[j] + a[3*i+1]*b[3+j] + a[3*i+2]*b[6+j]
		}
	}
	p := apply(a, [3]float64(b[9:]))
	copy(t[9:], p[:])
	return t
}

// fromPose converts a pose; ok is false where it isn't finite or its quaternion
// isn't of unit length.
func fromPose(p robot.Pose) (t transform, ok bool) {
	const unitTolerance = 1e-6
	n := p.Q.Len()
	if math.IsNaN(n) || math.Abs(n-1) > unitTolerance {
		return t, false
	}
	for _, x := range p.P {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return t, false
		}
	}
	m := p.Q.Scale(1 / n).Mat4()
	for i := range 3 {
		for j := range 3 {
			t[3*i+j] = m.At(i, j)
		}
		t[9+i] = p.P[i]
	}
	return t, true
}
