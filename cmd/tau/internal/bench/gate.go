package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/bridge"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/events"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/sim"
)

const (
	gateRounds  = 31
	gateCalls   = 2000 // a round
	gateBoundUS = 15
	gateTool    = "current_time"
	gateSession = "bench"
)

// Gate measures a tier-0 call through the whole gate of a real bridge, its event
// written to a real log, beside a bare map lookup and call of a function that does
// what the tool does. Rounds of both alternate. Then it measures what a yes waits for.
func Gate(ctx context.Context) (r Report, err error) {
	dir, err := os.MkdirTemp("", "tau-bench-gate-")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	model, err := builtin.Load("so101")
	if err != nil {
		return r, err
	}
	h, err := bridge.Start(bridge.Setup{
		Model: model, Clock: sim.Fast, Session: gateSession, DataDir: dir, Version: "bench", Now: time.Now,
	})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()

	inv := gate.Invocation{Tool: gateTool, Args: []byte("{}"), Session: gateSession, Principal: bridge.Operator, Origin: "bench"}
	bare := map[string]func(context.Context, gate.Call) (gate.Result, error){gateTool: currentTime}
	through, beside := make([]float64, 0, gateRounds), make([]float64, 0, gateRounds)
	for round := range gateRounds + 1 { // the first warms up and isn't counted
		start := time.Now()
		for range gateCalls {
			if a := h.Gate.Call(ctx, inv); a.Status != gate.StatusOK {
				return r, fmt.Errorf("%s: %s", gateTool, a.Text)
			}
		}
		t := since(start, time.Microsecond) / gateCalls
		start = time.Now()
		for range gateCalls {
			if _, err := bare[gateTool](ctx, gate.Call{Tool: gateTool}); err != nil {
				return r, err
			}
		}
		b := since(start, time.Microsecond) / gateCalls
		if round > 0 {
			through, beside = append(through, t), append(beside, b)
		}
	}
	report, err := events.Verify(events.Path(dir, gateSession), events.KeyPath(dir))
	if err != nil {
		return r, err
	}
	if want := (gateRounds + 1) * gateCalls; report.Lines < want || report.Err() != nil {
		return r, fmt.Errorf("the log of the run has %d lines, want at least %d: %w", report.Lines, want, report.Err())
	}
	r = newReport("gate", "a tier-0 call through the whole gate, its event in the log", gateRounds, gateBoundUS,
		Measure{"call of " + gateTool + " through the gate", "µs/call", spread(through)},
		Measure{"baseline: map lookup and call", "µs/call", spread(beside)})
	r.Notes = append(r.Notes, fmt.Sprintf("%d calls a run; the log of %d events was written and verified whole", gateCalls, report.Lines))
	err = approvals(ctx, &r)
	return r, err
}

// currentTime does what the tool does.
func currentTime(context.Context, gate.Call) (gate.Result, error) {
	now := time.Now().UTC()
	text := now.Format(time.RFC3339Nano)
	data, err := json.Marshal(struct {
		Time string  `json:"time"`
		Unix float64 `json:"unix_s"`
	}{text, float64(now.UnixMicro()) / 1e6})
	return gate.Result{Text: text, Data: data}, err
}
