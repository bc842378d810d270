package collision

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
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

// TestBodiesAndSpheresAgree: the shortcut by the bodies themselves allows what the
// spheres allow and refuses what they refuse, and its distance isn't above the true
// one, which no two points of the bodies undercut.
func TestBodiesAndSpheresAgree(t *testing.T) {
	for _, name := range []string{"so101", "panda", "rover"} {
		m, err := builtin.Load(name)
		require.NoError(t, err)
		c := newChecker(t, m, &robot.Scene{Bodies: []robot.Body{
			body("table", 0, 0, -0.05, box(4, 4, 0.1)), body("shelf", 0.3, -0.3, 0.3, box(0.4, 0.2, 0.02)),
		}})
		rng := rand.New(rand.NewPCG(4, 2))
		tr := newTruth(t, m, rng, 30)
		d := c.take("")
		shortcuts, below := 0, 0
		for range 30 {
			q := randomQ(rng, m)
			c.kin.FrameFK(d.frames, q)
			for i := range c.pairs {
				p := &c.pairs[i]
				got, spheres := c.distance(d, p, math.Inf(1)), c.clearance(d, p, math.Inf(1))
				require.Equal(t, spheres < p.margin, got < p.margin, "%s %s: %g %g", p.a, p.b, got, spheres)
				if got < p.margin {
					below++
				}
				if got == spheres {
					continue
				}
				shortcuts++
				require.GreaterOrEqual(t, got, spheres-1e-9)
				others := c.obstacles[max(p.obstacle, 0)].parts
				rel := identity
				if p.other >= 0 {
					others, rel = c.covers[p.other].parts, d.frames[p.other]
				}
				for _, local := range tr.points[p.body] {
					at := back(&rel, apply(&d.frames[p.body], local))
					for k := range others {
						e := exact{others[k].frame, others[k].solid}
						require.LessOrEqual(t, got, e.distance(at)+1e-9)
					}
				}
			}
		}
		require.Greater(t, shortcuts, 50, name)
		require.Greater(t, below, 0, name)
	}
}
