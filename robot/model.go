package robot

import (
	"cmp"
	"math"
	"slices"
)

// JointLimits are the limits that a planner obeys and a backend enforces for one
// active joint, all finite and positive but Lower and Upper.
type JointLimits struct {
	Bounded      bool    `json:"bounded"` // false: continuous, Lower and Upper unused
	Lower        float64 `json:"lower"`   // rad or m
	Upper        float64 `json:"upper"`
	Velocity     float64 `json:"velocity"`     // rad/s or m/s
	Acceleration float64 `json:"acceleration"` // rad/s² or m/s²
	Jerk         float64 `json:"jerk"`         // rad/s³ or m/s³
	Effort       float64 `json:"effort"`       // N·m or N; 0 where the description gives none
	// Assumed names what was assumed rather than known, for example
	// "acceleration", "jerk"; it is shown on every card.
	Assumed []string `json:"assumed,omitempty"`
}

// Gripper says which active joint is the gripper and which of its positions is
// closed (command 0) and open (command 1).
type Gripper struct {
	Joint        int     // position in q
	Closed, Open float64 // rad or m
	MaxEffort    float64 // N·m or N at the joint
	Links        []int   // links that may touch what is gripped
}

// Model is a description with everything that a planner and a simulator have to
// agree on. It is immutable and may be shared between goroutines.
type Model struct {
	*Description
	Limits  []JointLimits // by active joint
	Arm     []int         // positions in q that moves in space may use, in order from the root
	Tip     int           // index of the link that poses are about
	Home    []float64     // q of the named pose "home"
	Gripper *Gripper      // nil if there is none
	// Allowed lists pairs of links (lower index first, sorted) whose contact is
	// not a collision: neighbours, and pairs that the semantic description
	// disables.
	Allowed [][2]int
	// Actuators are what can be set beside the joints, Base and References what Equip
	// has added; empty and nil for a robot of joints alone.
	Actuators  []Actuator
	Base       *Base
	References []Reference // by joint
	Assumed    []string    // what of the whole model was assumed rather than known
	// ModelHash is a SHA-256 over the description's hash and a canonical
	// encoding of limits, groups, tip, home, gripper, allowed pairs and equipment.
	ModelHash [32]byte
}

// CheckPlace refuses what says of no configuration of the robot where its joints are, rad
// or m: another number of positions than there are active joints, or an infinite one. NaN
// says nothing of a joint.
func (m *Model) CheckPlace(q []float64) error {
	names := m.JointNames()
	if len(q) != len(names) {
		return Errf(CodeInvalidArgument, "at", "%d positions for %d joints", len(q), len(names))
	}
	for i, v := range q {
		if math.IsInf(v, 0) {
			return &Error{Code: CodeInvalidArgument, Where: names[i], Text: "the place isn't finite", Value: &Quantity{Value: v}}
		}
	}
	return nil
}

// IsAllowed reports whether contact between links a and b is not a collision.
func (m *Model) IsAllowed(a, b int) bool {
	if a > b {
		a, b = b, a
	}
	_, found := slices.BinarySearchFunc(m.Allowed, [2]int{a, b}, func(x, y [2]int) int {
		return cmp.Or(cmp.Compare(x[0], y[0]), cmp.Compare(x[1], y[1]))
	})
	return found
}
