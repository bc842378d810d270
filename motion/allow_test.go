package motion_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// list is what an operator permits one principal in one session.
type list struct {
	session, principal string
	zones              []string
	cap                float64 // 0: none
	until              time.Time
}

func (l *list) Zone(session, principal, zone string) bool {
	return session == l.session && principal == l.principal && slices.Contains(l.zones, zone)
}

func (l *list) SpeedCap(session, principal string) (float64, bool) {
	if session != l.session || principal != l.principal {
		return 0.01, true
	}
	return l.cap, l.cap != 0
}

func (l *list) ZoneUntil(_, _, _ string) time.Time { return l.until }

// theirs is the list of whom rig.call calls for.
func theirs(zones ...string) *list { return &list{session: "s", principal: "tester", zones: zones} }

// pans are where the zones of zonedScene stand: where the so101's tip is at home with its
// shoulder turned so far, rad.
var pans = map[string]float64{"left": 0.8, "right": -0.8, "far right": -1.5}

const zoneRadius = 0.04 // m

func zonedScene(t testing.TB) robot.Scene {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	var zones []robot.Zone
	for name, pan := range pans {
		zones = append(zones, robot.Zone{
			Name: name, Pose: robot.Pose{P: tipOf(t, m, pan), Q: mgl64.QuatIdent()},
			Geometry: robot.Geometry{Kind: robot.Sphere, Radius: zoneRadius},
		})
	}
	s, err := robot.NewScene("zones", nil, zones)
	require.NoError(t, err)
	return s
}

// tipOf is where the tip is at home with the first joint elsewhere.
func tipOf(t testing.TB, m *robot.Model, first float64) mgl64.Vec3 {
	q := append([]float64(nil), m.Home...)
	q[0] = first
	return tipAtQ(t, m, q)
}

func tipAtQ(t testing.TB, m *robot.Model, q []float64) mgl64.Vec3 {
	tree, err := kinematics.New(m.Description)
	require.NoError(t, err)
	d := tree.NewData()
	tree.FK(d, q)
	return d.Position(m.Tip)
}

func pan(to float64) string {
	return fmt.Sprintf(`{"positions":{"shoulder_pan":%g},"speed_scale":1}`, to)
}

