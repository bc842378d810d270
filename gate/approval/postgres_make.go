package approval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// prepare looks whether the server can be relied on, and makes or checks the schema.
func (s *Postgres) prepare(ctx context.Context, o PostgresOptions) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := s.trust(ctx, conn, o.Unsynced); err != nil {
		return err
	}
	if err := s.migrate(ctx, conn); err != nil {
		return err
	}
	// Each statement is tried on what is there, before anything depends on it.
	for _, q := range pgStatements {
		sql, _, err := pgx.NamedArgs{}.RewriteQuery(ctx, conn.Conn(), q, nil)
		if err == nil {
			_, err = conn.Conn().PgConn().Prepare(ctx, "", sql, nil)
		}
		if err != nil {
			return fmt.Errorf("schema %q: %w", s.schema, err)
		}
	}
	return nil
}

// trust refuses a server that may lose what it has reported, or whose clock tells
// another time.
func (s *Postgres) trust(ctx context.Context, conn *pgxpool.Conn, unsynced bool) error {
	var fsync, commit string
	var now time.Time
	if err := conn.QueryRow(ctx, "SELECT current_setting('fsync'), current_setting('synchronous_commit'), clock_timestamp()").Scan(&fsync, &commit, &now); err != nil {
		return err
	}
	if !unsynced && fsync != "on" {
		return fmt.Errorf("%w: it runs with fsync off, and a decision that it has lost with its power could be given twice; set fsync = on", ErrUnsafe)
	}
	if commit != "on" {
		return fmt.Errorf("%w: synchronous_commit is %q for this connection although it was asked to be on; a pooler may have dropped that", ErrUnsafe, commit)
	}
	if d := s.opts.Now().Sub(now).Abs(); s.skew > 0 && d > s.skew {
		return fmt.Errorf("%w: this machine's and the server's by %s, at most %s; set them by the network's time", ErrSkew, d.Round(time.Millisecond), s.skew)
	}
	return nil
}

// migrate makes the schema, or brings it up to date, in one transaction and under a
// lock, so that of several bridges that start at once one does.
func (s *Postgres) migrate(ctx context.Context, conn *pgxpool.Conn) (err error) {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // after a commit it does nothing
	if _, err = tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", lockOf("schema", s.schema)); err != nil {
		return err
	}
	version, err := s.version(ctx, tx)
	switch {
	case err != nil:
		return err
	case version == pgVersion:
		return nil
	case version > pgVersion:
		return fmt.Errorf("%w: schema %q has version %d and this program knows %d; use the newer program", ErrNewer, s.schema, version, pgVersion)
	}
	run := func(q string, args ...any) {
		if err == nil {
			_, err = tx.Exec(ctx, q, args...)
		}
	}
	name := pgx.Identifier{s.schema}.Sanitize()
	if version == 0 {
		run("CREATE SCHEMA IF NOT EXISTS " + name)
		run("CREATE TABLE " + name + ".version (one smallint PRIMARY KEY CHECK (one = 1), version integer NOT NULL CHECK (version > 0))")
		run("INSERT INTO "+name+".version VALUES (1, $1)", pgVersion)
	}
	// What the steps make goes where the path begins.
	run("SET LOCAL search_path = " + name + ", pg_catalog")
	for _, step := range pgSteps[version:] {
		for _, q := range step {
			run(q)
		}
	}
	run("UPDATE "+name+".version SET version = $1", pgVersion)
	if err == nil {
		err = tx.Commit(ctx)
	}
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == "42501" {
		return fmt.Errorf("schema %q can't be made: grant CREATE on the database to this user, or make the schema and give it to him: %w", s.schema, err)
	}
	return err
}

// version returns that of the schema; 0: there is none, or nothing is in it.
func (s *Postgres) version(ctx context.Context, tx pgx.Tx) (int, error) {
	var marked bool
	var tables int
	err := tx.QueryRow(ctx, `SELECT count(*) FILTER (WHERE c.relname = 'version') > 0, count(*) FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v')`, s.schema).Scan(&marked, &tables)
	switch {
	case err != nil:
		return 0, err
	case tables == 0:
		return 0, nil
	case !marked:
		return 0, fmt.Errorf("%w: schema %q is another program's; name another database", ErrDamaged, s.schema)
	}
	var version int
	err = tx.QueryRow(ctx, "SELECT version FROM "+pgx.Identifier{s.schema, "version"}.Sanitize()+" WHERE one = 1").Scan(&version)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && version < 1 {
		return 0, fmt.Errorf("%w: schema %q doesn't say which version it has", ErrDamaged, s.schema)
	}
	return version, err
}
