package gate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// one is a call of a batch.
func one(id string, size, place int, tool, args string) gate.Invocation {
	in := inv(tool, args)
	in.Batch = gate.Batch{ID: id, Size: size, Place: place}
	return in
}

// all submits calls and waits for all of their answers.
func (r *rig) all(calls ...gate.Invocation) []gate.Answer {
	r.t.Helper()
	tickets := make([]gate.Ticket, len(calls))
	for i, in := range calls {
		tickets[i] = r.Submit(in)
	}
	out := make([]gate.Answer, len(calls))
	for i, x := range tickets {
		<-x.Done()
		out[i] = x.Answer()
	}
	return out
}

func TestG23_PhysicalCallsOfABatchRunOneAfterAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen notes
		s := gatetest.Script(t, gatetest.Approve(), gatetest.Approve())
		r := newRig(t, s, func(c *gate.Config) {
			require.NoError(t, c.Catalog.Register(gate.Func(gate.Spec{Name: "slow", Tier: gate.TierRead, Description: "Reads slowly.", Input: gate.Obj()},
				func(context.Context, gate.Call) (gate.Result, error) {
					time.Sleep(time.Second)
					seen.add("read")
					return gate.Result{Text: "ok"}, nil
				})))
		})
		defer r.close()
		r.arm.change(func(a *arm) {
			a.prepare = func(_ context.Context, c gate.Call) error { seen.add("plan %s", c.Args); return nil }
			a.run = func(context.Context) (gate.Result, error) {
				time.Sleep(time.Second)
				seen.add("rest")
				return gate.Result{Text: "Moved."}, nil
			}
		})
		// They arrive in another order than theirs.
		as := r.all(one("b", 3, 3, "move", `{"to":2}`), one("b", 3, 1, "move", `{"to":1}`), one("b", 3, 2, "slow", `{}`))
		for _, a := range as {
			require.Equal(t, gate.StatusOK, a.Status, a.Text)
		}
		require.Equal(t, []string{"read", `plan {"to":1}`, "rest", `plan {"to":2}`, "rest"}, seen.take(),
			"what only reads comes first, and nothing is planned behind a motion")
	})
}

func TestG23_WhatComesBehindARefusalIsCancelled(t *testing.T) {
	for what, c := range map[string]struct {
		first  gate.Invocation
		step   []gatetest.Step
		bend   func(*arm)
		tool   string
		status gate.Status
	}{
		"a person's no": {first: one("b", 4, 1, "move", `{"to":1}`), step: []gatetest.Step{gatetest.Reject()}, tool: "move", status: gate.StatusRefused},
		"a failed motion": {first: one("b", 4, 1, "move", `{"to":1}`), step: []gatetest.Step{gatetest.Approve()}, bend: func(a *arm) {
			a.run = func(context.Context) (gate.Result, error) { return gate.Result{}, gate.ErrCode(gate.CodeContact) }
		}, tool: "move", status: gate.StatusError},
		"an unknown ending": {first: one("b", 4, 1, "move", `{"to":1}`), step: []gatetest.Step{gatetest.Approve()}, bend: func(a *arm) { a.run = func(context.Context) (gate.Result, error) { return gate.Result{}, errTest } }, tool: "move", status: gate.StatusUnknown},
		"a bad argument":    {first: one("b", 4, 1, "move", `{"to":99}`), tool: "move", status: gate.StatusRefused},
		"no such tool":      {first: one("b", 4, 1, "mvoe", `{}`), tool: "mvoe", status: gate.StatusRefused},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, gatetest.Script(t, c.step...))
				defer r.close()
				if c.bend != nil {
					r.arm.change(c.bend)
				}
				as := r.all(c.first, one("b", 4, 2, "move", `{"to":2}`), one("b", 4, 3, "echo", `{}`), one("b", 4, 4, "move", `{"to":3}`))
				require.Equal(t, c.status, as[0].Status, as[0].Text)
				require.Equal(t, gate.StatusOK, as[2].Status, "reading is harmless")
				for _, a := range []gate.Answer{as[1], as[3]} {
					require.Equal(t, gate.StatusCancelled, a.Status)
					require.Equal(t, gate.CodeCancelled, a.Code)
					require.Equal(t, fmt.Sprintf("%s, an earlier call of the same batch, ended %s, so this one was cancelled and not run. Look at that answer first", c.tool, c.status), a.Text)
				}
				require.LessOrEqual(t, r.arm.prepared.Load(), int64(len(c.step)), "nothing was planned for them")
				reasons := map[string]string{}
				for _, e := range r.sink.of("tool_call") {
					reasons[string(e.Arguments)] = e.Reason
				}
				require.Equal(t, "batch", reasons[`{"to":2}`])
				require.Equal(t, "batch", reasons[`{"to":3}`])
			})
		})
	}
}

func TestG23_RequestAccessIsDecidedAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Approve(), gatetest.Approve())
		r := newRig(t, s, permitting(newHouse()))
		defer r.close()
		door, bench := `{"values":["zone:door"],"reason":"a"}`, `{"values":["zone:bench"],"reason":"b"}`
		as := r.all(one("b", 4, 1, "move", `{"to":1}`), one("b", 4, 2, "echo", `{}`), one("b", 4, 3, "request_access", door), one("b", 4, 4, "request_access", bench))
		require.Equal(t, gate.StatusOK, as[2].Status, as[2].Text)
		require.Equal(t, []string{"zone:door"}, r.values())
		for _, i := range []int{0, 1, 3} {
			require.Equal(t, gate.CodeCancelled, as[i].Code)
			require.Equal(t, "request_access in the same batch is decided alone; this call was cancelled and not run. Send it again after that answer", as[i].Text)
		}
		require.Zero(t, r.arm.prepared.Load())
		require.Equal(t, gate.StatusOK, r.call("move", `{"to":1}`).Status, "sent again, it counts")
		require.Equal(t, "already granted", r.all(one("c", 1, 1, "request_access", door))[0].Text, "alone in its batch")
	})
}

func TestG23_AnIncompleteBatchIsRefusedAndNeverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t))
		defer r.close()
		began := time.Now()
		as := r.all(one("b", 3, 0, "echo", `{}`), one("b", 3, 0, "move", `{"to":1}`))
		require.Equal(t, gate.DefaultBatchWait, time.Since(began))
		for _, a := range as {
			require.Equal(t, gate.StatusRefused, a.Status)
			require.Equal(t, gate.CodeInvalidArgument, a.Code)
			require.Equal(t, "batch: 2 of its 3 calls came within 10s; none of it was run", a.Text)
		}
		require.Zero(t, r.arm.prepared.Load())
		for _, e := range r.sink.of("tool_call") {
			require.Equal(t, "batch incomplete", e.Reason)
		}
		late := r.all(one("b", 3, 0, "echo", `{}`)) // the third comes too late, and waits for two others
		require.Equal(t, "batch: 1 of its 3 calls came within 10s; none of it was run", late[0].Text)
	})
}

