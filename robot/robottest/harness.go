package robottest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// Harness makes what is tested.
type Harness struct {
	// New returns a backend that is at rest, without faults and free to move to the
	// fixture's Target once it is enabled, and what the suite may do to it. Every check
	// gets a new one. New registers with t.Cleanup what has to be undone; the
	// suite closes the backend.
	New func(t *testing.T) Fixture
	// Unreferenced is New for a robot whose joints with a reference switch don't know
	// where they are, and stand some way from it. nil: checks that need it are
	// skipped by name, as they are where the model has no switches.
	Unreferenced func(t *testing.T) Fixture
	// Unknown is New for a robot with open-loop joints of which nobody has said where
	// they are. nil: checks that need it are skipped by name.
	Unknown func(t *testing.T) Fixture
	// Bubble runs each check in a bubble of testing/synctest, where time passes
	// as soon as everybody waits for it. It is for backends that talk to nothing
	// outside the process.
	Bubble bool
	// Parallel is how many checks may run at once, for backends that mostly wait for
	// the wall clock; below 2: one after the other.
	Parallel int
}

// Fixture is a backend under test. The optional functions are what not every
// harness can do: a check that needs one that is nil is skipped by name. All of them
// are called from a goroutine of the suite's, return as soon as what they do is done
// and report with Fatal or panic what they can't do.
type Fixture struct {
	Backend robot.Backend
	// Model is what the backend was made from. It says what there is beside joints:
	// wheels that carry a base, reference switches, a gripper.
	Model *robot.Model
	// Disabled says that the backend starts without torque, as a real one does. The
	// suite holds it to that and switches it on for every other check.
	Disabled bool
	// Target is a configuration, rad or m by active joint, that the robot reaches
	// on a straight line in joint space, at its limits, without touching anything;
	// a base goes there straight ahead. At least one joint must be at least 0.2 rad or m away from where it stands.
	Target []float64
	// Tolerance is how far from the end of a motion, rad or m, a joint may be
	// measured after it; of an open-loop joint its setpoint.
	Tolerance float64
	// MaxDeviation is the bound, rad or m, that an undisturbed motion keeps.
	MaxDeviation float64
	// Lag bounds, in s of motion time, what may pass from a call of Stop to the
	// first step of the brake, plus what the measured position lags behind the
	// setpoint.
	Lag float64
	// Watchdog bounds, in s of motion time, what may pass from the moment at which the
	// robot hears nothing any more to the first step of its own brake.
	Watchdog float64
	// Stall is for how long, s, a busy machine may hold up a backend whose motion time
	// is the wall clock's: it comes on top of Lag and of what may lie between two
	// reports. 0 for one whose time stands still meanwhile.
	Stall float64
	// Seconds is how long the suite's long motions take at least; 0: 2 s.
	Seconds float64

	// AtMotionTime has do called once, in a goroutine of its own, when the next
	// motion gets to t seconds of motion time, and holds motion time until do has
	// returned or stopped the robot. nil: the suite uses Progress instead, which
	// is late by up to 50 ms.
	AtMotionTime func(t float64, do func())
	// Freeze makes measurements and reports stop from now on.
	Freeze func()
	// Unplug cuts the link to the robot from now on.
	Unplug func()
	// Replug ends Unplug.
	Replug func()
	// Silence keeps from now on everything from the robot that the backend sends it,
	// as if the host were gone, and tells the backend nothing.
	Silence func()
	// Reboot resets the robot's board at once, as its button does.
	Reboot func()
	// Intrude has a second master speak to the robot for a moment, as a second bridge
	// would that begins a motion of its own.
	Intrude func()
	// Trip makes the robot stop by itself from now on, as an e-stop button does, and
	// Untrip takes away why.
	Trip, Untrip func()
	// Rival tries to get the robot as a second bridge does, and gives it back if it
	// gets it; the error is why it didn't.
	Rival func() error
	// Observe returns where the joints are, or where their setpoints are, rad or m by
	// active joint, as somebody sees it who stands beside the robot: also while no link
	// is there. It must not ask the backend.
	Observe func() []float64
	// Block makes the joint with that position in q immovable from now on.
	Block func(joint int)
	// TorqueOff says that torque may be switched off: nothing falls on anything.
	TorqueOff bool
	// Lacks says, by the name of a check that this fixture can't do, why the hardware hasn't
	// got what it needs. It is said where the check is skipped, and skips none by itself.
	Lacks map[string]string
}

