// Package planning finds where a robot's joints have to go: inverse kinematics
// within the limits, paths in joint space, straight lines of the tip, and arcs of a
// base, all of which the collision checker accepts. It says nothing of time;
// package trajectory, whose curves it makes, does.
//
// It is pure: no I/O and no clock, and the same random source in the same state
// gives the same answer. It imports robot, mathgl, motion/kinematics and
// motion/trajectory, and asks for collisions through an interface of its own. It
// must never import gate, sim, drivers or cmd.
package planning
