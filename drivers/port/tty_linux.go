package port

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/robot"
)

const (
	// The slaves of Unix 98 pseudo-terminals (Documentation/admin-guide/devices.txt).
	firstPseudo, lastPseudo = 136, 143
	// maxBaudError is how far the rate that a driver found may be from the one that was
	// asked for: an 8N1 receiver tolerates about 5 % between the two clocks.
	maxBaudError = 0.025
)

// pseudo reports a pseudo-terminal.
func pseudo(st unix.Stat_t) bool {
	m := unix.Major(st.Rdev)
	return m >= firstPseudo && m <= lastPseudo
}

// isTTY reports a terminal device that isn't one of this machine's own consoles.
func isTTY(st unix.Stat_t) bool {
	if pseudo(st) {
		return true
	}
	major, minor := unix.Major(st.Rdev), unix.Minor(st.Rdev)
	if major == 5 || major == 4 && minor < 64 { // /dev/tty, the console, the virtual consoles
		return false
	}
	subsystem, err := os.Readlink(filepath.Join(sysChar(st.Rdev), "subsystem"))
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat("/sys/dev/char"); err != nil {
			return true // no sysfs here; the line's settings decide
		}
	}
	return filepath.Base(subsystem) == "tty"
}

// controls reports the controlling terminal of this process. What /proc doesn't say
// counts as none.
func controls(st unix.Stat_t) bool {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return false
	}
	// After the name, which may hold anything: state, parent, group, session, terminal.
	_, rest, _ := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	fields := bytes.Fields(rest)
	if len(fields) < 5 {
		return false
	}
	nr, err := strconv.ParseInt(string(fields[4]), 10, 32)
	if err != nil || nr == 0 {
		return false
	}
	n := uint32(nr) //nolint:gosec // the kernel's own number, printed as a signed one
	return unix.Major(st.Rdev) == n>>8&0xfff && unix.Minor(st.Rdev) == n&0xff|n>>12&0xfff00
}

func sysChar(rdev uint64) string {
	return "/sys/dev/char/" + strconv.Itoa(int(unix.Major(rdev))) + ":" + strconv.Itoa(int(unix.Minor(rdev)))
}

// again is a name under which the same device is opened once more, whatever its path
// means by now.
func again(_ *os.File, fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// keepDTR has closing leave DTR alone, also when it is the kernel that closes.
func keepDTR(f *os.File) error {
	return control(f, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			return err
		}
		t.Cflag &^= unix.HUPCL
		return unix.IoctlSetTermios(fd, unix.TCSETS, t)
	})
}

// checkBaud refuses a rate that the driver replaced by another.
func checkBaud(f *os.File, want int, where string) error {
	var got uint32
	err := control(f, func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
		if err == nil {
			got = t.Ospeed
		}
		return err
	})
	if err != nil {
		return robot.Errf(robot.CodeDisconnected, where, "lost while it was set up: %w", err)
	}
	if math.Abs(float64(got)-float64(want)) > maxBaudError*float64(want) {
		e := robot.LimitErr(robot.CodeInvalidArgument, where, float64(want), float64(got), "Bd", "the port can't do this baud rate")
		e.Nearest = []robot.Quantity{{Value: float64(got), Unit: "Bd"}}
		return e
	}
	return nil
}

// exclusive reports that somebody marked the device as theirs alone.
func exclusive(f *os.File) bool {
	var marked int
	err := control(f, func(fd int) (err error) {
		marked, err = unix.IoctlGetInt(fd, unix.TIOCGEXCL)
		return err
	})
	return err == nil && marked != 0
}

// queuedOut is how many bytes the kernel holds that haven't left.
func queuedOut(f *os.File) (n int, err error) {
	err = control(f, func(fd int) (err error) {
		n, err = unix.IoctlGetInt(fd, unix.TIOCOUTQ)
		return err
	})
	return n, err
}

func discardOutput(f *os.File) error {
	return control(f, func(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCOFLUSH) })
}

func discardInput(f *os.File) error {
	return control(f, func(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) })
}
