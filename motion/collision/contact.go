package collision

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

// ContactTolerance is by how much the gap of a pair that a path started in contact
// may fall below the largest that it has had, m.
const ContactTolerance = 2e-4

// hollow is by how much deeper the convex hulls of two bodies may be in contact than
// their spheres say, m. Where it is more, a mesh isn't convex there.
const hollow = 6e-3

// A pair starts in contact where it is nearer than its margin at the start of a
// path. All along that path such a pair is measured exactly, body by body, wherever
// its spheres are nearer than the margin: the spheres alone could hide that a body
// goes deeper by as much as they reach beyond it, and make one that parts seem to
// come back when it turns or, as those of a mesh are large, with every ball that
// leaves another. For that a mesh is its convex hull, as long as the hulls aren't
// deeper in contact at the start than the spheres by more than hollow, else the
// spheres stand for it here as well.

// contactResolution is Resolution for a pair that isn't free yet. Between two evaluated
// instants the gap changes by twice that at most, and what it needs is lowered by
// as much below the last one, so it falls by less than three times that.
func (c *Checker) contactResolution() float64 { return min(c.opts.Resolution, ContactTolerance/4) }

// exact returns the gap of a pair at the frames in d: that of its bodies where it is
// below its margin, else any lower bound that is at least the margin. A mesh counts
// as its convex hull.
func (c *Checker) exact(d *data, p *pair) (gap float64) {
	a := &c.covers[p.body]
	var others []part
	var rel transform
	if p.other >= 0 {
		b := &c.covers[p.other]
		others = b.parts
		rel = relative(&d.frames[a.link], &d.frames[b.link])
	} else {
		others = c.obstacles[p.obstacle].parts
		rel = relative(&d.frames[a.link], &identity)
	}
	gap, d.deepest = p.margin, math.Inf(-1)
	d.near = d.near[:0]
	for i := range others {
		at := compose(&rel, &others[i].frame)
		for k := range a.parts {
			one := couple{a: &a.parts[k].solid, b: &others[i].solid, t: relative(&a.parts[k].frame, &at)}
			low := dist([3]float64(one.t[9:]), [3]float64{}) - a.parts[k].bound - others[i].bound
			if low >= p.margin {
				d.near = append(d.near, near{value: low})
				continue
			}
			g, n := one.gapBy(c.ways)
			gap = min(gap, g)
			if least := c.deepest(p.margin, min(a.parts[k].thin, others[i].thin)); g < least {
				d.deepest = max(d.deepest, least)
			}
			v := one.separation(n) - one.a.rounding() - one.b.rounding()
			n = turn(&d.frames[a.link], turn(&a.parts[k].frame, n))
			d.near = append(d.near, near{value: v, along: n, known: true})
		}
	}
	return gap
}

// near is how far apart two bodies of a pair are at least, along a direction of
// the root frame if that is known.
type near struct {
	value float64
	along mgl64.Vec3
	known bool
}

// slideRate bounds how fast the distance of a link in contact to an obstacle can
// shrink in the rest of a piece where the link slides along the
// obstacle, as wheels on a floor do: along the direction in which two bodies are
// apart they can only come nearer by what the joints move along it. It returns the
// bound of all pairs, full, unless this one is far below it. So that a gain is
// noticed before it is lost again, the pair is looked at whenever it may have moved
// by its margin.
func (c *Checker) slideRate(d *data, i int, full float64) float64 {
	const worthwhile = 0.05
	p := &c.pairs[i]
	spare := c.contactResolution() - d.need[i]
	rate := full * d.slack[i] / p.margin
	for _, one := range d.near {
		r := full
		if one.known {
			if r = c.rateAlong(d, p, one.along); r > worthwhile*full {
				return full
			}
		}
		slack := one.value + spare
		if slack <= 0 {
			return full
		}
		rate = max(rate, r*d.slack[i]/slack)
	}
	return min(rate, full)
}

