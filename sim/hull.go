package sim

import "github.com/tau-robot/tau/robot"

const (
	hullTolerance = 1e-9 // m; points that stick out of the hull by less are dropped
	hullWorth     = 32   // vertices from which on thinning out pays
)

// hullVertices returns the vertices of a point set that are corners of its convex
// hull, by adding them one after the other (the same step as the expanding
// polytope's). All points are in the hull of the result within hullTolerance: where
// rounding prevents that, or the set is flat, all points are returned. The result
// may share p.
func hullVertices(p []vec3) []vec3 {
	if len(p) < hullWorth {
		return p
	}
	all, origin := shape{kind: robot.MeshGeometry, verts: p}, shape{kind: robot.Sphere}
	q := pairQuery{a: &all, b: &origin, rel: identityFrame()}
	base, ok := q.widest()
	if !ok {
		return p
	}
	mid := base[0].Add(base[1]).Add(base[2]).Add(base[3]).Mul(0.25)
	v := append([]vec3(nil), base[:]...)
	var faces []epaFace
	for _, f := range [...][3]int{{0, 1, 2}, {0, 2, 3}, {0, 3, 1}, {1, 3, 2}} {
		g, ok := newFace(v, f, mid)
		if !ok {
			return p
		}
		faces = append(faces, g)
	}
	for _, x := range append(q.spread(), p...) {
		if outside(faces, x) {
			v = append(v, x)
			faces = expand(faces, v, mid)
		}
	}
	for _, x := range p {
		if outside(faces, x) {
			return p
		}
	}
	used := make([]bool, len(v))
	for _, f := range faces {
		used[f.p[0]], used[f.p[1]], used[f.p[2]] = true, true, true
	}
	var out []vec3
	for i := range v {
		if used[i] {
			out = append(out, v[i])
		}
	}
	return out
}

func outside(faces []epaFace, x vec3) bool {
	for i := range faces {
		if faces[i].n.Dot(x)-faces[i].dist > hullTolerance {
			return true
		}
	}
	return false
}
