package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// What an approver makes of a call goes by the operator's rules as the call itself does:
// what they refuse, or would change, can't be made of it, and it is asked again as it was.
func TestG46_AnEditGoesByTheBeforeCallRules(t *testing.T) {
	for name, c := range map[string]struct {
		rule func(slideArgs) (gate.Change, error)
		says string
	}{
		"a bound": {func(a slideArgs) (gate.Change, error) {
			if a.To < 0.5 {
				return gate.Change{Refuse: gate.Errf(gate.CodeInvalidArgument, "to", "beyond what the policy allows")}, nil
			}
			return gate.Change{}, nil
		}, "to: beyond what the policy allows"},
		"a change": {func(a slideArgs) (gate.Change, error) {
			if a.To < 0.5 {
				return gate.Change{Args: json.RawMessage(`{"to":3,"speed":1}`)}, nil
			}
			return gate.Change{}, nil
		}, `the operator's rules would change this call to slide {"speed":1,"to":3}, which isn't what the approver asked for`},
		"a fault": {func(a slideArgs) (gate.Change, error) {
			if a.To < 0.5 {
				panic("x")
			}
			return gate.Change{}, nil
		}, "one of the operator's rules failed inside"},
	} {
		t.Run(name, func(t *testing.T) {
			half := gatetest.Step{Decision: gate.Edited, By: "bob", Edit: gate.Edit{Fraction: 0.5}}
			script := gatetest.Script(t, half, slower(0.5), gatetest.Approve())
			rule := beforeHook("policy", func(in gate.HookCall) (gate.Change, error) {
				var a slideArgs
				if err := json.Unmarshal(in.Args, &a); err != nil || in.Tool != "slide" {
					return gate.Change{}, err
				}
				return c.rule(a)
			})
			budget := func(c *gate.Config) { c.Budget.CallsPerTurn = 1 }
			r, tool := sliding(t, script, withHooks(rule), budget)
			defer r.close()
			i := in("s", `{"to":0.6,"speed":0.8}`)
			i.Tool, i.Turn = "slide", "one"
			a := r.Call(t.Context(), i)
			require.Equal(t, gate.StatusOK, a.Status, a.Text)
			require.Contains(t, a.Text, `The approver changed this call to slide {"speed":0.4,"to":0.6}. Moved. The budget of this turn is used up: 1 of 1 calls.`)
			require.EqualValues(t, 1, tool.ran.Load())
			require.EqualValues(t, 2, tool.prepared.Load(), "what is refused isn't planned")
			asked := script.Requests()
			require.Len(t, asked, 3)
			require.Equal(t, gate.CantEdit, asked[1].Notices[0].Kind)
			require.Contains(t, asked[1].Notices[0].Text, c.says)
			require.Equal(t, asked[0].CallID, asked[1].CallID)
			require.Equal(t, asked[0].Digest, asked[1].Digest)
		})
	}
}

// Each run of the bridge may have put others in a request's place: the caller's id leads
// to the last one, however many there are.
func TestG46_TheCallersIDLeadsToTheLastEditOfManyRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk(t)
		tool := &slideTool{arm: newArm()}
		register := func(c *gate.Config) { require.NoError(t, c.Catalog.Register(tool)) }
		edits := func(n int) (list []gate.Word) {
			for range n {
				list = append(list, gate.Word{Decision: gate.Edited, By: "ann", Edit: gate.Edit{SpeedScale: 0.9}})
			}
			return list
		}
		i := in("s", `{"to":1,"speed":1}`)
		i.Tool = "slide"
		u := gatetest.Nobody(t)
		r := d.life(&wordsThen{steps: edits(8), then: u}, register)
		id := r.Submit(i).ID()
		<-u.Asked
		d = d.killed(r)

		u = gatetest.Nobody(t)
		r = d.life(&wordsThen{steps: edits(8), then: u}, register)
		_, err := r.Recover(t.Context())
		require.NoError(t, err)
		last := <-u.Asked
		d = d.killed(r)

		r = d.life(nil, register)
		defer r.end()
		require.Equal(t, "pending", r.status(id, 0).Status)
		require.NoError(t, r.Refuse(t.Context(), id, "ann", "no"))
		require.Equal(t, gate.RequestRejected, r.stored(last.CallID).State)
		require.Equal(t, string(gate.CodeNotApproved), r.status(id, 0).Code)
		require.Zero(t, tool.ran.Load())
	})
}

// A store that says that requests stand in each other's place is no endless loop.
func TestG46_RequestsInEachOthersPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, slower(0.5), gatetest.Reject())
		f := &looping{}
		r, _ := sliding(t, s, func(c *gate.Config) { f.Requests, c.Requests = c.Requests, f })
		defer r.close()
		a := r.call("slide", `{"to":1,"speed":1}`)
		asked := s.Requests()
		f.place = map[string]string{a.CallID: asked[1].CallID, asked[1].CallID: a.CallID}
		r2 := newRig(t, gatetest.Script(t), func(c *gate.Config) {
			c.Requests = f
			require.NoError(t, c.Catalog.Register(&slideTool{arm: newArm()}))
		})
		defer r2.close()
		require.Equal(t, "cancelled", r2.status(a.CallID, 0).Status)
	})
}

// looping has requests stand in each other's place.
type looping struct {
	gate.Requests
	place map[string]string
}

func (l *looping) Get(ctx context.Context, id string) (gate.Record, error) {
	r, err := l.Requests.Get(ctx, id)
	if by := l.place[id]; err == nil && by != "" {
		r.State, r.Answer = gate.RequestWithdrawn, fmt.Appendf(nil, `{"replaced_by":%q}`, by)
	}
	return r, err
}
