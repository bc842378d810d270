package approval

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tau-robot/tau/gate"
)

// A bridge knows after beat and Patience at the latest that it is cut off. The server
// knows at once, and lets it begin nothing.
const (
	// openWait bounds OpenPostgres.
	openWait = 20 * time.Second
	// homeWait is how long an earlier process of the same home is waited for.
	homeWait = 5 * time.Second
	// beat is how often a bridge looks whether it still has its locks, and at what was
	// posted to it without a notification having come through.
	beat = 2 * time.Second
	// backWait is between two attempts to be back, at first and at last.
	backFirst, backLast = 100 * time.Millisecond, 2 * time.Second
)

// presence is a bridge's presence in the database. The goroutine that keeps it ends with end.
type presence struct {
	cancel context.CancelFunc
	ended  chan struct{}
	news   chan struct{} // capacity 1

	mu      sync.Mutex
	current int64 // 0: cut off
	all     []int64
}

// generation returns the number of this bridge's life, and whether it goes on.
func (l *presence) generation() (int64, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current != 0 {
		return l.current, true
	}
	if len(l.all) > 0 {
		return l.all[len(l.all)-1], false
	}
	return 0, false
}

func (l *presence) set(g int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = g
	if g != 0 {
		l.all = append(l.all, g)
	}
}

func (l *presence) before() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

func (l *presence) tell() {
	select {
	case l.news <- struct{}{}:
	default:
	}
}

func (l *presence) end() {
	if l.cancel != nil {
		l.cancel()
		<-l.ended
	}
}

// News returns a channel that gets something when another bridge may have posted an
// answer: at once where the server could say so, and every two seconds in any case.
// It has one reader.
func (s *Postgres) News() <-chan struct{} { return s.presence.news }

// Alive reports whether this bridge has its locks, as far as it knows.
func (s *Postgres) Alive() bool {
	_, ok := s.presence.generation()
	return ok
}

// begin takes the locks for the first time and keeps them from then on.
func (s *Postgres) begin(ctx context.Context) error {
	s.presence.news, s.presence.ended = make(chan struct{}, 1), make(chan struct{})
	conn, g, err := s.enterLife(ctx, homeWait)
	if err != nil {
		return err
	}
	s.presence.set(g)
	var keep context.Context
	keep, s.presence.cancel = context.WithCancel(context.Background())
	go s.keep(keep, conn, g)
	return nil
}

// keep watches over this bridge's life, and begins another one when it was lost.
func (s *Postgres) keep(ctx context.Context, conn *pgx.Conn, g int64) {
	defer close(s.presence.ended)
	for {
		err := s.watch(ctx, conn, g)
		s.presence.set(0)
		s.leaveLife(conn)
		if ctx.Err() != nil {
			return
		}
		s.log.Error("the bridge is cut off from its database; nothing is asked and nothing begins to move until it is back",
			"store", s.place, "error", s.fault(err))
		if conn, g = s.comeBack(ctx); conn == nil {
			return
		}
		s.presence.set(g)
		s.log.Warn("the bridge is back in its database", "store", s.place)
		s.presence.tell()
	}
}

// leaveLife lets the locks go, so that they are free when it returns, where the
// server still listens.
func (s *Postgres) leaveLife(conn *pgx.Conn) {
	bye, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if !conn.IsClosed() {
		_, _ = conn.Exec(bye, "SELECT pg_advisory_unlock_all()") // they go with the session either way
	}
	_ = conn.Close(bye)
}

// comeBack tries until it has the locks again; nil: ctx has ended.
func (s *Postgres) comeBack(ctx context.Context) (*pgx.Conn, int64) {
	for wait := backFirst; ; wait = min(2*wait, backLast) {
		try, cancel := context.WithTimeout(ctx, s.patience)
		conn, g, err := s.enterLife(try, s.patience/2)
		cancel()
		if err == nil {
			return conn, g
		}
		s.log.Debug("the database isn't back yet", "store", s.place, "error", s.fault(err))
		select {
		case <-ctx.Done():
			return nil, 0
		case <-time.After(wait):
		}
	}
}

// enterLife takes the locks on a connection of its own, and what this process had in
// an earlier generation.
func (s *Postgres) enterLife(ctx context.Context, patience time.Duration) (_ *pgx.Conn, g int64, err error) {
	conn, err := pgx.ConnectConfig(ctx, s.conf.Copy())
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			_ = conn.Close(context.WithoutCancel(ctx)) // the error says why
		}
	}()
	if err := s.lockHome(ctx, conn, patience); err != nil {
		return nil, 0, err
	}
	var b [8]byte
	if _, err := io.ReadFull(s.opts.Rand, b[:]); err != nil {
		return nil, 0, gate.Errf(gate.CodeInternal, "generation", "there is no randomness: %w", err)
	}
	g = int64(binary.BigEndian.Uint64(b[:])>>1) | 1 // positive, and never 0
	var got bool
	if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", g).Scan(&got); err != nil {
		return nil, 0, err
	}
	if !got {
		return nil, 0, fmt.Errorf("%w: the lock of a generation that was just made up", ErrInUse)
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{s.channel()}.Sanitize()); err != nil {
		return nil, 0, err
	}
	if before := s.presence.before(); len(before) > 0 {
		o := &pgOp{s: s, q: conn, now: s.opts.read(s.opts.Now()), me: g}
		if _, err := o.change(ctx, pgBack, "before", before); err != nil {
			return nil, 0, err
		}
	}
	return conn, g, nil
}

// lockHome takes the lock that there is one bridge of this home. An earlier process
// that is just ending is waited for.
func (s *Postgres) lockHome(ctx context.Context, conn *pgx.Conn, patience time.Duration) error {
	deadline := time.Now().Add(patience)
	for {
		var got bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", lockOf("home", s.schema, s.home)).Scan(&got); err != nil {
			return err
		}
		if got {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: a bridge %q lives in it already. End that one; if its machine has just gone, the server notices within half a minute", ErrInUse, s.name)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond): // a lock that is let go of says nothing
		}
	}
}

// lockOf makes the number of a lock of its name.
func lockOf(parts ...string) int64 {
	h := sha256.New()
	h.Write([]byte("tau lock"))
	for _, p := range parts {
		fmt.Fprintf(h, " %d %s", len(p), p)
	}
	return int64(binary.BigEndian.Uint64(h.Sum(nil)) >> 1)
}

func (s *Postgres) channel() string { return fmt.Sprintf("tau_%x", lockOf("channel", s.schema)) }

// errLockGone: the session goes on, but isn't the one that took the lock, as behind a
// pooler that lends sessions out, or somebody took the lock away.
var errLockGone = errors.New("the session doesn't hold this bridge's lock any more; a pooler between bridge and server must keep one session for one client")

// watch waits for notifications and looks at the lock between them, until the lock or
// the connection is lost or ctx ends.
func (s *Postgres) watch(ctx context.Context, conn *pgx.Conn, g int64) error {
	for {
		wait, cancel := context.WithTimeout(ctx, beat)
		_, err := conn.WaitForNotification(wait)
		over := wait.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			s.presence.tell()
			continue
		case !over || conn.IsClosed():
			return err
		}
		s.presence.tell()
		look, cancel := context.WithTimeout(ctx, s.patience*3/8)
		var held bool
		err = conn.QueryRow(look, `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
  AND pid = pg_backend_pid() AND (classid::bigint << 32) | objid::bigint = $1)`, g).Scan(&held)
		cancel()
		if err != nil {
			return err
		}
		if !held {
			return errLockGone
		}
	}
}
