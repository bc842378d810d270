package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// goneOn: what was asked before a call that begins is overtaken by it, in its own
// session only, for good.
func (x *suite) goneOn() {
	other := x.request("other")
	other.Session.Name = "t"
	x.open("first")
	require.NoError(x, x.put(other, []byte("s")))
	x.reach("claimed", gate.RequestClaimed)
	x.reach("rejected", gate.RequestRejected)
	x.open("a")
	x.open("later")
	is := func(want bool, ids ...string) {
		x.Helper()
		for _, id := range ids {
			got, err := x.s.Get(ctx(x), id)
			require.NoError(x, err)
			require.Equal(x, want, got.GoneOn, id)
			read, _, err := x.s.Read(ctx(x), id, x.clock.Now())
			require.NoError(x, err)
			require.Equal(x, want, read.GoneOn, id)
		}
	}
	n, err := x.claim("a", "w", "d", x.clock.Now())
	require.NoError(x, err)
	is(false, "first", "other", "claimed", "a", "later")
	code(x, x.start("a", "thief", n, x.clock.Now()), gate.CodeInProgress)
	is(false, "first", "other", "claimed", "a", "later")
	require.NoError(x, x.start("a", "w", n, x.clock.Now()))
	is(true, "first", "claimed")
	is(false, "a", "later", "other", "rejected")
	list, err := x.s.Pending(ctx(x), x.clock.Now())
	require.NoError(x, err)
	for _, r := range list {
		require.Equal(x, r.Request.CallID == "first", r.GoneOn, r.Request.CallID)
	}
	x.reopen()
	_, err = x.s.Recover(ctx(x), "next", x.clock.Now())
	require.NoError(x, err)
	is(true, "first", "claimed")
	is(false, "a", "later", "other", "rejected")

	// One that has no request of its own overtakes all of its session.
	require.NoError(x, x.s.Moved(ctx(x), "nobody's"))
	is(false, "later", "other")
	require.NoError(x, x.s.Moved(ctx(x), "s"))
	is(true, "first", "claimed", "later")
	is(false, "other")
	x.open("new")
	is(false, "new")
}

// rejectedBy: a no is stored with who said it (G41).
func (x *suite) rejectedBy() {
	for _, by := range []string{"ann", ""} {
		id := "by " + by
		x.open(id)
		require.NoError(x, x.s.Finish(ctx(x), id, gate.Ending{State: gate.RequestRejected, Decider: by}))
		for range 2 {
			got, err := x.s.Get(ctx(x), id)
			require.NoError(x, err)
			require.Equal(x, gate.Rejected, got.Decision)
			require.Equal(x, by, got.Decider)
			x.reopen()
		}
	}
	x.reach("done", gate.RequestDone)
	got, err := x.s.Get(ctx(x), "done")
	require.NoError(x, err)
	require.Equal(x, "terminal", got.Decider, "its end leaves who approved")
}
