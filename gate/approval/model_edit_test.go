package approval_test

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
)

// Edit puts another request in the place of a claimed one, as the approver's wish for
// less does (G46); somebody who doesn't hold the claim tries, too.
func (w *world) Edit(t *rapid.T) {
	k := w.some()
	if k.lease.ID == "" {
		t.Skip("never claimed")
	}
	now := w.clock.Now()
	thief := k.lease
	if rapid.Bool().Draw(t, "of another worker") {
		thief.Worker = "somebody else"
	} else {
		thief.Claims--
	}
	next := w.request()
	_, err := w.store.Replace(bg, thief, next, []byte("stolen"), now)
	require.Error(t, err, "who doesn't hold the claim replaced it")
	// Of those that no store may have forgotten by now.
	known := slices.DeleteFunc(slices.Clone(w.ids), func(id string) bool {
		return !w.alive(w.reqs[id]) || !now.Before(w.reqs[id].req.Expiry)
	})
	if len(known) > 0 && rapid.IntRange(0, 3).Draw(t, "by an id that is taken") == 0 {
		taken := next
		taken.CallID = rapid.SampledFrom(known).Draw(t, "taken")
		_, err := w.store.Replace(bg, k.lease, taken, []byte("taken"), now)
		require.Error(t, err)
	}
	secret, err := w.store.Replace(bg, k.lease, next, []byte("edited"), now)
	if err != nil {
		return
	}
	require.Equal(t, gate.RequestClaimed, k.state)
	require.True(t, k.approved)
	require.Equal(t, w.worker(), k.lease.Worker)
	w.mayRun(k)
	require.Less(t, w.watch-k.claimed, modelLease, "its lease had run out")
	k.state, k.revoked, k.approved, k.ended = gate.RequestWithdrawn, true, false, now
	w.add(next)
	w.reqs[next.CallID].reading = gate.Claim{ID: next.CallID, Digest: next.Digest, Secret: secret, Decider: "d"}
	old, err := w.store.Get(bg, k.req.CallID)
	require.NoError(t, err)
	require.Equal(t, gate.RequestWithdrawn, old.State)
	require.Zero(t, old.Decision, "an edit approves nothing")
	require.Contains(t, string(old.Answer), next.CallID)
	k.answer = string(old.Answer)
	rec, err := w.store.Get(bg, next.CallID)
	require.NoError(t, err)
	require.Equal(t, gate.RequestPending, rec.State)
	require.Zero(t, rec.Claims, "its count begins anew")
}

// Refuse is a no from outside, to a request that nobody may be asking.
func (w *world) Refuse(t *rapid.T) {
	k := w.some()
	err := w.store.Finish(bg, k.req.CallID, gate.Ending{State: gate.RequestRejected, Answer: []byte(`{"no":1}`), Decider: "ann"})
	if err != nil {
		if rec, gerr := w.store.Get(bg, k.req.CallID); gerr == nil {
			require.NotEqual(t, gate.RequestPending, rec.State, "a no to what waits was refused: %v", err)
		}
		return
	}
	require.Contains(t, []gate.RequestState{gate.RequestPending}, k.state)
	k.state, k.revoked, k.approved, k.ended, k.answer = gate.RequestRejected, true, false, w.clock.Now(), `{"no":1}`
	rec, err := w.store.Get(bg, k.req.CallID)
	require.NoError(t, err)
	require.Equal(t, "ann", rec.Decider)
	require.Equal(t, gate.Rejected, rec.Decision)
}

// Exempt is a call that runs without a request: its session has gone on.
func (w *world) Exempt(t *rapid.T) {
	session := rapid.SampledFrom([]string{"s", "t"}).Draw(t, "session")
	require.NoError(t, w.store.Moved(bg, session))
	w.overtake(session, w.n+1, false)
}

// overtake records that a session has gone on: what is open of it and was opened before
// number n; perhaps only, where nobody was told.
func (w *world) overtake(session string, n int, perhaps bool) {
	for _, k := range w.reqs {
		open := k.state == gate.RequestPending || k.state == gate.RequestClaimed
		if open && k.n < n && k.req.Session.Name == session {
			if perhaps {
				k.goneMaybe = true
			} else {
				k.gone = true
			}
		}
	}
}

// goneOn holds a record against that.
func (w *world) goneOn(k *known, rec gate.Record) {
	if open := rec.State == gate.RequestPending || rec.State == gate.RequestClaimed; !open {
		return
	}
	if k.goneMaybe && !k.gone {
		k.gone, k.goneMaybe = rec.GoneOn, false
	}
	require.Equal(w.t, k.gone, rec.GoneOn, "%s: whether its session has gone on", k.req.CallID)
}

// request is a new one, of one of two sessions.
func (w *world) request() gate.Request {
	w.n++
	now := w.clock.Now()
	return gate.Request{
		CallID: fmt.Sprintf("%032x", w.n), Tool: "move", Tier: gate.TierPhysical, Args: []byte(`{"to":1}`), Effect: "Moves.",
		Session: gate.Session{Name: []string{"s", "t"}[w.n%2], Mode: gate.ModeSim, Backend: "sim"}, Principal: "p", Origin: "model",
		Digest: [32]byte{1, byte(w.n), byte(w.n >> 8)}, Asked: now, Expiry: now.Add(modelTTL),
	}
}

func (w *world) add(req gate.Request) {
	w.reqs[req.CallID] = &known{req: req, n: w.n, asked: w.watch, state: gate.RequestPending}
	w.ids = append(w.ids, req.CallID)
}

// Renew prolongs a claim.
func (w *world) Renew(t *rapid.T) {
	k := w.some()
	if k.lease.ID == "" {
		t.Skip("never claimed")
	}
	l, err := w.store.Renew(bg, k.lease, w.clock.Now())
	if err != nil {
		return
	}
	require.Equal(t, gate.RequestClaimed, k.state)
	require.True(t, k.approved)
	w.mayRun(k)
	k.lease, k.claimed = l, w.watch
}
