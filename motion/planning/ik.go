package planning

import (
	"context"
	"math"
	"math/rand/v2"

	"github.com/tau-robot/tau/robot"
)

const (
	// PositionTolerance bounds the error of a solution's position, m.
	PositionTolerance = 1e-6
	// AngleTolerance bounds the error of its orientation or axis, rad.
	AngleTolerance = 1e-6
	// aimPosition and aimAngle are where a descent stops: below the tolerances,
	// so that rounding elsewhere doesn't break them.
	aimPosition = 1e-9 // m
	aimAngle    = 1e-9 // rad

	// maxAttempts bounds the descents of one call: the first from the seed, up to
	// nearAttempts by turns from near the seed and from anywhere, then from anywhere.
	maxAttempts  = 200
	nearAttempts = 12
	// moreAttempts is how many descents follow the first solution, to find one
	// nearer to the seed.
	moreAttempts = 6
	// nearSpread is the standard deviation of starts near the seed, rad or m.
	nearSpread = 0.4
)

// Solution is a configuration that reaches a target.
type Solution struct {
	Q             []float64 // all active joints, inside the limits; the caller owns it
	PositionError float64   // m
	AngleError    float64   // rad
	Attempts      int       // descents that were made
	Clearance     *robot.Clearance
}

// IK finds a configuration in which the target's link is where it has to be. Only
// the model's arm joints move, the others keep the seed's value. Of the free
// solutions that it finds it returns the one nearest to the seed, by the
// Euclidean distance over the arm's joints. It never returns a configuration
// outside the limits.
//
// The same seed and the same state of rng give the same answer. The errors are
// INVALID_ARGUMENT for what isn't finite or doesn't fit the robot, CANCELLED when
// ctx ends, the checker's error when there are solutions but none is free, with a
// free pose nearby as Nearest if one is found, and
// UNREACHABLE with the nearest free pose found as Nearest and its residual as Value:
// the position as x, y, z in m, and, where the position is reachable but the
// orientation isn't, the link's orientation there as qw, qx, qy, qz. Where all near
// poses found are in contact, there is no Nearest and the text names the pair.
func (p *Planner) IK(ctx context.Context, target Target, seed []float64, rng *rand.Rand) (Solution, error) {
	g, err := p.check(&target)
	if err != nil {
		return Solution{}, err
	}
	if err := p.checkVector("seed", seed); err != nil {
		return Solution{}, err
	}
	if rng == nil {
		return Solution{}, robot.Errf(robot.CodeInvalidArgument, "rng", "is missing")
	}
	s := p.newSolver(g.tip)
	start := make([]float64, len(seed))
	for i, x := range seed {
		start[i] = p.clamp(i, x)
	}
	var best Solution
	var contact error // of the first solution that isn't free, which is touching
	touching := make([]float64, len(seed))
	bestSpan := math.Inf(1)
	closest := attempt{cost: math.Inf(1), q: make([]float64, len(seed))}
	q := make([]float64, len(seed))
	last := maxAttempts
	for k := 0; k < last; k++ {
		if ctx.Err() != nil {
			return Solution{}, robot.Errf(robot.CodeCancelled, "ik", "planning was cancelled: %w", context.Cause(ctx))
		}
		s.restart(k, start, q, rng)
		dist, angle := s.descend(&g, s.weight, q, false)
		closest.keep(s, dist, angle, q)
		if dist > PositionTolerance || angle > AngleTolerance {
			continue
		}
		for _, i := range s.joints {
			q[i] = p.nearTurn(i, q[i], seed[i])
		}
		_, dist, angle = s.residual(&g, s.weight, q)
		clear, err := p.checker.Check(q)
		if err != nil {
			if !isContact(err) {
				return Solution{}, err
			}
			if contact == nil {
				contact = err
				copy(touching, q)
			}
			continue
		}
		if math.IsInf(bestSpan, 1) {
			last = min(maxAttempts, k+1+moreAttempts)
		}
		if span := s.span(q, seed); span < bestSpan {
			bestSpan = span
			best = Solution{Q: append([]float64(nil), q...), PositionError: dist, AngleError: angle, Clearance: clear}
		}
		best.Attempts = k + 1
	}
	switch {
	case best.Q != nil:
		return best, nil
	case contact != nil:
		return Solution{}, s.beside(&g, touching, contact, rng)
	}
	return Solution{}, s.unreachable(ctx, &g, start, closest.q, rng)
}

// attempt is the best of the descents that didn't arrive.
type attempt struct {
	cost float64
	q    []float64
}

func (a *attempt) keep(s *solver, dist, angle float64, q []float64) {
	w := s.weight * angle
	if c := dist*dist + w*w; c < a.cost {
		a.cost = c
		copy(a.q, q)
	}
}

// restart writes the start of attempt k into q.
func (s *solver) restart(k int, start, q []float64, rng *rand.Rand) {
	copy(q, start)
	if k == 0 {
		return
	}
	for _, i := range s.joints {
		l := &s.p.m.Limits[i]
		switch {
		case k%2 == 1 && k < nearAttempts:
			q[i] = s.p.clamp(i, start[i]+nearSpread*rng.NormFloat64())
		case l.Bounded:
			q[i] = l.Lower + rng.Float64()*(l.Upper-l.Lower)
		default:
			q[i] = start[i] + (2*rng.Float64()-1)*math.Pi
		}
	}
}

func (s *solver) span(q, seed []float64) float64 {
	var sum float64
	for _, i := range s.joints {
		sum += (q[i] - seed[i]) * (q[i] - seed[i])
	}
	return math.Sqrt(sum)
}
