package motion_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/gatetest"
	"github.com/tau-robot/tau/gate/lane"
	"github.com/tau-robot/tau/robot"
)

// gated is a rig behind a real gate with a scripted approver.
type gated struct {
	*rig
	gate     *gate.Gate
	approver *gatetest.Scripted
}

type oneSession struct{ session gate.Session }

func (s oneSession) Session(string) (gate.Session, error) { return s.session, nil }

type noSink struct{}

func (noSink) Emit(gate.Event) error { return nil }

type stopper struct{ robot.Backend }

func (s stopper) Name() string { return "sim" }

func (s stopper) Stop(ctx context.Context, kind gate.StopKind) gate.StopVerdict {
	v := s.Backend.Stop(ctx, robot.StopKind(kind))
	return gate.StopVerdict{Backend: v.Backend, Commanded: string(v.Commanded), Acknowledged: string(v.Acknowledged), Stationary: string(v.Stationary)}
}

// newGated puts the rig's tools behind a gate.
func newGated(t *testing.T, o rigOptions, steps ...gatetest.Step) *gated {
	t.Helper()
	g := &gated{rig: newRig(t, o), approver: gatetest.Script(t, steps...)}
	l := lane.New()
	catalog := gate.NewCatalog()
	require.NoError(t, catalog.Register(g.planner.Tools()...))
	var err error
	g.gate, err = gate.New(gate.Config{
		Catalog: catalog, Lane: l, Requests: approval.NewMemory(), Sink: noSink{}, Approver: g.approver,
		Sessions: oneSession{gate.Session{Name: "s", Mode: gate.ModeSim, Backend: g.name}},
		Stoppers: []gate.Stopper{stopper{g.backend}},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		require.NoError(t, g.gate.Close(ctx))
		require.NoError(t, l.Close())
	})
	return g
}

// ask calls a tool through the gate.
func (g *gated) ask(tool, args string) gate.Answer {
	return g.gate.Call(context.Background(), gate.Invocation{Tool: tool, Args: []byte(args), Session: "s", Principal: "tester", Origin: "test"})
}

// ok is an ask that has to succeed; its result is decoded into out.
func (g *gated) ok(tool, args string, out any) gate.Answer {
	g.t.Helper()
	a := g.ask(tool, args)
	require.Equal(g.t, gate.StatusOK, a.Status, "%s %s: %s %s", tool, args, a.Code, a.Text)
	if out != nil {
		require.NoError(g.t, json.Unmarshal(a.Result, out))
	}
	return a
}

// refused is an ask that has to be refused with a code, and nobody is asked.
func (g *gated) refused(want gate.Code, tool, args string) gate.Answer {
	g.t.Helper()
	before := len(g.approver.Requests())
	a := g.ask(tool, args)
	require.Equal(g.t, want, a.Code, "%s %s: %s", tool, args, a.Text)
	require.Equal(g.t, gate.ApprovalNone, a.Approval)
	require.Len(g.t, g.approver.Requests(), before, "%s %s: somebody was asked", tool, args)
	return a
}

// fact returns a labelled line of the last card that was shown.
func (g *gated) fact(label string) string {
	g.t.Helper()
	all := g.approver.Requests()
	require.NotEmpty(g.t, all)
	return factOf(all[len(all)-1].Card, label)
}

func factOf(c gate.Card, label string) string {
	for _, f := range c.Facts {
		if f.Label == label {
			return f.Text
		}
	}
	return ""
}
