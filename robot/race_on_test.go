//go:build race

package robot

// raceEnabled shortens the long tests, which have no goroutines to find races in.
const raceEnabled = true
