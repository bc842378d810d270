package feetech

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// drawAxis is a joint that a file may have.
func drawAxis(t *rapid.T) axis {
	low := rapid.IntRange(0, Turn-2).Draw(t, "tick min")
	j := &hardware.Joint{
		Name: "elbow", Channel: 3, Kind: hardware.BusServo, Feedback: hardware.Encoder,
		Direction: rapid.SampledFrom([]float64{1, -1}).Draw(t, "direction"),
		Zero:      rapid.Float64Range(0, Turn-1).Draw(t, "zero"),
		Scale:     rapid.Float64Range(100, 5000).Draw(t, "scale"),
		TickMin:   float64(low), TickMax: float64(rapid.IntRange(low+1, Turn-1).Draw(t, "tick max")),
		TorqueLimit: 1,
	}
	return axis{hw: j, id: 3, unit: "rad", low: int(j.TickMin), high: int(j.TickMax)}
}

// Ticks and positions are the same place: a tick comes back as itself, and a position
// within half a tick, which is as near as the servo can be told.
func TestPositionsAndTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAxis(t)
		tick := rapid.IntRange(a.low, a.high).Draw(t, "tick")
		back, err := a.ticks(a.position(tick))
		require.NoError(t, err)
		require.Equal(t, tick, back)

		at := rapid.Float64Range(a.hw.TickMin, a.hw.TickMax).Draw(t, "within a tick")
		q := a.hw.Position(at)
		sent, err := a.ticks(q)
		require.NoError(t, err)
		require.GreaterOrEqual(t, sent, a.low)
		require.LessOrEqual(t, sent, a.high)
		require.InDelta(t, q, a.position(sent), 0.5/a.hw.Scale+1e-9)
	})
}

// What is out of the ticks is an error with the value and the limit, and never brought
// within: a clamp turns a mistake into an end stop.
func TestCase45_WhatIsOutOfItsTicksIsRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := drawAxis(t)
		beyond := rapid.Float64Range(0.01, 1e6).Draw(t, "beyond")
		u, limit := a.hw.TickMax+beyond, a.hw.TickMax
		if rapid.Bool().Draw(t, "below") {
			u, limit = a.hw.TickMin-beyond, a.hw.TickMin
		}
		_, err := a.ticks(a.hw.Position(u))
		var e *robot.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, robot.CodeJointLimit, e.Code)
		require.Equal(t, "elbow", e.Where)
		require.InDelta(t, u, e.Value.Value, 1e-6*math.Abs(u)+1e-6)
		require.InDelta(t, limit, e.Limit.Value, 0)
	})
	a := axis{hw: &hardware.Joint{Name: "elbow", Direction: 1, Scale: 651.9, Zero: 2048, TickMax: Turn - 1}, high: Turn - 1}
	for _, q := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		_, err := a.ticks(q)
		require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%g", q)
	}
}

// A reading that isn't where the joint can be is an error that says so, and never a jump.
func TestCase25_AReadingBeyondTheSeam(t *testing.T) {
	a := axis{hw: &hardware.Joint{Name: "elbow", Direction: 1, Scale: 651.9, Zero: 2048, TickMin: 20, TickMax: 3000}, low: 20, high: 3000}
	for _, c := range []struct {
		ticks    int
		followed float64
		says     string // "" for nothing
	}{
		{20, 20, ""},
		{3000, 3000, ""},
		{0, 0, ""},       // a little beyond, as under a load
		{3064, 3064, ""}, // likewise
		{3065, 3065, "outside of the range"},
		{3600, 3600, "crossed the seam"}, // nearer to the lower end, across the seam
		{4090, 4090, "crossed the seam"},
		{4090, -6, "crossed the seam"},
		{30, 4126, "crossed the seam"}, // where it may be, but a turn further
		{-396, -396, "crossed the seam"},
		{4100, 4100, "crossed the seam"},
	} {
		err := a.within(c.ticks, c.followed)
		if c.says == "" {
			require.NoError(t, err, "%d", c.ticks)
			continue
		}
		require.ErrorContains(t, err, c.says, "%d", c.ticks)
		require.Equal(t, robot.CodeNotCalibrated, robot.CodeOf(err))
		require.ErrorContains(t, err, "elbow")
	}
}
