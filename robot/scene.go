package robot

// Body is a body of the scene, its pose in the robot's root frame.
type Body struct {
	Name     string
	Pose     Pose // root from body
	Geometry Geometry
	Movable  bool // may be gripped and carried
}

// Zone is a guarded zone: no part of the robot may enter without a grant.
type Zone struct {
	Name     string
	Pose     Pose // root from zone
	Geometry Geometry
}

// Scene is what stands around a robot. The zero value is an empty scene. It is
// immutable once loaded.
type Scene struct {
	Name   string
	Bodies []Body
	Zones  []Zone
	Hash   [32]byte // SHA-256 over the canonical encoding of the content, never over the file's spelling
}
