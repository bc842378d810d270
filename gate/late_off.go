//go:build !tau_started_late

package gate

// startedLate: see late.go.
const startedLate = false
