package boardtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Board is one that runs. Its methods fail the test that started it, and belong to
// that test's goroutine, unless they say otherwise.
type Board struct {
	t    testing.TB
	kind Kind
	link string

	trace *Trace
	stdin io.WriteCloser

	leases  sync.WaitGroup
	ending  chan struct{} // closed when no lease is given any more
	endOnce sync.Once
	cmd     *exec.Cmd
	exited  chan error
	stopped bool
	stderr  *tail
}

const (
	// waitLimit is how long a test waits for an event, of a machine that may stall.
	waitLimit = 30 * time.Second
	// endWait is how long a bench may take to end after its stdin did.
	endWait = 10 * time.Second
)

// The bench's time goes on while this process does: a busy machine that gives it no time
// would else make its heartbeats late by the board's clock, for a reason that no bridge
// on a machine of its own has.
const (
	leasePeriod = 5 * time.Millisecond
	lease       = "lease 30\n" // ms
)

// lend gives leases until the bench ends.
func (b *Board) lend() {
	defer b.leases.Done()
	tick := time.NewTicker(leasePeriod)
	defer tick.Stop()
	for {
		if _, err := io.WriteString(b.stdin, lease); err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-b.ending:
			return
		}
	}
}

func (b *Board) endLeases() { b.endOnce.Do(func() { close(b.ending) }) }

// start starts the bench and reads its trace until it ends.
func (b *Board) start(cmd *exec.Cmd) error {
	b.trace, b.stderr, b.exited, b.ending = newTrace(), &tail{}, make(chan error, 1), make(chan struct{})
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = b.stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	b.stdin, b.cmd = stdin, cmd
	b.leases.Add(1)
	go b.lend()
	go func() {
		s := bufio.NewScanner(stdout)
		var bad error
		for s.Scan() {
			e, err := parse(s.Text(), time.Now())
			if err != nil {
				bad = err
				continue
			}
			b.trace.add(e)
		}
		bad = errors.Join(bad, s.Err())
		b.trace.end()
		b.exited <- errors.Join(bad, cmd.Wait())
	}()
	return nil
}

// stop ends the bench and complains if it had ended before.
func (b *Board) stop() {
	if b.stopped {
		return
	}
	b.stopped = true
	b.endLeases()
	_ = b.stdin.Close()
	b.leases.Wait()
	select {
	case err := <-b.exited:
		last := b.trace.Since(max(b.trace.Mark()-1, 0))
		if err != nil || len(last) != 1 || last[0].Kind != "end" || last[0].Text != "stdin ended" {
			b.t.Errorf("the bench ended by itself: %v, last said %v\n%s", err, last, b.stderr)
		}
	case <-time.After(endWait):
		b.t.Errorf("the bench didn't end %v after its stdin did, last said %v", endWait, b.trace.Since(max(b.trace.Mark()-3, 0)))
		_ = b.cmd.Process.Kill()
		b.t.Logf("the bench was killed: %v", <-b.exited)
	}
	if slipped := b.trace.Slipped(); slipped > 0 {
		b.t.Logf("the bench stood still for %v in all: the machine was too busy", slipped)
	}
}

// Kind says what the board is.
func (b *Board) Kind() Kind { return b.kind }

// Path is the serial port to open. It stays the same over Unplug and Plug.
func (b *Board) Path() string { return b.link }

// bench skips the rest of the test on a real board.
func (b *Board) bench() {
	b.t.Helper()
	if b.kind == Real {
		b.t.Skip("a real board (TAU_HIL_PORT) has no trace and takes no commands")
	}
}

// Trace is what the bench has said so far. On a real board the test is skipped.
func (b *Board) Trace() *Trace {
	b.t.Helper()
	b.bench()
	return b.trace
}

// Mark is the trace's present end, to give to Wait before what is waited for is caused.
func (b *Board) Mark() Mark {
	b.t.Helper()
	return b.Trace().Mark()
}

// Wait returns the first event from a mark on that cond is true of, which may have come
// already, and blocks until there is one. what says in a failure what was waited for.
func (b *Board) Wait(from Mark, what string, cond func(Event) bool) Event {
	b.t.Helper()
	e, _ := b.await(from, what, cond)
	return e
}

func (b *Board) await(from Mark, what string, cond func(Event) bool) (Event, Mark) {
	b.t.Helper()
	b.bench()
	deadline := time.NewTimer(waitLimit)
	defer deadline.Stop()
	for at := from; ; {
		e, after, more, found := b.trace.find(at, cond)
		if found {
			return e, after
		}
		if more == nil {
			b.t.Fatalf("waiting for %s: the bench ended, last said %v\n%s", what, b.trace.Since(max(after-5, 0)), b.stderr)
		}
		at = after
		select {
		case <-more:
		case <-deadline.C:
			b.t.Fatalf("waited %v for %s; since then: %v", waitLimit, what, b.trace.Since(max(from, after-20)))
		}
	}
}

// Pass waits until d of the bench's time have passed.
func (b *Board) Pass(d time.Duration) {
	b.t.Helper()
	mark := b.Mark()
	due := b.Do("note").At + d
	b.Do("at %d note", (due+time.Millisecond-1)/time.Millisecond)
	b.Wait(mark, fmt.Sprintf("%v of the bench's time", d), func(e Event) bool { return e.At >= due && e.Is("did") })
}

