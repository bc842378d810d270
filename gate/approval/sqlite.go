package approval

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/tau-robot/tau/gate"
)

// SQLite is a gate.Requests in one file, for one process at a time. Each write is
// one transaction, in the write-ahead log and synced before a method returns
// (journal_mode WAL, synchronous FULL). One connection does everything, in the
// order of asking. All methods may be called from any goroutine. A context that
// ends gives up waiting for the turn; a write that has begun is never cut off, so
// that it can always be said whether it was done.
type SQLite struct {
	opts Options
	path string
	db   *sql.DB
	conn *sql.Conn

	turn  chan struct{} // capacity 1: who holds it has what follows, and conn
	stmts map[string]*sql.Stmt
	tally *tally
	inTx  bool
	shut  bool
}

var _ gate.Requests = (*SQLite)(nil)

// Why a database is refused, or a write. errors.Is finds them.
var (
	// ErrDamaged: the file isn't what this package wrote. Nothing of it was changed.
	ErrDamaged = errors.New("the database is damaged")
	// ErrNewer: a newer version of this program wrote it. Nothing of it was changed.
	ErrNewer = errors.New("the database was written by a newer version")
	// ErrInUse: another process has it open.
	ErrInUse = errors.New("the database is in use by another process")
	// ErrFull: there is no room left on the disk. What was there can still be read.
	ErrFull = errors.New("the disk is full")
	// ErrDenied: this user may not read and write the file or its folder.
	ErrDenied = errors.New("the database can't be read and written by this user")
	// ErrMissing: the folder isn't there.
	ErrMissing = errors.New("the database's folder isn't there")
	// ErrClosed: the store has been closed.
	ErrClosed = errors.New("the store is closed")
)

// busyTimeout is how long a lock of another process is waited for: one that is
// ending lets go within that.
const busyTimeout = 2 * time.Second

// OpenSQLite opens the database at path, and makes it where there is none; the
// folder has to exist. An existing one is checked first, on a copy, in whole: one
// that is damaged or newer is refused by name and isn't touched. It blocks for the
// disk, and for a process that is just giving the file up.
func OpenSQLite(ctx context.Context, path string, o Options) (*SQLite, error) {
	return openOn(ctx, path, o, layer{connect: connect, tally: openTallyFile})
}

// layer is what lies below an open store: its files. A test puts one in that forgets
// what wasn't synced.
type layer struct {
	connect func(ctx context.Context, path string) (*sql.DB, *sql.Conn, error)
	tally   func(path string) (tallyFile, error)
}

func openOn(ctx context.Context, path string, o Options, below layer) (*SQLite, error) {
	fail := func(err error) (*SQLite, error) {
		return nil, gate.Errf(gate.CodeInternal, path, "%w", classify(err))
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return fail(err)
	}
	s := &SQLite{opts: o.filled(), path: path, turn: make(chan struct{}, 1), stmts: map[string]*sql.Stmt{}}
	exists, err := present(path)
	if err != nil {
		return fail(err)
	}
	version := schemaVersion
	if exists {
		version, err = checkCopy(ctx, path)
	} else {
		err = create(ctx, path, s.opts.Rand)
	}
	if err != nil {
		return fail(err)
	}
	if s.db, s.conn, err = below.connect(ctx, path); err != nil {
		return fail(err)
	}
	if err := s.begin(ctx, version, below); err != nil {
		return fail(errors.Join(err, s.Close()))
	}
	return s, nil
}

// begin brings what is open up to this version, and prepares it.
func (s *SQLite) begin(ctx context.Context, version int, below layer) error {
	if version < schemaVersion {
		id, err := newIdentity(s.opts.Rand)
		if err == nil {
			err = newTally(s.path, id) // before it: one that isn't used yet is in nobody's way
		}
		if err == nil {
			err = migrate(ctx, s.conn, version, id)
		}
		if err != nil {
			return err
		}
	}
	var err error
	if s.tally, err = openTally(s.path, below.tally); err != nil {
		return err
	}
	if err := s.prepare(ctx); err != nil {
		return err
	}
	return s.count(ctx)
}

// migrate adds what a database of an earlier version hasn't got, all of it or nothing.
func migrate(ctx context.Context, conn *sql.Conn, version int, id [16]byte) error {
	_, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE")
	if err != nil {
		return err
	}
	more := schema[len(schemaOf(version)):]
	for _, q := range more {
		if err == nil {
			_, err = conn.ExecContext(ctx, q)
		}
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, sqlNewTally, sql.Named("id", id[:]))
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", schemaVersion))
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		_, _ = conn.ExecContext(ctx, "ROLLBACK") // it may have been rolled back already
	}
	return err
}

func newIdentity(r io.Reader) (id [16]byte, err error) {
	if _, err := io.ReadFull(r, id[:]); err != nil {
		return id, fmt.Errorf("there is no randomness: %w", err)
	}
	return id, nil
}

// connect opens the one connection and takes the file for it.
func connect(ctx context.Context, path string) (*sql.DB, *sql.Conn, error) {
	q := url.Values{"_pragma": {
		fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()),
		"locking_mode(EXCLUSIVE)", "synchronous(FULL)", "foreign_keys(ON)", "trusted_schema(OFF)", "cell_size_check(ON)",
	}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	// The first write transaction takes the file; the lock lasts as long as the
	// connection, and the kernel drops it with the process.
	var mode string
	err = conn.QueryRowContext(ctx, "PRAGMA journal_mode(WAL)").Scan(&mode)
	if err == nil && mode != "wal" {
		err = fmt.Errorf("its journal is %q instead of wal", mode)
	}
	for _, q := range []string{"BEGIN IMMEDIATE", "COMMIT"} {
		if err == nil {
			_, err = conn.ExecContext(ctx, q)
		}
	}
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close(), db.Close())
	}
	return db, conn, nil
}