// wall bounds every call to a backend, wall-clock time.
const (
	wall     = 30 * time.Second
	slowWall = 120 * time.Second // of a check whose motion time is the wall clock's
	waitStep = 5 * time.Millisecond
)

// Run holds a backend to its contract. Each check is a subtest with a new fixture.
func Run(t *testing.T, h Harness) { run(t, h, "") }

// RunCase runs only the checks that prove one of the numbered public bug reports,
// for tests that carry that number in their name. A number that no check has
// fails.
func RunCase(t *testing.T, h Harness, number int) {
	run(t, h, fmt.Sprintf("Case%d_", number))
}

func run(t *testing.T, h Harness, prefix string) {
	some := false
	turns := make(chan struct{}, max(1, h.Parallel))
	for _, c := range checks() {
		if !strings.HasPrefix(c.name, prefix) {
			continue
		}
		some = true
		t.Run(c.name, func(t *testing.T) {
			if h.Parallel > 1 {
				t.Parallel()
				turns <- struct{}{}
				t.Cleanup(func() { <-turns }) // once the backend is closed
			}
			if h.Bubble {
				synctest.Test(t, func(t *testing.T) { runCheck(t, h, c) })
			} else {
				runCheck(t, h, c)
			}
		})
	}
	require.True(t, some, "no check is named %s…", prefix)
}

// maker returns what makes a check's fixture, and what is missing if nothing does.
func (h *Harness) maker(from origin) (func(*testing.T) Fixture, string) {
	switch from {
	case fromUnreferenced:
		return h.Unreferenced, "start without references"
	case fromUnknown:
		return h.Unknown, "start without knowing where its joints are"
	}
	return h.New, "make a backend"
}

func runCheck(t *testing.T, h Harness, c namedCheck) {
	make, what := h.maker(c.from)
	if make == nil {
		t.Skip("skipped: this harness can't " + what)
	}
	f := make(t)
	require.NotNil(t, f.Backend)
	require.NotNil(t, f.Model)
	for name := range f.Lacks {
		require.True(t, slices.ContainsFunc(checks(), func(c namedCheck) bool { return c.name == name }), "no check is named %s", name)
	}
	require.Len(t, f.Target, len(f.Backend.Info().Joints), "the fixture's target has one number a joint")
	limit := wall
	if f.Stall > 0 {
		limit = slowWall
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	t.Cleanup(func() {
		require.NoError(t, f.Backend.Close())
		require.NoError(t, f.Backend.Close(), "a second Close returns nil")
	})
	if c.needs != nil {
		if what := c.needs(&f); what != "" {
			if why := f.Lacks[c.name]; why != "" {
				what += ": " + why
			}
			t.Skipf("skipped: this harness can't %s", what)
		}
	}
	k := &check{T: t, Fixture: f, b: f.Backend, info: f.Backend.Info(), ctx: ctx}
	if f.Disabled && !c.asItStarts {
		k.enable()
	}
	c.run(k)
}

// origin says which of a harness' functions makes a check's fixture.
type origin uint8

const (
	fromNew origin = iota
	fromUnreferenced
	fromUnknown
)

type namedCheck struct {
	name  string
	needs func(*Fixture) string // what is missing, "" if nothing is
	run   func(*check)
	from  origin
	// asItStarts: the check is about the robot before it is enabled.
	asItStarts bool
}
