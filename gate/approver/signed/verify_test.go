package signed

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

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

func (b *bench) sign(t testing.TB, k *Private, a About, change ...func(*Statement)) Message {
	t.Helper()
	nonce, _, err := b.v.Nonces.Issue(a, b.now)
	require.NoError(t, err)
	s := statement(a, nonce)
	for _, c := range change {
		c(&s)
	}
	m, err := k.Sign(s)
	require.NoError(t, err)
	return m
}

func refused(t testing.TB, err error, reason gate.Reason) {
	t.Helper()
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