// Do gives the bench a command, by its words in docs/HIL.md, and returns its answer. A
// refused command fails the test.
func (b *Board) Do(format string, args ...any) Event {
	b.t.Helper()
	b.bench()
	command := fmt.Sprintf(format, args...)
	mark := b.trace.Mark()
	if _, err := io.WriteString(b.stdin, command+"\n"); err != nil {
		b.t.Fatalf("the bench takes no command %q: %v", command, err)
	}
	e := b.Wait(mark, "the answer to "+command, func(e Event) bool { return e.Kind == "ok" || e.Kind == "error" })
	if e.Kind == "error" {
		b.t.Fatalf("the bench refused %q: %s", command, e.Text)
	}
	return e
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Button presses the e-stop button, or lets it go.
func (b *Board) Button(pressed bool) { b.t.Helper(); b.Do("button %s", onOff(pressed)) }

// Switch closes or opens a limit switch by hand.
func (b *Board) Switch(n int, closed bool) { b.t.Helper(); b.Do("switch %d %s", n, onOff(closed)) }

// SwitchAuto leaves a limit switch to the modelled axis again.
func (b *Board) SwitchAuto(n int) { b.t.Helper(); b.Do("switch %d auto", n) }

// Raw makes a joint's feedback voltage read a number of counts, 0 to 1023.
func (b *Board) Raw(joint, counts int) { b.t.Helper(); b.Do("raw %d %d", joint, counts) }

// Feedback makes a joint's feedback voltage follow the servo, or breaks its wire.
func (b *Board) Feedback(joint int, on bool) { b.t.Helper(); b.Do("feedback %d %s", joint, onOff(on)) }

// Stall holds a joint's servo or axis, or lets it go.
func (b *Board) Stall(joint int, on bool) { b.t.Helper(); b.Do("stall %d %s", joint, onOff(on)) }

// Hand turns a joint to a place by hand: in steps, or µs for a servo.
func (b *Board) Hand(joint, to int) { b.t.Helper(); b.Do("hand %d %d", joint, to) }

// Reset boots the board by its reset pin and waits until it has booted.
func (b *Board) Reset() { b.t.Helper(); b.boot("reset") }

// BrownOut boots it by a dip of its supply and waits until it has booted.
func (b *Board) BrownOut() { b.t.Helper(); b.boot("brownout") }

func (b *Board) boot(cause string) {
	b.t.Helper()
	mark := b.Mark()
	b.Do("%s", cause)
	b.Wait(mark, "a boot", func(e Event) bool { return e.Kind == "boot" && e.Text == cause })
}

// Freeze stops the board's clock, Thaw lets it go on.
func (b *Board) Freeze() { b.t.Helper(); b.Do("freeze") }

// Thaw ends Freeze.
func (b *Board) Thaw() { b.t.Helper(); b.Do("thaw") }

// Hang stops the program and not the chip's clock: its own watchdog has to boot it.
func (b *Board) Hang() { b.t.Helper(); b.Do("hang") }

// Unplug takes the serial line away. The board stays powered.
func (b *Board) Unplug() { b.t.Helper(); b.Do("unplug") }

// Plug brings the line back, under the same path.
func (b *Board) Plug() { b.t.Helper(); b.Do("plug") }

// At puts a command off until a time of the bench, and doesn't wait for it.
func (b *Board) At(at time.Duration, format string, args ...any) {
	b.t.Helper()
	b.Do("at %d %s", at/time.Millisecond, fmt.Sprintf(format, args...))
}

// A Span is what the firmware's mark of one stretch of its program came to.
type Span struct {
	Count             int64
	Least, Mean, Most int64 // CPU cycles
}

// A Report is the bench's own count of what happened.
type Report struct {
	Spans map[int]Span
	// Counts are numbers by their names: received, sent and dropped bytes, late_ns and
	// slipped_ns; of the emulated chip also total and asleep (CPU cycles), free_ram (bytes)
	// and overruns (bytes that the firmware didn't fetch).
	Counts map[string]int64
}

// Cycles asks for the report.
func (b *Board) Cycles() Report {
	b.t.Helper()
	mark := b.Mark()
	b.Do("cycles")
	r := Report{Spans: map[int]Span{}, Counts: map[string]int64{}}
	for _, e := range b.trace.Of(mark, "span") {
		r.Spans[int(e.Int(0))] = Span{Count: e.Int(2), Least: e.Int(4), Mean: e.Int(6), Most: e.Int(8)}
	}
	for _, e := range b.trace.Of(mark, "counts") {
		for i := 0; i+1 < len(e.Args); i += 2 {
			r.Counts[e.Args[i]] = e.Int(i + 1)
		}
	}
	return r
}

// tail keeps the end of what a process wrote to stderr.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailLimit = 4096

func (w *tail) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	if over := len(w.text) - tailLimit; over > 0 {
		w.text = append(w.text[:0], w.text[over:]...)
	}
	return len(p), nil
}

func (w *tail) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.TrimSpace(string(w.text))
}
