package robot

import "time"

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
// joint, or are nil where that isn't measured; the receiver owns them.
type State struct {
	Positions  []float64 // measured, rad or m; nil on an open-loop backend
	Velocities []float64 // measured, rad/s or m/s
	Efforts    []float64 // measured, N·m or N
	Setpoints  []float64 // what the backend holds or last commanded; never a measurement
	MeasuredAt time.Time // when it was measured, not when it was asked for
	Moving     bool
	Enabled    bool // torque is on
	EStopped   bool // e-stop latched
	Faults     []Fault
	// StopEpoch counts the stops that this backend has seen. A Motion carries
	// the epoch that it was prepared in.
	StopEpoch uint64
	// Unreferenced says of each active joint that its position isn't known until it
	// has found its switch; nil: all are known. Only a Motion with a Seek may run
	// while one isn't; any other is NOT_CALIBRATED.
	Unreferenced []bool
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
	s.Actuators = append([]ActuatorState(nil), s.Actuators...)
	return s
}
