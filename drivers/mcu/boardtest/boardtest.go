// Package boardtest gives tests a board: our firmware in an emulated ATmega328P with
// its pins traced, the same C core built for this machine, or a real board on a real
// port. docs/HIL.md says what each can do.
//
// It builds firmware and bench from the sources of this repository, once for each
// content, into the temporary folder, and ends what it started with the test. It is
// for tests only, and must never import a driver: it knows the bench's words and no
// byte of the protocol.
package boardtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// PortVariable names the environment variable with a real board's port.
const PortVariable = "TAU_HIL_PORT"

// Kind says what a board is.
type Kind int

// The kinds.
const (
	// Emulated is the AVR firmware in an emulated chip.
	Emulated Kind = iota
	// Host is the firmware's core, built for this machine.
	Host
	// Real is a board on the port that TAU_HIL_PORT names. Nobody asks for it: it is
	// what a test with Options.RealToo gets where that is set.
	Real
)

func (k Kind) String() string {
	switch k {
	case Emulated:
		return "emulated"
	case Host:
		return "host"
	case Real:
		return "real"
	}
	return "kind " + strconv.Itoa(int(k))
}

// Options say which board a test wants.
type Options struct {
	// Map is the pin map: servo2, servo8 or stepper3. A test of the bench itself has
	// the map test, with a firmware of its own, and Hex goes with uno.
	Map string
	// Hex is a file with somebody else's firmware for an Arduino Uno, which an emulated
	// board then runs instead of ours; "": ours.
	Hex  string
	Kind Kind
	// RealToo lets the board named by TAU_HIL_PORT stand in. Such a board has no trace
	// and takes no commands: what asks for them skips the rest of its test.
	RealToo bool
	// Feedback and Switches are the joints of a servo map, a bit for each, that have a
	// feedback voltage or a limit switch. A joint has one or the other.
	Feedback, Switches uint8
	// Baud is the serial line's, 0 for 115200.
	Baud int
	// Free lets the bench run as fast as it goes instead of with the wall clock.
	Free bool
	// Edges traces each step at its own time, Bytes what went over the line.
	Edges, Bytes bool
	// SwitchAt are the places at which modelled switches close.
	SwitchAt []SwitchAt
}

// SwitchAt says where a joint's switch, which has the joint's number, closes: at
// Position (steps from where the axis began; µs for a servo) and below it, or above it.
type SwitchAt struct {
	Joint    int
	Position int
	Above    bool
}

// LaterVariable is the environment variable that with the value "later" leaves out the
// tests that need a board on the wall clock. `make test` runs those by themselves
// afterwards: beside everything else that a machine of two cores then does, the process
// under test would get too little time to keep its board's watchdog quiet.
const LaterVariable = "TAU_BOARDS"

// OnTheWallClock skips a test of hardware that keeps to the wall clock, emulated or not,
// while it would share the machine; see LaterVariable. Start asks by itself.
func OnTheWallClock(t testing.TB) {
	t.Helper()
	later(t, "hardware that keeps to the wall clock")
}

// later skips what has the machine for itself afterwards; see LaterVariable.
func later(t testing.TB, what string) {
	t.Helper()
	if os.Getenv(LaterVariable) == "later" {
		t.Skipf("skipped by %s=later: %s has the machine for itself in the next command of make test", LaterVariable, what)
	}
}

// StandardFirmata is the file with a StandardFirmata for the Uno that nobody here wrote or
// built, for Options.Hex: what .ci/deps has installed. Without it the test is skipped by name;
// under CI=true that is a failure.
func StandardFirmata(t testing.TB) string {
	t.Helper()
	root, err := repository()
	if err != nil {
		t.Fatalf("boardtest: %v", err)
	}
	hex := filepath.Join(root, "testdata/firmata/node_modules/avrgirl-arduino/junk/hex/uno/StandardFirmata.cpp.hex")
	requireTools(t, []tool{{names: []string{hex}, debian: "npm, then sh .ci/deps", purpose: "is the firmware of the emulated board"}})
	return hex
}

