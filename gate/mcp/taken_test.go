package mcp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/gatetest"
)

// lateCaller is a gate that the SDK's handlers get to late: each call but a stop waits
// in front of it until it is let go.
type lateCaller struct {
	gate.Caller
	stamped chan struct{} // each stamp that was taken
	held    chan string
	free    chan struct{} // closed to let all go
}

func newLate(g gate.Caller) *lateCaller {
	return &lateCaller{g, make(chan struct{}, 64), make(chan string, 64), make(chan struct{})}
}

func (l *lateCaller) Stamp() gate.Stamp {
	defer func() { l.stamped <- struct{}{} }()
	return l.Caller.Stamp()
}

func (l *lateCaller) Submit(inv gate.Invocation) gate.Ticket {
	if inv.Tool != "stop" && inv.Tool != "estop" {
		l.held <- inv.Tool
		<-l.free
	}
	return l.Caller.Submit(inv)
}

// oneMove is a gate that approves one motion, whose arm is at its goal at once.
func oneMove(t *testing.T) *realRig {
	t.Helper()
	r := newGate(t, gatetest.Script(t, gatetest.Approve()))
	for range cap(r.arm.finish) {
		r.arm.finish <- struct{}{}
	}
	return r
}

const aMove = `{"positions":{"a":0.5}}`

// A call whose line was read before a stop's doesn't run after it, however late the SDK
// brings it to the gate; one behind the stop's verdict does.
func TestG6_OverStdioACallInFrontOfAStopIsOvertaken(t *testing.T) {
	revisions(t, func(t *testing.T, version string) {
		late := newLate(oneMove(t).gate)
		w := stdio(t, late, nil).read().begin(version)
		w.send(toolCall("1", "move_joints", aMove, version, "") + "\n" + toolCall("2", "stop", `{}`, version, ""))
		waitFor(t, late.held, "the call")
		stop := w.next()
		require.Equal(t, "2", string(stop.ID))
		require.False(t, stop.Result.IsError, stop.raw)
		close(late.free)
		require.Contains(t, w.line(), `"code":"STOPPED"`)
		w.send(toolCall("3", "move_joints", aMove, version, ""))
		require.Contains(t, w.line(), `"status":"ok"`, "it came behind the stop's verdict")
	})
}

// The stop of a batch ends its other calls, in front of it and behind it: all of them
// were taken in before it acted.
func TestG6_AStopEndsTheOtherCallsOfItsBatch(t *testing.T) {
	const version = "2025-03-26"
	batch := `[` + toolCall("1", "move_joints", aMove, version, "") + `,` + toolCall("2", "stop", `{}`, version, "") + `,` +
		toolCall("3", "move_joints", aMove, version, "") + `,` + toolCall("4", "session_status", `{}`, version, "") + `]`
	check := func(t *testing.T, answers map[string]sdk.CallToolResult) {
		t.Helper()
		for id, want := range map[string]string{"1": "STOPPED", "2": "", "3": "STOPPED", "4": ""} {
			res := answers[id]
			a := decode(t, &res)
			require.Equal(t, want, string(a.Code), "%s: %s", id, a.Text)
		}
	}
	t.Run("stdio", func(t *testing.T) {
		w := stdio(t, oneMove(t).gate, nil).read().begin(version)
		w.send(batch)
		var all []struct {
			ID     json.RawMessage
			Result sdk.CallToolResult
		}
		require.NoError(t, json.Unmarshal([]byte(w.line()), &all))
		answers := map[string]sdk.CallToolResult{}
		for _, m := range all {
			answers[string(m.ID)] = m.Result
		}
		check(t, answers)
		w.send(`[` + toolCall("5", "move_joints", aMove, version, "") + `]`)
		require.Contains(t, w.line(), `"status":"ok"`)
	})
	t.Run("HTTP", func(t *testing.T) {
		b := serve(t, oneMove(t).gate, nil)
		head := b.head(t, b.alice, version, "")
		code, body := b.post(t, b.alice, batch, head)
		require.Equal(t, http.StatusOK, code, body)
		answers := map[string]sdk.CallToolResult{}
		for line := range strings.Lines(body) {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			var m struct {
				ID     json.RawMessage
				Result sdk.CallToolResult
			}
			require.NoError(t, json.Unmarshal([]byte(data), &m), data)
			answers[string(m.ID)] = m.Result
		}
		check(t, answers)
		_, body = b.post(t, b.alice, `[`+toolCall("5", "move_joints", aMove, version, "")+`]`, head)
		require.Contains(t, body, `"status":"ok"`)
	})
}

// Over HTTP a call counts from when its request began, however late its body comes and
// the SDK brings it to the gate.
func TestG6_OverHTTPARequestInFrontOfAStopIsOvertaken(t *testing.T) {
	revisions(t, func(t *testing.T, version string) {
		late := newLate(oneMove(t).gate)
		b := serve(t, late, nil)
		head, stopHead := b.head(t, b.alice, version, "move_joints"), b.head(t, b.bob, version, "stop")
		for len(late.stamped) > 0 {
			<-late.stamped
		}
		body, rest := io.Pipe()
		answered := make(chan string, 2)
		post := func(body io.Reader) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url, body)
			if err != nil {
				answered <- err.Error()
				return
			}
			req.Header.Set("Authorization", "Bearer "+b.alice.Bearer())
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			// What a client says of it counts for nothing.
			req.Header.Set("Tau-Internal-Taken", "2")
			head(req)
			resp, err := b.client.Do(req)
			if err != nil {
				answered <- err.Error()
				return
			}
			all, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil {
				all = []byte(err.Error())
			}
			answered <- string(all)
		}
		call, slow := toolCall("1", "move_joints", aMove, version, ""), toolCall("3", "move_joints", aMove, version, "")
		go post(strings.NewReader(call))
		waitFor(t, late.held, "the call")
		waitFor(t, late.stamped, "its stamp")
		go post(body) // this one is still on its way
		_, err := io.WriteString(rest, slow[:len(slow)/2])
		require.NoError(t, err)
		waitFor(t, late.stamped, "the other's stamp")

		code, text := b.post(t, b.bob, toolCall("2", "stop", `{}`, version, ""), stopHead)
		require.Equal(t, http.StatusOK, code, text)
		_, err = io.WriteString(rest, slow[len(slow)/2:])
		require.NoError(t, err)
		require.NoError(t, rest.Close())
		close(late.free)
		for range 2 {
			require.Contains(t, waitFor(t, answered, "an answer"), `"code":"STOPPED"`)
		}
		_, text = b.post(t, b.alice, call, head)
		require.Contains(t, text, `"status":"ok"`, "it came behind the stop's verdict")
	})
}
