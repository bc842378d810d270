package builtin_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/urdf"
)

// every runs a test on each built-in robot.
func every(t *testing.T, f func(t *testing.T, name string, m *robot.Model)) {
	for _, name := range builtin.Names() {
		t.Run(name, func(t *testing.T) {
			m, err := builtin.Load(name)
			require.NoError(t, err)
			f(t, name, m)
		})
	}
}

// Nothing of a built-in robot is assumed or doubtful, and each is itself.
func TestEveryRobotIsComplete(t *testing.T) {
	require.Equal(t, "so101", builtin.Names()[0])
	seen := map[[32]byte]string{}
	every(t, func(t *testing.T, name string, m *robot.Model) {
		require.Equal(t, name, m.Name)
		require.Empty(t, m.Warnings)
		require.Empty(t, m.Assumed)
		require.NotEmpty(t, m.Arm)
		for i, l := range m.Limits {
			joint := m.JointNames()[i]
			require.Empty(t, l.Assumed, joint)
			for _, v := range []float64{l.Velocity, l.Acceleration, l.Jerk, l.Effort} {
				require.Positive(t, v, joint)
			}
			// Full speed within the range, and full acceleration in a tenth of a
			// second at most: neither a limit that never binds nor one that jolts.
			require.LessOrEqual(t, l.Acceleration/l.Jerk, 0.1+1e-9, joint)
			if l.Bounded {
				require.LessOrEqual(t, l.Velocity*l.Velocity/l.Acceleration, l.Upper-l.Lower, joint)
			}
		}
		again, err := builtin.Load(name)
		require.NoError(t, err)
		require.Equal(t, m.ModelHash, again.ModelHash)
		require.NotSame(t, m.Description, again.Description)
		require.Empty(t, seen[m.ModelHash])
		seen[m.ModelHash] = name
		text, err := os.ReadFile(name + "/README.md")
		require.NoError(t, err)
		require.Contains(t, string(text), "| what | source |")
	})
}

// No mass can be spread so that one principal moment exceeds the sum of the others.
func TestEveryInertiaIsOneOfABody(t *testing.T) {
	every(t, func(t *testing.T, _ string, m *robot.Model) {
		for _, l := range m.Links {
			in := l.Inertial
			if in == nil {
				require.Empty(t, l.Colliders, "%s has a body and no mass", l.Name)
				continue
			}
			require.Positive(t, in.Mass)
			// ½·tr(I)·1 − I is the second moment of the mass: it holds no negative
			// spread in any direction.
			half := (in.Inertia[0] + in.Inertia[3] + in.Inertia[5]) / 2
			s := mgl64.Mat3{
				half - in.Inertia[0], -in.Inertia[1], -in.Inertia[2],
				-in.Inertia[1], half - in.Inertia[3], -in.Inertia[4],
				-in.Inertia[2], -in.Inertia[4], half - in.Inertia[5],
			}
			tol := 1e-9 * half
			for i := range 3 {
				require.Greater(t, s.At(i, i), -tol, l.Name)
				for k := range i {
					require.Greater(t, s.At(i, i)*s.At(k, k)-s.At(i, k)*s.At(i, k), -tol*half, l.Name)
				}
			}
			require.Greater(t, s.Det(), -tol*half*half, l.Name)
			// And it is not that of something far larger than the link.
			require.Less(t, math.Sqrt(half/in.Mass), 0.5, l.Name)
		}
	})
}

func configuration(m *robot.Model, r *rand.Rand) []float64 {
	q := make([]float64, m.DoF())
	for i, l := range m.Limits {
		lower, upper := l.Lower, l.Upper
		if !l.Bounded {
			lower, upper = -math.Pi, math.Pi
		}
		q[i] = lower + r.Float64()*(upper-lower)
	}
	return q
}

// named returns what an SRDF says of each named pose, other joints at home.
func named(t *testing.T, name string, m *robot.Model) map[string][]float64 {
	data, err := os.ReadFile(name + "/" + name + ".srdf")
	require.NoError(t, err)
	sem, err := urdf.ParseSRDF(name+".srdf", data)
	require.NoError(t, err)
	out := map[string][]float64{}
	for _, s := range sem.States {
		if out[s.Name] == nil {
			out[s.Name] = slices.Clone(m.Home)
		}
		for _, v := range s.Values {
			out[s.Name][m.ActiveIndex(v.Joint)] = v.Value
		}
	}
	require.Equal(t, m.Home, out["home"])
	return out
}

// From home, straight in joint space, each named pose is reached without anything
// touching anything, the table or floor that the robot stands on included.
func TestEveryNamedPoseIsFree(t *testing.T) {
	every(t, func(t *testing.T, name string, m *robot.Model) {
		for pose, to := range named(t, name, m) {
			for s := range 51 {
				q := make([]float64, len(to))
				for i := range q {
					q[i] = m.Home[i] + (to[i]-m.Home[i])*float64(s)/50
				}
				gap := 0.003
				if s == 0 || name == "panda" && pose == "closed" {
					gap = 0 // closed fingers touch
				}
				require.Empty(t, collisions(m, q, gap), "%s at %d %%", pose, 2*s)
				require.GreaterOrEqual(t, lowest(m, q), -1e-9, "%s at %d %%", pose, 2*s)
			}
		}
	})
}

// How much of the range is free of self-collision, and that a robot that can't
// reach itself never seems to.
func TestEveryRangeIsMostlyFree(t *testing.T) {
	least := map[string]float64{"so101": 0.8, "panda": 0.8, "ur5e": 0.75, "pantilt": 1, "rover": 1, "gantry": 1}
	every(t, func(t *testing.T, name string, m *robot.Model) {
		r := rand.New(rand.NewPCG(101, 4))
		const n = 1500
		free := 0
		for range n {
			if len(collisions(m, configuration(m, r), 0)) == 0 {
				free++
			}
		}
		require.Contains(t, least, name)
		require.GreaterOrEqual(t, float64(free)/n, least[name])
		if least[name] < 1 {
			require.Less(t, free, n, "an arm that long meets itself somewhere")
		}
	})
}

// Gravity never asks more than about half of what a joint has, in any pose, and with
// that, friction at full speed and the acceleration limit something is left.
func TestEveryJointCarriesAndAcceleratesItsLoad(t *testing.T) {
	every(t, func(t *testing.T, name string, m *robot.Model) {
		share := 0.5
		if name == "panda" { // its second joint holds up to 55 N·m of 87 when it is stretched out
			share = 0.65
		}
		r := rand.New(rand.NewPCG(9, 81))
		for range 1000 {
			q := configuration(m, r)
			for a, j := range m.Active {
				l := m.Limits[a]
				hold, inertia := load(m, q, j)
				require.LessOrEqual(t, math.Abs(hold), share*l.Effort, "%s at %v", m.Joints[j].Name, q)
				drag := m.Joints[j].Friction + m.Joints[j].Damping*l.Velocity
				require.LessOrEqual(t, math.Abs(hold)+inertia*l.Acceleration+drag, l.Effort, "%s at %v", m.Joints[j].Name, q)
			}
		}
	})
}
