package robot

// Semantics is what a semantic description (SRDF) says of a robot, names as
// spelled there. Nothing in it has been held against a description yet; NewModel
// does that. Lines are of File, so that its errors can name them.
type Semantics struct {
	File         string
	Name         string
	Groups       []Group
	States       []GroupState
	EndEffectors []EndEffector
	Disabled     []LinkPair
	Warnings     []Finding
}

// Group is a named set of joints and links.
type Group struct {
	Name      string
	Line      int
	Joints    []NamedRef
	Links     []NamedRef // each stands for itself and for the joint above it
	Chains    []Chain
	Subgroups []NamedRef
}

// NamedRef is a name and the line that mentions it.
type NamedRef struct {
	Name string
	Line int
}

// Chain is all links from Base down to Tip and the joints between them.
type Chain struct {
	Base, Tip string
	Line      int
}

// GroupState is a named pose of a group.
type GroupState struct {
	Name, Group string
	Line        int
	Values      []JointValue
}

// JointValue is a joint's position in a GroupState, rad or m.
type JointValue struct {
	Joint string
	Value float64
	Line  int
}

// EndEffector says which group is a tool, and where it is mounted.
type EndEffector struct {
	Name, Group             string
	ParentLink, ParentGroup string // ParentGroup may be empty
	Line                    int
}

// LinkPair is a pair of links whose contact is not a collision.
type LinkPair struct {
	A, B, Reason string
	Line         int
}

// LimitTable is what a limits file says, names as spelled there. NewLimits holds
// it against a description.
type LimitTable struct {
	File     string
	Joints   []LimitEntry
	Warnings []Finding
}

// LimitEntry is what a limits file says of one joint; nil is "nothing said".
// Values are in the joint's unit, or in degrees where Degrees says so.
type LimitEntry struct {
	Joint                                string
	Line                                 int
	Lower, Upper                         *LimitValue
	Velocity, Acceleration, Jerk, Effort *LimitValue
	// Off lists limits that the file switches off.
	Off []NamedRef
}

// LimitValue is a number of a limits file and its line.
type LimitValue struct {
	Value   float64
	Degrees bool
	Line    int
}
