package planning

import (
	"math"

	"github.com/tau-robot/tau/motion/kinematics"
)

const (
	// maxIterations bounds one descent.
	maxIterations = 200
	// maxStep bounds what one iteration may turn or slide a joint, rad or m.
	maxStep = 0.5
	// stallWindow and stallRatio end a descent whose cost has fallen by less
	// than the ratio in as many iterations.
	stallWindow = 12
	stallRatio  = 0.01
	// thoroughIterations and thoroughGain are the same for a descent towards
	// something out of reach, which ends when a window brings less than the gain, m.
	thoroughIterations = 2000
	thoroughGain       = 1e-8
	// dampingFloor keeps the damped matrix regular at the goal, in units of its trace.
	dampingFloor = 1e-12
	// dampingUp and dampingDown scale the damping after a step that didn't or did help.
	dampingUp, dampingDown = 4.0, 0.3
	dampingMin, dampingMax = 1e-9, 1e15
)

// solver is the scratch of one inverse kinematics call.
type solver struct {
	p      *Planner
	d      *kinematics.Data
	jac    []float64 // 6 × DoF
	joints []int     // positions in q that may move
	rows   []float64 // residual, up to 6
	a      []float64 // rows × len(joints), by rows
	normal []float64 // len(joints)²
	factor []float64 // its Cholesky factor
	grad   []float64
	step   []float64
	frozen []bool
	trial  []float64
	// Bounds by position in q: the joint limits, unless a caller narrows them.
	lower, upper []float64
	weight       float64 // m per rad: what an angle counts against a distance
}

// newSolver finds out which of the arm's joints the tip depends on.
func (p *Planner) newSolver(tip int) *solver {
	s := &solver{p: p, d: p.tree.NewData(), jac: make([]float64, 6*p.m.DoF()), rows: make([]float64, 6), trial: make([]float64, p.m.DoF())}
	moves := make([]bool, p.m.DoF())
	reach := 0.0
	for l := tip; p.m.Links[l].Parent >= 0; {
		j := &p.m.Joints[p.m.Links[l].Parent]
		a := j.Active
		if j.Mimic != nil {
			a = p.m.Joints[j.Mimic.Joint].Active
		}
		if a >= 0 {
			moves[a] = true
		}
		reach += j.Origin.P.Len()
		l = j.Parent
	}
	for _, i := range p.m.Arm {
		if moves[i] {
			s.joints = append(s.joints, i)
		}
	}
	n := len(s.joints)
	s.a, s.normal, s.factor = make([]float64, 6*n), make([]float64, n*n), make([]float64, n*n)
	s.grad, s.step, s.frozen = make([]float64, n), make([]float64, n), make([]bool, n)
	s.lower, s.upper = make([]float64, p.m.DoF()), make([]float64, p.m.DoF())
	s.bind(0)
	// A third of the arm's length is what an angle of 1 rad typically moves.
	s.weight = max(reach/3, 0.05)
	return s
}

// bind sets the bounds to the joint limits, less an inset of so many rad or m, or a
// quarter of the range if that is less.
func (s *solver) bind(inset float64) {
	for i := range s.lower {
		s.lower[i], s.upper[i] = math.Inf(-1), math.Inf(1)
		if l := &s.p.m.Limits[i]; l.Bounded {
			in := min(inset, (l.Upper-l.Lower)/4)
			s.lower[i], s.upper[i] = l.Lower+in, l.Upper-in
		}
	}
}

// residual computes the frames at q and the residual, and returns half its
// square and the two plain errors in m and rad.
func (s *solver) residual(g *goal, weight float64, q []float64) (cost, dist, angle float64) {
	s.p.tree.FK(s.d, q)
	e := g.p.Sub(s.d.Position(g.tip))
	copy(s.rows, e[:])
	dist = e.Len()
	cost = dist * dist / 2
	s.rows = s.rows[:3]
	if g.turn != anyTurn {
		w := g.turnError(s.d)
		angle = w.Len()
		s.rows = append(s.rows, weight*w[0], weight*w[1], weight*w[2])
		cost += weight * weight * angle * angle / 2
	}
	return cost, dist, angle
}

// linearise writes the residual's derivative by the joints, with the sign turned,
// into a, for the frames of the last residual.
func (s *solver) linearise(g *goal, weight float64) {
	n, dof := len(s.joints), s.p.m.DoF()
	s.p.tree.Jacobian(s.d, g.tip, s.jac)
	for k, i := range s.joints {
		for r := range len(s.rows) {
			v := s.jac[r*dof+i]
			if r >= 3 {
				v *= weight
			}
			s.a[r*n+k] = v
		}
	}
	if g.turn == axisTurn {
		// A turn about the tool's axis changes nothing that is asked for.
		t := s.d.Direction(g.tip, g.axis)
		for k := range n {
			along := t[0]*s.a[3*n+k] + t[1]*s.a[4*n+k] + t[2]*s.a[5*n+k]
			for r := range 3 {
				s.a[(3+r)*n+k] -= along * t[r]
			}
		}
	}
}

