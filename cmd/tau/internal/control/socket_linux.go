package control

import (
	"context"
	"fmt"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// listen0600 makes the socket with mode 0600 from its first moment: fchmod on a
// socket that isn't bound yet sets the mode that bind gives to the name, without
// the race of a chmod afterwards and without touching the process's umask.
func listen0600(addr string) (*net.UnixListener, error) {
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		cerr := c.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) })
		if cerr != nil {
			return cerr
		}
		return err
	}}
	l, err := lc.Listen(context.Background(), "unix", addr)
	if err != nil {
		return nil, err
	}
	u, ok := l.(*net.UnixListener)
	if !ok {
		return nil, fmt.Errorf("%T is not a Unix listener", l)
	}
	return u, nil
}

// peerUID returns the user of the process that connected, as the kernel noted it.
func peerUID(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var cred *unix.Ucred
	cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if cerr != nil {
		return -1, cerr
	}
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