// A guarded zone is closed, with what to ask for, until it is open to that session and
// principal; then the planner and the rehearsal let the motion in, the card says so, and
// the other zones stay closed.
func TestG48_AZoneIsOpenOnlyToWhomItIsGranted(t *testing.T) {
	t.Parallel()
	scene := zonedScene(t)
	none := newGated(t, rigOptions{scene: scene})
	a := none.refused(gate.CodeZoneNotGranted, "move_joints", pan(0.8))
	require.Contains(t, a.Text, "left")
	_, err := none.prepare("move_joints", pan(0.8))
	require.Equal(t, "zone:left", requireCode(t, gate.CodeZoneNotGranted, err).Access)
	_, err = none.prepare("plan_joints", pan(-0.8))
	require.NoError(t, err)
	_, err = none.action("plan_joints", pan(-0.8)).Run(t.Context())
	require.Equal(t, "zone:right", requireCode(t, gate.CodeZoneNotGranted, err).Access)

	allow := theirs("left")
	allow.until = time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
	g := newRig(t, rigOptions{scene: scene, allow: allow})
	act := g.action("move_joints", pan(0.8))
	require.Equal(t, "zone left (granted until 2026-01-02T04:00:00Z)", factOf(act.Card(), "Enters"))
	m, _, _ := motion.Planned(act)
	require.Equal(t, []string{"left"}, m.Zones)
	_, err = g.prepare("move_joints", pan(-0.8))
	require.Equal(t, "zone:right", requireCode(t, gate.CodeZoneNotGranted, err).Access)
	other := g.call("move_joints", pan(0.2))
	other.Principal = "somebody"
	_, err = g.tools["move_joints"].Prepare(t.Context(), other)
	requireCode(t, gate.CodeSpeedLimit, err) // theirs is another list, with a cap
	other.Args = []byte(pan(0.8))
	_, err = g.tools["move_joints"].Prepare(t.Context(), other)
	require.Equal(t, "zone:left", requireCode(t, gate.CodeZoneNotGranted, err).Access)

	// A motion that doesn't enter what is open says nothing of it and needs no grant.
	clear := g.action("move_joints", pan(0.2))
	require.Empty(t, factOf(clear.Card(), "Enters"))
	m, _, _ = motion.Planned(clear)
	require.Empty(t, m.Zones)

	// Revoked between the approval and the run: refused, from the snapshot too.
	snap, err := act.Snapshot()
	require.NoError(t, err)
	again, err := g.tools["move_joints"].Restore(t.Context(), snap)
	require.NoError(t, err)
	require.NoError(t, again.Check(t.Context()))
	allow.zones = nil
	for _, x := range []gate.Action{act, again} {
		require.Equal(t, "zone:left", requireCode(t, gate.CodeZoneNotGranted, x.Check(t.Context())).Access)
	}
	require.NoError(t, clear.Check(t.Context()))

	// Whose permission counts, and for which speed, is part of what was approved.
	for field, other := range map[string]string{"principal": `"somebody"`, "session": `"t"`, "scale": `0.1`} {
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(snap, &fields))
		fields[field] = json.RawMessage(other)
		bent, err := json.Marshal(fields)
		require.NoError(t, err)
		_, err = g.tools["move_joints"].Restore(t.Context(), bent)
		requireCode(t, gate.CodeStartMoved, err)
	}
	allow.zones = []string{"left"}
	require.NoError(t, again.Check(t.Context()))
	_, err = again.Run(t.Context())
	require.NoError(t, err)

	// From deep inside, closed again, the arm can leave only with permission.
	allow.zones = nil
	_, err = g.prepare("move_joints", pan(0.2))
	e := requireCode(t, gate.CodeZoneNotGranted, err)
	require.Equal(t, "zone:left", e.Access)
	require.Contains(t, e.Text, "permission")
	allow.zones = []string{"left"}
	out := g.action("move_joints", pan(0.2))
	require.NotEmpty(t, factOf(out.Card(), "Enters"))
	_, err = out.Run(t.Context())
	require.NoError(t, err)
}

// A handle serves whoever has planned it, and only while that is still permitted.
func TestG48_APlanIsHeldAgainstThePermissionOfNow(t *testing.T) {
	t.Parallel()
	allow := theirs("left")
	allow.cap = 0.6
	g := newRig(t, rigOptions{scene: zonedScene(t), allow: allow})
	var p planned
	g.run("plan_joints", `{"positions":{"shoulder_pan":0.8},"speed_scale":0.6}`, &p)
	id := fmt.Sprintf(`{"plan_id":%q}`, p.PlanID)
	allow.zones = nil
	_, err := g.action("rehearse", id).Run(t.Context())
	requireCode(t, gate.CodeZoneNotGranted, err)
	_, err = g.prepare("execute_plan", id)
	requireCode(t, gate.CodeZoneNotGranted, err)

	allow.zones = []string{"left"}
	g.run("plan_joints", `{"positions":{"shoulder_pan":0.8},"speed_scale":0.6}`, &p)
	id = fmt.Sprintf(`{"plan_id":%q}`, p.PlanID)
	allow.cap = 0.5
	_, err = g.prepare("execute_plan", id)
	require.Equal(t, "speed:0.6", requireCode(t, gate.CodeSpeedLimit, err).Access)
	allow.cap = 0.6
	g.run("plan_joints", `{"positions":{"shoulder_pan":0.8},"speed_scale":0.6}`, &p)
	g.must("execute_plan", fmt.Sprintf(`{"plan_id":%q}`, p.PlanID), nil)
}

