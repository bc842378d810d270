package robot

import (
	"math"
	"time"
)

// Fault is a latched reason why a robot does not move.
type Fault struct {
	Code  Code      `json:"code"`
	Where string    `json:"where,omitempty"`
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
}

// ActuatorState is the value of an actuator beside the joints, in its unit.
type ActuatorState struct {
	Name     string  `json:"name"`
	Value    float64 `json:"value"`
	Measured bool    `json:"measured"` // false: what was last commanded and acknowledged
}

// State is one measurement of a robot. Slices have one element for each active
// joint, or are nil where that isn't measured of any; the receiver owns them. Of a
// robot that measures only some of its joints (Info.OpenLoop) the measured slices
// have NaN for the others, so that whoever forgets to ask compares with nothing.
type State struct {
	Positions  []float64 // measured or counted, rad or m; nil on an open-loop backend
	Velocities []float64 // measured, rad/s or m/s
	Efforts    []float64 // measured, N·m or N
	// Setpoints are what the backend holds or last commanded, rad or m; never a
	// measurement. NaN for a joint that was told nothing since its power-up.
	Setpoints  []float64
	MeasuredAt time.Time // when it was measured, not when it was asked for; on an open-loop backend, when the robot reported
	Moving     bool      // of an open-loop joint: its setpoint moves
	Enabled    bool      // torque is on, and motions are taken
	// Powered: the joints have power and hold although Enabled is false, as after a
	// fault that was cleared. Enabled says it where it is true.
	Powered  bool
	EStopped bool // e-stop latched
	Faults   []Fault
	// StopEpoch counts the stops that this backend has seen. A Motion carries
	// the epoch that it was prepared in.
	StopEpoch uint64
	// Unreferenced says of each active joint that its position isn't known: of one that
	// counts steps until it has found its switch, of an open-loop one until it is told
	// (Declared) or commanded; nil: all are known. Only a Motion with a Seek may run
	// while one isn't; any other is NOT_CALIBRATED, and so is TorqueOn while an
	// open-loop one isn't. A robot that was reset or without power knows no more of its
	// open-loop joints than one that was just switched on.
	Unreferenced []bool
	// Declared says of each active joint that its setpoint is what a person said of
	// where it is, and nothing commanded it in this power-up yet; nil: of none. TorqueOn
	// takes it as the setpoint: the joint snaps there from wherever it is.
	Declared []bool
	// Actuators are the values of what stands beside the joints, in the order of
	// Model.Actuators; nil where there are none.
	Actuators []ActuatorState
	// Held names the scene body that the gripper holds, "" for none or unknown.
	Held string
	// HeldPose is where the held body is, tip link from body; nil where nothing
	// is held or that isn't known. It isn't modified once set.
	HeldPose *Pose
}

// Clone returns a deep copy.
func (s State) Clone() State {
	s.Positions = append([]float64(nil), s.Positions...)
	s.Velocities = append([]float64(nil), s.Velocities...)
	s.Efforts = append([]float64(nil), s.Efforts...)
	s.Setpoints = append([]float64(nil), s.Setpoints...)
	s.Faults = append([]Fault(nil), s.Faults...)
	s.Unreferenced = append([]bool(nil), s.Unreferenced...)
	s.Declared = append([]bool(nil), s.Declared...)
	s.Actuators = append([]ActuatorState(nil), s.Actuators...)
	return s
}

// Measures reports whether active joint i's position is measured in this state.
func (s State) Measures(i int) bool {
	return i >= 0 && i < len(s.Positions) && !math.IsNaN(s.Positions[i])
}

// Where returns where each joint is as far as anybody knows, rad or m: measured where
// it is, the setpoint where it isn't and what the joint was told is known, else NaN.
// nil where the state says nothing of any joint. The slice is the caller's.
func (s State) Where() []float64 {
	n := max(len(s.Positions), len(s.Setpoints))
	if n == 0 {
		return nil
	}
	q := make([]float64, n)
	for i := range q {
		switch {
		case s.Measures(i):
			q[i] = s.Positions[i]
		case i < len(s.Setpoints):
			q[i] = s.Setpoints[i]
		default:
			q[i] = math.NaN()
		}
	}
	return q
}
