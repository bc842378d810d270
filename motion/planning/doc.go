// Package planning finds where a robot's joints have to go: inverse kinematics
// within the limits, and paths in joint space that the collision checker accepts.
// It says nothing of time; package trajectory does.
//
// It is pure: no I/O and no clock, and the same random source in the same state
// gives the same answer. It imports robot, mathgl and motion/kinematics, and
// asks for collisions through an interface of its own. It must never import
// gate, sim, drivers or cmd.
package planning
