package bridge

import (
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// bootClock returns the time since the machine started, sleep included, for
// expiries that neither a clock that is set back nor a suspended machine may
// prolong. Nil where the system has no such clock.
func bootClock() func() time.Duration {
	read := func() (time.Duration, error) {
		var t unix.Timespec
		err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t)
		return time.Duration(t.Nano()), err
	}
	if _, err := read(); err != nil {
		return nil
	}
	return func() time.Duration {
		d, err := read()
		if err != nil {
			// It worked a moment ago. A time beyond every expiry refuses.
			return 1<<63 - 1
		}
		return d
	}
}

// bootID names this start of the machine; empty where that can't be known.
func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
