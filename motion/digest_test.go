package motion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
)

// Every number of the motion itself is in the digest, also where nothing that the card
// says would give it away.
func TestG12_EachNumberOfTheMotionIsInTheDigest(t *testing.T) {
	g := newRig(t, rigOptions{})
	a := g.action("move_joints", turn)
	require.Equal(t, a.Digest(), motion.DigestWith(a, func(*robot.Motion, *robot.Rehearsal) {}))
	for name, change := range map[string]func(*robot.Motion, *robot.Rehearsal){
		"time":            func(m *robot.Motion, _ *robot.Rehearsal) { m.Trajectory.Segments[1].Duration += 1e-9 },
		"position":        func(m *robot.Motion, _ *robot.Rehearsal) { m.Trajectory.Segments[1].Q[2] += 1e-9 },
		"velocity":        func(m *robot.Motion, _ *robot.Rehearsal) { m.Trajectory.Segments[1].V[2] += 1e-9 },
		"acceleration":    func(m *robot.Motion, _ *robot.Rehearsal) { m.Trajectory.Segments[1].A[2] += 1e-9 },
		"jerk":            func(m *robot.Motion, _ *robot.Rehearsal) { m.Trajectory.Segments[1].J[2] += 1e-9 },
		"start tolerance": func(m *robot.Motion, _ *robot.Rehearsal) { m.StartTolerance[3] += 1e-9 },
		"deviation":       func(m *robot.Motion, _ *robot.Rehearsal) { m.MaxDeviation[3] += 1e-9 },
		"zones":           func(m *robot.Motion, _ *robot.Rehearsal) { m.Zones = []string{"door"} },
		"grip":            func(m *robot.Motion, _ *robot.Rehearsal) { m.Grip = &robot.Grip{MaxEffort: 1} },
		"rehearsal":       func(_ *robot.Motion, r *robot.Rehearsal) { r.Duration += 1e-9 },
	} {
		require.NotEqual(t, a.Digest(), motion.DigestWith(a, change), name)
	}
}
