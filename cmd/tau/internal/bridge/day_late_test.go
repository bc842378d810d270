//go:build tau_started_late

package bridge

const startedLate = true
