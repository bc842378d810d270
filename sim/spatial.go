package sim

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

type vec3 = mgl64.Vec3

// mat3 is a 3×3 matrix in row-major order. A rotation named "a from b" maps
// coordinates in frame b to frame a.
type mat3 [9]float64

func identity3() mat3 { return mat3{1, 0, 0, 0, 1, 0, 0, 0, 1} }

func (m *mat3) mul(v vec3) vec3 {
	return vec3{
		m[0]*v[0] + m[1]*v[1] + m[2]*v[2],
		m[3]*v[0] + m[4]*v[1] + m[5]*v[2],
		m[6]*v[0] + m[7]*v[1] + m[8]*v[2],
	}
}

// tmul returns mᵀ·v.
func (m *mat3) tmul(v vec3) vec3 {
	return vec3{
		m[0]*v[0] + m[3]*v[1] + m[6]*v[2],
		m[1]*v[0] + m[4]*v[1] + m[7]*v[2],
		m[2]*v[0] + m[5]*v[1] + m[8]*v[2],
	}
}

func (m *mat3) mulM(b *mat3) mat3 {
	var out mat3
	for i := 0; i < 9; i += 3 {
		for j := range 3 {
			out[i+j] = m[i]*b[j] + m[i+1]*b[3+j] + m[i+2]*b[6+j]
		}
	}
	return out
}

// tmulM returns mᵀ·b.
func (m *mat3) tmulM(b *mat3) mat3 {
	var out mat3
	for i := range 3 {
		for j := range 3 {
			out[3*i+j] = m[i]*b[j] + m[3+i]*b[3+j] + m[6+i]*b[6+j]
		}
	}
	return out
}

func (m *mat3) transpose() mat3 {
	return mat3{m[0], m[3], m[6], m[1], m[4], m[7], m[2], m[5], m[8]}
}

// rotation returns the rotation by angle about the unit vector u (Rodrigues).
func rotation(u vec3, angle float64) mat3 {
	s, c := math.Sincos(angle)
	d := 1 - c
	x, y, z := u[0], u[1], u[2]
	return mat3{
		c + x*x*d, x*y*d - z*s, x*z*d + y*s,
		y*x*d + z*s, c + y*y*d, y*z*d - x*s,
		z*x*d - y*s, z*y*d + x*s, c + z*z*d,
	}
}

// rotationOf returns the rotation of a quaternion, which is normalised first.
func rotationOf(q mgl64.Quat) mat3 {
	n := math.Sqrt(q.W*q.W + q.V.Dot(q.V))
	w, x, y, z := q.W/n, q.V[0]/n, q.V[1]/n, q.V[2]/n
	return mat3{
		1 - 2*(y*y+z*z), 2 * (x*y - w*z), 2 * (x*z + w*y),
		2 * (x*y + w*z), 1 - 2*(x*x+z*z), 2 * (y*z - w*x),
		2 * (x*z - w*y), 2 * (y*z + w*x), 1 - 2*(x*x+y*y),
	}
}

// quatOf returns the unit quaternion of a rotation with w ≥ 0 (Shepperd 1978:
// divide by the largest of the four components).
func quatOf(m *mat3) mgl64.Quat {
	tr := m[0] + m[4] + m[8]
	var q [4]float64 // w x y z
	switch {
	case tr >= m[0] && tr >= m[4] && tr >= m[8]:
		q = [4]float64{1 + tr, m[7] - m[5], m[2] - m[6], m[3] - m[1]}
	case m[0] >= m[4] && m[0] >= m[8]:
		q = [4]float64{m[7] - m[5], 1 + m[0] - m[4] - m[8], m[1] + m[3], m[2] + m[6]}
	case m[4] >= m[8]:
		q = [4]float64{m[2] - m[6], m[1] + m[3], 1 - m[0] + m[4] - m[8], m[5] + m[7]}
	default:
		q = [4]float64{m[3] - m[1], m[2] + m[6], m[5] + m[7], 1 - m[0] - m[4] + m[8]}
	}
	n := math.Sqrt(q[0]*q[0] + q[1]*q[1] + q[2]*q[2] + q[3]*q[3])
	if q[0] < 0 {
		n = -n
	}
	return mgl64.Quat{W: q[0] / n, V: vec3{q[1] / n, q[2] / n, q[3] / n}}
}

