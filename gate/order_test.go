package gate_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

func in(session, args string) gate.Invocation {
	return gate.Invocation{Tool: "move", Args: []byte(args), Session: session, Principal: "p", Origin: "test"}
}

// One question at a time, in order, and a robot's next call is prepared only when
// its earlier one is at rest.
func TestG11_OneAtATimeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 5
		gateKeeper := make(chan struct{})
		step := gatetest.Step{Decision: gate.Approved, Do: func(context.Context, gate.Request) { <-gateKeeper }}
		s := gatetest.Script(t, step, step, step, step, step)
		r := newRig(t, s)
		defer r.close()
		atRest := make(chan struct{})
		r.arm.run = func(context.Context) (gate.Result, error) { <-atRest; return gate.Result{}, nil }
		var tickets []gate.Ticket
		for i := range n {
			tickets = append(tickets, r.Submit(in("s", fmt.Sprintf(`{"to":%d}`, i%3))))
			synctest.Wait()
		}
		for i := range n {
			require.EqualValues(t, i+1, r.arm.prepared.Load(), "a later call was prepared before its turn")
			require.Len(t, s.Requests(), i+1)
			gateKeeper <- struct{}{}
			synctest.Wait()
			require.EqualValues(t, i+1, r.arm.ran.Load())
			require.EqualValues(t, i+1, r.arm.prepared.Load(), "the next call was prepared while the robot moves")
			atRest <- struct{}{}
			synctest.Wait()
			require.Equal(t, gate.StatusOK, tickets[i].Answer().Status)
		}
		for i, q := range s.Requests() {
			require.Equal(t, tickets[i].ID(), q.CallID)
		}
	})
}

// Two robots: the second one's plan is made again when its question's turn comes.
func TestG11_APlanNeverGoesStaleBehindAnotherRobotsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := make(chan struct{})
		s := gatetest.Script(t,
			gatetest.Step{Decision: gate.Rejected, Do: func(context.Context, gate.Request) { <-first }}, gatetest.Approve())
		r := newRig(t, s)
		defer r.close()
		a := r.Submit(in("s", `{"to":1}`))
		synctest.Wait()
		b := r.Submit(in("t", `{"to":1}`))
		synctest.Wait()
		require.EqualValues(t, 2, r.arm.prepared.Load())
		require.Len(t, s.Requests(), 1)
		time.Sleep(5 * time.Minute)
		r.arm.change(func(x *arm) { x.version = 7 }) // the world has gone on
		close(first)
		<-a.Done()
		<-b.Done()
		require.EqualValues(t, 3, r.arm.prepared.Load())
		require.Equal(t, gate.StatusOK, b.Answer().Status, b.Answer().Text)
		require.Equal(t, "sim2", b.Answer().Backend)
		require.Equal(t, 10*time.Minute, time.Until(s.Requests()[1].Expiry))
	})
}

func TestG11_EachWaitHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := gatetest.Nobody(t)
		r := newRig(t, u, func(c *gate.Config) { c.QueueWait = time.Minute })
		defer r.close()
		first := r.Submit(in("s", `{"to":1}`))
		<-u.Asked
		start := time.Now()
		a := r.Call(t.Context(), in("s", `{"to":2}`))
		require.Equal(t, time.Minute, time.Since(start))
		require.Equal(t, gate.CodeBusy, a.Code)
		require.Equal(t, gate.StatusRefused, a.Status)
		require.EqualValues(t, 1, r.arm.prepared.Load())
		require.Equal(t, gate.StatusPending, first.Answer().Status)
		require.NotEmpty(t, first.Answer().Digest)
		require.False(t, first.Answer().ExpiresAt.IsZero())
		first.Cancel("enough")
		<-first.Done()
	})
}

