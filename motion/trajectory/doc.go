// Package trajectory puts time to a path in joint space: jerk-limited motions from
// rest to rest along straight lines between configurations (PointToPoint,
// ThroughWaypoints) and along curves (ThroughCurves, CurveAtSpeed).
//
// All joints share one path parameter s(t), so each point of the motion lies on the
// path that a planner checked for collisions: exactly on a line, within
// CurveTolerance on a curve. On a line s(t) is the time-optimal double-S profile
// under the limits that the most restrictive joint puts on the speed, acceleration
// and jerk along the line, hence no faster motion along it keeps every joint's
// limits. On a curve it is the best of a set of such profiles.
//
// Everything here is a pure function: no clock, no randomness, no I/O, and safe
// for any number of goroutines. The package imports package robot and nothing
// else of ours: never gate, sim, drivers, cmd or another motion package.
package trajectory
