package gate

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"log/slog"
	"time"
)

// The defaults of a Config.
const (
	DefaultRequestTTL  = 10 * time.Minute // G10
	DefaultQueueWait   = 10 * time.Minute // G11
	DefaultStartWithin = 10 * time.Second // G44
	DefaultMaxOpen     = 10               // G33
	DefaultStopWait    = 10 * time.Second
	DefaultKeepAnswers = time.Hour
	// refusedFor is how long a call that a person refused isn't asked again (G33).
	refusedFor = 60 * time.Second
	// logWait bounds how long a stop's answer waits for its own log entry.
	logWait = time.Second
	// stopGrace is how much longer than StopWait, at which a backend's context
	// ends, its last verdict is waited for.
	stopGrace = 500 * time.Millisecond
	// maxKept bounds the ended calls that call_status can tell of.
	maxKept = 1000
)

// Config is what a gate is made of. Catalog, Lane, Sessions, Requests and Sink are
// needed; the rest has a default that permits nothing.
type Config struct {
	Catalog  *Catalog // New adds the gate's own tools and seals it
	Lane     Lane
	Sessions Sessions
	Requests Requests
	Sink     Sink
	Approver Approver // nil: AutoReject
	// Stoppers are all backends of the bridge; a stop acts on each of them.
	Stoppers []Stopper
	// Exemptions are asked from the start; Exempt adds more.
	Exemptions []Exemption
	// Policy returns a hash over the operator's policy as it is now; nil: none,
	// all zeros. It is part of what a person approves and is asked again before
	// the action runs.
	Policy func() [32]byte
	Roles  Roles // nil: who may call and who may decide isn't bounded further
	// Grants and Access make request_access one of the tools, together (G48).
	Grants Grants
	Access Access
	// Routines makes register_routine and run_routine two of the tools (G14).
	Routines Routines
	Rates    RateLimits
	Budget   Budget
	// Hooks are the operator's rules around calls; nil: none. New seals them.
	Hooks *Hooks

	RequestTTL      time.Duration // a request's expiry after it was asked
	QuestionTimeout time.Duration // 0: the approver's own, else none (G10)
	QueueWait       time.Duration // how long a call waits for its turn
	BatchWait       time.Duration // how long a batch waits for the rest of its calls
	StartWithin     time.Duration // an approval that hasn't started by then lapses
	StopWait        time.Duration // how long a stop waits for a backend's verdict
	MaxOpen         int           // open questions of one session
	KeepAnswers     time.Duration // how long an ended physical call's answer is kept

	Worker string       // names this process in claims; empty: made from Rand
	Log    *slog.Logger // nil: no log
	Now    func() time.Time
	// Boot returns the time since the machine started, the time that it slept
	// included; nil: not used. Timers run on the monotonic clock in any case.
	Boot func() time.Duration
	Rand io.Reader // for call ids; nil: crypto/rand
}

func (c *Config) fill() error {
	for _, need := range []struct {
		name string
		ok   bool
	}{
		{"catalog", c.Catalog != nil}, {"lane", c.Lane != nil}, {"sessions", c.Sessions != nil},
		{"requests", c.Requests != nil}, {"sink", c.Sink != nil},
	} {
		if !need.ok {
			return Errf(CodeInvalidArgument, "config."+need.name, "is missing; a gate can't work without it")
		}
	}
	for _, d := range []struct {
		name string
		v    *time.Duration
		def  time.Duration
	}{
		{"request_ttl", &c.RequestTTL, DefaultRequestTTL}, {"question_timeout", &c.QuestionTimeout, 0},
		{"queue_wait", &c.QueueWait, DefaultQueueWait}, {"batch_wait", &c.BatchWait, DefaultBatchWait},
		{"start_within", &c.StartWithin, DefaultStartWithin},
		{"stop_wait", &c.StopWait, DefaultStopWait}, {"keep_answers", &c.KeepAnswers, DefaultKeepAnswers},
	} {
		if *d.v < 0 {
			return Errf(CodeInvalidArgument, "config."+d.name, "%v is negative", *d.v)
		}
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	if c.MaxOpen < 0 {
		return Errf(CodeInvalidArgument, "config.max_open", "%d is negative", c.MaxOpen)
	}
	if c.MaxOpen == 0 {
		c.MaxOpen = DefaultMaxOpen
	}
	if err := c.Budget.fill(); err != nil {
		return err
	}
	if (c.Grants == nil) != (c.Access == nil) {
		return Errf(CodeInvalidArgument, "config.grants", "grants and access come together or not at all")
	}
	for i, s := range c.Stoppers {
		if s == nil {
			return Errf(CodeInvalidArgument, "config.stoppers", "number %d is nil", i)
		}
	}
	if c.Approver == nil {
		c.Approver = AutoReject{}
	}
	if c.Policy == nil {
		c.Policy = func() [32]byte { return [32]byte{} }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Rand == nil {
		c.Rand = rand.Reader
	}
	if c.Worker == "" {
		id, err := newID(c.Rand)
		if err != nil {
			return err
		}
		c.Worker = id
	}
	return nil
}

// newID returns 128 random bits in hex.
func newID(r io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return "", Errf(CodeInternal, "call_id", "there is no randomness: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
