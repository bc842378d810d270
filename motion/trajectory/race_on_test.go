//go:build race

package trajectory

// raceEnabled shortens the long tests, which have no goroutines to find races in.
const raceEnabled = true
