package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/policy"
	"github.com/tau-robot/tau/robot"
)

// asked starts a bridge whose questions a script answers, in a scene with a guarded
// zone that the arm reaches by turning its pan.
func asked(t *testing.T, s Setup, steps ...gatetest.Step) (*Host, *gatetest.Scripted) {
	t.Helper()
	script := gatetest.Script(t, steps...)
	s.Rehearse = false
	s.Open = func(string) (gate.Approver, Watcher, error) { return script, nil, nil }
	h, err := Start(s)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, h.Close()) })
	return h, script
}

// tipAt returns where the tip is when the pan has turned.
func tipAt(t *testing.T, pan float64) mgl64.Vec3 {
	t.Helper()
	h, _ := asked(t, setup(t), gatetest.Approve())
	a := call(h, "move_joints", fmt.Sprintf(`{"positions":{"shoulder_pan":%g}}`, pan))
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	var out struct {
		Tip struct {
			Position []float64 `json:"position"`
		} `json:"tip"`
	}
	require.NoError(t, json.Unmarshal(a.Result, &out), string(a.Result))
	require.Len(t, out.Tip.Position, 3, string(a.Result))
	return mgl64.Vec3(out.Tip.Position)
}

func TestG48_AGrantOpensAZoneUntilItIsRevoked(t *testing.T) {
	tip := tipAt(t, 0.8)
	s := setup(t)
	s.Settings.Policy.Motion.Zones = []policy.Zone{{
		Name: "door", Min: []float64{tip[0] - 0.02, tip[1] - 0.02, tip[2] - 0.02}, Max: []float64{tip[0] + 0.02, tip[1] + 0.02, tip[2] + 0.02},
	}}
	h, script := asked(t, s, gatetest.Approve(), gatetest.Approve(), gatetest.Approve(), gatetest.Approve())
	const there, back = `{"positions":{"shoulder_pan":0.8}}`, `{"positions":{"shoulder_pan":0}}`
	a := call(h, "move_joints", there)
	require.Equal(t, gate.CodeZoneNotGranted, a.Code, a.Text)
	a = call(h, "request_access", `{"reason":"The cup stands there."}`)
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	card := script.Requests()[0].Card
	require.Contains(t, card.Facts[0].Text, `"zone:door": motions of this session may enter the guarded zone "door" (a box of 0.040 × 0.040 × 0.040 m around (`)

	// The motion is still asked by itself, and says that it enters.
	a = call(h, "move_joints", there)
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	facts := fmt.Sprint(script.Requests()[1].Card.Facts)
	require.Contains(t, facts, "door")
	require.Equal(t, "already granted", call(h, "request_access", `{"values":["zone:door"],"reason":"Again."}`).Text)
	require.Equal(t, gate.StatusOK, call(h, "move_joints", back).Status)

	grants, err := socket{h}.Grants(t.Context())
	require.NoError(t, err)
	require.Len(t, grants.Grants, 1)
	require.Equal(t, "zone:door", grants.Grants[0].Value)
	did, err := socket{h}.revokePermit(t.Context(), "grant", grants.Grants[0].ID)
	require.NoError(t, err)
	require.Equal(t, "grant "+grants.Grants[0].ID, did)
	a = call(h, "move_joints", there)
	require.Equal(t, gate.CodeZoneNotGranted, a.Code)
	_, err = socket{h}.revokePermit(t.Context(), "grant", grants.Grants[0].ID)
	require.ErrorIs(t, err, gate.ErrCode(gate.CodeInvalidArgument))
	require.Len(t, script.Requests(), 3)
	a = call(h, "move_joints", back) // somewhere else it may go
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
}

