package signed

import (
	"context"
	"crypto/subtle"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
)

// The bounds of a pairing code.
const (
	PairingLife  = 2 * time.Minute
	PairingTries = 5
	codeLen      = 8 // characters of codeAlphabet: 40 bits
)

// codeAlphabet has no two characters that look alike.
const codeAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"

// The recorded reasons of refused pairings.
const (
	ReasonNoPairing   gate.Reason = "no pairing open"
	ReasonPairingLate gate.Reason = "pairing code expired"
	ReasonPairingUsed gate.Reason = "pairing code used"
	ReasonPairingCode gate.Reason = "pairing code wrong"
	ReasonTooMany     gate.Reason = "pairing code tried too often"
	ReasonNotEnrolled gate.Reason = "enrolment refused by the operator"
)

// Pairing is how a new device gets its key enrolled: the operator opens one at a
// terminal, which shows a code; whoever types the code at the device within two
// minutes hands in the device's public key, once; the operator sees the name and the
// key's id and signs its entry, or doesn't. There is at most one at a time; opening
// another ends it. Any goroutine may call the methods.
type Pairing struct {
	rand io.Reader
	now  func() time.Time

	mu   sync.Mutex
	open *pairing
}

type pairing struct {
	code      string
	expires   time.Time
	tries     int
	used      bool
	candidate chan *Candidate // takes the one
	ended     chan struct{}   // closed when another has taken its place
}

// Candidate is a device that knew the code. Entry isn't signed yet.
type Candidate struct {
	Entry Entry

	once sync.Once
	done chan struct{}
	err  error
}

// NewPairing returns one that isn't open.
func NewPairing(rand io.Reader, now func() time.Time) *Pairing {
	return &Pairing{rand: rand, now: now}
}

// Offer is an open pairing as the operator's side holds it.
type Offer struct {
	Code    string // "ABCD-2345"
	Expires time.Time
	p       *Pairing
	open    *pairing
}

// Open opens a pairing and returns its code. What was open before has ended.
func (p *Pairing) Open() (*Offer, error) {
	var b [codeLen]byte
	if _, err := io.ReadFull(p.rand, b[:]); err != nil {
		return nil, gate.Errf(gate.CodeInternal, "pairing", "there is no randomness: %w", err)
	}
	for i, c := range b {
		b[i] = codeAlphabet[int(c)%len(codeAlphabet)] // 256 is a multiple of 32
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open != nil {
		close(p.open.ended)
	}
	p.open = &pairing{code: string(b[:]), expires: p.now().Add(PairingLife), candidate: make(chan *Candidate, 1), ended: make(chan struct{})}
	return &Offer{Code: string(b[:4]) + "-" + string(b[4:]), Expires: p.open.expires, p: p, open: p.open}, nil
}

// Close ends the offer; a device that comes later finds no pairing.
func (o *Offer) Close() {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	if o.p.open == o.open {
		o.p.open = nil
		close(o.open.ended)
	}
}

// Wait waits for the device that knows the code.
func (o *Offer) Wait(ctx context.Context) (*Candidate, error) {
	late := time.NewTimer(o.Expires.Sub(o.p.now()))
	defer late.Stop()
	select {
	case c := <-o.open.candidate:
		return c, nil
	default:
	}
	select {
	case c := <-o.open.candidate:
		return c, nil
	case <-o.open.ended:
		return nil, refuse(ReasonNoPairing, "the pairing was closed: another was opened, or the code was tried too often")
	case <-late.C:
		o.Close()
		return nil, refuse(ReasonPairingLate, "no device came within %s", PairingLife)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Present hands in a device's name and public key with the code that was typed at it.
// Each wrong code is a try; after five the pairing is closed. What fails otherwise
// uses nothing up. The candidate then waits for the operator.
func (p *Pairing) Present(code, name string, public []byte) (*Candidate, error) {
	e, err := NewEntry(name, KindDevice, public, p.now())
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.open
	switch {
	case o == nil:
		return nil, refuse(ReasonNoPairing, "no pairing is open: run 'tau robot approvals enrol' at a terminal")
	case o.used:
		return nil, refuse(ReasonPairingUsed, "the code has been used")
	case gate.Expired(p.now(), o.expires):
		return nil, refuse(ReasonPairingLate, "the code was good for %s", PairingLife)
	}
	typed := strings.ToUpper(strings.NewReplacer("-", "", " ", "").Replace(code))
	if subtle.ConstantTimeCompare([]byte(typed), []byte(o.code)) != 1 {
		o.tries++
		if o.tries >= PairingTries {
			p.open = nil
			close(o.ended)
			return nil, refuse(ReasonTooMany, "the code was tried %d times; the pairing is closed", PairingTries)
		}
		return nil, refuse(ReasonPairingCode, "it isn't the code; %d tries are left", PairingTries-o.tries)
	}
	o.used = true
	c := &Candidate{Entry: e, done: make(chan struct{})}
	o.candidate <- c // has room for the one
	return c, nil
}

// Settle says how a candidate's enrolment has ended: nil, it is enrolled. Only the
// first counts.
func (c *Candidate) Settle(err error) {
	c.once.Do(func() {
		c.err = err
		close(c.done)
	})
}

// Done is closed once the candidate is enrolled or isn't going to be.
func (c *Candidate) Done() <-chan struct{} { return c.done }

// Err says, once Done is closed, why the candidate isn't enrolled; nil: it is.
func (c *Candidate) Err() error {
	<-c.done
	return c.err
}

// PairingID is the ID of the Enrol statement, without parameters, that opens a pairing.
const PairingID = "pairing"

// ErrNotEnrolled says that the operator hasn't signed a candidate's entry.
var ErrNotEnrolled error = refuse(ReasonNotEnrolled, "whoever opened the pairing hasn't confirmed the device")