// A zone that is open leaves every other one as it is: a motion that is planned touches
// no closed zone and names no zone but open ones that it enters; one that is refused for a zone
// names a closed one.
func TestG48_AnOpenZoneOpensNoOther(t *testing.T) {
	t.Parallel()
	scene := zonedScene(t)
	allow := theirs()
	g, _, _ := newLive(t, rigOptions{scene: scene, allow: allow})
	names := []string{"far right", "left", "right"}
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		if checks++; raceEnabled && checks > 10 {
			return
		}
		allow.zones = nil
		for _, n := range names {
			if rapid.Bool().Draw(rt, n) {
				allow.zones = append(allow.zones, n)
			}
		}
		to := rapid.Float64Range(-1.9, 1.9).Draw(rt, "pan")
		act, err := g.prepare("move_joints", pan(to))
		if err != nil {
			if e := gateErrorOf(err); e.Access != "" {
				require.NotContains(rt, allow.zones, e.Access[len("zone:"):])
			}
			return
		}
		m, _, _ := motion.Planned(act)
		require.Subset(rt, allow.zones, m.Zones)
		q := make([]float64, g.model.DoF())
		entered := map[string]bool{}
		for k := range 101 {
			m.Trajectory.Sample(m.Trajectory.Duration()*float64(k)/100, q, nil, nil)
			tip := g.tipAt(q).P
			for i := range scene.Zones {
				z := &scene.Zones[i]
				entered[z.Name] = entered[z.Name] || tip.Sub(z.Pose.P).Len() < zoneRadius
			}
		}
		for n, in := range entered {
			require.False(rt, in && !slices.Contains(m.Zones, n), "enters %s with %v open and %v named", n, allow.zones, m.Zones)
		}
	})
}

func gateErrorOf(err error) *gate.Error { return motion.GateError(err) }

// Faster than the cap is refused with the cap and what to ask for; what isn't asked for
// is within it, and a grant up to a scale serves up to that scale.
func TestG48_TheSpeedCap(t *testing.T) {
	t.Parallel()
	allow := theirs()
	allow.cap = 0.3
	g := newRig(t, rigOptions{allow: allow})
	_, err := g.prepare("move_joints", `{"positions":{"shoulder_pan":0.4},"speed_scale":0.45}`)
	e := requireCode(t, gate.CodeSpeedLimit, err)
	require.Equal(t, "speed:0.45", e.Access)
	require.Equal(t, "speed_scale", e.Where)
	require.InDelta(t, 0.45, e.Value.Value, 0)
	require.InDelta(t, 0.3, e.Limit.Value, 0)
	require.Equal(t, []gate.Quantity{{Name: "speed_scale", Value: 0.3}}, e.Nearest)

	lowered, _, _ := motion.Planned(g.action("move_joints", `{"positions":{"shoulder_pan":0.4}}`))
	same, _, _ := motion.Planned(g.action("move_joints", `{"positions":{"shoulder_pan":0.4},"speed_scale":0.3}`))
	require.Equal(t, same.Digest(), lowered.Digest())

	allow.cap = 0.45
	act := g.action("move_joints", `{"positions":{"shoulder_pan":0.4},"speed_scale":0.45}`)
	require.NoError(t, act.Check(t.Context()))
	_, err = g.prepare("move_joints", `{"positions":{"shoulder_pan":0.4},"speed_scale":0.46}`)
	requireCode(t, gate.CodeSpeedLimit, err)
	slow := g.action("move_joints", `{"positions":{"shoulder_pan":0.4},"speed_scale":0.3}`)
	allow.cap = 0.3
	require.Equal(t, "speed:0.45", requireCode(t, gate.CodeSpeedLimit, act.Check(t.Context())).Access)
	require.NoError(t, slow.Check(t.Context()))

	// A cap that is none permits nothing.
	for _, none := range []float64{-1, math.NaN(), math.Inf(-1)} {
		allow.cap = none
		_, err := g.prepare("home", `{}`)
		require.Empty(t, requireCode(t, gate.CodeSpeedLimit, err).Nearest)
	}
	allow.cap = 7
	_ = g.action("home", `{"speed_scale":1}`)
}

