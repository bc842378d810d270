package port

import (
	"errors"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// arrivals reads what has come without waiting. It keeps what the system call is given
// and gives, so that a look at the line every few milliseconds allocates nothing.
type arrivals struct {
	conn syscall.RawConn
	call func(fd uintptr)
	into []byte
	n    int
	err  error
}

func newArrivals(f *os.File) (*arrivals, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	a := &arrivals{conn: conn}
	a.call = func(fd uintptr) { a.n, a.err = unix.Read(int(fd), a.into) }
	return a, nil
}

func (a *arrivals) read(b []byte) (int, error) {
	a.into = b
	err := a.conn.Control(a.call)
	a.into = nil
	switch {
	case err != nil:
		return 0, err
	case a.err == nil && a.n == 0:
		return 0, io.EOF
	case errors.Is(a.err, unix.EAGAIN), errors.Is(a.err, unix.EINTR):
		return 0, nil
	}
	return max(0, a.n), a.err
}

// ReadArrived reads what has come and doesn't wait: it returns 0 bytes and no error where
// nothing has. Errors are those of Read, deadlines are no matter. It is a Read to whoever
// else reads: one goroutine at a time. The port keeps no reference to b.
func (p *Port) ReadArrived(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if err := p.latched(); err != nil {
		return 0, err
	}
	n, err := p.arrivals.read(b)
	if err != nil {
		return 0, p.failed("reading", err)
	}
	return n, nil
}
