package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

func (x *suite) secrets() {
	first, err := x.s.Open(ctx(x), x.request("a"), []byte("snap"))
	require.NoError(x, err)
	require.NotZero(x, first)
	now := x.clock.Now()
	rec, second, err := x.s.Read(ctx(x), "a", now)
	require.NoError(x, err)
	require.Equal(x, x.request("a"), rec.Request)
	require.Equal(x, "snap", string(rec.Snapshot))
	require.NotEqual(x, first, second)
	c := gate.Claim{ID: "a", Digest: rec.Request.Digest, Worker: "w", Decider: "d", Now: now}
	for _, s := range []gate.Secret{{}, first} {
		c.Secret = s
		_, err = x.s.Claim(ctx(x), c)
		code(x, err, gate.CodeNotApproved)
	}
	require.Equal(x, gate.RequestPending, x.state("a"))
	// The same request once more: the one who opened it anew has the secret.
	third, err := x.s.Open(ctx(x), x.request("a"), []byte("snap"))
	require.NoError(x, err)
	c.Secret = second
	_, err = x.s.Claim(ctx(x), c)
	code(x, err, gate.CodeNotApproved)
	c.Secret = third
	_, err = x.s.Claim(ctx(x), c)
	require.NoError(x, err)
	_, none, err := x.s.Read(ctx(x), "a", now)
	require.NoError(x, err)
	require.Zero(x, none, "there is nothing to claim")
	_, _, err = x.s.Read(ctx(x), "nobody", now)
	code(x, err, gate.CodeInvalidArgument)
	rec, none, err = x.s.Read(ctx(x), "a", x.clock.Advance(ttl))
	require.NoError(x, err)
	require.Zero(x, none)
	require.Equal(x, gate.RequestExpired, rec.State)
}

func (x *suite) bulk() {
	req := x.request("a")
	req.Card.Data = append(append([]byte{'"'}, bytes.Repeat([]byte{'x'}, 2<<20)...), '"')
	require.NoError(x, x.put(req, []byte("snap")))
	got, err := x.s.Get(ctx(x), "a")
	require.NoError(x, err)
	require.Nil(x, got.Request.Card.Data, "left out whole")
	req.Card.Data = nil
	require.Equal(x, req, got.Request)

	code(x, x.put(x.request("b"), make([]byte, 20<<20)), gate.CodeInvalidArgument)
	x.reach("c", gate.RequestStarted)
	require.NoError(x, x.s.Finish(ctx(x), "c", gate.Ending{State: gate.RequestDone, Answer: make([]byte, 2<<20)}))
	got, err = x.s.Get(ctx(x), "c")
	require.NoError(x, err)
	require.Equal(x, gate.RequestDone, got.State)
	require.Empty(x, got.Answer)
	// Empty isn't missing, and any bytes are kept as they are.
	odd := x.request("d")
	odd.Effect, odd.Args = "a\x00b\u2028\u202e'\"\\", []byte("{\"a\":\"\u00e9\"}")
	require.NoError(x, x.put(odd, []byte{}))
	got, err = x.s.Get(ctx(x), "d")
	require.NoError(x, err)
	require.Equal(x, odd, got.Request)
	require.Empty(x, got.Snapshot)
}

func (x *suite) decided() {
	x.open("a")
	now := x.clock.Now()
	c, err := x.read("a", "w", "d", now)
	require.NoError(x, err)
	other := c
	other.Digest[5]++
	_, err = x.s.Claim(ctx(x), other)
	code(x, err, gate.CodeNotApproved)
	other = c
	other.Claims = 1
	_, err = x.s.Claim(ctx(x), other)
	code(x, err, gate.CodeInProgress)
	other = c
	other.Decider = ""
	_, err = x.s.Claim(ctx(x), other)
	code(x, err, gate.CodeInvalidArgument)
	require.Equal(x, gate.RequestPending, x.state("a"))
	l, err := x.s.Claim(ctx(x), c)
	require.NoError(x, err)
	require.Equal(x, gate.Lease{ID: "a", Worker: "w", Claims: 1, Until: now.Add(x.s.Lease)}, l)
}

