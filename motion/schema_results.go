package motion

import "github.com/tau-robot/tau/gate"

// The schemas of the tools' results, field by field what results.go encodes. Maps
// by joint name are open; what isn't measured is left out.

// byJoint is a map from joint names to numbers.
func byJoint(doc string) *gate.Schema { return gate.MapOf(gate.Num(), 0, 0).Desc(doc) }

func text(doc string) *gate.Schema { return gate.Str(0).Desc(doc) }

func when(doc string) *gate.Schema { return gate.Str(0).Desc(doc + ", RFC 3339") }

func modeOut() *gate.Schema { return gate.Enum("sim", "real") }

func texts(doc string) *gate.Schema { return gate.Arr(text(""), 0, 0).Desc(doc) }

func poseOut() *gate.Schema {
	return gate.Obj(
		gate.Req("position", vec(3, "m", "in the root frame")),
		gate.Req("orientation", vec(4, "", "w, x, y, z")),
		gate.Opt("measured", gate.Bool().Desc("false: not measured, but where the setpoints have it")),
	)
}

// setpointsOut are what joints were told that nothing measures.
func setpointsOut() gate.Property {
	setpoint := gate.Obj(
		gate.Req("value", gate.Num().Desc("rad or m")),
		gate.Req("measured", gate.Bool().Desc("false: nothing measures whether it is there")),
		gate.Opt("declared", gate.Bool().Desc("true: a person said that it is there, and nothing has commanded it yet")),
	)
	return gate.Opt("setpoints", gate.MapOf(setpoint, 0, 0).Desc("what the joints of open_loop were told last, which isn't where they are"))
}

func openLoopOut() gate.Property {
	return gate.Opt("open_loop", texts("joints that nothing measures: neither positions nor tracking errors are known of them"))
}

func outcomeOut() *gate.Schema {
	return gate.Enum("done", "stopped", "cancelled", "faulted", "refused", "unknown").Desc("how it ended")
}

// rehearsalOut is robot.Rehearsal.
func rehearsalOut() *gate.Schema {
	joint := gate.Obj(
		gate.Req("joint", text("")),
		gate.Req("peak_velocity", gate.Num().Desc("rad/s or m/s")),
		gate.Req("velocity_limit", gate.Num().Desc("rad/s or m/s")),
		gate.Req("peak_effort", gate.Num().Desc("N·m or N")),
		gate.Req("effort_limit", gate.Num().Desc("N·m or N; 0 where the description gives none")),
		gate.Req("max_tracking_error", gate.Num().Desc("rad or m")),
		gate.Req("end", gate.Num().Desc("rad or m, at rest")),
	)
	return gate.Obj(
		gate.Req("simulator", text("name and version of the model that ran it")),
		gate.Req("seed", gate.Num()),
		gate.Req("duration_s", gate.Num().In("s").Desc("from the first actuation to rest")),
		gate.Req("joints", gate.Arr(joint, 0, 0)),
		gate.Req("peak_tool_speed", gate.Num().In("m/s")),
		gate.Opt("clearance", gate.Obj(
			gate.Req("distance", gate.Num().In("m")),
			gate.Req("a", text("link or body")),
			gate.Req("b", text("link, body or zone")),
			gate.Req("at_s", gate.Num().In("s").Desc("since the start of the motion")),
		).Desc("the smallest one; left out where nothing could touch")),
		gate.Req("end_position", vec(3, "m", "tip in the root frame")),
		gate.Req("end_orientation", vec(4, "", "w, x, y, z")),
		gate.Opt("gripped", text("the body that the gripper closed on")),
		gate.Opt("assumed", texts("what was assumed rather than known")),
		gate.Req("sample_period_s", gate.Num().In("s")),
	).Desc("what a fresh simulator found")
}

func planOut() *gate.Schema {
	return gate.Obj(
		gate.Req("plan_id", text("handle for execute_plan")),
		gate.Req("digest", text("SHA-256 over the planned motion and its rehearsal, hex")),
		gate.Req("expires_at", when("until when it may be asked")),
		gate.Req("duration_s", gate.Num().In("s")),
		gate.Req("rehearsal", rehearsalOut()),
	)
}

func rehearseOut() *gate.Schema {
	return gate.Obj(gate.Req("duration_s", gate.Num().In("s")), gate.Req("rehearsal", rehearsalOut()))
}

func unreferencedOut() gate.Property {
	return gate.Opt("unreferenced", texts("joints whose position isn't known: until reference has found their switch, or, of those of open_loop, until somebody says where they are"))
}

