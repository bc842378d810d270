// Package exit holds the exit statuses of the binary and the error that carries
// one. It imports nothing of ours and must stay so: every other package of the
// command line uses it.
package exit

import (
	"errors"
	"fmt"
)

// Status is the exit status of the process.
type Status int

// The exit statuses; there are no others.
const (
	OK          Status = 0   // everything was done
	Calls       Status = 1   // some call, or the thing that was checked, is not ok
	Usage       Status = 2   // the command line, or a file that it names, is wrong; nothing was started
	Bridge      Status = 3   // the bridge itself failed
	Interrupted Status = 130 // SIGINT, SIGTERM, SIGHUP, SIGQUIT or a reader that went away, after a controlled stop
)

// Error is an error with the status that the process ends with.
type Error struct {
	Status Status
	Err    error // nil: the status says it all and nothing is printed
	// File: the command line is as it should be, and what a file says that it names
	// isn't. See is the command that says more about that, "" if none does.
	File bool
	See  string
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", int(e.Status))
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Usagef returns a usage error.
func Usagef(format string, args ...any) error {
	return &Error{Status: Usage, Err: fmt.Errorf(format, args...)}
}

// Filef returns the usage error of a command line that names a file of which the
// content is wrong; see is the command that says more.
func Filef(see, format string, args ...any) error {
	return &Error{Status: Usage, Err: fmt.Errorf(format, args...), File: true, See: see}
}

// WithSee names the command that says more, if err is one of a file's content and
// names none.
func WithSee(err error, see string) error {
	var e *Error
	if !errors.As(err, &e) || !e.File || e.See != "" {
		return err
	}
	out := *e
	out.See = see
	return &out
}

// Bridgef returns an error of the bridge itself.
func Bridgef(format string, args ...any) error {
	return &Error{Status: Bridge, Err: fmt.Errorf(format, args...)}
}

// Callsf returns an error that says that what was asked for is not ok.
func Callsf(format string, args ...any) error {
	return &Error{Status: Calls, Err: fmt.Errorf(format, args...)}
}

// Silent returns an error that is only a status: what it is about was said already.
func Silent(s Status) error {
	if s == OK {
		return nil
	}
	return &Error{Status: s}
}

// StatusOf returns the status that err asks for: OK for nil, Bridge for an error
// that carries none.
func StatusOf(err error) Status {
	if err == nil {
		return OK
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Status
	}
	return Bridge
}