// clickers: a hundred people decide one request at the same moment, some yes and
// some no. One of them is heard.
func (x *suite) clickers() {
	x.open("a")
	now := x.clock.Now()
	c, err := x.read("a", "", "", now)
	require.NoError(x, err)
	var yes, no, started atomic.Int32
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range 100 {
		wg.Go(func() {
			c := c
			c.Worker, c.Decider = fmt.Sprint("w", i), fmt.Sprint("d", i)
			<-begin
			if i%2 == 1 {
				if x.s.Finish(ctx(x), "a", gate.Ending{State: gate.RequestRejected}) == nil {
					no.Add(1)
				}
				return
			}
			l, err := x.s.Claim(ctx(x), c)
			if err != nil {
				return
			}
			yes.Add(1)
			for range 2 {
				if x.s.Start(ctx(x), l, now) == nil {
					started.Add(1)
				}
			}
		})
	}
	close(begin)
	wg.Wait()
	require.EqualValues(x, 1, yes.Load()+no.Load(), "one is heard")
	require.Equal(x, yes.Load(), started.Load(), "one yes, one start")
	if no.Load() == 1 {
		require.Equal(x, gate.RequestRejected, x.state("a"))
	} else {
		require.Equal(x, gate.RequestStarted, x.state("a"))
	}
}

// leaseRace: claims go round by round as leases run out, and everybody who ever
// held one tries to start at once.
func (x *suite) leaseRace() {
	x.open("a")
	var leases []gate.Lease
	for i := range x.s.MaxClaims {
		c, err := x.read("a", fmt.Sprint("w", i), "d", x.clock.Now())
		require.NoError(x, err)
		l, err := x.s.Claim(ctx(x), c)
		require.NoError(x, err)
		leases = append(leases, l)
		if i < x.s.MaxClaims-1 {
			x.clock.Advance(x.s.Lease)
		}
	}
	var started atomic.Int32
	var who atomic.Value
	var wg sync.WaitGroup
	now := x.clock.Now()
	for range 10 {
		for _, l := range leases {
			wg.Go(func() {
				if x.s.Start(ctx(x), l, now) == nil {
					started.Add(1)
					who.Store(l.Worker)
				}
			})
		}
	}
	wg.Wait()
	require.EqualValues(x, 1, started.Load())
	require.Equal(x, leases[len(leases)-1].Worker, who.Load(), "the one who holds it")
}

func (x *suite) renew() {
	x.open("a")
	now := x.clock.Now()
	c, err := x.read("a", "w", "d", now)
	require.NoError(x, err)
	l, err := x.s.Claim(ctx(x), c)
	require.NoError(x, err)
	claimed := now
	for {
		now = x.clock.Advance(x.s.Lease - 1)
		if !now.Before(claimed.Add(x.s.HardStop)) {
			break
		}
		thief := l
		thief.Worker = "thief"
		_, err = x.s.Renew(ctx(x), thief, now)
		code(x, err, gate.CodeInProgress)
		l, err = x.s.Renew(ctx(x), l, now)
		require.NoError(x, err, now.Sub(claimed))
		want := now.Add(x.s.Lease)
		if hard := claimed.Add(x.s.HardStop); hard.Before(want) {
			want = hard
		}
		require.True(x, want.Equal(l.Until), "%v %v", want, l.Until)
		_, err = x.claim("a", "w2", "d", now)
		code(x, err, gate.CodeInProgress)
		if want.Sub(now) < x.s.Lease {
			break
		}
	}
	// Nobody prolongs it beyond its hard stop; then it's over.
	now = x.clock.Advance(l.Until.Sub(now))
	_, err = x.s.Renew(ctx(x), l, now)
	code(x, err, gate.CodeRequestExpired)
	code(x, x.s.Start(ctx(x), l, now), gate.CodeRequestExpired)
	n, err := x.claim("a", "w2", "d", now)
	require.NoError(x, err)
	require.Equal(x, 2, n)
	_, err = x.s.Renew(ctx(x), l, now)
	code(x, err, gate.CodeInProgress)
	require.NoError(x, x.start("a", "w2", 2, now))
	_, err = x.s.Renew(ctx(x), gate.Lease{ID: "a", Worker: "w2", Claims: 2}, now)
	code(x, err, gate.CodeInProgress)
}

