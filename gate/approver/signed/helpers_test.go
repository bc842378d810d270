package signed

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when the tests happen.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// counter is a source of bytes that never repeats a block of 16.
type counter struct{ n uint64 }

func (c *counter) Read(p []byte) (int, error) {
	for i := range p {
		if i%8 == 0 {
			c.n++
		}
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], c.n*0x9e3779b97f4a7c15)
		p[i] = b[i%8]
	}
	return len(p), nil
}

// key is the nth private key of the tests.
func key(t testing.TB, n uint64) *Private {
	t.Helper()
	p, err := NewPrivate(&counter{n: n * 1000})
	require.NoError(t, err)
	return p
}

// place is a data folder with an operator and a device enrolled.
type place struct {
	dir              string
	operator, device *Private
	ring             *Ring
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{dir: t.TempDir(), operator: key(t, 1), device: key(t, 2)}
	own, err := NewEntry("the operator", KindOperator, p.operator.Public(), noon)
	require.NoError(t, err)
	own, err = p.operator.Vouch(own)
	require.NoError(t, err)
	require.NoError(t, InitRing(p.dir, own))
	p.ring = OpenRing(p.dir, p.operator.ID())
	p.enrol(t, "a phone", KindDevice, p.device)
	return p
}

func (p *place) enrol(t testing.TB, name string, kind Kind, k *Private) Entry {
	t.Helper()
	e, err := NewEntry(name, kind, k.Public(), noon.Add(time.Minute))
	require.NoError(t, err)
	e, err = p.operator.Vouch(e)
	require.NoError(t, err)
	require.NoError(t, p.ring.Add(e))
	return e
}

func (p *place) file(id string) string { return filepath.Join(p.dir, Folder, id+".json") }

func (p *place) rewrite(t testing.TB, id string, change func(string) string) {
	t.Helper()
	b, err := os.ReadFile(p.file(id))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(p.file(id), []byte(change(string(b))), 0o600))
}

// request is the request that the tests ask about.
func request() gate.Request {
	return gate.Request{
		CallID: "0123456789abcdef0123456789abcdef", Tool: "move_joints", Tier: gate.TierPhysical,
		Args: []byte(`{"positions":{"elbow":0.5},"speed_scale":0.25}`), Effect: "Moves the arm.",
		Session: gate.Session{Name: "sim", Mode: gate.ModeSim, Backend: "sim"}, Principal: "agent", Origin: "mcp",
		Digest: [32]byte{1, 2, 3},
		Card:   gate.Card{Facts: []gate.Fact{{Label: "Duration", Text: "1.2 s"}, {Label: "Clearance", Text: "3 cm"}}, Assumed: []string{"the limits"}, Data: []byte(`{"a":[1,2]}`)},
		Asked:  noon, Expiry: noon.Add(10 * time.Minute),
	}
}

// about is the question that the tests ask.
func about() About {
	return AboutRequest(Approve, request(), "a")
}

// statement is a valid one about it, with a nonce.
func statement(a About, nonce string) Statement {
	d := ""
	if a.Purpose.ofRequest() {
		d = string(a.Purpose)
	}
	s := Statement{Purpose: a.Purpose, ID: a.ID, Digest: a.Digest, Nonce: nonce, Expiry: noon.Add(time.Minute), Decision: d}
	if a.Purpose.ofRequest() {
		s.Params = Params(ShownParam, a.Shown)
	}
	return s
}