// A grant that is revoked while its motion's card is open counts for nothing.
func TestG48_AGrantThatIsRevokedWhileTheMotionIsAskedRunsNothing(t *testing.T) {
	tip := tipAt(t, 0.8)
	s := setup(t)
	s.Settings.Policy.Motion.Zones = []policy.Zone{{
		Name: "door", Min: []float64{tip[0] - 0.02, tip[1] - 0.02, tip[2] - 0.02}, Max: []float64{tip[0] + 0.02, tip[1] + 0.02, tip[2] + 0.02},
	}}
	var h *Host
	yes := gatetest.Approve()
	yes.Do = func(context.Context, gate.Request) {
		all, err := h.Gate.Grants(context.Background())
		require.NoError(t, err)
		_, err = h.Gate.RevokeGrant(context.Background(), all[0].ID, "ada")
		require.NoError(t, err)
	}
	h, _ = asked(t, s, gatetest.Approve(), yes)
	require.Equal(t, gate.StatusOK, call(h, "request_access", `{"values":["zone:door"],"reason":"a"}`).Status)
	a := call(h, "move_joints", `{"positions":{"shoulder_pan":0.8}}`)
	require.Equal(t, gate.CodeZoneNotGranted, a.Code, a.Text)
	require.Equal(t, gate.StatusRefused, a.Status)
}

func TestG48_AGrantRaisesTheOperatorsCapAndNoHigher(t *testing.T) {
	s := setup(t)
	s.Settings.Policy.Motion.SpeedCap = 0.3
	h, script := asked(t, s, gatetest.Approve(), gatetest.Approve())
	const fast, faster = `{"positions":{"shoulder_pan":0.4},"speed_scale":0.6}`, `{"positions":{"shoulder_pan":0},"speed_scale":0.7}`
	a := call(h, "move_joints", fast)
	require.Equal(t, gate.CodeSpeedLimit, a.Code, a.Text)
	require.Equal(t, "already granted", call(h, "request_access", `{"values":["speed:0.3"],"reason":"a"}`).Text)
	a = call(h, "request_access", `{"reason":"The cup is hot."}`)
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	require.Equal(t, `"speed:0.6": motions of this session may have a speed_scale of up to 0.6; the operator's cap is 0.3`, script.Requests()[0].Card.Facts[0].Text)
	a = call(h, "move_joints", fast)
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	require.Equal(t, gate.CodeSpeedLimit, call(h, "move_joints", faster).Code)
}

func TestG48_WhatTheSceneDoesntHaveCantBeAskedFor(t *testing.T) {
	h, _ := asked(t, setup(t))
	for value, says := range map[string]string{
		"zone:attic": "this scene has no guarded zone", "speed:0.5": "the operator has set no cap", "speed:2": `ask for "zone:NAME"`, "door": `ask for "zone:NAME"`,
	} {
		a := call(h, "request_access", fmt.Sprintf(`{"values":[%q],"reason":"a"}`, value))
		require.Equal(t, gate.CodeInvalidArgument, a.Code, value)
		require.Contains(t, a.Text, says, value)
	}
}

// Whatever can't be known is closed.
func TestG48_PermitsAreWhatIsInForceForThisSessionAsItIs(t *testing.T) {
	now := time.Now()
	mem := approval.NewMemoryWith(approval.Options{Now: func() time.Time { return now }})
	live := gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "arm", OptIn: "ada"}
	var gone error
	p := &permits{
		grants: mem, cap: 0.2, now: func() time.Time { return now },
		sessions: sessionsFunc(func(string) (gate.Session, error) { return live, gone }),
		list: []policy.Grant{
			{Principal: "a", Session: "*", Value: "zone:own"}, {Principal: "b", Session: "s", Value: "speed:0.4"},
		},
		scene: func() robot.Scene { return robot.Scene{} },
	}
	g := gate.Grant{
		ID: "1", Principal: "a", Session: live, Value: "zone:door", Card: "c", Decider: "d", Granted: now, Expires: now.Add(time.Minute),
	}
	longer, speed := g, g
	longer.ID, longer.Expires = "2", now.Add(time.Hour)
	speed.ID, speed.Value = "3", "speed:0.5"
	require.NoError(t, mem.AddGrants(t.Context(), []gate.Grant{g, longer, speed}))
	check := func(open bool, scale float64) {
		t.Helper()
		require.Equal(t, open, p.Zone("s", "a", "door"))
		got, capped := p.SpeedCap("s", "a")
		require.True(t, capped)
		require.Equal(t, scale, got)
	}
	check(true, 0.5)
	require.True(t, p.ZoneUntil("s", "a", "door").Equal(longer.Expires))
	require.True(t, p.Zone("s", "a", "own"))
	require.True(t, p.ZoneUntil("s", "a", "own").IsZero())
	require.False(t, p.Zone("s", "b", "door"))
	require.False(t, p.Zone("s", "b", "own"))
	require.False(t, p.Zone("s", "a", "doo"))
	got, _ := p.SpeedCap("s", "b")
	require.Equal(t, 0.4, got)
	got, _ = p.SpeedCap("t", "b")
	require.Equal(t, 0.2, got)
	for _, other := range []gate.Session{
		{Name: "s", Mode: gate.ModeSim, Backend: "arm", OptIn: "ada"}, {Name: "s", Mode: gate.ModeReal, Backend: "arm2", OptIn: "ada"},
		{Name: "s", Mode: gate.ModeReal, Backend: "arm", OptIn: "bob"},
	} {
		was := live
		live = other
		check(false, 0.2)
		live = was
	}
	gone = gate.Errf(gate.CodeOptInExpired, "session", "over")
	check(false, 0.2)
	gone = nil
	now = now.Add(time.Minute)
	check(true, 0.2)
	now = now.Add(time.Hour)
	check(false, 0.2)

	require.True(t, p.Standing(live, "b", "speed:0.35"))
	require.False(t, p.Standing(live, "b", "speed:0.45"))
	require.True(t, p.Standing(live, "z", "speed:0.2"), "the cap itself needs no permission")
	p.cap = 0
	got, capped := p.SpeedCap("s", "a")
	require.False(t, capped)
	require.Equal(t, 1.0, got)
}

