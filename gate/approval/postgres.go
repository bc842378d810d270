package approval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tau-robot/tau/gate"
)

// Postgres is a gate.Requests in a PostgreSQL database, for several bridges at a
// time. Each write is one conditional statement or one transaction, committed with
// synchronous_commit on before a method returns. All methods may be called from any
// goroutine; none blocks for longer than Patience, whatever becomes of the server. A
// context that ends gives up waiting for a connection; a write that has begun is
// never cut off by it. Where a write's end wasn't heard (a connection that was lost,
// a server that didn't answer) the method is an error and permits nothing.
//
// A bridge lives for as long as a session of its own holds two locks of the database:
// one for its home, so that there is one of it, and one for its generation, which
// every request names that it has. A bridge that has lost them asks, claims and begins
// nothing until it has them again, as another generation; what it had claimed and not
// begun is not begun.
type Postgres struct {
	opts       Options
	home, name string
	schema     string
	place      string // of errors: host, port and database
	skew       time.Duration
	patience   time.Duration
	log        *slog.Logger
	pool       *pgxpool.Pool
	conf       *pgx.ConnConfig
	scrub      func(error) error
	presence   presence

	mu       sync.Mutex
	shut     bool
	doubtful map[string]bool // starts that may have been recorded although they weren't permitted
}

var _ gate.Requests = (*Postgres)(nil)

// PostgresOptions are those of a store in PostgreSQL.
type PostgresOptions struct {
	Options
	// Home names this bridge for good, as its data folder does. Two at a time with the
	// same are refused.
	Home string
	// Name is what people of other bridges read; "": Home.
	Name string
	// Schema is the schema of the tables; "": tau_robot.
	Schema string
	// MaxSkew is how far this machine's clock may stand from the server's when the
	// database is opened; 0: it isn't looked at.
	MaxSkew time.Duration
	// Patience bounds every method, and the server's own waiting for a lock and for a
	// statement within it; 0: 8 s.
	Patience time.Duration
	// Unsynced accepts a server that runs with fsync off. What it has reported may be
	// lost with its power.
	Unsynced bool
	Log      *slog.Logger // nil: none
}

// Why a server can't be used. errors.Is finds them, and those of SQLite.
var (
	// ErrUnreachable: the server isn't there, or the connection to it was lost.
	ErrUnreachable = errors.New("the database can't be reached")
	// ErrSlow: the server is there and didn't do it in time.
	ErrSlow = errors.New("the database didn't answer in time")
	// ErrCutOff: the session by which others know that this bridge lives is lost.
	ErrCutOff = errors.New("this bridge is cut off from its database: nothing new is asked and nothing begins to move until it is back")
	// ErrUnsafe: what the server reports as stored may be lost.
	ErrUnsafe = errors.New("the server doesn't keep what it reports")
	// ErrSkew: this machine's clock and the server's tell different times.
	ErrSkew = errors.New("the clocks differ")
)

const (
	defaultPatience = 8 * time.Second
	poolSize        = 8
	defaultSchema   = "tau_robot"
)

// OpenPostgres opens the database at url (postgres://…, or a connection string of
// PostgreSQL), makes its schema where there is none, and brings an older one up to
// date; one that a newer version wrote, or that isn't ours, is refused and isn't
// touched. It takes this bridge's locks, for which it waits a few seconds where an
// earlier process of the same home is just ending. No error and no log names a
// password.
func OpenPostgres(ctx context.Context, url string, o PostgresOptions) (*Postgres, error) {
	s, err := newPostgres(url, o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openWait)
	defer cancel()
	fail := func(err error) (*Postgres, error) {
		s.pool.Close()
		return nil, s.fault(err)
	}
	if err := s.prepare(ctx, o); err != nil {
		return fail(err)
	}
	if err := s.begin(ctx); err != nil {
		return fail(err)
	}
	return s, nil
}