// create makes an empty database beside path and moves it there in one step, so
// that a crash leaves none or a whole one.
func create(ctx context.Context, path string, random io.Reader) error {
	id, err := newIdentity(random)
	if err != nil {
		return err
	}
	tmp := path + ".new"
	for _, f := range []string{tmp, tmp + "-wal", tmp + "-shm", tmp + "-journal"} {
		if err := remove(f); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	db, conn, err := connect(ctx, tmp)
	if err != nil {
		return err
	}
	for _, q := range append(schema,
		fmt.Sprintf("PRAGMA application_id = %d", applicationID), fmt.Sprintf("PRAGMA user_version = %d", schemaVersion)) {
		if err == nil {
			_, err = conn.ExecContext(ctx, q)
		}
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, sqlNewTally, sql.Named("id", id[:]))
	}
	// Closing the last connection moves the log into the file and syncs it.
	if err := errors.Join(err, conn.Close(), db.Close()); err != nil {
		return err
	}
	if _, err := os.Stat(tmp + "-wal"); err == nil {
		return fmt.Errorf("%s-wal is still there", tmp)
	}
	if err := newTally(path, id); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (s *SQLite) prepare(ctx context.Context) error {
	for _, q := range append([]string{
		sqlInsert, sqlSecret, sqlClaim, sqlRenew, sqlStart, sqlReplaced, sqlFinishOpen, sqlFinishStarted, sqlExpire,
		sqlExpireAll, sqlPurge, sqlUnknown, sqlReopen, sqlRebase, sqlGet, sqlPending, sqlLeft, sqlOvertake, sqlMoved, sqlTallied,
	}, permitStatements...) {
		st, err := s.conn.PrepareContext(ctx, q)
		if err != nil {
			return err
		}
		s.stmts[q] = st
	}
	return nil
}

// Close gives the file up; what has been reported is in it already. It waits for
// the call that is under way. A second Close returns nil.
func (s *SQLite) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.shut {
		return nil
	}
	s.shut = true
	var errs []error
	for _, st := range s.stmts {
		errs = append(errs, st.Close())
	}
	if err := errors.Join(append(errs, s.conn.Close(), s.db.Close(), s.tally.close())...); err != nil {
		return gate.Errf(gate.CodeInternal, s.path, "closing: %w", classify(err))
	}
	return nil
}

// Path returns the database's file, absolute.
func (s *SQLite) Path() string { return s.path }

// enter waits for the connection; leave gives it back. The context that it returns
// doesn't end.
func (s *SQLite) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, gate.Errf(gate.CodeCancelled, "requests", "%w", context.Cause(ctx))
	}
	leave = func() { <-s.turn }
	switch {
	case s.shut:
		err = s.fault(ErrClosed)
	case ctx.Err() != nil:
		err = gate.Errf(gate.CodeCancelled, "requests", "%w", context.Cause(ctx))
	default:
		return context.WithoutCancel(ctx), leave, nil
	}
	leave()
	return nil, nil, err
}

// fault is the typed error of a database that couldn't do what it was told.
func (s *SQLite) fault(err error) error {
	return gate.Errf(gate.CodeInternal, filepath.Base(s.path), "%w", classify(err))
}

// classify adds what an error of SQLite, or of the system, means, and what can be
// done about it. One that says none of the named things is left as it is.
func classify(err error) error {
	_, named := name(err)
	return named
}

// name is classify, and reports whether the error says one of the named things.
func name(err error) (known bool, named error) {
	for _, is := range []error{ErrDamaged, ErrNewer, ErrInUse, ErrFull, ErrDenied, ErrMissing} {
		if errors.Is(err, is) {
			return true, err
		}
	}
	full := fmt.Errorf("%w: make room; until then nothing new is asked and nothing begins to move: %w", ErrFull, err)
	denied := fmt.Errorf("%w: see to its owner, its mode and the disk it is on: %w", ErrDenied, err)
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_FULL:
			return true, full
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return true, damaged(err)
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return true, fmt.Errorf("%w: %w", ErrInUse, err)
		case sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_AUTH:
			return true, denied
		}
	}
	switch {
	case isNoSpace(err):
		return true, full
	case errors.Is(err, fs.ErrPermission), isReadOnly(err):
		return true, denied
	case errors.Is(err, fs.ErrNotExist):
		return true, fmt.Errorf("%w: make it: %w", ErrMissing, err)
	}
	return false, err
}

// unsound says what it means that a database couldn't be looked through: a fault of
// the disk, of memory or of the caller's patience isn't one of what is stored, and
// whatever else is wrong with it is.
func unsound(err error) error {
	known, named := name(err)
	var e *sqlite.Error
	switch {
	case known, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return named
	case errors.As(err, &e):
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL:
			return fmt.Errorf("the disk or the memory failed while it was looked through; nothing of it was changed: %w", err)
		}
	}
	return damaged(err)
}

func damaged(why error) error {
	return fmt.Errorf("%w (%w); nothing of it was changed: restore it, or move it and its -wal file away to begin without requests; "+
		"what was approved in it is then not run, and what was started is not run again", ErrDamaged, why)
}
