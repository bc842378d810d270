package boardtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A tool is a command or, with a slash, a file; any of its names will do.
type tool struct {
	names   []string
	debian  string // the package that has it
	purpose string
}

var (
	makeTool = tool{[]string{"make"}, "make", "builds the firmware"}
	ccTool   = tool{[]string{"cc"}, "gcc libc6-dev", "builds the bench"}
)

var hostTools = []tool{makeTool, ccTool}

var emulatorTools = []tool{
	makeTool, ccTool,
	{[]string{"avr-gcc"}, "gcc-avr", "builds the firmware"},
	{[]string{"/usr/lib/avr/include/avr/io.h", "/usr/avr/include/avr/io.h"}, "avr-libc", "is the firmware's C library"},
	{[]string{"/usr/include/simavr/sim_avr.h"}, "libsimavr-dev", "emulates the chip"},
	{[]string{"/usr/include/libelf.h"}, "libelf-dev", "is what libsimavr is linked with"},
}

// requireTools skips the test by name where a tool is missing; under CI=true it fails.
func requireTools(t testing.TB, tools []tool) {
	t.Helper()
	for _, tool := range tools {
		if tool.there() {
			continue
		}
		const format = "%s, which %s, isn't installed (Debian: apt-get install %s)"
		name := strings.Join(tool.names, " or ")
		if os.Getenv("CI") == "true" {
			t.Fatalf("under CI=true the emulated board must run: "+format, name, tool.purpose, tool.debian)
		}
		t.Skipf("SKIPPED, NOT TESTED: "+format, name, tool.purpose, tool.debian)
	}
}

func (t tool) there() bool {
	for _, name := range t.names {
		if strings.Contains(name, "/") {
			if _, err := os.Stat(name); err == nil {
				return true
			}
		} else if _, err := exec.LookPath(name); err == nil {
			return true
		}
	}
	return false
}
