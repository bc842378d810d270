package attach

import (
	"context"
	"encoding/hex"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
)

// Client speaks to a bridge for one who holds a key. It is safe for concurrent use as
// long as the key isn't wiped.
type Client struct {
	Socket string // of the bridge
	Key    *signed.Private
}

// Refused is what the bridge said instead of doing it.
type Refused struct{ Reply control.Reply }

func (r *Refused) Error() string { return string(r.Reply.Code) + ": " + r.Reply.Text }

// Unwrap is the gate's error of it.
func (r *Refused) Unwrap() error { return &gate.Error{Code: r.Reply.Code, Text: r.Reply.Text} }

// Do sends what needs no key, and returns a *Refused if the bridge refuses it.
func Do(ctx context.Context, socket string, req control.Request) (control.Reply, error) {
	r, err := control.Send(ctx, socket, req)
	if err == nil && !r.OK {
		err = &Refused{r}
	}
	return r, err
}

// Approve signs a yes to a request that was shown and sends it. The bridge has taken
// the answer when it returns nil; what comes of it is another matter.
func (c Client) Approve(ctx context.Context, shown gate.Request) error {
	r, err := Do(ctx, c.Socket, control.Request{Verb: control.Nonce, Purpose: string(signed.Approve), ID: shown.CallID})
	if err != nil {
		return err
	}
	m, err := c.sign(r, signed.Statement{
		Purpose: signed.Approve, ID: shown.CallID, Digest: shown.Digest, Decision: string(signed.Approve),
		Params: signed.Params(signed.ShownParam, signed.Shown(shown)),
	})
	if err != nil {
		return err
	}
	_, err = Do(ctx, c.Socket, control.Request{Verb: control.Approve, Statement: m.Statement, Signature: m.Signature})
	return err
}

// Statement signs a statement that is about no request, and returns the request that
// carries it to the bridge.
func (c Client) Statement(ctx context.Context, verb string, purpose signed.Purpose, id string, params []signed.Param) (control.Request, error) {
	digest := signed.ParamsDigest(params)
	r, err := Do(ctx, c.Socket, control.Request{Verb: control.Nonce, Purpose: string(purpose), ID: id, Digest: hex.EncodeToString(digest[:])})
	if err != nil {
		return control.Request{}, err
	}
	m, err := c.sign(r, signed.Statement{Purpose: purpose, ID: id, Digest: digest, Params: params})
	return control.Request{Verb: verb, Statement: m.Statement, Signature: m.Signature}, err
}

// Power does what gives power and is answered at once.
func (c Client) Power(ctx context.Context, verb string, purpose signed.Purpose, id string, params []signed.Param) (control.Reply, error) {
	req, err := c.Statement(ctx, verb, purpose, id, params)
	if err != nil {
		return control.Reply{}, err
	}
	return Do(ctx, c.Socket, req)
}

func (c Client) sign(challenge control.Reply, s signed.Statement) (signed.Message, error) {
	n := challenge.Nonce
	if n == nil {
		return signed.Message{}, gate.Errf(gate.CodeInternal, "nonce", "the bridge has sent none")
	}
	s.Nonce, s.Expiry = n.Nonce, n.Expires
	return c.Key.Sign(s)
}
