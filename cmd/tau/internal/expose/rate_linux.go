package expose

import "golang.org/x/sys/unix"

// rate is what the other side has set the line to, bit/s; 0: it can't be told.
func (l *line) rate() int {
	raw, err := l.SyscallConn()
	if err != nil {
		return 0
	}
	baud := 0
	_ = raw.Control(func(fd uintptr) { // a closed line has no rate
		if t, err := unix.IoctlGetTermios(int(fd), unix.TCGETS2); err == nil {
			baud = int(t.Ospeed)
		}
	})
	return baud
}
