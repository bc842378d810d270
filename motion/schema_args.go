package motion

import "github.com/tau-robot/tau/gate"

// The schemas of the tools' arguments. Each unit stands in its field's
// description; what is not named here is refused by the gate before a tool sees it.

func ptr(f float64) *float64 { return &f }

func num(unit, doc string) *gate.Schema {
	return &gate.Schema{Kind: gate.KindNumber, Unit: unit, Description: doc}
}

func vec(n int, unit, doc string) *gate.Schema {
	return &gate.Schema{Kind: gate.KindArray, MinItems: n, MaxItems: n, Elem: num(unit, ""), Description: doc}
}

func str(maxLen int, doc string) *gate.Schema {
	return &gate.Schema{Kind: gate.KindString, MaxLength: maxLen, Description: doc}
}

func req(name string, s *gate.Schema) gate.Property {
	return gate.Property{Name: name, Required: true, Schema: s}
}

func opt(name string, s *gate.Schema) gate.Property { return gate.Property{Name: name, Schema: s} }

func object(props ...gate.Property) *gate.Schema {
	return &gate.Schema{Kind: gate.KindObject, Properties: props}
}

// maxName bounds the length of joint, link and plan names in arguments, in bytes.
const maxName = 256

// speedScale is the argument that all motions share.
func speedScale() gate.Property {
	return opt("speed_scale", &gate.Schema{
		Kind: gate.KindNumber, Above: ptr(0), Max: ptr(1), Default: "0.5",
		Description: "fraction of the joints' speed, acceleration and jerk limits to use, above 0 to 1",
	})
}

func positionsSchema() *gate.Schema {
	return &gate.Schema{
		Kind: gate.KindMap, MinItems: 1, MaxItems: 256,
		Elem:        num("", "target position in radians (metres for a sliding joint)"),
		Description: "target by joint name, in radians (metres for sliding joints); joints not named keep their setpoint",
	}
}

func jointsArgs() *gate.Schema {
	return object(req("positions", positionsSchema()), speedScale())
}

func poseArgs() *gate.Schema {
	return object(
		req("position", vec(3, "m", "x, y, z of the tip")),
		opt("orientation", vec(4, "", "unit quaternion w, x, y, z of the tip; not together with tool_axis")),
		opt("tool_axis", vec(3, "", "direction in which the tip's z axis shall point; what an arm of five joints can reach")),
		opt("frame", str(maxName, "link in whose frame the pose is given, as that link stands now; default: the root")),
		opt("tip", str(maxName, "link that shall reach the pose; default: the robot's tool tip")),
		speedScale(),
	)
}

func planIDArgs() *gate.Schema {
	return object(req("plan_id", str(64, "handle from plan_joints or plan_pose; single use, asked within 120 s")))
}

func gripperArgs() *gate.Schema {
	return object(
		req("position", &gate.Schema{Kind: gate.KindNumber, Min: ptr(0), Max: ptr(1), Description: "0 is closed, 1 is open"}),
		opt("max_effort", &gate.Schema{Kind: gate.KindNumber, Above: ptr(0), Description: "largest effort at the gripper joint in N·m (N for a sliding one); default: the model's"}),
		speedScale(),
	)
}

func rehearseArgs() *gate.Schema {
	return object(
		opt("plan_id", str(64, "a plan to rehearse again from where the robot is now; the plan isn't used up")),
		opt("positions", positionsSchema()),
		opt("gripper", &gate.Schema{Kind: gate.KindNumber, Min: ptr(0), Max: ptr(1), Description: "gripper position to rehearse, 0 closed to 1 open"}),
		opt("home", &gate.Schema{Kind: gate.KindBool, Description: "true: rehearse the move to the home pose"}),
		speedScale(),
	)
}

// Output schemas. Maps by joint name are open; what isn't measured is left out.

func anyOut() *gate.Schema { return &gate.Schema{Kind: gate.KindAny} }

func byJoint(doc string) *gate.Schema {
	return &gate.Schema{Kind: gate.KindMap, Elem: num("", ""), Description: doc}
}

func poseOut() *gate.Schema {
	return object(
		req("position", vec(3, "m", "in the root frame")),
		req("orientation", vec(4, "", "w, x, y, z")),
	)
}

func planOut() *gate.Schema {
	return object(
		req("plan_id", str(0, "handle for execute_plan")),
		req("digest", str(0, "SHA-256 over the planned motion and its rehearsal, hex")),
		req("expires_at", str(0, "RFC 3339")),
		req("duration_s", num("s", "")),
		req("rehearsal", anyOut()),
	)
}

func motionOut() *gate.Schema {
	return object(
		opt("positions", byJoint("measured at the end; left out where nothing could be measured")),
		req("duration_s", num("s", "from the first actuation to measured rest")),
		opt("max_tracking_error", num("", "largest |measured - setpoint| of any joint, rad or m")),
		opt("tip", poseOut()),
		opt("gripped", str(0, "the body that the gripper closed on")),
		req("outcome", str(0, "done, stopped, cancelled, faulted, refused or unknown")),
		req("mode", str(0, "sim or real")),
		req("backend", str(0, "what produced this")),
		req("rehearsal", anyOut()),
	)
}
