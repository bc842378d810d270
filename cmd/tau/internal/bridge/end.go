package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"
)

// stepWait bounds each step of an orderly end, whatever a device, a disk or a
// client does. The robot was told to stop before the first of them.
const stepWait = 5 * time.Second

// ErrNotEnded says that a part of the bridge went on although it was told to end.
var ErrNotEnded = errors.New("didn't end")

// Close ends the bridge, in the order in which nothing is cut off. Whoever has
// made nothing move calls it alone; else Stop comes first. An error says by name
// what didn't end as it should, and doesn't keep the rest from ending. It returns
// in bounded time, whatever hangs.
func (h *Host) Close() error {
	h.Log.Info("bridge ends")
	return h.release()
}

// ending collects what goes wrong at the end.
type ending struct {
	limit time.Duration
	errs  []error
}

// step does one thing and waits for it, but no longer than the limit. What hasn't
// ended by then is left behind: the process is about to end. It reports whether it
// has.
func (e *ending) step(name string, f func(ctx context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.Background(), e.limit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		select {
		case err = <-done: // it says itself that it is late, and how
		case <-time.After(e.limit / 10):
			err = ctx.Err()
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%s %w within %s: %w", name, ErrNotEnded, e.limit, err)
	}
	if err != nil {
		e.errs = append(e.errs, err)
	}
	return !errors.Is(err, ErrNotEnded)
}

// plain is a step without a context.
func plain(f func() error) func(context.Context) error {
	return func(context.Context) error { return f() }
}

// release ends whatever has been started; the robot is at rest, or never moved, or
// can't be told to be.
func (h *Host) release() error {
	e := &ending{limit: cmp.Or(h.setup.endWait, stepWait)}
	h.endDoors(e)
	e.step("the part in a shared database", plain(func() error { h.share.end(); return nil }))
	h.endMotion(e)
	h.endChannels(e)
	e.step("the mounted servers", plain(h.closeMounts))
	if h.asked != nil {
		e.step("the requests", plain(h.asked.Close))
	}
	e.step("the tokens' files", plain(h.tokens.end))
	if h.sink != nil {
		text := h.describe("ended")
		for _, err := range e.errs {
			text += "; " + err.Error()
		}
		e.step("the last event", plain(func() error {
			return h.sink.Emit(h.note(text))
		}))
	}
	if h.store != nil {
		e.step("the event log", plain(h.store.Close))
	}
	if h.logFile != nil {
		e.step("the log file", plain(h.logFile.Close))
	}
	if h.dir != nil {
		e.step("the data folder", plain(h.dir.Close))
	}
	return errors.Join(e.errs...)
}

// endDoors ends what lets anybody in.
func (h *Host) endDoors(e *ending) {
	if h.mcp != nil {
		e.step("MCP", h.mcp.Shutdown)
	}
	if ln := h.setup.Listener; ln != nil {
		e.step("MCP's listener", plain(func() error {
			if err := ln.Close(); !errors.Is(err, net.ErrClosed) {
				return err
			}
			return nil
		}))
	}
	e.step("MCP's server", plain(func() error { h.serving.Wait(); return nil }))
	if h.control != nil {
		e.step("the control socket", plain(h.control.Close))
	}
}

// endMotion ends what runs, and then what it runs on. A backend whose motion doesn't
// end is closed first, which unblocks what can be unblocked.
func (h *Host) endMotion(e *ending) {
	if h.watched != nil {
		h.watched()
	}
	e.step("the watch over the real robot", plain(func() error { h.watching.Wait(); return nil }))
	closed := false
	closeBackend := func() {
		if closed {
			return
		}
		closed = true
		if h.real != nil { // first, whatever becomes of the other
			e.step("the real robot's backend", plain(h.real.backend.Close))
		}
		if h.backend != nil {
			e.step("the robot's backend", plain(h.backend.Close))
		}
	}
	if h.Gate != nil && !e.step("what runs", h.Gate.Close) {
		closeBackend()
		e.step("what runs, with its backend closed,", h.Gate.Close)
	}
	if h.lane != nil && !e.step("the lane", plain(h.lane.Close)) {
		closeBackend()
	}
	closeBackend()
	e.step("the opt-ins", plain(func() error { h.optIns.end(); return nil }))
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
