package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tau-robot/tau/robot/builtin"
)

const (
	startRounds  = 10
	startBoundMS = 500
	startBoundMB = 64
)

// Start measures a whole run of the simulator's bridge, from the start of the process
// over its data folder, model, rehearsal and gate to an orderly end, with the default
// robot and with each other one that is built in; beside a run of the same binary that
// only prints its version. Rounds of all alternate. It runs this very binary.
func Start(ctx context.Context) (_ Report, err error) {
	self, err := os.Executable()
	if err != nil {
		return Report{}, err
	}
	dir, err := os.MkdirTemp("", "tau-bench-")
	if err != nil {
		return Report{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	names := builtin.Names()
	took := make([][]float64, len(names)+1)
	var mb float64
	for round := range startRounds + 1 { // the first warms up and isn't counted
		for i := range took {
			args := []string{"version"}
			if i < len(names) {
				args = []string{
					"robot", "sim", "--robot", names[i], "--script", "-", "--data-dir", filepath.Join(dir, fmt.Sprintf("%s-%d", names[i], round)),
				}
			}
			ms, peak, err := ran(ctx, self, args)
			if err != nil {
				return Report{}, err
			}
			if round > 0 {
				took[i] = append(took[i], ms)
			}
			if i == 0 {
				mb = max(mb, peak)
			}
		}
	}
	last := len(names)
	ms := []Measure{
		{"bridge with " + names[0] + ", start to end", "ms", spread(took[0])},
		{"baseline: the same binary prints its version", "ms", spread(took[last])},
	}
	for i := 1; i < last; i++ {
		ms = append(ms, Measure{"bridge with " + names[i], "ms", spread(took[i])})
	}
	r := newReport("start", "a run of the simulator's bridge that is asked nothing", startRounds, startBoundMS, ms...)
	if mb > 0 {
		r.Also = []Bound{below("largest resident memory, "+names[0], "MB", mb, startBoundMB)}
		r.Within = r.Within && r.Also[0].Within
	}
	return r, nil
}

// ran runs a command without input to its end; peak is its largest resident memory
// where the system says so, else 0.
func ran(ctx context.Context, self string, args []string) (ms, peakMB float64, err error) {
	cmd := exec.CommandContext(ctx, self, args...)
	t := time.Now()
	out, err := cmd.CombinedOutput()
	ms = since(t, time.Millisecond)
	if err != nil {
		return 0, 0, fmt.Errorf("%v: %w: %s", args, err, out)
	}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		peakMB = float64(u.Maxrss) / 1024 // kB on Linux
	}
	return ms, peakMB, nil
}
