//go:build race

package planning

// raceEnabled shortens the long tests, of which few start goroutines.
const raceEnabled = true
