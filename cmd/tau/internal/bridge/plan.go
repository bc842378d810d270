package bridge

import (
	"context"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/sim"
)

// Planned is a motion as the tools would put it before a person.
type Planned struct {
	Motion    robot.Motion
	Rehearsal robot.Rehearsal
	Card      gate.Card
	Digest    [32]byte
}

// Plan plans and rehearses one tool call from a configuration, by the same tool
// that the gate would ask, and runs nothing. Errors are the tool's refusals,
// *gate.Error.
func Plan(ctx context.Context, m *robot.Model, scene robot.Scene, from []float64, seed uint64, tool string, args []byte) (Planned, error) {
	rob, err := sim.New(sim.Options{Model: m, Scene: &scene, Clock: sim.Fast, Seed: seed, Start: from})
	if err != nil {
		return Planned{}, gateError(err)
	}
	defer func() { _ = rob.Close() }() // a simulated robot that never moved
	planner, err := simulatedPlanner(m, scene, rob, seed)
	if err != nil {
		return Planned{}, gateError(err)
	}
	for _, t := range planner.Tools() {
		spec := t.Spec()
		if spec.Name != tool {
			continue
		}
		canonical, err := gate.DecodeStrict(spec.Input, args)
		if err != nil {
			return Planned{}, err
		}
		act, err := t.Prepare(ctx, gate.Call{
			ID: "plan", Tool: tool, Args: canonical, Principal: Operator, Origin: "plan",
			Session:  gate.Session{Name: "plan", Mode: gate.ModeSim, Backend: SimArm},
			Progress: func(string) {},
		})
		if err != nil {
			return Planned{}, err
		}
		m, r, ok := motion.Planned(act)
		if !ok {
			return Planned{}, gate.Errf(gate.CodeNotSupported, tool, "is not a motion")
		}
		return Planned{Motion: m, Rehearsal: r, Card: act.Card(), Digest: act.Digest()}, nil
	}
	return Planned{}, gate.Errf(gate.CodeUnknownTool, tool, "is not a tool")
}
