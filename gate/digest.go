package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// header is what the gate adds to an action's own digest (G12). Its canonical
// JSON (RFC 8785) is what gets hashed, so that a signed or stored digest can be
// recomputed from a card alone.
type header struct {
	Version   int             `json:"v"`
	Tool      string          `json:"tool"`
	Tier      Tier            `json:"tier"`
	Effect    string          `json:"effect"`
	Schema    string          `json:"schema"`
	Args      json.RawMessage `json:"arguments"`
	Session   string          `json:"session"`
	Mode      Mode            `json:"mode"`
	Backend   string          `json:"backend"`
	OptIn     string          `json:"opt_in,omitempty"`
	Principal string          `json:"principal"`
	Policy    string          `json:"policy"`
	Expiry    string          `json:"expiry"`
	Resource  string          `json:"resource"`
	Action    string          `json:"action"`
}

// inputs are what a digest is made of, each taken from where it lives at the time.
type inputs struct {
	spec      Spec // name, tier, effect
	schema    [32]byte
	args      json.RawMessage
	session   Session
	principal string
	policy    [32]byte
	expiry    time.Time
	resource  string
	action    [32]byte
}

func (in inputs) digest() ([32]byte, error) {
	b, err := json.Marshal(header{
		Version: 1, Tool: in.spec.Name, Tier: in.spec.Tier, Effect: in.spec.Effect,
		Schema: hexOf(in.schema), Args: in.args,
		Session: in.session.Name, Mode: in.session.Mode, Backend: in.session.Backend, OptIn: in.session.OptIn,
		Principal: in.principal, Policy: hexOf(in.policy),
		Expiry: in.expiry.UTC().Format(time.RFC3339Nano), Resource: in.resource, Action: hexOf(in.action),
	})
	if err != nil {
		return [32]byte{}, Errf(CodeInternal, "digest", "%w", err)
	}
	v := jsontext.Value(b)
	if err := v.Canonicalize(); err != nil {
		return [32]byte{}, Errf(CodeInternal, "digest", "%w", err)
	}
	return sha256.Sum256(v), nil
}

func hexOf(d [32]byte) string { return hex.EncodeToString(d[:]) }

// digestOf is the SHA-256 of a value's JSON behind what kind of value it is. A struct's
// fields have an order and no value here has a map, so that equal ones have equal JSON.
func digestOf(kind string, v any) ([32]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return [32]byte{}, Errf(CodeInternal, "digest", "%w", err)
	}
	return sha256.Sum256(append([]byte(kind+"\x00"), b...)), nil
}
