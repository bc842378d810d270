package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// grouped is a call with members of its _meta.
func grouped(ctx context.Context, cs *sdk.ClientSession, tool, args string, meta sdk.Meta) (*sdk.CallToolResult, error) {
	return cs.CallTool(ctx, &sdk.CallToolParams{Meta: meta, Name: tool, Arguments: json.RawMessage(args)})
}

// Calls that a client marks so are one batch of the gate, in every revision: the
// physical ones run in their order, and what comes behind a refusal is cancelled.
func TestG23_CallsThatShareABatchInMeta(t *testing.T) {
	revisions(t, func(t *testing.T, version string) {
		s := gatetest.Script(t, gatetest.Approve(), gatetest.Reject())
		r := serveGate(t, s, nil)
		cs := r.connect(t, r.alice, version, nil)
		r.arm.finish <- struct{}{}
		var calls sync.WaitGroup
		as := make([]answer, 4)
		for i, c := range []struct{ tool, args string }{
			{"move_joints", `{"positions":{"a":0.1}}`}, {"move_joints", `{"positions":{"a":0.2}}`},
			{"move_joints", `{"positions":{"a":0.3}}`}, {"current_time", `{}`},
		} {
			calls.Go(func() {
				res, err := grouped(t.Context(), cs, c.tool, c.args, sdk.Meta{"tau/batch": "step 1", "tau/batch_size": 4, "tau/batch_place": i + 1})
				if err == nil {
					as[i] = decode(t, res)
				}
			})
		}
		calls.Wait()
		require.Equal(t, gate.StatusOK, as[0].Status, as[0].Text)
		require.Equal(t, gate.ApprovalRejected, as[1].Approval)
		require.Equal(t, gate.StatusCancelled, as[2].Status)
		require.Contains(t, as[2].Text, "an earlier call of the same batch, ended refused")
		require.Equal(t, gate.StatusOK, as[3].Status)
		var asked []string
		for _, q := range s.Requests() {
			asked = append(asked, string(q.Args))
		}
		require.Equal(t, []string{`{"positions":{"a":0.1}}`, `{"positions":{"a":0.2}}`}, asked)
	})
}

func TestMetaReachesTheGate(t *testing.T) {
	f := newFake()
	b := serve(t, f, nil)
	cs := b.connect(t, b.alice, "", nil)
	for _, meta := range []sdk.Meta{
		nil, {"tau/turn": "7"}, {"tau/batch": "x", "tau/batch_size": 1}, {"tau/batch": "x", "tau/batch_size": 32, "tau/batch_place": 32, "tau/turn": "t", "other/key": true},
	} {
		_, err := grouped(t.Context(), cs, "robot_state", `{}`, meta)
		require.NoError(t, err)
	}
	var got []string
	for _, inv := range f.calls() {
		require.Nil(t, inv.Invalid)
		got = append(got, fmt.Sprintf("%s %d %d %s", inv.Batch.ID, inv.Batch.Size, inv.Batch.Place, inv.Turn))
	}
	require.Equal(t, []string{" 0 0 ", " 0 0 7", "x 1 0 ", "x 32 32 t"}, got)
}

// What can't be meant is the gate's to refuse, so that it is in its log; the rest of
// the call isn't looked at.
func TestG23_MetaThatCantBeMeantIsRefusedByTheGate(t *testing.T) {
	r := serveGate(t, gatetest.Script(t), nil)
	cs := r.connect(t, r.alice, "", nil)
	for where, metas := range map[string][]sdk.Meta{
		"_meta.tau/batch":       {{"tau/batch": 7, "tau/batch_size": 2}, {"tau/batch_size": 2}, {"tau/batch_place": 1}, {"tau/batch": "", "tau/batch_size": 2}, {"tau/batch": strings.Repeat("x", 129), "tau/batch_size": 2}, {"tau/batch": nil}},
		"_meta.tau/batch_size":  {{"tau/batch": "b"}, {"tau/batch": "b", "tau/batch_size": "2"}, {"tau/batch": "b", "tau/batch_size": 0}, {"tau/batch": "b", "tau/batch_size": 33}, {"tau/batch": "b", "tau/batch_size": 1.5}, {"tau/batch": "b", "tau/batch_size": 1e300}},
		"_meta.tau/batch_place": {{"tau/batch": "b", "tau/batch_size": 2, "tau/batch_place": 0}, {"tau/batch": "b", "tau/batch_size": 2, "tau/batch_place": 3}, {"tau/batch": "b", "tau/batch_size": 2, "tau/batch_place": "1"}, {"tau/batch": "b", "tau/batch_size": 2, "tau/batch_place": nil}},
		"_meta.tau/turn":        {{"tau/turn": 1}, {"tau/turn": ""}, {"tau/turn": nil}, {"tau/turn": strings.Repeat("x", 129)}},
	} {
		for _, meta := range metas {
			res, err := grouped(t.Context(), cs, "move_joints", `{"positions":{"a":0.1}}`, meta)
			require.NoError(t, err)
			a := decode(t, res)
			require.Equal(t, gate.StatusRefused, a.Status, "%v", meta)
			require.Equal(t, gate.CodeInvalidArgument, a.Code, "%v", meta)
			require.Equal(t, where, a.Where, "%v", meta)
		}
	}
	require.Len(t, r.sink.of("tool_call"), 20)
	require.Empty(t, r.arm.moving)
}
