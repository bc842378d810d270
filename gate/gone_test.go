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

// told is an approver that nobody answers and that keeps what it is told.
type told struct {
	*gatetest.Unanswered
	mu  sync.Mutex
	all map[string][]gate.Notice
}

func (a *told) Notice(id string, n gate.Notice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.all == nil {
		a.all = map[string][]gate.Notice{}
	}
	a.all[id] = append(a.all[id], n)
}

func (a *told) of(id string) []gate.Notice {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[id]
}

func leave(t *testing.T, tk gate.Ticket, why string) {
	t.Helper()
	l, ok := tk.(gate.Leaver)
	require.True(t, ok)
	l.Leave(why)
}

// A caller that has gone leaves its question open; the card says so, and so does the
// list; one that comes back is told of, too.
func TestG49_ACallerThatHasGoneIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &told{Unanswered: gatetest.Nobody(t)}
		r := newRig(t, desk.New(desk.Options{Channels: []gate.Approver{u}}))
		defer r.close()
		tk := r.Submit(in("s", `{"to":1}`))
		shown := <-u.Asked
		require.Empty(t, shown.Notices)
		gone := func() bool {
			open, err := r.Open(t.Context())
			require.NoError(t, err)
			require.Len(t, open, 1)
			rec, err := r.Stored(t.Context(), tk.ID())
			require.NoError(t, err)
			require.Equal(t, open[0].Gone, rec.Gone)
			return rec.Gone
		}
		require.False(t, gone())
		for range 2 { // told once
			leave(t, tk, "the client ended its session")
			require.True(t, gone())
		}
		require.Equal(t, []gate.Notice{{Kind: gate.CallerGone, Text: "the client ended its session"}}, u.of(tk.ID()))
		require.Equal(t, gate.StatusPending, tk.Answer().Status)
		require.Equal(t, gate.RequestPending, r.state(tk.ID()))

		require.Equal(t, "pending", r.status(tk.ID(), 0).Status) // it reconnects
		require.False(t, gone())
		require.Equal(t, gate.CallerBack, u.of(tk.ID())[1].Kind)
		require.Len(t, u.of(tk.ID()), 2)

		// One that cancels withdraws, and the card goes.
		out := r.call("cancel_call", `{"call_id":"`+tk.ID()+`"}`)
		require.Equal(t, gate.StatusOK, out.Status)
		<-tk.Done()
		require.Equal(t, gate.RequestWithdrawn, r.state(tk.ID()))
		leave(t, tk, "late") // is nothing any more
		require.Len(t, u.of(tk.ID()), 2)
	})
}

// Who has gone before the question is asked is told of with it, and again with what an
// approver has made of it.
func TestG49_ACallerThatWentBeforeItWasAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &told{Unanswered: gatetest.Nobody(t)}
		r, _ := sliding(t, &wordsThen{steps: []gate.Word{{Decision: gate.Rejected, By: "ann"}}, then: u})
		defer r.close()
		first := r.Submit(in("t", `{"to":1}`))
		<-first.Done()
		first = r.Submit(in("t", `{"to":2}`))
		<-u.Asked
		i := in("s", `{"to":1,"speed":1}`)
		i.Tool = "slide"
		tk := r.Submit(i)
		synctest.Wait()
		leave(t, tk, "gone")
		require.Empty(t, u.of(tk.ID()), "it isn't asked yet")
		first.Cancel("")
		shown := <-u.Asked
		require.Equal(t, tk.ID(), shown.CallID)
		require.Equal(t, []gate.Notice{{Kind: gate.CallerGone, Text: "gone"}}, shown.Notices)
		rec, err := r.requests.Get(t.Context(), tk.ID())
		require.NoError(t, err)
		require.Empty(t, rec.Request.Notices, "it isn't stored")
		require.Equal(t, rec.Request.Digest, shown.Digest)
	})
}

// Who leaves doesn't end what runs.
func TestG49_ACallerThatGoesLeavesWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, gatetest.Script(t, gatetest.Approve()))
		defer r.close()
		moving := make(chan struct{})
		r.arm.change(func(a *arm) {
			a.run = func(context.Context) (gate.Result, error) {
				close(moving)
				time.Sleep(time.Second)
				return gate.Result{Text: "Moved."}, nil
			}
		})
		tk := r.Submit(in("s", `{"to":1}`))
		<-moving
		leave(t, tk, "gone")
		<-tk.Done()
		require.Equal(t, gate.StatusOK, tk.Answer().Status)
	})
}

// An approver that fails when it is told changes nothing.
func TestG49_AnApproverThatCantBeTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := &deafened{gatetest.Nobody(t)}
		r := newRig(t, u)
		defer r.close()
		tk := r.Submit(in("s", `{"to":1}`))
		<-u.Asked
		leave(t, tk, "gone")
		require.Equal(t, gate.StatusPending, tk.Answer().Status)
	})
}

type deafened struct{ *gatetest.Unanswered }

func (*deafened) Notice(string, gate.Notice) { panic("x") }
