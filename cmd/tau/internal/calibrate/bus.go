package calibrate

import "context"

// Found is a servo that answered.
type Found struct {
	ID        int
	Model     string // "STS3215"; printable
	Firmware  string // printable; "" where it doesn't say
	Offset    int    // its homing offset, ticks, as hardware.Joint.Offset
	Powered   bool
	Low, High int // ticks: the bounds that it holds a goal within by itself
	// Trouble is why its driver wouldn't move it as it is set up; "" if it would.
	Trouble string
	// Clash: more than one servo seems to answer to this ID; nothing else is known of it.
	Clash bool
}

// Reading is what a servo's encoder says.
type Reading struct {
	Ticks   int  // the servo's own position, its offset taken off; any number of turns
	Powered bool // its torque is on
	Err     error
}

// Bus is a line of servos that are read and never moved. One goroutine uses it. Errors
// are *robot.Error.
type Bus interface {
	// Scan finds each servo of the line. It blocks for a few seconds at most.
	Scan(ctx context.Context) ([]Found, error)
	// Read reads servos by ID, in that order, into the same places. An error is of the line; one
	// servo that is silent has its own in its place.
	Read(ctx context.Context, ids []int, into []Reading) error
	// PowerOff takes torque away and reads back that it is gone: each is tried, the errors are joined.
	PowerOff(ctx context.Context, ids []int) error
	// SetOffset writes a homing offset into a servo's memory and returns what it reads back.
	SetOffset(ctx context.Context, id, ticks int) (int, error)
	// SetLimits writes the bounds within which a servo holds any goal by itself into its
	// memory, and reads them back.
	SetLimits(ctx context.Context, id, low, high int) error
}