func motionOut() *gate.Schema {
	return gate.Obj(
		gate.Opt("positions", byJoint("measured at the end, rad or m; left out where nothing could be measured")),
		setpointsOut(),
		openLoopOut(),
		unreferencedOut(),
		gate.Req("duration_s", gate.Num().In("s").Desc("from the first actuation to measured rest, or to the setpoints' rest of a robot with joints that nothing measures")),
		gate.Opt("max_tracking_error", gate.Num().Desc("largest |measured - setpoint| of any joint that is measured, rad or m")),
		gate.Opt("tip", poseOut()),
		gate.Opt("gripped", text("the body that the gripper closed on")),
		gate.Req("outcome", outcomeOut()),
		gate.Opt("measured_at", when("when the positions were measured")),
		gate.Req("mode", modeOut()),
		gate.Req("backend", text("what produced this")),
		gate.Req("rehearsal", rehearsalOut()),
	)
}

// actuatorValueOut is the value of an actuator.
func actuatorValueOut() *gate.Schema {
	return gate.Obj(
		gate.Req("value", gate.Num().Desc("in the actuator's unit")),
		gate.Req("unit", text("")),
		gate.Req("measured", gate.Bool().Desc("false: what was last commanded and acknowledged")),
	)
}

func commandOut() *gate.Schema {
	return gate.Obj(
		gate.Req("outcome", outcomeOut()),
		gate.Opt("enabled", gate.Bool().Desc("torque is on")),
		gate.Opt("estopped", gate.Bool().Desc("the e-stop is latched")),
		gate.Opt("positions", byJoint("measured at the end, rad or m")),
		setpointsOut(),
		openLoopOut(),
		unreferencedOut(),
		gate.Opt("actuators", gate.MapOf(actuatorValueOut(), 0, 0).Desc("values after it, by name")),
		gate.Opt("measured_at", when("when that was measured")),
		gate.Req("duration_s", gate.Num().In("s")),
		gate.Req("mode", modeOut()),
		gate.Req("backend", text("what produced this")),
	)
}

func stateOut() *gate.Schema {
	fault := gate.Obj(
		gate.Req("code", text("")), gate.Opt("where", text("")), gate.Req("text", text("")), gate.Req("since", when("when it latched")),
	)
	return gate.Obj(
		gate.Opt("positions", byJoint("rad or m")),
		gate.Opt("velocities", byJoint("rad/s or m/s")),
		gate.Opt("efforts", byJoint("N·m or N")),
		setpointsOut(),
		openLoopOut(),
		gate.Opt("tip", poseOut()),
		gate.Req("measured_at", when("when it was measured")),
		gate.Req("age_s", gate.Num().In("s")),
		gate.Req("moving", gate.Bool()),
		gate.Req("mode", modeOut()),
		gate.Req("backend", text("")),
		gate.Req("enabled", gate.Bool().Desc("torque is on, and motions are taken")),
		gate.Req("powered", gate.Bool().Desc("the joints hold; true while enabled, and after a latch was released until torque is switched")),
		gate.Req("estopped", gate.Bool().Desc("the e-stop is latched")),
		gate.Opt("held", text("the body in the gripper")),
		unreferencedOut(),
		gate.Opt("actuators", gate.MapOf(actuatorValueOut(), 0, 0).Desc("values of what stands beside the joints, by name")),
		gate.Req("faults", gate.Arr(fault, 0, 0)),
	)
}

