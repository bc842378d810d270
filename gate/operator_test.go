package gate_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/desk"
	"github.com/tau-robot/tau/gate/gatetest"
)

// refusedHow is what a no from outside leaves behind: the row, the events, the answer.
func refusedHow(t *testing.T, r *rig, id string) {
	t.Helper()
	rec, err := r.Stored(t.Context(), id)
	if gate.CodeOf(err) != gate.CodeInvalidArgument { // one that was never asked has no row
		require.NoError(t, err)
		require.Equal(t, gate.RequestRejected, rec.State)
		require.Equal(t, gate.Rejected, rec.Decision)
		require.Equal(t, "ann", rec.Decider)
		var approvals []gate.Event
		for _, e := range r.sink.of("approval") {
			if e.CallID == id {
				approvals = append(approvals, e)
			}
		}
		require.Len(t, approvals, 1)
		require.Equal(t, "rejected", approvals[0].Decision)
		require.Equal(t, "ann", approvals[0].Decider)
		require.Equal(t, "not now", approvals[0].Reason)
		require.Equal(t, gate.ApprovalRejected, approvals[0].Approval)
	}
	calls := 0
	for _, e := range r.sink.of("tool_call") {
		if e.CallID == id && e.Tool == "move" {
			calls++
			require.Equal(t, gate.CodeNotApproved, e.Code)
		}
	}
	require.Equal(t, 1, calls)
}

// A person's no from outside the question, wherever the call waits.
func TestG34_ANoFromOutsideCountsWhereverTheCallWaits(t *testing.T) {
	refuse := func(r *rig, id string) { require.NoError(r.t, r.Refuse(context.Background(), id, "ann", "not now")) }
	for name, run := range map[string]func(*testing.T){
		"asked now": func(t *testing.T) {
			u := gatetest.Nobody(t)
			r := newRig(t, u)
			defer r.close()
			tk := r.Submit(in("s", `{"to":1}`))
			<-u.Asked
			refuse(r, tk.ID())
			require.Equal(t, refusedText, tk.Answer().Text)
			require.Equal(t, gate.ApprovalRejected, tk.Answer().Approval)
			refusedHow(t, r, tk.ID())
			// The same isn't asked again for a while (G33).
			a := r.call("move", `{"to":1}`)
			require.Contains(t, a.Text, "The same call was refused")
			time.Sleep(time.Minute)
			r.Submit(in("s", `{"to":1}`))
			<-u.Asked
		},
		"waits for its turn, unprepared": func(t *testing.T) {
			u := gatetest.Nobody(t)
			r := newRig(t, u)
			defer r.close()
			r.Submit(in("s", `{"to":1}`))
			<-u.Asked
			tk := r.Submit(in("s", `{"to":2}`))
			synctest.Wait()
			refuse(r, tk.ID())
			require.Equal(t, gate.CodeNotApproved, tk.Answer().Code)
			require.EqualValues(t, 1, r.arm.prepared.Load())
			refusedHow(t, r, tk.ID())
		},
		"waits for another question": func(t *testing.T) {
			u := gatetest.Nobody(t)
			r := newRig(t, u)
			defer r.close()
			r.Submit(in("t", `{"to":1}`))
			<-u.Asked
			tk := r.Submit(in("s", `{"to":2}`))
			synctest.Wait()
			refuse(r, tk.ID())
			require.Equal(t, gate.CodeNotApproved, tk.Answer().Code)
			refusedHow(t, r, tk.ID())
		},
		"waits after a restart": func(t *testing.T) {
			d, shown := pending(t, "s", `{"to":1}`)
			u := gatetest.Nobody(t)
			r := d.life(u)
			defer r.end()
			_, err := r.Recover(t.Context())
			require.NoError(t, err)
			<-u.Asked
			refuse(r, shown.CallID)
			refusedHow(t, r, shown.CallID)
			require.Contains(t, r.call("move", `{"to":1}`).Text, "The same call was refused")
		},
		"waits for its turn after a restart": func(t *testing.T) {
			d, shown := pending(t, "s", `{"to":1}`)
			u := gatetest.Nobody(t)
			r := d.life(u)
			defer r.end()
			r.Submit(in("s", `{"to":2}`))
			<-u.Asked
			_, err := r.Recover(t.Context())
			require.NoError(t, err)
			synctest.Wait()
			refuse(r, shown.CallID)
			refusedHow(t, r, shown.CallID)
		},
		"waits for an opt-in": func(t *testing.T) {
			d, shown := pendingReal(t)
			r := d.life(gatetest.Script(t))
			defer r.end()
			r.sessions.set(gate.Session{Name: "r"}, gate.Errf(gate.CodeNotOptedIn, "r", "is not opted in"))
			_, err := r.Recover(t.Context())
			require.NoError(t, err)
			synctest.Wait()
			refuse(r, shown.CallID)
			refusedHow(t, r, shown.CallID)
			r.sessions.set(realSession, nil)
			r.SessionsChanged() // and nothing is asked
		},
		"waits in the store alone": func(t *testing.T) {
			d, shown := pending(t, "s", `{"to":1}`)
			r := d.life(nil) // nobody can answer in this run
			defer r.end()
			_, err := r.Recover(t.Context())
			require.NoError(t, err)
			refuse(r, shown.CallID)
			refusedHow(t, r, shown.CallID)
			err = r.Refuse(t.Context(), shown.CallID, "bob", "")
			require.Equal(t, gate.CodeNotApproved, gate.CodeOf(err), "once")
			require.Contains(t, r.call("move", `{"to":1}`).Text, "The same call was refused", "G33")
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, run) })
	}
}

