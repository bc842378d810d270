package motion

import (
	"context"
	"encoding/json"

	"github.com/tau-robot/tau/gate"
)

// Tools returns the tools of this planner, in the order of the catalog's listing.
func (p *Planner) Tools() []gate.Tool {
	return []gate.Tool{
		p.read("robot_describe", "Describes the robot: links, joints, limits, home pose, scene, and what of it is assumed.", gate.Obj(), describeOut(), p.describe),
		p.read("robot_state", "Measures the robot's state now: positions in rad (m for sliding joints), tip pose in the root frame, faults. What isn't measured is left out; of joints that nothing measures it has the setpoints, named so.", gate.Obj(), stateOut(), p.readState),
		p.read("list_actuators", "Lists what the robot can drive, each with its unit, its range, its value and what a stop and a lost link do to it.", gate.Obj(), actuatorsOut(), p.listActuators),
		p.read("scene_describe", "Describes what stands around the robot: bodies and guarded zones in the root frame, and what of it was changed since the start.", gate.Obj(), sceneOut(), p.sceneDescribe),
		p.read("plan_joints", "Plans and rehearses a move of joints without asking anybody and without moving; execute_plan asks for it.", jointsArgs(), planOut(), p.planJoints),
		p.read("plan_pose", "Plans and rehearses a move of the tool to a pose without asking anybody and without moving; execute_plan asks for it.", poseArgs(), planOut(), p.planPose),
		p.read("plan_path", "Plans and rehearses straight lines of the tool through waypoints without asking anybody and without moving; execute_plan asks for it.", pathArgs(), planOut(), p.planPath),
		p.read("rehearse", "Rehearses a motion from where the robot is now, without asking anybody and without moving: one of plan_id, positions, gripper, home, jog, drive or reference.", rehearseArgs(), rehearseOut(), p.rehearse),

		p.write("scene_add", "Adds a body to a simulated robot's scene; motions then keep clear of it.", bodyArgs(), sceneEditOut(), p.sceneAdd),
		p.write("scene_remove", "Takes a body out of a simulated robot's scene.", bodyNameArgs(), sceneEditOut(), p.sceneRemove),

		p.physical("move_joints", "Moves joints to target positions.", "Moves the named joints of the arm.", jointsArgs(), p.prepareJoints),
		p.physical("move_pose", "Moves the tool to a pose: a position, and if given an orientation or the direction of the tool's axis.", "Moves the arm so that its tool reaches a pose.", poseArgs(), p.preparePose),
		p.physical("move_path", "Moves the tool on straight lines through waypoints, with rest at each; a base turns, drives straight and turns.", "Moves the arm so that its tool follows straight lines.", pathArgs(), p.preparePath),
		p.physical("execute_plan", "Runs a plan made by plan_joints, plan_pose or plan_path, exactly as planned and rehearsed.", "Moves the arm along a plan made before.", planIDArgs(), p.preparePlan),
		p.physical("home", "Moves all joints to the description's home pose.", "Moves all joints to the home pose.", gate.Obj(speedScale()), p.prepareHome),
		p.physical("gripper", "Opens or closes the gripper; closing may end early on an object.", "Opens or closes the gripper.", gripperArgs(), p.prepareGripper),
		p.physical("drive", "Drives a base along one arc at a given speed for a given time.", "Drives the robot's base along an arc.", driveArgs(), p.prepareDrive),
		p.physical("jog", "Moves one joint by an amount from where it stands, straight, while all others hold.", "Moves one joint by a small amount.", gate.Obj(append(jogFields(), speedScale())...), p.prepareJog),
		p.physical("reference", "Moves a joint that counts steps slowly towards its reference switch, to find out where it is. Until every such joint has found its switch no other motion is possible.", "Moves a joint slowly until it finds its reference switch; where it is isn't known before.", gate.Obj(referenceFields()...), p.prepareReference),
		p.command("set_actuator", "Sets an actuator beside the joints (LED, relay, PWM, motor), in the unit and range that list_actuators states.", "Sets an output of the robot.", actuatorArgs(), p.prepareSetActuator),
		p.command("torque_on", "Switches the joints' torque on, holding them where they are measured. A joint that nothing measures goes to its setpoint, and isn't switched on while that isn't known. A real robot starts without torque.", "Powers the joints: they hold where they are measured, and what nothing measures may snap to its setpoint.", gate.Obj(), p.prepareTorqueOn),
		p.command("torque_off", "Switches the joints' torque off; the arm may sink under its own weight.", "Takes the power off the joints: the arm may drop.", gate.Obj(), p.prepareTorqueOff),
		p.command("estop_reset", "Releases the e-stop latch and clears latched faults. Moves and enables nothing.", "Releases the e-stop and what is latched; what is enabled can be moved again after it.", gate.Obj(), p.prepareReset),
	}
}

// read makes a tier-0 tool: run answers at once.
func (p *Planner) read(name, doc string, in, out *gate.Schema, run func(context.Context, gate.Call, *arm) (any, error)) gate.Tool {
	return p.atOnce(gate.Spec{Name: name, Description: doc, Tier: gate.TierRead, Input: in, Output: out}, run)
}

// write makes a tier-1 tool.
func (p *Planner) write(name, doc string, in, out *gate.Schema, run func(context.Context, gate.Call, *arm) (any, error)) gate.Tool {
	return p.atOnce(gate.Spec{Name: name, Description: doc, Tier: gate.TierWrite, Input: in, Output: out}, run)
}

func (p *Planner) atOnce(spec gate.Spec, run func(context.Context, gate.Call, *arm) (any, error)) gate.Tool {
	return gate.Func(spec,
		func(ctx context.Context, call gate.Call) (gate.Result, error) {
			a, err := p.armOf(call.Session)
			if err != nil {
				return gate.Result{}, gateErr(err)
			}
			v, err := run(ctx, call, a)
			if err != nil {
				return gate.Result{}, gateErr(err)
			}
			data, err := json.Marshal(v)
			if err != nil {
				return gate.Result{}, gate.Errf(gate.CodeStaleState, spec.Name, "the answer could not be encoded: %w", err)
			}
			return gate.Result{Data: data, Text: string(data)}, nil
		})
}

// args decodes arguments that the gate has validated under the tool's schema.
func args[T any](call gate.Call) (T, error) {
	var v T
	if err := json.Unmarshal(call.Args, &v); err != nil {
		return v, gate.Errf(gate.CodeInvalidArgument, call.Tool, "%w", err)
	}
	return v, nil
}