// frame is a rigid transform "a from b": x_a = R·x_b + P.
type frame struct {
	R mat3
	P vec3
}

func identityFrame() frame { return frame{R: identity3()} }

func frameOf(p robot.Pose) frame { return frame{R: rotationOf(p.Q), P: p.P} }

func (f *frame) pose() robot.Pose { return robot.Pose{P: f.P, Q: quatOf(&f.R)} }

func (f *frame) apply(v vec3) vec3 { return f.R.mul(v).Add(f.P) }

func (f *frame) mul(b *frame) frame {
	return frame{R: f.R.mulM(&b.R), P: f.R.mul(b.P).Add(f.P)}
}

// inverseMul returns f⁻¹·b.
func (f *frame) inverseMul(b *frame) frame {
	return frame{R: f.R.tmulM(&b.R), P: f.R.tmul(b.P.Sub(f.P))}
}

// sv is a spatial vector in Plücker coordinates: angular part first. It is a
// motion (ω, v) or a force (n, f), both about the origin of the frame they are in.
type sv struct{ a, l vec3 }

func (x sv) add(y sv) sv            { return sv{x.a.Add(y.a), x.l.Add(y.l)} }
func (x sv) scale(k float64) sv     { return sv{x.a.Mul(k), x.l.Mul(k)} }
func (x sv) dot(y sv) float64       { return x.a.Dot(y.a) + x.l.Dot(y.l) }
func crossMotion(v, m sv) sv        { return sv{v.a.Cross(m.a), v.a.Cross(m.l).Add(v.l.Cross(m.a))} }
func crossForce(v, f sv) sv         { return sv{v.a.Cross(f.a).Add(v.l.Cross(f.l)), v.a.Cross(f.l)} }
func (f *frame) motionDown(m sv) sv { return sv{f.R.tmul(m.a), f.R.tmul(m.l.Sub(f.P.Cross(m.a)))} }
func (f *frame) forceUp(x sv) sv    { l := f.R.mul(x.l); return sv{f.R.mul(x.a).Add(f.P.Cross(l)), l} }
func (b *inertia) momentum(v sv) sv {
	return sv{b.i.mul(v.a).Add(b.h.Cross(v.l)), v.l.Mul(b.m).Sub(b.h.Cross(v.a))}
}
func (b *inertia) add(c *inertia) { b.m += c.m; b.h = b.h.Add(c.h); addM(&b.i, &c.i) }
func addM(a, b *mat3) {
	for k := range a {
		a[k] += b[k]
	}
}

// inertia is a rigid-body inertia in some frame: mass, first moment h = m·c, and
// the rotational inertia about that frame's origin.
type inertia struct {
	m float64
	h vec3
	i mat3
}

// up expresses an inertia, given in the child frame, in the parent frame that f
// maps to (Featherstone 2008, equation 2.66).
func (f *frame) up(b *inertia) inertia {
	h := f.R.mul(b.h)
	out := inertia{m: b.m, h: h.Add(f.P.Mul(b.m))}
	t := f.R.mulM(&b.i)
	rt := f.R.transpose()
	out.i = t.mulM(&rt)
	// −r×h× − h'×r× with a×b× = b·aᵀ − (a·b)·1
	d := f.P.Dot(h) + f.P.Dot(out.h)
	for r := range 3 {
		for c := range 3 {
			out.i[3*r+c] -= h[r]*f.P[c] + f.P[r]*out.h[c]
		}
		out.i[4*r] += d
	}
	return out
}
