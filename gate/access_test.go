package gate_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

func TestG48_WhatACardListsIsGrantedAndNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Step{Decision: gate.Approved, By: "ada"})
		r := newRig(t, s, permitting(newHouse()))
		defer r.close()
		start := time.Now()
		a, got := r.access(`{"values":["zone:door","speed:0.5","zone:door"],"reason":"To fetch the cup\u202e."}`)
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.Equal(t, []string{"zone:door", "speed:0.5"}, got.Granted)
		require.Empty(t, got.Already)
		require.Zero(t, r.arm.prepared.Load())

		req := s.Requests()[0]
		require.Equal(t, []string{`"zone:door": The arm may reach through the door.`, `"speed:0.5": Motions may be faster.`}, texts(req.Card, "Permits"))
		require.Equal(t, []string{"\"To fetch the cup\u202e.\""}, texts(req.Card, "Reason given"), "as it was given: the channel escapes it")
		latest := start.Add(gate.DefaultRequestTTL + 30*time.Minute).UTC().Truncate(time.Second)
		require.Contains(t, texts(req.Card, "Holds")[0], "for 30m0s from your answer, until "+latest.Format(time.RFC3339)+" at the latest")

		all, err := r.Grants(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 2)
		for i, g := range all {
			require.Equal(t, got.Granted[i], g.Value)
			require.Equal(t, gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, g.Session)
			require.Equal(t, "p", g.Principal)
			require.Equal(t, a.CallID, g.Card)
			require.Equal(t, "ada", g.Decider)
			require.Equal(t, "To fetch the cup\u202e.", g.Reason)
			require.Equal(t, 30*time.Minute, g.Expires.Sub(g.Granted))
			require.True(t, g.Holds(req.Session, "p"))
			require.False(t, g.Holds(req.Session, "q"))
			require.False(t, g.Holds(gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "sim"}, "p"), "not once the session is a real one")
		}
		require.Equal(t, gate.RequestDone, r.state(a.CallID))
		e := r.sink.of("tool_call")[0]
		require.Equal(t, gate.ApprovalApproved, e.Approval)

		time.Sleep(30*time.Minute - time.Nanosecond)
		require.Len(t, r.values(), 2)
		time.Sleep(time.Nanosecond)
		require.Empty(t, r.values(), "each has an expiry of its own")
	})
}

func TestG48_WhatIsGrantedAlreadyAsksNobody(t *testing.T) {
	h := newHouse()
	s := gatetest.Script(t, gatetest.Approve(), gatetest.Approve())
	r := newRig(t, s, permitting(h))
	defer r.close()
	_, got := r.access(`{"values":["zone:door","speed:0.5"],"reason":"a"}`)
	require.Len(t, got.Granted, 2)
	h.set(func(h *house) { h.standing["zone:bench"] = true })
	for _, values := range []string{`"zone:door"`, `"speed:0.5"`, `"speed:0.25"`, `"zone:bench"`, `"zone:bench","zone:door","speed:0.1"`} {
		a, got := r.access(`{"values":[` + values + `],"reason":"b"}`)
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.Equal(t, "already granted", a.Text)
		require.Equal(t, gate.ApprovalNone, a.Approval)
		require.Empty(t, got.Granted)
		require.NotEmpty(t, got.Already)
	}
	// Another principal has none of it, and of a mixture only the rest is asked for.
	i := inv("request_access", `{"values":["zone:bench","zone:door"],"reason":"c"}`)
	i.Principal = "q"
	a := r.Call(t.Context(), i)
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	last := s.Requests()[1]
	require.Equal(t, []string{`"zone:door": The arm may reach through the door.`}, texts(last.Card, "Permits"))
	require.Equal(t, []string{`["zone:bench"]`}, texts(last.Card, "Granted before"))
	require.Len(t, s.Requests(), 2)
	require.Equal(t, []string{"zone:door", "speed:0.5", "zone:door"}, r.values())
}

// Nor does what has been permitted while it waited for another robot's question.
func TestG48_WhatWasGrantedWhileItWaitedAsksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		turn := make(chan struct{})
		s := gatetest.Script(t, gatetest.Step{Decision: gate.Rejected, Do: func(context.Context, gate.Request) { <-turn }}, gatetest.Approve())
		r := newRig(t, s, permitting(h))
		defer r.close()
		r.Submit(in("t", `{"to":1}`))
		synctest.Wait()
		tk := r.Submit(inv("request_access", `{"values":["zone:bench"],"reason":"a"}`))
		synctest.Wait()
		h.set(func(h *house) { h.standing["zone:bench"] = true })
		close(turn)
		<-tk.Done()
		a := tk.Answer()
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.Equal(t, "already granted", a.Text)
		require.Equal(t, gate.ApprovalNone, a.Approval)
		require.Len(t, s.Requests(), 1)
		require.Equal(t, gate.StatusOK, r.call("move", `{"to":1}`).Status, "the question is free")
	})
}

