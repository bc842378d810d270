package trajectory

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

func plain(n int) []robot.JointLimits {
	out := make([]robot.JointLimits, n)
	for i := range out {
		out[i] = robot.JointLimits{Bounded: true, Lower: -2, Upper: 2, Velocity: 1, Acceleration: 2, Jerk: 8}
	}
	return out
}

func requireCode(t *testing.T, err error, code robot.Code, where string) *robot.Error {
	t.Helper()
	var e *robot.Error
	require.True(t, errors.As(err, &e), "%v", err)
	require.Equal(t, code, e.Code, "%v", err)
	require.Equal(t, where, e.Where, "%v", err)
	return e
}

// TestCase9: an exporter wrote velocity="0" for four joints of a five-joint arm.
func TestCase9_JointsWithoutASpeedAreNamed(t *testing.T) {
	names := []string{"base", "shoulder", "elbow", "wrist", "tool"}
	limits := plain(5)
	for _, i := range []int{0, 1, 3, 4} {
		limits[i].Velocity = 0
	}
	from, to := make([]float64, 5), []float64{0, 0, 1, 0, 0}
	for name, plan := range map[string]func() (robot.Trajectory, error){
		"point":     func() (robot.Trajectory, error) { return PointToPoint(names, limits, from, to, 1) },
		"waypoints": func() (robot.Trajectory, error) { return ThroughWaypoints(names, limits, [][]float64{from, to}, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := plan()
			e := requireCode(t, err, robot.CodeSpeedLimit, "base, shoulder, wrist, tool")
			require.Contains(t, e.Text, "give each a speed")
			require.Empty(t, tr.Segments)
		})
	}
}

func TestPointToPointRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	names := []string{"a", "b"}
	zero, one := []float64{0, 0}, []float64{1, 1}
	edited := func(edit func(*robot.JointLimits)) []robot.JointLimits {
		l := plain(2)
		edit(&l[1])
		return l
	}
	for name, tt := range map[string]struct {
		names    []string
		limits   []robot.JointLimits
		from, to []float64
		scale    float64
		code     robot.Code
		where    string
	}{
		"no joints":         {nil, nil, nil, nil, 1, robot.CodeInvalidArgument, "joints"},
		"limits missing":    {names, plain(1), zero, one, 1, robot.CodeInvalidArgument, "limits"},
		"from too short":    {names, plain(2), zero[:1], one, 1, robot.CodeInvalidArgument, "from"},
		"to too long":       {names, plain(2), zero, []float64{1, 1, 1}, 1, robot.CodeInvalidArgument, "to"},
		"scale 0":           {names, plain(2), zero, one, 0, robot.CodeInvalidArgument, "speed_scale"},
		"scale above 1":     {names, plain(2), zero, one, 1.0001, robot.CodeInvalidArgument, "speed_scale"},
		"scale negative":    {names, plain(2), zero, one, -0.5, robot.CodeInvalidArgument, "speed_scale"},
		"scale NaN":         {names, plain(2), zero, one, nan, robot.CodeInvalidArgument, "speed_scale"},
		"Case45 NaN":        {names, plain(2), zero, []float64{0, nan}, 1, robot.CodeInvalidArgument, "to.b"},
		"Case45 infinity":   {names, plain(2), []float64{inf, 0}, one, 1, robot.CodeInvalidArgument, "from.a"},
		"Case45 5000":       {names, plain(2), zero, []float64{0, 5000}, 1, robot.CodeJointLimit, "to.b"},
		"to below":          {names, plain(2), one, []float64{-2.1, 0}, 1, robot.CodeJointLimit, "to.a"},
		"stays below":       {names, plain(2), []float64{-2.1, 0}, []float64{-2.1, 1}, 1, robot.CodeJointLimit, "to.a"},
		"too far to count":  {names, edited(func(l *robot.JointLimits) { l.Bounded = false }), zero, []float64{0, 1e7}, 1, robot.CodeInvalidArgument, "to.b"},
		"velocity NaN":      {names, edited(func(l *robot.JointLimits) { l.Velocity = nan }), zero, one, 1, robot.CodeInvalidArgument, "b"},
		"velocity below 0":  {names, edited(func(l *robot.JointLimits) { l.Velocity = -1 }), zero, one, 1, robot.CodeInvalidArgument, "b"},
		"velocity infinite": {names, edited(func(l *robot.JointLimits) { l.Velocity = inf }), zero, one, 1, robot.CodeInvalidArgument, "b"},
		"acceleration 0":    {names, edited(func(l *robot.JointLimits) { l.Acceleration = 0 }), zero, one, 1, robot.CodeInvalidArgument, "b"},
		"jerk 0":            {names, edited(func(l *robot.JointLimits) { l.Jerk = 0 }), zero, one, 1, robot.CodeInvalidArgument, "b"},
		"limits swapped":    {names, edited(func(l *robot.JointLimits) { l.Lower, l.Upper = 2, -2 }), zero, one, 1, robot.CodeInvalidArgument, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := PointToPoint(tt.names, tt.limits, tt.from, tt.to, tt.scale)
			requireCode(t, err, tt.code, tt.where)
			require.Empty(t, tr.Segments)
		})
	}
	_, err := PointToPoint(names, plain(2), zero, []float64{0, 3}, 1)
	e := requireCode(t, err, robot.CodeJointLimit, "to.b")
	require.InDelta(t, 3, e.Value.Value, 0)
	require.InDelta(t, 2, e.Limit.Value, 0)
	require.Equal(t, []robot.Quantity{{Name: "b", Value: 2}}, e.Nearest)
	// A continuous joint has no position limits.
	_, err = PointToPoint(names, edited(func(l *robot.JointLimits) { l.Bounded = false }), zero, []float64{0, 3}, 1)
	require.NoError(t, err)
}

