package planning

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/tau-robot/tau/robot"
)

const (
	// nearestAttempts is how many more descents look for the nearest position when
	// a position is out of reach, and as many again for a free one.
	nearestAttempts = 16
	// softTurn is the weight of the angle, relative to the usual one, when the
	// nearest orientation at a reachable position is looked for.
	softTurn = 1e-3
	// nearerBy is by how much a configuration has to be nearer to be preferred, m or
	// rad: less is what descents to the same place differ by.
	nearerBy = 1e-9
)

// nearby keeps the nearest configuration found, and the nearest free one.
type nearby struct {
	s         *solver
	off, free float64 // distance or angle
	q, freeQ  []float64
	contact   error // of q, nil if it is free
}

func (s *solver) nearby() *nearby {
	n := s.p.m.DoF()
	return &nearby{s: s, off: math.Inf(1), free: math.Inf(1), q: make([]float64, n), freeQ: make([]float64, n)}
}

// consider takes a configuration into account. An error is a failure to answer.
func (n *nearby) consider(off float64, q []float64) error {
	nearest := off < n.off-nearerBy
	if !nearest && !(off < n.free-nearerBy) {
		return nil
	}
	_, err := n.s.p.checker.Check(q)
	if err != nil && !isContact(err) {
		return err
	}
	if nearest {
		n.off, n.contact = off, err
		copy(n.q, q)
	}
	if err == nil && off < n.free-nearerBy {
		n.free = off
		copy(n.freeQ, q)
	}
	return nil
}

// unreachable says how near the arm comes: to the position alone if that is out
// of reach, else to the orientation at that position. What it offers is free.
func (s *solver) unreachable(ctx context.Context, g *goal, start, closest []float64, rng *rand.Rand) error {
	plain := *g
	plain.turn = anyTurn
	near := s.nearby()
	trial := append([]float64(nil), closest...)
	attempts := nearestAttempts
	for k := 0; k <= attempts; k++ {
		if err := cancelled(ctx); err != nil {
			return err
		}
		if k > 0 {
			s.restart(k, start, trial, rng)
		}
		dist, _ := s.descend(&plain, 0, trial, true)
		if dist <= PositionTolerance && g.turn != anyTurn {
			return s.unturned(ctx, g, start, closest, rng)
		}
		if err := near.consider(dist, trial); err != nil {
			return err
		}
		if k == nearestAttempts && near.contact != nil {
			attempts = 2 * nearestAttempts
		}
	}
	e := &robot.Error{Code: robot.CodeUnreachable, Where: s.p.m.Links[g.tip].Name, Text: "the position is out of reach within the joint limits"}
	near.report(e, g, false)
	e.Value.Name, e.Value.Unit = "distance", "m"
	e.Limit = &robot.Quantity{Value: PositionTolerance, Unit: "m"}
	return e
}

// unturned is unreachable for a position that is within reach, only not with the
// orientation or tool axis.
func (s *solver) unturned(ctx context.Context, g *goal, start, closest []float64, rng *rand.Rand) error {
	plain := *g
	plain.turn = anyTurn
	near := s.nearby()
	trial := append([]float64(nil), closest...)
	for k := 0; k <= nearestAttempts && (k == 0 || near.contact != nil || math.IsInf(near.off, 1)); k++ {
		if err := cancelled(ctx); err != nil {
			return err
		}
		if k > 0 {
			s.restart(k, start, trial, rng)
			if dist, _ := s.descend(&plain, 0, trial, true); dist > PositionTolerance {
				continue
			}
		}
		s.descend(g, s.weight*softTurn, trial, true)
		_, _, angle := s.residual(g, s.weight, trial)
		if err := near.consider(angle, trial); err != nil {
			return err
		}
	}
	what := "orientation"
	if g.turn == axisTurn {
		what = "tool axis"
	}
	e := &robot.Error{
		Code: robot.CodeUnreachable, Where: s.p.m.Links[g.tip].Name,
		Text: fmt.Sprintf("the position is within reach, but not with this %s", what),
	}
	near.report(e, g, true)
	e.Value.Name, e.Value.Unit = "angle", "rad"
	e.Limit = &robot.Quantity{Value: AngleTolerance, Unit: "rad"}
	return e
}