func describeOut() *gate.Schema {
	limits := gate.Obj(
		gate.Req("bounded", gate.Bool().Desc("false: it may turn without end")),
		gate.Req("lower", gate.Num()), gate.Req("upper", gate.Num()),
		gate.Req("velocity", gate.Num()), gate.Req("acceleration", gate.Num()), gate.Req("jerk", gate.Num()),
		gate.Req("effort", gate.Num().Desc("0 where the description gives none")),
		gate.Opt("assumed", texts("which of them nothing gave")),
	).Desc("in the joint's unit, per s, s² and s³; effort in N·m or N")
	joint := gate.Obj(
		gate.Req("name", text("")),
		gate.Req("type", text("")),
		gate.Req("unit", text("rad or m")),
		gate.Req("parent", text("link")),
		gate.Req("child", text("link")),
		gate.Opt("limits", limits),
		gate.Opt("mimics", text("the joint that it follows; it can't be commanded by itself")),
		gate.Opt("home", gate.Num().Desc("rad or m")),
		gate.Req("in_arm", gate.Bool()),
		gate.Req("gripper", gate.Bool()),
		gate.Opt("open_loop", gate.Bool().Desc("true: nothing measures where it is")),
		gate.Opt("moved_by_wheels", gate.Bool().Desc("true: it follows the base's wheels and can't be commanded by itself")),
		gate.Opt("reference", gate.Obj(
			gate.Req("switch", gate.Num().Desc("position at which the switch closes, rad or m")),
			gate.Req("towards", gate.Enum("lower", "upper")),
			gate.Req("speed", gate.Num().Desc("largest of the search, rad/s or m/s")),
			gate.Req("travel", gate.Num().Desc("largest of the search, rad or m")),
		).Desc("how reference finds where it is")),
	)
	return gate.Obj(
		gate.Req("robot", text("")),
		gate.Req("mode", modeOut()),
		gate.Req("backend", text("")),
		gate.Opt("port", text("")),
		gate.Req("root", text("link; poses are in its frame unless they say otherwise")),
		gate.Req("tip", text("link that poses are about")),
		gate.Req("dof", gate.Int()),
		gate.Req("links", texts("")),
		gate.Req("joints", gate.Arr(joint, 0, 0)),
		gate.Opt("base", gate.Obj(
			gate.Req("left", text("wheel joint")), gate.Req("right", text("wheel joint")),
			gate.Req("radius", gate.Num().In("m")), gate.Req("track", gate.Num().In("m")),
		).Desc("of a robot that drives")),
		gate.Req("scene_bodies", texts("")),
		gate.Req("guarded_zones", texts("")),
		gate.Req("assumed", texts("what was assumed rather than known")),
	)
}

func actuatorsOut() *gate.Schema {
	return gate.Obj(gate.Req("actuators", gate.Arr(gate.Obj(
		gate.Req("name", text("")),
		gate.Req("kind", text("joint, gripper, led, relay, pwm, …")),
		gate.Req("unit", text("")),
		gate.Req("lower", gate.Num()), gate.Req("upper", gate.Num()),
		gate.Req("on_stop", text("what a stop does to it: hold, off or unchanged")),
		gate.Req("on_lost_link", text("what a lost link does to it: hold, off or unchanged")),
		gate.Req("off", gate.Num().Desc("the value that off stands for")),
		gate.Opt("value", gate.Num().Desc("left out where it isn't known")),
		gate.Opt("measured", gate.Bool().Desc("false: the value is what was last commanded")),
	), 0, 0)))
}

func shapeOut(more ...gate.Property) *gate.Schema {
	round := gate.Obj(gate.Req("radius", gate.Num().In("m")), gate.Req("length", gate.Num().In("m")))
	return gate.Obj(append([]gate.Property{
		gate.Req("name", text("")),
		gate.Req("pose", gate.Obj(gate.Req("xyz", vec(3, "m", "in the root frame")), gate.Req("quat_wxyz", vec(4, "", "")))),
		gate.Req("geometry", gate.Obj(
			gate.Opt("box", gate.Obj(gate.Req("size", vec(3, "m", "full extents")))),
			gate.Opt("cylinder", round), gate.Opt("capsule", round),
			gate.Opt("sphere", gate.Obj(gate.Req("radius", gate.Num().In("m")))),
			gate.Opt("mesh", gate.Obj(gate.Req("triangles", gate.Int()))),
		)),
	}, more...)...)
}

func bodyOut() *gate.Schema { return shapeOut(gate.Req("movable", gate.Bool())) }

func sceneHashOut() gate.Property { return gate.Req("hash", text("SHA-256 of the content, hex")) }

func sceneOut() *gate.Schema {
	return gate.Obj(
		gate.Req("name", text("")),
		sceneHashOut(),
		gate.Req("bodies", gate.Arr(bodyOut(), 0, 0)),
		gate.Req("guarded_zones", gate.Arr(shapeOut(), 0, 0)),
		gate.Opt("changed", text("what of it the agent has changed since the start")),
		gate.Req("editable", gate.Bool().Desc("whether scene_add and scene_remove may change it")),
	)
}

func sceneEditOut() *gate.Schema {
	return gate.Obj(
		gate.Req("body", bodyOut().Desc("that was added or taken out")),
		gate.Req("bodies", gate.Int().Desc("how many the scene has now; scene_describe tells them")),
		gate.Req("guarded_zones", gate.Int().Desc("how many the scene has")),
		sceneHashOut(),
	)
}
