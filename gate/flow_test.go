package gate_test

import (
	"encoding/hex"
	"encoding/json"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

func TestG5_G7_AnApprovedCallRunsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Approve())
		r := newRig(t, s)
		defer r.close()
		a := r.call("move", `{"to": 1.50}`)
		require.Equal(t, gate.StatusOK, a.Status, a.Text)
		require.Equal(t, gate.Code(""), a.Code)
		require.Equal(t, gate.ApprovalApproved, a.Approval)
		require.JSONEq(t, `{"positions":{"a":1}}`, string(a.Result))
		require.EqualValues(t, 1, r.arm.ran.Load())

		req := s.Requests()
		require.Len(t, req, 1)
		q := req[0]
		require.Equal(t, "move", q.Tool)
		require.Equal(t, gate.TierPhysical, q.Tier)
		require.Equal(t, `{"to":1.5}`, string(q.Args), "canonical, after all rewriting")
		require.Equal(t, "The arm moves.", q.Effect)
		require.Equal(t, gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, q.Session)
		require.Equal(t, "p", q.Principal)
		require.Equal(t, "test", q.Origin)
		require.Equal(t, []string{"jerk"}, q.Card.Assumed)
		require.Equal(t, 10*time.Minute, q.Expiry.Sub(q.Asked))
		require.Equal(t, a.CallID, q.CallID)
		require.Len(t, a.Digest, 64)

		rec, err := r.requests.Get(t.Context(), a.CallID)
		require.NoError(t, err)
		require.Equal(t, gate.RequestDone, rec.State)
		require.Equal(t, "scripted", rec.Decider)
		require.JSONEq(t, string(a.JSON()), string(rec.Answer))
	})
}

// What an approver is given: everything that a card needs to say, and no more
// than an approver is: a name and a decision (G31).
func TestG31_ARequestCarriesWhatIsDecided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := gatetest.Script(t, gatetest.Reject())
		r := newRig(t, s)
		defer r.close()
		start := time.Now()
		a := r.call("move", `{"to": 1.0}`)
		require.Len(t, s.Requests(), 1)
		q := s.Requests()[0]
		require.Equal(t, a.Digest, hex.EncodeToString(q.Digest[:]))
		require.NotEqual(t, [32]byte{}, q.Digest)
		q.Digest = [32]byte{}
		require.Equal(t, gate.Request{
			CallID: a.CallID, Tool: "move", Tier: gate.TierPhysical, Args: json.RawMessage(`{"to":1}`), Effect: "The arm moves.",
			Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, Principal: "p", Origin: "test",
			Card: (&armAction{}).Card(), Asked: start, Expiry: start.Add(10 * time.Minute),
		}, q)
	})
	require.Equal(t, 2, reflect.TypeFor[gate.Approver]().NumMethod())
}