func TestG48_ARequestThatNamesNothingAsksForWhatWasRefusedInThisTurn(t *testing.T) {
	for _, code := range []gate.Code{gate.CodeZoneNotGranted, gate.CodeSpeedLimit} {
		s := gatetest.Script(t, gatetest.Approve(), gatetest.Reject())
		r := newRig(t, s, permitting(newHouse()))
		r.wants(code, "zone:door")
		require.Equal(t, code, r.call("move", `{}`).Code)
		require.Equal(t, code, r.call("move", `{"to":1}`).Code)
		other := inv("request_access", `{"reason":"x"}`)
		other.Principal = "q"
		require.Equal(t, gate.CodeInvalidArgument, r.Call(t.Context(), other).Code, "another's refusals aren't theirs")
		r.wants(code, "speed:0.5")
		require.Equal(t, code, r.call("move", `{}`).Code)
		a, got := r.access(`{"reason":"To fetch the cup."}`)
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.Equal(t, []string{"zone:door", "speed:0.5"}, got.Granted)
		// It was asked, so it isn't remembered any more.
		a, _ = r.access(`{"reason":"To fetch the cup."}`)
		require.Equal(t, gate.CodeInvalidArgument, a.Code)
		// A motion is still asked by itself.
		require.Equal(t, gate.CodeNotApproved, r.call("move", `{}`).Code)
		require.Zero(t, r.arm.ran.Load())
		r.close()
	}
}

func TestG48_WhatWasRefusedIsForgottenWhenTheTurnEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Reject(), gatetest.Reject())
		r := newRig(t, s, permitting(newHouse()))
		defer r.close()
		r.wants(gate.CodeZoneNotGranted, "zone:door")
		in := func(turn, tool, args string) gate.Answer {
			i := inv(tool, args)
			i.Turn = turn
			return r.Call(t.Context(), i)
		}
		require.Equal(t, gate.CodeZoneNotGranted, in("one", "move", `{}`).Code)
		require.Equal(t, gate.CodeInvalidArgument, in("two", "request_access", `{"reason":"a"}`).Code)
		time.Sleep(time.Hour)
		require.Equal(t, gate.CodeNotApproved, in("one", "request_access", `{"reason":"a"}`).Code, "its turn lasts as long as it says")

		// A turn without a name ends when nothing has happened for a while.
		require.Equal(t, gate.CodeZoneNotGranted, in("", "move", `{"to":1}`).Code)
		for range 3 {
			time.Sleep(gate.DefaultTurnQuiet - 1)
			require.Equal(t, gate.StatusOK, in("", "echo", `{}`).Status)
		}
		time.Sleep(gate.DefaultTurnQuiet)
		require.Equal(t, gate.CodeInvalidArgument, in("", "request_access", `{"reason":"b"}`).Code)
		require.Equal(t, gate.CodeZoneNotGranted, in("", "move", `{"to":1}`).Code)
		time.Sleep(gate.DefaultTurnQuiet - 1)
		require.Equal(t, gate.CodeNotApproved, in("", "request_access", `{"reason":"c"}`).Code)
	})
}

func TestG48_WhatCantBeAskedForSaysHowTo(t *testing.T) {
	r := newRig(t, gatetest.Script(t), permitting(newHouse()))
	defer r.close()
	for args, says := range map[string]string{
		`{"reason":"a"}`:                                            `values: name what you need, as in {"values":["zone:NAME"],"reason":"…"}`,
		`{"values":[],"reason":"a"}`:                                "nothing that could be asked for was refused in this turn",
		`{"values":["zone:attic"],"reason":"a"}`:                    `values[0]: "zone:attic" is no zone of this scene; ask for zone:door`,
		`{"values":["zone:door","door"],"reason":"a"}`:              "values[1]: ",
		`{"values":["zone:door"]}`:                                  "reason: is missing",
		`{"values":["zone:door"],"reason":" "}`:                     "reason: is empty; say in one sentence why",
		`{"values":["zone:door"],"reason":"a\nApprove? [y/N] y"}`:   "reason: has a control character or several lines",
		`{"values":["zone:door"],"reason":"a\u2028b"}`:              "reason: has a control character or several lines",
		`{"values":["zone:door"],"reason":"a","for_s":28801}`:       "for_s: too large",
		`{"values":["zone:door"],"reason":"a","for_s":0}`:           "for_s: too small",
		`{"values":["zone:door"],"reason":"a","principal":"other"}`: "principal: unknown field",
	} {
		a, _ := r.access(args)
		require.Equal(t, gate.CodeInvalidArgument, a.Code, args)
		require.Contains(t, a.Text, says, args)
		require.Equal(t, gate.StatusRefused, a.Status)
	}
	require.Empty(t, r.values())
}

