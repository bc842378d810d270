package sim

import "math"

// dynamics evaluates the equation of motion of a tree,
//
//	M(q)·a + bias(q, v) = τ
//
// over the active joints: mimic joints are folded in by the constant matrix G of
// q_body = G·q + offset, so M = Gᵀ·M_tree·G and bias = Gᵀ·bias_tree. It owns its
// work space and isn't safe for concurrent use. Matrices are row-major n×n.
type dynamics struct {
	t       *tree
	gravity vec3      // m/s², in the root frame
	x       []frame   // parent body from body
	world   []frame   // root from body, valid after worlds
	v, a, f []sv      // in body coordinates
	comp    []inertia // composite inertias
	in      []inertia // the bodies' inertias, payload included
	m       []float64
	bias    []float64
}

func newDynamics(t *tree, gravity vec3) *dynamics {
	nb := len(t.bodies)
	d := &dynamics{
		t: t, gravity: gravity,
		x: make([]frame, nb), world: make([]frame, nb),
		v: make([]sv, nb), a: make([]sv, nb), f: make([]sv, nb),
		comp: make([]inertia, nb), in: make([]inertia, nb),
		m: make([]float64, t.n*t.n), bias: make([]float64, t.n),
	}
	for i := range t.bodies {
		d.in[i] = t.bodies[i].inertia
	}
	return d
}

// place sets the joint transforms for a configuration.
func (d *dynamics) place(q []float64) {
	for i := range d.t.bodies {
		b := &d.t.bodies[i]
		qi := b.mult*q[b.active] + b.off
		if b.prismatic {
			d.x[i] = frame{R: b.at.R, P: b.at.R.mul(b.axis.Mul(qi)).Add(b.at.P)}
		} else {
			r := rotation(b.axis, qi)
			d.x[i] = frame{R: b.at.R.mulM(&r), P: b.at.P}
		}
	}
}

// worlds computes the pose of each body in the root frame; place comes first.
func (d *dynamics) worlds() {
	for i := range d.t.bodies {
		if p := d.t.bodies[i].parent; p >= 0 {
			d.world[i] = d.world[p].mul(&d.x[i])
		} else {
			d.world[i] = d.x[i]
		}
	}
}

// linkFrame returns root from link; worlds comes first.
func (d *dynamics) linkFrame(link int) frame {
	if b := d.t.linkOf[link]; b >= 0 {
		return d.world[b].mul(&d.t.place[link])
	}
	return d.t.place[link]
}

func (b *body) subspace(m sv, rate float64) sv {
	if b.prismatic {
		m.l = m.l.Add(b.axis.Mul(rate))
	} else {
		m.a = m.a.Add(b.axis.Mul(rate))
	}
	return m
}

func (b *body) project(f sv) float64 {
	if b.prismatic {
		return b.axis.Dot(f.l)
	}
	return b.axis.Dot(f.a)
}

// inverse computes τ for an acceleration (nil for none) by the recursive
// Newton-Euler algorithm in body coordinates (Featherstone 2008, table 5.1), into
// out. Gravity is the root's acceleration upwards. place comes first.
func (d *dynamics) inverse(v, acc, out []float64) {
	base := sv{l: d.gravity.Mul(-1)}
	for i := range d.t.bodies {
		b := &d.t.bodies[i]
		var pv sv
		pa := base
		if b.parent >= 0 {
			pv, pa = d.v[b.parent], d.a[b.parent]
		}
		rate := b.mult * v[b.active]
		d.v[i] = b.subspace(d.x[i].motionDown(pv), rate)
		vj := b.subspace(sv{}, rate)
		ai := d.x[i].motionDown(pa).add(crossMotion(d.v[i], vj))
		if acc != nil {
			ai = b.subspace(ai, b.mult*acc[b.active])
		}
		d.a[i] = ai
		d.f[i] = d.in[i].momentum(ai).add(crossForce(d.v[i], d.in[i].momentum(d.v[i])))
	}
	clear(out)
	for i := len(d.t.bodies) - 1; i >= 0; i-- {
		b := &d.t.bodies[i]
		out[b.active] += b.mult * b.project(d.f[i])
		if b.parent >= 0 {
			d.f[b.parent] = d.f[b.parent].add(d.x[i].forceUp(d.f[i]))
		}
	}
}

// mass computes M into d.m by the composite-rigid-body algorithm (Featherstone
// 2008, table 6.2), rotor inertia not included. place comes first.
func (d *dynamics) mass() {
	n := d.t.n
	copy(d.comp, d.in)
	clear(d.m)
	for i := len(d.t.bodies) - 1; i >= 0; i-- {
		b := &d.t.bodies[i]
		if b.parent >= 0 {
			up := d.x[i].up(&d.comp[i])
			d.comp[b.parent].add(&up)
		}
		f := d.comp[i].momentum(b.subspace(sv{}, 1))
		d.m[b.active*n+b.active] += b.mult * b.mult * b.project(f)
		for j := i; d.t.bodies[j].parent >= 0; {
			f = d.x[j].forceUp(f)
			j = d.t.bodies[j].parent
			c := &d.t.bodies[j]
			h := b.mult * c.mult * c.project(f)
			// Both of the pair (i, j) and (j, i); on the diagonal, where two
			// bodies follow the same active joint, that is twice the term.
			d.m[b.active*n+c.active] += h
			d.m[c.active*n+b.active] += h
		}
	}
}

// pointVelocity returns the linear velocity, in the body's own coordinates, of a
// point that is fixed to the body; inverse comes first.
func (d *dynamics) pointVelocity(body int, p vec3) vec3 {
	if body < 0 {
		return vec3{}
	}
	return d.v[body].l.Add(d.v[body].a.Cross(p))
}

// cholesky factors the symmetric positive definite n×n matrix m in place into
// its lower factor; false if it isn't positive definite.
func cholesky(m []float64, n int) bool {
	for j := range n {
		s := m[j*n+j]
		for k := range j {
			s -= m[j*n+k] * m[j*n+k]
		}
		if !(s > 0) {
			return false
		}
		s = math.Sqrt(s)
		m[j*n+j] = s
		for i := j + 1; i < n; i++ {
			t := m[i*n+j]
			for k := range j {
				t -= m[i*n+k] * m[j*n+k]
			}
			m[i*n+j] = t / s
		}
	}
	return true
}

// solve solves L·Lᵀ·x = b in place.
func solve(l []float64, n int, b []float64) {
	for i := range n {
		s := b[i]
		for k := range i {
			s -= l[i*n+k] * b[k]
		}
		b[i] = s / l[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		s := b[i]
		for k := i + 1; k < n; k++ {
			s -= l[k*n+i] * b[k]
		}
		b[i] = s / l[i*n+i]
	}
}