// jumps: whichever clock says that it is over, it is, and stays so.
func (x *suite) jumps() {
	// Forward, and back again.
	x.open("a")
	x.reach("b", gate.RequestClaimed)
	now := x.clock.Jump(ttl)
	_, err := x.claim("a", "w", "d", now)
	code(x, err, gate.CodeRequestExpired)
	code(x, x.start("b", "w", 1, now), gate.CodeRequestExpired)
	now = x.clock.Jump(-ttl)
	_, err = x.claim("a", "w", "d", now)
	code(x, err, gate.CodeRequestExpired)
	code(x, x.start("b", "w", 1, now), gate.CodeRequestExpired)

	// Back: time passes all the same, and an approval lives no longer for it.
	x.open("c")
	x.reach("d", gate.RequestClaimed)
	x.clock.Jump(-24 * time.Hour)
	require.Equal(x, gate.RequestPending, x.state("c"), "the clock that can't be set says that no time has passed")
	now = x.clock.Advance(x.s.Lease)
	code(x, x.start("d", "w", 1, now), gate.CodeRequestExpired)
	n, err := x.claim("d", "w2", "d", now)
	require.NoError(x, err, "its lease has run out")
	require.Equal(x, 2, n)
	now = x.clock.Advance(ttl - x.s.Lease)
	code(x, x.start("d", "w2", 2, now), gate.CodeRequestExpired)
	_, err = x.claim("c", "w", "d", now)
	code(x, err, gate.CodeRequestExpired)
	require.Equal(x, gate.RequestExpired, x.state("c"))
	list, err := x.s.Pending(ctx(x), now)
	require.NoError(x, err)
	require.Empty(x, list)

	// The same for somebody who has read it before, and only clicks now.
	x.open("f")
	x.open("g")
	late, err := x.read("f", "w", "d", x.clock.Now())
	require.NoError(x, err)
	last, err := x.read("g", "w", "d", x.clock.Now())
	require.NoError(x, err)
	x.clock.Jump(-24 * time.Hour)
	last.Now = x.clock.Advance(ttl - 1)
	l, err := x.s.Claim(ctx(x), last)
	require.NoError(x, err)
	late.Now = x.clock.Advance(1)
	_, err = x.s.Claim(ctx(x), late)
	code(x, err, gate.CodeRequestExpired)
	code(x, x.s.Start(ctx(x), l, late.Now), gate.CodeRequestExpired)

	// A list is a read too, and what it doesn't show any more has ended.
	x.open("e")
	list, err = x.s.Pending(ctx(x), x.clock.Jump(ttl))
	require.NoError(x, err)
	require.Empty(x, list)
	x.clock.Jump(-ttl)
	require.Equal(x, gate.RequestExpired, x.state("e"))
}

func (x *suite) recovered() {
	for _, s := range allStates {
		x.reach(string(s), s)
	}
	x.open("mine")
	c, err := x.read("mine", "me", "d", x.clock.Now())
	require.NoError(x, err)
	l, err := x.s.Claim(ctx(x), c)
	require.NoError(x, err)
	before := map[gate.RequestState]gate.Record{}
	for _, s := range allStates {
		before[s], err = x.s.Get(ctx(x), string(s))
		require.NoError(x, err)
	}
	got, err := x.s.Recover(ctx(x), "me", x.clock.Now())
	require.NoError(x, err)
	require.Len(x, got.Unknown, 1)
	require.Equal(x, "started", got.Unknown[0].Request.CallID)
	require.Equal(x, gate.RequestUnknown, got.Unknown[0].State)
	require.Equal(x, "terminal", got.Unknown[0].Decider)
	require.Len(x, got.Reopened, 1)
	require.Equal(x, "claimed", got.Reopened[0].Request.CallID)
	require.Equal(x, "terminal", got.Reopened[0].Decider, "who had decided")
	for _, s := range allStates {
		after, err := x.s.Get(ctx(x), string(s))
		require.NoError(x, err)
		want := before[s]
		switch s {
		case gate.RequestStarted:
			want.State = gate.RequestUnknown
		case gate.RequestClaimed:
			want.State, want.Decision, want.Decider = gate.RequestPending, 0, ""
		}
		require.Equal(x, want, after)
	}
	require.NoError(x, x.s.Start(ctx(x), l, x.clock.Now()), "its own claim stays its own")
	// The claim that was is over, and what it read opens nothing any more.
	now := x.clock.Now()
	code(x, x.start("claimed", "w", 1, now), gate.CodeNotApproved)
	_, err = x.claim("started", "w", "d", now)
	code(x, err, gate.CodeUnknownOutcome)
	code(x, x.start("started", "w", 1, now), gate.CodeUnknownOutcome)
	n, err := x.claim("claimed", "w2", "d", now)
	require.NoError(x, err)
	require.Equal(x, 2, n, "the count goes on")
	code(x, x.start("claimed", "w", 1, now), gate.CodeInProgress)
	again, err := x.s.Recover(ctx(x), "me", now)
	require.NoError(x, err)
	require.Empty(x, again.Unknown)
	require.Len(x, again.Reopened, 1)
}