// From outside the limits a line leads straight back in, and in no other direction.
func TestWayBackInside(t *testing.T) {
	names, limits := []string{"a", "b"}, plain(2)
	from := []float64{-2.4, 2.1}
	tr, err := PointToPoint(names, limits, from, []float64{-2, 2}, 0.5)
	require.NoError(t, err)
	require.Equal(t, from, tr.Start())
	require.NoError(t, tr.Validate(limits))
	q := make([]float64, 2)
	for s := 0.0; s < tr.Duration(); s += 1e-3 {
		tr.Sample(s, q, nil, nil)
		require.GreaterOrEqual(t, q[0], -2.4)
		require.LessOrEqual(t, q[1], 2.1)
	}
	tr, err = ThroughWaypoints(names, limits, [][]float64{from, {-2, 2}, {0, 0}}, 0.5)
	require.NoError(t, err)
	require.NoError(t, tr.Validate(limits))
	_, err = ThroughWaypoints(names, limits, [][]float64{{0, 0}, from, {0, 0}}, 1)
	requireCode(t, err, robot.CodeJointLimit, "waypoints[1].a")
	_, err = ThroughWaypoints(names, limits, [][]float64{from}, 1)
	requireCode(t, err, robot.CodeJointLimit, "waypoints[0].a")
}

func TestZeroDistanceHolds(t *testing.T) {
	names, q := []string{"a", "b"}, []float64{1, -1}
	for name, plan := range map[string]func() (robot.Trajectory, error){
		"point":           func() (robot.Trajectory, error) { return PointToPoint(names, plain(2), q, []float64{1, -1}, 0.5) },
		"one waypoint":    func() (robot.Trajectory, error) { return ThroughWaypoints(names, plain(2), [][]float64{q}, 0.5) },
		"equal waypoints": func() (robot.Trajectory, error) { return ThroughWaypoints(names, plain(2), [][]float64{q, q, q}, 0.5) },
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := plan()
			require.NoError(t, err)
			require.NoError(t, tr.Validate(plain(2)))
			require.Equal(t, robot.Hold(names, q), tr)
		})
	}
}

