// Package firmware_test builds the firmware's portable core for this machine and runs its
// own tests and its fuzzer, so that `go test ./...` covers what is written in C. It imports
// nothing of ours.
package firmware_test

import (
	"bufio"
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Under CI the fuzzer looks for a minute, else for a few seconds. `make -C firmware fuzz
// SECONDS=600` is the long one.
var fuzzSeconds = flag.Int("fuzz-seconds", 0, "how long the core is fuzzed, in s (0: 60 under CI, else 5)")

func ci() bool { return os.Getenv("CI") == "true" }

// need skips the test where one of the tools isn't installed, which under CI is a failure.
func need(t *testing.T, tools ...string) {
	t.Helper()
	var missing []string
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	if len(missing) == 0 {
		return
	}
	require.False(t, ci(), "under CI these have to be installed: %v", missing)
	t.Skipf("SKIPPED, not installed: %s", strings.Join(missing, " "))
}

// readSources reads what make reads, so that the go command knows what a cached result
// depends on.
func readSources(t *testing.T) {
	t.Helper()
	n := 0
	for _, pattern := range []string{
		"Makefile", "core/*.[ch]", "test/*.[ch]", "test/same/*.c", "test/corpus/*",
		"avr/number.S", "host/*.[ch]", "emulator/*.[ch]", "../testdata/wire/*.txt",
	} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, f := range files {
			_, err := os.ReadFile(f)
			require.NoError(t, err)
			n++
		}
	}
	require.Greater(t, n, 30)
}

// run runs make in this folder with a build folder of its own, and returns what it said.
func run(t *testing.T, goal string, vars ...string) (string, error) {
	t.Helper()
	args := append([]string{"-s", goal, "B=" + t.TempDir()}, vars...)
	cmd := exec.CommandContext(t.Context(), "make", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// The vectors and sessions of the wire protocol, the invariants under random bytes, and the
// fuzzer's seeds, with the address and undefined behaviour sanitizers.
func TestCore(t *testing.T) {
	t.Parallel()
	readSources(t)
	need(t, "make", "cc")
	out, err := run(t, "test")
	require.NoError(t, err, out)
	require.Contains(t, out, " 0 failures", out)
	if ci() {
		require.Contains(t, out, "sanitizers: address, undefined", "under CI the compiler has to have them")
	}
	t.Log(out)
}

func TestCoreFuzz(t *testing.T) {
	t.Parallel()
	readSources(t)
	need(t, "make", "clang")
	seconds := *fuzzSeconds
	if seconds == 0 {
		seconds = 5
		if ci() {
			seconds = 60
		}
	}
	out, err := run(t, "fuzz", "SECONDS="+strconv.Itoa(seconds))
	require.NoError(t, err, out)
	require.Regexp(t, `stat::number_of_executed_units: +[1-9]`, out)
}

// The host build: machines without AVR tools drive this one.
func TestHostBuild(t *testing.T) {
	t.Parallel()
	readSources(t)
	need(t, "make", "cc")
	out, err := run(t, "host")
	require.NoError(t, err, out)
}

// The core on the AVR, where int has 16 bits and products are the port's own, tells and
// sends exactly what it does on this machine.
func TestSameOnAVR(t *testing.T) {
	t.Parallel()
	readSources(t)
	need(t, "make", "cc", "avr-gcc", "avr-objcopy")
	if _, err := os.Stat("/usr/include/simavr/sim_avr.h"); err != nil {
		require.False(t, ci(), "under CI libsimavr-dev has to be installed")
		t.Skip("SKIPPED, not installed: libsimavr-dev")
	}
	dir := t.TempDir()
	for _, args := range [][]string{{dir + "/same", dir + "/same.hex"}, {"-C", "emulator"}} {
		out, err := exec.CommandContext(t.Context(), "make", append(args, "-s", "B="+dir)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	want, err := exec.CommandContext(t.Context(), filepath.Join(dir, "same")).CombinedOutput()
	require.NoError(t, err, string(want))

	board := exec.CommandContext(t.Context(), filepath.Join(dir, "tau-emulator"),
		"--hex", dir+"/same.hex", "--map", "servo8", "--speed", "free", "--bytes")
	stdin, err := board.StdinPipe()
	require.NoError(t, err)
	stdout, err := board.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, board.Start())
	got := ""
	for lines := bufio.NewScanner(stdout); len(got) < 8 && lines.Scan(); {
		// T tx HEX
		if words := strings.Fields(lines.Text()); len(words) == 3 && words[1] == "tx" {
			got += words[2]
		}
	}
	require.NoError(t, stdin.Close())
	_, err = io.Copy(io.Discard, stdout)
	require.NoError(t, err)
	require.NoError(t, board.Wait())
	require.Equal(t, strings.TrimSpace(string(want)), got)
}
