package gate_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

func TestG14_WhatCantBeRegisteredIsRefusedBeforeAnybodyIsAsked(t *testing.T) {
	sled := newRail()
	reset := newRail()
	reset.spec.Name = "estop_reset"
	r := newRig(t, gatetest.Script(t), withRail(sled, reset))
	defer r.close()
	step := func(tool, args string) string {
		return `{"name":"x","steps":[{"tool":"slide","arguments":{"to":1}},{"tool":"` + tool + `","arguments":` + args + `}]}`
	}
	for args, c := range map[string]struct {
		code gate.Code
		says string
	}{
		`{"name":"x","steps":[]}`: {gate.CodeInvalidArgument, "steps: too few elements"},
		`{"name":"x"}`:            {gate.CodeInvalidArgument, "steps: is missing"},
		`{"name":"","steps":[{"tool":"slide","arguments":{}}]}`:    {gate.CodeInvalidArgument, "name: "},
		`{"name":"a b","steps":[{"tool":"slide","arguments":{}}]}`: {gate.CodeInvalidArgument, "is not a routine's name"},
		routine("x", 0, "1"):   {gate.CodeInvalidArgument, "firings: too small"},
		routine("x", 101, "1"): {gate.CodeInvalidArgument, "firings: too large"},
		routine("x", 1, strings.Split(strings.Repeat("1 ", 21), " ")[:21]...): {gate.CodeInvalidArgument, "steps: too many elements"},
		step("slide", `[]`):                      {gate.CodeInvalidArgument, "steps[1].arguments: must be an object, not an array"},
		step("slide", `{"to":1,"to":2}`):         {gate.CodeInvalidArgument, "to"},
		step("slide", `{"to":"1"}`):              {gate.CodeInvalidArgument, "steps[1].arguments.to: must be a number, not a string"},
		step("slide", `{"to":1,"fast":true}`):    {gate.CodeInvalidArgument, "steps[1].arguments.fast: unknown field"},
		step("slide", `{"to":10}`):               {gate.CodeInvalidArgument, "steps[1].arguments.to: too large"},
		step("slide", `{"to":9}`):                {gate.CodeSceneCollision, "steps[1].sled: would hit the end of the rail"},
		step("nothing", `{}`):                    {gate.CodeInvalidArgument, `steps[1].tool: "nothing" is not registered; those that can be a step: slide`},
		step("move", `{}`):                       {gate.CodeInvalidArgument, "steps[1].tool: move can't be a step of a routine; those that can: slide"},
		step("echo", `{}`):                       {gate.CodeInvalidArgument, "steps[1].tool: echo can't be a step"},
		step("stop", `{}`):                       {gate.CodeInvalidArgument, "steps[1].tool: stop can't be a step"},
		step("estop_reset", `{"to":1}`):          {gate.CodeInvalidArgument, "steps[1].tool: estop_reset can't be a step"},
		step("request_access", `{"reason":"a"}`): {gate.CodeInvalidArgument, "steps[1].tool: request_access can't be a step"},
		step("register_routine", `{}`):           {gate.CodeInvalidArgument, "steps[1].tool: register_routine can't be a step"},
		step("run_routine", `{"name":"x"}`):      {gate.CodeInvalidArgument, "steps[1].tool: run_routine can't be a step"},
	} {
		a := r.call("register_routine", args)
		require.Equal(t, c.code, a.Code, "%s: %s", args, a.Text)
		require.Contains(t, a.Text, c.says, args)
		require.Equal(t, gate.StatusRefused, a.Status)
	}
}

func TestG14_AStepThatItsToolFailsToPrepareRefusesTheRest(t *testing.T) {
	sled := newRail()
	r := newRig(t, gatetest.Script(t), withRail(sled))
	defer r.close()
	a := r.call("register_routine", routine("x", 1, "1", "9", "2"))
	require.Equal(t, gate.CodeSceneCollision, a.Code)
	require.Equal(t, "steps[1].sled", a.Refusal.Where)
	require.Len(t, sled.calls, 2, "what comes after it isn't planned")
	for _, c := range sled.calls {
		require.Equal(t, a.CallID, c.ID)
		require.Equal(t, "p", c.Principal)
	}
}

