//go:build !race

package approval_test

const underRace = false
