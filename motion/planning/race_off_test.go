//go:build !race

package planning

const raceEnabled = false
