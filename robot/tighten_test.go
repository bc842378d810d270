package robot_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// Narrower limits make another model and leave the old one alone; the same ones make
// one of the same hash.
func TestTightenMakesAnotherModel(t *testing.T) {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	was := m.ModelHash
	same, err := m.Tighten(slices.Clone(m.Limits))
	require.NoError(t, err)
	require.Equal(t, was, same.ModelHash)
	rapid.Check(t, func(t *rapid.T) {
		limits := slices.Clone(m.Limits)
		i := rapid.IntRange(0, len(limits)-1).Draw(t, "joint")
		by := rapid.Float64Range(0.5, 0.99).Draw(t, "by")
		l := &limits[i]
		for _, v := range []*float64{&l.Velocity, &l.Acceleration, &l.Jerk, &l.Effort} {
			if rapid.Bool().Draw(t, "narrower") {
				*v *= by
			}
		}
		narrow, err := m.Tighten(limits)
		require.NoError(t, err)
		require.Equal(t, limits, narrow.Limits)
		require.Equal(t, slices.Equal(flat(limits), flat(m.Limits)), narrow.ModelHash == was)
		require.Equal(t, was, m.ModelHash)
	})
}

func flat(ls []robot.JointLimits) (out []float64) {
	for _, l := range ls {
		out = append(out, l.Lower, l.Upper, l.Velocity, l.Acceleration, l.Jerk, l.Effort)
	}
	return out
}

func TestTightenRefusesWhatIsWider(t *testing.T) {
	load := func(name string) *robot.Model {
		m, err := builtin.Load(name)
		require.NoError(t, err)
		return m
	}
	so101, gantry := load("so101"), load("gantry")
	for name, c := range map[string]struct {
		m      *robot.Model
		change func(l []robot.JointLimits)
		want   string
	}{
		"lower":            {so101, func(l []robot.JointLimits) { l[0].Lower -= 0.1 }, "the lower limit"},
		"upper":            {so101, func(l []robot.JointLimits) { l[0].Upper += 0.1 }, "the upper limit"},
		"unbounded":        {so101, func(l []robot.JointLimits) { l[0].Bounded = false }, "can't be taken away"},
		"velocity":         {so101, func(l []robot.JointLimits) { l[1].Velocity *= 2 }, "velocity"},
		"acceleration":     {so101, func(l []robot.JointLimits) { l[1].Acceleration *= 2 }, "acceleration"},
		"jerk":             {so101, func(l []robot.JointLimits) { l[1].Jerk *= 2 }, "jerk"},
		"effort":           {so101, func(l []robot.JointLimits) { l[1].Effort *= 2 }, "effort"},
		"no range":         {so101, func(l []robot.JointLimits) { l[1].Lower = l[1].Upper + 1 }, "hold no position"},
		"home":             {so101, func(l []robot.JointLimits) { l[1].Lower = -0.5 }, "home"},
		"closed gripper":   {so101, func(l []robot.JointLimits) { l[5].Lower = -0.1 }, "closed gripper"},
		"open gripper":     {so101, func(l []robot.JointLimits) { l[5].Upper = 1.3 }, "open gripper"},
		"switch":           {gantry, func(l []robot.JointLimits) { l[0].Lower = -0.29 }, "reference switch"},
		"search's speed":   {gantry, func(l []robot.JointLimits) { l[0].Velocity = 0.02 }, "search"},
		"number of joints": {gantry, nil, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := slices.Clone(c.m.Limits)
			if c.change == nil {
				limits = limits[:2]
			} else {
				c.change(limits)
			}
			_, err := c.m.Tighten(limits)
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
			require.ErrorContains(t, err, c.want)
		})
	}
}
