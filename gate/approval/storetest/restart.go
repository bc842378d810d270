package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

var allStates = []gate.RequestState{
	gate.RequestPending, gate.RequestClaimed, gate.RequestStarted, gate.RequestDone, gate.RequestRejected,
	gate.RequestWithdrawn, gate.RequestExpired, gate.RequestStopped, gate.RequestUnknown,
}

// reopen ends the store and opens it again; false: it keeps nothing.
func (x *suite) reopen() bool {
	if x.s.Reopen == nil {
		return false
	}
	x.s = x.s.Reopen()
	return true
}

// restart: whatever was reported is there afterwards, to the last field.
func (x *suite) restart() {
	secret, err := x.s.Open(ctx(x), x.request("open"), []byte("snap"))
	require.NoError(x, err)
	want := map[string]gate.Record{}
	for _, s := range allStates {
		x.reach(string(s), s)
		x.clock.Advance(time.Second)
	}
	for _, s := range allStates {
		want[string(s)], err = x.s.Get(ctx(x), string(s))
		require.NoError(x, err)
	}
	list, err := x.s.Pending(ctx(x), x.clock.Now())
	require.NoError(x, err)
	if !x.reopen() {
		return
	}
	for id, w := range want {
		got, err := x.s.Get(ctx(x), id)
		require.NoError(x, err)
		require.Equal(x, w, got)
	}
	again, err := x.s.Pending(ctx(x), x.clock.Now())
	require.NoError(x, err)
	require.Equal(x, list, again)
	// Who has read a request before may decide it afterwards.
	l, err := x.s.Claim(ctx(x), gate.Claim{ID: "open", Digest: x.request("open").Digest, Secret: secret, Worker: "w", Decider: "d", Now: x.clock.Now()})
	require.NoError(x, err)
	// A decision that was reported isn't lost, nor does it last for ever.
	require.True(x, x.reopen())
	got, err := x.s.Get(ctx(x), "open")
	require.NoError(x, err)
	require.Equal(x, gate.RequestClaimed, got.State)
	require.Equal(x, gate.Approved, got.Decision)
	require.Equal(x, "d", got.Decider)
	code(x, x.s.Start(ctx(x), l, x.clock.Advance(x.s.Lease)), gate.CodeRequestExpired)
	// The used and the expired stay what they are, until retention ends.
	x.clock.Advance(max(ttl, x.s.Retention) - x.s.Lease - 10*time.Second)
	require.True(x, x.reopen())
	require.Equal(x, gate.RequestDone, x.state("done"))
	code(x, x.put(x.request("done"), []byte("s")), gate.CodePlanUsed)
}

func (x *suite) restartStarted() {
	x.reach("a", gate.RequestStarted)
	x.reach("b", gate.RequestClaimed)
	if !x.reopen() {
		return
	}
	got, err := x.s.Recover(ctx(x), "next", x.clock.Now())
	require.NoError(x, err)
	require.Len(x, got.Unknown, 1)
	require.Len(x, got.Reopened, 1)
	require.True(x, x.reopen())
	require.Equal(x, gate.RequestUnknown, x.state("a"))
	require.Equal(x, gate.RequestPending, x.state("b"))
	_, err = x.claim("a", "w", "d", x.clock.Now())
	code(x, err, gate.CodeUnknownOutcome)
	got, err = x.s.Recover(ctx(x), "third", x.clock.Now())
	require.NoError(x, err)
	require.Empty(x, got.Unknown, "told once")
	require.Empty(x, got.Reopened)
	code(x, x.put(x.request("a"), []byte("s")), gate.CodeUnknownOutcome)
}

// reboot: the clock that counts from the machine's start says nothing of another
// start, and a wall clock from before the question says nothing at all.
func (x *suite) reboot() {
	x.open("a")
	x.open("b")
	x.open("c")
	x.clock.Advance(time.Minute)
	x.clock.Reboot()
	if !x.reopen() {
		return
	}
	n, err := x.claim("a", "w", "d", x.clock.Now())
	require.NoError(x, err)
	require.NoError(x, x.start("a", "w", n, x.clock.Now()))
	now := x.clock.Jump(-2 * time.Minute)
	_, err = x.claim("b", "w", "d", now)
	code(x, err, gate.CodeRequestExpired)
	x.clock.Jump(2 * time.Minute)
	require.Equal(x, gate.RequestExpired, x.state("b"), "and stays so")
	x.clock.Advance(ttl - time.Minute)
	require.Equal(x, gate.RequestExpired, x.state("c"))

	// Once it has been taken up, its time runs in this start of the machine.
	x.open("d")
	x.clock.Advance(time.Minute)
	x.clock.Reboot()
	require.True(x, x.reopen())
	_, err = x.s.Recover(ctx(x), "next", x.clock.Now())
	require.NoError(x, err)
	x.clock.Jump(-time.Minute)
	x.clock.Advance(ttl - time.Minute - 1)
	require.Equal(x, gate.RequestPending, x.state("d"))
	x.clock.Advance(1)
	require.Equal(x, gate.RequestExpired, x.state("d"))
}
