package mcp

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/stopscan"
)

// maxStopArgs bounds what is kept of a stop's arguments when they can't be parsed.
const maxStopArgs = 4096

// intake is one body or line on its way in. The stops in it have acted when take
// returns, or feed, if they are behind what was kept: before the SDK and its
// sessions, limits and headers, and whatever else is wrong with it (G6). A client
// that goes away doesn't take its stop with it.
type intake struct {
	t     *tenant
	taken gate.Stamp // of all its calls, from before its own stops act
	msgs  []message  // as far as they could be read, the last one perhaps incomplete
	batch bool
	err   error     // why it is refused; nil: it isn't
	stops []stopped // that have acted; in the order of the messages, then what feed found

	scan  *stopscan.Scanner // nil: there is nothing left to look for
	acted string            // the strongest stop so far
}

// stopped is a stop that was commanded and whose verdicts come in.
type stopped struct {
	msg    int // its place in the body's messages; -1: it was found in what can't be read
	tool   string
	ticket gate.Ticket
}

// answer waits for the verdicts, which the gate bounds.
func (s stopped) answer() gate.Answer {
	<-s.ticket.Done()
	return s.ticket.Answer()
}

// take reads a body that came in at taken; whole is why it isn't complete, if it
// isn't. Of several stops
// an estop acts first, and none waits for another's verdicts.
func (t *tenant) take(taken gate.Stamp, body []byte, whole error) *intake {
	in := &intake{t: t, taken: taken}
	in.msgs, in.batch, in.err = parseBody(body)
	if whole != nil {
		in.err = whole
	}
	for _, tool := range []string{toolEStop, toolStop} {
		for i, m := range in.msgs {
			if m.tool == tool && (m.method == methodCall || m.method == "" && in.err != nil) {
				in.act(i, m.tool, m.args, m.id)
			}
		}
	}
	slices.SortFunc(in.stops, func(a, b stopped) int { return a.msg - b.msg })
	if in.err == nil {
		return in
	}
	// What a parser hasn't reached is looked at without one. A message that broke off
	// behind its tool's name has said what it is; in a batch others may follow.
	var seen int64
	if n := len(in.msgs); n > 0 {
		last := in.msgs[n-1]
		if last.end == 0 && last.tool != "" && !in.batch {
			return in
		}
		seen = max(last.start, last.end)
	}
	in.scan = stopscan.New(stopscan.MCP())
	in.feed(body[seen:])
	return in
}

// feed looks for a stop in the next bytes of a body that can't be read, or of which
// no more is kept.
func (in *intake) feed(part []byte) {
	if in.scan == nil {
		return
	}
	in.scan.Feed(part)
	if tool := in.scan.Found(); stopscan.Stronger(tool, in.acted) {
		in.act(-1, tool, nil, nil)
	}
}

// act stops. The stop has been commanded when it returns.
func (in *intake) act(msg int, tool string, args []byte, id jsontext.Value) {
	if len(args) > maxStopArgs {
		args = args[:maxStopArgs]
	}
	if stopscan.Stronger(tool, in.acted) {
		in.acted = tool
	}
	in.stops = append(in.stops, stopped{msg, tool, in.t.srv.caller.Submit(gate.Invocation{
		Tool: tool, Args: args, ToolUseID: idText(id),
		Session: in.t.session, Principal: in.t.principal, Origin: origin,
	})})
}

// asksStop reports whether one stop is all that was asked for, in a form that would be
// refused: its verdict is then the answer.
func (in *intake) asksStop() bool {
	return in.err != nil && len(in.msgs) == 1 && len(in.stops) == 1 && (in.stops[0].msg == 0 || in.msgs[0].end == 0 && in.msgs[0].tool == "")
}

// refusal is the error to answer with; it says whether a stop was carried out.
func (in *intake) refusal() *rpcError {
	code := rpcInvalidRequest
	if len(in.msgs) == 0 || in.msgs[len(in.msgs)-1].method == "" {
		code = rpcParseError
	}
	return &rpcError{Code: code, Message: in.err.Error() + in.note()}
}

// note is what is said of the stops in something that is otherwise refused.
func (in *intake) note() string {
	if len(in.stops) == 0 || in.err == nil {
		return ""
	}
	in.t.srv.log.Warn("mcp: a stop came in a message that is otherwise refused", "tool", in.acted, "error", in.err)
	return fmt.Sprintf("; the %s in it was carried out", in.acted)
}
