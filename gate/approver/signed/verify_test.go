package signed

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
)

// bench is a verifier with the keys of a place.
type bench struct {
	*place
	now time.Time
	v   *Verifier
}

func newBench(t testing.TB) *bench {
	b := &bench{place: newPlace(t), now: noon}
	b.v = &Verifier{Keys: b.ring, Nonces: NewNonces(&counter{n: 77}), Now: func() time.Time { return b.now }}
	return b
}

// sign signs a statement about something, with a nonce for it; change makes it another.
func (b *bench) sign(t require.TestingT, k *Private, a About, change ...func(*Statement)) Message {
	nonce, _, err := b.v.Nonces.Issue(a, b.now)
	require.NoError(t, err)
	s := statement(a, nonce)
	s.Expiry = b.now.Add(time.Minute)
	for _, c := range change {
		c(&s)
	}
	m, err := k.Sign(s)
	require.NoError(t, err)
	return m
}

func refused(t require.TestingT, err error, reason gate.Reason) {
	var r *Refusal
	require.ErrorAs(t, err, &r)
	require.Equal(t, reason, r.Reason, r.Text)
	require.Equal(t, gate.CodeNotApproved, gate.CodeOf(err))
}

func TestG34_AStatementOfAnEnrolledKeyCountsOnce(t *testing.T) {
	b := newBench(t)
	for _, k := range []*Private{b.operator, b.device} {
		m := b.sign(t, k, about())
		got, err := b.v.Check(m, Approve, Reject)
		require.NoError(t, err)
		require.Equal(t, k.ID(), got.Key.ID)
		require.Equal(t, about().Digest, got.Statement.Digest)
		require.Equal(t, "a", got.Asking)
		_, err = b.v.Check(m, Approve, Reject)
		refused(t, err, ReasonReplayed)
	}
}

func TestG34_Case64_OfTheSameStatementTwiceAtOnceOneCounts(t *testing.T) {
	b := newBench(t)
	m := b.sign(t, b.operator, about())
	var wg sync.WaitGroup
	var mu sync.Mutex
	counted := 0
	for range 50 {
		wg.Go(func() {
			_, err := b.v.Check(m, Approve)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				counted++
			} else {
				refused(t, err, ReasonReplayed)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, counted)
}

// TestG34_EachWayToRefuseAStatement: each has its own recorded reason, and spends
// nothing: the right statement about the same nonce counts afterwards.
func TestG34_EachWayToRefuseAStatement(t *testing.T) {
	other := func(a About) About { a.Digest[0] ^= 1; return a }
	elsewhere := func(a About) About { a.ID = "ffffffffffffffffffffffffffffffff"; return a }
	card := func(a About) About { r := request(); r.Effect = "Moves nothing."; a.Shown = Shown(r); return a }
	for name, c := range map[string]struct {
		reason  gate.Reason
		signed  About // what the key signs, where it isn't what the nonce is for
		key     func(*bench) *Private
		change  func(*Statement)
		message func(*Message)
		before  func(*bench)
		as      Purpose
	}{
		"no bytes":              {reason: ReasonMalformed, message: func(m *Message) { m.Statement = nil }},
		"JSON":                  {reason: ReasonMalformed, message: func(m *Message) { m.Statement = []byte(`{"purpose":"approve"}`) }},
		"an unknown key":        {reason: ReasonUnknown, key: func(*bench) *Private { return key(t, 9) }},
		"no signature":          {reason: ReasonSignature, message: func(m *Message) { m.Signature = nil }},
		"a signature of zeros":  {reason: ReasonSignature, message: func(m *Message) { clear(m.Signature) }},
		"a long signature":      {reason: ReasonSignature, message: func(m *Message) { m.Signature = append(m.Signature, 0) }},
		"signed by the other":   {reason: ReasonSignature, message: resignedBy(t, 2)},
		"signed for enrolment":  {reason: ReasonPurpose, as: Enrol},
		"a rejection as a yes":  {reason: ReasonPurpose, signed: AboutRequest(Reject, request(), "a")},
		"of another purpose":    {reason: ReasonPurpose, signed: AboutRequest(Reject, request(), "a"), as: Reject},
		"about another request": {reason: ReasonOther, signed: elsewhere(about())},
		"of another digest":     {reason: ReasonDigest, signed: other(about())},
		"of another card":       {reason: ReasonShown, signed: card(about())},
		"expired":               {reason: ReasonExpired, change: func(s *Statement) { s.Expiry = noon }},
		"for too long":          {reason: ReasonExpired, change: func(s *Statement) { s.Expiry = noon.Add(NonceLife + time.Second) }},
		"after its nonce": {reason: ReasonExpired, before: func(b *bench) { b.now = b.now.Add(NonceLife) },
			change: func(s *Statement) { s.Expiry = noon.Add(2 * NonceLife) }},
		"a nonce of nobody's": {reason: ReasonNonce, change: func(s *Statement) { s.Nonce = "ffffffffffffffffffffffffffffffff" }},
		"a nonce long forgotten": {reason: ReasonNonce, change: func(s *Statement) { s.Expiry = noon.Add(time.Hour) }, before: func(b *bench) {
			b.now = b.now.Add(3 * NonceLife)
			_, _, err := b.v.Nonces.Issue(about(), b.now)
			require.NoError(t, err)
		}},
		"a revoked key":              {reason: ReasonRevoked, before: func(b *bench) { require.NoError(t, b.ring.Revoke(b.operator.ID(), noon)) }},
		"the operator's key revoked": {reason: ReasonRevoked, key: func(b *bench) *Private { return b.device }, before: func(b *bench) { require.NoError(t, b.ring.Revoke(b.operator.ID(), noon)) }},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			nonce, _, err := b.v.Nonces.Issue(about(), b.now)
			require.NoError(t, err)
			signs := b.operator
			if c.key != nil {
				signs = c.key(b)
			}
			a := about()
			if c.signed.ID != "" {
				a = c.signed
			}
			s := statement(a, nonce)
			if c.change != nil {
				c.change(&s)
			}
			m, err := signs.Sign(s)
			require.NoError(t, err)
			if c.message != nil {
				c.message(&m)
			}
			if c.before != nil {
				c.before(b)
			}
			as := Approve
			if c.as != "" {
				as = c.as
			}
			_, err = b.v.Check(m, as)
			refused(t, err, c.reason)
			if c.before == nil && c.change == nil {
				m, err := b.device.Sign(statement(about(), nonce))
				require.NoError(t, err)
				_, err = b.v.Check(m, Approve)
				require.NoError(t, err, "the nonce was spent by what was refused")
			}
		})
	}
}

