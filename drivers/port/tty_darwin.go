package port

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushRead and flushWrite are FREAD and FWRITE of <sys/fcntl.h>, as TIOCFLUSH takes them.
const flushRead, flushWrite = 1, 2

// pseudo can't be told here; TIOCEXCL is refused to nobody who made the terminal.
func pseudo(unix.Stat_t) bool { return false }

// isTTY leaves it to the line's settings: there is no sysfs to ask before opening.
func isTTY(unix.Stat_t) bool { return true }

// controls can't be told here: what the three streams are has to do.
func controls(unix.Stat_t) bool { return false }

func again(f *os.File, _ int) string { return f.Name() }

func keepDTR(f *os.File) error {
	return control(f, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, unix.TIOCGETA)
		if err != nil {
			return err
		}
		t.Cflag &^= unix.HUPCL
		return unix.IoctlSetTermios(fd, unix.TIOCSETA, t)
	})
}

// checkBaud trusts the library's own call, which fails for a rate that isn't there.
func checkBaud(*os.File, int, string) error { return nil }

func exclusive(*os.File) bool { return false }

func queuedOut(f *os.File) (n int, err error) {
	err = control(f, func(fd int) (err error) {
		n, err = unix.IoctlGetInt(fd, unix.TIOCOUTQ)
		return err
	})
	return n, err
}

func discardOutput(f *os.File) error {
	return control(f, func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, flushWrite) })
}

func discardInput(f *os.File) error {
	return control(f, func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, flushRead) })
}
