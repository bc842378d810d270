package collision

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

func drawTransform(t *rapid.T) transform {
	f := func(n string) float64 { return rapid.Float64Range(-1, 1).Draw(t, n) }
	q := mgl64.Quat{W: f("w") + 1.1, V: mgl64.Vec3{f("qx"), f("qy"), f("qz")}}.Normalize()
	tr, ok := fromPose(robot.Pose{P: mgl64.Vec3{f("x"), f("y"), f("z")}.Mul(0.4), Q: q})
	require.True(t, ok)
	return tr
}

func drawTree(t *rapid.T) *tree {
	tr := new(tree)
	var roots []int32
	for range rapid.IntRange(1, 3).Draw(t, "bodies") {
		g := drawPrimitive(t)
		var one tree
		root, _ := one.cover(&g, 1e-2)
		by := drawTransform(t)
		one.move(&by)
		base := int32(len(tr.nodes))
		for _, n := range one.nodes {
			if n.left >= 0 {
				n.left, n.right = n.left+base, n.right+base
			}
			tr.nodes = append(tr.nodes, n)
		}
		roots = append(roots, root+base)
	}
	tr.root = tr.join(roots)
	return tr
}

// requireBound: got is never above the minimum and never more than 10 % below it;
// in penetration it is exact.
func requireBound(t require.TestingT, want, got float64) {
	require.LessOrEqual(t, got, want+1e-12)
	require.GreaterOrEqual(t, got, min(want, want*goodEnough)-1e-12)
}

// TestQueriesEqualBruteForce: both queries give the minimum over all leaves
// within the stated bound.
func TestQueriesEqualBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawTree(t), drawTree(t)
		tr := drawTransform(t)
		requireNested(t, a)
		want := math.Inf(1)
		la, lb := leaves(a), leaves(b)
		for i := range lb {
			lb[i].c = apply(&tr, lb[i].c)
		}
		for _, x := range la {
			for _, y := range lb {
				want = min(want, dist(x.c, y.c)-x.r-y.r)
			}
		}
		requireBound(t, want, minToTree(a, b, &tr, math.Inf(1)))
		g := drawPrimitive(t)
		s := newSolid(g)
		want = math.Inf(1)
		for _, x := range la {
			want = min(want, s.distance(apply(&tr, x.c))-x.r)
		}
		requireBound(t, want, a.minToSolid(&s, &tr, math.Inf(1)))
	})
}

func TestRelative(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawTransform(t), drawTransform(t)
		r := relative(&a, &b)
		p := [3]float64{0.1, -0.7, 0.4}
		x, y := apply(&b, p), apply(&a, apply(&r, p))
		require.InDelta(t, 0, dist(x, y), 1e-12)
	})
}
