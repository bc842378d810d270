package gate_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/lane"
)

// discard is a sink that costs nothing, to measure the gate alone.
type discard struct{ n int }

func (d *discard) Emit(gate.Event) error { d.n++; return nil }

// BenchmarkTier0 is a tier-0 call through the whole gate beside a bare map look-up
// and call of the same function.
func BenchmarkTier0(b *testing.B) {
	l := lane.New()
	defer l.Close()
	f := func(_ context.Context, c gate.Call) (gate.Result, error) {
		return gate.Result{Text: "ok", Data: json.RawMessage(`{"ok":true}`)}, nil
	}
	cat := gate.NewCatalog()
	if err := cat.Register(gate.Func(gate.Spec{
		Name: "read", Tier: gate.TierRead, Description: "Reads.",
		Input: gate.Obj(gate.Opt("joint", gate.Str(64)), gate.Opt("scale", gate.Num().Between(0, 1))),
	}, f)); err != nil {
		b.Fatal(err)
	}
	g, err := gate.New(gate.Config{
		Catalog: cat, Lane: l, Requests: approval.NewMemory(), Sink: &discard{},
		Sessions: &sessions{list: map[string]gate.Session{"s": {Name: "s", Mode: gate.ModeSim, Backend: "sim"}}, err: map[string]error{}},
		Rates:    gate.RateLimits{Session: &gate.Rate{PerSecond: 1e9, Burst: 1e9}},
	})
	if err != nil {
		b.Fatal(err)
	}
	in := gate.Invocation{Tool: "read", Args: []byte(`{"joint":"shoulder_pan","scale":0.5}`), Session: "s", Principal: "p", Origin: "bench"}
	b.Run("gate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if a := g.Call(context.Background(), in); a.Status != gate.StatusOK {
				b.Fatal(a.Text)
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		tools := map[string]func(context.Context, gate.Call) (gate.Result, error){"read": f}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := tools[in.Tool](context.Background(), gate.Call{Args: in.Args}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
