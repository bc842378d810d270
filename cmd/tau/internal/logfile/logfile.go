// Package logfile writes the bridge's log. Whoever logs never waits for the disk:
// lines go through a bounded queue to one goroutine, and what doesn't fit is
// counted and said in the log once there is room, so that a disk that hangs can't
// hold up a stop (G52). It imports nothing of ours.
package logfile

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// queue is how many lines wait for the disk at most.
const queue = 4096

// File is the log file; it is an io.Writer for a slog handler.
type File struct {
	w     io.WriteCloser
	lines chan []byte
	ended chan struct{}

	mu      sync.Mutex
	closed  bool
	dropped int   // lines that didn't fit, not yet said
	err     error // the first write error
}

// Open appends to the file at path, mode 0600, making its folder where needed. A
// symbolic link and what is no regular file (a FIFO would hang) are refused.
func Open(path string) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("log: %w", err)
	}
	return newFile(f), nil
}

func newFile(w io.WriteCloser) *File {
	l := &File{w: w, lines: make(chan []byte, queue), ended: make(chan struct{})}
	go l.run()
	return l
}

// Write queues one line. It never blocks and never fails.
func (l *File) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return len(p), nil
	}
	if l.dropped > 0 {
		select {
		case l.lines <- lossNote(l.dropped):
			l.dropped = 0
		default:
		}
	}
	select {
	case l.lines <- append([]byte(nil), p...):
	default:
		l.dropped++
	}
	return len(p), nil
}

func (l *File) run() {
	defer close(l.ended)
	for b := range l.lines {
		l.write(b)
	}
}

// write keeps the first error. Only run calls it, and Close after run has ended.
func (l *File) write(b []byte) {
	if _, err := l.w.Write(b); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.err == nil {
			l.err = fmt.Errorf("log: %w", err)
		}
	}
}

func lossNote(n int) []byte {
	return fmt.Appendf(nil, "level=WARN msg=\"log lines dropped: the disk is slow\" count=%d\n", n)
}

// Close writes what is queued, closes the file and returns the first error that
// writing met. A second Close returns nil.
func (l *File) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.lines)
	l.mu.Unlock()
	<-l.ended
	if l.dropped > 0 {
		l.write(lossNote(l.dropped)) // the queue may have had no room for it
	}
	if err := l.w.Close(); err != nil && l.err == nil {
		return fmt.Errorf("log: %w", err)
	}
	return l.err
}

// Logger returns a logger on the file; verbose lets DEBUG through (G52: tier-0 calls).
func (l *File) Logger(verbose bool) *slog.Logger {
	level := slog.LevelInfo
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: level}))
}
