package gate_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// roleTable is what a test sets them to.
type roleTable struct {
	mu          sync.Mutex
	use, decide func(...string) bool
}

func (r *roleTable) set(use, decide func(...string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.use, r.decide = use, decide
}

func (r *roleTable) MayUse(principal, tool string) bool {
	r.mu.Lock()
	f := r.use
	r.mu.Unlock()
	return f(principal, tool)
}

func (r *roleTable) MayDecide(decider string) bool {
	r.mu.Lock()
	f := r.decide
	r.mu.Unlock()
	return f(decider)
}

func yes(...string) bool   { return true }
func no(...string) bool    { return false }
func fault(...string) bool { panic("x") }

func TestG47_ThePrincipalMayUseTheToolThroughout(t *testing.T) {
	x := &roleTable{use: no, decide: yes}
	var lose bool
	s := gatetest.Script(t, gatetest.Approve(), gatetest.Approve())
	r := newRig(t, s, func(c *gate.Config) { c.Roles = x })
	defer r.close()
	for _, deny := range []func(...string) bool{no, fault} {
		x.set(deny, yes)
		for _, tool := range []string{"move", "echo"} {
			require.Equal(t, gate.StatusRefused, r.call(tool, `{}`).Status)
		}
	}
	require.Zero(t, r.arm.prepared.Load())
	for _, e := range r.sink.of("tool_call") {
		require.Equal(t, "role", e.Reason)
	}
	require.NotEqual(t, gate.CodeNotApproved, r.call("stop", `{}`).Code, "a stop is nobody's to forbid")
	var asked []string
	x.set(func(a ...string) bool { asked = a; return !lose }, yes)
	require.Equal(t, gate.StatusOK, r.call("move", `{"to":1}`).Status)
	require.Equal(t, []string{"p", "move"}, asked)

	// It lost the tool while it was asked.
	r.arm.change(func(a *arm) {
		a.snapshot = func() ([]byte, error) { lose = true; return []byte("{}"), nil }
	})
	a := r.call("move", `{"to":2}`)
	require.Equal(t, gate.StatusRefused, a.Status)
	require.Equal(t, `principal: "p" may not use move, by the operator's roles; it was not run`, a.Text)
	require.EqualValues(t, 1, r.arm.ran.Load())
}

func TestG47_AToolThatAHookSwapsInIsOneThatThePrincipalMayUse(t *testing.T) {
	x := &roleTable{use: func(a ...string) bool { return a[1] == "echo" }, decide: yes}
	r := newRig(t, gatetest.Script(t), func(c *gate.Config) { c.Roles = x },
		withHooks(beforeHook("swap", func(gate.HookCall) (gate.Change, error) {
			return gate.Change{Tool: "move", Args: json.RawMessage(`{"to":1}`)}, nil
		})))
	defer r.close()
	a := r.call("echo", `{}`)
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Equal(t, "role", r.sink.of("tool_call")[0].Reason)
}

func TestG47_OnlyTheYesOfWhoMayDecideCounts(t *testing.T) {
	for what, deny := range map[string]func(...string) bool{"may not": no, "a fault": fault} {
		t.Run(what, func(t *testing.T) {
			x := &roleTable{use: yes, decide: deny}
			by := gatetest.Approve()
			by.By = "phone"
			s := gatetest.Script(t, by, gatetest.Step{Decision: gate.Rejected, By: "phone"}, gatetest.Approve(), by)
			r := newRig(t, s, func(c *gate.Config) { c.Roles = x })
			defer r.close()
			a := r.call("move", `{"to":1}`)
			require.Equal(t, gate.CodeNotApproved, a.Code)
			require.Contains(t, a.Text, "nobody has refused it")
			require.Equal(t, gate.RequestRejected, r.state(a.CallID))
			require.Zero(t, r.arm.ran.Load())
			require.Equal(t, "phone", r.sink.of("approval")[0].Decider)
			require.Equal(t, gate.ApprovalRejected, r.call("move", `{"to":1}`).Approval, "a no counts, whoever it is from")

			var asked string
			x.set(yes, func(a ...string) bool { asked = a[0]; return true })
			require.Equal(t, gate.StatusOK, r.call("move", `{"to":2}`).Status)
			require.Equal(t, "scripted", asked, "without a name it is the channel")

			// The right was lost between the yes and the lane.
			n := 0
			x.set(yes, func(a ...string) bool { asked = a[0]; n++; return n == 1 })
			a = r.call("move", `{"to":3}`)
			require.Equal(t, gate.StatusRefused, a.Status, a.Text)
			require.Equal(t, `decider: "phone" may not approve, by the operator's roles; it was not run`, a.Text)
			require.Equal(t, "phone", asked)
			require.EqualValues(t, 1, r.arm.ran.Load())
		})
	}
}
