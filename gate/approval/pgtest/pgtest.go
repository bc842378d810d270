// Package pgtest runs a PostgreSQL server of the tests' own: in a folder of its own,
// on a Unix socket in that folder and nowhere else, as a user without rights, gone
// with the tests. Tests import it, nothing else does. It imports nothing of ours.
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a PostgreSQL server that the first test that needs it starts. The zero
// value is ready. A package's TestMain calls Stop at the end.
type Server struct {
	// Durable has it sync what it writes, as a server that people use does. Tests that
	// take no power away are quicker without; set it before the first URL.
	Durable bool

	once    sync.Once
	err     error
	dir     string // the folder of everything
	bin     string
	id      *identity
	process *process
	names   atomic.Int64
}

// ErrNotInstalled says that there is no PostgreSQL on this machine.
var ErrNotInstalled = errors.New("PostgreSQL isn't installed (Debian: apt-get install postgresql)")

// startWait bounds the making and the start of a server, stopWait its end.
const (
	startWait = 60 * time.Second
	stopWait  = 20 * time.Second
)

// URL returns the address of the server, which it starts the first time. Without
// PostgreSQL the test is skipped by name; under CI=true that is a failure.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	s.once.Do(func() { s.err = s.begin() })
	switch {
	case errors.Is(s.err, ErrNotInstalled) && os.Getenv("CI") != "true":
		t.Skipf("SKIPPED, NOT TESTED: %v", s.err)
	case s.err != nil:
		t.Fatalf("a PostgreSQL for the tests: %v", s.err)
	}
	return s.url()
}

func (s *Server) url() string {
	q := url.Values{"host": {s.dir}, "user": {role}, "sslmode": {"disable"}}
	return (&url.URL{Scheme: "postgres", Path: "/postgres", RawQuery: q.Encode()}).String()
}

// Database makes an empty database and returns its address; it is dropped with the
// server.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	base := s.URL(t)
	name := s.Name()
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	c, err := pgx.Connect(ctx, base)
	if err == nil {
		_, err = c.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
		err = errors.Join(err, c.Close(ctx))
	}
	if err != nil {
		t.Fatalf("making a database: %v", err)
	}
	return strings.Replace(base, "/postgres?", "/"+name+"?", 1)
}

// Name returns a name that no other test of this server has, for a schema.
func (s *Server) Name() string { return fmt.Sprintf("t%d_%d", os.Getpid(), s.names.Add(1)) }

// Restart ends the server as a crash would (immediate: no goodbye to anybody, what is
// committed is recovered from its log), calls while it is down, and starts it again.
func (s *Server) Restart(t testing.TB, down func()) {
	t.Helper()
	err := s.process.end(quit)
	if err != nil {
		t.Fatalf("ending PostgreSQL: %v", err)
	}
	if down != nil {
		down()
	}
	if err := s.serve(); err != nil {
		t.Fatalf("starting PostgreSQL again: %v", err)
	}
}

// Stop ends the server, if it was started, and removes everything of it.
func (s *Server) Stop() error {
	s.once.Do(func() { s.err = ErrNotInstalled }) // none is started any more
	var err error
	if s.process != nil {
		err = s.process.end(quit) // nobody wants it back: no checkpoint
	}
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

const role = "tau"

func (s *Server) begin() (err error) {
	if s.bin, err = binaries(); err != nil {
		return err
	}
	if s.id, err = lesser(); err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "tau-pg"); err != nil {
		return err
	}
	if err := s.id.own(s.dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	out, err := s.command(ctx, "initdb", "--pgdata="+s.data(), "--username="+role, "--auth=trust", "--encoding=UTF8",
		"--locale=C", "--no-sync", "--no-instructions").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s.serve()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.Env = s.dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + s.dir, "TZ=UTC"}
	s.id.become(cmd)
	return cmd
}

// serve starts the server and waits until it answers.
func (s *Server) serve() error {
	set := []string{
		"listen_addresses=", "unix_socket_directories=" + s.dir, "unix_socket_permissions=0700", "logging_collector=off",
		"max_connections=120", "shared_buffers=16MB", "autovacuum=off", "jit=off", "max_wal_size=256MB",
	}
	if !s.Durable {
		set = append(set, "fsync=off", "full_page_writes=off")
	}
	args := []string{"-D", s.data()}
	for _, v := range set {
		args = append(args, "-c", v)
	}
	p := &process{ended: make(chan struct{})}
	begun := make(chan error)
	go func() {
		// The kernel ends the server with the thread that started it, and so with the
		// tests, however those end.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		cmd := s.command(context.Background(), "postgres", args...)
		cmd.Stdout, cmd.Stderr = &p.out, &p.out
		dieWithParent(cmd)
		err := cmd.Start()
		p.cmd = cmd
		begun <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-begun; err != nil {
		return err
	}
	s.process = p
	deadline := time.Now().Add(startWait)
	for {
		err := s.ping()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("it doesn't answer: %w", err), p.end(quit), errors.New(p.out.String()))
		}
		select {
		case <-p.ended:
			return fmt.Errorf("it ended (%w): %s", p.err, p.out.String())
		case <-time.After(20 * time.Millisecond): // there is no event that says that it listens
		}
	}
}

func (s *Server) ping() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, s.url())
	if err != nil {
		return err
	}
	return errors.Join(c.Ping(ctx), c.Close(ctx))
}

// process is a running server.
type process struct {
	cmd   *exec.Cmd
	out   lockedBuffer
	ended chan struct{}
	err   error // once ended
}

// end signals the server, and kills it where that takes too long.
func (p *process) end(sig os.Signal) error {
	select {
	case <-p.ended:
		return nil
	default:
	}
	err := p.cmd.Process.Signal(sig)
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopWait):
		return errors.Join(fmt.Errorf("it didn't end within %s", stopWait), err, p.cmd.Process.Kill())
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// binaries finds the newest server: Debian keeps it out of PATH.
func binaries() (string, error) {
	var found []string
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/postgres", "/usr/local/pgsql/bin/postgres"} {
		all, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		found = append(found, all...)
	}
	if p, err := exec.LookPath("postgres"); err == nil {
		found = append(found, p)
	}
	if len(found) == 0 {
		return "", ErrNotInstalled
	}
	slices.SortStableFunc(found, func(a, b string) int { return len(b) - len(a) }) // 9.6 has more letters than 15, but is long gone
	return filepath.Dir(found[0]), nil
}
