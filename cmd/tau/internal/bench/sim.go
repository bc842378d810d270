package bench

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/sim"
)

const (
	simRounds    = 15
	simSeconds   = 5.0 // the motion's length
	simTolerance = 0.02
	simBoundMS   = 100
)

// Sim measures the rehearsal of a motion of 5 s of the built-in arm with collision
// on, beside the rehearsal of the same motion by a robot without any bodies: the
// bare dynamics. Rounds of both alternate.
func Sim(ctx context.Context) (Report, error) {
	model, err := builtin.Load("so101")
	if err != nil {
		return Report{}, err
	}
	m, start, err := fiveSeconds(model)
	if err != nil {
		return Report{}, err
	}
	with, err := sim.NewRehearser(model, nil, 1, sim.RehearserOptions{})
	if err != nil {
		return Report{}, err
	}
	without, err := sim.NewRehearser(bodiless(model), nil, 1, sim.RehearserOptions{})
	if err != nil {
		return Report{}, err
	}
	var whole, bare []float64
	var record robot.Rehearsal
	for round := range simRounds + 1 { // the first warms up and isn't counted
		t := time.Now()
		if record, err = with.Rehearse(ctx, start, m); err != nil {
			return Report{}, err
		}
		a := since(t, time.Millisecond)
		t = time.Now()
		if _, err = without.Rehearse(ctx, start, m); err != nil {
			return Report{}, err
		}
		b := since(t, time.Millisecond)
		if round > 0 {
			whole, bare = append(whole, a), append(bare, b)
		}
	}
	r := newReport("sim", "rehearsal of a motion of the built-in arm, collision on", simRounds, simBoundMS,
		Measure{fmt.Sprintf("rehearsal of %.2f s", record.Duration), "ms", spread(whole)},
		Measure{"baseline: without bodies (dynamics alone)", "ms", spread(bare)})
	r.Notes = append(r.Notes, fmt.Sprintf("%.0f × faster than the motion itself (median)", record.Duration*1000/r.Measures[0].Median))
	if c := record.Clearance; c != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("smallest clearance %.1f mm between %s and %s", c.Distance*1000, c.A, c.B))
	}
	return r, nil
}

// fiveSeconds makes a motion of all the arm's joints from home that lasts 5 s.
func fiveSeconds(m *robot.Model) (robot.Motion, robot.State, error) {
	from, to := slices.Clone(m.Home), slices.Clone(m.Home)
	for k, i := range m.Arm {
		l := m.Limits[i]
		// Towards the further end of its range, the base joint most: a motion that
		// goes nowhere near another body.
		span := l.Upper - from[i]
		if from[i]-l.Lower > span {
			span = l.Lower - from[i]
		}
		to[i] += span * 0.5 / float64(1+2*k)
	}
	lo, hi := 1e-3, 1.0 // of the limits
	var t robot.Trajectory
	for range 60 {
		scale := math.Sqrt(lo * hi)
		var err error
		if t, err = trajectory.PointToPoint(m.JointNames(), m.Limits, from, to, scale); err != nil {
			return robot.Motion{}, robot.State{}, err
		}
		if t.Duration() > simSeconds {
			lo = scale
		} else {
			hi = scale
		}
	}
	if d := t.Duration(); math.Abs(d-simSeconds) > simTolerance {
		return robot.Motion{}, robot.State{}, fmt.Errorf("the motion lasts %.3f s, not %.0f s", d, simSeconds)
	}
	n := m.DoF()
	return robot.Motion{
		ID: "bench", Trajectory: t, StartTolerance: slices.Repeat([]float64{0.02}, n), MaxDeviation: slices.Repeat([]float64{0.2}, n),
	}, robot.State{Positions: from, Setpoints: slices.Clone(from), Enabled: true}, nil
}

// bodiless is a copy of m whose links have no collision bodies.
func bodiless(m *robot.Model) *robot.Model {
	d := *m.Description
	d.Links = slices.Clone(d.Links)
	for i := range d.Links {
		d.Links[i].Colliders = nil
	}
	out := *m
	out.Description = &d
	return &out
}
