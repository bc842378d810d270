package motion

import "github.com/tau-robot/tau/gate"

// The schemas of the tools' arguments. Each unit stands in its field's
// description; what is not named here is refused by the gate before a tool sees it.

// Bounds of what arguments may hold.
const (
	maxName      = 256 // bytes of a joint's, link's, body's or actuator's name
	maxWaypoints = 64  // of one path
)

// speedScale is the argument that all motions share.
func speedScale() gate.Property {
	return gate.Opt("speed_scale", gate.Num().MoreThan(0).AtMost(1).Def("0.5").
		Desc("fraction of the joints' speed, acceleration and jerk limits to use, above 0 to 1"))
}

func name(doc string) *gate.Schema { return gate.Str(maxName).Desc(doc) }

func vec(n int, unit, doc string) *gate.Schema {
	return gate.Vec(gate.Num().In(unit), n).Desc(doc)
}

func positionsSchema() *gate.Schema {
	return gate.MapOf(gate.Num().Desc("target position in radians (metres for a sliding joint)"), 1, 256).
		Desc("target by joint name, in radians (metres for sliding joints); joints not named keep their setpoint")
}

func jointsArgs() *gate.Schema {
	return gate.Obj(gate.Req("positions", positionsSchema()), speedScale())
}

func frameArg(what string) gate.Property {
	return gate.Opt("frame", name("link in whose frame "+what+" given, as that link stands now; default: the root"))
}

func poseArgs() *gate.Schema {
	return gate.Obj(
		gate.Req("position", vec(3, "m", "x, y, z of the tip")),
		gate.Opt("orientation", vec(4, "", "unit quaternion w, x, y, z of the tip; not together with tool_axis")),
		gate.Opt("tool_axis", vec(3, "", "direction in which the tip's z axis shall point; what an arm of five joints can reach")),
		frameArg("the pose is"),
		gate.Opt("tip", name("link that shall reach the pose; default: the robot's tool tip")),
		speedScale(),
	)
}

func pathArgs() *gate.Schema {
	waypoint := gate.Obj(
		gate.Req("position", vec(3, "m", "x, y, z of the tip")),
		gate.Opt("orientation", vec(4, "", "unit quaternion w, x, y, z of the tip; without it a tip that six or more joints move keeps the orientation in which the line starts, and one of fewer turns as little as the line permits")),
	)
	return gate.Obj(
		gate.Req("waypoints", gate.Arr(waypoint, 1, maxWaypoints).Desc("where the tip goes, on a straight line to each; it rests at each")),
		frameArg("the waypoints are"),
		gate.Opt("tip", name("link that moves along the lines; default: the robot's tool tip")),
		speedScale(),
	)
}

func planIDArgs() *gate.Schema {
	return gate.Obj(gate.Req("plan_id", gate.Str(64).Desc("handle from plan_joints, plan_pose or plan_path; single use, asked within 120 s")))
}

func gripperArgs() *gate.Schema {
	return gate.Obj(
		gate.Req("position", gate.Num().Between(0, 1).Desc("0 is closed, 1 is open")),
		gate.Opt("max_effort", gate.Num().MoreThan(0).Desc("largest effort at the gripper joint in N·m (N for a sliding one); default: the model's")),
		speedScale(),
	)
}

func jogFields() []gate.Property {
	return []gate.Property{
		gate.Req("joint", name("the joint that moves; all others hold")),
		gate.Req("delta", gate.Num().Desc("by how much, in radians (metres for a sliding joint), from where it stands")),
	}
}

func driveFields() []gate.Property {
	return []gate.Property{
		gate.Req("linear", gate.Num().In("m/s").Desc("speed forwards while it cruises; negative: backwards")),
		gate.Req("angular", gate.Num().In("rad/s").Desc("speed of turning while it cruises; positive: to the left")),
		gate.Req("duration", gate.Num().MoreThan(0).AtMost(maxDuration).In("s").Desc("of the whole motion, gathering and losing speed included")),
	}
}

func driveArgs() *gate.Schema {
	return gate.Obj(append(driveFields(), gate.Opt("speed_scale", gate.Num().MoreThan(0).AtMost(1).Def("0.5").
		Desc("fraction of the acceleration and jerk limits to gather and lose speed with, above 0 to 1; the speed itself is linear and angular")))...)
}

func referenceFields() []gate.Property {
	return []gate.Property{
		gate.Opt("joint", name("the joint that looks for its switch; may be left out where only one needs it, or only one has a switch")),
	}
}

func actuatorArgs() *gate.Schema {
	return gate.Obj(
		gate.Req("name", name("an actuator beside the joints, as list_actuators names it")),
		gate.Req("value", gate.Num().Desc("in the unit and range that list_actuators states")),
	)
}

func rehearseArgs() *gate.Schema {
	return gate.Obj(
		gate.Opt("plan_id", gate.Str(64).Desc("a plan to rehearse again from where the robot is now; the plan isn't used up")),
		gate.Opt("positions", positionsSchema()),
		gate.Opt("gripper", gate.Num().Between(0, 1).Desc("gripper position to rehearse, 0 closed to 1 open")),
		gate.Opt("home", gate.Bool().Desc("true: rehearse the move to the home pose")),
		gate.Opt("jog", gate.Obj(jogFields()...).Desc("as jog")),
		gate.Opt("drive", gate.Obj(driveFields()...).Desc("as drive")),
		gate.Opt("reference", gate.Obj(referenceFields()...).Desc("as reference")),
		speedScale(),
	)
}

// bodyArgs is a scene file's body (docs/scene.schema.json), as far as a scene may
// hold it.
func bodyArgs() *gate.Schema {
	length := func(doc string) *gate.Schema { return gate.Num().MoreThan(0).In("m").Desc(doc) }
	round := func(doc string) *gate.Schema {
		return gate.Obj(gate.Req("radius", length("")), gate.Req("length", length(doc)))
	}
	return gate.Obj(
		gate.Req("name", name("unlike any other body, zone or link")),
		gate.Req("pose", gate.Obj(
			gate.Req("xyz", vec(3, "m", "of the body's centre, in the root frame")),
			gate.Opt("quat_wxyz", vec(4, "", "unit quaternion w, x, y, z; default: not turned")),
		)),
		gate.Req("geometry", gate.Obj(
			gate.Opt("box", gate.Obj(gate.Req("size", gate.Vec(length(""), 3).Desc("full extents along x, y, z")))),
			gate.Opt("cylinder", round("height, along z")),
			gate.Opt("capsule", round("of the cylindrical part, along z")),
			gate.Opt("sphere", gate.Obj(gate.Req("radius", length("")))),
		).Desc("exactly one of them")),
		gate.Opt("movable", gate.Bool().Def("false").Desc("true: it may be gripped and carried")),
	)
}

func bodyNameArgs() *gate.Schema {
	return gate.Obj(gate.Req("name", name("of a body, as scene_describe names it; zones are the operator's")))
}
