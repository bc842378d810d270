package fdio

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// maxWrite is what a pipe or socket that is ready for writing takes without
// blocking: PIPE_BUF of Linux.
const maxWrite = 4096

// Writer writes to a file until Close, which ends a Write that nobody reads. One
// goroutine may write while another closes.
type Writer struct {
	f      *os.File
	k      *waker
	mu     sync.Mutex // held during a Write
	closed chan struct{}
	once   sync.Once
}

// NewWriter returns a Writer to f. It does not own f.
func NewWriter(f *os.File) (*Writer, error) {
	k, err := newWaker()
	if err != nil {
		return nil, err
	}
	return &Writer{f: f, k: k, closed: make(chan struct{})}, nil
}

// Write blocks until all of p is written, writing fails, or Close.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.closed:
		return 0, ErrClosed
	default:
	}
	done := 0
	for done < len(p) {
		re, woken, err := w.k.wait(w.f, unix.POLLOUT)
		switch {
		case err != nil:
			return done, err
		case woken:
			return done, ErrClosed
		case re == 0:
			continue
		}
		n, err := unix.Write(int(w.f.Fd()), p[done:min(len(p), done+maxWrite)])
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
			continue
		case err != nil:
			return done, fmt.Errorf("write %s: %w", w.f.Name(), err)
		}
		done += n
	}
	return done, nil
}

// Close ends a blocked Write and waits for it. The file stays open. A second Close
// returns nil.
func (w *Writer) Close() error {
	w.once.Do(func() {
		close(w.closed)
		w.k.wake()
		w.mu.Lock()
		defer w.mu.Unlock()
		_ = w.k.r.Close()
	})
	return nil
}
