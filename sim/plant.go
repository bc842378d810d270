package sim

import (
	"fmt"
	"math"

	"github.com/tau-robot/tau/robot"
)

// Step is the period of the simulation and of the control loop in it, s.
const Step = 0.001

// The servo of each joint is a position loop around a velocity loop with an
// integrator (P-PI), as industrial drives and good hobby servos have it:
//
//	v_c = feedForward·v_s + servoPosition·(q_s − q), within speedHeadroom·limit
//	τ   = k·((v_c − v) + servoIntegral·∫(v_c − v)dt), within the effort limit
//	k   = servoVelocity·I,  I the largest inertia that the joint carries
//
// At constant speed it lags by (1 − feedForward)/servoPosition, 6.7 ms; the
// characteristic polynomial s³ + ω_v·s² + ω_v(ω_p+ω_i)·s + ω_v·ω_p·ω_i has its
// poles at -14/s and -68 ± 17i/s, and the integrator takes the droop under
// gravity out. These are assumptions about a robot that nobody has identified.
const (
	servoPosition = 30.0  // ω_p, 1/s
	servoVelocity = 150.0 // ω_v, 1/s
	servoIntegral = 15.0  // ω_i, 1/s
	feedForward   = 0.8
	speedHeadroom = 1.2
	// rotorShare is the part of a joint's effort limit that its own rotor takes
	// at the acceleration limit: it gives the reflected rotor inertia.
	rotorShare = 0.05
	// linkShare is the reflected rotor inertia of a joint without an effort
	// limit, as a fraction of the largest inertia that it carries.
	linkShare = 0.1
	// stickSpeed is the speed, rad/s or m/s, below which Coulomb friction is
	// taken as viscous, so that it has a unique solution at rest.
	stickSpeed = 1e-3
	minInertia = 1e-6 // kg·m² or kg, keeps a massless joint regular
	// standSpeed is what a joint for which the description gives no speed may
	// correct itself with, rad/s or m/s; no motion moves it.
	standSpeed = 0.1
)

// jointParams are the constants of one active joint's drive.
type jointParams struct {
	armature, damping, friction float64
	effort                      float64 // N·m or N, +Inf where the description gives none
	gain                        float64 // k above
	speed                       float64 // saturation of v_c
	lower, upper                float64 // end stops, ±Inf where there are none
}

// driveParams derives the drives of a tree. The inertias are those at sampled
// configurations: all joints at zero, at home, and each at its ends.
func driveParams(t *tree, gravity vec3) ([]jointParams, []string) {
	n := t.n
	out := make([]jointParams, n)
	carried := make([]float64, n)
	d := newDynamics(t, gravity)
	look := func(q []float64) {
		d.place(q)
		d.mass()
		if b := t.model.Base; b != nil {
			reduceMatrix(d.m, n, b, q[b.Yaw])
		}
		for i := range n {
			carried[i] = math.Max(carried[i], d.m[i*n+i])
		}
	}
	q := make([]float64, n)
	look(q)
	if len(t.model.Home) == n {
		look(t.model.Home)
	}
	for i := range n {
		for _, x := range [...]float64{t.model.Limits[i].Lower, t.model.Limits[i].Upper, math.Pi / 2, -math.Pi / 2} {
			q[i] = x
			look(q)
		}
		q[i] = 0
	}
	for k := range t.model.Joints {
		j := &t.model.Joints[k]
		if j.Type == robot.Fixed {
			continue
		}
		i, mult := j.Active, 1.0
		if j.Mimic != nil {
			i, mult = t.model.Joints[j.Mimic.Joint].Active, j.Mimic.Multiplier
		}
		out[i].damping += math.Max(0, j.Damping) * mult * mult
		out[i].friction += math.Max(0, j.Friction) * math.Abs(mult)
	}
	assumed := []string{
		"servo: P-PI loop of 30/s around 150/s, speed feed-forward 0.8, at 1 kHz",
		"contact: a motion or fall ends at first touch; no contact forces",
		"torque on: the drives carry the arm's weight from the start",
	}
	for i := range out {
		l, p := &t.model.Limits[i], &out[i]
		name := t.model.Joints[t.model.Active[i]].Name
		p.lower, p.upper = math.Inf(-1), math.Inf(1)
		if l.Bounded {
			p.lower, p.upper = l.Lower, l.Upper
		}
		p.effort = l.Effort
		if l.Effort == 0 {
			p.effort = math.Inf(1)
			assumed = append(assumed, "effort of "+name+": no limit is given, so the simulated motor has none")
		}
		p.armature = linkShare * carried[i]
		if l.Effort > 0 && l.Acceleration > 0 {
			p.armature = rotorShare * l.Effort / l.Acceleration
		}
		p.armature = math.Max(p.armature, minInertia)
		p.gain = servoVelocity * (carried[i] + p.armature)
		p.speed = speedHeadroom * l.Velocity
		if l.Velocity == 0 {
			p.speed = standSpeed
			assumed = append(assumed, "speed of "+name+": none is given, so it only stands")
		}
		if t.model.Base.Carries(i) {
			// Nothing drives it, and the floor has no end stops.
			p.lower, p.upper, p.armature, p.gain = math.Inf(-1), math.Inf(1), 0, 0
			continue
		}
		assumed = append(assumed, fmt.Sprintf("rotor inertia of %s: %.3g %s", name, p.armature, inertiaUnit(t, i)))
	}
	return out, append(assumed, endStops(t, out)...)
}