// Start starts a board. It is stopped at the end of the test, which fails if the bench
// ended by itself before. Where the tools aren't there the test is skipped by name;
// under CI=true that is a failure.
//
// At most two emulated boards that keep to the wall clock run at once on the machine,
// so Start may wait for a place. A test holds as many boards as it started.
func Start(t testing.TB, o Options) *Board {
	t.Helper()
	if port := os.Getenv(PortVariable); o.RealToo && port != "" {
		return startReal(t, port)
	}
	if !o.Free {
		OnTheWallClock(t)
	}
	c, err := openCache()
	if err != nil {
		t.Fatalf("boardtest: %v", err)
	}
	args, err := o.command(t, c)
	if err != nil {
		t.Fatalf("boardtest: %v", err)
	}
	b := &Board{t: t, kind: o.Kind, link: filepath.Join(t.TempDir(), "board")}
	args = append(args, o.flags(b.link)...)
	if o.Kind == Emulated && !o.Free {
		release, err := c.place(placeWait)
		if err != nil {
			t.Fatalf("boardtest: %v", err)
		}
		t.Cleanup(release)
	}
	if err := b.start(exec.Command(args[0], args[1:]...)); err != nil { //nolint:noctx // ended by its stdin
		t.Fatalf("boardtest: %v", err)
	}
	t.Cleanup(b.stop)
	b.Wait(0, "the board's first boot", func(e Event) bool { return e.Kind == "boot" })
	return b
}

// command builds what o needs, and returns how it is called.
func (o Options) command(t testing.TB, c *cache) ([]string, error) {
	t.Helper()
	maps := []string{"servo2", "servo8", "stepper3", "test"}
	if o.Hex != "" {
		maps = []string{"uno"}
	}
	if !slices.Contains(maps, o.Map) {
		return nil, fmt.Errorf("no pin map %q: there are servo2, servo8 and stepper3, and of another firmware uno", o.Map)
	}
	switch o.Kind {
	case Emulated:
		requireTools(t, emulatorTools)
		bench, err := c.build(emulatorRecipe())
		if err != nil {
			return nil, err
		}
		firmware := o.Hex
		if firmware == "" {
			if firmware, err = c.build(firmwareRecipe(o)); err != nil {
				return nil, err
			}
		}
		return []string{bench, "--hex", firmware, "--map", o.Map}, nil
	case Host:
		requireTools(t, hostTools)
		bin, err := c.build(hostRecipe())
		if err != nil {
			return nil, err
		}
		args := []string{bin, "--map", o.Map}
		if o.Feedback != 0 {
			args = append(args, "--feedback", "adc") // of all joints
		}
		if o.Baud != 0 {
			args = append(args, "--baud", strconv.Itoa(o.Baud))
		}
		return args, nil
	}
	return nil, fmt.Errorf("a board of kind %v can't be started", o.Kind)
}

func (o Options) flags(link string) []string {
	f := []string{"--link", link, "--speed", "real"}
	if o.Free {
		f[3] = "free"
	}
	if o.Edges {
		f = append(f, "--edges")
	}
	if o.Bytes {
		f = append(f, "--bytes")
	}
	for _, s := range o.SwitchAt {
		side := -1
		if s.Above {
			side = 1
		}
		f = append(f, "--switch", fmt.Sprintf("%d:%d:%d", s.Joint, s.Position, side))
	}
	return f
}

// startReal takes the board on a real port, one test at a time on this machine.
func startReal(t testing.TB, port string) *Board {
	t.Helper()
	c, err := openCache()
	if err != nil {
		t.Fatalf("boardtest: %v", err)
	}
	release, err := c.lock("real-"+strings.ReplaceAll(port, "/", "_"), placeWait)
	if err != nil {
		t.Fatalf("boardtest: %v", err)
	}
	t.Cleanup(release)
	return &Board{t: t, kind: Real, link: port}
}

// placeWait bounds how long a test waits for another's board to end.
const placeWait = 5 * time.Minute
