package port

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"go.bug.st/serial"
	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/robot"
)

// resetPulse is how long DTR stays down: an Arduino's reset goes over a capacitor
// that needs a few milliseconds to discharge.
const resetPulse = 50 * time.Millisecond

// A lock whose holder isn't there is tried for this long: a process that was just killed,
// or that forked and is about to execute something else, gives it back by itself.
const (
	lockTries = 10
	lockRetry = 5 * time.Millisecond
)

// openDevice opens the device and takes it. What the path is was looked at before it
// is opened: opening a watchdog device starts it, and opening a port raises DTR.
func openDevice(path, where string, expect identity) (*os.File, identity, error) {
	var id identity
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, id, cantOpen(path, where, err)
	}
	before, err := statOf(target)
	if err != nil {
		return nil, id, cantOpen(target, where, err)
	}
	if err := serialDevice(before, where); err != nil {
		return nil, id, err
	}
	id = identityOf(before)
	if expect != (identity{}) && id != expect {
		return nil, id, robot.Errf(robot.CodeDisconnected, where, "another device is there now (%s), not the one that was lost (%s)", id, expect)
	}
	f, err := os.OpenFile(target, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, id, cantOpen(target, where, err)
	}
	var after unix.Stat_t
	err = control(f, func(fd int) error { return unix.Fstat(fd, &after) })
	if err == nil && after.Rdev != before.Rdev {
		err = robot.Errf(robot.CodeDisconnected, where, "the device was exchanged while it was opened")
	}
	if err == nil {
		// A device that the poller doesn't take has no deadlines.
		err = f.SetDeadline(time.Time{})
	}
	if err == nil {
		err = take(f, after, where)
	}
	if err != nil {
		if robot.CodeOf(err) == "" {
			err = robot.Errf(robot.CodeInvalidArgument, where, "not a port that can be used: %w", err)
		}
		return nil, id, errors.Join(err, f.Close())
	}
	return f, id, nil
}

// release gives the lock back before f is closed: a child of this process that has been
// forked and hasn't executed its program yet has the descriptor too.
func release(f *os.File) error {
	return control(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_UN) })
}

func statOf(path string) (unix.Stat_t, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	if err != nil {
		err = &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return st, err
}

// serialDevice refuses what is no terminal device, and the terminal of this process.
func serialDevice(st unix.Stat_t, where string) error {
	if st.Mode&unix.S_IFMT != unix.S_IFCHR || !isTTY(st) {
		return robot.Errf(robot.CodeInvalidArgument, where, "not a serial device")
	}
	for fd := range 3 {
		var own unix.Stat_t
		if unix.Fstat(fd, &own) == nil && own.Mode&unix.S_IFMT == unix.S_IFCHR && own.Rdev == st.Rdev {
			return ownTerminal(where)
		}
	}
	if controls(st) { // also where all three are redirected
		return ownTerminal(where)
	}
	return nil
}

func ownTerminal(where string) error {
	return robot.Errf(robot.CodeInvalidArgument, where, "this is the terminal that this process runs on, not a robot's port")
}

// take takes the device for this process alone, or says who has it.
func take(f *os.File, st unix.Stat_t, where string) error {
	for try := 1; ; try++ {
		err := control(f, func(fd int) error { return unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) })
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return robot.Errf(robot.CodeInvalidArgument, where, "it can't be locked: %w", err)
		}
		h, known := lockHolder(st)
		if known || try == lockTries {
			return busy(where, h, known)
		}
		time.Sleep(lockRetry) // it ended while it was looked for, or is ending
	}
	if pseudo(st) {
		// Who made a pseudo-terminal has its own end open, and a mark of TIOCEXCL would
		// outlive us on it. The lock alone has to do.
		return nil
	}
	if hs := openers(st, os.Getpid()); len(hs) > 0 {
		return busy(where, hs[0], true)
	}
	if exclusive(f) {
		return busy(where, Holder{}, false)
	}
	return nil
}

func busy(where string, h Holder, known bool) error {
	if !known {
		return robot.Errf(robot.CodeBusy, where, "another process has it, which can't be seen from here; end that one first, or name another port")
	}
	if h.PID == os.Getpid() {
		return robot.Errf(robot.CodeBusy, where, "this process (%d) has it open already", h.PID)
	}
	return robot.Errf(robot.CodeBusy, where, "process %s has it; end that one first, or name another port", h)
}