// report writes what is offered: the nearest free configuration's pose, or why
// there is none.
func (n *nearby) report(e *robot.Error, g *goal, turn bool) {
	if math.IsInf(n.free, 1) {
		e.Value = &robot.Quantity{Value: n.off}
		var c *robot.Error
		if errors.As(n.contact, &c) {
			e.Text += "; in the nearest pose found " + c.Text
			e.Err = n.contact
		}
		return
	}
	if n.contact != nil {
		e.Text += "; the nearest pose is in contact, what is offered is the nearest free one found"
	}
	e.Value = &robot.Quantity{Value: n.free}
	n.s.p.tree.FK(n.s.d, n.freeQ)
	e.Nearest = quantities(n.s.d.Pose(g.tip), turn)
}

// besideShells and besideTries are the distances, rad or m by joint, and the number
// of random configurations at each among which a free one beside a solution in
// contact is looked for; besideHalvings bring it nearer.
const (
	besideTries    = 12
	besideHalvings = 10
)

var besideShells = [...]float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64}

// beside adds to a contact that all solutions of a goal end with the nearest free
// pose that a short search around one of them finds, if it finds one.
func (s *solver) beside(g *goal, q []float64, contact error, rng *rand.Rand) error {
	var c *robot.Error
	if !errors.As(contact, &c) {
		return contact
	}
	off := func(q []float64) float64 {
		_, dist, angle := s.residual(g, s.weight, q)
		return math.Hypot(dist, s.weight*angle)
	}
	nearest, best, trial := math.Inf(1), make([]float64, len(q)), make([]float64, len(q))
	consider := func() error {
		d := off(trial)
		if d >= nearest {
			return nil
		}
		_, err := s.p.checker.Check(trial)
		if err == nil {
			nearest = d
			copy(best, trial)
		} else if !isContact(err) {
			return err
		}
		return nil
	}
	for _, r := range besideShells {
		for range besideTries {
			copy(trial, q)
			for _, i := range s.joints {
				trial[i] = s.p.clamp(i, q[i]+r*rng.NormFloat64())
			}
			if err := consider(); err != nil {
				return err
			}
		}
	}
	if math.IsInf(nearest, 1) {
		return contact
	}
	in := append([]float64(nil), q...)
	for range besideHalvings {
		for i := range trial {
			trial[i] = (in[i] + best[i]) / 2
		}
		before := nearest
		if err := consider(); err != nil {
			return err
		}
		if nearest == before {
			copy(in, trial)
		}
	}
	out := *c
	s.residual(g, s.weight, best) // for the frames
	d := s.d.Position(g.tip).Sub(g.p).Len()
	out.Text += fmt.Sprintf("; a free pose was found %.4g m from the one asked for", d)
	out.Nearest = quantities(s.d.Pose(g.tip), g.turn != anyTurn)
	return &out
}

// short adds to the contact of a path's goal the last free configuration on the
// straight line to it, if one is found: those of its joints that the path moves.
func (p *Planner) short(a, b []float64, contact error) error {
	var c *robot.Error
	if !errors.As(contact, &c) {
		return contact
	}
	const steps = 64
	for k := 1; k < steps; k++ {
		q := between(b, a, float64(k)/steps)
		_, err := p.checker.Check(q)
		if err != nil && !isContact(err) {
			return err
		}
		if err != nil {
			continue
		}
		out := *c
		for i := range q {
			if a[i] != b[i] {
				out.Nearest = append(out.Nearest, robot.Quantity{Name: p.names[i], Value: q[i], Unit: p.unit(i)})
			}
		}
		return &out
	}
	return contact
}
