package mount

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tau-robot/tau/gate"
)

// Stopper returns what a stop does at the server; false: nothing but ending its calls.
func (s *Server) Stopper() (gate.Stopper, bool) {
	if s.m.Stop == nil {
		return nil, false
	}
	return stopper{s}, true
}

type stopper struct{ s *Server }

func (x stopper) Name() string { return "mount " + x.s.m.Name }

// Stop calls the tool that the manifest names, on the connection that there is: it
// never waits for a new one. Whether anything came to rest can't be known.
func (x stopper) Stop(ctx context.Context, _ gate.StopKind) gate.StopVerdict {
	start := x.s.o.Now()
	v := gate.StopVerdict{Backend: x.Name(), Commanded: "no", Acknowledged: "no", Stationary: "unknown", Beside: true}
	x.s.mu.Lock()
	session := x.s.session
	x.s.mu.Unlock()
	if session == nil {
		v.Text = "the server is gone"
		return v
	}
	args := json.RawMessage(x.s.m.Stop.Arguments)
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	v.Commanded = "yes"
	r, err := within(ctx, session, func(ctx context.Context) (*sdk.CallToolResult, error) {
		return session.session.CallTool(ctx, &sdk.CallToolParams{Name: x.s.m.Stop.Tool, Arguments: args})
	})
	switch {
	case err != nil:
		v.Acknowledged, v.Text = "unknown", clip(gate.Escape(err.Error()))
	case r.IsError || r.NeedsInput():
		v.Text = "the server says that it failed"
	default:
		v.Acknowledged = "yes"
	}
	v.DurationS = x.s.o.Now().Sub(start).Round(time.Microsecond).Seconds()
	return v
}

// isAnswer reports whether an error is the server's own answer rather than a lost one.
// From -32099 to -32000 the library says itself that a connection ends.
func isAnswer(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) && (wire.Code < -32099 || wire.Code > -32000)
}
