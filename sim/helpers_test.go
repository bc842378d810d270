package sim

import (
	"flag"
	"math"
	"strconv"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func so101(t testing.TB) *robot.Model {
	m, err := builtin.Load("so101")
	require.NoError(t, err)
	return m
}

// restToRest moves all joints from a to b in the same time with the shortest
// profile of four constant-jerk pieces (j, -j, -j, j) that scale times the limits
// allow, and not in less than least seconds.
func restToRest(m *robot.Model, a, b []float64, scale, least float64) robot.Trajectory {
	n := len(a)
	T := least / 4
	for i := range n {
		d, l := math.Abs(b[i]-a[i]), m.Limits[i]
		T = math.Max(T, math.Max(d/(2*scale*l.Velocity), math.Max(math.Sqrt(d/(2*scale*l.Acceleration)), math.Cbrt(d/(2*scale*l.Jerk)))))
	}
	T = math.Max(T, 0.002)
	out := robot.Trajectory{Joints: m.JointNames()}
	q, v, acc := append([]float64(nil), a...), make([]float64, n), make([]float64, n)
	for _, k := range [...]struct{ t, j float64 }{{T, 1}, {2 * T, -1}, {T, 1}} {
		s := robot.Segment{Duration: k.t}
		for i := range n {
			j := k.j * (b[i] - a[i]) / (2 * T * T * T)
			s.Q, s.V, s.A, s.J = append(s.Q, q[i]), append(s.V, v[i]), append(s.A, acc[i]), append(s.J, j)
			q[i], v[i], acc[i] = q[i]+k.t*(v[i]+k.t*(acc[i]/2+k.t*j/6)), v[i]+k.t*(acc[i]+k.t*j/2), acc[i]+k.t*j
		}
		out.Segments = append(out.Segments, s)
	}
	return out
}

func bounds6(n int, x float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = x
	}
	return out
}

func motionOf(tr robot.Trajectory, epoch uint64) robot.Motion {
	n := len(tr.Joints)
	return robot.Motion{ID: "test", Epoch: epoch, Trajectory: tr, StartTolerance: bounds6(n, 0.02), MaxDeviation: bounds6(n, 0.15)}
}

// pendulum is one revolute joint about y with a point-like mass at the end of a
// massless rod of length l that hangs down at q = 0.
func pendulum(mass, l float64) *robot.Model {
	d := &robot.Description{
		Name: "pendulum",
		Links: []robot.Link{
			{Name: "base", Parent: -1},
			{Name: "bob", Parent: 0, Inertial: &robot.Inertial{Origin: robot.Pose{P: vec3{0, 0, -l}, Q: mgl64.QuatIdent()}, Mass: mass}},
		},
		Joints: []robot.Joint{{Name: "hinge", Type: robot.Continuous, Parent: 0, Child: 1, Origin: robot.IdentityPose(), Axis: vec3{0, 1, 0}}},
		Active: []int{0},
	}
	return &robot.Model{
		Description: d, Tip: 1, Home: []float64{0}, Arm: []int{0},
		Limits: []robot.JointLimits{{Velocity: 10, Acceleration: 10, Jerk: 100}},
	}
}

// chain is a random serial arm of n joints with mass everywhere, no friction, and
// a mimic joint and a slider in it where there is room.
func chain(seed func(lo, hi float64) float64, n int) *robot.Model {
	d := &robot.Description{Name: "chain", Links: []robot.Link{{Name: "base", Parent: -1}}}
	m := &robot.Model{Description: d}
	for i := range n {
		d.Links = append(d.Links, robot.Link{Name: "l" + string(rune('a'+i)), Parent: i, Inertial: &robot.Inertial{
			Origin:  robot.Pose{P: vec3{seed(-.2, .2), seed(-.2, .2), seed(-.2, .2)}, Q: mgl64.QuatRotate(seed(-3, 3), vec3{seed(-1, 1), seed(-1, 1), 1}.Normalize())},
			Mass:    seed(0.1, 2),
			Inertia: [6]float64{seed(.01, .02), 0, 0, seed(.01, .02), 0, seed(.01, .02)},
		}})
		j := robot.Joint{
			Name: "j" + string(rune('a'+i)), Type: robot.Revolute, Parent: i, Child: i + 1,
			Origin: robot.Pose{P: vec3{seed(-.3, .3), seed(-.3, .3), seed(-.3, .3)}, Q: mgl64.QuatRotate(seed(-3, 3), vec3{1, seed(-1, 1), seed(-1, 1)}.Normalize())},
			Axis:   vec3{seed(-1, 1), seed(-1, 1), 1}.Normalize(), Active: len(d.Active),
		}
		switch {
		case i == 2:
			j.Type = robot.Prismatic
		case i == 3:
			j.Active, j.Mimic = -1, &robot.Mimic{Joint: 1, Multiplier: -0.7, Offset: 0.2}
		}
		if j.Mimic == nil {
			d.Active = append(d.Active, i)
			m.Limits = append(m.Limits, robot.JointLimits{Velocity: 3, Acceleration: 10, Jerk: 100})
			m.Home = append(m.Home, 0)
			m.Arm = append(m.Arm, j.Active)
		}
		d.Joints = append(d.Joints, j)
	}
	m.Tip = n
	return m
}

// checkOneIn is rapid.Check for a property that takes long: one in share of the
// draws that -rapid.checks asks for. It sets that flag meanwhile, so neither the
// test nor its parents may be parallel.
func checkOneIn(t *testing.T, share int, property func(*rapid.T)) {
	t.Helper()
	checks := flag.Lookup("rapid.checks").Value
	was := checks.String()
	require.NoError(t, checks.Set(strconv.Itoa(max(1, draws(t, 100)/share))))
	defer func() { require.NoError(t, checks.Set(was)) }()
	rapid.Check(t, property)
}

// draws is usual times what -rapid.checks asks for, over the 100 that it usually does.
func draws(t *testing.T, usual int) int {
	n, err := strconv.Atoi(flag.Lookup("rapid.checks").Value.String())
	require.NoError(t, err)
	return usual * n / 100
}
