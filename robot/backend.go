package robot

import (
	"context"
	"slices"
	"time"
)

// Mode says whether a backend moves something real.
type Mode string

// The modes. The zero value is neither and permits nothing.
const (
	ModeSim  Mode = "sim"
	ModeReal Mode = "real"
)

// Actuator describes one thing that a backend can drive beside or as part of the joints.
type Actuator struct {
	Name   string  `json:"name"`
	Kind   string  `json:"kind"` // "joint", "gripper", "relay", "led", "pwm", …
	Unit   string  `json:"unit"`
	Lower  float64 `json:"lower"`
	Upper  float64 `json:"upper"`
	OnStop string  `json:"on_stop"`      // "hold", "off", "unchanged"
	OnLost string  `json:"on_lost_link"` // the same
	Off    float64 `json:"off"`          // the value that "off" stands for, and that it starts with
}

// Info says what a backend is and what it can measure. It doesn't change during
// the backend's life.
type Info struct {
	Robot         string // the description's name
	Backend       string // "sim", "mcu", "feetech", …
	Port          string // device of a real backend
	Mode          Mode
	Joints        []string
	Limits        []JointLimits
	Actuators     []Actuator
	ControlPeriod time.Duration
	// Whether anything is measured (or counted) of any joint.
	MeasuresPosition, MeasuresVelocity, MeasuresEffort bool
	// OpenLoop says of each active joint that nothing measures where it is; nil: of none
	// where MeasuresPosition, of all where not. A joint that counts its steps isn't one.
	OpenLoop       []bool
	EStopPowersOff bool // estop is IEC 60204-1 category 1, else category 2 and latched
	// Watchdog is after how long without a word from this program the hardware stops by
	// itself; 0: it doesn't, and goes to the last setpoint that it was sent.
	Watchdog    time.Duration
	Identity    [32]byte // hash over driver, its version and its configuration
	Calibration [32]byte // hash over the calibration; zero where there is none
}

// Clone returns a copy that shares no slice with i.
func (i Info) Clone() Info {
	i.Joints, i.Limits = slices.Clone(i.Joints), slices.Clone(i.Limits)
	for k := range i.Limits {
		i.Limits[k].Assumed = slices.Clone(i.Limits[k].Assumed)
	}
	i.Actuators, i.OpenLoop = slices.Clone(i.Actuators), slices.Clone(i.OpenLoop)
	return i
}

// Grip makes a motion of the gripper joint one that may end early in contact.
type Grip struct {
	MaxEffort float64 // N·m or N at the gripper joint, > 0
}

// Seek makes a motion one that looks for a joint's reference switch: it ends early
// where the switch closes, and the joint is then known to be at Switch. All other
// joints hold.
type Seek struct {
	Joint     int     // position in q
	Switch    float64 // where the switch closes, rad or m
	Direction float64 // -1 towards the lower end, +1 towards the upper one
	Speed     float64 // largest speed of the search, rad/s or m/s
	Travel    float64 // largest travel of the search, rad or m
}

// IsOpenLoop reports whether nothing measures where active joint i is.
func (i Info) IsOpenLoop(joint int) bool {
	if i.OpenLoop == nil {
		return !i.MeasuresPosition
	}
	return joint < 0 || joint >= len(i.OpenLoop) || i.OpenLoop[joint]
}

// Motion is what a person approved: a trajectory and the bounds in which it may run.
type Motion struct {
	ID         string // the call's id
	Epoch      uint64 // State.StopEpoch when the motion was prepared; any later stop voids it
	Trajectory Trajectory
	// StartTolerance bounds |measured - start| for each joint before the first
	// actuation, rad or m; of an open-loop joint |setpoint - start|.
	StartTolerance []float64
	// MaxDeviation bounds |measured - setpoint| for each joint during the
	// motion, rad or m; beyond it the backend faults with DEVIATION. It says nothing
	// of an open-loop joint.
	MaxDeviation []float64
	Grip         *Grip // nil for ordinary motions
	// Seek is nil for ordinary motions. With it the joint's own limits of position
	// don't bind on the way, since where it is isn't known: Seek's bounds do. A
	// switch that isn't found in that travel faults with NOT_CALIBRATED.
	Seek *Seek
	// Zones are the guarded zones that the robot, and what it carries, may enter
	// during this motion, by name in ascending order; nil for none. All others stay
	// closed. A backend that guards no zones has no use for them.
	Zones []string
}

// Progress is what a backend reports during a motion, at least 20 times a second
// of motion time, and once at its end. The receiver must not block and must copy what it keeps.
type Progress struct {
	T        float64   // s since the start of the motion, in motion time
	Setpoint []float64 // rad or m; what the robot itself says that it commands, where it says so
	State    State
}

// OutcomeStatus says how a motion or command ended.
type OutcomeStatus string

