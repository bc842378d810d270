// Package approval keeps tier-2 requests: what was shown, what was decided, and
// how far it came. Each transition is one conditional write, so that one approval
// runs one action at most once (GATE.md G40 to G46). Every transition stands in
// docs/GATE-states.md.
//
// SQLite is the durable store: what a method has reported survives kill -9 and,
// on a disk that keeps its word about fsync, the loss of power. Memory is the same
// state machine for tests. Both pass storetest.
//
// A started request is never claimed or started again: after a crash its outcome
// is unknown. An ended request is kept until retention ends, and never less long
// than its own expiry, so that a used approval can't be replayed after its record
// has gone.
//
// Times are compared by the wall clock and by one that nobody can set, where
// there is one, and the earlier end counts. The one goroutine is
// database/sql's own, which Close ends. The package imports nothing of ours but gate.
package approval

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"io"
	"time"

	"github.com/tau-robot/tau/gate"
)

// Options are a store's bounds; zero means the default.
type Options struct {
	Lease     time.Duration    // how long a claim holds; default 15 s, above the 10 s within which an approval must start
	HardStop  time.Duration    // how long after the claim a renewed lease ends for good; default 60 s
	MaxClaims int              // claims of one request beyond which it expires; default 3
	Retention time.Duration    // how long an ended request is kept; default 1 h
	Now       func() time.Time // default time.Now
	// Boot returns the time since the machine started, its sleep included, and
	// BootID names that start; without both only the wall clock counts.
	Boot   func() time.Duration
	BootID string
	Rand   io.Reader // of secrets; default crypto/rand
}

func (o Options) filled() Options {
	if o.Lease <= 0 {
		o.Lease = 15 * time.Second
	}
	if o.HardStop <= 0 {
		o.HardStop = time.Minute
	}
	if o.MaxClaims <= 0 {
		o.MaxClaims = 3
	}
	if o.Retention <= 0 {
		o.Retention = time.Hour
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return o
}

// What one request may weigh. A card's drawing that is larger is left out whole,
// as is an answer; a snapshot that is larger is refused (G40, G41).
const (
	maxDrawing  = 1 << 20
	maxSnapshot = 16 << 20
	maxAnswer   = 1 << 20
)

func newSecret(r io.Reader) (gate.Secret, error) {
	var s gate.Secret
	if _, err := io.ReadFull(r, s[:]); err != nil {
		return gate.Secret{}, gate.Errf(gate.CodeInternal, "secret", "there is no randomness: %w", err)
	}
	return s, nil
}

func hashOf(s gate.Secret) [32]byte { return sha256.Sum256(s[:]) }

func sameHash(a, b [32]byte) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

// storable refuses what can't be shown or told apart, and returns a copy of the
// request without what doesn't fit.
func storable(req gate.Request, snapshot []byte) (gate.Request, error) {
	switch {
	case req.CallID == "":
		return req, gate.Errf(gate.CodeInvalidArgument, "call_id", "is empty")
	case req.Digest == [32]byte{}:
		return req, gate.Errf(gate.CodeInvalidArgument, "digest", "is empty")
	case snapshot == nil:
		return req, gate.Errf(gate.CodeInvalidArgument, "snapshot", "there is none, so nothing could be shown for it")
	case !req.Tier.Valid():
		return req, gate.Errf(gate.CodeInvalidArgument, "tier", "is not a tier")
	case len(snapshot) > maxSnapshot:
		return req, &gate.Error{
			Code: gate.CodeInvalidArgument, Where: "snapshot", Text: "is too large to be kept; it was not asked",
			Value: &gate.Quantity{Value: float64(len(snapshot)), Unit: "byte"},
			Limit: &gate.Quantity{Value: maxSnapshot, Unit: "byte"},
		}
	}
	req = req.Clone()
	if len(req.Card.Data) > maxDrawing {
		req.Card.Data = nil
	}
	return req, nil
}

func checkClaim(c gate.Claim) error {
	if c.Worker == "" || c.Decider == "" {
		return gate.Errf(gate.CodeInvalidArgument, "worker", "a claim names its worker and who decided")
	}
	return nil
}
