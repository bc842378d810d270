// Package avr_test builds the firmware for the ATmega328P in every pin map and holds it
// to its limits of size, time and exactness, in the emulator's cycles.
package avr_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sources are read by this process too, so that the go command knows what a cached result
// depends on.
func readSources(t *testing.T) {
	t.Helper()
	n := 0
	for _, pattern := range []string{"../*.[ch]", "../Makefile", "../*.S", "../cycles/*.[ch]", "../test/*.c", "../../core/*.[ch]"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, f := range files {
			_, err := os.ReadFile(f)
			require.NoError(t, err)
			n++
		}
	}
	require.Greater(t, n, 10)
}

// needTools skips the test where the AVR tools or libsimavr aren't installed.
func needTools(t *testing.T) {
	t.Helper()
	readSources(t)
	missing := ""
	for _, tool := range []string{"make", "cc", "avr-gcc", "avr-objcopy"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing += " " + tool
		}
	}
	for _, header := range []string{"/usr/include/simavr/sim_avr.h", "/usr/include/libelf.h"} {
		if _, err := os.Stat(header); err != nil {
			missing += " " + header
		}
	}
	if missing == "" {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("under CI the AVR tools have to be there; missing:%s", missing)
	}
	t.Skipf("SKIPPED, the AVR tools aren't installed; missing:%s", missing)
}

// build runs make with these variables, in a directory of its own for what it makes.
func build(t *testing.T, goal string, vars ...string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	args := append([]string{"-s", "-C", "..", goal, "OUT=" + dir, "CYCLES=" + filepath.Join(dir, "cycles")}, vars...)
	cmd := exec.CommandContext(t.Context(), "make", args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// A line of the report: what, its figure, a unit and perhaps its limits.
var reportLine = regexp.MustCompile(`^(.{52}) +(-?[0-9.]+) `)

func parseReport(t *testing.T, report string) map[string]float64 {
	t.Helper()
	figures := map[string]float64{}
	lines := bufio.NewScanner(strings.NewReader(report))
	for lines.Scan() {
		// The column's width is in bytes; the figures' names are ASCII.
		if m := reportLine.FindStringSubmatch(lines.Text()); m != nil {
			v, err := strconv.ParseFloat(m[2], 64)
			require.NoError(t, err, lines.Text())
			figures[strings.TrimSpace(m[1])] = v
		}
	}
	return figures
}

// Each build runs through a session in the emulator: inputs, outputs, a motion on a full
// line, a stop, the button, a silent host, a late loop, the watchdog.
func TestSizeAndCycles(t *testing.T) {
	needTools(t)
	for _, vars := range [][]string{
		{"MAP=servo8", "SERVOS=8", "FEEDBACK=0x0F", "SWITCHES=0x30"},
		{"MAP=servo8", "SERVOS=2", "BAUD=1000000"},
		{"MAP=stepper3"},
	} {
		t.Run(strings.Join(vars, " "), func(t *testing.T) {
			out, err := build(t, "size", vars...)
			t.Log("\n" + out)
			require.NoError(t, err, "beyond a limit, or not built:\n%s", out)
			require.NotContains(t, out, "BEYOND")
			figures := parseReport(t, out)
			// The limits once more, apart from the program that prints them.
			require.LessOrEqual(t, figures["flash"], 24*1024.0)
			require.Greater(t, figures["flash"], 4096.0)
			require.LessOrEqual(t, figures["RAM"], 1536.0)
			require.Greater(t, figures["RAM, deepest stack"], 20.0)
			require.Equal(t, figures["RAM"], figures["RAM, variables"]+figures["RAM, deepest stack"])
			require.Less(t, figures["tick, mean, alone"], 8000.0)
			require.Greater(t, figures["tick, worst, alone"], 100.0)
			require.Less(t, figures["stop received, alone"], 56000.0)
			require.Zero(t, figures["bytes lost"])
			require.Zero(t, figures["pulses or steps before ENABLE"])
			require.Zero(t, figures["pulses or steps without power"])
			if vars[0] == "MAP=stepper3" {
				require.GreaterOrEqual(t, figures["step pulse, shortest"], 2.0)
				require.GreaterOrEqual(t, figures["direction before the step, shortest"], 5.0)
				require.LessOrEqual(t, figures["step to step, shortest"], 125.0)
				require.Zero(t, figures["steps miscounted"])
				return
			}
			require.GreaterOrEqual(t, figures["pulse, narrowest error"], -10.0)
			require.LessOrEqual(t, figures["pulse, widest error"], 10.0)
			require.GreaterOrEqual(t, figures["pulses of a joint"], 49.0)
		})
	}
}

// What the emulator isn't needed for: every other number of joints builds, and its
// variables leave room for the stack.
func TestBuilds(t *testing.T) {
	needTools(t)
	for _, c := range []struct {
		vars   string
		joints int
	}{
		{"MAP=servo8 SERVOS=4", 4}, {"MAP=servo8 SERVOS=6 BAUD=250000", 6}, {"MAP=servo8 SERVOS=7", 7}, {"MAP=servo8 SERVOS=8 BAUD=1000000", 8},
	} {
		t.Run(c.vars, func(t *testing.T) {
			out, err := build(t, "ram", strings.Fields(c.vars)...)
			require.NoError(t, err, out)
			ram, err := strconv.Atoi(strings.TrimSpace(out))
			require.NoError(t, err, out)
			// The stack as it was measured: for two joints, three and eight.
			require.LessOrEqual(t, ram+130+16*c.joints, 1536)
		})
	}
}

// A firmware that takes too much doesn't pass for one that fits.
func TestSizeFailsBeyondALimit(t *testing.T) {
	needTools(t)
	out, err := build(t, "size", "MAP=servo8", "SERVOS=2", "QUEUE=1100")
	require.Error(t, err, out)
	require.Regexp(t, `(?m)^RAM .* BEYOND$`, out)
}

// The products in assembly are those of the core's C, on the edges and 20,000 random pairs.
func TestNumbers(t *testing.T) {
	needTools(t)
	out, err := build(t, "numbers")
	require.NoError(t, err, out)
}

func TestWrongVariablesDontBuild(t *testing.T) {
	needTools(t)
	for _, c := range []struct{ why, vars string }{
		{"there are servo8 and stepper3", "MAP=servo9"},
		{"SERVOS: 2 to 8", "MAP=servo8 SERVOS=9"},
		{"SERVOS: 2 to 8", "MAP=servo8 SERVOS=1"},
		{"an analog pin is one or the other", "MAP=servo8 FEEDBACK=3 SWITCHES=2"},
		{"the Uno has A0 to A5", "MAP=servo8 FEEDBACK=0x40"},
		{"more joints than SERVOS", "MAP=servo8 SERVOS=2 FEEDBACK=4"},
		{"2.2 % off", "MAP=stepper3 BAUD=700000"},
		{"no divisor of the clock", "MAP=stepper3 BAUD=9000000"},
	} {
		t.Run(c.vars, func(t *testing.T) {
			out, err := build(t, "check", strings.Fields(c.vars)...)
			require.Error(t, err)
			require.Contains(t, out, c.why)
		})
	}
}
