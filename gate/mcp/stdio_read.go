package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tau-robot/tau/gate"
)

const (
	methodInitialize = "initialize"
	methodCancelled  = "notifications/cancelled"

	// batchFrom and batchUntil are the revisions between which a line may hold a batch.
	batchFrom  = "2025-03-26"
	batchUntil = "2025-06-18"
)

// read takes lines until the input ends. What is there of a line is looked at as it
// comes: a stop on a line that is too long doesn't wait for the line's end.
func (c *stdio) read() error {
	buf := make([]byte, 64<<10)
	var l lineSoFar
	for {
		n, err := c.in.Read(buf)
		part := buf[:n]
		for len(part) > 0 {
			head, rest, ends := bytes.Cut(part, []byte{'\n'})
			c.add(&l, head)
			if ends {
				c.take(&l)
			}
			part = rest
		}
		switch {
		case errors.Is(err, io.EOF):
			c.take(&l) // or what is there of the last one
			return nil
		case err != nil:
			if l.in == nil {
				c.t.take(c.srv.caller.Stamp(), l.body, err) // for a stop in it
			}
			return err
		}
	}
}

// lineSoFar is what came of a line.
type lineSoFar struct {
	body []byte
	in   *intake // set once it is longer than what is kept
}

func (c *stdio) add(l *lineSoFar, part []byte) {
	if l.in != nil {
		l.in.feed(part)
		return
	}
	room := c.srv.maxBody - int64(len(l.body))
	if int64(len(part)) <= room {
		l.body = append(l.body, part...)
		return
	}
	l.body = append(l.body, part[:room]...)
	l.in = c.t.take(c.srv.caller.Stamp(), l.body, fmt.Errorf("a line of more than %d bytes", c.srv.maxBody))
	l.in.feed(part[room:])
}

// take serves the line that has ended; an empty one is nothing.
func (c *stdio) take(l *lineSoFar) {
	body, in := bytes.TrimSuffix(l.body, []byte{'\r'}), l.in
	*l = lineSoFar{}
	if in == nil {
		if len(bytes.TrimSpace(body)) == 0 {
			return
		}
		in = c.t.take(c.srv.caller.Stamp(), body, nil)
	}
	c.line(in, body)
}

// line answers a line, or hands it to the SDK.
func (c *stdio) line(in *intake, body []byte) {
	if in.err == nil && in.batch {
		in.err = c.refuseBatch(in.msgs)
	}
	switch {
	case in.err != nil:
		c.refuse(in)
	case in.batch:
		c.batch(in, body)
	default:
		for _, s := range in.stops {
			c.answerStop(s, in.msgs[0], nil, 0)
			return
		}
		c.hand(in, in.msgs[0], body, nil, 0)
	}
}

// refuse answers a line that isn't a message or a batch of them.
func (c *stdio) refuse(in *intake) {
	var last message
	if n := len(in.msgs); n > 0 {
		last = in.msgs[n-1]
	}
	if in.asksStop() && last.id != nil && !c.inUse(last.id) {
		c.answerStop(in.stops[0], last, nil, 0)
		return
	}
	c.srv.log.Warn("mcp: a line was refused", "error", in.err)
	rerr := in.refusal()
	if last.isReply {
		return // an answer is never answered
	}
	var id jsontext.Value
	if !in.batch && !c.inUse(last.id) {
		id = last.id
	}
	c.say(id, nil, rerr)
}

// inUse reports whether an open request has that id, so that an answer with it would
// be taken for that request's.
func (c *stdio) inUse(id jsontext.Value) bool {
	key, ok := rpcID(id)
	c.mu.Lock()
	defer c.mu.Unlock()
	return ok && c.open[key] != nil
}

func usedTwice(id jsontext.Value) string {
	return fmt.Sprintf("the id %s belongs to a request that is still open", id)
}

// rpcID is an id as the SDK knows it.
func rpcID(id jsontext.Value) (jsonrpc.ID, bool) {
	if id == nil {
		return jsonrpc.ID{}, false
	}
	var v any
	if err := json.Unmarshal(id, &v); err != nil {
		return jsonrpc.ID{}, false
	}
	key, err := jsonrpc.MakeID(v)
	return key, err == nil && key.IsValid()
}

