package bridge

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/sim"
)

// In the environment they turn the test binary into a bridge with its day: a folder, and
// the seed of what is asked and answered in it.
const (
	dayDirVar  = "TAU_BRIDGE_TEST_DAY"
	daySeedVar = "TAU_BRIDGE_TEST_SEED"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(dayDirVar); dir != "" {
		fmt.Fprintln(os.Stderr, dayOf(dir, os.Getenv(daySeedVar)))
		os.Exit(1)
	}
	if dir := os.Getenv(realDirVar); dir != "" {
		fmt.Fprintln(os.Stderr, realDay(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// told writes one line of evidence. A line is one write, so that it is there whole,
// whatever becomes of this process right after it.
func told(what, id string) { _, _ = os.Stdout.WriteString(what + " " + id + "\n") }

// dice is a source that many goroutines share.
type dice struct {
	mu  sync.Mutex
	rng *rand.Rand
}

func (d *dice) roll(n int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(n)
}

// dayOf is a bridge's day that only kill -9 ends: a real host on real files, asked by
// four callers and answered by somebody who says yes, no or nothing for a while.
func dayOf(dir, seed string) error {
	n, err := strconv.ParseUint(seed, 10, 64)
	if err != nil {
		return err
	}
	model, err := builtin.Load("so101")
	if err != nil {
		return err
	}
	d := &dice{rng: rand.New(rand.NewPCG(n, 1))}
	h, err := Start(Setup{
		Model: model, Clock: sim.Fast, Session: "sim", DataDir: filepath.Join(dir, "data"), Version: "test", Now: time.Now,
		Open: func(string) (gate.Approver, Watcher, error) { return person{d}, nil, nil },
		wrap: func(b robot.Backend) robot.Backend { return moving{b} },
	})
	if err != nil {
		return err
	}
	for range 4 {
		go caller(h, d)
	}
	for { // stops come in between, and end what waits
		time.Sleep(time.Duration(50+d.roll(200)) * time.Millisecond)
		h.Stop("the day's")
	}
}

// caller asks for motions until the process ends.
func caller(h *Host, d *dice) {
	for {
		t := h.Gate.Submit(gate.Invocation{
			Tool: "move_joints", Session: "sim", Principal: Agent, Origin: "test",
			Args: fmt.Appendf(nil, `{"positions":{"shoulder_pan":%.3f},"speed_scale":0.9}`, float64(d.roll(1000))/1000-0.5),
		})
		if d.roll(10) == 0 {
			t.Cancel("changed its mind")
		}
		<-t.Done()
		told("answered-"+string(t.Answer().Status), t.ID())
	}
}

// person answers.
type person struct{ d *dice }

func (person) Name() string { return "person" }

func (p person) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	told("shown", req.CallID)
	if p.d.roll(4) == 0 { // thinks about it
		wait := time.NewTimer(time.Duration(p.d.roll(40)) * time.Millisecond)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
			return gate.Word{}, ctx.Err()
		}
	}
	if p.d.roll(6) == 0 {
		told("no", req.CallID)
		return gate.Word{Decision: gate.Rejected, Reason: "answered"}, nil
	}
	told("yes", req.CallID)
	return gate.Word{Decision: gate.Approved, Reason: "answered"}, nil
}

// moving tells of each motion at its first actuation.
type moving struct{ robot.Backend }

func (m moving) Execute(ctx context.Context, motion robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	told("moves", motion.ID)
	return m.Backend.Execute(ctx, motion, progress)
}
