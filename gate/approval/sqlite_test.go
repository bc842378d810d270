package approval_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/approval/storetest"
)

func TestSQLiteConforms(t *testing.T) {
	for _, retention := range retentions[:rounds(len(retentions))] {
		t.Run(retention.String(), func(t *testing.T) {
			storetest.Run(t, func(t *testing.T, clock *storetest.Clock) storetest.Store {
				path := filepath.Join(t.TempDir(), "bridge.db")
				var open func() storetest.Store
				var s *approval.SQLite
				open = func() storetest.Store {
					o := bounds(clock, retention)
					var err error
					s, err = approval.OpenSQLite(t.Context(), path, o)
					require.NoError(t, err)
					return under(o, storetest.Store{Requests: s, Grants: s, Routines: s, Reopen: func() storetest.Store {
						require.NoError(t, s.Close())
						return open()
					}})
				}
				t.Cleanup(func() { require.NoError(t, s.Close()) })
				return open()
			})
		})
	}
}
