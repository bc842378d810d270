package hosted

import (
	"context"
	"time"

	"github.com/tau-robot/tau/robot"
)

// Body is hardware that an Engine moves. Slices are by active joint of the model, in rad
// or m, or by Model.Actuators. The loop calls one method at a time, from one goroutine;
// only Disconnect may also be called while another method runs, which it unblocks.
//
// Each method is one short exchange, or a few: it returns within about Exchange, and never
// repeats a write by itself; reads it may. Errors are *robot.Error. DISCONNECTED and
// LINK_TIMEOUT say that the link itself is gone: the Engine then calls Disconnect, and
// Connect again until that succeeds. Any other error is about this exchange alone.
type Body interface {
	// Connect opens the link, finds each device that the robot's file names and holds
	// what it says of itself against the file. It writes nothing that moves or powers a
	// joint, and takes no power away. It blocks for at most a few seconds, or until ctx ends. After
	// an error nothing is open. INVALID_ARGUMENT and NOT_SUPPORTED mean that trying again is
	// no use.
	Connect(ctx context.Context) error
	// Read measures all that is measured in one go and overwrites s, whose slices it may
	// keep in place. Engine hands it in with a Joint for each, all NaN and without an error,
	// with Faults and Restarted empty. A device that doesn't answer is a joint with an error in
	// Joint.Err, not an error of Read; Read fails where nobody answers.
	Read(ctx context.Context, s *Sample) error
	// Write gives each joint its next setpoint, in one go as far as the hardware can. No
	// setpoint is outside of the file's limits.
	Write(ctx context.Context, q []float64) error
	// Confirm asks the hardware whether it has the setpoints of the last Write: Yes or No
	// where it can be asked, Unknown where not.
	Confirm(ctx context.Context, q []float64) (robot.Tri, error)
	// PowerOn makes each joint hold at q, which for a measured joint is where it was just
	// measured: the setpoint is with the device, and read back where that is possible,
	// before its torque is on. One that has torque and holds q keeps both, wherever its load
	// has it. It stops at the first device that fails, and the error names it, and as soon as
	// Stopped says so of ctx; those before it may have power, which the next Read says.
	PowerOn(ctx context.Context, q []float64) error
	// PowerOff takes the torque of every joint away: each is tried whatever the others
	// do, and the errors are joined.
	PowerOff(ctx context.Context) error
	// Set sets an actuator beside the joints, in its unit, and returns the value that the
	// hardware's steps make of it. INVALID_ARGUMENT and NOT_SUPPORTED mean that it was told
	// nothing.
	Set(ctx context.Context, actuator int, v float64) (float64, error)
	// Clear takes away what the devices themselves have latched (an overload). It moves
	// and powers nothing.
	Clear(ctx context.Context) error
	// Disconnect closes the link and unblocks whatever runs. It sends nothing. The
	// Engine has taken power away before, where the file says so. A second one returns nil.
	Disconnect() error
}

// Joint is what one Read found of a joint.
type Joint struct {
	Position float64 // rad or m; NaN where nothing measures it
	Velocity float64 // rad/s or m/s; NaN where nothing measures it: the Engine makes it from positions
	Effort   float64 // N·m or N; NaN where nothing measures it
	Powered  bool    // its torque is on; of hardware that doesn't say, what it was told last
	// Setpoint is the device's own, where it was read; else NaN.
	Setpoint float64
	// Err says why nothing is known of the joint: Position is then NaN.
	Err error
	// Lost says why it isn't known where the joint is although it answers, and what is to be
	// done: Position is then NaN, and Powered counts.
	Lost error
}

// Sample is what one Read found.
type Sample struct {
	Joints []Joint
	// At is when the first of it was measured, by the monotonic clock: before Read began,
	// of hardware that reports by itself. Zero: it isn't known, and Read's beginning counts.
	At time.Time
	// Faults are what the hardware itself complains of now: overload, heat, voltage,
	// current, or that it has restarted. Where names the joint or device. The Engine latches
	// the first, and ends what moves.
	Faults []robot.Fault
	// Restarted: a device has lost what it was told since the last Read (power, reset), or,
	// in the first Read after a Connect, since the last one before it; true where that can't
	// be told.
	Restarted bool
	// Actuators are measured values of what stands beside the joints; NaN where none is; nil: of none.
	Actuators []float64
}

// Traits say what a Body is and can.
type Traits struct {
	Backend string        // "feetech", "gobot", "dynamixel": Info.Backend, and the place in errors
	Version string        // changes when the same motion leads to other bytes; goes into Info.Identity
	Device  string        // the port or bus: Info.Port, and the place in errors about the link
	Period  time.Duration // between two Writes
	// ReadEvery is how many periods lie between two Reads, 1 or more. While nothing
	// moves the loop reads at the same rate and writes nothing.
	ReadEvery int
	// Exchange bounds one exchange in which nothing goes wrong.
	Exchange time.Duration
	// Measured says of each active joint that its position is measured.
	Measured []bool
	// Velocity, Effort: whether these are measured of the measured joints.
	Velocity, Effort bool
	// Watchdog is after how long without a word the hardware stops by itself, from PowerOn on;
	// 0: it has no watchdog. Info says it.
	Watchdog time.Duration
	// Lag is by how much a measured position is behind the setpoint at constant speed, beyond the
	// period: it belongs to the hardware's own position loop.
	Lag time.Duration
}
