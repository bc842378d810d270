package robot

// Segment is a stretch of a trajectory during which each joint's jerk is
// constant. Each slice has one element for each joint of the trajectory; the
// segment starts at Q, V, A and after t seconds is at
//
//	q = Q + V·t + A·t²/2 + J·t³/6
type Segment struct {
	Duration   float64 // s, > 0
	Q, V, A, J []float64
}

// Trajectory moves all active joints of a robot from rest to rest, as a chain of
// constant-jerk segments. Its canonical encoding is what gets hashed and
// approved. Segments are not modified once the trajectory has been made, so it
// may be read by any number of goroutines.
//
// Only a trajectory that Validate or DecodeTrajectory accepted may be sampled:
// the methods that sample take the slices to have the lengths they should have.
type Trajectory struct {
	Joints   []string // names of the active joints, in the order of q
	Segments []Segment
}

// HoldDuration is the length, in seconds, of a trajectory that goes nowhere: a
// single segment at rest. It is long enough for every backend's control period
// to see it and short enough not to be noticed.
const HoldDuration = 0.01

// Hold returns the trajectory that stays at q, in rad or m, for HoldDuration. It
// copies its arguments.
func Hold(joints []string, q []float64) Trajectory {
	n := len(q)
	zero := make([]float64, 3*n)
	return Trajectory{
		Joints: append([]string(nil), joints...),
		Segments: []Segment{{
			Duration: HoldDuration,
			Q:        append([]float64(nil), q...),
			V:        zero[:n:n],
			A:        zero[n : 2*n : 2*n],
			J:        zero[2*n:],
		}},
	}
}

// cubic evaluates one joint of a segment t seconds after the segment's start.
// The explicit conversions keep the compiler from fusing a product with a sum,
// which some machines would do and others not: the same bytes give the same
// samples everywhere.
func cubic(q0, v0, a0, j, t float64) (q, v, a float64) {
	jt := float64(j * t)
	a = a0 + jt
	v = v0 + float64(t*(a0+jt/2))
	q = q0 + float64(t*(v0+float64(t*(a0/2+jt/6))))
	return q, v, a
}

// at writes the state of each joint t seconds after the segment's start. Each of
// q, v and a may be nil.
func (s *Segment) at(t float64, q, v, a []float64) {
	for i := range s.Q {
		qi, vi, ai := cubic(s.Q[i], s.V[i], s.A[i], s.J[i], t)
		if q != nil {
			q[i] = qi
		}
		if v != nil {
			v[i] = vi
		}
		if a != nil {
			a[i] = ai
		}
	}
}

// atRest writes the positions t seconds after the segment's start, and
// velocities and accelerations of exactly zero.
func (s *Segment) atRest(t float64, q, v, a []float64) {
	s.at(t, q, nil, nil)
	clear(v)
	clear(a)
}

// Duration returns the length of the trajectory in seconds, the sum of its
// segments' durations in order.
func (t Trajectory) Duration() float64 {
	var sum float64
	for i := range t.Segments {
		sum += t.Segments[i].Duration
	}
	return sum
}

// Start returns a new slice with the position of each joint at the start, rad or
// m; nil if there are no segments.
func (t Trajectory) Start() []float64 {
	if len(t.Segments) == 0 {
		return nil
	}
	return append([]float64(nil), t.Segments[0].Q...)
}

// End returns a new slice with the position of each joint at the end, rad or m;
// nil if there are no segments.
func (t Trajectory) End() []float64 {
	if len(t.Segments) == 0 {
		return nil
	}
	last := &t.Segments[len(t.Segments)-1]
	q := make([]float64, len(last.Q))
	last.at(last.Duration, q, nil, nil)
	return q
}

// Sample writes the setpoint at time s seconds after the start: positions (rad or
// m) to q, velocities to v, accelerations to a. Each slice has one element for
// each joint, or is nil where that isn't wanted; they are the caller's. Before
// the start (and for a NaN) the trajectory stands at its start, at its end and
// after it stands at its end, and is then at rest exactly.
//
// It doesn't allocate. It walks the segments, so its time grows with their
// number; a loop that goes forwards through a trajectory is better off with a
// Cursor. Of a trajectory without segments nothing is written.
func (t Trajectory) Sample(s float64, q, v, a []float64) {
	c := Cursor{t: t}
	c.Sample(s, q, v, a)
}

// Cursor samples one trajectory at times that mostly increase, in constant time
// a sample. It gives the same numbers as Trajectory.Sample. It isn't safe for
// use by more than one goroutine; several cursors on one trajectory are.
type Cursor struct {
	t     Trajectory
	k     int     // segment of the latest sample
	start float64 // when that segment starts, s
}

// NewCursor returns a cursor at the start of a trajectory. The cursor reads the
// trajectory's slices and doesn't copy them.
func NewCursor(t Trajectory) *Cursor { return &Cursor{t: t} }

// Sample is Trajectory.Sample.
func (c *Cursor) Sample(s float64, q, v, a []float64) {
	segments := c.t.Segments
	if len(segments) == 0 {
		return
	}
	if s < c.start {
		c.k, c.start = 0, 0
	}
	if !(s > 0) {
		segments[0].atRest(0, q, v, a)
		return
	}
	for {
		seg := &segments[c.k]
		end := c.start + seg.Duration
		switch {
		case s < end:
			seg.at(s-c.start, q, v, a)
			return
		case c.k == len(segments)-1:
			seg.atRest(seg.Duration, q, v, a)
			return
		}
		c.k, c.start = c.k+1, end
	}
}
