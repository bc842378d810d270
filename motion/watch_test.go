package motion_test

import (
	"context"
	"testing"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// traceless is a rehearser whose record can't be watched against.
type traceless struct{ robot.Rehearsal }

func (r traceless) Rehearse(context.Context, robot.State, robot.Motion) (robot.Rehearsal, error) {
	return r.Rehearsal, nil
}

func TestMotionWithoutATraceIsRefused(t *testing.T) {
	for name, r := range map[string]robot.Rehearsal{
		"none":       {Simulator: "x", SamplePeriod: 0.02},
		"no period":  {Simulator: "x", Trace: [][]float64{{0, 0, 0, 0, 0, 0}}},
		"few joints": {Simulator: "x", SamplePeriod: 0.02, Trace: [][]float64{{0}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, rigOptions{rehearser: traceless{r}})
			_, err := g.prepare("move_joints", `{"positions":{"shoulder_pan":0.5}}`)
			requireCode(t, gate.CodeRehearsalFailed, err)
		})
	}
}
