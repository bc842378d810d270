package web_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/approver/web"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const host = "127.0.0.1:8477"

// rig is a service with an operator and one device, dev, enrolled.
type rig struct {
	t        *testing.T
	s        *web.Server
	ring     *signed.Ring
	operator *signed.Private
	pairing  *signed.Pairing
	dev      *device
	log      *logged

	mu    sync.Mutex
	stops []string
}

type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, log: &logged{}}
	dir := t.TempDir()
	var err error
	r.operator, err = signed.NewPrivate(rand.Reader)
	require.NoError(t, err)
	own, err := signed.NewEntry("operator", signed.KindOperator, r.operator.Public(), time.Now())
	require.NoError(t, err)
	own, err = r.operator.Vouch(own)
	require.NoError(t, err)
	require.NoError(t, signed.InitRing(dir, own))
	r.ring = signed.OpenRing(dir, own.ID)
	r.pairing = signed.NewPairing(rand.Reader, time.Now)
	r.s, err = web.New(web.Options{
		Settings: web.Settings{Listen: "127.0.0.1:0", Hosts: []string{"console.example"}}, Ring: r.ring, Pairing: r.pairing,
		Log: slog.New(slog.NewTextHandler(r.log, nil)),
		Stop: func(_ context.Context, kind gate.StopKind, reason, by string) []gate.StopVerdict {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.stops = append(r.stops, string(kind)+"|"+reason+"|"+by)
			return []gate.StopVerdict{{Backend: "sim", Commanded: "yes"}}
		},
	})
	require.NoError(t, err)
	r.dev = newDevice(t)
	r.vouch(r.dev)
	return r
}

// vouch enrols a device as the operator does.
func (r *rig) vouch(d *device) {
	r.t.Helper()
	e, err := signed.NewEntry("a phone", signed.KindDevice, d.public, time.Now())
	require.NoError(r.t, err)
	e, err = r.operator.Vouch(e)
	require.NoError(r.t, err)
	require.NoError(r.t, r.ring.Add(e))
}

// device is a client that was written from docs/APPROVAL-API.md: it shares no code with
// the service.
type device struct {
	key    *ecdsa.PrivateKey
	public []byte
	id     string
}

func newDevice(t testing.TB) *device {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return deviceOf(t, key)
}

func deviceOf(t testing.TB, key *ecdsa.PrivateKey) *device {
	t.Helper()
	public, err := key.PublicKey.Bytes()
	require.NoError(t, err)
	sum := sha256.Sum256(public)
	return &device{key: key, public: public, id: hex.EncodeToString(sum[:16])}
}

func (d *device) sign(b []byte) []byte {
	sum := sha256.Sum256(b)
	r, s, err := ecdsa.Sign(rand.Reader, d.key, sum[:])
	if err != nil {
		panic(err)
	}
	out := make([]byte, 64)
	r.FillBytes(out[:32])
	s.FillBytes(out[32:])
	return out
}

// netstrings is how every signed form is written.
func netstrings(header string, fields ...string) []byte {
	b := header + "\n"
	for _, f := range fields {
		b += strconv.Itoa(len(f)) + ":" + f + ","
	}
	return []byte(b)
}

func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// request makes a signed request.
func (d *device) request(method, path, body string) *http.Request {
	r := httptest.NewRequest(method, path, bytes.NewReader([]byte(body)))
	r.Host = host
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	sum := sha256.Sum256([]byte(body))
	ms, nonce := strconv.FormatInt(time.Now().UnixMilli(), 10), newNonce()
	b := netstrings("tau-request-1", method, host, path, ms, nonce, hex.EncodeToString(sum[:]))
	r.Header.Set("Tau-Key", d.id)
	r.Header.Set("Tau-Time", ms)
	r.Header.Set("Tau-Nonce", nonce)
	r.Header.Set("Tau-Signature", base64.StdEncoding.EncodeToString(d.sign(b)))
	return r
}

// answer is what came back.
type answer struct {
	status int
	head   http.Header
	body   map[string]any
}

func (a answer) reason() string {
	e, _ := a.body["error"].(map[string]any)
	s, _ := e["reason"].(string)
	return s
}

func (r *rig) do(req *http.Request) answer {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.s.ServeHTTP(w, req)
	a := answer{status: w.Code, head: w.Header()}
	require.NoError(r.t, json.Unmarshal(w.Body.Bytes(), &a.body), "%q", w.Body.String())
	return a
}

// serve returns the status alone.
func (r *rig) serve(req *http.Request) int {
	w := httptest.NewRecorder()
	r.s.ServeHTTP(w, req)
	return w.Code
}

