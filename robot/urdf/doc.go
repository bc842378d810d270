// Package urdf reads robot descriptions: URDF (parse.go), SRDF (srdf.go), the
// joint_limits.yaml that MoveIt writes (limits.go), our own actuators.yaml
// (equipment.go) and STL meshes (stl.go), and puts them together into a
// robot.Model (load.go). Files whose name ends in .xacro are expanded first, by
// package xacro (expand.go).
//
// It is strict: what it can't take literally it refuses, with the file and the
// line, rather than guess, since a wrong number here becomes a wrong motion.
// Every error is a *robot.Error with the code INVALID_ARGUMENT (or
// NOT_SUPPORTED, for unexpanded xacro and joint types that are not built) whose
// Where is file:line; several errors of one file come joined as Errors.
//
// It imports robot and robot/urdf/xacro and nothing else of ours; never gate,
// motion, sim, drivers or cmd. It opens no file by itself except in LoadFile and
// ParseFile; Parse reads meshes and includes only through the file systems that
// Options hands it. Functions here keep no state and may run at the same time.
package urdf

// Limits on input. They stand far above real descriptions and far below what
// would hurt the process.
const (
	MaxURDFBytes      = 16 << 20 // bytes of a URDF or SRDF file
	MaxLimitsBytes    = 1 << 20  // bytes of a joint_limits.yaml
	MaxEquipmentBytes = 1 << 20  // bytes of an actuators.yaml
	MaxDepth          = 64       // nesting of XML elements
	MaxElements       = 1 << 18  // XML elements in a file, vendor ones included
	MaxLinks          = 4096     // links of a robot
	MaxMeshBytes      = 64 << 20 // bytes of one mesh file
	MaxTriangles      = 1 << 20  // triangles of all meshes of a robot together
	MaxGroups         = 1024     // groups of an SRDF, and chains of one group
	maxErrors         = 20       // errors reported for one file, beyond which they are counted
	maxWarnings       = 500      // warnings, likewise
)
