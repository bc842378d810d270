package approval_test

import (
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
)

// refusedAs opens a place that has to be refused, and returns the error.
func (p place) refusedAs(t testing.TB, want error, change ...func(*approval.PostgresOptions)) error {
	t.Helper()
	o := approval.PostgresOptions{Home: "a", Schema: p.schema, Unsynced: true, Patience: patience}
	for _, c := range change {
		c(&o)
	}
	s, err := approval.OpenPostgres(t.Context(), p.url, o)
	if err == nil {
		require.NoError(t, s.Close())
	}
	require.ErrorIs(t, err, want)
	return err
}

func TestPostgresRefusesByName(t *testing.T) {
	p := newPlace(t)
	p.open(t, "a", approval.Options{}).Close()

	err := p.refusedAs(t, approval.ErrUnsafe, func(o *approval.PostgresOptions) { o.Unsynced = false })
	require.ErrorContains(t, err, "fsync")
	err = p.refusedAs(t, approval.ErrSkew, func(o *approval.PostgresOptions) {
		o.MaxSkew, o.Now = 2*time.Second, func() time.Time { return time.Now().Add(-time.Minute) }
	})
	require.ErrorContains(t, err, "at most 2s")
	p.refusedAs(t, gate.ErrCode(gate.CodeInvalidArgument), func(o *approval.PostgresOptions) { o.Home = "" })

	s := p.open(t, "a", approval.Options{})
	begin := time.Now()
	err = p.refusedAs(t, approval.ErrInUse, func(o *approval.PostgresOptions) { o.Name = "cell 3" })
	require.ErrorContains(t, err, `"cell 3" lives in it already`)
	require.Less(t, time.Since(begin), 20*time.Second)
	ask(t, s, "x")
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = s.Get(t.Context(), "x")
	require.ErrorIs(t, err, approval.ErrClosed)

	// A newer program's, and somebody else's: refused, and as they were.
	p.exec(t, "UPDATE version SET version = 99")
	err = p.refusedAs(t, approval.ErrNewer)
	require.ErrorContains(t, err, "version 99")
	p.exec(t, "UPDATE version SET version = 1")
	p.open(t, "a", approval.Options{}).Close()
	p.exec(t, "DELETE FROM version")
	p.refusedAs(t, approval.ErrDamaged)
	p.exec(t, "DROP TABLE version")
	err = p.refusedAs(t, approval.ErrDamaged)
	require.ErrorContains(t, err, "another program's")
	p.exec(t, "CREATE TABLE version (one smallint, version integer); INSERT INTO version VALUES (1, 1); ALTER TABLE requests DROP COLUMN digest")
	p.refusedAs(t, approval.ErrDamaged)
}

// A row that isn't what was written isn't shown, let alone run.
func TestPostgresADamagedRowIsRefusedByName(t *testing.T) {
	p := newPlace(t)
	s := p.bridgeAt(t, "a")
	for i, change := range []string{
		"effect = 'Moves nothing.'", "digest = sha256('x')", "snapshot = snapshot || 'x'", "expiry = expiry + 1", "args = '{}'", "facts = '[]'", "drawing = NULL",
	} {
		id := fmt.Sprint("x", i)
		c := ask(t, s, id)
		p.exec(t, "UPDATE requests SET "+change+" WHERE id = $1", []byte(id))
		for what, f := range map[string]func() error{
			"get":  func() error { _, err := s.Get(t.Context(), id); return err },
			"read": func() error { _, _, err := s.Read(t.Context(), id, time.Now()); return err },
		} {
			err := f()
			require.ErrorIs(t, err, approval.ErrDamaged, "%s after %s", what, change)
			require.ErrorContains(t, err, id)
		}
		_ = c
		p.exec(t, "DELETE FROM requests")
	}
}

// Of several bridges that start on an empty database at once one makes the schema.
func TestPostgresManyStartAtOnce(t *testing.T) {
	p := newPlace(t)
	var wg sync.WaitGroup
	var opened atomic.Int32
	for i := range 8 {
		wg.Go(func() {
			s, err := approval.OpenPostgres(t.Context(), p.url, approval.PostgresOptions{Home: fmt.Sprint("h", i), Schema: p.schema, Unsynced: true, Patience: patience})
			if err != nil {
				t.Errorf("%d: %v", i, err)
				return
			}
			opened.Add(1)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 8, opened.Load())
}

// Whatever goes wrong, no error and no log says the password.
func TestPostgresNeverSaysThePassword(t *testing.T) {
	const secret = "s3cr3t/w@rd"
	for _, u := range []string{
		"postgres://tau:" + url.QueryEscape(secret) + "@127.0.0.1:1/db?sslmode=disable",
		"postgres://tau:" + secret + "@127.0.0.1:1/db",
		"postgres://tau:" + url.QueryEscape(secret) + "@127.0.0.1:port/db",
		"postgres://tau:" + url.QueryEscape(secret) + "@/db?host=/nonexistent&sslmode=never",
		"host=/nonexistent password=" + secret + " user=tau",
		"host=/nonexistent password='" + secret + " user=tau",
		"postgres://tau:%zz" + secret + "@h/db",
		"mysql://tau:" + secret + "@h/db",
		secret,
	} {
		s, err := approval.OpenPostgres(t.Context(), u, approval.PostgresOptions{Home: "a"})
		require.Error(t, err, u)
		require.Nil(t, s)
		for e := err; e != nil; {
			for _, form := range []string{secret, url.QueryEscape(secret), "s3cr3t", "w@rd"} {
				require.NotContains(t, e.Error(), form)
				require.NotContains(t, fmt.Sprintf("%+v", e), form)
			}
			w, ok := e.(interface{ Unwrap() error })
			if !ok {
				break
			}
			e = w.Unwrap()
		}
		var typed *gate.Error
		require.ErrorAs(t, err, &typed)
	}
	require.ErrorIs(t, func() error {
		_, err := approval.OpenPostgres(t.Context(), "postgres://tau@127.0.0.1:1/db", approval.PostgresOptions{Home: "a"})
		return err
	}(), approval.ErrUnreachable)
}
