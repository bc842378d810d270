package gate

import (
	"bytes"
	"context"
	"time"
)

// Routine is a named, fixed list of calls with fixed arguments that a person has
// approved as a whole (G14): each firing does exactly what its card showed. It belongs
// to one principal in one session, as its card said what that is.
type Routine struct {
	ID         string // the call id of the card that made it
	Name       string // unique among those in force of its session and principal
	Principal  string
	Session    Session  // as it was on the card: its mode, its robot, its opt-in
	Digest     [32]byte // of everything that a firing is held against
	Snapshot   []byte   // the steps, as the gate wrote them
	Firings    int      // how many there may be, at least 1
	Fired      int      // how many have begun
	Decider    string
	Registered time.Time
	Expires    time.Time
}

// Clone returns a deep copy.
func (r Routine) Clone() Routine {
	r.Snapshot = bytes.Clone(r.Snapshot)
	return r
}

// Routines keeps the routines. What a method has reported survives the end of this
// process. In force is what hasn't expired, by the wall clock and the boot clock, and
// hasn't been ended; what has once been found expired isn't in force again. Any
// goroutine may call the methods; they block for the disk only.
type Routines interface {
	// AddRoutine stores one of which nothing has been fired. An id that is taken, or
	// a name that another one in force of the same session's name and principal has,
	// is INVALID_ARGUMENT; one that has expired is REQUEST_EXPIRED.
	AddRoutine(ctx context.Context, r Routine) error
	// Routine returns the one in force of a session's name and principal that has
	// this name; none is NOT_APPROVED.
	Routine(ctx context.Context, session, principal, name string, now time.Time) (Routine, error)
	// Routines lists those in force, oldest first, without snapshots.
	Routines(ctx context.Context, now time.Time) ([]Routine, error)
	// Fire counts one firing before it begins: one conditional write. Of any number of
	// callers that have read the same count one wins, the others are IN_PROGRESS. One
	// that isn't in force, or has no firing left, is NOT_APPROVED.
	Fire(ctx context.Context, id string, fired int, now time.Time) error
	// EndRoutine ends one, revoked or void, and reports whether it was in force.
	EndRoutine(ctx context.Context, id string, now time.Time) (bool, error)
}
