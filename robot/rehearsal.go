package robot

// JointRehearsal is what a rehearsal found for one joint.
type JointRehearsal struct {
	Joint            string  `json:"joint"`
	PeakVelocity     float64 `json:"peak_velocity"` // rad/s or m/s
	VelocityLimit    float64 `json:"velocity_limit"`
	PeakEffort       float64 `json:"peak_effort"`  // N·m or N
	EffortLimit      float64 `json:"effort_limit"` // 0 where the description gives none
	MaxTrackingError float64 `json:"max_tracking_error"`
	End              float64 `json:"end"` // measured in the simulator at rest
}

// Clearance is the smallest distance met and between which two bodies.
type Clearance struct {
	Distance float64 `json:"distance"` // m
	A        string  `json:"a"`        // link, or scene body
	B        string  `json:"b"`
	At       float64 `json:"at_s"` // motion time
}

// Rehearsal is the record of a motion that a fresh simulator ran from the
// measured state before anybody was asked. Its canonical encoding is part of the
// digest that a person approves.
type Rehearsal struct {
	Simulator      string           `json:"simulator"` // name and version of the model that ran it
	Seed           uint64           `json:"seed"`
	Duration       float64          `json:"duration_s"` // from first actuation to rest
	Joints         []JointRehearsal `json:"joints"`
	PeakToolSpeed  float64          `json:"peak_tool_speed"`     // m/s at the tip
	Clearance      *Clearance       `json:"clearance,omitempty"` // nil: nothing that could collide
	EndPosition    [3]float64       `json:"end_position"`        // tip in the root frame
	EndOrientation [4]float64       `json:"end_orientation"`     // w,x,y,z
	Gripped        string           `json:"gripped,omitempty"`
	Assumed        []string         `json:"assumed,omitempty"`
	// SamplePeriod and Trace are the measured positions of the rehearsal,
	// against which the real run is watched: Trace[k][i] is joint i at k·SamplePeriod.
	SamplePeriod float64     `json:"sample_period_s"`
	Trace        [][]float64 `json:"-"`
	// Held is what the gripper holds at the end, "" for nothing, and HeldPose where
	// in it that is, tip link from body; nil where nothing is held.
	Held     string `json:"-"`
	HeldPose *Pose  `json:"-"`
	// Moved are the bodies of the scene that are elsewhere at the end than when the
	// rehearsal began, what is held included, in the scene's order; nil for none.
	Moved []BodyPose `json:"-"`
}

// BodyPose is where a body of the scene is, root from body.
type BodyPose struct {
	Name string `json:"name"`
	Pose Pose   `json:"pose"`
}

// Sag is what a fresh simulator found a robot to do whose torque is switched off.
type Sag struct {
	Simulator  string        // name and version of the model that ran it
	Duration   float64       // s until it lay still
	Start, End []float64     // rad or m by active joint
	Tip        [2][3]float64 // tip in the root frame before and after, m
}