func TestG23_CallsThatDontAgreeRefuseTheBatch(t *testing.T) {
	for what, calls := range map[string][]gate.Invocation{
		"its calls name different sizes":              {one("b", 2, 1, "echo", `{}`), one("b", 3, 2, "move", `{}`)},
		"two of its calls have place 1":               {one("b", 3, 1, "echo", `{}`), one("b", 3, 1, "move", `{}`)},
		"some of its calls name a place and some don": {one("b", 3, 1, "move", `{}`), one("b", 3, 0, "echo", `{}`)},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, gatetest.Script(t))
				defer r.close()
				for _, a := range r.all(calls...) {
					require.Equal(t, gate.CodeInvalidArgument, a.Code)
					require.Contains(t, a.Text, what)
					require.Contains(t, a.Text, "none of it was run")
				}
				require.Zero(t, r.arm.prepared.Load())
			})
		})
	}
	r := newRig(t, gatetest.Script(t))
	defer r.close()
	for _, b := range []gate.Batch{
		{ID: "b"}, {Size: 2}, {ID: "b", Size: gate.MaxBatch + 1}, {ID: "b", Size: -1}, {ID: "b", Size: 2, Place: 3},
		{ID: "b", Size: 2, Place: -1}, {ID: strings.Repeat("x", gate.MaxBatchID+1), Size: 1}, {ID: "\xff", Size: 1},
	} {
		in := inv("move", `{"to":1}`)
		in.Batch = b
		a := r.Call(t.Context(), in)
		require.Equal(t, gate.CodeInvalidArgument, a.Code, "%+v", b)
	}
}

// Batches of other callers, and of another name, are others.
func TestG23_ABatchIsOneCallersOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t))
		defer r.close()
		other := func(change func(*gate.Invocation)) gate.Invocation {
			in := one("b", 2, 0, "echo", `{}`)
			change(&in)
			return in
		}
		for _, a := range r.all(one("b", 2, 0, "echo", `{}`),
			other(func(in *gate.Invocation) { in.Principal = "q" }), other(func(in *gate.Invocation) { in.Session = "t" }),
			other(func(in *gate.Invocation) { in.Origin = "mcp" }), other(func(in *gate.Invocation) { in.Batch.ID = "c" })) {
			require.Contains(t, a.Text, "1 of its 2 calls")
		}
	})
}

func TestG23_AStopEndsABatchThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := gatetest.Nobody(t)
		r := newRig(t, u)
		defer r.close()
		waiting := []gate.Ticket{r.Submit(one("a", 3, 0, "move", `{"to":1}`)), r.Submit(one("a", 3, 0, "echo", `{}`))}
		asked := []gate.Ticket{r.Submit(one("b", 2, 1, "move", `{"to":2}`)), r.Submit(one("b", 2, 2, "move", `{"to":3}`))}
		<-u.Asked
		synctest.Wait()
		began := time.Now()
		r.call("stop", `{}`)
		for _, x := range append(waiting, asked...) {
			<-x.Done()
			require.Equal(t, gate.CodeStopped, x.Answer().Code, x.Answer().Text)
		}
		require.Zero(t, time.Since(began))
		require.EqualValues(t, 1, r.arm.prepared.Load())
	})
}

func TestG23_ACallersGivingUpIsARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := gatetest.Nobody(t)
		r := newRig(t, u)
		defer r.close()
		// Before the batch is complete: its place counts, and what comes behind it is cancelled.
		first := r.Submit(one("a", 3, 1, "move", `{"to":1}`))
		synctest.Wait()
		first.Cancel("changed my mind")
		<-first.Done()
		require.Equal(t, "changed my mind", first.Answer().Text)
		rest := r.all(one("a", 3, 2, "move", `{"to":2}`), one("a", 3, 3, "echo", `{}`))
		require.Equal(t, gate.CodeCancelled, rest[0].Code)
		require.Contains(t, rest[0].Text, "ended cancelled")
		require.Equal(t, gate.StatusOK, rest[1].Status)
		// While it waits for an earlier one.
		asked := r.Submit(one("b", 2, 1, "move", `{"to":1}`))
		second := r.Submit(one("b", 2, 2, "move", `{"to":2}`))
		<-u.Asked
		synctest.Wait()
		a := r.call("cancel_call", fmt.Sprintf(`{"call_id":%q}`, second.ID()))
		require.Contains(t, a.Text, "cancelled")
		<-second.Done()
		require.Equal(t, gate.StatusPending, asked.Answer().Status, "that one goes on")
		asked.Cancel("")
		<-asked.Done()
	})
}

