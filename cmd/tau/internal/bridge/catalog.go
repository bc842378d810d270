package bridge

import (
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/lane"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/sim"
)

// nowhere is the sink of a gate that is only looked at.
type nowhere struct{}

func (nowhere) Emit(gate.Event) error { return nil }

// Simulable says why a robot can't be simulated; nil: it can.
func Simulable(m *robot.Model) error {
	rob, err := sim.New(sim.Options{Model: m, Scene: &robot.Scene{}, Clock: sim.Fast})
	if err != nil {
		return err
	}
	return rob.Close() // one that never moved
}

// Catalog returns the tools that a bridge with this robot has, without starting one.
func Catalog(m *robot.Model, scene robot.Scene) ([]gate.Spec, error) {
	rob, err := sim.New(sim.Options{Model: m, Scene: &scene, Clock: sim.Fast})
	if err != nil {
		return nil, err
	}
	defer func() { _ = rob.Close() }() // a simulated robot that never moved
	planner, err := simulatedPlanner(m, scene, rob, 0)
	if err != nil {
		return nil, err
	}
	catalog := gate.NewCatalog()
	if err := catalog.Register(planner.Tools()...); err != nil {
		return nil, err
	}
	l := lane.New()
	defer func() { _ = l.Close() }() // a lane that never ran anything
	nothing := approval.NewMemory()  // of a gate that is only looked at
	g, err := gate.New(gate.Config{
		Catalog: catalog, Lane: l, Sessions: sessions{all: robot.NewSessions(time.Now)}, Requests: nothing, Sink: nowhere{},
		Grants: nothing, Access: &permits{}, Routines: nothing,
	})
	if err != nil {
		return nil, err
	}
	return g.Specs(), nil
}
