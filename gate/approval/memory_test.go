package approval_test

import (
	"testing"
	"time"

	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/approval/storetest"
)

func TestMemoryConforms(t *testing.T) {
	// Retention beyond a request's own expiry, and within it.
	for _, retention := range []time.Duration{time.Hour, time.Minute} {
		t.Run(retention.String(), func(t *testing.T) {
			storetest.Run(t, func(_ *testing.T, clock *storetest.Clock) storetest.Store {
				return storetest.Store{
					Requests: approval.NewMemoryWith(approval.Options{
						Lease: 15 * time.Second, MaxClaims: 3, Retention: retention, Now: clock.Now,
					}),
					Lease: 15 * time.Second, MaxClaims: 3, Retention: retention,
				}
			})
		})
	}
}