// A no that comes too late is told so, and changes nothing.
func TestG34_ANoThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t, gatetest.Approve(), gatetest.Reject()))
		defer r.close()
		moving, end := make(chan struct{}), make(chan struct{})
		r.arm.change(func(a *arm) {
			a.run = func(context.Context) (gate.Result, error) { close(moving); <-end; return gate.Result{}, nil }
		})
		tk := r.Submit(in("s", `{"to":1}`))
		<-moving
		require.Equal(t, gate.CodeInProgress, gate.CodeOf(r.Refuse(t.Context(), tk.ID(), "ann", "")))
		close(end)
		<-tk.Done()
		require.Equal(t, gate.StatusOK, tk.Answer().Status, "it ran to its end")
		require.Equal(t, gate.CodeInProgress, gate.CodeOf(r.Refuse(t.Context(), tk.ID(), "ann", "")))
		a := r.call("move", `{"to":2}`)
		require.Equal(t, gate.CodeNotApproved, a.Code)
		require.Equal(t, gate.CodeInProgress, gate.CodeOf(r.Refuse(t.Context(), a.CallID, "ann", "")))
		require.Equal(t, gate.CodeInvalidArgument, gate.CodeOf(r.Refuse(t.Context(), "nobody's", "ann", "")))
		for _, e := range r.sink.of("approval") {
			require.NotEqual(t, "ann", e.Decider)
		}
	})
}

// Whoever gives up waiting has refused all the same.
func TestG34_ANoDoesntWaitForAnApproverThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		asked := make(chan struct{})
		r := newRig(t, gatetest.Script(t, gatetest.Step{
			Decision: gate.Approved, Do: func(context.Context, gate.Request) { close(asked); <-hang },
		}))
		defer r.close()
		defer close(hang)
		tk := r.Submit(in("s", `{"to":1}`))
		<-asked
		require.NoError(t, r.Refuse(t.Context(), tk.ID(), "ann", "not now"))
		require.Equal(t, gate.CodeNotApproved, tk.Answer().Code)
		require.Zero(t, r.arm.ran.Load())
	})
}

// A yes and a no at the same moment: exactly one wins, and each is told which.
func TestG42_AYesAndANoAtOnce(t *testing.T) {
	yes := 0
	for range 200 {
		d := desk.New(desk.Options{Remote: func() bool { return true }})
		r := newRig(t, d)
		tk := r.Submit(in("s", `{"to":1}`))
		for changed := d.Changed(); len(d.Open()) == 0; changed = d.Changed() { // taken before it is looked at
			<-changed
		}
		q := d.Open()[0]
		var wg sync.WaitGroup
		var no error
		wg.Go(func() { no = r.Refuse(t.Context(), tk.ID(), "ann", "") })
		wg.Go(func() {
			_ = d.Answer(desk.Answer{ID: q.Request.CallID, Digest: q.Request.Digest, Nonce: q.Nonce, Word: gate.Word{Decision: gate.Approved, By: "bob"}})
		})
		wg.Wait()
		<-tk.Done()
		e := r.sink.of("approval")
		require.Len(t, e, 1)
		if no == nil {
			require.Zero(t, r.arm.ran.Load(), "a no that was heard moves nothing")
			require.Equal(t, gate.CodeNotApproved, tk.Answer().Code)
			require.Equal(t, gate.RequestRejected, r.state(tk.ID()))
			require.Equal(t, "ann", e[0].Decider)
		} else {
			yes++
			require.Equal(t, gate.CodeInProgress, gate.CodeOf(no))
			require.EqualValues(t, 1, r.arm.ran.Load(), "the yes won")
			require.Equal(t, "approved", e[0].Decision)
			require.Equal(t, "bob", e[0].Decider)
		}
		r.close()
	}
	t.Logf("%d times the yes won", yes)
}

// asksRoles calls back when it is asked who may decide: between the word and its claim.
type asksRoles struct{ f func() }

func (asksRoles) MayUse(string, string) bool { return true }
func (a asksRoles) MayDecide(string) bool    { a.f(); return true }

// A no that comes after the yes has been said and before it counts wins.
func TestG42_ANoBetweenTheYesAndItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		no := func() {
			open, err := r.Open(context.Background())
			require.NoError(t, err)
			err = r.Refuse(gone, open[0].Request.CallID, "ann", "not now") // doesn't wait for the end
			require.Equal(t, gate.CodeCancelled, gate.CodeOf(err))
		}
		r = newRig(t, gatetest.Script(t, gatetest.Approve()), func(c *gate.Config) { c.Roles = asksRoles{no} })
		defer r.close()
		a := r.call("move", `{"to":1}`)
		require.Equal(t, gate.ApprovalRejected, a.Approval)
		require.Zero(t, r.arm.ran.Load())
		refusedHow(t, r, a.CallID)
	})
}

// Looking at a question makes nobody's yes worthless: the gate alone reads it (G41).
func TestG41_LookingChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r *rig
		look := func(_ context.Context, req gate.Request) {
			open, err := r.Open(context.Background())
			require.NoError(t, err)
			require.Len(t, open, 1)
			_, err = r.Stored(context.Background(), req.CallID)
			require.NoError(t, err)
			r.call("call_status", `{"call_id":"`+req.CallID+`"}`)
		}
		r = newRig(t, desk.New(desk.Options{Channels: []gate.Approver{
			gatetest.Nobody(t), gatetest.Script(t, gatetest.Step{Decision: gate.Approved, Do: look}), gatetest.Nobody(t),
		}}))
		defer r.close()
		a := r.call("move", `{"to":1}`)
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.Equal(t, "scripted", r.sink.of("approval")[0].Decider)
	})
}
