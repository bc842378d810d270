package mcu_test

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/mcu"
	"github.com/tau-robot/tau/drivers/mcu/boardtest"
	"github.com/tau-robot/tau/drivers/port/porttest"
	"github.com/tau-robot/tau/robot/robottest"
)

// wired is a robot on a board that keeps to the wall clock, for the suite, with a proxy
// between them that unplugs, silences and intrudes.
func (g rig) wired(t *testing.T) robottest.Fixture {
	b := g.start(t)
	p := porttest.Start(t, porttest.Options{Board: b.Path()})
	o := g.options(t, p.Path())
	r, err := mcu.Open(context.Background(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	f := robottest.Fixture{
		Backend: r, Model: o.Model, Disabled: true, Target: g.target(o.Model),
		Tolerance: 0.012, MaxDeviation: 0.4,
		Lag: 0.12, Watchdog: 0.25, Stall: 0.1, Seconds: 3,
		Freeze:  func() { b.Freeze() },
		Unplug:  func() { require.NoError(t, p.Unplug()) },
		Replug:  func() { require.NoError(t, p.Replug()) },
		Silence: func() { p.Add(porttest.Fault{Dir: porttest.ToBoard, Kind: porttest.Drop, Count: porttest.Always}) },
		Reboot:  func() { b.Reset() },
		Intrude: func() { require.NoError(t, p.Inject(porttest.ToBoard, intrusion(t))) },
		Trip:    func() { b.Button(true) },
		Untrip:  func() { b.Button(false) },
		Observe: func() []float64 {
			tr := b.Trace()
			out := make([]float64, len(o.Hardware.Joints))
			for i := range out {
				j := &o.Hardware.Joints[i]
				w, ok := tr.PulseAt(j.Channel, tr.Now())
				if !ok {
					w = time.Duration(g.stand[i]) * time.Microsecond
				}
				out[i] = j.Position(float64(w) / float64(time.Microsecond))
			}
			return out
		},
		TorqueOff: true,
		Rival: func() error {
			again, err := mcu.Open(context.Background(), o)
			if err != nil {
				return err
			}
			return again.Close()
		},
	}
	if g.board.Feedback != 0 {
		f.Block = func(j int) { b.Stall(j, true) }
	}
	return f
}

// suite says in the environment what is to become of the whole suite on the emulated
// board: "" nothing, anything else that it runs; suiteChild that this process runs it.
const (
	suite      = "TAU_HIL_SUITE"
	suiteChild = "here"
)

// The whole suite on the firmware's own machine code, on the wall clock; make hil asks
// for it. A board that hears nothing for 200 ms stops, rightly, so a machine that is busy
// with something else fails checks that have nothing wrong: what failed is run again, by
// itself, and has to pass then. Without make hil the same suite runs on the same core, in
// simulated time.
func TestConformanceOfTheEmulatedBoard(t *testing.T) {
	switch os.Getenv(suite) {
	case "":
		t.Skipf("skipped: %s isn't set, as make hil does; TestConformanceOf… run the suite in simulated time", suite)
	case suiteChild:
		for name, g := range map[string]rig{"measured": measured(), "open_loop": servos()} {
			t.Run(name, func(t *testing.T) {
				g.board.Kind = boardtest.Emulated
				robottest.Run(t, robottest.Harness{New: g.wired, Parallel: 2})
			})
		}
		return
	}
	const tries = 6
	failed, out := runSuite(t, "^"+t.Name()+"$")
	for try := 2; len(failed) > 0 && try <= tries; try++ {
		t.Logf("run again, try %d: %s", try, strings.Join(failed, ", "))
		var again []string
		for _, name := range failed {
			parts := strings.Split(name, "/")
			for i := range parts {
				parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
			}
			var still []string
			if still, out = runSuite(t, strings.Join(parts, "/")); len(still) > 0 {
				again = append(again, name)
			}
		}
		failed = again
	}
	require.Empty(t, failed, "%s", out)
}

// failure finds the checks that failed in what the suite says.
var failure = regexp.MustCompile(`(?m)^ +--- FAIL: ([^ /]+/[^ /]+/[^ ]+) `)

// runSuite runs a part of the suite in a process of its own, and returns which of its
// checks failed and what it said.
func runSuite(t *testing.T, pattern string) (failed []string, said string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run="+pattern, "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), suite+"="+suiteChild)
	out, err := cmd.CombinedOutput()
	for _, m := range failure.FindAllStringSubmatch(string(out), -1) {
		failed = append(failed, m[1])
	}
	require.True(t, err == nil || len(failed) > 0, "%v: %s", err, out)
	require.Regexp(t, `(?m)^ +--- [A-Z]+: [^ /]+/[^ /]+/`, string(out), "something ran")
	return failed, string(out)
}
