package planning

import (
	"fmt"
	"math"
	"strings"

	"github.com/tau-robot/tau/robot"
)

// How far outside its limits a joint may be where a path starts: what servo lag
// and sensor noise make of a joint that rests at its limit. They equal the
// tolerance in which a start state counts as unmoved.
const (
	StartToleranceAngle    = 0.02 // rad
	StartToleranceDistance = 2e-3 // m
)

// startTolerance returns the tolerance for joint i.
func (p *Planner) startTolerance(i int) float64 {
	if p.unit(i) == "m" {
		return StartToleranceDistance
	}
	return StartToleranceAngle
}

// inside returns a copy of a start, with the joints that are outside their limits
// by no more than the tolerance at their limits. A joint farther outside is
// JOINT_LIMIT, with what would lead back inside as Nearest.
func (p *Planner) inside(from []float64) ([]float64, error) {
	if err := p.checkVector("start", from); err != nil {
		return nil, err
	}
	if out := p.outside(from); len(out) > 0 {
		return nil, p.outsideErr(from, out)
	}
	q := make([]float64, len(from))
	for i, x := range from {
		q[i] = p.clamp(i, x)
	}
	return q, nil
}

// outside returns the joints that are farther outside their limits than the
// tolerance.
func (p *Planner) outside(from []float64) []int {
	var out []int
	for i, x := range from {
		if math.Abs(x-p.clamp(i, x)) > p.startTolerance(i) {
			out = append(out, i)
		}
	}
	return out
}

func (p *Planner) outsideErr(from []float64, out []int) error {
	i := out[0]
	in := p.clamp(i, from[i])
	side := "below its lower"
	if from[i] > in {
		side = "above its upper"
	}
	names := make([]string, len(out))
	near := make([]robot.Quantity, len(out))
	for k, i := range out {
		names[k] = p.names[i]
		near[k] = robot.Quantity{Name: p.names[i], Value: p.clamp(i, from[i]), Unit: p.unit(i)}
	}
	e := robot.LimitErr(robot.CodeJointLimit, "start."+p.names[i], from[i], in, p.unit(i), fmt.Sprintf(
		"joint %s is %s limit; the only motion from here takes %s straight back to the limit, no farther inside than %g rad or %g m, while all other joints hold",
		p.names[i], side, strings.Join(names, ", "), StartToleranceAngle, StartToleranceDistance))
	e.Nearest = near
	return e
}

// wayIn returns the straight line from a start outside the limits back inside, as
// JointPath describes it. b is the goal, out are the joints outside.
func (p *Planner) wayIn(from, b []float64, out []int) ([][]float64, error) {
	a := append([]float64(nil), from...)
	for i := range a {
		if n := len(out); n > 0 && out[0] == i {
			out = out[1:]
			if in := p.clamp(i, a[i]); math.Abs(b[i]-in) > p.startTolerance(i) {
				return nil, p.outsideErr(from, p.outside(from))
			}
			continue
		}
		if a[i] = p.clamp(i, a[i]); math.Abs(b[i]-a[i]) > same {
			return nil, p.outsideErr(from, p.outside(from))
		}
		b[i] = a[i]
	}
	if _, err := p.checker.CheckSegment(a, b); err != nil {
		return nil, err
	}
	return [][]float64{a, b}, nil
}
