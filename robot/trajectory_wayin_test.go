package robot_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

func oneJoint(segments ...robot.Segment) robot.Trajectory {
	return robot.Trajectory{Joints: []string{"y"}, Segments: segments}
}

// ramp goes from q by 4·j·t³/… in four equal pieces of t seconds: rest to rest.
func ramp(q, j, t float64) []robot.Segment {
	var out []robot.Segment
	v, a := 0.0, 0.0
	for _, jerk := range []float64{j, -j, -j, j} {
		out = append(out, robot.Segment{Duration: t, Q: []float64{q}, V: []float64{v}, A: []float64{a}, J: []float64{jerk}})
		q += v*t + a*t*t/2 + jerk*t*t*t/6
		v += a*t + jerk*t*t/2
		a += jerk * t
	}
	return out
}

func TestAJointThatStartsOutsideMayOnlyMoveInwards(t *testing.T) {
	limits := []robot.JointLimits{{Bounded: true, Lower: -0.1, Upper: 0.6, Velocity: 1, Acceleration: 1, Jerk: 10}}
	in := ramp(-0.12, 0.1, 0.5) // ends at -0.12 + 2·0.1·0.125 = -0.095
	require.NoError(t, oneJoint(in...).Validate(limits))

	out := ramp(-0.12, -0.1, 0.5)
	err := oneJoint(out...).Validate(limits)
	require.Equal(t, robot.CodeJointLimit, robot.CodeOf(err))
	require.ErrorContains(t, err, "moves away")

	// In, and out again on the same side: the second part starts inside.
	inAndOut := append(append([]robot.Segment{}, in...), ramp(-0.095, -0.1, 0.5)...)
	err = oneJoint(inAndOut...).Validate(limits)
	require.Equal(t, robot.CodeJointLimit, robot.CodeOf(err))

	// From above, past the whole range and out below.
	through := ramp(0.7, -1, 1)
	err = oneJoint(through...).Validate([]robot.JointLimits{{Bounded: true, Lower: -0.1, Upper: 0.6, Velocity: 10, Acceleration: 10, Jerk: 10}})
	require.Equal(t, robot.CodeJointLimit, robot.CodeOf(err))
	require.ErrorContains(t, err, "below its lower limit")

	// Part of the way is allowed: it is nearer then.
	require.NoError(t, oneJoint(ramp(-0.2, 0.1, 0.5)...).Validate(limits))
}

func TestAVelocityOfZeroPermitsNoMotion(t *testing.T) {
	limits := []robot.JointLimits{{Bounded: true, Lower: -1, Upper: 1}}
	require.NoError(t, robot.Hold([]string{"y"}, []float64{0.5}).Validate(limits))
	err := oneJoint(ramp(0, 1e-6, 1)...).Validate(limits)
	require.Equal(t, robot.CodeSpeedLimit, robot.CodeOf(err))
}

func TestASearchIsHeldToItsOwnBounds(t *testing.T) {
	joints := []string{"y"}
	limits := []robot.JointLimits{{Bounded: true, Lower: 0, Upper: 0.5, Velocity: 1, Acceleration: 1, Jerk: 10}}
	seek := robot.Seek{Joint: 0, Switch: 0, Direction: -1, Speed: 0.1, Travel: 0.6}
	motion := func(s robot.Seek, segments []robot.Segment) robot.Motion {
		return robot.Motion{Trajectory: oneJoint(segments...), StartTolerance: []float64{1}, MaxDeviation: []float64{1}, Seek: &s}
	}
	down := ramp(0.3, -0.2, 1) // by 0.4, at up to 0.2: too fast
	slow := ramp(0.3, -0.025, 2)
	require.NoError(t, motion(seek, slow).Validate(joints, limits), "it goes below the limit, within its travel")
	require.Equal(t, robot.CodeSpeedLimit, robot.CodeOf(motion(seek, down).Validate(joints, limits)))
	short := seek
	short.Travel = 0.39
	require.Equal(t, robot.CodeJointLimit, robot.CodeOf(motion(short, slow).Validate(joints, limits)))
	up := seek
	up.Direction = 1
	require.Equal(t, robot.CodeJointLimit, robot.CodeOf(motion(up, slow).Validate(joints, limits)))
	for _, bad := range []robot.Seek{
		{Joint: 1, Direction: -1, Speed: 0.1, Travel: 0.6},
		{Joint: -1, Direction: -1, Speed: 0.1, Travel: 0.6},
		{Direction: 0, Speed: 0.1, Travel: 0.6},
		{Direction: -1, Speed: 0, Travel: 0.6},
		{Direction: -1, Speed: 0.1, Travel: -1},
		{Direction: -1, Speed: 0.1, Travel: 0.6, Switch: 0.7},
		{Direction: -1, Speed: 2, Travel: 0.6},
	} {
		require.Error(t, motion(bad, slow).Validate(joints, limits), "%+v", bad)
	}
	m := motion(seek, slow)
	back, err := robot.DecodeMotion(m.AppendCanonical(nil))
	require.NoError(t, err)
	require.Equal(t, m, back)
	other := seek
	other.Travel = 0.61
	require.NotEqual(t, m.Digest(), motion(other, slow).Digest())
}
