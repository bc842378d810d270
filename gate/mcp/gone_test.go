package mcp_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/mcp"
)

// told is an approver that nobody answers and that hands on what it is told.
type told struct {
	*gatetest.Unanswered
	notices chan gate.Notice
}

func (a *told) Notice(_ string, n gate.Notice) { a.notices <- n }

// A client that ends its session after `pending` leaves the question open, and the
// person is told; one that comes back finds it, and may still withdraw it.
func TestG49_AClientThatGoesAfterPendingIsToldOf(t *testing.T) {
	a := &told{gatetest.Nobody(t), make(chan gate.Notice, 4)}
	r := serveGate(t, a, func(o *mcp.Options) { o.Wait = 50 * time.Millisecond })
	cs := r.connect(t, r.alice, "2025-11-25", nil)
	other := r.connect(t, r.alice, "2025-11-25", nil)
	res, err := call(t.Context(), cs, "move_joints", `{"positions":{"a":0.5}}`)
	require.NoError(t, err)
	id := decode(t, res).CallID
	waitFor(t, a.Asked, "the question")
	require.NoError(t, other.Close()) // another session of the same token
	require.NoError(t, cs.Close())
	n := waitFor(t, a.notices, "the notice")
	require.Equal(t, gate.Notice{Kind: gate.CallerGone, Text: "the client ended its session"}, n)

	cs = r.connect(t, r.alice, "2025-11-25", nil)
	res, err = call(t.Context(), cs, "call_status", `{"call_id":"`+id+`"}`)
	require.NoError(t, err)
	require.Contains(t, string(decode(t, res).Result), `"status":"pending"`)
	require.Equal(t, gate.CallerBack, waitFor(t, a.notices, "the second notice").Kind)
	res, err = call(t.Context(), cs, "cancel_call", `{"call_id":"`+id+`"}`)
	require.NoError(t, err)
	require.Contains(t, string(decode(t, res).Result), `"status":"cancelled"`)
	require.Empty(t, a.notices)
}
