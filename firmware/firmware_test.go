// Package firmware_test builds the firmware's portable core for this machine and runs its
// own tests and its fuzzer, so that `go test ./...` covers what is written in C. It imports
// nothing of ours.
package firmware_test

import (
	"bytes"
	"flag"
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
		"Makefile", "core/*.[ch]", "test/*.[ch]", "test/corpus/*", "host/*.[ch]", "emulator/*.[ch]", "../testdata/wire/*.txt",
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