// The result owns its memory: what the caller does to its slices afterwards
// doesn't reach what was approved.
func TestResultOwnsItsMemory(t *testing.T) {
	names, from, to, limits := []string{"a", "b"}, []float64{0, 0}, []float64{1, -1}, plain(2)
	tr, err := PointToPoint(names, limits, from, to, 1)
	require.NoError(t, err)
	before := tr.Digest()
	names[0], from[0], to[1], limits[0].Velocity = "x", 9, 9, 9
	require.Equal(t, before, tr.Digest())
	// Nor can appending to one of its slices reach the next.
	s := tr.Segments[0]
	for _, x := range [][]float64{s.Q, s.V, s.A, s.J} {
		require.Len(t, x, cap(x))
	}
}

func TestThroughWaypoints(t *testing.T) {
	names, limits := []string{"a", "b"}, plain(2)
	way := [][]float64{{0, 0}, {1, 0}, {1, 0}, {1, 1}, {-1, 0.5}}
	tr, err := ThroughWaypoints(names, limits, way, 0.5)
	require.NoError(t, err)
	require.NoError(t, tr.Validate(limits))
	require.Equal(t, way[0], tr.Start())
	require.InDeltaSlice(t, way[4], tr.End(), 1e-15)

	// It is the three moves one after the other, the equal waypoints merged.
	var segments []robot.Segment
	var sum float64
	for _, leg := range [][2]int{{0, 1}, {2, 3}, {3, 4}} {
		one, err := PointToPoint(names, limits, way[leg[0]], way[leg[1]], 0.5)
		require.NoError(t, err)
		segments, sum = append(segments, one.Segments...), sum+one.Duration()
		// At rest at each waypoint.
		q, v := make([]float64, 2), make([]float64, 2)
		tr.Sample(sum, q, v, nil)
		require.InDeltaSlice(t, way[leg[1]], q, 1e-12)
		require.InDeltaSlice(t, []float64{0, 0}, v, 1e-12)
	}
	require.Equal(t, segments, tr.Segments)

	_, err = ThroughWaypoints(names, limits, nil, 1)
	requireCode(t, err, robot.CodeInvalidArgument, "waypoints")
	_, err = ThroughWaypoints(names, limits, [][]float64{{0, 0}, {1}}, 1)
	requireCode(t, err, robot.CodeInvalidArgument, "waypoints[1]")
	_, err = ThroughWaypoints(names, limits, [][]float64{{0, 0}, {1, math.Inf(-1)}}, 1)
	requireCode(t, err, robot.CodeInvalidArgument, "waypoints[1].b")
	_, err = ThroughWaypoints(names, limits, [][]float64{{0, 0}, {0, -2.5}}, 1)
	requireCode(t, err, robot.CodeJointLimit, "waypoints[1].b")
	_, err = ThroughWaypoints(names, limits, way, 0)
	requireCode(t, err, robot.CodeInvalidArgument, "speed_scale")
}

// TestCase20_EqualWaypointsAreMerged: points that would share a time stamp can't be
// written here, since time is what comes out: 0.02 rad take time, equal points none,
// and nothing jumps.
func TestCase20_EqualWaypointsAreMerged(t *testing.T) {
	limits := plain(1)
	path := [][]float64{{0}, {0.1}, {0.12}, {0.12}, {0.2}}
	tr, err := ThroughWaypoints([]string{"a"}, limits, path, 1)
	require.NoError(t, err)
	require.NoError(t, tr.Validate(limits))
	merged, err := ThroughWaypoints([]string{"a"}, limits, [][]float64{{0}, {0.1}, {0.12}, {0.2}}, 1)
	require.NoError(t, err)
	require.Equal(t, merged.Digest(), tr.Digest())
	curves, err := ThroughCurves([]string{"a"}, limits, []Curve{Line{path[0], path[1]}, Line{path[1], path[2]}, Line{path[2], path[3]}, Line{path[3], path[4]}}, 1)
	require.NoError(t, err)
	require.Equal(t, merged.Digest(), curves.Digest())
	q, v, last := []float64{0}, []float64{0}, 0.0
	for s := 0.0; s < tr.Duration(); s += 1e-3 {
		tr.Sample(s, q, v, nil)
		require.LessOrEqual(t, math.Abs(v[0]), 1.0)
		require.InDelta(t, last, q[0], 1e-3*1.0)
		last = q[0]
	}
}