func inertiaUnit(t *tree, i int) string {
	if t.model.Joints[t.model.Active[i]].Type == robot.Prismatic {
		return "kg"
	}
	return "kg·m²"
}

// plant is the mechanics and the drives of one simulated robot: its true state,
// which only sensors see through noise and offsets. It isn't safe for concurrent
// use. All slices are by active joint.
type plant struct {
	d      *dynamics
	params []jointParams
	q, v   []float64 // true positions and velocities
	tau    []float64 // what the drives gave in the last step, N·m or N
	dq     []float64 // displacement of the last step
	integ  []float64 // the integrators, N·m or N
	effort []float64 // the drives' limits now
	ext    []float64 // external torque, N·m or N
	offset []float64 // what the drives' encoders read too much, rad or m
	lock   []bool    // joint that nothing moves
	off    []bool    // joint whose drive has no power, whatever step is told; nil: none
	sat    []bool    // the drive gave all it may in the last step
	// block is the sign of the direction in which something holds a joint up, e.g.
	// a gripped body; 0 for none.
	block []float64
	// wheels is nil but for a base, whose x, y and yaw follow them.
	wheels *robot.Base

	base, fac, diag, rhs, free, slope, vc, vn []float64
	held                                      []bool
}

func newPlant(t *tree, params []jointParams, gravity vec3, q []float64) *plant {
	n := t.n
	flat := make([]float64, 16*n)
	next := func() []float64 { s := flat[:n:n]; flat = flat[n:]; return s }
	p := &plant{
		d: newDynamics(t, gravity), params: params, wheels: t.model.Base,
		q: next(), v: next(), tau: next(), dq: next(), integ: next(), effort: next(), ext: next(), block: next(), offset: next(),
		diag: next(), rhs: next(), free: next(), slope: next(), vc: next(), vn: next(),
		lock: make([]bool, n), sat: make([]bool, n), held: make([]bool, n),
		base: make([]float64, n*n), fac: make([]float64, n*n),
	}
	copy(p.q, q)
	for i := range params {
		p.effort[i] = params[i].effort
	}
	return p
}

// settle sets the integrators to what holds the arm where it is at rest: the
// state of a servo that has held this position for a while.
func (p *plant) settle() {
	clear(p.v)
	p.d.place(p.q)
	p.d.inverse(p.v, nil, p.d.bias)
	if p.wheels != nil {
		reduceVector(p.d.bias, p.wheels, p.q[p.wheels.Yaw])
	}
	for i, b := range p.d.bias {
		p.integ[i] = clamp(b, p.effort[i])
		p.tau[i] = p.integ[i]
	}
}

