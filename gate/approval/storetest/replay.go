package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// replayed: whatever a request ended as, whoever comes with what he has kept of it finds
// that it has ended, for as long as its approval would hold. That holds however soon a
// store forgets, and whatever makes it look for what to forget. Afterwards there is
// nothing to claim any more, and the expiry that was approved has passed.
func (x *suite) replayed() {
	said := map[gate.RequestState]gate.Code{
		gate.RequestDone: gate.CodePlanUsed, gate.RequestRejected: gate.CodeNotApproved, gate.RequestWithdrawn: gate.CodeCancelled,
		gate.RequestStopped: gate.CodeStopped, gate.RequestUnknown: gate.CodeUnknownOutcome,
	}
	kept := map[gate.RequestState]gate.Claim{}
	want := map[gate.RequestState]gate.Request{}
	for state := range said {
		id := string(state)
		want[state] = x.request(id)
		x.open(id)
		c, err := x.read(id, "w", "terminal", x.clock.Now())
		require.NoError(x, err)
		kept[state] = c
		if state == gate.RequestDone || state == gate.RequestUnknown {
			l, err := x.s.Claim(ctx(x), c)
			require.NoError(x, err)
			require.NoError(x, x.s.Start(ctx(x), l, x.clock.Now()))
		}
		require.NoError(x, x.s.Finish(ctx(x), id, gate.Ending{State: state, Answer: []byte(`{}`)}))
	}
	replay := func(state gate.RequestState, gone gate.Code) {
		c := kept[state]
		c.Now = x.clock.Now()
		_, err := x.s.Claim(ctx(x), c)
		code(x, err, gone)
		code(x, x.s.Start(ctx(x), gate.Lease{ID: c.ID, Worker: "w", Claims: 1}, c.Now), gone)
	}
	const steps = 5
	for i := range steps {
		step := ttl / steps
		if i == steps-1 {
			step -= 1
		}
		x.clock.Advance(step)
		x.open(fmt.Sprint("other", i)) // what might forget
		_, err := x.s.Pending(ctx(x), x.clock.Now())
		require.NoError(x, err)
		_, err = x.s.Recover(ctx(x), fmt.Sprint("worker", i), x.clock.Now())
		require.NoError(x, err)
		for state, as := range said {
			replay(state, as)
			code(x, x.put(want[state], []byte("snap")), as)
			require.Equal(x, state, x.state(string(state)))
		}
		x.reopen()
	}
	x.clock.Advance(max(ttl, x.s.Retention))
	x.open("last")
	for state := range said {
		_, err := x.s.Get(ctx(x), string(state))
		code(x, err, gate.CodeInvalidArgument)
		replay(state, gate.CodeInvalidArgument)
		code(x, x.put(want[state], []byte("snap")), gate.CodeRequestExpired)
	}
}