// No planned motion is faster than the cap, whatever tool makes it.
func TestG48_NoMotionIsFasterThanTheCap(t *testing.T) {
	t.Parallel()
	allow := theirs()
	arm, _, _ := newLive(t, rigOptions{allow: allow})
	rover := newRig(t, rigOptions{builtin: "rover", allow: allow, rehearser: &fixed{robot.Rehearsal{Simulator: "x", SamplePeriod: 0.02}}})
	b := rover.model.Base
	wheel := rover.model.Limits[b.Left].Velocity * b.Radius // m/s
	checks := 0
	rapid.Check(t, func(rt *rapid.T) {
		if checks++; raceEnabled && checks > 20 {
			return
		}
		allow.cap = rapid.Float64Range(0.05, 1).Draw(rt, "cap")
		g, args := arm, ""
		scale := ""
		if rapid.Bool().Draw(rt, "scaled") {
			scale = fmt.Sprintf(`,"speed_scale":%g`, rapid.Float64Range(0.05, 1).Draw(rt, "scale"))
		}
		tool := rapid.SampledFrom([]string{"move_joints", "jog", "gripper", "drive", "move_pose"}).Draw(rt, "tool")
		switch tool {
		case "move_joints":
			args = fmt.Sprintf(`{"positions":{"shoulder_pan":%g}`, rapid.Float64Range(-1, 1).Draw(rt, "pan"))
		case "jog":
			args = fmt.Sprintf(`{"joint":"shoulder_pan","delta":%g`, rapid.Float64Range(-1, 1).Draw(rt, "delta"))
		case "gripper":
			args = fmt.Sprintf(`{"position":%g`, rapid.Float64Range(0, 1).Draw(rt, "position"))
		case "drive":
			g = rover
			args = fmt.Sprintf(`{"linear":%g,"angular":0,"duration":4`, wheel*rapid.Float64Range(-1, 1).Draw(rt, "linear"))
		case "move_pose":
			g = rover
			args = `{"position":[0.1,0.05,` + strconv.FormatFloat(rover.homeTip().P[2], 'g', -1, 64) + `],"orientation":[1,0,0,0]`
		}
		act, err := g.prepare(tool, args+scale+"}")
		if err != nil {
			e := gateErrorOf(err)
			require.Contains(rt, []gate.Code{gate.CodeSpeedLimit, gate.CodeInvalidArgument, gate.CodeUnreachable}, e.Code, "%v", err)
			return
		}
		m, _, _ := motion.Planned(act)
		limits := slices.Clone(g.model.Limits)
		for i := range limits {
			limits[i].Velocity *= allow.cap * (1 + 1e-8)
		}
		require.NoError(rt, m.Trajectory.Validate(limits))
	})
}

// What a base is asked to drive at counts as the part of its wheels' speed that it needs.
func TestG48_ADriveIsHeldToTheSpeedCap(t *testing.T) {
	t.Parallel()
	allow := theirs()
	allow.cap = 0.4
	g := newRig(t, rigOptions{builtin: "rover", allow: allow})
	b := g.model.Base
	full := g.model.Limits[b.Left].Velocity * b.Radius
	drive := func(linear float64) string { return fmt.Sprintf(`{"linear":%.17g,"angular":0,"duration":3}`, linear) }
	_, err := g.prepare("drive", drive(0.5*full))
	e := requireCode(t, gate.CodeSpeedLimit, err)
	require.InDelta(t, 0.5, e.Value.Value, 1e-12)
	require.InDelta(t, 0.4, e.Limit.Value, 0)
	require.Contains(t, e.Access, "speed:0.5")
	require.InDelta(t, 0.4*full, e.Nearest[0].Value, 1e-12)
	act := g.action("drive", drive(e.Nearest[0].Value))
	require.NoError(t, act.Check(t.Context()), "what a refusal offers is possible")
	allow.cap = 0.39
	requireCode(t, gate.CodeSpeedLimit, act.Check(t.Context()))
}
