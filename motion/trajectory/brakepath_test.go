package trajectory

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// A stop at any instant of a timed curve, with the robot's full limits, stays on the
// curve: with the part of the motion before it, it passes Validate, each of its
// samples is on the motion's path, and it takes little longer than the joints' own
// stops would.
func TestStopFromAnywhereOfACurveStaysOnIt(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	cases := 450
	if raceEnabled {
		cases /= 15
	}
	for _, scale := range []float64{0.2, 0.6, 1} {
		var ratios []float64
		none := 0
		for range cases / 3 {
			n := 2 + r.IntN(6)
			names, limits := jointNames[:n], randomLimits(r, n)
			tr, err := ThroughCurves(names, limits, []Curve{randomCurve(r, n)}, scale)
			require.NoError(t, err)
			for range 4 {
				k, part := r.IntN(len(tr.Segments)), r.Float64()
				before, q, v, a := cut(tr, k, part)
				at := robot.Trajectory{Segments: before}.Duration()
				stop, ok := robot.BrakeAlongPath(tr, at, limits)
				if !ok {
					none++
					continue
				}
				whole := robot.Trajectory{Joints: names, Segments: append(before[:len(before):len(before)], stop.Segments...)}
				require.NoError(t, whole.Validate(limits))
				own := robot.BrakeTrajectory(names, q, v, a, limits).Duration()
				ratios = append(ratios, stop.Duration()/own)
				requireOnPath(t, tr, at, stop)
			}
		}
		slices.Sort(ratios)
		median, most := ratios[len(ratios)/2], ratios[len(ratios)*95/100]
		t.Logf("at %g of the limits: of %d stops %d left to the joints; duration by the joints' own: median %.3f, 95 %% %.3f, longest %.3f",
			scale, len(ratios)+none, none, median, most, ratios[len(ratios)-1])
		require.LessOrEqual(t, none, (len(ratios)+none)/30)
		require.LessOrEqual(t, median, 1.3)
		require.LessOrEqual(t, most, 2.0)
	}
}

// requireOnPath requires that a stop goes along tr from at on, never back, within
// CurveTolerance.
func requireOnPath(t *testing.T, tr robot.Trajectory, at float64, stop robot.Trajectory) {
	t.Helper()
	const points = 3000
	duration := stop.Duration()
	span := math.Min(duration, tr.Duration()-at)
	n := len(tr.Joints)
	path := make([][]float64, points+1)
	c := robot.NewCursor(tr)
	extent := curveLeast
	for k := range path {
		path[k] = make([]float64, n)
		c.Sample(at+span*float64(k)/points, path[k], nil, nil)
		for i, q := range path[k] {
			extent = math.Max(extent, math.Abs(q-path[0][i]))
		}
	}
	tol := CurveTolerance * math.Min(1, extent)
	x := make([]float64, n)
	k := 0
	for m := range 101 {
		stop.Sample(duration*float64(m)/100, x, nil, nil)
		off := math.Inf(1)
		// Only onwards from where the last sample was: what goes back is off.
		for ; k < points; k++ {
			if off = offChord(path[k], path[k+1], x); off <= tol {
				break
			}
		}
		atMost(t, off, tol, "off the path or back")
	}
}

// offChord returns how far any joint of x is from the nearest point of a chord.
func offChord(from, to, x []float64) (off float64) {
	var dd, xd float64
	for i := range from {
		d := to[i] - from[i]
		dd, xd = dd+d*d, xd+d*(x[i]-from[i])
	}
	part := 0.0
	if dd > 0 {
		part = math.Min(1, math.Max(0, xd/dd))
	}
	for i := range from {
		off = math.Max(off, math.Abs(x[i]-from[i]-part*(to[i]-from[i])))
	}
	return off
}
