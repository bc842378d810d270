package approval_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
)

// In the environment, they turn the test binary into a bridge that takes up what
// is open, asks, decides and runs as fast as it can; the second makes it record
// `started` after the physics.
const (
	childVar = "TAU_APPROVAL_TEST_CHILD"
	lateVar  = "TAU_APPROVAL_TEST_LATE"
)

func childDir() string { return os.Getenv(childVar) }

func child(dir string) {
	fmt.Fprintln(os.Stderr, day(dir, os.Getenv(lateVar) != ""))
	os.Exit(1)
}

// physics is what moves, and takes its time: a line in a file, which is there as
// soon as it begins, whatever becomes of the process.
func physics(dir, id string) error {
	f, err := os.OpenFile(filepath.Join(dir, "physics"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString(id + "\n")
		err = errors.Join(err, f.Close())
	}
	time.Sleep(time.Millisecond)
	return err
}

// day is a bridge's day that only kill -9 ends.
func day(dir string, late bool) error {
	worker := fmt.Sprint("pid ", os.Getpid())
	s, err := approval.OpenSQLite(bg, dbIn(dir), approval.Options{})
	if err != nil {
		return err
	}
	if _, err := s.Recover(bg, worker, time.Now()); err != nil {
		return err
	}
	open, err := s.Pending(bg, time.Now())
	if err != nil {
		return err
	}
	for _, r := range open {
		if err := decide(s, dir, worker, r.Request.CallID, late, 0); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		id := fmt.Sprintf("%s-%d", worker, n)
		now := time.Now()
		if _, err := s.Open(bg, gate.Request{
			CallID: id, Tool: "move", Tier: gate.TierPhysical, Args: []byte(`{}`), Session: gate.Session{Name: "s"},
			Digest: [32]byte{1}, Asked: now, Expiry: now.Add(time.Hour),
		}, make([]byte, 20_000)); err != nil { // several pages, so that a kill can come between them
			return err
		}
		if err := say("opened", id); err != nil {
			return err
		}
		if err := decide(s, dir, worker, id, late, n); err != nil {
			return err
		}
	}
}

func decide(s gate.Requests, dir, worker, id string, late bool, n int) error {
	if n%5 == 4 {
		if err := s.Finish(bg, id, gate.Ending{State: gate.RequestRejected, Answer: []byte(`{}`)}); err != nil {
			return err
		}
		return say("rejected", id)
	}
	rec, secret, err := s.Read(bg, id, time.Now())
	if err != nil {
		return err
	}
	l, err := s.Claim(bg, gate.Claim{
		ID: id, Digest: rec.Request.Digest, Secret: secret, Claims: rec.Claims, Worker: worker, Decider: "d", Now: time.Now(),
	})
	if gate.CodeOf(err) == gate.CodeRequestExpired { // claimed too often without being started
		return say("expired", id)
	}
	if err == nil {
		err = say("claimed", id)
	}
	if err == nil && late {
		err = physics(dir, id)
	}
	if err == nil {
		err = s.Start(bg, l, time.Now())
	}
	if err == nil {
		err = say("started", id)
	}
	if err == nil && !late {
		err = physics(dir, id)
	}
	if err == nil {
		err = s.Finish(bg, id, gate.Ending{State: gate.RequestDone, Answer: []byte(`{"status":"ok"}`)})
	}
	if err == nil {
		err = say("done", id)
	}
	return err
}

func say(what, id string) error {
	_, err := os.Stdout.WriteString(what + " " + id + "\n")
	return err
}

// killed runs the day again and again, kills it at random moments and returns what
// is wrong afterwards, if anything is.
func killed(t *testing.T, rounds int, late bool) (found map[string]int, err error) {
	random := rand.New(rand.NewPCG(3, 4))
	found = map[string]int{}
	var dir string
	var said map[string]string // the last that was said of each request
	for round := range rounds {
		if round%8 == 0 { // a store of a few hundred requests is looked through quickly
			dir, said = t.TempDir(), map[string]string{}
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childVar+"="+dir)
		if late {
			cmd.Env = append(cmd.Env, lateVar+"=1")
		}
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		for after := random.IntN(25); lines.Scan(); after-- {
			what, id, _ := strings.Cut(lines.Text(), " ")
			said[id] = what
			if after == 0 {
				for range random.IntN(20_000) { // so that the instant isn't always the one after a report
					_ = syscall.Getppid()
				}
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.NoError(t, lines.Err())
		require.ErrorContains(t, cmd.Wait(), "killed")
		if err := sound(dir, said, found); err != nil {
			return found, err
		}
	}
	return found, nil
}

// moved counts how often each request ran.
func moved(dir string) (map[string]int, error) {
	b, err := os.ReadFile(filepath.Join(dir, "physics"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ran := map[string]int{}
	for id := range strings.Lines(string(b)) {
		ran[strings.TrimSpace(id)]++
	}
	return ran, nil
}

// sound compares what was said, what moved and what is stored.
func sound(dir string, said map[string]string, found map[string]int) (err error) {
	ran, err := moved(dir)
	if err != nil {
		return err
	}
	// A copy is looked at: the next life is to find the files as the kill left them.
	check, err := os.MkdirTemp(dir, "look")
	if err != nil {
		return err
	}
	for _, f := range []string{"bridge.db", "bridge.db-wal", "bridge.db-tally"} {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(check, f), b, 0o600)
		}
		if err != nil {
			return err
		}
	}
	s, err := approval.OpenSQLite(bg, dbIn(check), approval.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), os.RemoveAll(check)) }()
	return holds(s, ran, said, found)
}

// holds compares what a store has with what was said and how often each ran.
func holds(s gate.Requests, ran map[string]int, said map[string]string, found map[string]int) error {
	may := map[string][]gate.RequestState{
		"opened":   {gate.RequestPending, gate.RequestClaimed, gate.RequestRejected},
		"rejected": {gate.RequestRejected},
		"expired":  {gate.RequestExpired},
		"claimed":  {gate.RequestClaimed, gate.RequestPending, gate.RequestStarted},
		"started":  {gate.RequestStarted, gate.RequestUnknown, gate.RequestDone},
		"done":     {gate.RequestDone},
	}
	for id, what := range said {
		rec, err := s.Get(bg, id)
		if err != nil {
			return fmt.Errorf("%s was %s and is lost: %w", id, what, err)
		}
		// A later life may have come further without having said so.
		ok := slices.Contains(may[what], rec.State)
		if what == "opened" || what == "claimed" {
			ok = ok || slices.Contains([]gate.RequestState{gate.RequestStarted, gate.RequestUnknown, gate.RequestDone, gate.RequestExpired, gate.RequestClaimed}, rec.State)
		}
		if !ok {
			return fmt.Errorf("%s was %s and is %s", id, what, rec.State)
		}
		if rec.State == gate.RequestDone && string(rec.Answer) != `{"status":"ok"}` {
			return fmt.Errorf("%s has the answer %q", id, rec.Answer)
		}
		if n := ran[id]; n > 0 && !slices.Contains([]gate.RequestState{gate.RequestStarted, gate.RequestUnknown, gate.RequestDone}, rec.State) {
			return fmt.Errorf("%s ran and is %s: it could run again", id, rec.State)
		} else if n > 1 {
			return fmt.Errorf("%s ran %d times", id, n)
		} else if n == 0 && rec.State == gate.RequestDone {
			return fmt.Errorf("%s is done and never ran", id)
		}
		found[string(rec.State)]++
	}
	return nil
}

func TestG44_KillNineRunsNothingTwiceAndLosesNothing(t *testing.T) {
	found, err := killed(t, rounds(40), false)
	require.NoError(t, err)
	require.NotZero(t, found["done"])
	if !underRace { // which has few rounds
		require.NotZero(t, found["unknown"]+found["started"], "no kill came while something ran")
	}
	t.Logf("states found after the kills: %v", found)
}

// The harness sees what it is for.
func TestG44_KillNineSeesAStartThatIsRecordedTooLate(t *testing.T) {
	_, err := killed(t, 200, true)
	require.ErrorContains(t, err, "ran and is")
	t.Log(err)
}