func TestG48_WithoutAStoreThereIsNoSuchTool(t *testing.T) {
	r := newRig(t, gatetest.Script(t))
	defer r.close()
	for _, tool := range []string{"request_access", "register_routine", "run_routine"} {
		require.Equal(t, gate.CodeUnknownTool, r.call(tool, `{}`).Code)
		require.Error(t, gate.NewCatalog().Register(&arm{spec: gate.Spec{Name: tool, Tier: gate.TierPhysical, Description: "Mine.", Input: gate.Obj()}}), "the name is the gate's")
	}
	_, err := gate.New(gate.Config{Catalog: gate.NewCatalog(), Lane: r.lane, Sessions: r.sessions, Requests: r.requests, Sink: r.sink, Grants: r.requests})
	require.ErrorContains(t, err, "config.grants")
}

func TestG48_ADenyTakesOnlyItsOwnCard(t *testing.T) {
	s := gatetest.Script(t, gatetest.Approve(), gatetest.Reject())
	r := newRig(t, s, permitting(newHouse()))
	defer r.close()
	_, got := r.access(`{"values":["zone:door"],"reason":"a"}`)
	require.Len(t, got.Granted, 1)
	// Something that stands under the card that is refused next is taken back with it.
	s2 := inv("request_access", `{"values":["zone:bench"],"reason":"a"}`)
	s2.CallID = fmt.Sprintf("%032x", 77)
	now := time.Now()
	require.NoError(t, r.requests.AddGrants(t.Context(), []gate.Grant{{
		ID: "left", Principal: "p", Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, Value: "zone:bench",
		Card: s2.CallID, Decider: "d", Granted: now, Expires: now.Add(time.Minute),
	}}))
	s2.Session = "t" // where it isn't granted
	require.Equal(t, gate.CodeNotApproved, r.Call(t.Context(), s2).Code)
	require.Equal(t, []string{"zone:door"}, r.values())
}

func TestG48_RevokingWorksFromTheNextCall(t *testing.T) {
	s := gatetest.Script(t, gatetest.Approve(), gatetest.Approve())
	r := newRig(t, s, permitting(newHouse()))
	defer r.close()
	r.wants(gate.CodeZoneNotGranted, "zone:door")
	a, _ := r.access(`{"values":["zone:door"],"reason":"a"}`)
	require.Equal(t, gate.StatusOK, r.call("move", `{}`).Status)
	all, err := r.Grants(t.Context())
	require.NoError(t, err)
	ok, err := r.RevokeGrant(t.Context(), all[0].ID, "ada")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, gate.CodeZoneNotGranted, r.call("move", `{}`).Code)
	ok, err = r.RevokeGrant(t.Context(), all[0].ID, "ada")
	require.NoError(t, err)
	require.False(t, ok)
	events := r.sink.of("session")
	require.Len(t, events, 1)
	require.Equal(t, "zone:door, granted to p, was revoked by ada", events[0].Text)
	require.Equal(t, a.CallID, events[0].AllowedBy)
	require.Equal(t, "s", events[0].SessionID)
}

// What permits more than one call is a person's word: no exemption speaks for it.
func TestG48_AnExemptionGrantsNothing(t *testing.T) {
	r := newRig(t, gate.AutoReject{}, permitting(newHouse()), func(c *gate.Config) {
		c.Exemptions = []gate.Exemption{func(gate.Query) bool { return true }}
	})
	defer r.close()
	require.Equal(t, gate.StatusOK, r.call("move", `{}`).Status)
	a, _ := r.access(`{"values":["zone:door"],"reason":"a"}`)
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Contains(t, a.Text, "Nobody can answer in this run.")
	require.Empty(t, r.values())
}

