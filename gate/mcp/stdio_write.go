package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Write implements [sdk.Connection]: answers and progress of the SDK. It never waits
// for the client to read, and what can't be written any more is no error to the SDK,
// which would cancel its calls: that is for whoever stops the robot first.
func (c *stdio) Write(_ context.Context, msg jsonrpc.Message) error {
	switch m := msg.(type) {
	case *jsonrpc.Response:
		return c.answer(m)
	case *jsonrpc.Request:
		if m.IsCall() {
			return fmt.Errorf("mcp: %s: this server asks its clients nothing", m.Method)
		}
		b, err := jsonrpc.EncodeMessage(m)
		if err != nil {
			return err
		}
		if err := c.out.put(b, true); err != nil {
			c.srv.log.Debug("mcp: progress was not written", "error", err)
		}
		return nil
	}
	return fmt.Errorf("mcp: a message of type %T", msg)
}

// answer ends an exchange.
func (c *stdio) answer(r *jsonrpc.Response) error {
	c.mu.Lock()
	e := c.open[r.ID]
	delete(c.open, r.ID)
	if e != nil && !e.moves {
		if c.reading--; c.reading == 0 && c.quiet != nil {
			close(c.quiet)
			c.quiet = nil
		}
	}
	if r.ID == c.initialize && r.Error == nil && c.negotiated == "" {
		var init struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		if err := json.Unmarshal(r.Result, &init); err == nil {
			c.negotiated = init.ProtocolVersion
		}
	}
	c.mu.Unlock()
	if e == nil {
		c.srv.log.Error("mcp: an answer to a request that isn't open", "id", r.ID.Raw())
		return nil
	}
	defer c.srv.end(false)
	var line []byte
	if !e.cancelled {
		var err error
		if line, err = encode(r); err != nil {
			return err
		}
	}
	c.place(line, e.batch, e.slot)
	return nil
}

// encode writes an answer. What the SDK refuses without a code of its own is an
// invalid request: the code 0 means nothing.
func encode(r *jsonrpc.Response) ([]byte, error) {
	var wire *jsonrpc.Error
	if r.Error != nil && (!errors.As(r.Error, &wire) || wire.Code == 0) {
		r = &jsonrpc.Response{ID: r.ID, Error: &jsonrpc.Error{Code: rpcInvalidRequest, Message: r.Error.Error()}}
	}
	b, err := jsonrpc.EncodeMessage(r)
	if err != nil { // what isn't JSON in there would be a tool's, which the gate has checked
		return jsonrpc.EncodeMessage(&jsonrpc.Response{
			ID: r.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the answer could not be written"},
		})
	}
	return b, nil
}

// place puts an answer where it belongs; nil is none.
func (c *stdio) place(line []byte, b *outBatch, slot int) {
	if b != nil {
		line = b.set(slot, line)
	}
	c.put(line)
}

// put sends a line. Where that fails nothing else is touched, a call or a stop least
// of all: ServeStdio ends with the error.
func (c *stdio) put(line []byte) {
	if line == nil {
		return
	}
	if err := c.out.put(line, false); err != nil {
		c.srv.log.Debug("mcp: an answer was not written", "error", err)
	}
}

// say answers without the SDK.
func (c *stdio) say(id jsontext.Value, result any, rerr *rpcError) {
	c.reply(id, result, rerr, nil, 0)
}

// reply is say, into a batch if there is one.
func (c *stdio) reply(id jsontext.Value, result any, rerr *rpcError, b *outBatch, slot int) {
	line, err := rpcMessage(id, result, rerr)
	if err != nil { // the id was parsed, the rest is ours
		c.srv.log.Error("mcp: an answer could not be encoded", "error", err)
		return
	}
	c.place(line, b, slot)
}
