package events

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/tau-robot/tau/gate"
)

// Entry is one line of a log as Read gives it.
type Entry struct {
	Line  int // counted from 1
	Seq   uint64
	Prev  string
	Hash  string
	Event gate.Event
}

// entryJSON is a line's fields; gate.Event's stand among them.
type entryJSON struct {
	Seq  uint64 `json:"seq"`
	Prev string `json:"prev"`
	Hash string `json:"hash"`
	gate.Event
}

// LineError is a line that can't be read as an event.
type LineError struct {
	Path string
	Line int
	Err  error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("events: %s:%d: %v", e.Path, e.Line, e.Err)
}

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// errTooLong is a line beyond maxLine.
var errTooLong = fmt.Errorf("the line is longer than %d bytes", maxLine)

// Read iterates over the events of the log at path, oldest first, up to what is
// there when it gets to the end; a writer may be at work meanwhile. It proves
// nothing (that is Verify). A line that isn't an event comes as a *LineError with
// an Entry that has only Line, and the next ones follow; a part of a line at the
// end, which a writer may be in the middle of, is left out. Any other error ends it.
func Read(path string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		f, err := os.Open(path)
		if err != nil {
			yield(Entry{}, fmt.Errorf("events: %w", err))
			return
		}
		defer func() { _ = f.Close() }() // read only
		for e, err := range read(f, path) {
			if !yield(e, err) {
				return
			}
		}
	}
}

func read(r io.Reader, path string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		lines := newLines(r)
		for n := 1; ; n++ {
			line, whole, err := lines.next()
			switch {
			case errors.Is(err, errTooLong):
			case err != nil:
				yield(Entry{Line: n}, fmt.Errorf("events: %s: %w", path, err))
				return
			case !whole:
				return
			}
			e := Entry{Line: n}
			if err == nil {
				e, err = decode(line, n)
			}
			if err != nil {
				e, err = Entry{Line: n}, &LineError{Path: path, Line: n, Err: err}
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func decode(line []byte, n int) (Entry, error) {
	var j entryJSON
	if err := json.Unmarshal(line, &j); err != nil {
		return Entry{}, err
	}
	return Entry{Line: n, Seq: j.Seq, Prev: j.Prev, Hash: j.Hash, Event: j.Event}, nil
}

// lines splits a log into lines without holding more than one.
type lines struct {
	r   *bufio.Reader
	buf []byte
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line without its newline, valid until the next call.
// whole is false for what is left at the end without a newline, possibly nothing;
// a later call goes on behind it. A line that is too long is skipped: errTooLong.
func (l *lines) next() (line []byte, whole bool, err error) {
	l.buf = l.buf[:0]
	long := false
	for {
		part, err := l.r.ReadSlice('\n')
		if !long && len(l.buf)+len(part) > maxLine {
			long = true
			l.buf = l.buf[:0]
		}
		switch {
		case err == nil && long:
			return nil, true, errTooLong
		case err == nil && len(l.buf) == 0:
			return part[:len(part)-1], true, nil
		case err == nil:
			l.buf = append(l.buf, part...)
			return l.buf[:len(l.buf)-1], true, nil
		}
		if !long {
			l.buf = append(l.buf, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && long:
			return nil, false, errTooLong
		case errors.Is(err, io.EOF):
			return l.buf, false, nil
		default:
			return nil, false, err
		}
	}
}
