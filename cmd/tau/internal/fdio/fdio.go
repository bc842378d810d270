// Package fdio adds to files what the bridge needs of its standard streams: a
// read that can be given up, and word that nobody reads the other end any more.
// It imports nothing of ours.
package fdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// waker is a pipe whose closing ends a poll.
type waker struct {
	r, w *os.File
	once sync.Once
}

func newWaker() (*waker, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	return &waker{r: r, w: w}, nil
}

func (k *waker) wake() { k.once.Do(func() { _ = k.w.Close() }) }

// wait blocks until f is ready for events, its other end has gone, or the waker
// was woken. It returns what poll said of f, and whether it was woken.
func (k *waker) wait(f *os.File, events int16) (revents int16, woken bool, err error) {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: events}, {Fd: int32(k.r.Fd()), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, -1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, false, fmt.Errorf("poll: %w", err)
		}
		return fds[0].Revents, fds[1].Revents != 0, nil
	}
}

// ErrClosed is what a Reader's Read returns after Close.
var ErrClosed = errors.New("fdio: the reader was closed")

// Reader reads a file until Close, which ends a blocked Read. One goroutine may
// read while another closes.
type Reader struct {
	f      *os.File
	k      *waker
	mu     sync.Mutex // held during a Read
	closed chan struct{}
	once   sync.Once
}

// NewReader returns a Reader of f. It does not own f.
func NewReader(f *os.File) (*Reader, error) {
	k, err := newWaker()
	if err != nil {
		return nil, err
	}
	return &Reader{f: f, k: k, closed: make(chan struct{})}, nil
}

// Read blocks until there is something to read, the end, or Close.
func (r *Reader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.closed:
		return 0, ErrClosed
	default:
	}
	for {
		re, woken, err := r.k.wait(r.f, unix.POLLIN)
		if err != nil {
			return 0, err
		}
		if woken {
			return 0, ErrClosed
		}
		if re != 0 {
			n, err := unix.Read(int(r.f.Fd()), p)
			switch {
			case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN):
				continue
			case err != nil:
				return 0, fmt.Errorf("read %s: %w", r.f.Name(), err)
			case n == 0 && len(p) > 0:
				return 0, io.EOF
			}
			return n, nil
		}
	}
}

// Close ends a blocked Read and waits for it. The file stays open. A second
// Close returns nil.
func (r *Reader) Close() error {
	r.once.Do(func() {
		close(r.closed)
		r.k.wake()
		r.mu.Lock()
		defer r.mu.Unlock()
		_ = r.k.r.Close()
	})
	return nil
}

// Watch returns a channel that is closed once nobody can read what is written to
// f any more: the last reader of a pipe closed it, the other end of a terminal or
// socket went away. For a regular file it never is. done ends the watch and waits
// for its goroutine.
func Watch(f *os.File) (gone <-chan struct{}, done func(), err error) {
	k, err := newWaker()
	if err != nil {
		return nil, nil, err
	}
	ch, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = k.r.Close() }()
		for {
			// No events are asked for: POLLERR, POLLHUP and POLLNVAL always come.
			re, woken, err := k.wait(f, 0)
			if err != nil || woken {
				return
			}
			if re&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
				close(ch)
				return
			}
		}
	}()
	return ch, func() { k.wake(); <-ended }, nil
}
