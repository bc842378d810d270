package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

func (x *suite) openAndRead() {
	req := x.request("a")
	snap := []byte("snap")
	require.NoError(x, x.put(req, snap))
	want := x.request("a")
	// The store keeps copies and hands out copies.
	req.Args[2], req.Card.Facts[0].Text, req.Card.Data[2], snap[0] = 'X', "X", 'X', 'X'
	got, err := x.s.Get(ctx(x), "a")
	require.NoError(x, err)
	require.Equal(x, gate.RequestPending, got.State)
	require.Equal(x, want, got.Request)
	require.Equal(x, "snap", string(got.Snapshot))
	require.Zero(x, got.Decision)
	got.Request.Args[2], got.Request.Card.Assumed[0], got.Snapshot[0] = 'X', "X", 'X'
	again, err := x.s.Get(ctx(x), "a")
	require.NoError(x, err)
	require.Equal(x, want, again.Request)

	x.open("b")
	list, err := x.s.Pending(ctx(x), x.clock.Now())
	require.NoError(x, err)
	require.Len(x, list, 2)
	light := want
	light.Card.Data = nil
	require.Equal(x, light, list[0].Request)
	require.Nil(x, list[0].Snapshot, "a list is without its bulk")
	require.Equal(x, "b", list[1].Request.CallID)

	_, err = x.s.Get(ctx(x), "nobody")
	code(x, err, gate.CodeInvalidArgument)
	code(x, x.s.Finish(ctx(x), "nobody", gate.Ending{State: gate.RequestRejected}), gate.CodeInvalidArgument)
	_, err = x.claim("nobody", "w", "d", x.clock.Now())
	code(x, err, gate.CodeInvalidArgument)

	// What can't be shown or told apart isn't stored (G40).
	code(x, x.put(x.request("c"), nil), gate.CodeInvalidArgument)
	bad := x.request("c")
	bad.Digest = [32]byte{}
	code(x, x.put(bad, []byte("s")), gate.CodeInvalidArgument)
	bad = x.request("")
	code(x, x.put(bad, []byte("s")), gate.CodeInvalidArgument)
	bad = x.request("c")
	bad.Expiry = x.clock.Now()
	code(x, x.put(bad, []byte("s")), gate.CodeRequestExpired)
}

func (x *suite) otherArguments() {
	x.open("a")
	require.NoError(x, x.put(x.request("a"), []byte("snap")), "the same again changes nothing")
	other := x.request("a")
	other.Args, other.Digest = []byte(`{"positions":{"a":2}}`), [32]byte{9}
	code(x, x.put(other, []byte("snap")), gate.CodeInvalidArgument)
	got, err := x.s.Get(ctx(x), "a")
	require.NoError(x, err)
	require.Equal(x, [32]byte{1, 2, 3}, got.Request.Digest)
	require.Equal(x, `{"positions":{"a":1}}`, string(got.Request.Args))
}

// transitions tries each method in each state.
func (x *suite) transitions() {
	type S = gate.RequestState
	all := allStates
	ends := map[S][]S{
		gate.RequestPending: {gate.RequestRejected, gate.RequestWithdrawn, gate.RequestExpired, gate.RequestStopped},
		gate.RequestClaimed: {gate.RequestWithdrawn, gate.RequestExpired, gate.RequestStopped},
		gate.RequestStarted: {gate.RequestDone, gate.RequestUnknown},
	}
	said := map[S]gate.Code{
		gate.RequestClaimed: gate.CodeInProgress, gate.RequestStarted: gate.CodeInProgress,
		gate.RequestDone: gate.CodePlanUsed, gate.RequestRejected: gate.CodeNotApproved,
		gate.RequestWithdrawn: gate.CodeCancelled, gate.RequestExpired: gate.CodeRequestExpired,
		gate.RequestStopped: gate.CodeStopped, gate.RequestUnknown: gate.CodeUnknownOutcome,
	}
	n := 0
	for _, from := range all {
		for _, to := range all {
			n++
			id := fmt.Sprint("f", n)
			x.reach(id, from)
			err := x.s.Finish(ctx(x), id, gate.Ending{State: to, Answer: []byte(`{"x":1}`)})
			if contains(ends[from], to) {
				require.NoError(x, err, "%s to %s", from, to)
				require.Equal(x, to, x.state(id))
				continue
			}
			require.Error(x, err, "%s to %s", from, to)
			require.Equal(x, from, x.state(id))
		}
		id := fmt.Sprint("c", n)
		x.reach(id, from)
		_, err := x.claim(id, "w2", "d", x.clock.Now())
		if from == gate.RequestPending {
			require.NoError(x, err)
		} else {
			code(x, err, said[from])
			require.Equal(x, from, x.state(id))
		}
		id = fmt.Sprint("s", n)
		x.reach(id, from)
		err = x.start(id, "w", 1, x.clock.Now())
		switch from {
		case gate.RequestClaimed:
			require.NoError(x, err)
			require.Equal(x, gate.RequestStarted, x.state(id))
		case gate.RequestPending:
			code(x, err, gate.CodeNotApproved)
		default:
			code(x, err, said[from])
			require.Equal(x, from, x.state(id))
		}
	}
}

func contains(list []gate.RequestState, s gate.RequestState) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}

