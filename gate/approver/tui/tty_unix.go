//go:build unix

package tui

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// TTY is a Terminal on two files. Make one with OpenTTY.
type TTY struct {
	in, out *os.File
	wake    [2]*os.File // closing the second ends each poll

	mu      sync.Mutex
	was     *unix.Termios // while it is taken
	broken  bool
	changes chan Change
	signals chan os.Signal
	done    sync.WaitGroup
}

var _ Terminal = (*TTY)(nil)

// OpenTTY returns a Terminal on in and out, which stay the caller's. An error says
// that they are no terminal.
func OpenTTY(in, out *os.File) (*TTY, error) {
	if !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, errors.New("standard input and output aren't a terminal")
	}
	t := &TTY{in: in, out: out, changes: make(chan Change, 8), signals: make(chan os.Signal, 8)}
	var err error
	if t.wake[0], t.wake[1], err = os.Pipe(); err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	signal.Notify(t.signals, syscall.SIGWINCH, syscall.SIGCONT)
	t.done.Go(func() {
		for s := range t.signals {
			change := Resized
			if s == syscall.SIGCONT {
				change = Continued
			}
			select {
			case t.changes <- change:
			default:
			}
		}
	})
	return t, nil
}

// Enter implements Terminal.
func (t *TTY) Enter() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken {
		return ErrBroken
	}
	fd := int(t.in.Fd())
	now, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return fmt.Errorf("the terminal's settings: %w", err)
	}
	raw := *now
	raw.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	raw.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	raw.Cflag = raw.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	raw.Oflag |= unix.OPOST | unix.ONLCR // the renderer counts on it
	raw.Cc[unix.VMIN], raw.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(fd, setTermios, &raw); err != nil {
		return fmt.Errorf("the terminal's settings: %w", err)
	}
	if t.was == nil {
		t.was = now
	}
	return nil
}

// Leave implements Terminal.
func (t *TTY) Leave() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.was == nil {
		return nil
	}
	was := t.was
	t.was = nil
	return unix.IoctlSetTermios(int(t.in.Fd()), setTermios, was)
}

// poll waits for f and reports what it is ready for; woken: Break came.
func (t *TTY) poll(f *os.File, events int16, ms int) (ready int16, woken bool, err error) {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: events}, {Fd: int32(t.wake[0].Fd())}}
	for {
		_, err := unix.Poll(fds, ms)
		if errors.Is(err, unix.EINTR) {
			continue // what is left of ms begins anew: whoever bounds a wait can wait a little longer
		}
		return fds[0].Revents, fds[1].Revents != 0, err
	}
}

// Wait implements Terminal.
func (t *TTY) Wait(d time.Duration) (bool, error) {
	ms := -1
	if d > 0 {
		ms = max(1, int(d.Milliseconds()))
	}
	ready, woken, err := t.poll(t.in, unix.POLLIN, ms)
	switch {
	case woken:
		return false, ErrBroken
	case err != nil:
		return false, fmt.Errorf("waiting for a key: %w", err)
	}
	return ready != 0, nil
}

// Ready implements Terminal.
func (t *TTY) Ready() bool {
	ready, woken, err := t.poll(t.in, unix.POLLIN, 0)
	return err == nil && !woken && ready != 0
}

// Read implements Terminal.
func (t *TTY) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(int(t.in.Fd()), p)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return 0, nil
		case err != nil:
			return 0, fmt.Errorf("reading the terminal: %w", err)
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// maxWrite is what a terminal that is ready takes without blocking for long.
const maxWrite = 1024

// Write implements Terminal.
func (t *TTY) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		ready, woken, err := t.poll(t.out, unix.POLLOUT, -1)
		switch {
		case woken:
			return done, ErrBroken
		case err != nil:
			return done, fmt.Errorf("writing to the terminal: %w", err)
		case ready&unix.POLLOUT == 0:
			return done, io.ErrClosedPipe // nothing but an error or a hang-up
		}
		n, err := unix.Write(int(t.out.Fd()), p[done:min(len(p), done+maxWrite)])
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		if err != nil {
			return done, fmt.Errorf("writing to the terminal: %w", err)
		}
		done += n
	}
	return done, nil
}

// Size implements Terminal.
func (t *TTY) Size() (int, int, error) { return term.GetSize(int(t.out.Fd())) }

// Changes implements Terminal.
func (t *TTY) Changes() <-chan Change { return t.changes }

// Break implements Terminal.
func (t *TTY) Break() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken {
		return
	}
	t.broken = true
	signal.Stop(t.signals)
	close(t.signals)
	_ = t.wake[1].Close()
}

// Close gives the terminal back and waits for what OpenTTY started. Nothing may use
// it any more.
func (t *TTY) Close() error {
	err := t.Leave()
	t.Break()
	t.done.Wait()
	return errors.Join(err, ignoreClosed(t.wake[0].Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
