//go:build !race

package robot

const raceEnabled = false
