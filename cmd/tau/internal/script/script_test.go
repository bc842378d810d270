package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/cmd/tau/internal/fdio"
	"github.com/tau-robot/tau/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a gate's agent side: a "move" runs until it is released, stopped or
// cancelled; everything else answers at once.
type fake struct {
	began   chan string   // tools in the order in which they began
	release chan struct{} // lets a move end
	stops   chan struct{} // closed by the first stop
	stamped chan struct{} // each line that was read

	mu    sync.Mutex
	calls []gate.Invocation
	once  sync.Once
}

func newFake() *fake {
	return &fake{began: make(chan string, 64), release: make(chan struct{}), stops: make(chan struct{}),
		stamped: make(chan struct{}, 64)}
}

func (f *fake) Specs() []gate.Spec {
	return []gate.Spec{
		{Name: "move", Tier: gate.TierPhysical}, {Name: "state", Tier: gate.TierRead},
		{Name: "stop", Tier: gate.TierWrite}, {Name: "estop", Tier: gate.TierWrite},
	}
}

// Stamp counts the stops, and tells of itself.
func (f *fake) Stamp() gate.Stamp {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 1
	for _, inv := range f.calls {
		if inv.Tool == "stop" {
			n++
		}
	}
	select {
	case f.stamped <- struct{}{}:
	default:
	}
	return gate.Stamp(n)
}

func (f *fake) Call(ctx context.Context, inv gate.Invocation) gate.Answer {
	f.mu.Lock()
	f.calls = append(f.calls, inv)
	f.mu.Unlock()
	f.began <- inv.Tool
	a := gate.Answer{CallID: "bridge-id", Tool: inv.Tool, Status: gate.StatusOK, Text: "done", Approval: gate.ApprovalNone}
	switch inv.Tool {
	case "stop", "estop":
		f.once.Do(func() { close(f.stops) })
	case "move":
		select {
		case <-f.release:
			a.Approval, a.Result = gate.ApprovalExempt, json.RawMessage(`{"positions":{}}`)
		case <-f.stops:
			a.Status, a.Code = gate.StatusCancelled, gate.CodeStopped
		case <-ctx.Done():
			a.Status, a.Code = gate.StatusCancelled, gate.CodeCancelled
		}
	}
	return a
}

// Submit takes stops, which have been commanded when it returns.
func (f *fake) Submit(inv gate.Invocation) gate.Ticket {
	if inv.Tool != "stop" && inv.Tool != "estop" {
		panic("a script submits stops only")
	}
	return ticket{f.Call(context.Background(), inv)}
}

// ticket is a call that is over.
type ticket struct{ a gate.Answer }

func (ticket) ID() string            { return "" }
func (ticket) Cancel(string)         {}
func (x ticket) Answer() gate.Answer { return x.a }
func (ticket) Done() <-chan struct{} { ch := make(chan struct{}); close(ch); return ch }

func (f *fake) config(out io.Writer) Config {
	return Config{Caller: f, Session: "s", Principal: "p", Out: out, JSON: true}
}

func answers(t *testing.T, out []byte) []Answer {
	t.Helper()
	var as []Answer
	for l := range strings.Lines(string(out)) {
		d := json.NewDecoder(strings.NewReader(l))
		d.DisallowUnknownFields()
		var a Answer
		require.NoError(t, d.Decode(&a), l)
		as = append(as, a)
	}
	return as
}

func text(s string) io.ReadCloser { return io.NopCloser(strings.NewReader(s)) }

func TestAnswersInOrderWithExactlyTheContractsFields(t *testing.T) {
	f, out := newFake(), &bytes.Buffer{}
	close(f.release)
	sum, err := Run(t.Context(), text(`{"tool":"state","id":"a"}
{"tool":"move","arguments":{"x":1,"x":2}}

{"id":"c","arguments":{},"tool":"state"}`), f.config(out))
	require.NoError(t, err)
	require.Equal(t, Summary{Calls: 3}, sum)
	as := answers(t, out.Bytes())
	require.Equal(t, "a", as[0].ID)
	require.Equal(t, "bridge-id", as[1].ID, "a line without an id gets the bridge's")
	require.Equal(t, gate.ApprovalExempt, as[1].Approval)
	require.Equal(t, "c", as[2].ID)
	require.Equal(t, `{"x":1,"x":2}`, string(f.calls[1].Args), "arguments reach the gate as they were written")
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(strings.SplitN(out.String(), "\n", 2)[0]), &m))
	require.Len(t, m, 8)
	require.Equal(t, "{}", string(m["result"]))
}

// refusing is a gate that refuses everything for a limit.
type refusing struct{ *fake }

