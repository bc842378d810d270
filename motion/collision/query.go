package collision

import "math"

// goodEnough is how near to the smallest distance found so far a subtree's lower
// bound has to be to stand for the whole subtree. A query's answer is never above
// the smallest distance over the leaves and, where that is positive, never below
// goodEnough times it.
const goodEnough = 0.9

// search is the state of one query.
type search struct {
	enough float64 // a lower bound above this is good enough as well
	leaf   float64 // smallest distance of a leaf so far
	low    float64 // smallest lower bound of what was left out
}

func newSearch(enough float64) search { return search{enough, math.Inf(1), math.Inf(1)} }

func (s *search) answer() float64 { return min(s.leaf, s.low) }

// done says whether a subtree with the given lower bound needs no visit.
func (s *search) done(lower float64) bool {
	if lower < s.enough && lower < goodEnough*s.leaf && lower < s.leaf {
		return false
	}
	s.low = min(s.low, lower)
	return true
}

// minToSolid returns a lower bound, good to goodEnough, of the smallest clearance
// of a sphere tree's leaves to a primitive body, or any that is at least enough;
// t maps the tree's coordinates to the body's.
func (c *tree) minToSolid(body *solid, t *transform, enough float64) float64 {
	s := newSearch(enough)
	n := &c.nodes[c.root]
	c.solidBelow(&s, c.root, body.distance(apply(t, n.c))-n.r, body, t)
	return s.answer()
}

func (c *tree) solidBelow(s *search, i int32, lower float64, body *solid, t *transform) {
	n := &c.nodes[i]
	if s.done(lower) {
		return
	}
	if n.left < 0 {
		s.leaf = lower
		return
	}
	l, r := &c.nodes[n.left], &c.nodes[n.right]
	dl := body.distance(apply(t, l.c)) - l.r
	dr := body.distance(apply(t, r.c)) - r.r
	if dl <= dr {
		c.solidBelow(s, n.left, dl, body, t)
		c.solidBelow(s, n.right, dr, body, t)
		return
	}
	c.solidBelow(s, n.right, dr, body, t)
	c.solidBelow(s, n.left, dl, body, t)
}

// minToTree is minToSolid for two sphere trees; t maps b's coordinates to a's.
func minToTree(a, b *tree, t *transform, enough float64) float64 {
	s := newSearch(enough)
	na, nb := &a.nodes[a.root], &b.nodes[b.root]
	pb := apply(t, nb.c)
	treesBelow(&s, a, b, a.root, b.root, &pb, dist(na.c, pb)-na.r-nb.r, t)
	return s.answer()
}

// treesBelow gets the centre of b's node in a's frame, so that it is mapped once.
func treesBelow(s *search, a, b *tree, i, j int32, pb *[3]float64, lower float64, t *transform) {
	if s.done(lower) {
		return
	}
	na, nb := &a.nodes[i], &b.nodes[j]
	if na.left < 0 && nb.left < 0 {
		s.leaf = lower
		return
	}
	if nb.left < 0 || (na.left >= 0 && na.r >= nb.r) {
		l, r := &a.nodes[na.left], &a.nodes[na.right]
		dl := dist(l.c, *pb) - l.r - nb.r
		dr := dist(r.c, *pb) - r.r - nb.r
		if dl <= dr {
			treesBelow(s, a, b, na.left, j, pb, dl, t)
			treesBelow(s, a, b, na.right, j, pb, dr, t)
			return
		}
		treesBelow(s, a, b, na.right, j, pb, dr, t)
		treesBelow(s, a, b, na.left, j, pb, dl, t)
		return
	}
	l, r := &b.nodes[nb.left], &b.nodes[nb.right]
	pl, pr := apply(t, l.c), apply(t, r.c)
	dl := dist(na.c, pl) - na.r - l.r
	dr := dist(na.c, pr) - na.r - r.r
	if dl <= dr {
		treesBelow(s, a, b, i, nb.left, &pl, dl, t)
		treesBelow(s, a, b, i, nb.right, &pr, dr, t)
		return
	}
	treesBelow(s, a, b, i, nb.right, &pr, dr, t)
	treesBelow(s, a, b, i, nb.left, &pl, dl, t)
}

// distance returns a lower bound of the pair's distance at the frames in d: that of
// the bodies themselves where it is as large as to leave no doubt, else that of
// their spheres; or any that is at least enough. Bodies are few and spheres many.
func (c *Checker) distance(d *data, p *pair, enough float64) float64 {
	if math.IsInf(p.sure, 1) {
		return c.clearance(d, p, enough)
	}
	if low := c.clearance(d, p, math.Inf(-1)); low >= enough {
		return low
	}
	if low := c.bodies(d, p, enough); low >= p.sure {
		return low
	}
	return c.clearance(d, p, enough)
}

// bodies returns the distance of a pair without meshes, or any lower bound of it
// that is at least enough or less than what makes sure.
func (c *Checker) bodies(d *data, p *pair, enough float64) float64 {
	a := &c.covers[p.body]
	enough = max(enough, p.sure)
	if p.other < 0 {
		t := relative(&d.frames[a.link], &identity)
		return partsApart(a.parts, c.obstacles[p.obstacle].parts, &t, p.sure, enough)
	}
	b := &c.covers[p.other]
	t := relative(&d.frames[a.link], &d.frames[b.link])
	return partsApart(a.parts, b.parts, &t, p.sure, enough)
}

func partsApart(a, b []part, t *transform, sure, enough float64) float64 {
	least := math.Inf(1)
	for i := range b {
		at := compose(t, &b[i].frame)
		for k := range a {
			one := couple{a: &a[k].solid, b: &b[i].solid, t: relative(&a[k].frame, &at)}
			low := dist([3]float64(one.t[9:]), [3]float64{}) - a[k].bound - b[i].bound
			if low < enough && low < least {
				around := one.a.rounding() + one.b.rounding()
				low, _, _ = one.distance(min(enough, least) + around)
				if low -= around; low < sure {
					return low
				}
			}
			least = min(least, low)
		}
	}
	return least
}

// clearance returns a lower bound of the pair's distance at the frames in d: good
// to goodEnough if it is below enough, else any that is at least enough.
func (c *Checker) clearance(d *data, p *pair, enough float64) float64 {
	body := &c.covers[p.body]
	if p.other >= 0 {
		other := &c.covers[p.other]
		t := relative(&d.frames[body.link], &d.frames[other.link])
		return minToTree(&body.tree, &other.tree, &t, enough)
	}
	o := &c.obstacles[p.obstacle]
	t := relative(&o.frame, &d.frames[body.link])
	if o.tree != nil {
		inv := relative(&t, &identity)
		return minToTree(&body.tree, o.tree, &inv, enough)
	}
	return body.tree.minToSolid(&o.parts[0].solid, &t, enough)
}

var identity = transform{1, 0, 0, 0, 1, 0, 0, 0, 1}
