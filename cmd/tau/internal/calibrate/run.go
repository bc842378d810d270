package calibrate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tau-robot/tau/robot"
)

// Terminal is where the person is. In's blocked Read has to end once it is closed by
// whoever made it; Run doesn't close it.
type Terminal struct {
	In  io.Reader
	Out io.Writer
	// Paint: Out understands the escapes with which lines are painted over.
	Paint bool
	// Discard throws away what was typed and not read yet; nil does nothing.
	Discard func()
}

// every is how often servos are read while the arm is moved by hand: fast enough that
// nobody turns a joint by a quarter of a turn between two readings.
const every = 40 * time.Millisecond

// Run walks a person through a Session, with a Bus, until the file is written, somebody
// gives up, or ctx ends, which is ctrl-C. It blocks. nil: the file was written. Nothing
// is written to the bus but what the Session says, and never after ctx has ended.
// The goroutine that reads the terminal ends with In.
func Run(ctx context.Context, s *Session, bus Bus, t Terminal, save func([]byte) (old string, err error)) error {
	r := &runner{s: s, bus: bus, t: t, save: save, readings: make([]Reading, len(s.IDs()))}
	want, lines := make(chan bool, 1), make(chan string)
	over := make(chan error, 1)
	stop := make(chan struct{})
	defer close(stop)
	go func() { over <- readLines(t.In, want, lines, stop) }()
	tick := time.NewTicker(every)
	defer tick.Stop()

	end, err := r.take(ctx, s.Begin())
	for asked := false; !end; {
		if !asked {
			want <- r.fresh // there is room: each is taken before its line comes
			asked, r.fresh = true, false
		}
		var ticks <-chan time.Time
		if s.Sampling() {
			ticks = tick.C
		}
		select {
		case <-ctx.Done():
			end, err = r.take(ctx, s.Interrupted())
		case e := <-over:
			_, err = r.take(ctx, s.Interrupted())
			return errors.Join(err, e)
		case line := <-lines:
			asked, r.painted = false, 0 // the person's Enter moved the cursor
			end, err = r.take(ctx, s.Typed(line))
		case <-ticks:
			end, err = r.sample(ctx)
		}
	}
	return err
}

// longest is the longest line that is an answer.
const longest = 256

// readLines hands a line over for each want, and reads no further: what is typed before
// it is wanted waits in the terminal, where it can be thrown away. A true want throws away
// what was read with an earlier line.
func readLines(in io.Reader, want <-chan bool, lines chan<- string, stop <-chan struct{}) error {
	b := bufio.NewReaderSize(in, longest)
	for {
		select {
		case fresh := <-want:
			if fresh {
				_, _ = b.Discard(b.Buffered()) // it has that many
			}
		case <-stop:
			return nil
		}
		line, err := b.ReadString('\n')
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if len(line) > longest {
			line = "" // no answer to anything
		}
		select {
		case lines <- strings.TrimRight(line, "\r\n"):
		case <-stop:
			return nil
		}
	}
}

type runner struct {
	s        *Session
	bus      Bus
	t        Terminal
	save     func([]byte) (string, error)
	readings []Reading
	fresh    bool // a question is there: what was typed before is no answer to it
	painted  int  // lines that the next Live paints over
}

// sample reads all joints once.
func (r *runner) sample(ctx context.Context) (bool, error) {
	if err := r.bus.Read(ctx, r.s.IDs(), r.readings); err != nil {
		if ctx.Err() != nil {
			return r.take(ctx, r.s.Interrupted())
		}
		return r.take(ctx, r.s.fail(err))
	}
	return r.take(ctx, r.s.Sampled(r.readings))
}

// take says and does what a step came to, and what follows from that.
func (r *runner) take(ctx context.Context, o Out) (end bool, err error) {
	for {
		if o.Asks {
			r.fresh = true
			if r.t.Discard != nil {
				r.t.Discard()
			}
		}
		if err := r.print(o); err != nil {
			return true, robot.Errf(robot.CodeCancelled, "calibrate", "the terminal is gone: %w", err)
		}
		if o.Do != DoNothing && o.Do != DoEnd && ctx.Err() != nil {
			o = r.s.Interrupted()
			continue
		}
		switch o.Do {
		case DoScan:
			o = r.s.Scanned(r.bus.Scan(ctx))
		case DoPowerOff:
			o = r.s.PoweredOff(r.bus.PowerOff(ctx, o.IDs))
		case DoOffsets:
			o = r.s.Wrote(r.offsets(ctx, o.Offsets))
		case DoLimits:
			o = r.s.Limited(r.limits(ctx, o.Limits))
		case DoSave:
			o = r.s.Saved(r.save(o.File))
		case DoEnd:
			return true, o.Err
		default:
			return false, nil
		}
	}
}

// offsets writes one after another. After the first that fails none is written any more.
func (r *runner) offsets(ctx context.Context, all []Offset) []Offset {
	failed := false
	for i := range all {
		o := &all[i]
		if failed || ctx.Err() != nil {
			o.Err = robot.Errf(robot.CodeCancelled, fmt.Sprintf("ID %d", o.ID), "not written any more")
			continue
		}
		o.Read, o.Err = r.bus.SetOffset(ctx, o.ID, o.Ticks)
		failed = o.Err != nil || o.Read != o.Ticks
	}
	return all
}

// limits writes one after another, up to the first that fails.
func (r *runner) limits(ctx context.Context, all []Limit) error {
	for _, l := range all {
		if ctx.Err() != nil {
			return robot.Errf(robot.CodeCancelled, fmt.Sprintf("ID %d", l.ID), "not written any more")
		}
		if err := r.bus.SetLimits(ctx, l.ID, l.Low, l.High); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) print(o Out) error {
	var b strings.Builder
	if o.Say != "" {
		b.WriteString(o.Say)
		r.painted = 0
	}
	if len(o.Live) > 0 && r.t.Paint {
		if r.painted > 0 {
			fmt.Fprintf(&b, "\x1b[%dA", r.painted)
		}
		for _, l := range o.Live {
			b.WriteString("\r" + l + "\x1b[K\n")
		}
		r.painted = len(o.Live)
	}
	_, err := io.WriteString(r.t.Out, b.String())
	return err
}
