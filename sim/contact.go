package sim

import "math"

// Where bodies meet they come to rest: the step in which they do is taken only as
// far as they stay apart, and everything stands still from there on, an inelastic
// impact that takes all of the kinetic energy. Nothing slides along a contact, as
// no contact forces are simulated; an arm that falls lies where it first touches
// something.

const (
	// restGap is how far apart, m, bodies may be at most where a step that ends in
	// a contact leaves them: conservative advancement gets there in a few looks. A
	// pair that a motion finds this near counts as touching.
	restGap = 1e-4
	// restSlack is how much nearer, m, than at its start bodies may get in a fall
	// that touch already then: what the distance iteration may be wrong by. What
	// lies on something doesn't sink in, however often torque is switched.
	restSlack = 2 * contactMargin
	// advances bounds the looks that find where bodies meet within a step; what
	// they have got to by then is still apart.
	advances = 64
)

// slack is how much nearer bodies may get that touch when a motion or fall begins.
func (m *monitor) slack() float64 {
	if m.falling {
		return restSlack
	}
	return deeper
}

// near is the distance up to which a group's bodies count as touching when a motion
// or fall begins.
func (m *monitor) near(g *group) float64 {
	switch {
	case m.falling:
		return contactMargin
	case m.held >= 0 && (g.a == m.held || g.b == m.held):
		return deeper
	}
	return restGap
}

// split makes a group of its own of each pair of the i-th one, the first in its place
// and the others at the end: where bodies of two links touch already, others of
// theirs may not go in as deep. It reports whether there was anything to split.
func (m *monitor) split(i int) bool {
	pairs := m.groups[i].pairs
	if len(pairs) == 1 {
		return false
	}
	for k := range pairs {
		g := m.groups[i] // the reach, which nothing changes any more, is shared
		g.a, g.b, g.pairs = pairs[k].a, pairs[k].b, pairs[k:k+1:k+1]
		if k > 0 {
			m.groups = append(m.groups, g)
		}
	}
	g := &m.groups[i]
	g.a, g.b, g.pairs = pairs[0].a, pairs[0].b, pairs[:1:1]
	return true
}

// until returns which part of the last step, by dq to q, the joints may make for
// the groups that have met in it to stay apart, or no deeper in each other than
// they may be: from 0 where they can't make any of it to 1.
func (m *monitor) until(q, dq []float64) float64 {
	s := 1.0
	for _, i := range m.met {
		s = min(s, m.apart(&m.groups[i], q, dq, s))
	}
	return s
}

// apart is until for one group and the part of the step up to most, by
// conservative advancement (B. Mirtich, Impulse-based Dynamic Simulation of Rigid
// Body Systems, 1996): what is left of the distance, over the fastest approach
// that the tree allows, is safe to go.
func (m *monitor) apart(g *group, q, dq []float64, most float64) float64 {
	by := g.approach(dq)
	s := 0.0
	for range advances {
		gap := m.measureAt(g, q, dq, s) - g.floor - contactMargin
		if !(gap > restGap/2) {
			return s
		}
		if s += gap / by; s >= most {
			return most
		}
	}
	return s
}

// stepBack accounts for a step by dq of which the joints have made the part s only.
func (m *monitor) stepBack(dq []float64, s float64) {
	for i := range m.groups {
		g := &m.groups[i]
		g.travel += (1 - s) * g.approach(dq)
	}
}

// approach is how much nearer a group's bodies can have come by a displacement of
// the joints, m.
func (g *group) approach(dq []float64) float64 {
	var by float64
	for j, r := range g.reach {
		by += r * math.Abs(dq[j])
	}
	return by
}

// meet brings the robot to rest where the bodies are that the monitor has found to
// meet in the last step. With power the drives then carry what they hold.
func (r *Robot) meet(powered bool) {
	p := r.pl
	s := r.mon.until(p.q, p.dq)
	r.mon.stepBack(p.dq, s)
	for i := range p.q {
		p.q[i] -= (1 - s) * p.dq[i]
		p.dq[i] *= s
	}
	clear(p.v)
	if powered {
		r.carry()
	} else {
		clear(p.tau)
	}
	r.sense(0)
}

// carry sets the drives' integrators to what holds the robot where it stands, and
// the jaw's, where it grips, to the effort that it presses with.
func (r *Robot) carry() {
	r.pl.settle()
	if r.mon.held < 0 {
		return
	}
	g := r.opts.Model.Gripper.Joint
	r.pl.integ[g] = 0
	if e := r.pl.effort[g]; !math.IsInf(e, 0) {
		r.pl.integ[g] = r.closing() * e
	}
}