// descend lowers the residual from q, in place and inside the limits, and
// returns the errors it ends with. It is the Levenberg-Marquardt method with the
// residual itself as damping (Sugihara, "Solvability-Unconcerned Inverse
// Kinematics by the Levenberg–Marquardt Method", IEEE T-RO 27(5), 2011, eq. 27),
// scaled by a factor that adapts to whether steps help. Joints at a limit that
// the descent would cross are held there (the projected step of Bertsekas, SIAM
// J. Control 20(2), 1982), the others are clamped, so that every iterate is
// inside the limits. A thorough descent goes on where a target seems out of reach.
func (s *solver) descend(g *goal, weight float64, q []float64, thorough bool) (dist, angle float64) {
	cost, dist, angle := s.residual(g, weight, q)
	mu := 1.0
	past := cost
	iterations := maxIterations
	if thorough {
		iterations = thoroughIterations
	}
	for it := 0; it < iterations && (dist > aimPosition || angle > aimAngle); it++ {
		if it%stallWindow == stallWindow-1 {
			if thorough && math.Sqrt(2*past)-math.Sqrt(2*cost) < thoroughGain || !thorough && cost > past*(1-stallRatio) {
				return dist, angle
			}
			past = cost
		}
		s.linearise(g, weight)
		s.normalEquations(q)
		for {
			if mu > dampingMax || !s.solve(mu*cost) {
				return dist, angle
			}
			s.apply(q)
			c, d, a := s.residual(g, weight, s.trial)
			if c < cost {
				copy(q, s.trial)
				cost, dist, angle = c, d, a
				mu = max(mu*dampingDown, dampingMin)
				break
			}
			mu *= dampingUp
			if mu > dampingMax {
				return dist, angle
			}
		}
	}
	return dist, angle
}

// normalEquations forms the normal matrix and the gradient at q and says which
// joints are held at a limit.
func (s *solver) normalEquations(q []float64) {
	n := len(s.joints)
	for i := range n {
		var v float64
		for r, e := range s.rows {
			v += s.a[r*n+i] * e
		}
		s.grad[i] = v
		for j := range i + 1 {
			v = 0
			for r := range s.rows {
				v += s.a[r*n+i] * s.a[r*n+j]
			}
			s.normal[i*n+j], s.normal[j*n+i] = v, v
		}
	}
	for k, i := range s.joints {
		s.frozen[k] = q[i] <= s.lower[i] && s.grad[k] <= 0 || q[i] >= s.upper[i] && s.grad[k] >= 0
	}
}

// solve computes the damped step by Cholesky's decomposition; false when it
// can't, which the damping floor leaves to a residual that isn't finite.
func (s *solver) solve(damping float64) bool {
	n := len(s.joints)
	var trace float64
	for i := range n {
		trace += s.normal[i*n+i]
	}
	damping += dampingFloor*trace + math.SmallestNonzeroFloat64
	l := s.factor
	clear(l)
	for i := range n {
		if s.frozen[i] {
			l[i*n+i] = 1
			continue
		}
		for j := range i + 1 {
			if s.frozen[j] {
				continue
			}
			v := s.normal[i*n+j]
			if i == j {
				v += damping
			}
			for k := range j {
				v -= l[i*n+k] * l[j*n+k]
			}
			if i == j {
				if !(v > 0) {
					return false
				}
				l[i*n+i] = math.Sqrt(v)
			} else {
				l[i*n+j] = v / l[j*n+j]
			}
		}
	}
	for i := range n {
		v := s.grad[i]
		if s.frozen[i] {
			v = 0
		}
		for k := range i {
			v -= l[i*n+k] * s.step[k]
		}
		s.step[i] = v / l[i*n+i]
	}
	for i := n - 1; i >= 0; i-- {
		v := s.step[i]
		for k := i + 1; k < n; k++ {
			v -= l[k*n+i] * s.step[k]
		}
		s.step[i] = v / l[i*n+i]
	}
	return true
}

// apply writes q plus the bounded, clamped step into trial.
func (s *solver) apply(q []float64) {
	var largest float64
	for _, v := range s.step {
		largest = max(largest, math.Abs(v))
	}
	scale := 1.0
	if largest > maxStep {
		scale = maxStep / largest
	}
	copy(s.trial, q)
	for k, i := range s.joints {
		s.trial[i] = min(max(q[i]+scale*s.step[k], s.lower[i]), s.upper[i])
	}
}
