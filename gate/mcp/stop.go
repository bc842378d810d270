package mcp

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tau-robot/tau/gate"
)

// batchStops are the stops of a batch, which have acted, on their way around the
// SDK: it calls a tool for each of them, and that must not act again.
type batchStops struct {
	mu   sync.Mutex
	left []stopped
}

// next takes the next stop of a tool.
func (b *batchStops) next(tool string) (stopped, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, s := range b.left {
		if s.tool == tool {
			b.left = append(b.left[:i:i], b.left[i+1:]...)
			return s, true
		}
	}
	return stopped{}, false
}

// keep holds the stops of a batch until its request is over and returns the key that
// finds them.
func (t *tenant) keep(stops []stopped) (key string, drop func()) {
	key = rand.Text()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.batches[key] = &batchStops{left: stops}
	return key, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.batches, key)
	}
}

// kept finds a stop of the batch that a request came in.
func (t *tenant) kept(h http.Header, tool string) (stopped, bool) {
	t.mu.Lock()
	b := t.batches[h.Get(headerStops)]
	t.mu.Unlock()
	if b == nil {
		return stopped{}, false
	}
	return b.next(tool)
}

// stopResult is the result of a stop that has acted, without the SDK.
func stopResult(modern bool, a gate.Answer) any {
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
	return result
}

// writeStop answers the request of a stop over HTTP.
func writeStop(w http.ResponseWriter, modern bool, id jsontext.Value, a gate.Answer) {
	if id == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	writeRPC(w, http.StatusOK, id, stopResult(modern, a), nil)
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// The codes of JSON-RPC 2.0 that are used here, and one of those left to servers.
const (
	rpcParseError     = -32700
	rpcInvalidRequest = -32600
	rpcBusy           = -32000
)

// rpcMessage is an answer of ours: a result, or an error, to a request id or to null.
func rpcMessage(id jsontext.Value, result any, rerr *rpcError) ([]byte, error) {
	if id == nil {
		id = jsontext.Value("null")
	}
	return json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Result  any             `json:"result,omitempty"`
		Error   *rpcError       `json:"error,omitempty"`
	}{"2.0", json.RawMessage(id), result, rerr})
}

func writeRPC(w http.ResponseWriter, status int, id jsontext.Value, result any, rerr *rpcError) {
	b, err := rpcMessage(id, result, rerr)
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