// shown is a request as a device reads it.
type shown struct {
	CallID    string          `json:"call_id"`
	Digest    string          `json:"digest"`
	Tool      string          `json:"tool"`
	Tier      int             `json:"tier"`
	Arguments json.RawMessage `json:"arguments"`
	Effect    string          `json:"effect"`
	Session   struct {
		Name, Mode, Backend string
		OptIn               string `json:"opt_in"`
	} `json:"session"`
	Principal    string                         `json:"principal"`
	Origin       string                         `json:"origin"`
	Asked        int64                          `json:"asked_ms"`
	Expires      int64                          `json:"expires_ms"`
	Facts        []struct{ Label, Text string } `json:"facts"`
	Assumed      []string                       `json:"assumed"`
	Data         json.RawMessage                `json:"data"`
	ApproveNonce string                         `json:"approve_nonce"`
	RejectNonce  string                         `json:"reject_nonce"`
	NonceExpires int64                          `json:"nonce_expires_ms"`
}

// hash is the hash of what was shown, as the document says it.
func (s shown) hash() string {
	canonical := func(raw []byte) string {
		if len(raw) == 0 || string(raw) == "null" {
			return ""
		}
		v := jsontext.Value(bytes.Clone(raw))
		if err := v.Canonicalize(); err != nil {
			panic(err)
		}
		return string(v)
	}
	fields := []string{
		s.CallID, s.Digest, s.Tool, strconv.Itoa(s.Tier), canonical(s.Arguments), s.Effect,
		s.Session.Name, s.Session.Mode, s.Session.Backend, s.Session.OptIn, s.Principal, s.Origin,
		strconv.FormatInt(s.Asked, 10), strconv.FormatInt(s.Expires, 10), strconv.Itoa(len(s.Facts)),
	}
	for _, f := range s.Facts {
		fields = append(fields, f.Label, f.Text)
	}
	fields = append(append(append(fields, strconv.Itoa(len(s.Assumed))), s.Assumed...), canonical(s.Data))
	sum := sha256.Sum256(netstrings("tau-shown-1", fields...))
	return hex.EncodeToString(sum[:])
}

// statement is a decision on what was shown.
type statement struct {
	purpose, key, id, digest, nonce, expiry, decision, hash string
}

func (d *device) statement(s shown, purpose string) statement {
	nonce := s.ApproveNonce
	if purpose == "reject" {
		nonce = s.RejectNonce
	}
	return statement{purpose, d.id, s.CallID, s.Digest, nonce, strconv.FormatInt(s.NonceExpires, 10), purpose, s.hash()}
}

func (s statement) bytes() []byte {
	return netstrings("tau-statement-1", s.purpose, s.key, s.id, s.digest, s.nonce, s.expiry, s.decision, "1", "shown", s.hash)
}

// decision is the body of a signed decision.
func (d *device) decision(s statement) string {
	b := s.bytes()
	return fmt.Sprintf(`{"statement":%q,"signature":%q}`, base64.StdEncoding.EncodeToString(b), base64.StdEncoding.EncodeToString(d.sign(b)))
}

// post makes a request that isn't signed.
func post(path, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, io.NopCloser(bytes.NewReader([]byte(body))))
	r.Host = host
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (r *rig) show(d *device, id string) shown {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.s.ServeHTTP(w, d.request("GET", web.Path+"requests/"+id, ""))
	require.Equal(r.t, 200, w.Code, w.Body.String())
	var s shown
	require.NoError(r.t, json.Unmarshal(w.Body.Bytes(), &s))
	return s
}

func request(id string) gate.Request {
	now := time.Now()
	return gate.Request{
		CallID: id, Tool: "move_joints", Tier: gate.TierPhysical, Args: json.RawMessage(`{"q":[0.1,2e-7],"s":"ş\u202e"}`),
		Effect: "Moves the arm.", Session: gate.Session{Name: "sim", Mode: gate.ModeSim, Backend: "sim"},
		Principal: "agent", Origin: "mcp", Digest: sha256.Sum256([]byte(id)), Asked: now, Expiry: now.Add(10 * time.Minute),
		Card: gate.Card{Facts: []gate.Fact{{Label: "Duration", Text: "1.2 s\x1b"}}, Assumed: []string{"masses"}, Data: json.RawMessage(`{"b":1,"a":[1.50]}`)},
	}
}

// asked is a question that is open.
type asked struct {
	word chan gate.Word
	stop context.CancelFunc
}

func (r *rig) ask(a gate.Approver, req gate.Request) *asked {
	ctx, cancel := context.WithCancel(context.Background())
	q := &asked{word: make(chan gate.Word, 1), stop: cancel}
	go func() {
		w, err := a.Decide(ctx, req)
		if err != nil {
			w = gate.Word{Decision: gate.Void, Reason: gate.Reason(err.Error())}
		}
		q.word <- w
	}()
	r.t.Cleanup(cancel)
	return q
}

func (q *asked) still(t *testing.T, what string) {
	t.Helper()
	select {
	case w := <-q.word:
		t.Fatalf("%s: the question has ended: %+v", what, w)
	default:
	}
}
