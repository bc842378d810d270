//go:build race

package motion_test

// raceEnabled shortens the long tests, which have no goroutines to find races in.
const raceEnabled = true
