package approval_test

import (
	"testing"
	"time"

	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/approval/storetest"
)

func TestMemoryConforms(t *testing.T) {
	storetest.Run(t, func(_ *testing.T, clock *storetest.Clock) storetest.Store {
		return storetest.Store{
			Requests: approval.NewMemoryWith(approval.Options{
				Lease: 15 * time.Second, MaxClaims: 3, Retention: time.Hour, Now: clock.Now,
			}),
			Lease: 15 * time.Second, MaxClaims: 3, Retention: time.Hour,
		}
	})
}
