// Package storetest holds every gate.Requests to the same behaviour. Tests import
// it, nothing else does.
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
	Lease     time.Duration
	MaxClaims int
	Retention time.Duration
}

// Clock is the time that a store under test is given; it moves only by Advance.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
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
		{"Case52_OneYesOneRequest", (*suite).oneYesOneRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			clock := &Clock{now: time.Date(2031, 5, 4, 3, 2, 1, 0, time.UTC)}
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
		Effect: "Moves the arm.", Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"},
		Principal: "p", Origin: "test", Digest: [32]byte{1, 2, 3},
		Card:  gate.Card{Facts: []gate.Fact{{Label: "Duration", Text: "2 s"}}, Assumed: []string{"jerk"}, Data: []byte(`{"a":1}`)},
		Asked: now, Expiry: now.Add(ttl),
	}
}

func (x *suite) open(id string) {
	x.Helper()
	require.NoError(x, x.s.Open(ctx(x), x.request(id), []byte("snap")))
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
		require.NoError(x, x.s.Finish(ctx(x), id, to, []byte(`{}`)))
		return
	}
	n, err := x.s.Claim(ctx(x), id, "w", "terminal", x.clock.Now())
	require.NoError(x, err)
	require.Equal(x, 1, n)
	if to == gate.RequestClaimed {
		return
	}
	require.NoError(x, x.s.Start(ctx(x), id, "w", 1, x.clock.Now()))
	if to == gate.RequestStarted {
		return
	}
	require.NoError(x, x.s.Finish(ctx(x), id, to, []byte(`{"status":"ok"}`)))
}

func ctx(t testing.TB) context.Context { return t.Context() }

func code(t testing.TB, err error, want gate.Code) {
	t.Helper()
	require.ErrorIs(t, err, gate.ErrCode(want), fmt.Sprint(err))
}
