package collision

import (
	"math"

	"github.com/tau-robot/tau/robot"
)

// hullSides is the number of planes that stand for a convex hull.
const hullSides = 200

// hull is the part of space behind planes that touch a mesh from outside, so it
// contains the mesh's convex hull. Where the hull is flat or pointed it reaches
// beyond it by about a hundredth of the mesh's size, a guess on the safe side where
// the mesh itself doesn't say what is solid.
type hull struct {
	t     *tree
	small float64 // radius of the balls on the surface, m
	n     ways
	at    [hullSides + 6]float64
}

// openHull finds the planes.
func openHull(m *robot.Mesh, t *tree, small float64) *hull {
	h := &hull{t: t, small: small, n: allWays()}
	corners := corners(m)
	for i := range h.n {
		h.at[i] = math.Inf(-1)
		for _, v := range corners {
			h.at[i] = max(h.at[i], dot(h.n[i], [3]float64(v)))
		}
	}
	return h
}

// cell halves a cell until the ball about it is inside, outside or no larger than
// small. It returns -1 for a cell that is outside.
func (h *hull) cell(lo, hi [3]float64) int32 {
	c := mix(lo, hi)
	r := dist(c, hi)
	beyond := math.Inf(-1)
	for i := range h.n {
		beyond = max(beyond, dot(h.n[i], c)-h.at[i])
	}
	switch {
	case beyond > r:
		return -1
	case r <= h.small || beyond <= -r:
		return h.t.leaf(ball{c, r})
	}
	axis := 0
	for k := range 3 {
		if hi[k]-lo[k] > hi[axis]-lo[axis] {
			axis = k
		}
	}
	a, b := hi, lo
	a[axis], b[axis] = c[axis], c[axis]
	left, right := h.cell(lo, a), h.cell(b, hi)
	switch {
	case left < 0:
		return right
	case right < 0:
		return left
	}
	return h.t.inner(c, left, right)
}
