package motion_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// A base whose wheels turn too little for what is planned to show isn't said to have
// gone anywhere.
func TestABaseThatWouldNotGetThereIsRefused(t *testing.T) {
	t.Parallel()
	for _, radius := range []float64{1e9, 1e12} {
		m, err := builtin.Load("rover")
		require.NoError(t, err)
		base := *m.Base
		base.Radius = radius
		m.Base = &base
		start := make([]float64, m.DoF())
		start[base.X], start[base.Y] = 0.6, 0.4
		home := newRig(t, rigOptions{model: m, rehearser: bent{}, start: start})
		_, err = home.prepare("home", `{}`)
		e := requireCode(t, gate.CodeInternal, err)
		require.Contains(t, e.Text, "away from its goal")
		require.Greater(t, e.Value.Value, 0.1)
		g := newRig(t, rigOptions{model: m, rehearser: bent{}})
		for tool, args := range map[string]string{
			"move_pose": `{"position":[0.3,0.2,0]}`, "move_path": `{"waypoints":[{"position":[0.3,0,0]}]}`,
		} {
			_, err := g.prepare(tool, args)
			e := requireCode(t, gate.CodeInternal, err)
			require.Contains(t, e.Text, "away from its target", "%s with a radius of %g m", tool, radius)
			require.Greater(t, e.Value.Value, 0.29)
		}
	}
}

// elsewhere is a rehearser that comes to rest away from the motion's end.
type elsewhere struct {
	joint int
	by    float64
}

func (r elsewhere) Rehearse(ctx context.Context, st robot.State, m robot.Motion) (robot.Rehearsal, error) {
	rec, err := bent{}.Rehearse(ctx, st, m)
	last := rec.Trace[len(rec.Trace)-1]
	last[r.joint] += r.by
	return rec, err
}

// What rests elsewhere in the rehearsal isn't asked; a grip may end early.
func TestARehearsalThatRestsElsewhereIsRefused(t *testing.T) {
	const elbow, gripper = 2, 5
	for _, c := range []struct {
		tool, args string
		at         elsewhere
		refused    bool
	}{
		{"move_joints", turn, elsewhere{elbow, 0.019}, false},
		{"move_joints", turn, elsewhere{elbow, -0.021}, true},
		{"move_joints", turn, elsewhere{gripper, 0.1}, true},
		{"gripper", `{"position":0.2}`, elsewhere{gripper, 0.5}, false},
		{"gripper", `{"position":0.2}`, elsewhere{elbow, 0.05}, true},
	} {
		_, err := newRig(t, rigOptions{rehearser: c.at}).prepare(c.tool, c.args)
		if !c.refused {
			require.NoError(t, err, "%+v", c)
			continue
		}
		e := requireCode(t, gate.CodeRehearsalFailed, err)
		require.Contains(t, e.Text, "rested away")
		require.NotNil(t, e.Value)
		require.NotNil(t, e.Limit)
	}
}