// refuseBatch says why a batch isn't taken.
func (c *stdio) refuseBatch(msgs []message) error {
	c.mu.Lock()
	v := c.negotiated
	c.mu.Unlock()
	if v == "" {
		v = "a session that hasn't begun"
	} else if v >= batchFrom && v < batchUntil {
		for _, m := range msgs {
			if m.method == methodInitialize {
				return errors.New("initialize can't be part of a batch")
			}
		}
		return nil
	}
	return fmt.Errorf("a batch: %s has none", v)
}

// batch hands a batch on, one message after another.
func (c *stdio) batch(in *intake, body []byte) {
	b := &outBatch{left: 1}
	slots := make([]int, len(in.msgs))
	for i, m := range in.msgs {
		if m.id != nil {
			slots[i] = b.left - 1
			b.left++
		}
	}
	b.parts = make([]json.RawMessage, b.left) // the last one holds the batch open until all of it is handed on
	stops := make(map[int]stopped, len(in.stops))
	for _, s := range in.stops {
		stops[s.msg] = s
	}
	for i, m := range in.msgs {
		if s, ok := stops[i]; ok {
			c.answerStop(s, m, b, slots[i])
			continue
		}
		c.hand(in, m, body, b, slots[i])
	}
	c.put(b.set(len(b.parts)-1, nil))
}

// answerStop answers a stop that has acted, once its verdicts are in.
func (c *stdio) answerStop(s stopped, m message, b *outBatch, slot int) {
	if m.id == nil {
		return
	}
	if c.inUse(m.id) {
		c.reply(nil, nil, &rpcError{rpcInvalidRequest, usedTwice(m.id) + "; the " + s.tool + " was carried out"}, b, slot)
		return
	}
	c.stops <- struct{}{}
	c.tasks.Go(func() {
		defer func() { <-c.stops }()
		c.reply(m.id, stopResult(m.modern(), s.answer()), nil, b, slot)
	})
}

// hand gives the SDK a message of a line that is no stop, its arguments and the stamp
// of the line on their way around it.
func (c *stdio) hand(in *intake, m message, body []byte, b *outBatch, slot int) {
	own := withoutArgs(body, m)
	decoded, err := jsonrpc.DecodeMessage(own)
	req, ok := decoded.(*jsonrpc.Request)
	if err != nil || !ok {
		if m.id == nil {
			c.srv.log.Warn("mcp: a notification that can't be read", "method", m.method, "error", err)
			return
		}
		c.reply(m.id, nil, &rpcError{rpcInvalidRequest, fmt.Sprintf("not a request: %v", err)}, b, slot)
		return
	}
	if m.method == methodCall {
		req.Extra = &sdk.RequestExtra{Header: http.Header{
			headerRequestID: {idText(m.id)}, headerArgs: {string(m.args)}, headerTaken: {stampText(in.taken)},
		}}
	}
	if req.IsCall() {
		if rerr := c.begin(req, m, b, slot); rerr != nil {
			id := m.id
			if rerr.Code == rpcInvalidRequest {
				id = nil // it would be taken for the other one's answer
			}
			c.reply(id, nil, rerr, b, slot)
			return
		}
	} else if m.method == methodCancelled {
		c.cancelled(own)
	}
	select {
	case c.incoming <- req:
	case <-c.done:
	}
}

// begin enters a request among the open ones, unless that can't be.
func (c *stdio) begin(req *jsonrpc.Request, m message, b *outBatch, slot int) *rpcError {
	tier, known := c.srv.tiers[m.tool]
	e := &exchange{batch: b, slot: slot, moves: m.method == methodCall && known && tier == gate.TierPhysical}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.open[req.ID] != nil:
		return &rpcError{rpcInvalidRequest, usedTwice(m.id)}
	case len(c.open) >= c.srv.maxRequests:
		return &rpcError{rpcBusy, fmt.Sprintf("%d requests are open, and that is the limit", c.srv.maxRequests)}
	case !c.srv.begin(false):
		return &rpcError{rpcBusy, errShutdown.Error()}
	}
	c.open[req.ID] = e
	if !e.moves {
		c.reading++
	}
	if m.method == methodInitialize {
		c.initialize = req.ID
	}
	return nil
}

// cancelled notes that the client wants no answer to a request any more.
func (c *stdio) cancelled(notification []byte) {
	var n struct {
		Params struct {
			RequestID jsontext.Value `json:"requestId"`
		} `json:"params"`
	}
	if err := json.Unmarshal(notification, &n); err != nil {
		return // the SDK ignores it as well
	}
	key, ok := rpcID(n.Params.RequestID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.open[key]; ok && e != nil && key != c.initialize {
		e.cancelled = true
	}
}
