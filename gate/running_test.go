package gate_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

func TestAnActionCanTellWhoseCallItRunsFor(t *testing.T) {
	r := newRig(t, gatetest.Script(t, gatetest.Approve()))
	var got gate.Running
	r.arm.change(func(a *arm) {
		a.run = func(ctx context.Context) (gate.Result, error) {
			var ok bool
			got, ok = gate.RunningOf(ctx)
			require.True(t, ok)
			return gate.Result{Text: "Moved."}, nil
		}
	})
	a := r.call("move", `{"to":1}`)
	require.Equal(t, gate.StatusOK, a.Status, a.Text)
	require.Equal(t, gate.Running{CallID: a.CallID, Tool: "move", Session: "s", Principal: "p", Origin: "test"}, got)
	_, ok := gate.RunningOf(t.Context())
	require.False(t, ok)
	r.close()
}
