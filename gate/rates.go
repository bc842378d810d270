package gate

import (
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is a token bucket: PerSecond tokens a second, at most Burst at once.
type Rate struct {
	PerSecond float64
	Burst     int
}

// RateLimits bounds calls (G24). A nil Session and a tool that isn't named have
// no limit. stop and estop are never limited.
type RateLimits struct {
	Session *Rate           // for all calls of a session together
	Tools   map[string]Rate // for the calls of one tool in one session
}

func (r Rate) check(where string) error {
	if math.IsNaN(r.PerSecond) || math.IsInf(r.PerSecond, 0) || r.PerSecond <= 0 || r.Burst < 1 {
		return Errf(CodeInvalidArgument, where, "a rate limit has a finite positive rate and a burst of at least 1, not %g a second and %d", r.PerSecond, r.Burst)
	}
	return nil
}

type rateKey struct{ session, tool string }

// limiter holds the buckets. Sessions are those that exist, so their number is bounded.
type limiter struct {
	limits RateLimits
	mu     sync.Mutex
	bucket map[rateKey]*rate.Limiter
}

func newLimiter(l RateLimits) (*limiter, error) {
	own := RateLimits{Tools: make(map[string]Rate, len(l.Tools))}
	if l.Session != nil {
		if err := l.Session.check("rates.session"); err != nil {
			return nil, err
		}
		s := *l.Session
		own.Session = &s
	}
	for name, r := range l.Tools {
		if err := r.check("rates." + name); err != nil {
			return nil, err
		}
		own.Tools[name] = r
	}
	return &limiter{limits: own, bucket: map[rateKey]*rate.Limiter{}}, nil
}

// allow takes one token from each bucket that the call falls under, or none at
// all: a call that is over one limit doesn't spend another one's token.
func (l *limiter) allow(now time.Time, session, tool string) error {
	perTool, limited := l.limits.Tools[tool]
	if l.limits.Session == nil && !limited {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var all, one *rate.Limiter
	if l.limits.Session != nil {
		all = l.get(rateKey{session: session}, *l.limits.Session)
		if all.TokensAt(now) < 1 {
			return overLimit("session "+session, *l.limits.Session)
		}
	}
	if limited {
		one = l.get(rateKey{session: session, tool: tool}, perTool)
		if one.TokensAt(now) < 1 {
			return overLimit("tool "+tool, perTool)
		}
	}
	if all != nil {
		all.AllowN(now, 1)
	}
	if one != nil {
		one.AllowN(now, 1)
	}
	return nil
}

func (l *limiter) get(k rateKey, r Rate) *rate.Limiter {
	b := l.bucket[k]
	if b == nil {
		b = rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)
		l.bucket[k] = b
	}
	return b
}

func overLimit(where string, r Rate) error {
	return Errf(CodeRateLimited, where, "too many calls, %g a second and %d at once are allowed; it was not run", r.PerSecond, r.Burst)
}
