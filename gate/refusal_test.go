package gate_test

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

func TestAnAnswerCarriesWhatTheErrorSays(t *testing.T) {
	told := &gate.Error{
		Code: gate.CodeJointLimit, Where: "elbow", Text: "is beyond its limit",
		Value: &gate.Quantity{Name: "position", Value: 2.5, Unit: "rad"}, Limit: &gate.Quantity{Value: 2, Unit: "rad"},
		Nearest: []gate.Quantity{{Name: "elbow", Value: 2, Unit: "rad"}, {Name: "x", Value: math.NaN()}},
	}
	want := gate.Refusal{Where: "elbow", Value: told.Value, Limit: told.Limit, Nearest: told.Nearest[:1]}

	r := newRig(t, gatetest.Script(t, gatetest.Approve()))
	defer r.close()
	r.arm.change(func(a *arm) { a.prepare = func(context.Context, gate.Call) error { return told } })
	a := r.call("move", `{"to":1}`)
	require.Equal(t, gate.StatusRefused, a.Status)
	require.Equal(t, want, a.Refusal, "a limit refused it")
	require.NotSame(t, told.Value, a.Refusal.Value, "a copy")

	r.arm.change(func(a *arm) {
		a.prepare = nil
		a.run = func(context.Context) (gate.Result, error) {
			return gate.Result{}, &gate.Error{Code: gate.CodeDeviation, Where: "elbow", Value: &gate.Quantity{Value: math.Inf(1)}, Limit: &gate.Quantity{Value: 0.1, Unit: "rad"}}
		}
	})
	a = r.call("move", `{"to":2}`)
	require.Equal(t, gate.StatusError, a.Status)
	require.Nil(t, a.Refusal.Value, "what is no number says nothing")
	require.Equal(t, 0.1, a.Refusal.Limit.Value)

	var told2 struct {
		Where   string          `json:"where"`
		Value   json.RawMessage `json:"value"`
		Limit   json.RawMessage `json:"limit"`
		Nearest json.RawMessage `json:"nearest"`
	}
	require.NoError(t, json.Unmarshal(gate.Answer{Status: gate.StatusRefused, Refusal: want}.JSON(), &told2))
	require.Equal(t, "elbow", told2.Where)
	require.JSONEq(t, `{"name":"position","value":2.5,"unit":"rad"}`, string(told2.Value))
	require.JSONEq(t, `{"value":2,"unit":"rad"}`, string(told2.Limit))
	require.JSONEq(t, `[{"name":"elbow","value":2,"unit":"rad"}]`, string(told2.Nearest))
	require.NotContains(t, string(gate.Answer{Status: gate.StatusOK}.JSON()), "where")
}
