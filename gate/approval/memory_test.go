package approval_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/approval/storetest"
)

func TestMain(m *testing.M) {
	if dir := childDir(); dir != "" {
		child(dir)
		return
	}
	if os.Getenv(pgChildVar) != "" {
		pgChild()
		return
	}
	if underRace {
		flag.Parse()
		if err := flag.Set("rapid.checks", "20"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(served{m})
}

// served are the tests, and the end of the server that some of them have started.
type served struct{ m *testing.M }

func (s served) Run() int {
	status := s.m.Run()
	if err := errors.Join(pg.Stop(), pgSynced.Stop()); err != nil {
		fmt.Fprintln(os.Stderr, "ending PostgreSQL:", err)
		return max(status, 1)
	}
	return status
}

// rounds is how often something is tried.
func rounds(n int) int {
	if underRace {
		return max(n/6, 1)
	}
	return n
}

// bounds are those that the suites are run with.
func bounds(clock *storetest.Clock, retention time.Duration) approval.Options {
	return approval.Options{
		Lease: 15 * time.Second, HardStop: time.Minute, MaxClaims: 3, Retention: retention,
		Now: clock.Now, Boot: clock.Boot, BootID: clock.BootID(),
	}
}

func under(o approval.Options, s storetest.Store) storetest.Store {
	s.Lease, s.HardStop, s.MaxClaims, s.Retention = o.Lease, o.HardStop, o.MaxClaims, o.Retention
	return s
}

// retentions are beyond a request's own expiry, and within it.
var retentions = []time.Duration{time.Hour, time.Minute}

func TestMemoryConforms(t *testing.T) {
	for _, retention := range retentions {
		t.Run(retention.String(), func(t *testing.T) {
			storetest.Run(t, func(_ *testing.T, clock *storetest.Clock) storetest.Store {
				o := bounds(clock, retention)
				s := approval.NewMemoryWith(o)
				return under(o, storetest.Store{Requests: s, Grants: s, Routines: s})
			})
		})
	}
}
