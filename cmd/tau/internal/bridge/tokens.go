package bridge

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/mcp"
	"github.com/tau-robot/tau/robot"
)

// tokens are the bearer tokens that open MCP over HTTP. They end with the process, and
// so do their files.
type tokens struct {
	table mcp.TokenTable

	mu     sync.Mutex
	issued []issued
}

type issued struct{ id, session, principal, file string }

// issue makes a token, puts it into a file of its own and lets it in.
func (t *tokens) issue(principal, session, file string) (mcp.Token, error) {
	token, err := mcp.NewToken(rand.Reader, principal, session)
	if err != nil {
		return mcp.Token{}, err
	}
	if err := mcp.SaveToken(file, token); err != nil {
		return mcp.Token{}, err
	}
	if err := t.table.Add(token); err != nil {
		return mcp.Token{}, errors.Join(err, removed(file))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.issued = append(t.issued, issued{token.ID(), session, principal, file})
	return token, nil
}

// end removes the files.
func (t *tokens) end() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	for _, i := range t.issued {
		errs = append(errs, removed(i.file))
	}
	return errors.Join(errs...)
}

// tokensOf lists the ids of the tokens of a session, with their principals.
func (h *Host) tokensOf(session string) []string {
	h.tokens.mu.Lock()
	defer h.tokens.mu.Unlock()
	var out []string
	for _, i := range h.tokens.issued {
		if i.session == session {
			out = append(out, i.id+" ("+i.principal+")")
		}
	}
	return out
}

// revokeToken shuts a token out and returns its file; false: there is none of that id.
func (h *Host) revokeToken(id string) (file string, ok bool) {
	if !h.tokens.table.Revoke(id) {
		return "", false
	}
	h.tokens.mu.Lock()
	defer h.tokens.mu.Unlock()
	for k, i := range h.tokens.issued {
		if i.id == id {
			h.tokens.issued = append(h.tokens.issued[:k:k], h.tokens.issued[k+1:]...)
			return i.file, true
		}
	}
	return "", true
}

// clearTokens removes what a bridge that was killed has left of its tokens, which open
// nothing any more.
func (h *Host) clearTokens() error {
	dir := h.dir.Join("tokens")
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("tokens: %w", err)
	}
	return nil
}

// session opens a session where it is missing, always a simulated one, and issues a
// token for one principal in it.
func (s socket) session(a signed.Accepted) (control.Reply, error) {
	h := s.h
	name := a.Statement.ID
	principal, ok := a.Statement.Param("principal")
	switch {
	case !ok || len(a.Statement.Params) != 1:
		return control.Reply{}, gate.Errf(gate.CodeInvalidArgument, "principal", "the statement names none")
	case principal == Operator:
		return control.Reply{}, gate.Errf(gate.CodeInvalidArgument, "principal", "%q is the person at the prompt; a client has another name", principal)
	case h.setup.Listener == nil:
		return control.Reply{}, gate.Errf(gate.CodeNotSupported, "session", "this bridge serves no MCP over HTTP, so a token would open nothing")
	}
	if _, there := h.all.Get(name); !there {
		// The log first: a session whose events couldn't be recorded is none.
		if err := robot.CheckSessionName(name); err != nil {
			return control.Reply{}, gateError(err)
		}
		if _, err := h.store.Session(name); err != nil {
			return control.Reply{}, gate.Errf(gate.CodeInternal, "session", "%w", err)
		}
		if _, err := h.all.New(name); err != nil {
			return control.Reply{}, gateError(err)
		}
		h.Gate.SessionsChanged()
	}
	file := h.dir.Join("tokens", name+"."+principal+"."+a.Statement.Nonce[:8]+".token")
	token, err := h.tokens.issue(principal, name, file)
	if err != nil {
		return control.Reply{}, gate.Errf(gate.CodeInvalidArgument, "principal", "%w", err)
	}
	e := h.noteIn(name, "opened for "+principal+", token "+token.ID()+", by "+decider(a.Key, h.operator.ring.Root()))
	if err := h.sink.Emit(e); err != nil {
		h.Log.Error("a new session could not be recorded", "session", name, "err", err)
	}
	return control.Reply{Token: file, Text: token.ID()}, nil
}
