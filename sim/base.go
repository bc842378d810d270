package sim

import (
	"fmt"
	"math"
	"slices"

	"github.com/tau-robot/tau/robot"
)

// A base on two driven wheels doesn't slip: of its joints' velocities v only those
// of what is driven, u, are free, v = S(q)·u, where S gives x, y and yaw what the
// wheels make of them (robot.Base) and everything else itself. With that put into
// the equation of motion and the forces of the constraint projected out,
//
//	SᵀMS·u̇ + Sᵀ(bias + M·Ṡu) = Sᵀτ
//
// remains (B. Siciliano, L. Sciavicco, L. Villani, G. Oriolo, Robotics: Modelling,
// Planning and Control, Springer 2009, section 11.4; for systems like this in
// general Yu. I. Neimark, N. A. Fufaev, Dynamics of Nonholonomic Systems, AMS
// 1972). The rows and columns of x, y and yaw are then those of an identity, so
// that the rest of a step works on all joints as it always does.

// rollTolerance is by how much, m or rad, a trajectory's x, y and yaw may be off
// what its wheels make of them.
const rollTolerance = 1e-4

// rates are the rows of S for x, y and yaw: what each makes of the left wheel's
// speed and of the right one's.
func rates(b *robot.Base, yaw float64) [3][2]float64 {
	s, c := math.Sincos(yaw)
	x, y, turn := b.Radius/2*c, b.Radius/2*s, b.Radius/b.Track
	return [3][2]float64{{x, x}, {y, y}, {-turn, turn}}
}

// carried returns the positions in q of what the wheels move, in rates' order.
func carriedBy(b *robot.Base) [3]int { return [3]int{b.X, b.Y, b.Yaw} }

// reduceMatrix makes the n×n matrix m of the equation of motion SᵀmS.
func reduceMatrix(m []float64, n int, b *robot.Base, yaw float64) {
	s := rates(b, yaw)
	wheels := [2]int{b.Left, b.Right}
	for k, c := range carriedBy(b) {
		for w, i := range wheels {
			for r := range n {
				m[r*n+i] += m[r*n+c] * s[k][w]
			}
		}
	}
	for k, c := range carriedBy(b) {
		for w, i := range wheels {
			for r := range n {
				m[i*n+r] += s[k][w] * m[c*n+r]
			}
		}
	}
	for _, c := range carriedBy(b) {
		for r := range n {
			m[r*n+c], m[c*n+r] = 0, 0
		}
		m[c*n+c] = 1
	}
}

// reduceVector makes the vector f Sᵀf.
func reduceVector(f []float64, b *robot.Base, yaw float64) {
	s := rates(b, yaw)
	for k, c := range carriedBy(b) {
		f[b.Left] += s[k][0] * f[c]
		f[b.Right] += s[k][1] * f[c]
		f[c] = 0
	}
}

// follow sets the velocities of x, y and yaw to what the wheels make of them.
func follow(b *robot.Base, yaw float64, v []float64) {
	s := rates(b, yaw)
	for k, c := range carriedBy(b) {
		v[c] = s[k][0]*v[b.Left] + s[k][1]*v[b.Right]
	}
}

// roll moves x, y and yaw in q by what turns of the wheels make of them: along an
// arc, which is exact as long as the wheels turn in a constant ratio. It returns by
// how much.
func roll(b *robot.Base, q []float64, left, right float64) (dx, dy, dyaw float64) {
	way := b.Radius * (left + right) / 2
	dyaw = b.Radius * (right - left) / b.Track
	chord := way
	if h := dyaw / 2; h != 0 {
		chord *= math.Sin(h) / h
	}
	s, c := math.Sincos(q[b.Yaw] + dyaw/2)
	dx, dy = chord*c, chord*s
	q[b.X] += dx
	q[b.Y] += dy
	q[b.Yaw] += dyaw
	return dx, dy, dyaw
}

// constrain makes the equation of a step the reduced one: base holds the mass
// matrix, rhs its right side, both of all joints.
func (p *plant) constrain() {
	const h = Step
	b, n := p.wheels, len(p.q)
	// M·Ṡu, of which only x and y have a part.
	s, c := math.Sincos(p.q[b.Yaw])
	turn := p.v[b.Yaw] * b.Radius * (p.v[b.Left] + p.v[b.Right]) / 2
	for i := range n {
		p.rhs[i] -= h * turn * (p.base[i*n+b.Y]*c - p.base[i*n+b.X]*s)
	}
	for _, i := range carriedBy(b) {
		p.base[i*n+i] += p.diag[i]
		p.diag[i] = 0
	}
	reduceMatrix(p.base, n, b, p.q[b.Yaw])
	reduceVector(p.rhs, b, p.q[b.Yaw])
}

