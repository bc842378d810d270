package control

import (
	"errors"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// maxSpares is how many descriptors are kept back, so that a stop gets its connection
// when whatever else the process serves has used the others up.
const maxSpares = 4

// spares are the descriptors that are kept back. The zero value has none.
type spares struct {
	mu     sync.Mutex
	files  []*os.File
	closed bool
}

// fill takes what is missing, as far as there is any.
func (s *spares) fill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed && len(s.files) < maxSpares {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return
		}
		s.files = append(s.files, f)
	}
}

// give gives one back to the system; false: there is none.
func (s *spares) give() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.files) - 1
	if n < 0 {
		return false
	}
	_ = s.files[n].Close() // of /dev/null
	s.files = s.files[:n]
	return true
}

func (s *spares) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	for s.give() {
	}
}

func outOfDescriptors(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)
}

// acceptSpare accepts a peer at the price of a spare descriptor. Where no peer waits it
// keeps the spares: accept(2) says that there are no descriptors before it looks whether
// there is anybody. Another part of the process may be quicker to take what was given
// back; then the next spare goes.
func (s *Server) acceptSpare() (*net.UnixConn, error) {
	raw, err := s.l.SyscallConn()
	if err != nil {
		return nil, err
	}
	waits := false
	if err := raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0) //nolint:gosec // a descriptor is a small number
		waits = n > 0 && err == nil
	}); err != nil {
		return nil, err
	}
	err = error(unix.EMFILE)
	for waits && outOfDescriptors(err) && s.spare.give() {
		var c *net.UnixConn
		if c, err = s.l.AcceptUnix(); err == nil {
			return c, nil
		}
	}
	return nil, err
}
