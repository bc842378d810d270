package bridge

import (
	"bufio"
	"context"
	"errors"
	"flag"
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

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approval"
	"github.com/tau-robot/tau/gate/events"
)

// kills is how often the day is killed; `make soak` says 200.
var kills = flag.Int("kills", 40, "how often TestG44_ADay… kills the bridge")

// TestG44_ADayOfKillNine: a bridge's day (requests, answers, motions, stops, real
// process, real files) is killed at random moments. Afterwards nothing has moved twice,
// nothing without a yes or after a no, and nothing that was shown or answered is lost.
func TestG44_ADayOfKillNine(t *testing.T) {
	found, err := killedDays(t, *kills)
	require.NoError(t, err)
	t.Logf("states found after %d kills: %v", *kills, found)
	for _, s := range []gate.RequestState{gate.RequestDone, gate.RequestRejected} {
		require.NotZero(t, found[s], "the day must have its %s", s)
	}
	require.NotZero(t, found[gate.RequestUnknown]+found[gate.RequestStarted], "no kill came while something moved")
}

// killedDays returns what is wrong after the kills, if anything is.
func killedDays(t *testing.T, rounds int) (found map[gate.RequestState]int, err error) {
	random := rand.New(rand.NewPCG(11, 12))
	found = map[gate.RequestState]int{}
	var d *days
	for round := range rounds {
		if round%8 == 0 {
			d = &days{dir: t.TempDir(), lines: map[string][]line{}}
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), dayDirVar+"="+d.dir, fmt.Sprintf("%s=%d", daySeedVar, round))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		in := bufio.NewScanner(out)
		for after := random.IntN(60); in.Scan(); after-- {
			what, id, _ := strings.Cut(in.Text(), " ")
			d.lines[id] = append(d.lines[id], line{round, what})
			if after == 0 {
				for range random.IntN(50_000) { // so that the instant isn't always the one after a line
					_ = syscall.Getppid()
				}
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.NoError(t, in.Err())
		require.ErrorContains(t, cmd.Wait(), "killed")
		if err := d.sound(found); err != nil {
			return found, fmt.Errorf("round %d: %w", round, err)
		}
	}
	return found, nil
}

// days are the days on one folder: what was told of each call, in order.
type days struct {
	dir   string
	lines map[string][]line
}

// line is what was told of a call, and in which of the bridge's lives.
type line struct {
	life int
	what string
}

func (l line) String() string { return fmt.Sprintf("%d %s", l.life, l.what) }

func has(lines []line, what string) bool {
	return slices.ContainsFunc(lines, func(l line) bool { return l.what == what })
}

// sound compares what was told with what is stored.
func (d *days) sound(found map[gate.RequestState]int) (err error) {
	// A copy is looked at: the next life is to find the files as the kill left them.
	look, err := os.MkdirTemp(d.dir, "look")
	if err != nil {
		return err
	}
	if err := logged(filepath.Join(d.dir, "data"), look); err != nil {
		return fmt.Errorf("the event log: %w", err)
	}
	for _, f := range []string{"bridge.db", "bridge.db-wal", "bridge.db-tally"} {
		b, err := os.ReadFile(filepath.Join(d.dir, "data", f))
		if err == nil {
			err = os.WriteFile(filepath.Join(look, f), b, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	s, err := approval.OpenSQLite(context.Background(), filepath.Join(look, "bridge.db"), approval.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(), os.RemoveAll(look)) }()
	for id, lines := range d.lines {
		if !has(lines, "shown") {
			if has(lines, "moves") {
				return fmt.Errorf("%s moved and was never shown", id)
			}
			continue
		}
		rec, err := s.Get(context.Background(), id)
		if err != nil {
			return fmt.Errorf("%s (%v) is lost: %w", id, lines, err)
		}
		if err := agree(lines, rec); err != nil {
			return fmt.Errorf("%s (%v) is %s: %w", id, lines, rec.State, err)
		}
		found[rec.State]++
	}
	return nil
}

// logged verifies a copy of the event log, once what a kill left of a last line has been
// set aside, as each start does.
func logged(dir, look string) error {
	if err := os.CopyFS(filepath.Join(look, "sessions"), os.DirFS(filepath.Join(dir, "sessions"))); errors.Is(err, fs.ErrNotExist) {
		return nil // it hadn't begun
	} else if err != nil {
		return err
	}
	key, err := os.ReadFile(events.KeyPath(dir))
	if err == nil {
		err = os.WriteFile(events.KeyPath(look), key, 0o600)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := filepath.WalkDir(filepath.Join(look, "sessions"), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600)
	}); err != nil {
		return err
	}
	s, err := events.Open(events.Options{Dir: look})
	if err != nil {
		return err
	}
	_, err = s.Session("sim")
	if err := errors.Join(err, s.Close()); err != nil {
		return err
	}
	report, err := events.Verify(events.Path(look, "sim"), events.KeyPath(look))
	if err == nil && !report.OK() {
		err = fmt.Errorf("%v", report.Faults)
	}
	return err
}

// agree holds one stored request against what was told of it, in order.
func agree(lines []line, rec gate.Record) error {
	moved, said, answered, end := 0, "", "", -1
	for _, l := range lines {
		switch {
		case l.what == "yes", l.what == "no":
			said = l.what
		case l.what == "moves":
			if said != "yes" {
				return errors.New("it moved without a yes")
			}
			if moved++; moved > 1 {
				return errors.New("it moved twice")
			}
		case strings.HasPrefix(l.what, "answered-"):
			answered, end = strings.TrimPrefix(l.what, "answered-"), l.life
		case l.what != "shown":
		// In one life a person may be told of a question a moment after a stop ended it.
		case moved > 0:
			return errors.New("it was asked again after it had moved")
		case end >= 0 && end < l.life:
			return errors.New("it was asked again after it had been answered")
		case said == "no" && end >= 0:
			return errors.New("it was asked again after a no")
		}
	}
	settled := []gate.RequestState{gate.RequestStarted, gate.RequestUnknown, gate.RequestDone}
	switch {
	case moved > 0 && !slices.Contains(settled, rec.State):
		return errors.New("it ran and could run again")
	case moved == 0 && rec.State == gate.RequestDone && answered == "ok":
		return errors.New("it is done and never ran")
	case answered != "" && (rec.State == gate.RequestPending || rec.State == gate.RequestClaimed):
		return errors.New("it was answered and is open")
	case answered == "ok" && rec.State != gate.RequestDone:
		return errors.New("its answer is lost")
	case said == "no" && answered == "refused" && rec.State != gate.RequestRejected:
		return errors.New("the no is lost")
	}
	return nil
}

// TestG44_TheDaySeesAStartThatIsRecordedTooLate: the test binary is built once more with
// the fault that the day is there to find, and must fail.
func TestG44_TheDaySeesAStartThatIsRecordedTooLate(t *testing.T) {
	if startedLate {
		t.Skip("this is the binary with the fault")
	}
	late := filepath.Join(t.TempDir(), "late.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "tau_started_late", "-o", late, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	run := exec.CommandContext(t.Context(), late, "-test.run", "^TestG44_ADayOfKillNine$", "-kills", "60")
	out, err = run.CombinedOutput()
	var failed *exec.ExitError
	require.ErrorAs(t, err, &failed, string(out))
	require.Contains(t, string(out), "it ran and could run again")
}
