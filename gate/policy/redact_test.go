package policy_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/policy"
)

// answered runs the after-call hooks of a policy that redact.
func answered(t testing.TB, p *policy.Policy, tool string, a gate.Answer) gate.Answer {
	t.Helper()
	for _, h := range p.Hooks() {
		if h.Name != "policy.redact" {
			continue
		}
		out, err := h.AfterCall(context.Background(), gate.HookCall{Tool: tool}, a)
		require.NoError(t, err)
		if out.Redact != nil {
			a.Text, a.Result, a.Refusal = out.Redact.Text, out.Redact.Result, out.Redact.Refusal
		}
	}
	return a
}

const stateResult = `{"name":"arm 7","mode":"sim","n":1.50,"m":2,"positions":{"a":1,"b":2},"some":{"x":1},"parts":[{"serial":"S-1","w":3},{"serial":"S-2"}]}`

func TestFieldsAreWithheldAndTheResultStaysWhatClientsInsistOn(t *testing.T) {
	p := must(t, "[[policy.redact]]\ntool=\"state\"\nfields=[\"name\",\"m\",\"positions.a\",\"parts.*.serial\",\"parts.*.w\"]")
	a := answered(t, p, "state", gate.Answer{Status: gate.StatusOK, Text: "Arm 7 is at a = 1.", Result: json.RawMessage(stateResult)})
	require.Equal(t, `{"name":"[withheld]","mode":"sim","n":1.50,"positions":{"b":2},"some":{"x":1},"parts":[{"serial":"[withheld]"},{"serial":"[withheld]"}]}`, string(a.Result))
	require.Equal(t, "Parts of this result are withheld by the operator's policy.", a.Text, "a text in words may name what was withheld")
	_, err := gate.DecodeStrict(specs()[1].Output, a.Result)
	require.NoError(t, err, "it still has the tool's own schema")

	again := answered(t, p, "state", a)
	require.Equal(t, a, again, "a second time changes nothing")
	bare := answered(t, p, "state", gate.Answer{Status: gate.StatusRefused, Code: gate.CodeBusy, Text: "not now"})
	require.Equal(t, "not now", bare.Text, "nothing was withheld")
	require.Nil(t, bare.Result)
	require.Equal(t, "x", answered(t, p, "note", gate.Answer{Text: "x"}).Text, "another tool's")
}

func TestAnOutcomeThatIsUnknownStaysOne(t *testing.T) {
	p := must(t, "[[policy.redact]]\ntool=\"state\"\nfields=[\"name\"]")
	a := answered(t, p, "state", gate.Answer{CallID: "c1", Status: gate.StatusUnknown, Code: gate.CodeUnknownOutcome, Text: "x", Result: json.RawMessage(stateResult)})
	require.Contains(t, a.Text, "do not send it again")
	require.Contains(t, a.Text, "call_id c1")
}

func TestAPatternIsWithheldInEachText(t *testing.T) {
	p := must(t, "[[policy.redact]]\ntool=\"*\"\npattern='S-[0-9]+|arm 7'")
	a := answered(t, p, "state", gate.Answer{
		Status: gate.StatusError, Text: "arm 7: S-1 and S-22 fail", Result: json.RawMessage(stateResult),
		Refusal: gate.Refusal{Where: "S-1", Nearest: []gate.Quantity{{Name: "S-2", Value: 1}}},
	})
	require.Equal(t, "[withheld]: [withheld] and [withheld] fail", a.Text)
	require.Equal(t, `{"name":"[withheld]","mode":"sim","n":1.50,"m":2,"positions":{"a":1,"b":2},"some":{"x":1},"parts":[{"serial":"[withheld]","w":3},{"serial":"[withheld]"}]}`, string(a.Result))
	require.Equal(t, gate.Refusal{Where: "[withheld]", Nearest: []gate.Quantity{{Name: "[withheld]", Value: 1}}}, a.Refusal)
	nested := answered(t, p, "call_status", gate.Answer{Result: json.RawMessage(`{"status":"ok","text":"S-3","result":{"deep":[["S-4"]]}}`)})
	require.Equal(t, `{"status":"ok","text":"[withheld]","result":{"deep":[["[withheld]"]]}}`, string(nested.Result))
}

func TestAResultThatCantBeReadIsTheHooksFault(t *testing.T) {
	p := must(t, "[[policy.redact]]\ntool=\"state\"\nfields=[\"name\"]")
	_, err := p.Hooks()[0].AfterCall(context.Background(), gate.HookCall{Tool: "state"}, gate.Answer{Result: json.RawMessage(`{"name":`)})
	require.Error(t, err, "so the gate withholds all of it")
}

func TestRetry(t *testing.T) {
	p := must(t, "[[policy.retry]]\ntools=[\"state\"]\ncodes=[\"STALE_STATE\",\"BUSY\"]\n")
	every := must(t, "[[policy.retry]]\ntools=[\"*\"]\ncodes=[\"BUSY\"]\n")
	wants := func(p *policy.Policy, tool string, tier gate.Tier, code gate.Code) bool {
		out, err := p.Hooks()[0].AfterCall(context.Background(), gate.HookCall{Tool: tool, Tier: tier}, gate.Answer{Code: code})
		require.NoError(t, err)
		require.Nil(t, out.Redact)
		return out.Retry
	}
	require.True(t, wants(p, "state", gate.TierRead, gate.CodeStaleState))
	require.False(t, wants(p, "state", gate.TierRead, ""))
	require.False(t, wants(p, "state", gate.TierRead, gate.CodeNotApproved))
	require.False(t, wants(p, "current_time", gate.TierRead, gate.CodeBusy))
	require.True(t, wants(every, "current_time", gate.TierRead, gate.CodeBusy))
	require.False(t, wants(every, "move", gate.TierPhysical, gate.CodeBusy))
	require.False(t, wants(every, "state", gate.TierPhysical, gate.CodeBusy), "whatever the catalog says")
}

// Whatever a result is, withholding leaves valid JSON, and what is left of it is what
// was there.
func FuzzRedact(f *testing.F) {
	for _, s := range []string{stateResult, `{}`, `{"name":{"a":[1]},"parts":{"serial":1}}`, `{"parts":[[],{"serial":null}],"name":"\ud800"}`, `[`, `{"a":1,"a":2}`} {
		f.Add([]byte(s))
	}
	s, err := read(f, "[[policy.redact]]\ntool=\"state\"\nfields=[\"name\",\"positions.*\",\"parts.*.serial\"]\npattern='S-[0-9]+'")
	require.NoError(f, err)
	p, err := policy.Compile(s, specs())
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := p.Hooks()[0].AfterCall(context.Background(), gate.HookCall{Tool: "state"}, gate.Answer{Result: b})
		if err != nil || out.Redact == nil || len(b) == 0 {
			return
		}
		if !json.Valid(out.Redact.Result) {
			t.Fatalf("%q became %q", b, out.Redact.Result)
		}
		again, err := p.Hooks()[0].AfterCall(context.Background(), gate.HookCall{Tool: "state"}, gate.Answer{Result: out.Redact.Result})
		if err != nil || string(again.Redact.Result) != string(out.Redact.Result) {
			t.Fatalf("%q became %q, and then %q (%v)", b, out.Redact.Result, again.Redact.Result, err)
		}
	})
}
