package builtin_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// What each robot has beside its joints is what its README.md says.
func TestEveryRobotsEquipment(t *testing.T) {
	every(t, func(t *testing.T, name string, m *robot.Model) {
		switch name {
		case "pantilt":
			require.Equal(t, []robot.Actuator{{Name: "lamp", Kind: "led", Unit: "1", Upper: 1, OnStop: "off", OnLost: "off"}}, m.Actuators)
			require.Nil(t, m.Base)
			require.Empty(t, m.References)
		case "rover":
			require.Equal(t, robot.Base{X: 0, Y: 1, Yaw: 2, Left: 3, Right: 4, Radius: 0.033, Track: 0.16}, *m.Base)
			require.Empty(t, m.Actuators)
			require.Empty(t, m.References)
		case "gantry":
			require.Equal(t, []robot.Reference{
				{Joint: 0, Switch: -0.298, Direction: -1, Speed: 0.03, Travel: 0.61},
				{Joint: 1, Switch: -0.198, Direction: -1, Speed: 0.03, Travel: 0.41},
				{Joint: 2, Switch: -0.002, Direction: 1, Speed: 0.01, Travel: 0.25},
			}, m.References)
			require.Nil(t, m.Base)
			require.Empty(t, m.Actuators)
			for _, r := range m.References { // from wherever the joint is, the switch is within the search
				l := m.Limits[r.Joint]
				require.Less(t, math.Max(r.Switch-l.Lower, l.Upper-r.Switch), r.Travel)
			}
		default:
			require.Nil(t, m.Base)
			require.Empty(t, m.Actuators)
			require.Empty(t, m.References)
		}
	})
}

// The wheels stand on the floor, where the base's equations have them, and a turn
// forwards rolls the rover along its x axis without slipping.
func TestRoverStandsOnItsWheels(t *testing.T) {
	m, err := builtin.Load("rover")
	require.NoError(t, err)
	b := m.Base
	at := frames(m.Description, m.Home)
	left, right := &m.Joints[m.Active[b.Left]], &m.Joints[m.Active[b.Right]]
	require.InDelta(t, b.Track, at[left.Child].P.Sub(at[right.Child].P).Len(), 1e-12)
	require.InDelta(t, 0, lowest(m, m.Home), 1e-12)
	for _, j := range []*robot.Joint{left, right} {
		hub := at[j.Child].P
		require.InDelta(t, b.Radius, hub[2], 1e-12)
		require.InDelta(t, b.Radius, m.Links[j.Child].Colliders[0].Geometry.Radius, 1e-12)
		// The speed of the tyre's lowest point against the hub, for 1 rad/s: what the
		// floor has to make up for, forwards.
		axle := at[j.Child].Q.Rotate(j.Axis)
		rim := axle.Cross(mgl64.Vec3{0, 0, -b.Radius})
		require.Less(t, rim.Add(mgl64.Vec3{b.Radius, 0, 0}).Len(), 1e-12)
	}
	// The footprint is the data sheet's: 138 mm by 178 mm, 192 mm high.
	var low, high mgl64.Vec3
	for i := range m.Links {
		for _, c := range m.Links[i].Colliders {
			for k := range 3 {
				dir := mgl64.Vec3{}
				dir[k] = 1
				pose := at[i].Mul(c.Origin)
				high[k] = math.Max(high[k], support(c.Geometry, pose, dir, 0)[k])
				low[k] = math.Min(low[k], support(c.Geometry, pose, dir.Mul(-1), 0)[k])
			}
		}
	}
	require.InDelta(t, 0.138, high[0]-low[0], 1e-9)
	require.InDelta(t, 0.178, high[1]-low[1], 1e-9)
	require.InDelta(t, 0.192, high[2]-low[2], 1e-9)
}

// Whatever the wheels may do, x, y and yaw may do: their limits are wide enough that
// the wheels' bind, and no more than three times what the wheels can reach.
func TestRoverWheelsBind(t *testing.T) {
	m, err := builtin.Load("rover")
	require.NoError(t, err)
	b := m.Base
	w := m.Limits[b.Left]
	require.Equal(t, w, m.Limits[b.Right])
	r := rand.New(rand.NewPCG(2, 2))
	pick := func(limit float64) (l, r2 float64) {
		corner := func() float64 { return []float64{-limit, 0, limit, limit * (2*r.Float64() - 1)}[r.IntN(4)] }
		return corner(), corner()
	}
	var most [3][3]float64 // speed, acceleration, jerk of x, y, yaw
	for range 200000 {
		vl, vr := pick(w.Velocity)
		al, ar := pick(w.Acceleration)
		jl, jr := pick(w.Jerk)
		along := func(l, r float64) float64 { return b.Radius * (l + r) / 2 }
		turn := func(l, r float64) float64 { return b.Radius * (r - l) / b.Track }
		v, a, j := along(vl, vr), along(al, ar), along(jl, jr)
		o, e, k := turn(vl, vr), turn(al, ar), turn(jl, jr)
		// The path's own direction is what heading makes of it, so its size counts.
		for i, x := range [3]float64{v, math.Hypot(a, v*o), math.Hypot(j-v*o*o, 2*a*o+v*e)} {
			most[0][i] = math.Max(most[0][i], math.Abs(x))
		}
		for i, x := range [3]float64{o, e, k} {
			most[2][i] = math.Max(most[2][i], math.Abs(x))
		}
	}
	most[1] = most[0]
	for i, joint := range []int{b.X, b.Y, b.Yaw} {
		l := m.Limits[joint]
		for k, limit := range []float64{l.Velocity, l.Acceleration, l.Jerk} {
			require.Less(t, most[i][k], limit)
			require.Greater(t, 3*most[i][k], limit)
		}
	}
}

// Case 7 on a robot of our own: an axis that points the other way turns the other way.
func TestCase7_PantiltLooksUpForAPositiveTilt(t *testing.T) {
	m, err := builtin.Load("pantilt")
	require.NoError(t, err)
	require.Equal(t, mgl64.Vec3{0, -1, 0}, m.Joints[m.JointIndex("tilt")].Axis)
	beam := frames(m.Description, []float64{0, 0.3})[m.Tip]
	require.InDelta(t, math.Sin(0.3), beam.Q.Rotate(mgl64.Vec3{1, 0, 0})[2], 1e-12)
	require.Greater(t, beam.P[2], frames(m.Description, m.Home)[m.Tip].P[2])
}

// Case 17 on a robot of our own: sliding joints slide, and turn nothing.
func TestCase17_GantrySlides(t *testing.T) {
	m, err := builtin.Load("gantry")
	require.NoError(t, err)
	zero := frames(m.Description, []float64{0, 0, 0})[m.Tip]
	r := rand.New(rand.NewPCG(1, 7))
	for range 100 {
		q := configuration(m, r)
		tip := frames(m.Description, q)[m.Tip]
		require.Less(t, tip.P.Sub(zero.P).Sub(mgl64.Vec3{q[0], q[1], q[2]}).Len(), 1e-12)
		require.Equal(t, mgl64.QuatIdent(), tip.Q)
		require.GreaterOrEqual(t, lowest(m, q), 0.03-1e-12)
	}
}