// resignedBy puts another key's signature on.
func resignedBy(t *testing.T, n uint64) func(*Message) {
	return func(m *Message) {
		sig, err := key(t, n).sign(m.Statement)
		require.NoError(t, err)
		m.Signature = sig
	}
}

// TestG34_Case61_NoMutationOfAValidStatementCounts: whatever is changed of what was signed, or
// of the signature, it is refused.
func TestG34_Case61_NoMutationOfAValidStatementCounts(t *testing.T) {
	b := newBench(t)
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom([]*Private{b.operator, b.device}).Draw(t, "key")
		good := b.sign(t, k, about())
		m := Message{Statement: bytes.Clone(good.Statement), Signature: bytes.Clone(good.Signature)}
		switch rapid.IntRange(0, 3).Draw(t, "what") {
		case 0:
			m.Statement = mutated(t, m.Statement)
		case 1:
			m.Signature = mutated(t, m.Signature)
		case 2: // another statement, as well signed, by a key that isn't enrolled
			m = b.sign(t, stranger, about())
		default: // the parts of two statements
			m.Signature = b.sign(t, k, about()).Signature
		}
		_, err := b.v.Check(m, Purposes()...)
		require.Error(t, err)
		var r *Refusal
		require.ErrorAs(t, err, &r)
		_, err = b.v.Check(good, Approve)
		require.NoError(t, err, "and what was signed still counts")
	})
}

var stranger = func() *Private {
	p, err := NewPrivate(&counter{n: 4711})
	if err != nil {
		panic(err)
	}
	return p
}()

// TestG34_ADeviceAnswersAndNothingElse: no purpose but two is a device's.
func TestG34_ADeviceAnswersAndNothingElse(t *testing.T) {
	for _, p := range Purposes() {
		b := newBench(t)
		a := About{Purpose: p, ID: "lab", Digest: ParamsDigest(nil)}
		if p.ofRequest() {
			a = AboutRequest(p, request(), "a")
		}
		_, err := b.v.Check(b.sign(t, b.operator, a), p)
		require.NoError(t, err, p)
		_, err = b.v.Check(b.sign(t, b.device, a), p)
		if p.ofRequest() {
			require.NoError(t, err, p)
		} else {
			refused(t, err, ReasonKind)
		}
	}
}

func TestNoncesAreBounded(t *testing.T) {
	n := NewNonces(&counter{})
	first, _, err := n.Issue(about(), noon)
	require.NoError(t, err)
	for range maxNonces {
		_, _, err := n.Issue(about(), noon)
		require.NoError(t, err)
	}
	require.Len(t, n.out, maxNonces)
	_, r := n.spend(first, statement(about(), first), noon)
	refused(t, r, ReasonNonce)
	// What has expired goes, what was used is remembered for as long as it could be sent.
	_, _, err = n.Issue(about(), noon.Add(time.Hour))
	require.NoError(t, err)
	require.Len(t, n.out, 1)
	require.Len(t, n.order, 1)

	broken := NewNonces(bytes.NewReader(nil))
	_, _, err = broken.Issue(about(), noon)
	require.Equal(t, gate.CodeInternal, gate.CodeOf(err))
	same := NewNonces(bytes.NewReader(make([]byte, 32)))
	_, _, err = same.Issue(about(), noon)
	require.NoError(t, err)
	_, _, err = same.Issue(about(), noon)
	require.Equal(t, gate.CodeInternal, gate.CodeOf(err), "a source that repeats itself")
}