// rolled moves the base by what its wheels have done in the step.
func (p *plant) rolled() {
	b := p.wheels
	p.dq[b.X], p.dq[b.Y], p.dq[b.Yaw] = roll(b, p.q, p.dq[b.Left], p.dq[b.Right])
	follow(b, p.q[b.Yaw], p.v)
}

// roundAbout has the base follow a turn of one wheel that no drive has made.
func (p *plant) roundAbout(wheel int, by float64) {
	b := p.wheels
	left, right := by, 0.0
	if wheel == b.Right {
		left, right = 0, by
	}
	dx, dy, dyaw := roll(b, p.q, left, right)
	p.dq[b.X], p.dq[b.Y], p.dq[b.Yaw] = p.dq[b.X]+dx, p.dq[b.Y]+dy, p.dq[b.Yaw]+dyaw
}

// rolls refuses a trajectory of a base that its wheels don't make.
func (r *Robot) rolls(m *robot.Motion) error {
	b := r.tree.model.Base
	if b == nil {
		return nil
	}
	n := r.tree.n
	q, at, end := make([]float64, n), make([]float64, n), m.Trajectory.Duration()
	cur := robot.NewCursor(m.Trajectory)
	cur.Sample(0, at, nil, nil)
	for k := 1; ; k++ {
		t := float64(k) * Step
		cur.Sample(t, q, nil, nil)
		roll(b, at, q[b.Left]-at[b.Left], q[b.Right]-at[b.Right])
		at[b.Left], at[b.Right] = q[b.Left], q[b.Right]
		for _, i := range carriedBy(b) {
			if d := q[i] - at[i]; !(math.Abs(d) <= rollTolerance) {
				return robot.LimitErr(robot.CodeInvalidArgument, r.info.Joints[i], d, math.Copysign(rollTolerance, d), unitOf(r.tree, i),
					fmt.Sprintf("at %.3f s the trajectory has %s elsewhere than where its wheels roll to", t, r.info.Joints[i]))
			}
		}
		if t >= end {
			return nil
		}
	}
}

// rollingBrake is a controlled stop of a base: what is driven stops along its line,
// so that the wheels keep their ratio and the base its arc. What the wheels move
// stands in the trajectory; target has it follow them.
func (x *motion) rollingBrake(b *robot.Base) robot.Trajectory {
	r := x.r
	var joints []string
	var driven []int
	var q, v, a []float64
	var limits []robot.JointLimits
	for i, name := range r.info.Joints {
		if b.Carries(i) {
			continue
		}
		joints, driven, limits = append(joints, name), append(driven, i), append(limits, r.info.Limits[i])
		q, v, a = append(q, r.qs[i]), append(v, r.vs[i]), append(a, r.as[i])
	}
	// A timed curve keeps the wheels' ratio to within its tolerance only. What is
	// left across it goes, so that they stop on one line.
	vv, av := 0.0, 0.0
	for i := range v {
		vv += v[i] * v[i]
		av += a[i] * v[i]
	}
	if vv > 0 {
		for i := range a {
			a[i] = av / vv * v[i]
		}
	}
	t, ok := robot.BrakeAlongLine(joints, q, v, a, limits)
	if !ok {
		t = robot.BrakeTrajectory(joints, q, v, a, limits)
	}
	out := robot.Trajectory{Joints: slices.Clone(r.info.Joints)}
	for _, s := range t.Segments {
		n := len(r.qs)
		whole := robot.Segment{Duration: s.Duration, Q: slices.Clone(r.qs), V: make([]float64, n), A: make([]float64, n), J: make([]float64, n)}
		for k, i := range driven {
			whole.Q[i], whole.V[i], whole.A[i], whole.J[i] = s.Q[k], s.V[k], s.A[k], s.J[k]
		}
		out.Segments = append(out.Segments, whole)
	}
	return out
}

// sample reads the setpoint at a time of the trajectory that is followed now. The
// base's own part of one that the simulator has made follows from its wheels.
func (x *motion) sample(t float64) {
	r := x.r
	b := r.tree.model.Base
	if b == nil || !x.own {
		x.cur.Sample(t, r.qs, r.vs, r.as)
		return
	}
	left, right := r.qs[b.Left], r.qs[b.Right]
	at := [3]float64{r.qs[b.X], r.qs[b.Y], r.qs[b.Yaw]}
	x.cur.Sample(t, r.qs, r.vs, r.as)
	for k, i := range carriedBy(b) {
		r.qs[i] = at[k]
	}
	roll(b, r.qs, r.qs[b.Left]-left, r.qs[b.Right]-right)
	follow(b, r.qs[b.Yaw], r.vs)
}