// step advances the plant by Step: semi-implicit Euler, with drive, damping and
// friction implicit in the new velocity (after J. Tan, K. Liu, G. Turk, Stable
// proportional-derivative controllers, IEEE CG&A 31(4), 2011), so that stiff
// drives on light links stay stable:
//
//	(M + h·(D + K))·v' = M·v + h·(τ_0 + τ_ext − bias)
//
// where a drive's torque is τ_0 − K·v'. A drive that would exceed its limit is
// put at the limit and the system solved again; so is a joint that meets an end
// stop, which takes all of its speed. qs and vs are the setpoint at the end of
// the step; without power the drives give nothing. It reports whether the
// solution is finite.
func (p *plant) step(qs, vs []float64, powered bool) bool {
	const h = Step
	n := len(p.q)
	p.d.place(p.q)
	p.d.inverse(p.v, nil, p.d.bias)
	p.d.mass()
	copy(p.base, p.d.m)
	for i := range p.params {
		k := &p.params[i]
		p.base[i*n+i] += k.armature
		p.diag[i] = h * (k.damping + k.friction/math.Max(math.Abs(p.v[i]), stickSpeed))
		p.sat[i], p.held[i] = false, p.lock[i]
		p.free[i], p.slope[i] = 0, 0
		if powered && !p.dead(i) {
			vc := feedForward*vs[i] + servoPosition*(qs[i]-p.q[i]-p.offset[i])
			p.slope[i] = k.gain * (1 + h*servoPosition)
			if math.Abs(vc) > k.speed {
				vc = clamp(vc, k.speed)
				p.slope[i] = k.gain
			}
			p.vc[i] = vc
			p.free[i] = k.gain*vc + p.integ[i]
		}
	}
	for i := range n {
		s := h * (p.ext[i] - p.d.bias[i])
		for j := range n {
			s += p.base[i*n+j] * p.v[j]
		}
		p.rhs[i] = s
	}
	if p.wheels != nil {
		p.constrain()
	}
	// Each pass adds at least one saturated or held joint, so it ends.
	for range 2*n + 1 {
		if !p.solveOnce(h) {
			return false
		}
		if !p.changed() {
			break
		}
	}
	for i := range n {
		if powered && !p.dead(i) && !p.sat[i] && !p.held[i] {
			p.integ[i] = clamp(p.integ[i]+p.params[i].gain*servoIntegral*h*(p.vc[i]-p.vn[i]), p.effort[i])
		}
		p.dq[i] = h * p.vn[i]
		p.q[i] += p.dq[i]
		p.v[i] = p.vn[i]
		if math.IsNaN(p.q[i]) || math.IsInf(p.q[i], 0) {
			return false
		}
	}
	if p.wheels != nil {
		p.rolled()
	}
	return true
}

// dead says that a joint's drive has no power of its own.
func (p *plant) dead(i int) bool { return p.off != nil && p.off[i] }

func (p *plant) solveOnce(h float64) bool {
	n := len(p.q)
	copy(p.fac, p.base)
	for i := range n {
		p.vn[i] = p.rhs[i] + h*p.free[i]
		p.fac[i*n+i] += p.diag[i] + h*p.slope[i]
	}
	for i := range n {
		if !p.held[i] {
			continue
		}
		for j := range n {
			p.fac[i*n+j], p.fac[j*n+i] = 0, 0
		}
		p.fac[i*n+i], p.vn[i] = 1, 0
	}
	if !cholesky(p.fac, n) {
		return false
	}
	solve(p.fac, n, p.vn)
	for i := range n {
		p.tau[i] = p.free[i] - p.slope[i]*p.vn[i]
	}
	return true
}

// changed puts drives that exceed their limit at it and holds joints that run
// into a stop, and reports whether there were any.
func (p *plant) changed() bool {
	any := false
	for i := range p.tau {
		if !p.sat[i] && math.Abs(p.tau[i]) > p.effort[i] {
			p.sat[i], any = true, true
			p.free[i], p.slope[i] = math.Copysign(p.effort[i], p.tau[i]), 0
			p.tau[i] = p.free[i]
		}
		if p.held[i] {
			continue
		}
		next, v := p.q[i]+Step*p.vn[i], p.vn[i]
		if v > 0 && (next > p.params[i].upper || p.block[i] > 0) || v < 0 && (next < p.params[i].lower || p.block[i] < 0) {
			p.held[i], any = true, true
		}
	}
	return any
}

// energy returns kinetic plus potential energy, J, rotors included; the potential
// is zero where all centres of mass are at the root's origin. For tests.
func (p *plant) energy() float64 {
	p.d.place(p.q)
	p.d.worlds()
	p.d.inverse(p.v, nil, p.d.bias)
	var e float64
	for i := range p.d.in {
		in := &p.d.in[i]
		e += 0.5 * p.d.v[i].dot(in.momentum(p.d.v[i]))
		com := p.d.world[i].R.mul(in.h).Add(p.d.world[i].P.Mul(in.m))
		e -= com.Dot(p.d.gravity)
	}
	for i := range p.params {
		e += 0.5 * p.params[i].armature * p.v[i] * p.v[i]
	}
	return e
}

func clamp(x, limit float64) float64 { return math.Max(-limit, math.Min(limit, x)) }
