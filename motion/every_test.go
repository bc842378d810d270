package motion_test

import (
	"fmt"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// tryout is what each built-in robot is asked for.
type tryout struct {
	jog   string                                      // the joint that is jogged
	path  func(g *gated) (args string, to mgl64.Vec3) // a straight path from home
	loose bool                                        // poses are given without an orientation
}

// along is a path of the tip by an amount, in the root frame.
func along(by mgl64.Vec3) func(*gated) (string, mgl64.Vec3) {
	return func(g *gated) (string, mgl64.Vec3) {
		to := g.tipAt(g.positions()).P.Add(by)
		return `{"waypoints":[` + waypoint(to, nil) + `]}`, to
	}
}

var tryouts = map[string]tryout{
	"so101": {jog: "elbow_flex", path: along(mgl64.Vec3{0.02, 0, 0.03}), loose: true},
	"panda": {jog: "panda_joint2", path: along(mgl64.Vec3{0, 0.1, 0.1})},
	"ur5e":  {jog: "elbow_joint", path: along(mgl64.Vec3{0.05, 0.05, 0.05})},
	// The head's lines are turns: two joints have no other.
	"pantilt": {jog: "tilt", loose: true, path: func(g *gated) (string, mgl64.Vec3) {
		turned := mgl64.QuatRotate(0.3, mgl64.Vec3{0, 0, 1})
		return `{"tip":"tilt_link","waypoints":[` + waypoint(mgl64.Vec3{0, 0, 0.049}, &turned) + `]}`, g.tipAt([]float64{0.3, 0}).P
	}},
	"rover":  {jog: "right_wheel", path: along(mgl64.Vec3{0.2, 0.1, 0})},
	"gantry": {jog: "z", path: along(mgl64.Vec3{0.05, -0.05, -0.05})},
}

// Every built-in robot does the motions through a person's approval, in the
// simulator, and ends where it was asked to.
func TestEveryRobotMovesThroughApproval(t *testing.T) {
	t.Parallel()
	for _, name := range builtin.Names() {
		t.Run(name, func(t *testing.T) {
			try, ok := tryouts[name]
			require.True(t, ok, "nobody has said what this robot is to be asked for")
			g := newGated(t, rigOptions{builtin: name}, approvals(6)...)
			home := g.tipAt(g.model.Home)
			ends := func(want mgl64.Vec3, r moved) {
				t.Helper()
				require.Equal(t, "done", r.Outcome)
				require.Less(t, mgl64.Vec3(r.Tip.Position).Sub(want).Len(), 0.006)
			}

			var r moved
			g.ok("move_joints", fast(wholeArm(g.model, 0.15)), &r)
			require.Equal(t, "done", r.Outcome)
			there := g.tipAt(g.positions())
			require.Greater(t, there.P.Sub(home.P).Len(), 0.001)
			g.ok("home", fast(`{}`), &r)
			ends(home.P, r)

			// To the same pose once more, now by the pose.
			args := fmt.Sprintf(`{"position":[%.17g,%.17g,%.17g]`, there.P[0], there.P[1], there.P[2])
			if !try.loose {
				args += fmt.Sprintf(`,"orientation":[%.17g,%.17g,%.17g,%.17g]`, there.Q.W, there.Q.V[0], there.Q.V[1], there.Q.V[2])
			}
			g.ok("move_pose", fast(args+"}"), &r)
			ends(there.P, r)
			g.ok("home", fast(`{}`), &r)
			ends(home.P, r)

			path, to := try.path(g)
			g.ok("move_path", fast(path), &r)
			ends(to, r)
			require.NotEmpty(t, g.fact("Path"))

			before := g.positions()
			g.ok("jog", fast(jogArgs(try.jog, 0.02)), &r)
			i := g.model.ActiveIndex(try.jog)
			require.InDelta(t, before[i]+0.02, r.Positions[try.jog], 0.004)

			// A person's card named the motion each time, and no other.
			for _, req := range g.approver.Requests() {
				require.NotEmpty(t, factOf(req.Card, "Rehearsed"))
				require.NotEmpty(t, factOf(req.Card, "Moves"))
			}
		})
	}
}

// What a robot hasn't got is refused with the same code on each of them, before
// anybody is asked.
func TestWhatARobotHasNotIsNotSupported(t *testing.T) {
	for _, name := range builtin.Names() {
		t.Run(name, func(t *testing.T) {
			g := newGated(t, rigOptions{builtin: name})
			m := g.model
			for tool, c := range map[string]struct {
				args string
				has  bool
				give string // what would give it one
			}{
				"gripper":      {`{"position":1}`, m.Gripper != nil, "end_effector in its SRDF"},
				"set_actuator": {`{"name":"no such thing","value":0}`, len(m.Actuators) > 0, ""},
				"drive":        {`{"linear":0.05,"angular":0,"duration":3}`, m.Base != nil, "--actuators that has base:"},
				"reference":    {`{}`, len(m.References) > 0, ""},
			} {
				if !c.has {
					a := g.refused(gate.CodeNotSupported, tool, c.args)
					require.Contains(t, a.Text, c.give)
				}
			}
		})
	}
}

// An e-stop refuses every motion of every robot before anybody is asked, and a stop
// before a call was made is none of its business.
func TestEveryRobotIsStopped(t *testing.T) {
	t.Parallel()
	for _, name := range builtin.Names() {
		t.Run(name, func(t *testing.T) {
			g := newGated(t, rigOptions{builtin: name}, approvals(1)...)
			g.robot.Stop(t.Context(), robot.StopControlled)
			g.ok("move_joints", wholeArm(g.model, 0.05), nil)
			g.robot.Stop(t.Context(), robot.StopEmergency)
			for tool, args := range map[string]string{
				"move_joints": wholeArm(g.model, 0.1), "home": `{}`, "jog": jogArgs(tryouts[name].jog, 0.01), "torque_off": `{}`,
			} {
				g.refused(gate.CodeEStopped, tool, args)
			}
		})
	}
}
