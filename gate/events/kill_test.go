package events

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// childDir, in the environment, turns the test binary into a writer that emits
// events as fast as it can and prints a line after each one.
const childDir = "TAU_EVENTS_TEST_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, writeForEver(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func writeForEver(dir string) error {
	s, err := Open(Options{Dir: dir})
	if err != nil {
		return err
	}
	r, err := s.Session(session)
	if err != nil {
		return err
	}
	for n := r.Lines + 1; ; n++ {
		e := event(int(n))
		if n%2 == 0 { // long, so that a kill can come in the middle of its write
			e.Text = string(make([]byte, 60_000))
		}
		if err := s.Emit(e); err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString(strconv.FormatUint(n, 10) + "\n"); err != nil {
			return err
		}
	}
}

func TestG51_KillNineLosesNoReportedEvent(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	found := map[string]int{}
	last := uint64(0)
	for range 40 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines := bufio.NewScanner(out)
		reported := last
		for after := random.IntN(8); lines.Scan(); after-- {
			n, err := strconv.ParseUint(lines.Text(), 10, 64)
			require.NoError(t, err)
			require.Equal(t, reported+1, n)
			reported = n
			if after == 0 {
				for range random.IntN(20_000) { // so that the instant isn't always the one after a report
					_ = syscall.Getppid()
				}
				require.NoError(t, cmd.Process.Kill())
			}
		}
		require.NoError(t, lines.Err())
		require.ErrorContains(t, cmd.Wait(), "killed")

		s, err := Open(Options{Dir: dir})
		require.NoError(t, err)
		r, err := s.Session(session)
		require.NoError(t, err)
		require.GreaterOrEqual(t, r.Lines, reported)
		require.LessOrEqual(t, r.Lines, reported+1)
		switch {
		case r.Adopted:
			found["adopted"]++
		case r.Torn != "":
			found["torn"]++
		default:
			found["clean"]++
		}
		require.NoError(t, s.Emit(event(0)))
		require.NoError(t, s.Close())
		last = r.Lines + 1
		requireProven(t, dir, int(last))
	}
	t.Logf("%d events; after the kill: %v", last, found)
}
