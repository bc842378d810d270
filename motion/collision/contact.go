package collision

import (
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

// ContactTolerance is by how much the gap of a pair that a path started in contact
// may fall below the largest that it has had, m.
const ContactTolerance = 2e-4

// A pair starts in contact where it is nearer than its margin at the start of a
// path. All along that path such a pair is measured exactly, body by body, wherever
// its spheres are nearer than the margin: the spheres alone could hide that a body
// goes deeper by as much as they reach beyond it, and make one that parts seem to
// come back when it turns. Meshes have nothing but their spheres, which stand for
// them here as well.

// contactResolution is Resolution for a pair that isn't free yet. Between two evaluated
// instants the gap changes by twice that at most, and what it needs is lowered by
// as much below the last one, so it falls by less than three times that.
func (c *Checker) contactResolution() float64 { return min(c.opts.Resolution, ContactTolerance/4) }

// exact returns the gap of a pair at the frames in d: exactly where it is below
// its margin, else any lower bound that is at least the margin. ok is false for a
// pair with a mesh.
func (c *Checker) exact(d *data, p *pair) (gap float64, ok bool) {
	a := &c.covers[p.body]
	var others []part
	var rel transform
	if p.other >= 0 {
		b := &c.covers[p.other]
		if a.mesh || b.mesh {
			return 0, false
		}
		others = b.parts
		rel = relative(&d.frames[a.link], &d.frames[b.link])
	} else {
		o := &c.obstacles[p.obstacle]
		if a.mesh || o.tree != nil {
			return 0, false
		}
		others = o.parts
		rel = relative(&d.frames[a.link], &identity)
	}
	gap = p.margin
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
			g, n := one.gap()
			gap = min(gap, g)
			v := one.separation(n) - one.a.rounding() - one.b.rounding()
			n = turn(&d.frames[a.link], turn(&a.parts[k].frame, n))
			d.near = append(d.near, near{value: v, along: n, known: true})
		}
	}
	return gap, true
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
// least enough. At the start it finds out whether the pair is in contact.
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
	gap, ok := c.exact(d, p)
	if ok && gap < p.margin {
		d.exactly = true
		return gap
	}
	dist := c.clearance(d, p, enough)
	if ok {
		dist = max(dist, gap)
	}
	return dist
}

// verb says what a pair that fails does.
func (d *data) verb(p *pair, i int, dist float64) string {
	switch {
	case d.contact[i] && d.starting:
		return "is farther in contact at the start than noise explains, with"
	case d.contact[i] && d.need[i] < p.margin:
		return "is in contact at the start and may only move away, which it doesn't, from"
	case p.code == robot.CodeZoneNotGranted:
		return "would enter the guarded zone"
	case dist < 0:
		return "would touch"
	}
	return "comes too close to"
}

func (c *Checker) failure(d *data, i int, dist, at float64) error {
	p := &c.pairs[i]
	var when string
	switch d.unit {
	case "":
	case "s":
		when = fmt.Sprintf(" at %.3f s", at)
	default:
		when = fmt.Sprintf(" at %.3f %s", at, d.unit)
	}
	d.best = robot.Clearance{Distance: dist, A: p.a, B: p.b, At: at}
	return &robot.Error{
		Code: p.code, Where: p.a + ", " + p.b,
		Text:  fmt.Sprintf("%s %s %s%s", p.a, d.verb(p, i, dist), p.b, when),
		Value: &robot.Quantity{Name: "clearance", Value: dist, Unit: "m"},
		Limit: &robot.Quantity{Value: d.need[i], Unit: "m"},
	}
}