func TestG14_ANameIsOneRoutinesAtATime(t *testing.T) {
	sled := newRail()
	r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled))
	defer r.close()
	require.Equal(t, gate.StatusOK, r.call("register_routine", routine("stay", 3, "0")).Status)
	a := r.call("register_routine", routine("stay", 1, "0"))
	require.Equal(t, gate.CodeInvalidArgument, a.Code)
	require.Contains(t, a.Text, `"stay" is a routine in force`)
}

func TestG14_AnExemptionRegistersNothing(t *testing.T) {
	sled := newRail()
	r := newRig(t, gate.AutoReject{}, withRail(sled), func(c *gate.Config) { c.Exemptions = []gate.Exemption{gate.RehearseExemption} })
	defer r.close()
	require.Equal(t, gate.StatusOK, r.call("slide", `{"to":0}`).Status)
	a := r.call("register_routine", routine("stay", 3, "0"))
	require.Equal(t, gate.CodeNotApproved, a.Code)
	a, _ = r.fire("stay")
	require.Equal(t, gate.CodeNotApproved, a.Code)
}

func TestG14_ARegistrationThatDriftsWhileItIsAskedIsRefused(t *testing.T) {
	for name, change := range map[string]func(*rail){
		"scene": func(x *rail) { x.scene++ }, "place": func(x *rail) { x.at = 4 }, "effect": func(x *rail) { x.spec.Effect = "Flies." },
	} {
		t.Run(name, func(t *testing.T) {
			sled := newRail()
			yes := gatetest.Approve()
			yes.Do = func(context.Context, gate.Request) { sled.set(change) }
			r := newRig(t, gatetest.Script(t, yes), withRail(sled))
			defer r.close()
			a := r.call("register_routine", routine("stay", 3, "0"))
			require.Equal(t, gate.StatusRefused, a.Status, a.Text)
			all, err := r.Routines(t.Context())
			require.NoError(t, err)
			require.Empty(t, all)
		})
	}
}

func TestG14_WhatCantBeStoredIsntRegistered(t *testing.T) {
	sled := newRail()
	f := &fullStore{}
	r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled), f.fails(t, errTest))
	defer r.close()
	a := r.call("register_routine", routine("stay", 3, "0"))
	require.Equal(t, gate.CodeNotApproved, a.Code, a.Text)
	require.Contains(t, a.Text, "nothing was permitted")
	a, _ = r.fire("stay")
	require.Equal(t, gate.CodeNotApproved, a.Code)
}

// A role that is taken away, or a tool that the operator's rules refuse meanwhile,
// ends a firing before the step.
func TestG14_RolesHoldForTheSteps(t *testing.T) {
	sled := newRail()
	roles := &toolRoles{}
	r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(sled), func(c *gate.Config) { c.Roles = roles })
	defer r.close()
	roles.deny("slide")
	a := r.call("register_routine", routine("out", 3, "1", "2"))
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Contains(t, a.Text, "steps[0].principal")
	roles.deny("")
	require.Equal(t, gate.StatusOK, r.call("register_routine", routine("out", 3, "1", "2")).Status)
	roles.deny("slide")
	a, _ = r.fire("out")
	require.Equal(t, gate.CodeNotApproved, a.Code)
	roles.deny("")
	sled.set(func(x *rail) { x.on = func(context.Context, float64) error { roles.deny("slide"); return nil } })
	a, got := r.fire("out")
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Equal(t, gate.StatusError, a.Status)
	require.Len(t, got.Steps, 2)
	require.Equal(t, []float64{1}, sled.ran())
	all, err := r.Routines(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1, "a role may come back")
}

// toolRoles keeps one tool from everybody.
type toolRoles struct {
	mu   sync.Mutex
	tool string
}

func (r *toolRoles) deny(tool string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tool = tool
}

func (r *toolRoles) MayUse(_, tool string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return tool != r.tool
}

func (*toolRoles) MayDecide(string) bool { return true }
