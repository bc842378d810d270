package porttest

import (
	"errors"
	"fmt"
	"os"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Terminal is a pseudo-terminal: what is written to the device at Path is read from
// Far, and the other way round. Close takes it away as unplugging does: who has the
// device open is cut off, and the path is gone.
type Terminal struct {
	Far  *os.File // takes deadlines
	Path string
	near *os.File // keeps the far end alive while nobody has the device open
}

// OpenTerminal makes a pseudo-terminal in raw mode.
func OpenTerminal() (*Terminal, error) {
	far, near, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("pseudo-terminal: %w", err)
	}
	t := &Terminal{Path: near.Name(), near: near}
	if _, err := term.MakeRaw(int(near.Fd())); err != nil {
		return nil, errors.Join(err, far.Close(), near.Close())
	}
	if t.Far, err = polled(far); err != nil {
		return nil, errors.Join(err, near.Close())
	}
	return t, nil
}

// polled gives a descriptor to the runtime's poller, so that deadlines and Close end
// what blocks on it. f is closed.
func polled(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	err = errors.Join(err, f.Close())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// Close closes both ends.
func (t *Terminal) Close() error { return errors.Join(t.Far.Close(), t.near.Close()) }