func (refusing) Call(context.Context, gate.Invocation) gate.Answer {
	return gate.Answer{
		CallID: "bridge-id", Status: gate.StatusRefused, Code: gate.CodeJointLimit, Text: "no", Approval: gate.ApprovalNone,
		Refusal: gate.Refusal{
			Where: "elbow", Value: &gate.Quantity{Name: "position", Value: 2.5, Unit: "rad"}, Limit: &gate.Quantity{Value: 2, Unit: "rad"},
			Nearest: []gate.Quantity{{Name: "elbow", Value: 2, Unit: "rad"}},
		},
	}
}

func TestARefusalsReasonIsInFields(t *testing.T) {
	out := &bytes.Buffer{}
	c := newFake().config(out)
	c.Caller = refusing{newFake()}
	_, err := Run(t.Context(), text(`{"tool":"state"}
not JSON`), c)
	require.NoError(t, err)
	lines := strings.Split(out.String(), "\n")
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &m))
	require.JSONEq(t, `{"code":"JOINT_LIMIT","where":"elbow","value":{"name":"position","value":2.5,"unit":"rad"},`+
		`"limit":{"value":2,"unit":"rad"},"nearest":[{"name":"elbow","value":2,"unit":"rad"}]}`, string(m["error"]))
	require.NoError(t, json.Unmarshal([]byte(lines[1]), &m))
	require.JSONEq(t, `{"code":"INVALID_ARGUMENT","where":""}`, string(m["error"]))
}

func TestGarbageLinesAreAnsweredAndTheScriptGoesOn(t *testing.T) {
	bad := []string{
		`nonsense`, `{`, `{"tool":}`, `null`, `42`, `"stop"`, `[]`, `[{"tool":"state"},7]`, `{}`, `[{"tool":"state"}] x`,
		`[{"tool":"state"},{"tool":1}]`, `[{"tool":"state"}`, `[[{"tool":"state"}]]`, `[` + strings.Repeat(`{"tool":"state"},`, 32) + `{"tool":"state"}]`,
		`{"tool":"state","tool":"move"}`, `{"tool":"state","approved":true}`, `{"tool":1}`,
		`{"tool":"state","id":7}`, `{"tool":"state"} {"tool":"state"}`, `{"tool":"state","arguments":{]}`,
		"\x00\xff", `{"tool":"state","id":"` + strings.Repeat("x", maxID+1) + `"}`,
		strings.Repeat("y", maxLine+1),
	}
	f, out := newFake(), &bytes.Buffer{}
	var in strings.Builder
	for _, b := range bad {
		in.WriteString(b + "\n" + `{"tool":"state"}` + "\n")
	}
	sum, err := Run(t.Context(), text(in.String()), f.config(out))
	require.NoError(t, err)
	require.Equal(t, Summary{Calls: 2 * len(bad), NotOK: len(bad)}, sum)
	as := answers(t, out.Bytes())
	for i, b := range bad {
		require.Equal(t, gate.CodeInvalidArgument, as[2*i].Code, "%.80q", b)
		require.Equal(t, gate.StatusError, as[2*i].Status)
		require.Contains(t, as[2*i].Text, fmt.Sprintf("line %d:", 2*i+1))
		require.Equal(t, gate.StatusOK, as[2*i+1].Status, "the line after %.80q", b)
	}
	require.Len(t, f.calls, len(bad))
}

func TestG6_AStopActsWhenItIsReadAndNothingReadBeforeItBegins(t *testing.T) {
	for _, stop := range []string{`stop`, `{"tool":"stop"}`, `{"tool":"estop","arguments":{"reason":`, `[{"tool":"stop"}]`, `{"tool":"stop","x":1,`} {
		f, out := newFake(), &bytes.Buffer{}
		r, w, err := os.Pipe()
		require.NoError(t, err)
		in, err := fdio.NewReader(r)
		require.NoError(t, err)
		done := make(chan Summary, 1)
		go func() {
			sum, err := Run(t.Context(), in, f.config(out))
			if err == nil {
				done <- sum
			}
			close(done)
		}()
		_, err = io.WriteString(w, `{"tool":"move","id":"1"}`+"\n"+`{"tool":"move","id":"2"}`+"\n"+`{"tool":"state","id":"3"}`+"\n")
		require.NoError(t, err)
		require.Equal(t, "move", <-f.began)
		_, err = io.WriteString(w, stop+"\n"+`{"tool":"state","id":"5"}`+"\n")
		require.NoError(t, err)
		require.NoError(t, w.Close())
		select {
		case sum := <-done:
			require.Equal(t, Summary{Calls: 5, NotOK: 2}, sum)
		case <-time.After(time.Minute):
			t.Fatalf("%q did not stop the running move", stop)
		}
		as := answers(t, out.Bytes())
		require.Equal(t, gate.CodeStopped, as[0].Code)
		require.Equal(t, gate.CodeStopped, as[1].Code, "a queued move is not run")
		require.Contains(t, as[1].Text, "not run")
		require.Equal(t, gate.StatusOK, as[2].Status, "reading is harmless")
		require.Contains(t, as[3].Tool, "stop")
		require.Equal(t, gate.StatusOK, as[4].Status)
		moves := 0
		for _, c := range f.calls {
			if c.Tool == "move" {
				moves++
			}
		}
		require.Equal(t, 1, moves)
		require.NoError(t, r.Close())
	}
}

