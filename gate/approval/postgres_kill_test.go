package approval_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
)

// pgChildVar in the environment turns the test binary into a bridge on a PostgreSQL
// database.
const pgChildVar = "TAU_APPROVAL_TEST_PG"

// pgJob is what such a bridge is to do.
type pgJob struct {
	URL, Schema, Home, Dir string
	Until                  string // "claimed", "started": asks, comes so far and waits; "": a day
}

func (j pgJob) open(ctx context.Context) (*approval.Postgres, error) {
	return approval.OpenPostgres(ctx, j.URL, approval.PostgresOptions{Home: j.Home, Schema: j.Schema, Unsynced: true})
}

func pgChild() {
	var j pgJob
	err := json.Unmarshal([]byte(os.Getenv(pgChildVar)), &j)
	if err == nil {
		err = j.day()
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// day is a bridge's day that only kill -9 ends.
func (j pgJob) day() error {
	worker := fmt.Sprint(j.Home, " pid ", os.Getpid())
	s, err := j.open(bg)
	if err != nil {
		return err
	}
	if _, err := s.Recover(bg, worker, time.Now()); err != nil {
		return err
	}
	if j.Until != "" {
		return j.until(s, worker)
	}
	open, err := s.Pending(bg, time.Now())
	if err != nil {
		return err
	}
	for _, r := range open {
		if r.Owner != "" {
			continue
		}
		if err := decide(s, j.Dir, worker, r.Request.CallID, false, 0); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		id := fmt.Sprintf("%s-%d", worker, n)
		if err := j.ask(s, id); err != nil {
			return err
		}
		if err := say("opened", id); err != nil {
			return err
		}
		if err := decide(s, j.Dir, worker, id, false, n); err != nil {
			return err
		}
	}
}

func (j pgJob) ask(s gate.Requests, id string) error {
	now := time.Now()
	_, err := s.Open(bg, gate.Request{
		CallID: id, Tool: "move", Tier: gate.TierPhysical, Args: []byte(`{}`), Session: gate.Session{Name: "s"},
		Digest: [32]byte{1}, Asked: now, Expiry: now.Add(time.Hour),
	}, make([]byte, 20_000))
	return err
}

// until comes so far with one request, and waits for its end.
func (j pgJob) until(s *approval.Postgres, worker string) error {
	if err := j.ask(s, "x"); err != nil {
		return err
	}
	rec, secret, err := s.Read(bg, "x", time.Now())
	if err != nil {
		return err
	}
	l, err := s.Claim(bg, gate.Claim{ID: "x", Digest: rec.Request.Digest, Secret: secret, Claims: rec.Claims, Worker: worker, Decider: "d", Now: time.Now()})
	if err == nil && j.Until == "started" {
		err = s.Start(bg, l, time.Now())
	}
	if err == nil {
		err = say(j.Until, "x")
	}
	if err != nil {
		return err
	}
	_, err = io.ReadAll(os.Stdin)
	return err
}

// run starts a bridge of its own, whose standard input lasts until it is killed.
func (j pgJob) run(t *testing.T) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	b, err := json.Marshal(j)
	require.NoError(t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), pgChildVar+"="+string(b)), os.Stderr
	_, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// Killed between the yes and the start: nothing moved, and it is asked again. Killed
// after the start: it is never run again. Another bridge sees the first moment at which
// that one is dead.
func TestG44_PostgresABridgeIsKilled(t *testing.T) {
	for until, want := range map[string]gate.RequestState{"claimed": gate.RequestPending, "started": gate.RequestUnknown} {
		p := newPlace(t)
		b := p.bridgeAt(t, "b")
		cmd, lines := pgJob{URL: p.url, Schema: p.schema, Home: "a", Until: until}.run(t)
		require.True(t, lines.Scan())
		require.Equal(t, until+" x", lines.Text())
		got, err := b.Recover(t.Context(), "wb", time.Now())
		require.NoError(t, err)
		require.Empty(t, append(got.Unknown, got.Reopened...), "it lives")
		require.NoError(t, cmd.Process.Kill())
		require.ErrorContains(t, cmd.Wait(), "killed")
		eventually(t, "it is dead", func() bool { return !liveShare(t, b, "x") })
		got, err = b.Recover(t.Context(), "wb", time.Now())
		require.NoError(t, err)
		require.Len(t, append(got.Unknown, got.Reopened...), 1)
		r, err := b.Get(t.Context(), "x")
		require.NoError(t, err)
		require.Equal(t, want, r.State)
		require.Equal(t, 1, r.Claims, "the count goes on")
		err = b.Adopt(t.Context(), "x")
		if want == gate.RequestUnknown {
			require.ErrorIs(t, err, gate.ErrCode(gate.CodeUnknownOutcome))
			continue
		}
		require.NoError(t, err)
		c, err := claimOf(t, b, "x", "wb")
		require.NoError(t, err)
		l, err := b.Claim(t.Context(), c)
		require.NoError(t, err)
		require.NoError(t, b.Start(t.Context(), l, time.Now()))
	}
}

// Two bridges go through their day on one database, and each is killed at random
// moments, again and again: nothing is run twice, lost, or run unapproved.
func TestG44_PostgresKillNineAtTwoBridges(t *testing.T) {
	p := newPlace(t)
	dir := t.TempDir()
	var mu sync.Mutex
	said := map[string]string{}
	var wg sync.WaitGroup
	for n, home := range []string{"a", "b"} {
		random := rand.New(rand.NewPCG(5, uint64(n)))
		wg.Go(func() {
			for range rounds(12) {
				cmd, lines := pgJob{URL: p.url, Schema: p.schema, Home: home, Dir: dir}.run(t)
				for after := random.IntN(25); lines.Scan(); after-- {
					what, id, _ := strings.Cut(lines.Text(), " ")
					mu.Lock()
					said[id] = what
					mu.Unlock()
					if after == 0 {
						for range random.IntN(20_000) { // so that the instant isn't always the one after a report
							_ = syscall.Getppid()
						}
						if err := cmd.Process.Kill(); err != nil {
							t.Error(err)
						}
					}
				}
				if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
					t.Errorf("bridge %s ended by itself: %v", home, err)
					return
				}
			}
		})
	}
	wg.Wait()
	ran, err := moved(dir)
	require.NoError(t, err)
	found := map[string]int{}
	require.NoError(t, holds(p.bridgeAt(t, "c"), ran, said, found))
	require.NotZero(t, found["done"])
	t.Logf("states found after the kills: %v", found)
}

// fewer has a property tried a part as often as the others: each round opens sessions
// of a server.
func fewer(t *testing.T, part int) {
	f := flag.Lookup("rapid.checks")
	was := f.Value.String()
	n, err := strconv.Atoi(was)
	require.NoError(t, err)
	require.NoError(t, flag.Set("rapid.checks", strconv.Itoa(max(n/part, 1))))
	t.Cleanup(func() { require.NoError(t, flag.Set("rapid.checks", was)) })
}

func TestG44_ModelPostgres(t *testing.T) {
	fewer(t, 20)
	url := pg.URL(t)
	rapid.Check(t, func(t *rapid.T) {
		w := &world{kept: true}
		schema := pg.Name()
		w.open = func() gate.Requests {
			s, err := approval.OpenPostgres(bg, url, approval.PostgresOptions{Options: w.options(), Home: "home", Schema: schema, Unsynced: true, Patience: patience})
			require.NoError(t, err)
			return s
		}
		w.close = func(r gate.Requests) {
			if s, ok := r.(*approval.Postgres); ok {
				require.NoError(t, s.Close())
			}
		}
		w.drive(t)
	})
}