// rateAlong bounds how fast any point of the pair's moving body gets along n in the
// rest of a piece. Moving the joints one after the other, the one nearest to the
// body first, takes it to the same place, and then each turns or slides along its
// axis as it is now: so what joints do to each other's axes doesn't matter.
func (c *Checker) rateAlong(d *data, p *pair, n mgl64.Vec3) (rate float64) {
	reach := c.covers[p.body].reach
	for i := range p.up {
		s := &p.up[i]
		if s.active >= 0 {
			v := s.scale * d.speed[s.active]
			axis := turn(&d.frames[s.link], s.axis)
			if s.slide {
				rate += v * math.Abs(n.Dot(axis))
				reach += s.scale*d.extent[s.active] + s.offset
			} else {
				rate += v * reach * n.Cross(axis).Len()
			}
		}
		reach += s.lever
	}
	return rate
}

// measure returns the distance of a pair, any lower bound of it where that is at
// least enough. At the start it finds out whether the pair is in contact, and raises
// what it needs to how deep its bodies may be.
func (c *Checker) measure(d *data, i int, enough float64) float64 {
	p := &c.pairs[i]
	d.exactly = false
	if !d.contact[i] {
		return c.distance(d, p, enough)
	}
	if d.starting {
		if dist := c.distance(d, p, enough); dist >= p.margin {
			d.contact[i] = false
			return dist
		}
	}
	if mesh := math.IsInf(p.sure, 1); mesh && d.starting {
		dist := c.clearance(d, p, enough)
		if d.spheres[i] = c.exact(d, p) < dist-hollow; d.spheres[i] {
			d.need[i] = max(d.need[i], c.deepest(p.margin, c.thinner(p)))
			return dist
		}
	} else if mesh && d.spheres[i] {
		return c.clearance(d, p, enough)
	}
	gap := c.exact(d, p)
	if d.starting {
		d.need[i] = max(d.need[i], d.deepest)
	}
	if gap < p.margin {
		if gap < d.need[i] && !d.starting { // the spheres may know that it is free
			if dist := c.clearance(d, p, enough); dist >= p.margin {
				return dist
			}
		}
		d.exactly = true
		return gap
	}
	return max(gap, c.clearance(d, p, enough))
}

// deepest returns the smallest gap that two bodies may have at the start of a path;
// thin is the thickness of the thinner.
func (c *Checker) deepest(margin, thin float64) float64 {
	return margin - min(c.opts.StartContact, max(StartNoise, margin+thin))
}

// thinner returns the thickness of the thinnest body of a pair.
func (c *Checker) thinner(p *pair) float64 {
	if p.other >= 0 {
		return min(c.covers[p.body].thin, c.covers[p.other].thin)
	}
	return min(c.covers[p.body].thin, c.obstacles[p.obstacle].thin)
}

// thickness returns the smallest extent of a body, of a mesh along its own axes, m.
func thickness(g *robot.Geometry) float64 {
	if g.Kind != robot.MeshGeometry {
		s := newSolid(*g)
		return s.thickness()
	}
	lo := g.Mesh.Vertices[0]
	hi := lo
	for _, v := range g.Mesh.Vertices {
		for k, x := range v {
			lo[k], hi[k] = min(lo[k], x), max(hi[k], x)
		}
	}
	return min(hi[0]-lo[0], hi[1]-lo[1], hi[2]-lo[2])
}
func (c *Checker) failure(d *data, i int, dist, at float64) error {
	p := &c.pairs[i]
	d.best = robot.Clearance{Distance: dist, A: p.a, B: p.b, At: at}
	e := &robot.Error{
		Code: p.code, Where: p.a + ", " + p.b,
		Text:  d.text(p, i, dist, at),
		Value: &robot.Quantity{Name: "clearance", Value: dist, Unit: "m"},
		Limit: &robot.Quantity{Value: d.need[i], Unit: "m"},
	}
	if p.code == robot.CodeZoneNotGranted {
		e.Access = "zone:" + p.b
	}
	return e
}
