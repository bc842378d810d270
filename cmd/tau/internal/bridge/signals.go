package bridge

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/tau-robot/tau/cmd/tau/internal/jobctl"
)

// signals are those that a bridge answers: INT, TERM, HUP and QUIT by a controlled
// stop and the end with status 130 (so that QUIT dumps no goroutines: in mid-motion
// the stop matters more), TSTP by a controlled stop and then suspension.
type signals struct{ c chan os.Signal }

// catchSignals stays in force to the end of the process: once the end has begun, a
// second ctrl-C must not cut the stop off. It also ignores SIGPIPE: writing to a reader that went away is then an
// error, which is answered, and not the end of the process in mid-motion.
func catchSignals() signals {
	s := signals{c: make(chan os.Signal, 8)}
	signal.Ignore(syscall.SIGPIPE)
	signal.Notify(s.c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTSTP)
	return s
}

// suspend stops the robot, waits until it is at rest, and suspends the process as
// an unanswered SIGTSTP would have, with the terminal as it was. Nothing begins to
// move until the process goes on. It returns then.
func (r *run) suspend() {
	if r.console != nil {
		r.console.prompt.Suspend(jobctl.Suspend)
		return
	}
	if r.Screen != nil {
		r.Screen.tui.Suspend(jobctl.Suspend)
		return
	}
	defer r.host.Hold("suspended")()
	if err := jobctl.Suspend(); err != nil {
		r.host.Log.Error("the process could not be suspended", "err", err)
	}
}
