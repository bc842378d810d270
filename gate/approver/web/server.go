package web

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/conns"
	"github.com/tau-robot/tau/gate/words"
)

// Timeout is how long a question waits here (GATE.md's table of channels).
const Timeout = 5 * time.Minute

// Path is where the protocol's paths begin.
const Path = "/approvals/v1/"

const (
	maxBody     = 16 << 10         // bytes of a request
	maxHeader   = 16 << 10         // bytes of its head
	maxInFlight = 64               // requests at once, and decisions
	maxWait     = 25 * time.Second // that a list is held until it changes
)

// Ring is the enrolled keys. *signed.Ring is one.
type Ring interface {
	signed.Keys
	List() ([]signed.Entry, []error)
	Revoke(id string, now time.Time) error
}

// Options are what a Server is made of. Ring and Pairing are the bridge's, shared with
// whatever else knows them.
type Options struct {
	Settings Settings
	Ring     Ring
	Pairing  *signed.Pairing
	// Stop stops everything. by names the device that asked for it.
	Stop func(ctx context.Context, kind gate.StopKind, reason, by string) []gate.StopVerdict
	// Refused is told of each decision and enrolment that is refused, for the record:
	// why, and the key that it named, where there is one. nil: nobody is. It is called no
	// more often than such attempts are answered with a reason.
	Refused func(reason gate.Reason, text, key string)
	Lang    words.Lang
	Log     *slog.Logger     // nil: none
	Now     func() time.Time // nil: time.Now
	Rand    io.Reader        // of nonces; nil: crypto/rand
}

// Server is a gate.Approver and an http.Handler. Its methods may be called from any
// goroutine. Make one with New.
type Server struct {
	o        Options
	log      *slog.Logger
	cross    *http.CrossOriginProtection
	verifier *signed.Verifier
	routes   *http.ServeMux
	inFlight chan struct{} // places of what may wait
	deciding chan struct{} // and of decisions, which never do
	enrols   *rate.Limiter // of attempts to enrol
	bad      *rate.Limiter // of requests whose signature doesn't count

	run  string        // tells this run's versions from another's
	quit chan struct{} // closed when the service ends

	mu      sync.Mutex
	open    map[string]*asking // by call id
	changed chan struct{}      // closed and made anew when open changes
	version uint64             // of open
	ended   bool
	// used are the nonces of signed requests, by key, and until when to remember them.
	used    map[string]map[string]time.Time
	serving *http.Server
}

var (
	_ gate.Approver = (*Server)(nil)
	_ http.Handler  = (*Server)(nil)
)

// New makes a server. It listens nowhere.
func New(o Options) (*Server, error) {
	if err := o.Settings.Check(); err != nil {
		return nil, err
	}
	if o.Ring == nil || o.Pairing == nil || o.Stop == nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "web", "it needs a ring of keys, a pairing, and what to stop with")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Refused == nil {
		o.Refused = func(gate.Reason, string, string) {}
	}
	s := &Server{
		o: o, log: o.Log, cross: http.NewCrossOriginProtection(),
		verifier: &signed.Verifier{Keys: o.Ring, Nonces: signed.NewNonces(o.Rand), Now: o.Now},
		inFlight: make(chan struct{}, maxInFlight), deciding: make(chan struct{}, maxInFlight),
		enrols: rate.NewLimiter(rate.Every(2*time.Second), 5),
		bad:    rate.NewLimiter(rate.Every(time.Second), 20),
		open:   map[string]*asking{}, changed: make(chan struct{}), used: map[string]map[string]time.Time{},
		quit: make(chan struct{}),
	}
	var run [4]byte
	if _, err := io.ReadFull(o.Rand, run[:]); err != nil {
		return nil, gate.Errf(gate.CodeInternal, "web", "there is no randomness: %w", err)
	}
	s.run = hex.EncodeToString(run[:]) + "-"
	s.routes = http.NewServeMux()
	for pattern, h := range map[string]func(http.ResponseWriter, *http.Request, []byte) error{
		"POST " + Path + "enrol":             s.enrol,
		"GET " + Path + "requests":           s.list,
		"GET " + Path + "requests/{call_id}": s.show,
		"POST " + Path + "decide":            s.decide,
		"POST " + Path + "stop":              s.stop,
		"POST " + Path + "estop":             s.stop,
		"POST " + Path + "revoke":            s.revoke,
	} {
		s.routes.HandleFunc(pattern, s.handle(h))
	}
	s.routes.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.refuse(w, &problem{status: http.StatusNotFound, reason: ReasonNoPath, text: "there is nothing here"})
	})
	return s, nil
}

// ServeHTTP serves one request. Who may not come in learns nothing but why.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	if p := s.checkOrigin(r); p != nil {
		s.refuse(w, p)
		return
	}
	s.routes.ServeHTTP(w, r)
}

// handle reads the whole body, bounded, finds a place for the request, and writes what
// went wrong. A request has no place before it is whole, so that half-sent ones hold
// nobody up: package conns bounds those.
func (s *Server) handle(f func(http.ResponseWriter, *http.Request, []byte) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		// Without a deadline a half-sent body would hold its place for ever; it mustn't end
		// an answer that is held. Writers of tests have none.
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err == nil {
			_ = rc.SetReadDeadline(time.Time{})
		} else {
			s.refuse(w, &problem{status: http.StatusRequestEntityTooLarge, reason: ReasonTooLarge, text: "the body can't be read, or is larger than 16 KiB"})
			return
		}
		if !stops(r) { // which wait behind nothing
			places := s.inFlight
			if r.URL.Path == Path+"decide" { // which no number of held lists may keep out
				places = s.deciding
			}
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			default:
				s.refuse(w, &problem{status: http.StatusServiceUnavailable, reason: ReasonBusy, text: s.o.Lang.WebBusy(), after: time.Second})
				return
			}
		}
		// Only who has signed, or knows a pairing's code, is made to wait from here on.
		defer conns.Hold(r.Context())()
		if err := f(w, r, body); err != nil {
			s.refuse(w, s.problemOf(err))
		}
	}
}
