package gate_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/gatetest"
)

// Case 66 (a used record purged before its approval expires, and then replayed), with a
// store that would like to forget at once: the same call by its id, again and again until
// its approval has expired, in this process and the next, is answered and never run.
func TestG45_Case66_AUsedCallIsNeverRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "bridge.db")
		life := func(approver gate.Approver) *rig {
			s, err := approval.OpenSQLite(t.Context(), path, approval.Options{Retention: time.Nanosecond})
			require.NoError(t, err)
			r := newRig(t, approver, func(c *gate.Config) { c.Requests = s })
			r.disk = s
			_, err = r.Recover(t.Context())
			require.NoError(t, err)
			return r
		}
		steps := make([]gatetest.Step, 5) // of which the first is for the call, the others for what comes in between
		for i := range steps {
			steps[i] = gatetest.Approve()
		}
		approver := gatetest.Script(t, steps...)
		r := life(approver)
		used := in("s", `{"to":1}`)
		used.CallID = fmt.Sprintf("%032x", 66)
		first := r.Call(t.Context(), used)
		require.Equal(t, gate.StatusOK, first.Status, first.Text)
		expiry := approver.Requests()[0].Expiry
		for i := range 4 {
			time.Sleep(2 * time.Minute)
			require.True(t, time.Now().Before(expiry), "its approval would still hold")
			other := in("s", fmt.Sprintf(`{"to":0.%d}`, i+2)) // what makes the store look for what to forget
			a := r.Call(t.Context(), other)
			require.Equal(t, gate.StatusOK, a.Status, a.Text)
			ran := r.arm.ran.Load()
			require.Equal(t, first.Status, r.Call(t.Context(), used).Status)
			r.end()
			require.Equal(t, ran, r.arm.ran.Load())
			require.Len(t, approver.Requests(), i+2, "nobody is asked for it again")

			r = life(approver)
			again := r.Call(t.Context(), used)
			require.Equal(t, first.Status, again.Status, again.Text)
			require.JSONEq(t, string(first.Result), string(again.Result))
			require.Zero(t, r.arm.ran.Load())
			require.Equal(t, gate.RequestDone, r.stored(used.CallID).State)
		}
		r.end()
	})
}
