package collision

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

// rect is a rectangle of the plane by its corners in order. The tests of this
// file know nothing of spheres, supports and separating planes: they measure
// corners and edges.
type rect [4][2]float64

func newRect(x, y, turned, w, h float64) (r rect) {
	s, c := math.Sincos(turned)
	for i, k := range [4][2]float64{{1, 1}, {-1, 1}, {-1, -1}, {1, -1}} {
		u, v := k[0]*w/2, k[1]*h/2
		r[i] = [2]float64{x + c*u - s*v, y + s*u + c*v}
	}
	return r
}

// apart returns the signed distance of two rectangles: of their nearest corner and
// edge, or, where they overlap, how far one has to be pushed across one of the
// eight edges.
func (r *rect) apart(o *rect) float64 {
	most, least := math.Inf(-1), math.Inf(1)
	for _, pair := range [2][2]*rect{{r, o}, {o, r}} {
		for i := range 4 {
			a, b := pair[0][i], pair[0][(i+1)%4]
			ex, ey := b[0]-a[0], b[1]-a[1]
			l := math.Hypot(ex, ey)
			beyond := math.Inf(1) // how far all of the other is beyond this edge
			for _, p := range pair[1] {
				px, py := p[0]-a[0], p[1]-a[1]
				beyond = min(beyond, (px*ey-py*ex)/l)
				k := min(max((px*ex+py*ey)/(l*l), 0), 1)
				least = min(least, math.Hypot(px-k*ex, py-k*ey))
			}
			most = max(most, beyond)
		}
	}
	if most > 0 {
		return least
	}
	return most
}

func TestRectanglesApart(t *testing.T) {
	unit := newRect(0, 0, 0, 1, 1)
	for _, c := range []struct{ x, y, turned, want float64 }{
		{2, 0, 0, 1}, {2, 2, 0, math.Sqrt2}, {0.9, 0, 0, -0.1}, {0, -0.75, 0, -0.25}, {2, 0, math.Pi / 4, 1.5 - math.Sqrt2/2},
	} {
		o := newRect(c.x, c.y, c.turned, 1, 1)
		require.InDelta(t, c.want, unit.apart(&o), 1e-12)
		require.InDelta(t, c.want, o.apart(&unit), 1e-12)
	}
}

// planar is a random arm in the plane of x and y, of 2 to 4 bars that slide or
// turn, and boxes of 20 cm thickness.
type planar struct {
	m     *robot.Model
	sizes [][2]float64 // of each link's bar, which begins at its joint
	slide []bool
}

func drawPlanar(t *rapid.T) *planar {
	f := func(lo, hi float64, n string) float64 { return rapid.Float64Range(lo, hi).Draw(t, n) }
	p := &planar{}
	b := kintest.NewBuilder("planar", "base")
	link, at := 0, 0.0
	for i := range rapid.IntRange(2, 4).Draw(t, "bars") {
		length, width := f(0.05, 0.3, "length"), f(0.01, 0.06, "width")
		slide := rapid.IntRange(0, 3).Draw(t, "kind") == 0
		typ, axis := robot.Revolute, mgl64.Vec3{0, 0, 1}
		if slide {
			typ, axis = robot.Prismatic, mgl64.Vec3{0, 1, 0}
		}
		link = b.Joint(string(rune('a'+i)), typ, link, kintest.At(at, 0, 0, 0, 0, 0), axis, -3, 3)
		b.Body(link, kintest.At(length/2, 0, 0, 0, 0, 0), box(length, width, 0.2))
		p.sizes = append(p.sizes, [2]float64{length, width})
		p.slide = append(p.slide, slide)
		at = length
	}
	p.m = b.Model(link)
	return p
}

// rects returns the bars at q, by the sum of the angles.
func (p *planar) rects(q []float64) []rect {
	var out []rect
	var x, y, turned float64
	for i, s := range p.sizes {
		if p.slide[i] {
			x, y = x-q[i]*math.Sin(turned), y+q[i]*math.Cos(turned)
		} else {
			turned += q[i]
		}
		sin, cos := math.Sincos(turned)
		out = append(out, newRect(x+cos*s[0]/2, y+sin*s[0]/2, turned, s[0], s[1]))
		x, y = x+cos*s[0], y+sin*s[0]
	}
	return out
}

// against places a box so that its gap to a bar is the one wanted, coming from a
// random side: the gap of convex bodies that part along a line only grows.
func against(t *rapid.T, bar *rect, gap float64) (robot.Body, rect) {
	f := func(lo, hi float64, n string) float64 { return rapid.Float64Range(lo, hi).Draw(t, n) }
	w, h, turned, way := f(0.02, 0.4, "w"), f(0.02, 0.4, "h"), f(-3, 3, "turned"), f(-3.1, 3.1, "way")
	sin, cos := math.Sincos(way)
	cx, cy := (bar[0][0]+bar[2][0])/2, (bar[0][1]+bar[2][1])/2
	at := func(s float64) rect { return newRect(cx+s*cos, cy+s*sin, turned, w, h) }
	lo, hi := 0.0, 2.0
	for range 60 {
		mid := (lo + hi) / 2
		r := at(mid)
		if r.apart(bar) < gap {
			lo = mid
		} else {
			hi = mid
		}
	}
	return robot.Body{Name: "box", Pose: kintest.At(cx+hi*cos, cy+hi*sin, 0, 0, 0, turned), Geometry: box(w, h, 0.2)}, at(hi)
}

