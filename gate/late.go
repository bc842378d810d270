//go:build tau_started_late

package gate

// startedLate records `started` after the first actuation instead of before: the fault
// that the test of kill -9 is there to find, put in on purpose to see it found (G44).
const startedLate = true
