// Package jobctl suspends the process as a shell's job control would. It imports
// nothing of ours.
package jobctl

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// resumeWait is how long a suspension that doesn't take hold is waited for: that of
// a process that SIGSTOP doesn't stop (the first one in a container).
const resumeWait = time.Second

// deliveryWait is how long SIGCONT may take from the kernel to us.
const deliveryWait = 200 * time.Millisecond

// ErrNoShell says that nobody could let a suspended process go on.
var ErrNoShell = errors.New("there is no shell to go back to")

// ErrStayed says that the process was told to stop and didn't.
var ErrStayed = errors.New("the process could not be suspended")

// Suspend stops this process and returns when it goes on (SIGCONT). Nothing of ours
// runs in between. SIGSTOP is used, because whoever catches SIGTSTP would be asked
// a second time.
func Suspend() error { return stop(os.Getpid()) }

// SuspendGroup does the same to this process and those that were started with it
// (make, say), as the terminal would have done for ctrl-Z. A session leader has no
// shell to come back to.
func SuspendGroup() error {
	if sid, err := unix.Getsid(0); err == nil && sid == os.Getpid() {
		return ErrNoShell
	}
	return stop(0)
}

func stop(pid int) error {
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		return err
	}
	// The signal may take hold a moment after kill has returned. While the process
	// is stopped this clock goes on, so that the timer may be seen before SIGCONT.
	for _, wait := range [...]time.Duration{resumeWait, deliveryWait} {
		timer := time.NewTimer(wait)
		select {
		case <-goesOn:
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
	return ErrStayed
}
