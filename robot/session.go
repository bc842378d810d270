package robot

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// How long an opt-in lasts.
const (
	DefaultOptIn = 30 * time.Minute
	MaxOptIn     = 8 * time.Hour
)

// MaxSessions is the number of sessions that one bridge holds at once.
const MaxSessions = 1024

// clockSlack is how far the wall clock may stand before the moment of the grant
// (a step of its synchronisation) before an opt-in counts as ended.
const clockSlack = time.Second

// OptIn is a person's consent that one session may move one real robot for a
// while. It is never stored and never read from a file, an environment variable
// or an earlier run.
type OptIn struct {
	Session   string    `json:"session"`
	Robot     string    `json:"robot"`
	Driver    string    `json:"driver"`
	Port      string    `json:"port"`
	Principal string    `json:"principal"` // who opted in
	Granted   time.Time `json:"granted"`
	Expires   time.Time `json:"expires"`
}

// Session is a snapshot of a session. Mode is real only while an opt-in is in force.
type Session struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Mode    Mode      `json:"mode"`
	OptIn   *OptIn    `json:"opt_in,omitempty"` // the one in force, a copy
}

// Sessions are the sessions of one bridge. Each is simulated unless it holds an
// opt-in that is in force. The zero value permits nothing and takes no sessions.
// All methods may be called from any goroutine and none blocks.
type Sessions struct {
	mu   sync.Mutex
	now  func() time.Time
	boot func() time.Duration // nil: none
	all  map[string]*session
}

type session struct {
	created time.Time
	optIn   *OptIn
	length  time.Duration
	booted  time.Duration // what boot said at the grant
	ended   chan struct{} // closed when the opt-in was revoked, replaced or found expired
	expired bool          // the last opt-in ran out, rather than being revoked or never given
}

// NewSessions returns an empty set that asks now for the time. now should return
// times with a monotonic reading, as time.Now does; an opt-in ends when either
// clock says so.
func NewSessions(now func() time.Time) *Sessions {
	return &Sessions{now: now, all: map[string]*session{}}
}

// CountSleep gives the set a clock that says how long ago the machine started, the
// time that it slept included: an opt-in then ends by it as well, so that neither a
// sleep nor a wall clock that was set back meanwhile prolongs one. Opt-ins that are in
// force end. nil takes the clock away.
func (s *Sessions) CountSleep(boot func() time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.all {
		if x.optIn != nil {
			x.end(true)
		}
	}
	s.boot = boot
}

// CheckSessionName refuses what isn't 1 to 64 of the characters A-Z, a-z, 0-9, _ and -.
func CheckSessionName(name string) error {
	if len(name) == 0 || len(name) > 64 {
		return Errf(CodeInvalidArgument, "session", "a name of %d characters; 1 to 64 are allowed", len(name))
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
			return Errf(CodeInvalidArgument, "session", "the name %q holds more than letters, digits, _ and -", name)
		}
	}
	return nil
}