func TestAMoveAfterTheStopRuns(t *testing.T) {
	f, out := newFake(), &bytes.Buffer{}
	f.stops = make(chan struct{}, 1)
	f.once.Do(func() {}) // this fake's stop stops nothing
	close(f.release)
	sum, err := Run(t.Context(), text("stop\n{\"tool\":\"move\"}\n"), f.config(out))
	require.NoError(t, err)
	require.Equal(t, Summary{Calls: 2}, sum)
}

func TestCancellingEndsTheRunningCallAndAnswersIt(t *testing.T) {
	f, out := newFake(), &bytes.Buffer{}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	in, err := fdio.NewReader(r)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, err := Run(ctx, in, f.config(out)); done <- err }()
	_, err = io.WriteString(w, "{\"tool\":\"move\"}\n{\"tool\":\"move\"}\n")
	require.NoError(t, err)
	<-f.began
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	as := answers(t, out.Bytes())
	require.Len(t, as, 1)
	require.Equal(t, gate.CodeCancelled, as[0].Code)
	require.NoError(t, w.Close())
	require.NoError(t, r.Close())
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("nobody reads") }

func TestAnAnswerThatCantBeWrittenEndsTheScript(t *testing.T) {
	f := newFake()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	in, err := fdio.NewReader(r)
	require.NoError(t, err)
	_, err = io.WriteString(w, "{\"tool\":\"state\"}\n{\"tool\":\"state\"}\n")
	require.NoError(t, err)
	sum, err := Run(t.Context(), in, f.config(broken{})) // w stays open: a blocked read must end
	require.ErrorContains(t, err, "nobody reads")
	require.Equal(t, 1, sum.Calls)
	require.NoError(t, w.Close())
	require.NoError(t, r.Close())
}

func TestPlainText(t *testing.T) {
	f, out := newFake(), &bytes.Buffer{}
	c := f.config(out)
	c.JSON = false
	_, err := Run(t.Context(), text("{\"tool\":\"state\"}\n\x1b[2K\n"), c)
	require.NoError(t, err)
	require.Equal(t, "✓ state: done\n✗ line 2: want an object {\"tool\":\"…\",\"arguments\":{…},\"id\":\"…\"}, or an array of them\n", out.String())
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`stop`, `{"tool":"x"}`, `{"tool":"x","arguments":{"a":[1,2]},"id":"i"}`, `{"tool":"stop","arguments":`,
		`[{"tool":"estop"}]`, `[{"tool":"a"},{"tool":"b","arguments":{}}]`, `[{"tool":"a"},`, `{"tool":"\ud800"}`, "\xff", `{"tool" : "stop" }}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		calls, err := parse(1, b)
		var le *lineError
		if err != nil && !errors.As(err, &le) {
			t.Fatalf("%q: an error without its line: %v", b, err)
		}
		if err == nil && (len(calls) == 0 || len(calls) > gate.MaxBatch) {
			t.Fatalf("%q is %d calls", b, len(calls))
		}
		for _, c := range calls {
			if err == nil && c.tool == "" {
				t.Fatalf("%q is a call without a tool", b)
			}
			if err == nil && len(c.args) > 0 && !json.Valid(c.args) && json.Valid(b) {
				t.Fatalf("%q: arguments %q", b, c.args)
			}
		}
	})
}

// A line counts from when it was read, however long it waits behind another; the stop
// on a line has acted before the next one is read.
func TestG6_ALineCountsFromItsReading(t *testing.T) {
	f, out := newFake(), &bytes.Buffer{}
	in, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := Run(t.Context(), in, f.config(out))
		ended <- err
	}()
	say := func(line string) {
		_, err := io.WriteString(w, line+"\n")
		require.NoError(t, err)
		<-f.stamped
	}
	say(`{"tool":"move"}`)
	require.Equal(t, "move", <-f.began)
	say(`{"tool":"state","id":"waits"}`)
	f.Call(t.Context(), gate.Invocation{Tool: "stop"}) // from elsewhere
	say(`{"tool":"state","id":"later"}`)
	say(`{"tool":"stop"}`)
	say(`{"tool":"state","id":"last"}`)
	require.NoError(t, w.Close())
	require.NoError(t, <-ended)
	got := map[string]gate.Stamp{}
	for _, inv := range f.calls {
		if inv.Tool == "state" {
			got[inv.ToolUseID] = inv.Taken
		}
	}
	require.Equal(t, map[string]gate.Stamp{"waits": 1, "later": 2, "last": 3}, got)
}
