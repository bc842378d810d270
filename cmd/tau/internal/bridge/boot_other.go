//go:build !linux

package bridge

import "time"

// bootClock is only known on Linux; elsewhere the wall and monotonic clocks bound
// an expiry.
func bootClock() func() time.Duration { return nil }

func bootID() string { return "" }