// New adds a simulated session.
func (s *Sessions) New(name string) (Session, error) {
	if err := CheckSessionName(name); err != nil {
		return Session{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.now == nil:
		return Session{}, Errf(CodeNotSupported, "session", "this set of sessions has no clock")
	case s.all[name] != nil:
		return Session{}, Errf(CodeInvalidArgument, "session", "the session %q exists already", name)
	case len(s.all) >= MaxSessions:
		return Session{}, Errf(CodeInvalidArgument, "session", "there are %d sessions already", MaxSessions)
	}
	s.all[name] = &session{created: s.now()}
	return s.snapshot(name), nil
}

// Get returns the session of that name.
func (s *Sessions) Get(name string) (Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[name] == nil {
		return Session{}, false
	}
	return s.snapshot(name), true
}

// List returns all sessions by name.
func (s *Sessions) List() []Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Session, 0, len(s.all))
	for name := range s.all {
		out = append(out, s.snapshot(name))
	}
	slices.SortFunc(out, func(a, b Session) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// End removes a session with its opt-in and reports whether it was there.
func (s *Sessions) End(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[name]
	if x == nil {
		return false
	}
	x.end(false)
	delete(s.all, name)
	return true
}

// OptIn puts an opt-in in force that lasts for d, DefaultOptIn where d is 0, and
// returns it with Granted and Expires set. One that the session has already ends.
func (s *Sessions) OptIn(o OptIn, d time.Duration) (OptIn, error) {
	if d == 0 {
		d = DefaultOptIn
	}
	if d < 0 || d > MaxOptIn {
		return OptIn{}, LimitErr(CodeInvalidArgument, "for", d.Seconds(), MaxOptIn.Seconds(), "s",
			"an opt-in lasts longer than nothing and at most 8 hours")
	}
	for _, f := range []struct{ name, value string }{
		{"robot", o.Robot}, {"driver", o.Driver}, {"port", o.Port}, {"principal", o.Principal},
	} {
		if f.value == "" {
			return OptIn{}, Errf(CodeInvalidArgument, f.name, "an opt-in names its %s", f.name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[o.Session]
	if x == nil {
		return OptIn{}, Errf(CodeInvalidArgument, "session", "there is no session %q", o.Session)
	}
	x.end(false)
	o.Granted = s.now()
	o.Expires = o.Granted.Add(d)
	held := o
	x.optIn, x.length, x.expired, x.ended = &held, d, false, make(chan struct{})
	if s.boot != nil {
		x.booted = s.boot()
	}
	return o, nil
}

// Revoke ends the opt-in of a session and reports whether one was in force.
func (s *Sessions) Revoke(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.all[name]
	if x == nil {
		return false
	}
	in := s.check(name) == nil
	x.end(x.expired)
	return in
}

// Permit returns nil while the session may move the real robot that its opt-in
// names; else NOT_OPTED_IN or OPT_IN_EXPIRED.
func (s *Sessions) Permit(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.check(name)
}

// Watch returns, for an opt-in that is in force, what is left of it and a channel
// that closes when it is revoked or replaced before that. Whoever moves a real
// robot waits for both, since running out closes the channel only once somebody asks.
func (s *Sessions) Watch(name string) (left time.Duration, ended <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(name); err != nil {
		return 0, nil, err
	}
	x := s.all[name]
	return x.length - s.elapsed(x, s.now()), x.ended, nil
}

// check says whether an opt-in is in force, and ends one that ran out, so that a
// clock set back later doesn't revive it. s.mu is held.
func (s *Sessions) check(name string) error {
	x := s.all[name]
	if x != nil && x.optIn != nil {
		now := s.now()
		if wall := now.Round(0).Sub(x.optIn.Granted.Round(0)); s.elapsed(x, now) >= x.length || wall < -clockSlack {
			x.end(true)
		}
	}
	switch {
	case x == nil:
		return Errf(CodeNotOptedIn, "session", "there is no session %q", name)
	case x.optIn != nil:
		return nil
	case x.expired:
		return Errf(CodeOptInExpired, "session", "the opt-in of session %q ran out; a real robot needs a new one", name)
	}
	return Errf(CodeNotOptedIn, "session", "session %q is simulated; moving a real robot needs its opt-in", name)
}

// elapsed returns the longest of what the clocks say has passed since the grant: the
// monotonic one stands still while the machine sleeps, the wall clock may be set
// back. A boot clock that runs backwards is none that an opt-in can rest on.
func (s *Sessions) elapsed(x *session, now time.Time) time.Duration {
	d := max(now.Sub(x.optIn.Granted), now.Round(0).Sub(x.optIn.Granted.Round(0)))
	if s.boot == nil {
		return d
	}
	slept := s.boot() - x.booted
	if slept < 0 {
		return x.length
	}
	return max(d, slept)
}

func (x *session) end(expired bool) {
	if x.optIn != nil {
		close(x.ended)
	}
	x.optIn, x.ended, x.expired = nil, nil, expired
}

// snapshot describes a session that exists. s.mu is held.
func (s *Sessions) snapshot(name string) Session {
	out := Session{Name: name, Created: s.all[name].created, Mode: ModeSim}
	if s.check(name) == nil {
		o := *s.all[name].optIn
		out.Mode, out.OptIn = ModeReal, &o
	}
	return out
}
