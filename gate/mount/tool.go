package mount

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tau-robot/tau/gate"
)

// maxResult bounds what a mounted tool may answer, bytes of JSON. More is left out
// whole.
const maxResult = 8 << 20

// tool is one tool of a mounted server.
type tool struct {
	s    *Server
	name string // the server's
	rule Rule
	spec gate.Spec
}

var _ gate.Tool = (*tool)(nil)

func (s *Server) tool(name string, r Rule, t *sdk.Tool) (*tool, error) {
	raw, err := json.Marshal(t.InputSchema)
	if err != nil {
		return nil, err
	}
	if t.InputSchema == nil {
		raw = nil
	}
	in, err := arguments(raw, r.Arguments)
	if err != nil {
		return nil, err
	}
	if r.Kind == KindFetch && !hasText(in, r.URLArgument) {
		return nil, fmt.Errorf("url_argument: the tool has no required text argument %q", r.URLArgument)
	}
	tier, _ := tierOf(*r.Tier) // Check has held it
	return &tool{s: s, name: name, rule: r, spec: gate.Spec{
		Name: s.m.Name + "_" + strings.ReplaceAll(name, ".", "_"), Description: r.Description, Effect: r.Effect, Tier: tier,
		Input: in,
		Output: gate.Obj(gate.Req("server", gate.Str(0)), gate.Opt("content", gate.Arr(gate.Any(), 0, 0)),
			gate.Opt("structured", gate.Any())),
	}}, nil
}

func hasText(s *gate.Schema, name string) bool {
	for _, p := range s.Properties {
		if p.Name == name {
			return p.Required && p.Schema.Kind == gate.KindString && len(p.Schema.Enum) == 0
		}
	}
	return false
}

func (t *tool) Spec() gate.Spec { return t.spec }

// Prepare holds the call against the manifest. It sends nothing to the server but, for a
// physical call, the question whether the tool is still what it was.
func (t *tool) Prepare(ctx context.Context, call gate.Call) (gate.Action, error) {
	a := &action{t: t, Tool: t.spec.Name, Args: call.Args}
	a.who = t.s.identity()
	if err := t.admit(call.Args); err != nil {
		return nil, err
	}
	if _, err := t.s.same(ctx, t.name, t.spec.Tier == gate.TierPhysical); err != nil {
		return nil, err
	}
	return a, nil
}

// admit refuses an address that the manifest doesn't list.
func (t *tool) admit(args json.RawMessage) error {
	if t.rule.Kind != KindFetch {
		return nil
	}
	var fields map[string]json.RawMessage
	var address string
	if err := json.Unmarshal(args, &fields); err != nil {
		return gate.Errf(gate.CodeInvalidArgument, t.rule.URLArgument, "%w", err)
	}
	if err := json.Unmarshal(fields[t.rule.URLArgument], &address); err != nil {
		return gate.Errf(gate.CodeInvalidArgument, t.rule.URLArgument, "is not a text")
	}
	if err := allowed(t.rule.Allow, address); err != nil {
		return gate.Errf(gate.CodeInvalidArgument, t.rule.URLArgument, "%w; it was not fetched", err)
	}
	return nil
}

// Restore makes the same call again.
func (t *tool) Restore(_ context.Context, snapshot []byte) (gate.Action, error) {
	a := &action{t: t}
	if err := json.Unmarshal(snapshot, a); err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "%w", err)
	}
	if a.Tool != t.spec.Name {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "is of another tool")
	}
	a.who = t.s.identity()
	return a, t.admit(a.Args)
}

func (s *Server) identity() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.who
}

