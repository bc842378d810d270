package approval_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/approval/pgtest"
	"github.com/tau-robot/tau/gate/approval/storetest"
)

// pg is the server of this package's tests; the first that needs it starts it.
var pg pgtest.Server

// pgSynced is one that syncs, for benchmarks.
var pgSynced = pgtest.Server{Durable: true}

// patience is that of the tests' stores: what takes as long as that is waited for.
const patience = 3 * time.Second

// place is a schema of a test's own.
type place struct{ url, schema string }

func newPlace(t testing.TB) place {
	t.Helper()
	return place{pg.URL(t), pg.Name()}
}

// open opens a store that lives at home there.
func (p place) open(t testing.TB, home string, o approval.Options) *approval.Postgres {
	t.Helper()
	s, err := approval.OpenPostgres(t.Context(), p.url, approval.PostgresOptions{Options: o, Home: home, Schema: p.schema, Unsynced: true, Patience: patience})
	require.NoError(t, err)
	return s
}

// exec runs a statement in that schema, as somebody with the database's password can.
func (p place) exec(t testing.TB, q string, args ...any) {
	t.Helper()
	c := p.connect(t)
	defer func() { require.NoError(t, c.Close(t.Context())) }()
	_, err := c.Exec(t.Context(), q, args...)
	require.NoError(t, err)
}

func (p place) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	conf, err := pgx.ParseConfig(p.url)
	require.NoError(t, err)
	conf.RuntimeParams["search_path"] = p.schema
	c, err := pgx.ConnectConfig(t.Context(), conf)
	require.NoError(t, err)
	return c
}

func TestPostgresConforms(t *testing.T) {
	for _, retention := range retentions[:1] {
		t.Run(retention.String(), func(t *testing.T) {
			pg.URL(t) // before the cases, so that this is what is skipped
			storetest.Run(t, func(t *testing.T, clock *storetest.Clock) storetest.Store {
				p := newPlace(t)
				var open func() storetest.Store
				var s *approval.Postgres
				open = func() storetest.Store {
					o := bounds(clock, retention)
					s = p.open(t, "home", o)
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
