package trajectory

import (
	"math"

	"github.com/stretchr/testify/require"
)

// near fails if got is further than tol from want. It is require.InDelta for the
// inside of loops that run a million times.
func near(t require.TestingT, want, got, tol float64, what string) {
	if !(math.Abs(got-want) <= tol) {
		require.InDelta(t, want, got, tol, what)
		require.Fail(t, what)
	}
}

// atMost fails if got is above limit.
func atMost(t require.TestingT, got, limit float64, what string) {
	if !(got <= limit) {
		require.LessOrEqual(t, got, limit, what)
		require.Fail(t, what)
	}
}