// The outcome statuses. The zero value is not an outcome.
const (
	OutcomeDone      OutcomeStatus = "done"      // ran to its end, measured at rest; open loop: the setpoints did
	OutcomeStopped   OutcomeStatus = "stopped"   // ended by Stop
	OutcomeCancelled OutcomeStatus = "cancelled" // its context ended; controlled stop
	OutcomeFaulted   OutcomeStatus = "faulted"   // a fault latched
	OutcomeRefused   OutcomeStatus = "refused"   // nothing was actuated
	OutcomeUnknown   OutcomeStatus = "unknown"   // can't be known; never retried by itself
)

// Outcome is what was measured at the end of a motion or command.
type Outcome struct {
	Status           OutcomeStatus
	Final            State     // measured after the end; Positions nil if that is unknown
	Duration         float64   // s of motion time from the first actuation to measured rest
	MaxTrackingError []float64 // largest |measured - setpoint| by joint, rad or m; NaN where it isn't measured, nil where none is
	Gripped          string    // scene body that a grip closed on, "" for none or unknown
}

// CommandKind is a command that isn't a motion.
type CommandKind string

// The command kinds.
const (
	TorqueOn    CommandKind = "torque_on"
	TorqueOff   CommandKind = "torque_off"
	EStopReset  CommandKind = "estop_reset" // clears the latch and the faults; starts and enables nothing
	SetActuator CommandKind = "set_actuator"
)

// Command is something other than a trajectory that a backend can do.
type Command struct {
	ID    string
	Epoch uint64 // as in Motion; EStopReset carries the epoch after the e-stop
	Kind  CommandKind
	Name  string  // SetActuator: which
	Value float64 // SetActuator: in the actuator's unit
}

// StopKind names a stop after IEC 60204-1.
type StopKind string

// The stop kinds.
const (
	StopControlled StopKind = "stop"  // category 2: controlled stop, power stays, position held
	StopEmergency  StopKind = "estop" // category 1 where Info.EStopPowersOff, else 2; latched
)

// Tri is a statement that may be unknown.
type Tri string

// The three values.
const (
	Yes     Tri = "yes"
	No      Tri = "no"
	Unknown Tri = "unknown"
)

// StopVerdict says what is known of a stop.
type StopVerdict struct {
	Backend      string  `json:"backend"`
	Commanded    Tri     `json:"commanded"`    // the stop left us
	Acknowledged Tri     `json:"acknowledged"` // the robot said it got it
	Stationary   Tri     `json:"stationary"`   // measured at rest afterwards; unknown where any joint is open loop
	Text         string  `json:"text,omitempty"`
	Duration     float64 `json:"duration_s"` // motion time from the stop to measured rest
}

// Backend moves one robot. All methods may be called from any goroutine.
// Errors are *Error with the same code for the same cause on every backend.
type Backend interface {
	// Info says what this is. It never blocks.
	Info() Info
	// State returns a measurement. A state older than the backend's stated bound
	// is STALE_STATE, never an old value; a closed or lost backend is DISCONNECTED.
	State(ctx context.Context) (State, error)
	// Execute runs one motion and returns when the robot is measured at rest. It
	// refuses, with nothing moved (Outcome.Status refused): non-finite or
	// out-of-limit trajectories, wrong joint counts, a start that isn't where
	// the robot is (START_MOVED), a stale epoch (STOPPED), an e-stop latch
	// (ESTOPPED), torque off (NOT_ENABLED), and a second motion while one runs
	// (BUSY). The epoch is compared under the lock of the first actuation. When
	// ctx ends a controlled stop comes first, then Execute returns CANCELLED.
	// progress may be nil and is called from Execute's goroutine. On an open-loop
	// robot "measured" reads "as the robot reports of its setpoints": Execute returns
	// when these stand still. NOT_CALIBRATED while a joint's position isn't known.
	Execute(ctx context.Context, m Motion, progress func(Progress)) (Outcome, error)
	// Actuate does one command, with the same refusals. TorqueOn holds each joint where
	// it is measured, an open-loop one at its setpoint: one that is powered already
	// (State.Powered) doesn't move, another one snaps there from wherever it is. Where
	// that setpoint isn't known nothing is powered, which is NOT_CALIBRATED.
	Actuate(ctx context.Context, c Command) (Outcome, error)
	// Stop ends whatever moves and voids whatever was prepared: it raises the
	// stop epoch first. Safe during Execute, before anything and twice; it never
	// queues behind anything, returns once the robot is at rest or that can't be
	// known, and its work goes on when ctx ends early (the verdict then says unknown).
	Stop(ctx context.Context, kind StopKind) StopVerdict
	// Close unblocks everything, leaves the robot safe and joins every error. A
	// second Close returns nil.
	Close() error
}
