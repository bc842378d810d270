package sim

// mat6 is a 6×6 spatial matrix, angular part first.
type mat6 [6][6]float64

func (m *mat6) mul(v sv) sv {
	x := [6]float64{v.a[0], v.a[1], v.a[2], v.l[0], v.l[1], v.l[2]}
	var o [6]float64
	for i := range o {
		for j := range x {
			o[i] += m[i][j] * x[j]
		}
	}
	return sv{vec3{o[0], o[1], o[2]}, vec3{o[3], o[4], o[5]}}
}

func columns(f func(sv) sv) mat6 {
	var m mat6
	for j := range 6 {
		var e [6]float64
		e[j] = 1
		c := f(sv{vec3{e[0], e[1], e[2]}, vec3{e[3], e[4], e[5]}})
		for i, x := range [...]float64{c.a[0], c.a[1], c.a[2], c.l[0], c.l[1], c.l[2]} {
			m[i][j] = x
		}
	}
	return m
}

// articulated is the articulated-body algorithm (Featherstone 2008, table 7.1): an
// acceleration without a mass matrix, the oracle for what the simulator solves by
// composite bodies. For trees without mimic joints.
func articulated(d *dynamics, q, v, tau []float64) []float64 {
	t := d.t
	n := len(t.bodies)
	d.place(q)
	var (
		vel, c, bias, u = make([]sv, n), make([]sv, n), make([]sv, n), make([]sv, n)
		ia              = make([]mat6, n)
		den, rhs        = make([]float64, n), make([]float64, n)
		out             = make([]float64, t.n)
	)
	for i := range t.bodies {
		b := &t.bodies[i]
		var pv sv
		if b.parent >= 0 {
			pv = vel[b.parent]
		}
		vj := b.subspace(sv{}, v[b.active])
		vel[i] = d.x[i].motionDown(pv).add(vj)
		c[i] = crossMotion(vel[i], vj)
		ia[i] = columns(d.in[i].momentum)
		bias[i] = crossForce(vel[i], d.in[i].momentum(vel[i]))
	}
	for i := n - 1; i >= 0; i-- {
		b := &t.bodies[i]
		s := b.subspace(sv{}, 1)
		u[i] = ia[i].mul(s)
		den[i] = s.dot(u[i])
		rhs[i] = tau[b.active] - s.dot(bias[i])
		if b.parent < 0 {
			continue
		}
		reduced := columns(func(x sv) sv {
			return ia[i].mul(x).add(u[i].scale(-u[i].dot(x) / den[i]))
		})
		pa := bias[i].add(reduced.mul(c[i])).add(u[i].scale(rhs[i] / den[i]))
		x := &d.x[i]
		up := columns(func(m sv) sv { return x.forceUp(reduced.mul(x.motionDown(m))) })
		for r := range up {
			for k := range up[r] {
				ia[b.parent][r][k] += up[r][k]
			}
		}
		bias[b.parent] = bias[b.parent].add(x.forceUp(pa))
	}
	acc := make([]sv, n)
	for i := range t.bodies {
		b := &t.bodies[i]
		pa := sv{l: d.gravity.Mul(-1)}
		if b.parent >= 0 {
			pa = acc[b.parent]
		}
		a := d.x[i].motionDown(pa).add(c[i])
		out[b.active] = (rhs[i] - u[i].dot(a)) / den[i]
		acc[i] = b.subspace(a, out[b.active])
	}
	return out
}
