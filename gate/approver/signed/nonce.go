package signed

import (
	"encoding/hex"
	"io"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
)

// NonceLife is how long a nonce can be used.
const NonceLife = 2 * time.Minute

// maxNonces bounds those that are out; for one more, the oldest goes.
const maxNonces = 1024

// About is the one question that a nonce, and so a statement, is about.
type About struct {
	Purpose Purpose
	ID      string
	Digest  [32]byte
	Shown   string // of Approve and Reject: what Shown says of the request
	// Asking tells one asking of the same request from another (desk.Question.Nonce);
	// "" where there is only one.
	Asking string
}

// Nonces are those that a bridge has issued and that haven't been used. They live in
// memory: none outlives the process. Any goroutine may call the methods; none blocks.
type Nonces struct {
	rand io.Reader

	mu    sync.Mutex
	out   map[string]issued
	spent map[string]time.Time // until when to remember that it was used
	order []string             // of out, oldest first
}

type issued struct {
	about   About
	expires time.Time
}

// NewNonces returns an empty set that takes its randomness from rand.
func NewNonces(rand io.Reader) *Nonces {
	return &Nonces{rand: rand, out: map[string]issued{}, spent: map[string]time.Time{}}
}

// Issue makes a nonce for one question.
func (n *Nonces) Issue(about About, now time.Time) (nonce string, expires time.Time, err error) {
	var b [16]byte
	if _, err := io.ReadFull(n.rand, b[:]); err != nil {
		return "", time.Time{}, gate.Errf(gate.CodeInternal, "nonce", "there is no randomness: %w", err)
	}
	nonce = hex.EncodeToString(b[:])
	n.mu.Lock()
	defer n.mu.Unlock()
	n.forget(now)
	if _, again := n.out[nonce]; again || !n.spent[nonce].IsZero() {
		return "", time.Time{}, gate.Errf(gate.CodeInternal, "nonce", "the source of randomness repeats itself")
	}
	for len(n.order) >= maxNonces {
		delete(n.out, n.order[0])
		n.order = n.order[1:]
	}
	expires = now.Add(NonceLife)
	n.out[nonce] = issued{about, expires}
	n.order = append(n.order, nonce)
	return nonce, expires, nil
}

// AboutRequest is the question whether a request is approved or rejected, in one
// asking of it.
func AboutRequest(p Purpose, req gate.Request, asking string) About {
	return About{Purpose: p, ID: req.CallID, Digest: req.Digest, Shown: Shown(req), Asking: asking}
}

// spend uses a statement's nonce up, or says why it can't.
func (n *Nonces) spend(nonce string, s Statement, now time.Time) (About, *Refusal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	i, ok := n.out[nonce]
	switch {
	case !ok && !n.spent[nonce].IsZero():
		return About{}, refuse(ReasonReplayed, "the statement has been used already")
	case !ok:
		return About{}, refuse(ReasonNonce, "the bridge hasn't issued the nonce, or not in this run")
	case i.about.Purpose != s.Purpose:
		return About{}, refuse(ReasonPurpose, "the nonce was issued for another purpose (%s)", i.about.Purpose)
	case i.about.ID != s.ID:
		return About{}, refuse(ReasonOther, "the nonce was issued for another question")
	case i.about.Digest != s.Digest:
		return About{}, refuse(ReasonDigest, "the digest is not that of what is asked")
	case s.Purpose.ofRequest() && s.Params[0].Value != i.about.Shown:
		return About{}, refuse(ReasonShown, "what was shown to whoever signed isn't this request: something between the two has changed it")
	case gate.Expired(now, i.expires):
		return About{}, refuse(ReasonExpired, "the nonce was issued more than %s ago", NonceLife)
	case s.Expiry.After(i.expires.Round(0)):
		return About{}, refuse(ReasonExpired, "the statement would hold longer than its nonce does")
	}
	delete(n.out, nonce)
	n.spent[nonce] = i.expires
	for k, o := range n.order {
		if o == nonce {
			n.order = append(n.order[:k], n.order[k+1:]...)
			break
		}
	}
	return i.about, nil
}

// forget drops what has expired, a while after that, so that a late statement is
// told that it is late. n.mu is held.
func (n *Nonces) forget(now time.Time) {
	for len(n.order) > 0 && gate.Expired(now, n.out[n.order[0]].expires.Add(NonceLife)) {
		delete(n.out, n.order[0])
		n.order = n.order[1:]
	}
	for k, until := range n.spent {
		if gate.Expired(now, until.Add(NonceLife)) {
			delete(n.spent, k)
		}
	}
}
