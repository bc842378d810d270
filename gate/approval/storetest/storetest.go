// Package storetest holds every store of requests, grants and routines to the same
// behaviour. Tests import it, nothing else does.
package storetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// Store is a store under test.
type Store struct {
	gate.Requests
	gate.Grants
	gate.Routines
	Lease     time.Duration
	HardStop  time.Duration
	MaxClaims int
	Retention time.Duration
	// Reopen ends the store and opens it again on what it has kept, as another
	// process would; nil: it keeps nothing.
	Reopen func() Store
}

// Clock is the time that a store under test is given: a wall clock, and one that
// counts from the machine's start. It moves only by the methods below.
type Clock struct {
	mu     sync.Mutex
	now    time.Time
	boot   time.Duration
	starts int
}

// NewClock returns a clock that stands at a fixed time.
func NewClock() *Clock {
	return &Clock{now: time.Date(2031, 5, 4, 3, 2, 1, 0, time.UTC), boot: time.Hour}
}

// Boot returns the time since the machine started.
func (c *Clock) Boot() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.boot
}

// BootID names the start of the machine.
func (c *Clock) BootID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint("start ", c.starts)
}

// Jump sets the wall clock and nothing else.
func (c *Clock) Jump(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// Reboot starts the machine anew; stores have to be opened again.
func (c *Clock) Reboot() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.starts++
	c.boot = 0
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance lets time pass.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.boot = c.now.Add(d), c.boot+d
	return c.now
}

const ttl = 10 * time.Minute

// Run tests the stores that open makes, each of them empty and reading the clock
// that it is given.
func Run(t *testing.T, open func(t *testing.T, clock *Clock) Store) {
	for _, c := range []struct {
		name string
		test func(*suite)
	}{
		{"G41_OpenAndRead", (*suite).openAndRead},
		{"Case62_SameIDOtherArguments", (*suite).otherArguments},
		{"G41_Transitions", (*suite).transitions},
		{"Case64_OneClaimWins", (*suite).oneClaimWins},
		{"Case65_NothingAfterExpiry", (*suite).nothingAfterExpiry},
		{"G42_LeaseAndClaimCap", (*suite).leaseAndCap},
		{"G44_StartIsConditional", (*suite).startIsConditional},
		{"G45_DoneKeepsTheAnswer", (*suite).doneKeepsTheAnswer},
		{"Case66_UsedRecordsOutliveTheirExpiry", (*suite).retention},
		{"Case66_AReplayFindsThatItHasEnded", (*suite).replayed},
		{"Case52_OneYesOneRequest", (*suite).oneYesOneRequest},
		{"G41_AReadMakesAFreshSecret", (*suite).secrets},
		{"G41_BulkIsLeftOutWhole", (*suite).bulk},
		{"G42_WhatWasDecidedIsWhatItIs", (*suite).decided},
		{"Case64_AHundredClickers", (*suite).clickers},
		{"G42_ClaimsRaceAcrossLeases", (*suite).leaseRace},
		{"G43_Renew", (*suite).renew},
		{"G44_ClocksThatJump", (*suite).jumps},
		{"G44_WhatAnotherWorkerLeft", (*suite).recovered},
		{"G46_Replace", (*suite).replace},
		{"G41_AContextThatHasEnded", (*suite).endedContext},
		{"G41_EveryStateOutlivesARestart", (*suite).restart},
		{"G44_StartedIsUnknownAfterARestart", (*suite).restartStarted},
		{"G44_AfterTheMachinesStart", (*suite).reboot},
		{"G47_AConversationThatGoesOn", (*suite).goneOn},
		{"G41_ANoIsStoredWithWhoSaidIt", (*suite).rejectedBy},
		{"G48_Grants", (*suite).grants},
		{"G48_AllOfACardOrNone", (*suite).allOrNone},
		{"G48_ACardsNoTakesItsOwn", (*suite).cards},
		{"G48_GrantsEndByEitherClock", (*suite).grantClocks},
		{"G48_OneRevocationWins", (*suite).grantRace},
		{"G48_GrantsOutliveARestart", (*suite).grantRestart},
		{"G14_Routines", (*suite).routines},
		{"G14_EachFiringIsCountedOnce", (*suite).firings},
		{"G14_RoutinesEndByEitherClock", (*suite).routineClocks},
		{"G48_ACallerThatHasGoneChangesNothing", (*suite).permitContext},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := NewClock()
			c.test(&suite{T: t, clock: clock, s: open(t, clock)})
		})
	}
}

