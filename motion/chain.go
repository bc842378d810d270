package motion

import (
	"context"
	"math"
	"slices"
	"sync"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// A chain is a list of actions that begin where the ones before them end, as the steps
// of a routine do (gate.Chained). Where that is their rehearsals say: where each joint
// rests, what the gripper holds, where bodies lie that were carried.

// unchained says why a tool can't be a step of a chain, "" if it can: nothing can tell
// where it leaves the robot, or a person should decide each time.
func unchained(tool string) string {
	switch tool {
	case "reference":
		return "where the joint is isn't known before it has found its switch, so it is no step of a chain; reference the robot by itself"
	case "torque_on", "torque_off":
		return "what a robot does whose torque is switched can't be predicted, so it is no step of a chain; switch it by itself"
	case "estop_reset":
		return "what will be latched, and why, isn't known before, so it is no step of a chain; release it by itself"
	}
	return ""
}

// prospect is where actions that haven't run will leave a robot.
type prospect struct {
	state robot.State
	scene *robot.Scene // with the loose bodies where they will be
	// loose are the bodies that the actions leave elsewhere than they are now, and that
	// nothing holds then.
	loose []robot.BodyPose
}

// stateFor is the state that something is planned from.
func (a *arm) stateFor(ctx context.Context, w want) (robot.State, error) {
	if w.after == nil {
		return a.state(ctx)
	}
	return w.after.state.Clone(), nil
}

// pathsFor returns the path planner for the scene that something is planned in.
func (a *arm) pathsFor(w want) (*paths, error) {
	now, err := a.pathsNow()
	if err != nil || w.after == nil || len(w.after.loose) == 0 {
		return now, err
	}
	return newPaths(a, w.after.scene, now)
}

// following returns where actions leave the robot; nil where none of them is about it.
func (a *arm) following(ctx context.Context, before []gate.Action) (*prospect, error) {
	p := &prospect{}
	about := false
	for k, act := range before {
		if act.Resource() != a.name {
			continue
		}
		if !about {
			st, err := a.state(ctx)
			if err != nil {
				return nil, err
			}
			p.state, p.scene, about = st, a.sceneNow(), true
		}
		var err error
		switch x := act.(type) {
		case *moveAction:
			err = p.move(x)
		case *commandAction:
			err = p.command(x)
		default:
			err = robot.Errf(robot.CodeNotSupported, a.name, "what step %d does to the robot isn't known here", k+1)
		}
		if err != nil {
			return nil, err
		}
	}
	if !about {
		return nil, nil
	}
	return p, nil
}

// move adds a motion.
func (p *prospect) move(x *moveAction) error {
	a, m, r := x.arm, x.motion, x.rehearsal
	if m.Seek != nil {
		return robot.Errf(robot.CodeNotSupported, a.name, "%s", unchained("reference"))
	}
	if len(r.Joints) != a.Model.DoF() {
		return robot.Errf(robot.CodeNotSupported, a.name, "the rehearsal doesn't say where the step before ends")
	}
	st := &p.state
	end := m.Trajectory.End()
	measured := make([]float64, len(end))
	for i := range measured {
		measured[i] = r.Joints[i].End
	}
	if m.Grip != nil && a.Model.Gripper != nil {
		g := a.Model.Gripper.Joint
		if !(math.Abs(measured[g]-end[g]) <= a.maxRest()[g]) {
			if r.Held == "" {
				return robot.Errf(robot.CodeNotSupported, a.info.Joints[g], "the gripper stops on the way in the rehearsal and holds nothing then, so what follows can't be planned")
			}
			end[g] = measured[g] // it keeps pressing from there
		}
	}
	if st.Positions != nil {
		st.Positions, st.Velocities, st.Efforts = measured, make([]float64, len(end)), nil
	}
	st.Setpoints, st.Moving = end, false
	p.state = a.honest(*st)
	st.Held, st.HeldPose = r.Held, r.HeldPose
	if st.Held != "" && st.HeldPose == nil {
		return robot.Errf(robot.CodeNotSupported, st.Held, "the rehearsal doesn't say where in the gripper it is, so what follows can't be planned")
	}
	p.place(r.Moved)
	return nil
}

// maxRest is how far from where it was sent a joint may rest.
func (a *arm) maxRest() []float64 { return a.perJoint(restRad, restM) }

// place notes where bodies are now. What is held is where the gripper has it.
func (p *prospect) place(moved []robot.BodyPose) {
	loose := slices.Clone(p.loose)
	for _, b := range moved {
		if k := slices.IndexFunc(loose, func(o robot.BodyPose) bool { return o.Name == b.Name }); k >= 0 {
			loose[k] = b
		} else {
			loose = append(loose, b)
		}
	}
	p.loose = slices.DeleteFunc(loose, func(b robot.BodyPose) bool { return b.Name == p.state.Held })
	bodies := slices.Clone(p.scene.Bodies)
	for i := range bodies {
		for _, b := range append(slices.Clone(p.loose), moved...) {
			if b.Name == bodies[i].Name {
				bodies[i].Pose = b.Pose
			}
		}
	}
	s := p.scene.WithBodies(bodies)
	p.scene = &s
}

// command adds a command.
func (p *prospect) command(x *commandAction) error {
	if x.cmd.Kind != robot.SetActuator {
		return robot.Errf(robot.CodeNotSupported, x.arm.name, "%s", unchained(string(x.cmd.Kind)))
	}
	for i := range p.state.Actuators {
		if s := &p.state.Actuators[i]; s.Name == x.cmd.Name {
			s.Value = x.cmd.Value
		}
	}
	return nil
}

// fixed hashes a scene without where those bodies are that the action holds against
// where they are by itself: what it holds, and what is loose.
func (x *moveAction) fixed(scene *robot.Scene) [32]byte {
	return x.arm.hashes.without(scene, x.held, x.loose)
}

// samePlaces compares where loose bodies are with where they were to be.
func (x *moveAction) samePlaces() error {
	if len(x.loose) == 0 {
		return nil
	}
	scene := x.arm.sceneNow()
	for k := range x.loose {
		want := &x.loose[k]
		i := slices.IndexFunc(scene.Bodies, func(b robot.Body) bool { return b.Name == want.Name })
		if i < 0 {
			return robot.Errf(robot.CodeStartMoved, want.Name, "isn't in the scene any more; plan again")
		}
		off, turn := apart(&want.Pose, &scene.Bodies[i].Pose)
		if !(off <= heldToleranceM) {
			return robot.LimitErr(robot.CodeStartMoved, want.Name, off, heldToleranceM, "m", "isn't where the steps before were to leave it; plan again")
		}
		if !(turn <= heldToleranceRad) {
			return robot.LimitErr(robot.CodeStartMoved, want.Name, turn, heldToleranceRad, "rad", "isn't turned as the steps before were to leave it; plan again")
		}
	}
	return nil
}

// sceneHashes remembers the last hash of a scene without some bodies' poses: an
// action asks for the same one each time that it is checked.
type sceneHashes struct {
	mu    sync.Mutex
	scene *robot.Scene
	names []string
	hash  [32]byte
}

func (h *sceneHashes) without(scene *robot.Scene, held string, loose []robot.BodyPose) [32]byte {
	var names []string
	if held != "" {
		names = append(names, held)
	}
	for k := range loose {
		names = append(names, loose[k].Name)
	}
	if names == nil {
		return scene.Hash
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.scene == scene && slices.Equal(h.names, names) {
		return h.hash
	}
	bodies := slices.Clone(scene.Bodies)
	for i := range bodies {
		if slices.Contains(names, bodies[i].Name) {
			bodies[i].Pose = robot.IdentityPose()
		}
	}
	h.scene, h.names, h.hash = scene, names, scene.WithBodies(bodies).Hash
	return h.hash
}
