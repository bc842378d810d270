// Package sim is a simulated robot and the rehearsal that stands on it: the
// second, independent opinion about a planned motion before a person is asked.
//
// It integrates the joint-space equation of motion at 1 kHz of simulated time
// (composite-rigid-body and recursive Newton-Euler algorithms, R. Featherstone,
// Rigid Body Dynamics Algorithms, Springer 2008, chapters 5 and 6), drives the
// joints through a servo with lag, torque and speed saturation, and watches the
// exact distance between convex bodies (E. G. Gilbert, D. W. Johnson,
// S. S. Keerthi, IEEE J. Robotics and Automation 4(2), 1988; G. van den Bergen,
// Collision Detection in Interactive 3D Environments, 2003).
//
// It must never import gate, cmd, motion or drivers. It computes its own link
// frames (Plücker transforms), distances and limit checks: a rehearsal that ran
// the planner's code again would prove nothing. It is a user of robot only.
//
// Simulated time advances only inside Execute and Actuate, in the caller's
// goroutine; the package starts no goroutine except for test hooks. The same
// seed, model, scene and calls give the same numbers bit for bit on one
// architecture, whichever clock is chosen.
//
// What is assumed rather than known of a robot (rotor inertia, servo gains, mass
// of links without inertials, …) is listed by Robot.Assumed and goes into each
// rehearsal's record.
package sim
