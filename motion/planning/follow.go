package planning

import (
	"context"
	"math"

	"github.com/tau-robot/tau/motion/trajectory"
	"github.com/tau-robot/tau/robot"
)

// sagitta bounds, in rad or m by joint, how far a curve is from the straight lines
// in joint space that a Checker is asked about where it can't follow curves.
const sagitta = 1e-4

// hermiteError bounds, in rad or m by joint, how far the cubics that a checker
// follows are from a curve that isn't made of cubics.
const hermiteError = 1e-6

// trajectoryChecker is a Checker that follows curves of constant jerk, all of them
// and not at samples; collision.Checker is one. Clearance.At is in the unit of the
// segments' durations.
type trajectoryChecker interface {
	CheckTrajectory(robot.Trajectory) (*robot.Clearance, error)
}

// follow has the checker follow a chain of segments in the direction of travel. It
// returns where the first contact is, in the unit of the durations, with the
// checker's error.
func (p *Planner) follow(ctx context.Context, segments []robot.Segment) (float64, error) {
	if err := cancelled(ctx); err != nil {
		return 0, err
	}
	if c, ok := p.checker.(trajectoryChecker); ok {
		found, err := c.CheckTrajectory(robot.Trajectory{Joints: p.names, Segments: segments})
		if err != nil && found != nil {
			return found.At, err
		}
		return 0, err
	}
	from, to := make([]float64, p.m.DoF()), make([]float64, p.m.DoF())
	var t0 float64
	for k := range segments {
		s := &segments[k]
		var bend float64
		for i := range s.A {
			bend = max(bend, math.Abs(s.A[i]), math.Abs(s.A[i]+s.J[i]*s.Duration))
		}
		n := max(1, math.Ceil(s.Duration*math.Sqrt(bend/(8*sagitta))))
		evaluate(s, 0, from)
		for m := 1.0; m <= n; m++ {
			evaluate(s, s.Duration*m/n, to)
			if found, err := p.checker.CheckSegment(from, to); err != nil {
				at := 0.0
				if found != nil {
					at = found.At
				}
				return t0 + s.Duration*(m-1+at)/n, err
			}
			from, to = to, from
		}
		if err := cancelled(ctx); err != nil {
			return 0, err
		}
		t0 += s.Duration
	}
	return 0, nil
}

func evaluate(s *robot.Segment, t float64, q []float64) {
	for i := range q {
		q[i] = s.Q[i] + t*(s.V[i]+t*(s.A[i]/2+t*s.J[i]/6))
	}
}

// hermite appends n cubics to dst that have the curve's positions and slopes at
// their ends, as segments whose durations are 1/n.
func hermite(dst []robot.Segment, c trajectory.Curve, n, dof int) []robot.Segment {
	h := 1 / float64(n)
	flat := make([]float64, 4*dof*n)
	ends := make([]float64, 6*dof)
	q0, v0, q1, v1, d2, d3 := ends[:dof], ends[dof:2*dof], ends[2*dof:3*dof], ends[3*dof:4*dof], ends[4*dof:5*dof], ends[5*dof:]
	c.At(0, q0, v0, d2, d3)
	for k := range n {
		c.At(min(1, float64(k+1)*h), q1, v1, d2, d3)
		row := flat[4*dof*k:]
		s := robot.Segment{Duration: h, Q: row[:dof], V: row[dof : 2*dof], A: row[2*dof : 3*dof], J: row[3*dof : 4*dof]}
		for i := range dof {
			mean := (q1[i] - q0[i]) / h
			s.Q[i], s.V[i] = q0[i], v0[i]
			s.A[i] = 2 * (3*mean - 2*v0[i] - v1[i]) / h
			s.J[i] = 6 * (v0[i] + v1[i] - 2*mean) / (h * h)
		}
		dst = append(dst, s)
		q0, q1, v0, v1 = q1, q0, v1, v0
	}
	return dst
}