func TestG23_BatchesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t))
		defer r.close()
		var open []gate.Ticket
		for i := range 8 {
			open = append(open, r.Submit(one(fmt.Sprint("b", i), 2, 0, "echo", `{}`)))
		}
		synctest.Wait()
		require.Equal(t, gate.CodeRateLimited, r.Call(t.Context(), one("b8", 2, 0, "echo", `{}`)).Code)
		for _, x := range open {
			<-x.Done()
		}
		var many []gate.Invocation
		for i := range gate.DefaultMaxOpen + 1 {
			many = append(many, one("many", gate.DefaultMaxOpen+1, i+1, "move", fmt.Sprintf(`{"to":%g}`, float64(i)/10)))
		}
		for _, a := range r.all(many...) {
			require.Equal(t, gate.CodeRateLimited, a.Code)
			require.Contains(t, a.Text, "none of it was run")
		}
	})
}

func TestG20_ABeforeBatchHookSeesTheWholeStepOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var steps []gate.Step
		refuse := true
		r := newRig(t, gatetest.Script(t), withHooks(gate.Hook{Name: "steps", BeforeBatch: func(_ context.Context, s gate.Step) (*gate.Error, error) {
			steps = append(steps, s)
			if refuse {
				return &gate.Error{Text: "not these together"}, nil
			}
			return nil, nil
		}}))
		defer r.close()
		as := r.all(one("b", 3, 3, "echo", `{}`), one("b", 3, 1, "move", `{"to":1}`), one("b", 3, 2, "move", `{"to":77}`))
		require.Len(t, steps, 1, "asked once")
		require.Len(t, steps[0].Calls, 3)
		var seen []string
		for _, c := range steps[0].Calls {
			seen = append(seen, fmt.Sprintf("%s%s%d%t", c.Tool, c.Args, c.Tier.Number(), c.Refused))
		}
		require.Equal(t, []string{`move{"to":1}2false`, `move2true`, `echo{}0false`}, seen)
		require.Equal(t, "not these together", as[0].Text)
		require.Equal(t, "not these together", as[1].Text)
		require.Equal(t, "to", as[2].Refusal.Where, "its own fault comes first")
		for _, e := range r.sink.of("tool_call")[:1] {
			require.Contains(t, []string{"hook steps", ""}, e.Reason)
		}
		require.Zero(t, r.arm.prepared.Load())
		refuse = false
		for _, a := range r.all(one("c", 3, 1, "echo", `{}`), one("c", 3, 2, "echo", `{}`), one("c", 3, 3, "echo", `{}`)) {
			require.Equal(t, gate.StatusOK, a.Status)
		}
		require.Len(t, steps, 2, "once for the whole of it, also when it may run")
		require.Equal(t, gate.StatusOK, r.call("echo", `{}`).Status)
		require.Len(t, steps, 3)
		require.Len(t, steps[2].Calls, 1, "a call that comes alone is a step of one")
	})
}

// A hook that makes a motion of a read puts it into the line of motions.
func TestG23_TheLineCountsWhatHooksLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen notes
		s := gatetest.Script(t, gatetest.Approve(), gatetest.Reject())
		r := newRig(t, s, withHooks(beforeHook("swap", func(c gate.HookCall) (gate.Change, error) {
			if c.Tool == "echo" {
				return gate.Change{Tool: "move", Args: json.RawMessage(`{"to":0}`)}, nil
			}
			return gate.Change{}, nil
		})))
		defer r.close()
		r.arm.change(func(a *arm) {
			a.prepare = func(_ context.Context, c gate.Call) error { seen.add("plan %s", c.Args); return nil }
		})
		as := r.all(one("b", 3, 2, "echo", `{}`), one("b", 3, 3, "move", `{"to":2}`), one("b", 3, 1, "move", `{"to":1}`))
		require.Equal(t, []string{`plan {"to":1}`, `plan {"to":0}`}, seen.take())
		require.Equal(t, gate.CodeNotApproved, as[0].Code)
		require.Equal(t, gate.CodeCancelled, as[1].Code)
		require.Equal(t, gate.StatusOK, as[2].Status)
	})
}