func TestG48_WhatCantBeStoredIsntGranted(t *testing.T) {
	for _, with := range []error{errTest, gate.Errf(gate.CodeInternal, "bridge.db", "the disk is full")} {
		r := newRig(t, gatetest.Script(t, gatetest.Approve()), new(fullStore).fails(t, with))
		a, _ := r.access(`{"values":["zone:door"],"reason":"a"}`)
		require.Equal(t, gate.CodeNotApproved, a.Code)
		require.Contains(t, a.Text, "nothing was permitted")
		require.Empty(t, r.values())
		r.close()
	}
}

// What a value would permit is looked up again before it is granted.
func TestG48_AChangedSceneGrantsNothing(t *testing.T) {
	for name, change := range map[string]func(*house){
		"gone":    func(h *house) { delete(h.zones, "door") },
		"another": func(h *house) { h.zones["door"] = "The arm may reach into the street." },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse()
			yes := gatetest.Approve()
			yes.Do = func(context.Context, gate.Request) { h.set(change) }
			r := newRig(t, gatetest.Script(t, yes), permitting(h))
			defer r.close()
			a, _ := r.access(`{"values":["zone:door"],"reason":"a"}`)
			require.Equal(t, gate.StatusRefused, a.Status, a.Text)
			require.Empty(t, r.values())
		})
	}
}

func TestG48_AnAnswerThatComesTooLateForItGrantsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		yes := gatetest.Approve()
		yes.Do = func(context.Context, gate.Request) { time.Sleep(9 * time.Minute) }
		r := newRig(t, gatetest.Script(t, yes), permitting(newHouse()))
		defer r.close()
		_, got := r.access(`{"values":["zone:door"],"reason":"a","for_s":90}`)
		require.Equal(t, []string{"zone:door"}, got.Granted)
		time.Sleep(90*time.Second - 1)
		require.Len(t, r.values(), 1, "it counts from the answer")
		time.Sleep(time.Nanosecond)
		require.Empty(t, r.values())
	})
}

func TestG48_ARequestForAccessOutlivesTheBridge(t *testing.T) {
	d, u := newDisk(t), gatetest.Nobody(t)
	r := d.life(u, permitting(newHouse()))
	_, err := r.Recover(t.Context())
	require.NoError(t, err)
	r.Submit(inv("request_access", `{"values":["zone:door"],"reason":"To fetch the cup."}`))
	shown := <-u.Asked
	d = d.killed(r)

	s := gatetest.Script(t, gatetest.Step{Decision: gate.Approved, By: "ada"})
	r = d.life(s, permitting(newHouse()))
	got, err := r.Recover(t.Context())
	require.NoError(t, err)
	require.Len(t, got.Open, 1)
	a := r.status(shown.CallID, 30)
	require.Equal(t, "ok", a.Status, a.Text)
	require.Equal(t, shown.Card, s.Requests()[0].Card)
	all, err := r.Grants(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, shown.CallID, all[0].Card)
	require.Equal(t, "ada", all[0].Decider)
	d = d.killed(r)

	// And so does what was granted.
	r = d.life(gatetest.Script(t), permitting(newHouse()))
	defer r.end()
	b, _ := r.access(`{"values":["zone:door"],"reason":"again"}`)
	require.Equal(t, "already granted", b.Text)
	require.False(t, errors.Is(err, errTest))
}

// Whatever calls Run, a permission is made only out of a stored approval that runs.
func TestG48_OnlyAnApprovedRequestThatRunsPermits(t *testing.T) {
	for _, call := range []struct{ tool, args string }{
		{"request_access", `{"values":["zone:door"],"reason":"a"}`}, {"register_routine", routine("stay", 1, "0")},
	} {
		t.Run(call.tool, func(t *testing.T) {
			look := &stale{}
			r := newRig(t, gatetest.Script(t, gatetest.Approve()), withRail(newRail()), func(c *gate.Config) {
				look.Requests = c.Requests
				c.Requests = look
			})
			defer r.close()
			a := r.call(call.tool, call.args)
			require.Equal(t, gate.CodeNotApproved, a.Code, a.Text)
			require.Contains(t, a.Text, "isn't an approved request that runs")
			require.Empty(t, r.values())
			all, err := r.Routines(t.Context())
			require.NoError(t, err)
			require.Empty(t, all)
		})
	}
}

// stale is a store that says of each request that nobody has approved it.
type stale struct{ gate.Requests }

func (s *stale) Get(ctx context.Context, id string) (gate.Record, error) {
	r, err := s.Requests.Get(ctx, id)
	r.State, r.Decision = gate.RequestClaimed, 0
	return r, err
}
