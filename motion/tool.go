package motion

import (
	"context"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// tool is a tier-2 tool. All of them are Chained, those that can't be steps of a chain
// to say why.
type tool struct {
	p       *Planner
	spec    gate.Spec
	prepare func(context.Context, gate.Call, *arm, want) (gate.Action, error)
	restore func(context.Context, []byte) (gate.Action, error)
}

var _ gate.Chained = tool{}

func (t tool) Spec() gate.Spec { return t.spec }

func (t tool) Prepare(ctx context.Context, call gate.Call) (gate.Action, error) {
	return t.prepareFrom(ctx, call, nil)
}

// PrepareAfter is Prepare from where the actions before leave the robot.
func (t tool) PrepareAfter(ctx context.Context, call gate.Call, before []gate.Action) (gate.Action, error) {
	a, err := t.p.armOf(call.Session)
	if err != nil {
		return nil, gateErr(err)
	}
	if text := unchained(t.spec.Name); text != "" {
		return nil, gate.Errf(gate.CodeNotSupported, t.spec.Name, "%s", text)
	}
	after, err := a.following(ctx, before)
	if err != nil {
		return nil, gateErr(err)
	}
	return t.prepareFrom(ctx, call, after)
}

func (t tool) prepareFrom(ctx context.Context, call gate.Call, after *prospect) (gate.Action, error) {
	a, err := t.p.armOf(call.Session)
	if err != nil {
		return nil, gateErr(err)
	}
	w := a.wantOf(call, true)
	w.after = after
	act, err := t.prepare(ctx, call, a, w)
	if err != nil {
		return nil, gateErr(err)
	}
	return act, nil
}

func (t tool) Restore(ctx context.Context, snapshot []byte) (gate.Action, error) {
	act, err := t.restore(ctx, snapshot)
	if err != nil {
		return nil, gateErr(err)
	}
	return act, nil
}

// physical makes a tier-2 tool whose action is a motion.
func (p *Planner) physical(name, doc, effect string, in *gate.Schema, prepare func(context.Context, gate.Call, *arm, want) (*moveAction, error)) gate.Tool {
	t := tool{
		p:    p,
		spec: gate.Spec{Name: name, Description: doc, Effect: effect, Tier: gate.TierPhysical, Input: in, Output: motionOut()},
		prepare: func(ctx context.Context, call gate.Call, a *arm, w want) (gate.Action, error) {
			act, err := prepare(ctx, call, a, w)
			if err != nil {
				return nil, err
			}
			return act.forCall(call), nil
		},
		restore: p.restoreMove,
	}
	if how, ok := editorOf(name); ok {
		return editable{t, how}
	}
	return t
}

// command makes a tier-2 tool whose action is a command of the backend.
func (p *Planner) command(name, doc, effect string, in *gate.Schema, prepare func(context.Context, gate.Call, *arm, want) (*commandAction, error)) gate.Tool {
	return tool{
		p:    p,
		spec: gate.Spec{Name: name, Description: doc, Effect: effect, Tier: gate.TierPhysical, Input: in, Output: commandOut()},
		prepare: func(ctx context.Context, call gate.Call, a *arm, w want) (gate.Action, error) {
			act, err := prepare(ctx, call, a, w)
			if err != nil {
				return nil, err
			}
			act.call = call.ID
			return act, nil
		},
		restore: p.restoreCommand,
	}
}

// poseNumbers are a pose as numbers, in the order of its encodings.
func poseNumbers(p *robot.Pose) []float64 {
	return []float64{p.P[0], p.P[1], p.P[2], p.Q.W, p.Q.V[0], p.Q.V[1], p.Q.V[2]}
}