// watch measures the bars against a box along a line, closely: how much one that
// was nearer than the margin has lost of its largest gap at most, and how much one
// that was free of its margin. ok is false for a start deeper than noise.
func (p *planar) watch(from, to []float64, r *rect) (lost, entered float64, ok bool) {
	const n = 150
	largest := make([]float64, len(p.sizes))
	inContact := make([]bool, len(p.sizes))
	q := make([]float64, len(from))
	for k := range n + 1 {
		for i := range q {
			q[i] = from[i] + float64(k)/n*(to[i]-from[i])
		}
		for i, bar := range p.rects(q) {
			gap := bar.apart(r)
			if k == 0 {
				largest[i], inContact[i] = gap, gap < DefaultSceneMargin
				if gap < DefaultSceneMargin-DefaultStartContact {
					return 0, 0, false
				}
			}
			if inContact[i] {
				lost = max(lost, largest[i]-gap)
				largest[i] = max(largest[i], gap)
				inContact[i] = gap < DefaultSceneMargin
			} else {
				entered = max(entered, DefaultSceneMargin-gap)
			}
		}
	}
	return lost, entered, true
}

// TestCase19_AcceptedPathsOnlyOpenWhatStartsInContact: on random planar arms that
// start in contact with a box, no pair of an accepted path, looked at closely and
// measured by corners and edges, loses more than the tolerance of the largest gap
// that it has had before it is free, and none that is free loses its margin.
func TestCase19_AcceptedPathsOnlyOpenWhatStartsInContact(t *testing.T) {
	accepted, deeper := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlanar(t)
		from := kintest.Q(t, p.m)
		bars := p.rects(from)
		which := rapid.IntRange(0, len(bars)-1).Draw(t, "bar")
		gap := rapid.Float64Range(DefaultSceneMargin-DefaultStartContact+1e-4, DefaultSceneMargin).Draw(t, "gap")
		body, r := against(t, &bars[which], gap)
		c := newChecker(t, p.m, &robot.Scene{Bodies: []robot.Body{body}})
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "steps"), 0))
		for range 5 {
			size := math.Pow(10, -3*rng.Float64())
			to := make([]float64, len(from))
			for i := range to {
				to[i] = from[i] + size*(2*rng.Float64()-1)
			}
			lost, entered, ok := p.watch(from, to, &r)
			if !ok {
				return
			}
			_, err := c.CheckSegment(from, to)
			_, inTime := c.CheckTrajectory(moveThrough(p.m, from, to))
			requireSameVerdict(t, err, inTime)
			switch {
			case err == nil:
				accepted++
				require.LessOrEqual(t, lost, ContactTolerance+gapPrecision)
				require.LessOrEqual(t, entered, DefaultResolution+gapPrecision)
			case lost > ContactTolerance:
				deeper++
			}
		}
	})
	require.Greater(t, accepted, 3, "the test must see ways out")
	require.Greater(t, deeper, 3, "and ways deeper in")
}

// requireSameVerdict: two checks of one way look at different instants. What only one
// refuses is less below what it needs than lies between two looks.
func requireSameVerdict(t *rapid.T, one, other error) {
	if (one == nil) == (other == nil) {
		return
	}
	var e *robot.Error
	require.ErrorAs(t, errors.Join(one, other), &e)
	require.GreaterOrEqual(t, e.Value.Value, e.Limit.Value-DefaultResolution)
}

// onlyOpens says whether the last bar gains distance from a box all along a line,
// to 2 cm at its end, while nothing else is nearer than that to anything.
func (p *planar) onlyOpens(from, to []float64, r *rect) bool {
	last := len(p.sizes) - 1
	largest := math.Inf(-1)
	q := make([]float64, len(from))
	for k := range 101 {
		for i := range q {
			q[i] = from[i] + float64(k)/100*(to[i]-from[i])
		}
		bars := p.rects(q)
		gap := bars[last].apart(r)
		if gap < largest {
			return false
		}
		largest = gap
		for i := range last {
			if bars[i].apart(r) < 0.02 {
				return false
			}
			for j := i + 2; j <= last; j++ {
				if bars[i].apart(&bars[j]) < 0.02 {
					return false
				}
			}
		}
	}
	return largest >= 0.02
}

// TestCase19_TheWayOutIsFound: where every bar only gains distance by clearly more
// than any tolerance, the path is accepted.
func TestCase19_TheWayOutIsFound(t *testing.T) {
	tried := 0
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlanar(t)
		from := kintest.Q(t, p.m)
		bars := p.rects(from)
		last := len(bars) - 1
		body, r := against(t, &bars[last], rapid.Float64Range(-0.003, 0.001).Draw(t, "gap"))
		c := newChecker(t, p.m, &robot.Scene{Bodies: []robot.Body{body}})
		for _, step := range []float64{-0.2, -0.05, 0.05, 0.2} {
			to := append([]float64(nil), from...)
			to[last] += step
			if !p.onlyOpens(from, to, &r) {
				continue
			}
			tried++
			_, err := c.CheckSegment(from, to)
			require.NoError(t, err)
		}
	})
	require.Greater(t, tried, 0)
}
