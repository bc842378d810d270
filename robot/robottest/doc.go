// Package robottest is the conformance suite that every robot.Backend passes: the
// simulator, the firmware's driver, servo buses. It holds a backend to the words of
// robot.Backend by what can be seen from outside: what is measured, what is
// refused and with which code, and when a stop is over.
//
// It is imported by tests only. It imports robot and nothing else of ours, and
// makes its own trajectories, so that no planner's mistake hides a backend's.
package robottest
