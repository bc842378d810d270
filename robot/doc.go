// Package robot holds what every other part of tau agrees on about a robot: its
// description, its limits, a scene, a trajectory, a measured state, a rehearsal,
// a session's opt-in, the error codes and the Backend interface.
//
// It is a leaf: it imports none of our other packages, in particular never gate
// (it knows nothing of approvals), motion, sim, drivers or cmd. Everything here
// is data or a pure function of its arguments, but for Sessions, which holds a
// lock and asks a clock that it is given; nothing here reads the environment, a
// file or a device.
//
// Units are SI everywhere: radians, metres, seconds, kilograms, newtons, newton
// metres. Quaternions are w,x,y,z. A configuration vector q has one element for
// each active joint, in the order of Description.Active.
package robot
