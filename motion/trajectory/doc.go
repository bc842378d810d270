// Package trajectory puts time to a path in joint space: jerk-limited motions
// from rest to rest along straight lines between configurations.
//
// All joints share one path parameter s(t), so each point of the motion lies on
// the straight line between its ends; that line is what a planner checked for
// collisions. s(t) is the time-optimal double-S profile under the limits that the
// most restrictive joint puts on the speed, acceleration and jerk along the line,
// hence no faster motion along it keeps every joint's limits.
//
// Everything here is a pure function: no clock, no randomness, no I/O, and safe
// for any number of goroutines. The package imports package robot and nothing
// else of ours: never gate, sim, drivers, cmd or another motion package.
package trajectory