// A session that becomes real while its call waits: the call was made in a simulator.
func TestG11_ASessionThatChangesWhileItsCallWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := make(chan struct{})
		s := gatetest.Script(t, gatetest.Step{Decision: gate.Rejected, Do: func(context.Context, gate.Request) { <-first }})
		r := newRig(t, s)
		defer r.close()
		r.Submit(in("s", `{"to":1}`))
		synctest.Wait()
		waits := r.Submit(in("s", `{"to":2}`))
		synctest.Wait()
		r.sessions.set(gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "sim"}, nil)
		close(first)
		<-waits.Done()
		require.Equal(t, gate.CodeNotApproved, waits.Answer().Code)
		require.Contains(t, waits.Answer().Text, "changed while the call waited")
		require.EqualValues(t, 1, r.arm.prepared.Load())
	})
}

// An approver that doesn't take its card away keeps the next question waiting.
func TestG11_ACardThatStaysBlocksTheNextQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		s := gatetest.Script(t, gatetest.Step{Decision: gate.Approved, Do: func(context.Context, gate.Request) { <-gone }}, gatetest.Reject())
		r := newRig(t, s, func(c *gate.Config) { c.QuestionTimeout = time.Minute })
		defer r.close()
		a := r.call("move", `{"to":1}`)
		require.Equal(t, gate.ApprovalTimeout, a.Approval)
		b := r.Submit(in("s", `{"to":2}`))
		synctest.Wait()
		require.Len(t, s.Requests(), 1)
		close(gone)
		<-b.Done()
		require.Len(t, s.Requests(), 2)
		require.Zero(t, r.arm.ran.Load())
	})
}

func TestG33_FatigueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := gatetest.Nobody(t)
		r := newRig(t, u)
		defer r.close()
		var tickets []gate.Ticket
		for i := range 10 {
			tickets = append(tickets, r.Submit(in("s", fmt.Sprintf(`{"to":0.%d}`, i))))
		}
		synctest.Wait()
		a := r.Call(t.Context(), in("s", `{"to":2}`))
		require.Equal(t, gate.CodeRateLimited, a.Code)
		require.Contains(t, a.Text, "too many open questions; it was not run (value 11, limit 10)")
		other := r.Submit(in("t", `{"to":2}`)) // another session is another count
		synctest.Wait()
		require.Equal(t, gate.StatusPending, other.Answer().Status)
		tickets[9].Cancel("")
		<-tickets[9].Done()
		again := r.Submit(in("s", `{"to":2}`))
		synctest.Wait()
		require.Equal(t, gate.StatusPending, again.Answer().Status)
	})
}

func TestG33_WhatWasJustRefusedIsNotAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Step{Decision: gate.Rejected, Do: func(context.Context, gate.Request) { time.Sleep(time.Second) }},
			gatetest.Reject(), gatetest.Reject(), gatetest.Reject())
		r := newRig(t, s)
		defer r.close()
		// Identical calls wait: one answer serves one of them, the others aren't asked.
		var twins []gate.Ticket
		for range 3 {
			twins = append(twins, r.Submit(in("s", `{"to":1}`)))
			synctest.Wait()
		}
		for i, tk := range twins {
			<-tk.Done()
			require.Equal(t, gate.CodeNotApproved, tk.Answer().Code)
			require.Contains(t, tk.Answer().Text, refusedText)
			require.Equal(t, i > 0, tk.Answer().Approval == gate.ApprovalNone)
		}
		require.Len(t, s.Requests(), 1)
		require.EqualValues(t, 1, r.arm.prepared.Load(), "a twin was planned for nothing")
		a := r.Call(t.Context(), in("s", `{"to": 1.0}`))
		require.Contains(t, a.Text, "The same call was refused 0 s ago; it isn't asked again for 60 s")
		r.Call(t.Context(), in("s", `{"to":2}`)) // other arguments
		r.Call(t.Context(), in("t", `{"to":1}`)) // another session
		require.Len(t, s.Requests(), 3)
		time.Sleep(59 * time.Second)
		require.Contains(t, r.Call(t.Context(), in("s", `{"to":1}`)).Text, "refused 59 s ago")
		time.Sleep(time.Second)
		r.Call(t.Context(), in("s", `{"to":1}`))
		require.Len(t, s.Requests(), 4)
	})
}