func (x *suite) oneClaimWins() {
	x.open("a")
	now := x.clock.Now()
	c, err := x.read("a", "w", "terminal", now)
	require.NoError(x, err)
	var won, lost atomic.Int32
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			c := c
			c.Worker = fmt.Sprint("w", i)
			l, err := x.s.Claim(ctx(x), c)
			if err == nil {
				won.Add(1)
				if e := x.s.Start(ctx(x), l, now); e != nil {
					x.Errorf("the winner could not start: %v", e)
				}
				return
			}
			if gate.CodeOf(err) == gate.CodeInProgress {
				lost.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(x, 1, won.Load())
	require.EqualValues(x, 31, lost.Load())
	got, err := x.s.Get(ctx(x), "a")
	require.NoError(x, err)
	require.Equal(x, gate.Approved, got.Decision)
	require.Equal(x, "terminal", got.Decider)
	require.Equal(x, 1, got.Claims)
	_, err = x.claim("a", "", "d", now)
	code(x, err, gate.CodeInvalidArgument)
}

func (x *suite) nothingAfterExpiry() {
	x.open("open")
	x.reach("claimed", gate.RequestClaimed)
	x.reach("done", gate.RequestDone)
	now := x.clock.Advance(ttl)
	_, err := x.claim("open", "w", "d", now)
	code(x, err, gate.CodeRequestExpired)
	code(x, x.start("claimed", "w", 1, now), gate.CodeRequestExpired)
	require.Equal(x, gate.RequestExpired, x.state("open"), "expired, not unknown")
	require.Equal(x, gate.RequestExpired, x.state("claimed"))
	require.Equal(x, gate.RequestDone, x.state("done"))
	list, err := x.s.Pending(ctx(x), now)
	require.NoError(x, err)
	require.Empty(x, list)
	code(x, x.put(x.request("open"), []byte("s")), gate.CodeRequestExpired)
}

func (x *suite) leaseAndCap() {
	x.open("a")
	now := x.clock.Now()
	for i := range x.s.MaxClaims {
		n, err := x.claim("a", fmt.Sprint("w", i), "d", now)
		require.NoError(x, err)
		require.Equal(x, i+1, n)
		_, err = x.claim("a", "other", "d", now)
		code(x, err, gate.CodeInProgress)
		now = x.clock.Advance(x.s.Lease)
		// Its lease has run out: it may not start, whoever holds the claim now.
		code(x, x.start("a", fmt.Sprint("w", i), n, now), gate.CodeRequestExpired)
	}
	_, err := x.claim("a", "again", "d", now)
	code(x, err, gate.CodeRequestExpired)
	require.Equal(x, gate.RequestExpired, x.state("a"))
}

func (x *suite) startIsConditional() {
	x.reach("a", gate.RequestClaimed)
	now := x.clock.Now()
	code(x, x.start("a", "thief", 1, now), gate.CodeInProgress)
	code(x, x.start("a", "w", 2, now), gate.CodeInProgress)
	code(x, x.start("a", "w", 0, now), gate.CodeInProgress)
	// Somebody else has it once the lease ran out: the first claimer is too late.
	now = x.clock.Advance(x.s.Lease)
	n, err := x.claim("a", "w2", "d", now)
	require.NoError(x, err)
	require.Equal(x, 2, n)
	code(x, x.start("a", "w", 1, now), gate.CodeInProgress)
	require.NoError(x, x.start("a", "w2", 2, now))
	code(x, x.start("a", "w2", 2, now), gate.CodeInProgress)
	_, err = x.claim("a", "w3", "d", x.clock.Advance(x.s.Lease))
	code(x, err, gate.CodeInProgress)
}

func (x *suite) doneKeepsTheAnswer() {
	x.reach("a", gate.RequestDone)
	_, err := x.claim("a", "w", "d", x.clock.Now())
	code(x, err, gate.CodePlanUsed)
	code(x, x.start("a", "w", 1, x.clock.Now()), gate.CodePlanUsed)
	got, err := x.s.Get(ctx(x), "a")
	require.NoError(x, err)
	require.Equal(x, `{"status":"ok"}`, string(got.Answer))
	code(x, x.s.Finish(ctx(x), "a", gate.Ending{State: gate.RequestDone, Answer: []byte(`{"status":"error"}`)}), gate.CodePlanUsed)
	again, err := x.s.Get(ctx(x), "a")
	require.NoError(x, err)
	require.Equal(x, `{"status":"ok"}`, string(again.Answer))
}

func (x *suite) retention() {
	x.reach("a", gate.RequestDone)
	x.clock.Advance(max(ttl, x.s.Retention) - 1)
	x.open("other") // what might forget
	require.Equal(x, gate.RequestDone, x.state("a"))
	code(x, x.put(x.request("a"), []byte("s")), gate.CodePlanUsed)
	x.clock.Advance(1)
	x.open("another")
	_, err := x.s.Get(ctx(x), "a")
	code(x, err, gate.CodeInvalidArgument)
}

func (x *suite) oneYesOneRequest() {
	x.open("a")
	x.open("b") // the same call again
	now := x.clock.Now()
	n, err := x.claim("a", "w", "terminal", now)
	require.NoError(x, err)
	code(x, x.start("b", "w", n, now), gate.CodeNotApproved)
	require.NoError(x, x.start("a", "w", n, now))
	require.Equal(x, gate.RequestPending, x.state("b"))
}
