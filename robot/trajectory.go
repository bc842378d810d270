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
// approved. Segments are not modified once the trajectory has been made.
type Trajectory struct {
	Joints   []string // names of the active joints, in the order of q
	Segments []Segment
}