// What becomes of a batch depends on the batch alone: not on the order in which its
// calls arrive.
func TestG23_TheDecisionDependsOnTheBatchAlone(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(rt, "size")
		kinds := []string{"ok", "ok", "read", "no", "bad", "unknown", "access", "failing"}
		calls := make([]gate.Invocation, n)
		for i := range calls {
			to := fmt.Sprintf(`{"to":%g}`, float64(i)/10)
			switch rapid.SampledFrom(kinds).Draw(rt, "kind") {
			case "ok":
				calls[i] = one("b", n, i+1, "move", to)
			case "read":
				calls[i] = one("b", n, i+1, "echo", `{}`)
			case "no":
				calls[i] = one("b", n, i+1, "move", fmt.Sprintf(`{"to":%g,"note":"no"}`, float64(i)/10))
			case "bad":
				calls[i] = one("b", n, i+1, "move", `{"to":9}`)
			case "unknown":
				calls[i] = one("b", n, i+1, "mvoe", `{}`)
			case "access":
				calls[i] = one("b", n, i+1, "request_access", `{"values":["zone:door"],"reason":"a"}`)
			case "failing":
				calls[i] = one("b", n, i+1, "move", fmt.Sprintf(`{"to":%g,"note":"plan"}`, float64(i)/10))
			}
		}
		orders := [][]int{rapid.Permutation(index(n)).Draw(rt, "first"), rapid.Permutation(index(n)).Draw(rt, "second")}
		var texts [2][]string
		for k, order := range orders {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, deciding{}, permitting(newHouse()))
				defer r.close()
				r.arm.change(func(a *arm) {
					a.prepare = func(_ context.Context, c gate.Call) error {
						if strings.Contains(string(c.Args), `"plan"`) {
							return gate.ErrCode(gate.CodeNoPath)
						}
						return nil
					}
				})
				sent := make([]gate.Invocation, n)
				for i, j := range order {
					sent[i] = calls[j]
				}
				got := make([]string, n)
				for i, a := range r.all(sent...) {
					got[order[i]] = fmt.Sprint(a.Status, a.Code, a.Text)
				}
				texts[k] = got
			})
		}
		for i := range n {
			if texts[0][i] != texts[1][i] {
				rt.Fatalf("call %d of %v: %q, and in another order %q", i, calls, texts[0][i], texts[1][i])
			}
		}
	})
}

func index(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// deciding refuses what is noted so, and approves the rest of this test's own calls.
type deciding struct{}

func (deciding) Name() string { return "deciding" }
func (deciding) Decide(_ context.Context, q gate.Request) (gate.Word, error) {
	if strings.Contains(string(q.Args), `"no"`) {
		return gate.Word{Decision: gate.Rejected}, nil
	}
	return gate.Word{Decision: gate.Approved}, nil
}

// Nobody can answer: the same text for a call of a batch, with what hooks left of it.
func TestG25_ABatchThatNobodyCanAnswerEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil, withHooks(beforeHook("half", func(c gate.HookCall) (gate.Change, error) {
			return gate.Change{Args: json.RawMessage(strings.Replace(string(c.Args), `"to":2`, `"to":1`, 1))}, nil
		})))
		defer r.close()
		const text = "The user did not approve this action: move. Do not perform it; tell the user briefly. Nobody can answer in this run. " +
			`Blocked: move {"to":1} on sim (sim). Continue without it and say so.`
		began := time.Now()
		for range 3 {
			as := r.all(one("b", 2, 1, "move", `{"to":2}`), one("b", 2, 2, "move", `{"to":3}`))
			require.Equal(t, text, as[0].Text)
			require.Equal(t, gate.CodeCancelled, as[1].Code)
			require.Equal(t, text, r.call("move", `{"to":2}`).Text)
		}
		require.Zero(t, time.Since(began))
	})
}
