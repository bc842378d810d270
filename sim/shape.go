package sim

import (
	"math"

	"github.com/tau-robot/tau/robot"
)

// shape is a convex body in its own frame: a core given by its support mapping,
// and a radius by which the core is rounded. Spheres are rounded points, capsules
// rounded segments, so their distances are exact without iteration over curved
// surfaces. A mesh stands for its convex hull.
type shape struct {
	kind   robot.GeometryKind
	half   vec3    // box: half extents
	radius float64 // cylinder: of its disc
	half1  float64 // cylinder, capsule: half of the core's length
	round  float64 // sphere, capsule: the rounding radius
	verts  []vec3
	centre vec3    // of the bounding sphere
	bound  float64 // its radius
}

// newShape checks a geometry and makes it a shape. where names it in the error.
func newShape(g *robot.Geometry, where string) (shape, error) {
	s := shape{kind: g.Kind}
	ok := true
	positive := func(xs ...float64) {
		for _, x := range xs {
			ok = ok && x > 0 && !math.IsInf(x, 0)
		}
	}
	switch g.Kind {
	case robot.Box:
		positive(g.Size[0], g.Size[1], g.Size[2])
		s.half = g.Size.Mul(0.5)
		s.bound = s.half.Len()
	case robot.Cylinder:
		positive(g.Radius, g.Length)
		s.radius, s.half1 = g.Radius, g.Length/2
		s.bound = math.Hypot(s.radius, s.half1)
	case robot.Capsule:
		positive(g.Radius)
		ok = ok && g.Length >= 0 && !math.IsInf(g.Length, 0)
		s.round, s.half1 = g.Radius, g.Length/2
		s.bound = s.round + s.half1
	case robot.Sphere:
		positive(g.Radius)
		s.round, s.bound = g.Radius, g.Radius
	case robot.MeshGeometry:
		if g.Mesh == nil || len(g.Mesh.Vertices) == 0 {
			return s, robot.Errf(robot.CodeInvalidArgument, where, "the mesh has no vertices")
		}
		for _, v := range g.Mesh.Vertices {
			ok = ok && finite3(v)
		}
		lo, hi := bounds(g)
		s.centre = lo.Add(hi).Mul(0.5)
		if ok {
			s.verts = hullVertices(g.Mesh.Vertices)
		}
		for _, v := range s.verts {
			s.bound = math.Max(s.bound, v.Sub(s.centre).Len())
		}
	default:
		return s, robot.Errf(robot.CodeInvalidArgument, where, "%s is not a geometry that can be simulated", g.Kind)
	}
	if !ok {
		return s, robot.Errf(robot.CodeInvalidArgument, where, "the sizes of a %s must be finite and above 0", g.Kind)
	}
	return s, nil
}

// bounds returns the axis-aligned bounding box of a geometry in its own frame.
func bounds(g *robot.Geometry) (lo, hi vec3) {
	switch g.Kind {
	case robot.Box:
		hi = g.Size.Mul(0.5)
	case robot.Cylinder:
		hi = vec3{g.Radius, g.Radius, g.Length / 2}
	case robot.Capsule:
		hi = vec3{g.Radius, g.Radius, g.Length/2 + g.Radius}
	case robot.Sphere:
		hi = vec3{g.Radius, g.Radius, g.Radius}
	case robot.MeshGeometry:
		if g.Mesh == nil || len(g.Mesh.Vertices) == 0 {
			return vec3{}, vec3{}
		}
		lo, hi = g.Mesh.Vertices[0], g.Mesh.Vertices[0]
		for _, v := range g.Mesh.Vertices[1:] {
			for k := range v {
				lo[k], hi[k] = math.Min(lo[k], v[k]), math.Max(hi[k], v[k])
			}
		}
		return lo, hi
	}
	return hi.Mul(-1), hi
}

// support returns the point of the core that is farthest along d.
func (s *shape) support(d vec3) vec3 {
	switch s.kind {
	case robot.Box:
		return vec3{math.Copysign(s.half[0], d[0]), math.Copysign(s.half[1], d[1]), math.Copysign(s.half[2], d[2])}
	case robot.Cylinder:
		z := math.Copysign(s.half1, d[2])
		if r := math.Sqrt(d[0]*d[0] + d[1]*d[1]); r > 0 {
			return vec3{s.radius * d[0] / r, s.radius * d[1] / r, z}
		}
		return vec3{s.radius, 0, z}
	case robot.Capsule:
		return vec3{0, 0, math.Copysign(s.half1, d[2])}
	case robot.MeshGeometry:
		best, at := math.Inf(-1), 0
		for i := range s.verts {
			v := &s.verts[i]
			if x := v[0]*d[0] + v[1]*d[1] + v[2]*d[2]; x > best {
				best, at = x, i
			}
		}
		return s.verts[at]
	}
	return vec3{}
}
