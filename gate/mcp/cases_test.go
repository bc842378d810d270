package mcp_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate/gatetest"
)

// TestCase62_Case66_TheSameCallAgainIsAnotherQuestion: a client sends a request again under
// the id of one that was approved and has run, as it was and with other arguments. MCP's id
// is the client's, so that it stands for nothing: each is asked, and a no to it is a no.
func TestCase62_Case66_TheSameCallAgainIsAnotherQuestion(t *testing.T) {
	approver := gatetest.Script(t, gatetest.Approve(), gatetest.Reject(), gatetest.Reject())
	r := serveGate(t, approver, nil)
	send := func(to string) string {
		code, body := r.post(t, r.alice, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"move_joints","arguments":{"positions":{"a":%s}}}}`, to),
			r.head(t, r.alice, "2025-11-25", "move_joints"))
		require.Equal(t, 200, code, body)
		return body
	}
	r.arm.finish <- struct{}{}
	require.Contains(t, send("0.5"), `"status":"ok"`)
	waitFor(t, r.arm.moving, "the motion")
	for _, to := range []string{"0.4", "0.5"} {
		require.Contains(t, send(to), "NOT_APPROVED", to)
	}
	require.Empty(t, r.arm.moving)
	asked := approver.Requests()
	require.Len(t, asked, 3)
	require.NotEqual(t, asked[0].Digest, asked[1].Digest)
	require.NotEqual(t, asked[0].CallID, asked[2].CallID)
}