// action is a call that is ready to be sent. It is immutable.
type action struct {
	t    *tool
	who  string
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"arguments"`
}

var _ gate.Action = (*action)(nil)

// Card says who is going to be asked; the arguments stand on the card anyway.
func (a *action) Card() gate.Card {
	m := &a.t.s.m
	at := m.URL
	if at == "" {
		at = strings.Join(m.Command, " ")
	}
	return gate.Card{
		Facts: []gate.Fact{
			{Label: "Mounted server", Text: fmt.Sprintf("%s, tool %s, at %s", m.Name, a.t.name, at)},
			{Label: "Says it is", Text: a.who},
			{Label: "Rehearsal", Text: "none: what another program does can't be rehearsed"},
		},
		Assumed: []string{"what the tool does: it is what the settings say of it"},
	}
}

// Digest covers the manifest's entry, the tool as the server described it, who answers
// there, and the arguments.
func (a *action) Digest() [32]byte {
	s := a.t.s
	s.mu.Lock()
	pin := s.pins[a.t.name]
	s.mu.Unlock()
	b := append([]byte("tau mounted call 1\x00"), s.hash[:]...)
	b = append(b, pin[:]...)
	for _, f := range []string{a.t.name, a.who, string(a.Args)} {
		b = binary.BigEndian.AppendUint64(b, uint64(len(f)))
		b = append(b, f...)
	}
	return sha256.Sum256(b)
}

func (a *action) Snapshot() ([]byte, error) { return json.Marshal(a) }
func (a *action) Expiry() time.Time         { return time.Time{} }
func (a *action) Resource() string          { return "mount " + a.t.s.m.Name }

// Check asks the server whether the tool is still what was approved.
func (a *action) Check(ctx context.Context) error {
	if err := a.t.admit(a.Args); err != nil {
		return err
	}
	_, err := a.t.s.same(ctx, a.t.name, true)
	if err == nil && a.t.s.identity() != a.who {
		err = gate.Errf(gate.CodeNotApproved, a.Resource(), "another program answers there than when this was approved")
	}
	return err
}

// Run sends the call. Once it is sent, an end without an answer leaves what it did
// unknown, unless the tool only reads.
func (a *action) Run(ctx context.Context) (gate.Result, error) {
	s := a.t.s
	session, err := s.same(ctx, a.t.name, false)
	if err != nil {
		return gate.Result{Status: gate.StatusRefused}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.m.timeout(),
		gate.Errf(gate.CodeLinkTimeout, a.Resource(), "no answer within %v", s.m.timeout()))
	defer cancel()
	r, err := within(ctx, session, func(ctx context.Context) (*sdk.CallToolResult, error) {
		return session.session.CallTool(ctx, &sdk.CallToolParams{Name: a.t.name, Arguments: a.Args})
	})
	if err != nil {
		return a.failed(ctx, session, err)
	}
	if r.NeedsInput() {
		return gate.Result{Status: gate.StatusError}, gate.Errf(gate.CodeToolFailed, a.Resource(), "the tool asks for further input, which nobody gives it")
	}
	return a.answer(r)
}

// failed tells the ways apart in which a call has no answer.
func (a *action) failed(ctx context.Context, session *link, err error) (gate.Result, error) {
	s := a.t.s
	status := gate.StatusUnknown
	if a.t.spec.Tier == gate.TierRead {
		status = gate.StatusError
	}
	if session.broken.Load() {
		s.lost(session)
	}
	if ctx.Err() != nil {
		cause := context.Cause(ctx)
		var e *gate.Error
		if !errors.As(cause, &e) {
			e = gate.Errf(gate.CodeCancelled, a.Resource(), "the call was given up: %w", cause)
		}
		if a.t.spec.Tier == gate.TierRead {
			status = ""
		}
		return gate.Result{Status: status}, e
	}
	if isAnswer(err) {
		return gate.Result{Status: gate.StatusError}, gate.Errf(gate.CodeToolFailed, a.Resource(), "the server refused it: %s", clip(err.Error()))
	}
	s.lost(session)
	return gate.Result{Status: status}, gate.Errf(gate.CodeDisconnected, a.Resource(), "the server went away after it was sent: %w", err)
}

// answer is what a server's result becomes: its text for the model, marked as the
// server's, and all of it as data.
func (a *action) answer(r *sdk.CallToolResult) (gate.Result, error) {
	out := struct {
		Server     string        `json:"server"`
		Content    []sdk.Content `json:"content,omitempty"`
		Structured any           `json:"structured,omitempty"`
	}{a.t.s.m.Name, r.Content, r.StructuredContent}
	data, err := json.Marshal(out)
	if err == nil && len(data) > maxResult {
		err = fmt.Errorf("its answer has %d bytes, at most %d are taken", len(data), maxResult)
	}
	if err != nil {
		return gate.Result{Status: gate.StatusError}, gate.Errf(gate.CodeToolFailed, a.Resource(), "it was done, and %w", err)
	}
	text := ""
	for _, c := range r.Content {
		if t, ok := c.(*sdk.TextContent); ok {
			text += t.Text + "\n"
		}
	}
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if r.IsError {
		return gate.Result{Data: data, Status: gate.StatusError}, gate.Errf(gate.CodeToolFailed, a.Resource(), "the tool says that it failed: %s", clip(text))
	}
	return gate.Result{Text: "The mounted server " + a.t.s.m.Name + " says: " + text, Data: data}, nil
}

// maxError bounds a server's own words in an error, bytes.
const maxError = 2048

// clip bounds a server's own words.
func clip(s string) string { return gate.Clip(strings.ToValidUTF8(s, "\uFFFD"), maxError) }
