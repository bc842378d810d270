package planning

import (
	"context"
	"math"

	"github.com/tau-robot/tau/robot"
)

const (
	// LineTolerance and LineTurnTolerance bound how far the tip of a line's curve is
	// from where it should be, at three instants in each interval of the curve: by
	// position, m, and, where the line says anything of it, by orientation or tool
	// axis, rad. They are half of what a caller may rely on, 0.1 mm and 1 mrad; the
	// other half is room for what is between those instants.
	lineTolerance     = 0.5e-4
	lineTurnTolerance = 0.5e-3
	// mostIntervals bounds the intervals of one line's curve, and lineStep and
	// lineTurn are the distances of the knots that are tried first, m and rad.
	mostIntervals = 1024
	lineStep      = 0.01
	lineTurn      = 0.1
	// largestStep bounds what a joint does from one knot to the next, rad or m.
	largestStep = 0.1
	// singularRatio bounds what a joint does in proportion to the tip, whose turn
	// counts as much as in a descent: radians for the time it takes the tip to cover
	// its unit of weight, metres for a metre.
	singularRatio = 30.0
	// lineInset is how far inside its limits a joint is kept on a line, rad or m, or
	// as far as it is where the line starts, when it rides on its limit otherwise:
	// there the curve between the knots needs room.
	lineInset = 1e-3
	// easeIn is the part of a line on which a joint that starts at its limit is led
	// that far inside, where riding on the limit from the start gives no curve either.
	easeIn = 0.25
	// largestDrift bounds the turn of the tip on a line that doesn't hold it, rad.
	largestDrift = math.Pi / 2
	// softWeight is what the turn of the tip counts, relative to the usual weight,
	// where it is kept as small as the line permits, and restWeight what a joint's
	// turn counts relative to the tip's: near a singularity the joints would run to
	// spare the tip the last bit of a turn.
	softWeight = 1e-2
	restWeight = 0.1
	// polishSteps follow each descent, to the last digits: what is left of the
	// residual would be noise in the third derivative of the curve.
	polishSteps = 3
)

// tracker follows one line from a configuration.
type tracker struct {
	p      *Planner
	s      *solver
	l      line
	from   []float64
	q, was []float64
	trial  []float64
	inset  float64 // how far inside their limits the joints are kept, rad or m
	eases  bool    // a joint that starts less far inside is led there, on the line's first part
	u      float64 // the part of the line that the solver's bounds are for
}

// trouble is why a line ends early.
type trouble struct {
	code  robot.Code
	joint int     // position in q, -1 if it isn't about one
	value float64 // of the joint, or by how much the tip turned
	ratio float64
}

// track returns the curve along the line, or nil with what is in the way and how
// far the line can be followed, as a curve of fewer knots if there are enough.
func (t *tracker) track(ctx context.Context) (c *spline, why *trouble, reached []float64, err error) {
	n := leastKnots
	for n < mostIntervals && (float64(n) < t.l.length()/lineStep || float64(n) < t.l.angle/lineTurn) {
		n *= 2
	}
	least := n
	var before *trouble // without easing, with how far the line can be followed
	for n = least; ; n = min(2*n, mostIntervals) {
		var knots []float64
		if knots, why, err = t.knots(ctx, n); err != nil {
			return nil, nil, nil, err
		}
		if why == nil {
			c = newSpline(knots, len(t.from))
			if why = t.verify(c); why == nil {
				return c, nil, nil, nil
			}
			if why.code == robot.CodeJointLimit && t.inset == 0 {
				t.inset = lineInset
				t.bound(0)
				continue
			}
			// What the knots reach is no more than what the curve keeps to.
			knots = knots[:len(t.from)]
		}
		if n < mostIntervals {
			continue
		}
		if before != nil {
			return nil, before, reached, nil
		}
		if why.code != robot.CodeJointLimit || t.inset == 0 || !t.startsAtLimit() {
			return nil, why, knots, nil
		}
		before, reached = why, knots
		t.eases, n = true, least/2
	}
}

// startsAtLimit reports whether a joint that moves the tip is less far inside its
// limits where the line starts than the inset.
func (t *tracker) startsAtLimit() bool {
	for _, i := range t.s.joints {
		if l := &t.p.m.Limits[i]; l.Bounded && min(t.from[i]-l.Lower, l.Upper-t.from[i]) < t.inset {
			return true
		}
	}
	return false
}

// knots follows the line in n steps from the start. Each knot is found from the one
// before, so that the arm stays on its branch. It returns the knots, start
// included, and what stopped it. The error is ctx's.
func (t *tracker) knots(ctx context.Context, n int) ([]float64, *trouble, error) {
	dof := len(t.from)
	out := make([]float64, 0, (n+1)*dof)
	out = append(out, t.from...)
	copy(t.q, t.from)
	for k := 1; k <= n; k++ {
		if err := cancelled(ctx); err != nil {
			return nil, nil, err
		}
		copy(t.was, t.q)
		if why := t.step(float64(k)/float64(n), 1/float64(n)); why != nil {
			return out, why, nil
		}
		out = append(out, t.q...)
	}
	return out, nil, nil
}