// A question that timed out wasn't refused by a person: it may be asked again.
func TestG33_ATimeoutIsNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Step{Decision: gate.TimedOut}, gatetest.Approve())
		r := newRig(t, s)
		defer r.close()
		require.Equal(t, gate.ApprovalTimeout, r.call("move", `{"to":1}`).Approval)
		require.Equal(t, gate.StatusOK, r.call("move", `{"to":1}`).Status)
	})
}

// An answer that doesn't count refuses the call, says why, and is no person's refusal.
func TestG33_AnAnswerThatDoesntCountIsNoRefusal(t *testing.T) {
	s := gatetest.Script(t, gatetest.Step{Decision: gate.Void, Reason: "within 0.5 s of the card's end"}, gatetest.Step{Decision: gate.Void}, gatetest.Approve())
	r := newRig(t, s)
	defer r.close()
	a := r.call("move", `{"to":1}`)
	require.Equal(t, gate.CodeNotApproved, a.Code)
	require.Equal(t, gate.ApprovalRejected, a.Approval)
	require.Equal(t, refusedText+" No answer was counted (within 0.5 s of the card's end); nobody has refused it.", a.Text)
	require.Equal(t, refusedText, r.call("move", `{"to":1}`).Text)
	require.Zero(t, r.arm.ran.Load())
	require.Equal(t, gate.StatusOK, r.call("move", `{"to":1}`).Status, "it may be asked again at once")
	e := r.sink.of("approval")[0]
	require.Equal(t, "rejected", e.Decision)
	require.Equal(t, "within 0.5 s of the card's end", e.Reason)
}

// One yes is one call, however many identical ones wait (case 52).
func TestG33_Case52_OneYesServesOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := make(chan gate.Decision)
		s := approver{decide: func(ctx context.Context, _ gate.Request) (gate.Word, error) {
			select {
			case d := <-u:
				return gate.Word{Decision: d}, nil
			case <-ctx.Done():
				return gate.Word{}, ctx.Err()
			}
		}}
		r := newRig(t, s)
		defer r.close()
		for range 8 {
			r.Submit(in("s", `{"to":1}`))
		}
		synctest.Wait()
		u <- gate.Approved
		synctest.Wait()
		require.EqualValues(t, 1, r.arm.ran.Load())
		digests := map[string]bool{}
		for _, e := range r.sink.of("approval") {
			digests[e.Digest] = true
		}
		require.Len(t, digests, 1)
	})
}

func TestG24_RateLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t) // nobody may be asked
		r := newRig(t, s, func(c *gate.Config) {
			c.Rates = gate.RateLimits{Session: &gate.Rate{PerSecond: 1, Burst: 3},
				Tools: map[string]gate.Rate{"move": {PerSecond: 0.1, Burst: 1}}}
		})
		defer r.close()
		r.arm.prepare = func(context.Context, gate.Call) error { return gate.Errf(gate.CodeJointLimit, "a", "no") }
		require.Equal(t, gate.CodeJointLimit, r.call("move", `{"to":1}`).Code)
		for range 5 { // over the tool's limit: none of them spends the session's tokens
			a := r.call("move", `{"to":1}`)
			require.Equal(t, gate.CodeRateLimited, a.Code)
			require.Equal(t, gate.StatusRefused, a.Status)
			require.Contains(t, a.Text, "tool move: too many calls")
		}
		require.EqualValues(t, 1, r.arm.prepared.Load())
		require.Equal(t, gate.StatusOK, r.call("echo", "{}").Status)
		require.Equal(t, gate.StatusOK, r.call("echo", "{}").Status)
		a := r.call("echo", "{}")
		require.Equal(t, gate.CodeRateLimited, a.Code)
		require.Contains(t, a.Text, "1 a second and 3 at once are allowed")
		i := inv("echo", "{}")
		i.Session = "t"
		require.Equal(t, gate.StatusOK, r.Call(t.Context(), i).Status, "each session has its own")
		time.Sleep(time.Second)
		require.Equal(t, gate.StatusOK, r.call("echo", "{}").Status)
		require.Equal(t, gate.CodeRateLimited, r.call("echo", "{}").Code)
		require.Len(t, r.sink.of("tool_call"), 12)
	})
}
