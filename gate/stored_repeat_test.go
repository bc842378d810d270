package gate_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// A call that is repeated by its id while its request waits in the store alone is told
// that, and stands in nobody's way: it can be refused, withdrawn and taken up as before.
func TestG45_ARepeatOfWhatWaitsInTheStoreAloneHoldsNothingUp(t *testing.T) {
	for name, c := range map[string]struct {
		then  func(*testing.T, *rig, *shared, string)
		state gate.RequestState
	}{
		"a no": {func(t *testing.T, r *rig, _ *shared, id string) {
			require.NoError(t, r.Refuse(t.Context(), id, "ann", "no"))
		}, gate.RequestRejected},
		"cancel_call": {func(t *testing.T, r *rig, _ *shared, id string) {
			a := r.call("cancel_call", fmt.Sprintf(`{"call_id":%q}`, id))
			require.Equal(t, gate.StatusOK, a.Status, a.Text)
		}, gate.RequestWithdrawn},
		"taken up": {func(t *testing.T, r *rig, e *shared, id string) {
			require.NoError(t, r.TakeUp(t.Context(), id, r.Stamp(), e.adopt))
			require.Equal(t, "ok", r.status(id, 30).Status)
		}, gate.RequestDone},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, shown := pending(t, "s", `{"to":1}`)
				var steps []gatetest.Step
				if c.state == gate.RequestDone {
					steps = append(steps, gatetest.Approve())
				}
				e := &shared{}
				r := d.life(gatetest.Script(t, steps...), func(x *gate.Config) { e.Requests, x.Requests = x.Requests, e })
				defer r.end()
				_, err := r.Recover(t.Context())
				require.NoError(t, err)
				i := in("s", `{"to":1}`)
				i.CallID = shown.CallID
				for range 2 {
					a := r.Call(t.Context(), i)
					require.Equal(t, gate.StatusPending, a.Status, a.Text)
				}
				c.then(t, r, e, shown.CallID)
				require.Equal(t, c.state, r.stored(shown.CallID).State)
			})
		})
	}
}
