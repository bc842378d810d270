//go:build !race

package motion_test

const raceEnabled = false
