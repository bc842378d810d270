package motion_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// around is a box about where the so101's tip is at home, as far as it gets with its
// shoulder turned by 0.5 rad.
func around(t testing.TB) *motion.Box {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	at := tipOf(t, m, 0)
	side := math.Abs(tipOf(t, m, 0.5)[1])
	return &motion.Box{
		Min: mgl64.Vec3{-1, -side, 0},
		Max: mgl64.Vec3{at[0] + 0.02, side, at[2] + 0.02},
	}
}

func corners(b *motion.Box) *[2]mgl64.Vec3 { return &[2]mgl64.Vec3{b.Min, b.Max} }

// The tip stays in the workspace: what would take it out is refused with where, by which
// face, and what is nearest, whatever tool asks for it.
func TestTheTipStaysInTheWorkspace(t *testing.T) {
	t.Parallel()
	box := around(t)
	g := newRig(t, rigOptions{space: box, fence: corners(box)})
	g.must("move_joints", pan(0.4), nil)
	_, err := g.prepare("move_joints", pan(0.9))
	e := requireCode(t, gate.CodeWorkspace, err)
	require.Equal(t, "gripper_frame_link", e.Where)
	require.Equal(t, "y", e.Value.Name)
	face := math.Copysign(box.Max[1], e.Value.Value)
	require.Greater(t, math.Abs(e.Value.Value), math.Abs(face))
	require.InDelta(t, face, e.Limit.Value, 2.1e-3, "the face, less the margin")
	require.Empty(t, e.Access, "no grant opens it")

	// A jog says how far it could go, and can go there.
	_, err = g.prepare("jog", `{"joint":"shoulder_pan","delta":0.5,"speed_scale":1}`)
	e = requireCode(t, gate.CodeWorkspace, err)
	require.Equal(t, "delta", e.Nearest[0].Name)
	require.InDelta(t, 0.09, e.Nearest[0].Value, 0.02)
	g.must("jog", fmt.Sprintf(`{"joint":"shoulder_pan","delta":%.17g,"speed_scale":1}`, e.Nearest[0].Value), nil)

	// A position outside is refused as such, with the nearest one inside.
	at := g.tipAt(g.positions()).P
	for _, tool := range []string{"move_pose", "plan_pose"} {
		args := fmt.Sprintf(`{"position":[%g,%g,%g]}`, at[0], at[1], box.Max[2]+0.05)
		if tool == "move_pose" {
			_, err = g.prepare(tool, args)
		} else {
			_, err = g.action(tool, args).Run(t.Context())
		}
		e = requireCode(t, gate.CodeWorkspace, err)
		require.Equal(t, "position", e.Where)
		require.Equal(t, "z", e.Nearest[2].Name)
		require.InDelta(t, box.Max[2]-2e-3, e.Nearest[2].Value, 1e-12)
	}
	_, err = g.prepare("move_path", fmt.Sprintf(`{"waypoints":[{"position":[%g,%g,%g]},{"position":[%g,%g,%g]}]}`, at[0], at[1], at[2], at[0]+0.3, at[1], at[2]))
	require.Equal(t, "waypoints[1].position", requireCode(t, gate.CodeWorkspace, err).Where)
}

// With the planner's own checks switched off the rehearsal alone refuses what leaves the
// workspace, and what stays in it is rehearsed.
func TestTheRehearsalAloneHoldsTheWorkspace(t *testing.T) {
	t.Parallel()
	box := around(t)
	g := newRig(t, rigOptions{space: box, fence: corners(box), checker: blind{}})
	_, err := g.prepare("move_joints", pan(0.9))
	e := requireCode(t, gate.CodeRehearsalFailed, err)
	require.Equal(t, robot.CodeWorkspace, robot.CodeOf(rehearsalCause(err)))
	require.InDelta(t, box.Max[1], math.Abs(e.Limit.Value), 1e-12)
	_, err = g.prepare("move_joints", pan(0.45))
	require.NoError(t, err)

	// And the other way round.
	g = newRig(t, rigOptions{space: box})
	_, err = g.prepare("move_joints", pan(0.9))
	requireCode(t, gate.CodeWorkspace, err)
}

// Wherever a planned motion of any joints is looked at, the tip is inside.
func TestNoPlannedMotionLeavesTheWorkspace(t *testing.T) {
	t.Parallel()
	box := around(t)
	g, _, _ := newLive(t, rigOptions{space: box})
	checks, planned := 0, 0
	q := make([]float64, g.model.DoF())
	rapid.Check(t, func(rt *rapid.T) {
		if checks++; raceEnabled && checks > 8 {
			return
		}
		to := rapid.SliceOfN(rapid.Float64Range(-0.8, 0.8), 4, 4).Draw(rt, "targets")
		act, err := g.prepare("move_joints", fmt.Sprintf(`{"positions":{"shoulder_pan":%g,"shoulder_lift":%g,"elbow_flex":%g,"wrist_flex":%g}}`,
			to[0], g.model.Home[1]+to[1]/2, g.model.Home[2]+to[2]/2, g.model.Home[3]+to[3]))
		if err != nil {
			return // out of limits, in contact or out of the workspace
		}
		planned++
		m, _, _ := motion.Planned(act)
		for k := range 500 {
			m.Trajectory.Sample(m.Trajectory.Duration()*float64(k)/499, q, nil, nil)
			tip := g.tipAt(q).P
			for i := range tip {
				require.GreaterOrEqual(rt, tip[i], box.Min[i]+1.5e-3)
				require.LessOrEqual(rt, tip[i], box.Max[i]-1.5e-3)
			}
		}
	})
	require.NotZero(t, planned)
}

