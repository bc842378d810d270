//go:build !race

package trajectory

const raceEnabled = false
