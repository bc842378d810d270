package robot

import (
	"github.com/go-gl/mathgl/mgl64"
)

// Pose is a rigid transform: P in metres, Q a unit quaternion (w,x,y,z). A Pose
// named "a from b" maps coordinates in frame b to frame a: x_a = Q·x_b + P.
type Pose struct {
	P mgl64.Vec3
	Q mgl64.Quat
}

// IdentityPose returns the pose that moves nothing.
func IdentityPose() Pose { return Pose{Q: mgl64.QuatIdent()} }

// Mul returns the pose that applies b first and a second.
func (a Pose) Mul(b Pose) Pose {
	return Pose{P: a.Q.Rotate(b.P).Add(a.P), Q: a.Q.Mul(b.Q)}
}

// Inverse returns the pose that undoes a.
func (a Pose) Inverse() Pose {
	qi := a.Q.Conjugate()
	return Pose{P: qi.Rotate(a.P.Mul(-1)), Q: qi}
}

// Apply maps a point.
func (a Pose) Apply(v mgl64.Vec3) mgl64.Vec3 { return a.Q.Rotate(v).Add(a.P) }

// JointType is the kind of a joint.
type JointType uint8

// The joint types. The zero value is none of them.
const (
	Revolute JointType = iota + 1
	Continuous
	Prismatic
	Fixed
)

func (t JointType) String() string {
	switch t {
	case Revolute:
		return "revolute"
	case Continuous:
		return "continuous"
	case Prismatic:
		return "prismatic"
	case Fixed:
		return "fixed"
	}
	return "invalid"
}

// Unit returns "rad" for joints that turn, "m" for joints that slide.
func (t JointType) Unit() string {
	if t == Prismatic {
		return "m"
	}
	return "rad"
}

// GeometryKind is the kind of a collision body.
type GeometryKind uint8

// The kinds of geometry. The zero value is none of them.
const (
	Box GeometryKind = iota + 1
	Cylinder
	Capsule
	Sphere
	MeshGeometry
)

func (k GeometryKind) String() string {
	switch k {
	case Box:
		return "box"
	case Cylinder:
		return "cylinder"
	case Capsule:
		return "capsule"
	case Sphere:
		return "sphere"
	case MeshGeometry:
		return "mesh"
	}
	return "invalid"
}

// Geometry is a body in its own frame, centred on the origin; cylinders and
// capsules lie along z.
type Geometry struct {
	Kind   GeometryKind
	Size   mgl64.Vec3 // box: full extents, m
	Radius float64    // cylinder, capsule, sphere, m
	Length float64    // cylinder: height; capsule: its cylindrical part, m
	Mesh   *Mesh      // mesh only
}

// Mesh is a triangle mesh. Its vertices are scaled already; it is not modified
// after loading and may be shared. One that could not be read has no triangles and
// says where it is named and what is missing.
type Mesh struct {
	File      string
	Vertices  []mgl64.Vec3
	Triangles [][3]int32
	Named     string // file:line of the description; only of a mesh without triangles
	Missing   string // why there are none, as a clause: "isn't read: …"
}

// Read reports whether the mesh has a shape.
func (m *Mesh) Read() bool { return m != nil && len(m.Triangles) > 0 }

// Collider is a collision body fixed to a link.
type Collider struct {
	Name     string
	Origin   Pose // link from body
	Geometry Geometry
}

// Inertial holds a link's mass properties.
type Inertial struct {
	Origin  Pose       // link from inertial frame, whose origin is the centre of mass
	Mass    float64    // kg
	Inertia [6]float64 // ixx ixy ixz iyy iyz izz about the centre of mass, kg·m²
}

// Link is a rigid body. Parent is the index of the joint above it, -1 for the root.
type Link struct {
	Name      string
	Parent    int
	Inertial  *Inertial
	Colliders []Collider
}

// Mimic couples a joint to an active joint: q = Multiplier·q[Joint] + Offset.
// Chains are resolved by the loader, so Joint always indexes an active joint.
type Mimic struct {
	Joint      int // index into Description.Joints
	Multiplier float64
	Offset     float64
}

// Joint connects a parent link to a child link.
type Joint struct {
	Name   string
	Type   JointType
	Parent int        // index into Links
	Child  int        // index into Links
	Origin Pose       // parent link from joint frame at q = 0
	Axis   mgl64.Vec3 // unit vector in the joint frame
	// Position limits in rad or m: the narrower of the hard and the soft ones,
	// and of what a mimic joint's own limits allow its master. Bounded is false
	// for a continuous joint.
	Bounded      bool
	Lower, Upper float64
	Velocity     float64 // rad/s or m/s, > 0 where the description gives one, else 0
	Effort       float64 // N·m or N, > 0 where the description gives one, else 0
	Damping      float64 // N·m·s/rad or N·s/m
	Friction     float64 // N·m or N
	Mimic        *Mimic
	Active       int // position in q, -1 for fixed and mimic joints
}

// Finding is a warning or an error about a description, with its place in the file.
type Finding struct {
	File  string `json:"file,omitempty"`
	Line  int    `json:"line"`
	Where string `json:"where"`
	Code  Code   `json:"code"`
	Text  string `json:"text"`
}

// Description is a kinematic tree. It is immutable once loaded and may be shared
// between goroutines.
type Description struct {
	Name     string
	Links    []Link
	Joints   []Joint // parents before children
	Root     int     // index into Links
	Active   []int   // indices into Joints of the joints that q is about
	Warnings []Finding
	Hash     [32]byte // SHA-256 over every byte that the description was made from
}

// LinkIndex returns the index of the named link, -1 if there is none.
func (d *Description) LinkIndex(name string) int {
	for i := range d.Links {
		if d.Links[i].Name == name {
			return i
		}
	}
	return -1
}

// JointIndex returns the index of the named joint, -1 if there is none.
func (d *Description) JointIndex(name string) int {
	for i := range d.Joints {
		if d.Joints[i].Name == name {
			return i
		}
	}
	return -1
}

// DoF returns the number of active joints, the length of every q.
func (d *Description) DoF() int { return len(d.Active) }

// JointNames returns the names of the active joints in the order of q.
func (d *Description) JointNames() []string {
	out := make([]string, len(d.Active))
	for i, j := range d.Active {
		out[i] = d.Joints[j].Name
	}
	return out
}

// ActiveIndex returns the position in q of the named joint, -1 if it has none.
func (d *Description) ActiveIndex(name string) int {
	if j := d.JointIndex(name); j >= 0 {
		return d.Joints[j].Active
	}
	return -1
}
