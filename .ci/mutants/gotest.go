package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// grace is how much longer than its own time limit a test process lives.
const grace = 30 * time.Second

// outcome is what one run of `go test` came to.
type outcome struct {
	passed   bool
	built    bool
	failed   []string // top-level tests that failed, or were running when the process ended
	ran      []string // top-level tests that passed or failed
	output   string
	duration time.Duration
}

// goTest runs the tests of a package that a regular expression names. env is the command's
// environment, nil for ours.
func goTest(ctx context.Context, env []string, dir, pkg, run string, limit time.Duration) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+grace)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-vet=off", "-failfast",
		"-timeout", limit.String(), "-run", run, pkg)
	cmd.Dir, cmd.Env = dir, env
	// A process group, so that what a test has started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err := cmd.Run()
	if cause := context.Cause(ctx); cause != nil {
		return outcome{}, fmt.Errorf("go test %s -run %s: %w", pkg, run, cause)
	}
	o := judge(out.String(), err == nil)
	o.duration = time.Since(start)
	return o, nil
}

// event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Test, Output string
}

// judge reads the output of `go test -json`. What isn't JSON is a tool's message.
func judge(out string, passed bool) outcome {
	o := outcome{passed: passed, built: true}
	var running []string
	var text strings.Builder
	for line := range strings.Lines(out) {
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			text.WriteString(line)
			continue
		}
		text.WriteString(e.Output)
		if strings.HasPrefix(e.Action, "build-") {
			o.built = o.built && e.Action != "build-fail"
			continue
		}
		if e.Test == "" || strings.Contains(e.Test, "/") {
			continue
		}
		switch e.Action {
		case "run":
			running = append(running, e.Test)
		case "pass", "fail", "skip":
			running = slices.DeleteFunc(running, func(s string) bool { return s == e.Test })
			if e.Action != "skip" {
				o.ran = append(o.ran, e.Test)
			}
			if e.Action == "fail" {
				o.failed = append(o.failed, e.Test)
			}
		}
	}
	o.output = text.String()
	if strings.Contains(o.output, "[build failed]") || strings.Contains(o.output, "[setup failed]") {
		o.built = false
	}
	if !passed && o.built {
		o.failed = append(o.failed, running...) // a panic elsewhere, or the time limit
	}
	return o
}

// matching returns the names that a regular expression matches.
func matching(names []string, r *regexp.Regexp) []string {
	var out []string
	for _, n := range names {
		if r.MatchString(n) {
			out = append(out, n)
		}
	}
	return out
}
