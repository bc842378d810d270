package bus

import (
	"errors"

	"github.com/tau-robot/tau/robot"
)

// What became of an exchange, beside DISCONNECTED and LINK_TIMEOUT, which are the port's
// and say that the line itself is gone. An error of a Bus is a *robot.Error, and
// errors.Is finds one of these in it.
var (
	// ErrSilent: the servo said nothing in all tries. STALE_STATE of a Read or Ping,
	// UNKNOWN_OUTCOME of a Write or Reboot: whether it was done nobody knows.
	ErrSilent = errors.New("no answer")
	// ErrDamaged: something came in each try, and nothing good for this request in the
	// last. The codes are those of ErrSilent.
	ErrDamaged = errors.New("damaged answers")
	// ErrRefused: the servo answered that it hasn't done it (INVALID_ARGUMENT of a
	// Write, NOT_SUPPORTED of the others).
	ErrRefused = errors.New("refused by the servo")
)

// code is the code of a failed exchange.
func (o Op) code() robot.Code {
	if o == Write || o == Reboot || o == SyncWrite {
		return robot.CodeUnknownOutcome
	}
	return robot.CodeStaleState
}