type sessionsFunc func(string) (gate.Session, error)

func (f sessionsFunc) Session(name string) (gate.Session, error) { return f(name) }

func TestG14_ARoutineOfRealPlans(t *testing.T) {
	h, script := asked(t, setup(t), gatetest.Approve())
	steps := []string{}
	for _, pan := range []string{"0.4", "-0.3", "0"} {
		steps = append(steps, `{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":`+pan+`}}}`)
	}
	reg := call(h, "register_routine", `{"name":"wave","firings":2,"steps":[`+strings.Join(steps, ",")+`]}`)
	require.Equal(t, gate.StatusOK, reg.Status, reg.Text)
	facts := fmt.Sprint(script.Requests()[0].Card.Facts)
	for _, says := range []string{"shoulder_pan 0.000 → 0.400", "shoulder_pan 0.400 → -0.300", "shoulder_pan -0.300 → 0.000", "3. Rehearsed"} {
		require.Contains(t, facts, says)
	}
	for range 2 {
		a := call(h, "run_routine", `{"name":"wave"}`)
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.Contains(t, a.Text, "3 of 3 steps done")
	}
	require.Equal(t, gate.CodeNotApproved, call(h, "run_routine", `{"name":"wave"}`).Code)
	events := eventsOf(t, h)
	n := 0
	for _, e := range events {
		if e.Type == "tool_call" && e.Tool == "move_joints" {
			require.Equal(t, gate.ApprovalExempt, e.Approval)
			require.Equal(t, "wave", e.Routine)
			require.Equal(t, reg.CallID, e.AllowedBy)
			n++
		}
	}
	require.Equal(t, 6, n)
}

func TestG14_AChangedSceneVoidsARoutineOfRealPlans(t *testing.T) {
	h, _ := asked(t, setup(t), gatetest.Approve(), gatetest.Approve())
	reg := call(h, "register_routine", `{"name":"wave","firings":2,"steps":[{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":0.1}}}]}`)
	require.Equal(t, gate.StatusOK, reg.Status, reg.Text)
	require.Equal(t, gate.StatusOK, call(h, "scene_add", `{"name":"crate","geometry":{"box":{"size":[0.1,0.1,0.1]}},"pose":{"xyz":[0.8,0.8,0.1]}}`).Status)
	a := call(h, "run_routine", `{"name":"wave"}`)
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Contains(t, a.Text, `the routine "wave" is void`)
	for _, tool := range []string{"torque_off", "estop_reset", "scene_add", "request_access", "run_routine", "demo_physical_action"} {
		a := call(h, "register_routine", `{"name":"other","steps":[{"tool":"`+tool+`","arguments":{}}]}`)
		require.Equal(t, gate.StatusRefused, a.Status, tool)
		require.Contains(t, a.Text, "steps[0].", tool)
	}
	require.Equal(t, gate.StatusOK, call(h, "register_routine", `{"name":"wave","steps":[{"tool":"move_joints","arguments":{"positions":{"shoulder_pan":0.1}}}]}`).Status)
}