// step moves q to where the line is at u, du after was.
func (t *tracker) step(u, du float64) *trouble {
	g := t.l.at(u)
	if t.eases {
		t.bound(u)
		for _, i := range t.s.joints {
			t.q[i] = min(max(t.q[i], t.s.lower[i]), t.s.upper[i])
		}
	}
	if !t.reach(&g) {
		return t.stuck(&g)
	}
	tip := t.l.length() * du
	if t.l.turn != anyTurn {
		tip += t.s.weight * t.l.angle * du
	}
	var why *trouble
	for _, i := range t.s.joints {
		step, ratio := math.Abs(t.q[i]-t.was[i]), 0.0
		if tip > 0 {
			ratio = step / tip
			if t.p.unit(i) == "rad" {
				ratio *= t.s.weight
			}
		}
		if (step > largestStep || ratio > singularRatio) && (why == nil || ratio > why.ratio) {
			why = &trouble{code: robot.CodeSingular, joint: i, ratio: ratio}
		}
	}
	if why == nil && t.l.turn == anyTurn {
		t.p.tree.FK(t.s.d, t.q)
		if turned := t.l.turned(t.s.d); turned > largestDrift {
			why = &trouble{code: robot.CodeUnreachable, joint: -1, value: turned}
		}
	}
	return why
}

// reach moves q onto the goal from where it is.
func (t *tracker) reach(g *goal) bool {
	s := t.s
	if g.turn == anyTurn {
		// As little turn as can be: the goal's orientation is what it was.
		t.p.tree.FK(s.d, t.q)
		soft := *g
		soft.turn = fullTurn
		copy(soft.r[:], s.d.Frames[g.tip][:9])
		w := s.weight * softWeight
		t.newton(&soft, w, w*w*restWeight*restWeight)
	}
	dist, angle := s.descend(g, s.weight, t.q, false)
	if dist > PositionTolerance || angle > AngleTolerance {
		return false
	}
	cost, _, _ := s.residual(g, s.weight, t.q)
	for range polishSteps {
		copy(t.trial, t.q)
		t.newton(g, s.weight, 0)
		c, _, _ := s.residual(g, s.weight, t.q)
		if !(c < cost) {
			copy(t.q, t.trial)
			break
		}
		cost = c
	}
	return true
}

// newton takes one damped step of the Gauss-Newton method from q.
func (t *tracker) newton(g *goal, weight, damping float64) {
	s := t.s
	s.residual(g, weight, t.q)
	s.linearise(g, weight)
	s.normalEquations(t.q)
	if s.solve(damping) {
		s.apply(t.q)
		copy(t.q, s.trial)
	}
}

// stuck says why the goal isn't reached from was: because a joint is at its limit,
// if it would be without, else because it is out of reach.
func (t *tracker) stuck(g *goal) *trouble {
	s := t.s
	for i := range s.lower {
		s.lower[i], s.upper[i] = math.Inf(-1), math.Inf(1)
	}
	copy(t.q, t.was)
	free := t.reach(g)
	t.bound(t.u)
	why := &trouble{code: robot.CodeUnreachable, joint: -1}
	if !free {
		return why
	}
	worst := 0.0
	for _, i := range s.joints {
		if math.Abs(t.q[i]-t.was[i]) > math.Pi {
			return why // that's another branch altogether
		}
		if over := max(s.lower[i]-t.q[i], t.q[i]-s.upper[i]); over > worst {
			worst = over
			why.code, why.joint, why.value = robot.CodeJointLimit, i, t.q[i]
		}
	}
	return why
}

// bound sets the solver's bounds for u of the way: the limits less the inset, but no
// farther in than the line's start, or than it is led from there.
func (t *tracker) bound(u float64) {
	t.s.bind(t.inset)
	t.u = u
	part := 0.0
	if t.eases {
		part = min(1, u/easeIn)
	}
	for i, q := range t.from {
		if lower := t.s.lower[i]; q < lower {
			t.s.lower[i] = q + part*(lower-q)
		}
		if upper := t.s.upper[i]; q > upper {
			t.s.upper[i] = q + part*(upper-q)
		}
	}
}

// verify holds a curve, not only its knots, against the line and the limits.
func (t *tracker) verify(c *spline) *trouble {
	if i, value := c.within(t.p.m.Limits); i >= 0 {
		return &trouble{code: robot.CodeJointLimit, joint: i, value: value}
	}
	n := c.intervals()
	d := make([]float64, 3*c.dof)
	d1, d2, d3 := d[:c.dof], d[c.dof:2*c.dof], d[2*c.dof:]
	for k := range n {
		for _, part := range [...]float64{0.25, 0.5, 0.75} {
			u := (float64(k) + part) / float64(n)
			c.At(u, t.q, d1, d2, d3)
			g := t.l.at(u)
			if _, dist, angle := t.s.residual(&g, t.s.weight, t.q); dist > lineTolerance || angle > lineTurnTolerance {
				return &trouble{code: robot.CodeSingular, joint: t.fastest(d1)}
			}
		}
	}
	return nil
}

// fastest returns the joint with the largest rate.
func (t *tracker) fastest(rate []float64) int {
	out := t.s.joints[0]
	for _, i := range t.s.joints {
		if math.Abs(rate[i]) > math.Abs(rate[out]) {
			out = i
		}
	}
	return out
}
