package mcp

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tau-robot/tau/gate"
)

// maxStopArgs bounds what is kept of a stop's arguments when they can't be parsed.
const maxStopArgs = 4096

// stop finds the stops in a body and acts on them at once (G6): before the SDK and
// its sessions, limits and headers, and whatever else is wrong with the body. A
// client that goes away doesn't take its stop with it.
func (t *tenant) stop(ctx context.Context, body []byte, msgs []message, perr error) (done []gate.Answer) {
	act := func(tool string, args []byte, id jsontext.Value) {
		if len(args) > maxStopArgs {
			args = args[:maxStopArgs]
		}
		done = append(done, t.srv.caller.Call(context.WithoutCancel(ctx), gate.Invocation{
			Tool: tool, Args: args, ToolUseID: idText(id),
			Session: t.session, Principal: t.principal, Origin: origin,
		}))
	}
	named := false
	for _, m := range msgs {
		named = named || m.tool != ""
		if isStop(m.tool) && (m.method == methodCall || m.method == "" && perr != nil) {
			act(m.tool, m.args, m.id)
		}
	}
	if perr != nil && !named {
		if tool := looseStop(body); tool != "" {
			act(tool, nil, nil)
		}
	}
	return done
}

// writeStop answers the request of a stop that has been done, without the SDK.
func writeStop(w http.ResponseWriter, modern bool, id jsontext.Value, a gate.Answer) {
	if id == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	text, data, second, isError := content(a)
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	result := struct {
		Content           []block         `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent"`
		IsError           bool            `json:"isError,omitempty"`
		ResultType        string          `json:"resultType,omitempty"`
	}{Content: []block{{"text", text}}, StructuredContent: data, IsError: isError}
	if second {
		result.Content = append(result.Content, block{"text", string(data)})
	}
	if modern {
		result.ResultType = "complete"
	}
	writeRPC(w, http.StatusOK, id, result, nil)
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// The codes of JSON-RPC 2.0 that are used here.
const (
	rpcParseError     = -32700
	rpcInvalidRequest = -32600
)

func writeRPC(w http.ResponseWriter, status int, id jsontext.Value, result any, rerr *rpcError) {
	if id == nil {
		id = jsontext.Value("null")
	}
	b, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result,omitempty"`
		Error   *rpcError       `json:"error,omitempty"`
	}{"2.0", json.RawMessage(id), result, rerr})
	if err != nil { // the id was parsed, the rest is ours
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that is gone has its stop all the same
}

// idText is a request id as the log shows it.
func idText(id jsontext.Value) string {
	if id.Kind() == '"' {
		if b, err := jsontext.AppendUnquote(nil, id); err == nil {
			return string(b)
		}
	}
	return string(id)
}