type suite struct {
	*testing.T
	clock *Clock
	s     Store
}

func (x *suite) request(id string) gate.Request {
	now := x.clock.Now()
	return gate.Request{
		CallID: id, Tool: "move_joints", Tier: gate.TierPhysical, Args: []byte(`{"positions":{"a":1}}`),
		Effect: "Moves the arm.", Session: gate.Session{Name: "s", Mode: gate.ModeReal, Backend: "arm", OptIn: "who to what"},
		Principal: "p", Origin: "test", Digest: [32]byte{1, 2, 3},
		Card:  gate.Card{Facts: []gate.Fact{{Label: "Duration", Text: "2 s"}}, Assumed: []string{"jerk"}, Data: []byte(`{"a":1}`)},
		Asked: now, Expiry: now.Add(ttl),
	}
}

func (x *suite) open(id string) {
	x.Helper()
	require.NoError(x, x.put(x.request(id), []byte("snap")))
}

func (x *suite) put(req gate.Request, snapshot []byte) error {
	_, err := x.s.Open(ctx(x), req, snapshot)
	return err
}

// read returns a claim of what the request is now.
func (x *suite) read(id, worker, decider string, now time.Time) (gate.Claim, error) {
	r, secret, err := x.s.Read(ctx(x), id, now)
	return gate.Claim{ID: id, Digest: r.Request.Digest, Secret: secret, Claims: r.Claims, Worker: worker, Decider: decider, Now: now}, err
}

// claim reads and claims.
func (x *suite) claim(id, worker, decider string, now time.Time) (int, error) {
	c, err := x.read(id, worker, decider, now)
	if err != nil {
		return 0, err
	}
	l, err := x.s.Claim(ctx(x), c)
	return l.Claims, err
}

func (x *suite) start(id, worker string, claims int, now time.Time) error {
	return x.s.Start(ctx(x), gate.Lease{ID: id, Worker: worker, Claims: claims}, now)
}

func (x *suite) state(id string) gate.RequestState {
	x.Helper()
	r, err := x.s.Get(ctx(x), id)
	require.NoError(x, err)
	return r.State
}

// reach brings a new request to a state.
func (x *suite) reach(id string, to gate.RequestState) {
	x.Helper()
	x.open(id)
	switch to {
	case gate.RequestPending:
		return
	case gate.RequestRejected, gate.RequestWithdrawn, gate.RequestExpired, gate.RequestStopped:
		require.NoError(x, x.s.Finish(ctx(x), id, gate.Ending{State: to, Answer: []byte(`{}`)}))
		return
	}
	n, err := x.claim(id, "w", "terminal", x.clock.Now())
	require.NoError(x, err)
	require.Equal(x, 1, n)
	if to == gate.RequestClaimed {
		return
	}
	require.NoError(x, x.start(id, "w", 1, x.clock.Now()))
	if to == gate.RequestStarted {
		return
	}
	require.NoError(x, x.s.Finish(ctx(x), id, gate.Ending{State: to, Answer: []byte(`{"status":"ok"}`)}))
}

func ctx(t testing.TB) context.Context { return t.Context() }

func code(t testing.TB, err error, want gate.Code) {
	t.Helper()
	require.ErrorIs(t, err, gate.ErrCode(want), fmt.Sprint(err))
}