// A way whose ends are inside isn't, where it is outside between them: a jog is refused
// with how far it could go, and other motions go around.
func TestTheWorkspaceIsHeldAllAlongTheWay(t *testing.T) {
	t.Parallel()
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	start := append([]float64(nil), m.Home...)
	start[0] = -0.4
	box := &motion.Box{Min: mgl64.Vec3{-1, -1, -1}, Max: mgl64.Vec3{tipOf(t, m, 0)[0] - 5e-3, 1, 1}}
	g := newRig(t, rigOptions{space: box, fence: corners(box), start: start})
	_, err = g.prepare("jog", `{"joint":"shoulder_pan","delta":0.8,"speed_scale":1}`)
	e := requireCode(t, gate.CodeWorkspace, err)
	require.Equal(t, "x", e.Value.Name)
	require.Less(t, e.Nearest[0].Value, 0.35)
	g.must("jog", fmt.Sprintf(`{"joint":"shoulder_pan","delta":%.17g,"speed_scale":1}`, e.Nearest[0].Value), nil)
	act := g.action("move_joints", pan(0.4))
	around, _, _ := motion.Planned(act)
	q := make([]float64, m.DoF())
	for k := range 500 {
		around.Trajectory.Sample(around.Trajectory.Duration()*float64(k)/499, q, nil, nil)
		require.LessOrEqual(t, g.tipAt(q).P[0], box.Max[0]-1.5e-3)
	}
	_, err = act.Run(t.Context())
	require.NoError(t, err)
}

// A tip that is outside when the box is drawn may come back and go no farther out, and
// the card says so.
func TestATipOutsideTheWorkspaceMayComeBack(t *testing.T) {
	t.Parallel()
	box := around(t)
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	start := append([]float64(nil), m.Home...)
	start[0] = 0.7
	g := newRig(t, rigOptions{space: box, fence: corners(box), start: start})
	_, err = g.prepare("move_joints", pan(0.9))
	require.Contains(t, requireCode(t, gate.CodeWorkspace, err).Text, "outside the workspace at the start")
	act := g.action("move_joints", pan(0.3))
	require.Contains(t, factOf(act.Card(), "Starts"), "outside the workspace")
	_, err = act.Run(t.Context())
	require.NoError(t, err)
	_, err = g.prepare("move_joints", pan(0.7))
	requireCode(t, gate.CodeWorkspace, err)
	require.Empty(t, factOf(g.action("move_joints", pan(0.2)).Card(), "Starts"))

	// The rehearsal agrees, by itself.
	g = newRig(t, rigOptions{fence: corners(box), start: start, checker: blind{}})
	_, err = g.prepare("move_joints", pan(0.9))
	require.Equal(t, robot.CodeWorkspace, robot.CodeOf(rehearsalCause(err)))
	_ = g.action("move_joints", pan(0.3))
}

// The box is one, and part of what a person approves.
func TestAWorkspaceIsChecked(t *testing.T) {
	for _, b := range []motion.Box{{}, {Max: mgl64.Vec3{1, 1, 0.004}}, {Max: mgl64.Vec3{1, math.NaN(), 1}}, {Max: mgl64.Vec3{1, 1, math.Inf(1)}}, {Min: mgl64.Vec3{0, 2, 0}, Max: mgl64.Vec3{1, 1, 1}}} {
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(b.Check()), "%v", b)
	}
	box := around(t)
	snap, err := newRig(t, rigOptions{space: box}).action("move_joints", turnLittle).Snapshot()
	require.NoError(t, err)
	_, err = newRig(t, rigOptions{space: box}).tools["move_joints"].Restore(t.Context(), snap)
	require.NoError(t, err)
	wider := *box
	wider.Max[2] += 0.01
	for _, other := range []*motion.Box{nil, &wider} {
		_, err = newRig(t, rigOptions{space: other}).tools["move_joints"].Restore(t.Context(), snap)
		requireCode(t, gate.CodeStartMoved, err)
	}
}

const turnLittle = `{"positions":{"shoulder_pan":0.2}}`

// A base's tip is held as well.
func TestABaseStaysInTheWorkspace(t *testing.T) {
	t.Parallel()
	box := &motion.Box{Min: mgl64.Vec3{-0.3, -0.3, -1}, Max: mgl64.Vec3{0.3, 0.3, 1}}
	g := newRig(t, rigOptions{builtin: "rover", space: box, fence: corners(box)})
	_, err := g.prepare("drive", `{"linear":0.15,"angular":0,"duration":4}`)
	e := requireCode(t, gate.CodeWorkspace, err)
	require.Contains(t, e.Text, "would leave the workspace")
	require.NotContains(t, e.Text, "contact")
	require.InDelta(t, 0.3, e.Nearest[0].Value, 0.05)
	g.must("drive", `{"linear":0.05,"angular":0,"duration":3}`, nil)
	blindly := newRig(t, rigOptions{builtin: "rover", fence: corners(box), checker: blind{}})
	_, err = blindly.prepare("drive", `{"linear":0.15,"angular":0,"duration":4}`)
	require.Equal(t, robot.CodeWorkspace, robot.CodeOf(rehearsalCause(err)), "%v", err)
}