func newPostgres(url string, o PostgresOptions) (*Postgres, error) {
	if o.Home == "" {
		return nil, gate.Errf(gate.CodeInvalidArgument, "home", "is empty; a bridge on a shared database has a name of its own")
	}
	s := &Postgres{
		opts: o.filled(), home: o.Home, name: o.Name, schema: o.Schema, skew: o.MaxSkew, patience: o.Patience, log: o.Log, doubtful: map[string]bool{},
	}
	if s.name == "" {
		s.name = s.home
	}
	if s.schema == "" {
		s.schema = defaultSchema
	}
	if s.patience <= 0 {
		s.patience = defaultPatience
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	// The server gives up first, and says so.
	statementWait, lockWait, connectWait := s.patience*5/8, s.patience*3/8, s.patience*3/8
	conf, err := pgxpool.ParseConfig(url)
	if err != nil {
		// What pgx says of it quotes from it.
		return nil, gate.Errf(gate.CodeInvalidArgument, "store", "it is not the address of a PostgreSQL database: want postgres://user@host:port/database?options")
	}
	c := conf.ConnConfig
	s.scrub = scrubber(url, c.Password)
	s.place = fmt.Sprintf("postgres %s:%d/%s", c.Host, c.Port, c.Database)
	for name, v := range map[string]string{
		"application_name": "tau", "search_path": "pg_catalog, " + pgx.Identifier{s.schema}.Sanitize() + ", pg_temp",
		"synchronous_commit": "on", "default_transaction_isolation": "read committed", "client_encoding": "UTF8",
		"statement_timeout": ms(statementWait), "lock_timeout": ms(lockWait), "idle_in_transaction_session_timeout": ms(2 * statementWait),
		// How soon a server notices that a bridge's machine is gone.
		"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "3", "tcp_keepalives_count": "3",
	} {
		c.RuntimeParams[name] = v
	}
	if c.ConnectTimeout <= 0 || c.ConnectTimeout > connectWait {
		c.ConnectTimeout = connectWait
	}
	conf.MaxConns, conf.MinConns, conf.PingTimeout = poolSize, 1, connectWait
	s.conf = c.Copy()
	if s.pool, err = pgxpool.NewWithConfig(context.Background(), conf); err != nil {
		return nil, s.fault(err)
	}
	return s, nil
}

func ms(d time.Duration) string { return fmt.Sprint(d.Milliseconds()) }

// Place says where the database is, without user and password.
func (s *Postgres) Place() string { return s.place }

// Close ends this bridge's life in the database; what has been reported is in it
// already. It waits for what is under way, at most Patience. A second Close returns nil.
func (s *Postgres) Close() error {
	s.mu.Lock()
	again := s.shut
	s.shut = true
	s.mu.Unlock()
	if again {
		return nil
	}
	s.presence.end()
	s.pool.Close()
	return nil
}

// querier is a connection, or a transaction on it.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// pgOp is one method that is under way.
type pgOp struct {
	s   *Postgres
	q   querier
	now reading
	me  int64
}

// need says what a method needs of this bridge.
type need int

const (
	looks need = iota // it reads, or ends something
	lives             // it asks, claims or begins
)

// do runs a method on a connection of its own, with a context that doesn't end with
// the caller's but has a bound.
func (s *Postgres) do(ctx context.Context, n need, now reading, f func(context.Context, *pgOp) error) error {
	s.mu.Lock()
	shut := s.shut
	s.mu.Unlock()
	if shut {
		return s.fault(ErrClosed)
	}
	me, alive := s.presence.generation()
	if n == lives && !alive {
		return s.fault(ErrCutOff)
	}
	if ctx.Err() != nil {
		return gate.Errf(gate.CodeCancelled, "requests", "%w", context.Cause(ctx))
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.patience)
	defer cancel()
	waiting, stop := context.WithCancel(bound)
	defer stop()
	defer context.AfterFunc(ctx, stop)()
	conn, err := s.pool.Acquire(waiting)
	if err != nil {
		if ctx.Err() != nil {
			return gate.Errf(gate.CodeCancelled, "requests", "%w", context.Cause(ctx))
		}
		return s.fault(err)
	}
	defer conn.Release()
	return f(bound, &pgOp{s: s, q: conn, now: now, me: me})
}

// doTx is do of a bridge that lives in one transaction, of which all is done or nothing.
func (s *Postgres) doTx(ctx context.Context, now reading, f func(context.Context, *pgOp) error) error {
	return s.do(ctx, lives, now, func(ctx context.Context, o *pgOp) error {
		conn, ok := o.q.(*pgxpool.Conn)
		if !ok {
			return gate.Errf(gate.CodeInternal, "requests", "a transaction within another")
		}
		tx, err := conn.Begin(ctx)
		if err != nil {
			return s.fault(err)
		}
		o.q = tx
		err = f(ctx, o)
		if err == nil {
			if err = tx.Commit(ctx); err == nil {
				return nil
			}
			err = s.fault(err)
		}
		_ = tx.Rollback(ctx) // what fails here was rolled back, or its connection is gone
		return err
	})
}

// change runs one conditional write and returns how many rows it changed.
func (o *pgOp) change(ctx context.Context, q string, more ...any) (int64, error) {
	tag, err := o.q.Exec(ctx, q, o.args(more...))
	if err != nil {
		return 0, o.s.fault(err)
	}
	return tag.RowsAffected(), nil
}
