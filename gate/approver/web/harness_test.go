package web_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/approver/web"
	"github.com/tau-robot/tau/gate/approver/web/webtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const host = "127.0.0.1:8477"

// rig is a service with an operator and one device, dev, enrolled.
type rig struct {
	t        testing.TB
	s        *web.Server
	ring     *signed.Ring
	operator *signed.Private
	pairing  *signed.Pairing
	dev      *device
	log      *logged

	mu      sync.Mutex
	stops   []string
	refused []string
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

func newRig(t testing.TB) *rig {
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
	r.fresh()
	r.dev = newDevice(t)
	r.vouch(r.dev)
	return r
}

// fresh puts a new service in the old one's place, with the same keys.
func (r *rig) fresh() {
	r.t.Helper()
	var err error
	r.s, err = web.New(web.Options{
		Settings: web.Settings{Listen: "127.0.0.1:0", Hosts: []string{"console.example"}}, Ring: r.ring, Pairing: r.pairing,
		Refused: func(reason gate.Reason, _, key string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.refused = append(r.refused, string(reason)+"|"+key)
		},
		Log: slog.New(slog.NewTextHandler(r.log, nil)),
		Stop: func(_ context.Context, kind gate.StopKind, reason, by string) []gate.StopVerdict {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.stops = append(r.stops, string(kind)+"|"+reason+"|"+by)
			return []gate.StopVerdict{{Backend: "sim", Commanded: "yes"}}
		},
	})
	require.NoError(r.t, err)
}

// vouch enrols a device as the operator does.
func (r *rig) vouch(d *device) {
	r.t.Helper()
	e, err := signed.NewEntry("a phone", signed.KindDevice, d.Public, time.Now())
	require.NoError(r.t, err)
	e, err = r.operator.Vouch(e)
	require.NoError(r.t, err)
	require.NoError(r.t, r.ring.Add(e))
}

// device is a webtest.Device that asks this service.
type device struct{ *webtest.Device }

func newDevice(t testing.TB) *device { return &device{webtest.New(t)} }

// request makes a signed request as the service gets it.
func (d *device) request(method, path, body string) *http.Request {
	return arrived(d.Request(method, host, path, body))
}

// arrived is a client's request as a server sees it.
func arrived(r *http.Request) *http.Request {
	in := httptest.NewRequest(r.Method, r.URL.RequestURI(), r.Body)
	in.Host, in.Header = r.URL.Host, r.Header
	return in
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

// post makes a request that isn't signed.
func post(path, body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, io.NopCloser(bytes.NewReader([]byte(body))))
	r.Host = host
	r.Header.Set("Content-Type", "application/json")
	return r
}

func (r *rig) show(d *device, id string) webtest.Shown {
	r.t.Helper()
	w := httptest.NewRecorder()
	r.s.ServeHTTP(w, d.request("GET", web.Path+"requests/"+id, ""))
	require.Equal(r.t, 200, w.Code, w.Body.String())
	var s webtest.Shown
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