// cantOpen says why a path can't be opened and what to do about it.
func cantOpen(path, where string, err error) error {
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err // the path is in where, printable
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return robot.Errf(robot.CodeDisconnected, where, "there is no such device; is the board plugged in?: %w", err)
	case errors.Is(err, fs.ErrPermission):
		return robot.Errf(robot.CodeDisconnected, where, "%s: %w", permission(path), err)
	case errors.Is(err, unix.EBUSY):
		if st, e := statOf(path); e == nil {
			if hs := openers(st, os.Getpid()); len(hs) > 0 {
				return busy(where, hs[0], true)
			}
		}
		return busy(where, Holder{}, false)
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ENAMETOOLONG), errors.Is(err, unix.EINVAL):
		return robot.Errf(robot.CodeInvalidArgument, where, "not a path to a device: %w", err)
	}
	return robot.Errf(robot.CodeDisconnected, where, "it can't be opened: %w", err)
}

// permission says who may open a device.
func permission(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return "this user may not even look at it"
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return "this user may not open it"
	}
	gid := strconv.Itoa(int(sys.Gid))
	group := gid
	if g, err := user.LookupGroupId(gid); err == nil {
		group = printable(g.Name)
	}
	if st.Mode().Perm()&0o060 != 0o060 || sys.Gid == 0 {
		return "this user may not open it: it belongs to user " + strconv.Itoa(int(sys.Uid)) + " and group " + group +
			" with mode " + st.Mode().Perm().String() + "; a udev rule has to give it to a group that you are in"
	}
	return "this user may not open it, group " + group + " may: sudo usermod -aG " + group + " USER, then log in again"
}

// setUp sets the line up on a device that is ours.
func setUp(ctx context.Context, f *os.File, o Options, where string) error {
	if err := keepDTR(f); err != nil {
		return robot.Errf(robot.CodeInvalidArgument, where, "not a serial line: %w", err)
	}
	if err := setLine(f, o.Baud); err != nil {
		return robot.Errf(robot.CodeInvalidArgument, where, "the line can't be set up for %d Bd, 8N1: %w", o.Baud, err)
	}
	var st unix.Stat_t
	if err := control(f, func(fd int) error { return unix.Fstat(fd, &st) }); err != nil {
		return robot.Errf(robot.CodeDisconnected, where, "lost while it was set up: %w", err)
	}
	if !pseudo(st) {
		if err := checkBaud(f, o.Baud, where); err != nil {
			return err
		}
		if err := control(f, func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCEXCL, 0) }); err != nil {
			return robot.Errf(robot.CodeDisconnected, where, "it can't be had alone: %w", err)
		}
	}
	if o.ResetOnOpen {
		if err := reset(ctx, f, where); err != nil {
			return err
		}
	}
	if err := discardInput(f); err != nil {
		return robot.Errf(robot.CodeDisconnected, where, "lost while it was set up: %w", err)
	}
	return nil
}

// setLine has the library set the line up, over a descriptor of the library's that is
// closed again: the settings belong to the device. The library opens without
// close-on-exec, so nothing may fork meanwhile.
func setLine(f *os.File, baud int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return control(f, func(fd int) error {
		l, err := serial.Open(again(f, fd), &serial.Mode{
			BaudRate: baud, DataBits: 8, Parity: serial.NoParity, StopBits: serial.OneStopBit,
		})
		if err != nil {
			return err
		}
		return l.Close()
	})
}

// reset pulses DTR. A pseudo-terminal has none and nothing to reset.
func reset(ctx context.Context, f *os.File, where string) error {
	dtr := func(request uint) error {
		return control(f, func(fd int) error { return unix.IoctlSetPointerInt(fd, request, unix.TIOCM_DTR) })
	}
	err := dtr(unix.TIOCMBIC)
	if errors.Is(err, unix.ENOTTY) || errors.Is(err, unix.EINVAL) {
		return nil
	}
	if err == nil {
		t := time.NewTimer(resetPulse)
		defer t.Stop()
		var ended error
		select {
		case <-t.C:
		case <-ctx.Done():
			ended = robot.Errf(robot.CodeCancelled, where, "not opened: %w", ctx.Err())
		}
		if err = dtr(unix.TIOCMBIS); err == nil {
			return ended
		}
	}
	return robot.Errf(robot.CodeDisconnected, where, "the board can't be reset: %w", err)
}

// control runs do with a descriptor that stays f's meanwhile.
func control(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// isLoss reports an error of a device that isn't there any more.
func isLoss(err error) bool {
	for _, e := range []error{unix.EIO, unix.ENXIO, unix.ENODEV, unix.EPIPE, io.EOF} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