func (x *suite) replace() {
	x.open("a")
	now := x.clock.Now()
	c, err := x.read("a", "w", "d", now)
	require.NoError(x, err)
	l := gate.Lease{ID: "a", Worker: "w", Claims: 1}
	next := x.request("b")
	next.Digest = [32]byte{7}
	_, err = x.s.Replace(ctx(x), l, next, []byte("new"), now)
	code(x, err, gate.CodeNotApproved)
	l, err = x.s.Claim(ctx(x), c)
	require.NoError(x, err)
	x.open("taken")
	_, err = x.s.Replace(ctx(x), l, x.request("taken"), []byte("new"), now)
	code(x, err, gate.CodeInvalidArgument)
	thief := l
	thief.Worker = "thief"
	_, err = x.s.Replace(ctx(x), thief, next, []byte("new"), now)
	code(x, err, gate.CodeInProgress)
	late := next
	late.Expiry = now
	_, err = x.s.Replace(ctx(x), l, late, []byte("new"), now)
	code(x, err, gate.CodeRequestExpired)
	require.Equal(x, gate.RequestClaimed, x.state("a"), "both or neither")

	secret, err := x.s.Replace(ctx(x), l, next, []byte("new"), now)
	require.NoError(x, err)
	old, err := x.s.Get(ctx(x), "a")
	require.NoError(x, err)
	require.Equal(x, gate.RequestWithdrawn, old.State)
	require.Contains(x, string(old.Answer), `"replaced by the request b"`)
	require.Contains(x, string(old.Answer), `"replaced_by":"b"`)
	require.Zero(x, old.Decision, "an edit approves nothing")
	require.Equal(x, "d", old.Decider, "who asked for something else")
	code(x, x.s.Start(ctx(x), l, now), gate.CodeCancelled)
	b, err := x.s.Get(ctx(x), "b")
	require.NoError(x, err)
	require.Equal(x, gate.RequestPending, b.State)
	require.Zero(x, b.Claims)
	require.Equal(x, next, b.Request)
	c = gate.Claim{ID: "b", Digest: next.Digest, Secret: c.Secret, Worker: "w", Decider: "d", Now: now}
	_, err = x.s.Claim(ctx(x), c)
	code(x, err, gate.CodeNotApproved)
	c.Secret = secret
	l, err = x.s.Claim(ctx(x), c)
	require.NoError(x, err)
	require.NoError(x, x.s.Start(ctx(x), l, now))
	_, err = x.s.Replace(ctx(x), l, x.request("c"), []byte("new"), now)
	code(x, err, gate.CodeInProgress)
}

// endedContext: who has given up changes nothing, and is told so.
func (x *suite) endedContext() {
	if x.s.Reopen == nil {
		return // a store that never waits needs no context
	}
	x.reach("a", gate.RequestClaimed)
	gone, cancel := context.WithCancelCause(ctx(x))
	why := errors.New("gave up")
	cancel(why)
	err := x.s.Start(gone, gate.Lease{ID: "a", Worker: "w", Claims: 1}, x.clock.Now())
	code(x, err, gate.CodeCancelled)
	require.ErrorIs(x, err, why)
	require.Equal(x, gate.RequestClaimed, x.state("a"))
	_, err = x.s.Open(gone, x.request("b"), []byte("s"))
	code(x, err, gate.CodeCancelled)
	_, err = x.s.Get(ctx(x), "b")
	code(x, err, gate.CodeInvalidArgument)
}
