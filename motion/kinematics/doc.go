// Package kinematics computes where the links of a robot are (forward
// kinematics) and how they move with the joints (the geometric Jacobian), for
// any tree of revolute, continuous, prismatic and fixed joints with mimics.
//
// It is pure: no I/O, no clock, no randomness, no globals. It imports robot and
// mathgl and must never import gate, sim, drivers, cmd or another package of
// motion.
//
// Everything is in the robot's root frame, in metres and radians.
package kinematics
