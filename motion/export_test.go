package motion

import (
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// DigestWith is what a move's live digest would be with another motion or rehearsal, all
// else being equal. change gets deep enough copies.
func DigestWith(a gate.Action, change func(*robot.Motion, *robot.Rehearsal)) [32]byte {
	x := *a.(*moveAction)
	var segments []robot.Segment
	for _, s := range x.motion.Trajectory.Segments {
		s.Q, s.V = append([]float64(nil), s.Q...), append([]float64(nil), s.V...)
		s.A, s.J = append([]float64(nil), s.A...), append([]float64(nil), s.J...)
		segments = append(segments, s)
	}
	x.motion.Trajectory.Segments = segments
	x.motion.StartTolerance = append([]float64(nil), x.motion.StartTolerance...)
	x.motion.MaxDeviation = append([]float64(nil), x.motion.MaxDeviation...)
	change(&x.motion, &x.rehearsal)
	return x.liveDigest()
}
