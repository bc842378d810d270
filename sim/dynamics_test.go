package sim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

var down = vec3{0, 0, -9.80665}

func drawChain(t *rapid.T, n int) *robot.Model {
	return chain(func(lo, hi float64) float64 { return rapid.Float64Range(lo, hi).Draw(t, "c") }, n)
}

func drawQ(t *rapid.T, n int, r float64) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(-r, r), n, n).Draw(t, "q")
}

// forward solves M·a = τ − bias the way the plant does, without rotors.
func forward(t require.TestingT, d *dynamics, q, v, tau []float64) []float64 {
	d.place(q)
	d.inverse(v, nil, d.bias)
	d.mass()
	m, a := append([]float64(nil), d.m...), make([]float64, len(tau))
	for i := range a {
		a[i] = tau[i] - d.bias[i]
	}
	require.True(t, cholesky(m, len(a)))
	solve(m, len(a), a)
	return a
}

func TestForwardDynamicsAgainstArticulatedBodies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "n") // chain has a mimic joint from the fourth on
		tree, err := newTree(drawChain(t, n))
		require.NoError(t, err)
		d := newDynamics(tree, down)
		q, v, tau := drawQ(t, tree.n, 3), drawQ(t, tree.n, 2), drawQ(t, tree.n, 5)
		want := articulated(d, q, v, tau)
		got := forward(t, d, q, v, tau)
		for i := range want {
			require.InDelta(t, want[i], got[i], 1e-7*(1+math.Abs(want[i])))
		}
	})
}

func TestInverseDynamicsUndoesForwardDynamics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, err := newTree(drawChain(t, rapid.IntRange(1, 6).Draw(t, "n")))
		require.NoError(t, err)
		d := newDynamics(tree, down)
		q, v, tau := drawQ(t, tree.n, 3), drawQ(t, tree.n, 2), drawQ(t, tree.n, 5)
		a, back := forward(t, d, q, v, tau), make([]float64, tree.n)
		d.inverse(v, a, back)
		for i := range tau {
			require.InDelta(t, tau[i], back[i], 1e-8*(1+math.Abs(tau[i])))
		}
	})
}

// TestTorqueAtRestIsTheSlopeOfThePotential compares the gravity torque with the
// virtual work of a small displacement.
func TestTorqueAtRestIsTheSlopeOfThePotential(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree, err := newTree(drawChain(t, rapid.IntRange(1, 6).Draw(t, "n")))
		require.NoError(t, err)
		params, _ := driveParams(tree, down)
		q := drawQ(t, tree.n, 3)
		p := newPlant(tree, params, down, q)
		p.settle()
		tau := append([]float64(nil), p.integ...)
		const h = 1e-5
		for i := range q {
			p.q[i] = q[i] + h
			up := p.energy()
			p.q[i] = q[i] - h
			low := p.energy()
			p.q[i] = q[i]
			require.InDelta(t, (up-low)/(2*h), tau[i], 1e-5)
		}
	})
}

func TestEnergyOfAnUndrivenArmIsConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawChain(t, rapid.IntRange(1, 5).Draw(t, "n"))
		tree, err := newTree(m)
		require.NoError(t, err)
		params, _ := driveParams(tree, down)
		p := newPlant(tree, params, down, drawQ(t, tree.n, 1))
		start := p.energy()
		rest := make([]float64, tree.n)
		var kinetic float64
		for range 300 {
			require.True(t, p.step(rest, rest, false))
			v := append([]float64(nil), p.v...)
			e := p.energy()
			clear(p.v)
			kinetic = math.Max(kinetic, e-p.energy())
			copy(p.v, v)
		}
		require.InDelta(t, start, p.energy(), 0.02*kinetic+1e-4, "kinetic energy reached %g J", kinetic)
	})
}

// agm is the arithmetic-geometric mean.
func agm(a, b float64) float64 {
	for math.Abs(a-b) > 1e-15*a {
		a, b = (a+b)/2, math.Sqrt(a*b)
	}
	return a
}

// TestPendulumPeriod holds the period at a large amplitude to the closed form
// 2π·√(I/(m·g·l))/agm(1, cos(θ/2)) (Gauss).
func TestPendulumPeriod(t *testing.T) {
	for _, theta := range []float64{0.1, 1, 2.5} {
		const mass, l = 0.7, 0.4
		tree, err := newTree(pendulum(mass, l))
		require.NoError(t, err)
		params, _ := driveParams(tree, down)
		p := newPlant(tree, params, down, []float64{theta})
		want := 2 * math.Pi * math.Sqrt((mass*l*l+params[0].armature)/(mass*9.80665*l)) / agm(1, math.Cos(theta/2))
		var crossings []float64
		zero := []float64{0}
		for k := 1; len(crossings) < 3; k++ {
			before := p.q[0]
			require.True(t, p.step(zero, zero, false))
			if before > 0 != (p.q[0] > 0) {
				crossings = append(crossings, (float64(k)-p.q[0]/(p.q[0]-before))*Step)
			}
			require.Less(t, k, 20000)
		}
		require.InEpsilon(t, want, crossings[2]-crossings[0], 2e-3, "amplitude %g rad", theta)
	}
}

// TestFramesAgainstPoses walks the tree by robot.Pose alone.
func TestFramesAgainstPoses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawChain(t, 6)
		tree, err := newTree(m)
		require.NoError(t, err)
		d := newDynamics(tree, down)
		q := drawQ(t, tree.n, 3)
		d.place(q)
		d.worlds()
		at := robot.IdentityPose()
		for k := range m.Joints {
			j := &m.Joints[k]
			var x float64
			if j.Mimic != nil {
				x = j.Mimic.Multiplier*q[m.Joints[j.Mimic.Joint].Active] + j.Mimic.Offset
			} else {
				x = q[j.Active]
			}
			move := robot.IdentityPose()
			if j.Type == robot.Prismatic {
				move.P = j.Axis.Mul(x)
			} else {
				r := rotation(j.Axis, x)
				move.Q = quatOf(&r)
			}
			at = at.Mul(j.Origin).Mul(move)
			f := d.linkFrame(j.Child)
			got := f.pose()
			require.InDelta(t, 0, got.P.Sub(at.P).Len(), 1e-9)
			require.InDelta(t, 1, math.Abs(got.Q.Dot(at.Q)), 1e-9)
		}
	})
}

// TestCase46 refuses limits that would turn a clamp into something else.
func TestCase46_LimitsThatAreNoneFailAtStartUp(t *testing.T) {
	for name, spoil := range map[string]func(*robot.JointLimits){
		"NaN":           func(l *robot.JointLimits) { l.Velocity = math.NaN() },
		"negative":      func(l *robot.JointLimits) { l.Acceleration = -5 },
		"infinite":      func(l *robot.JointLimits) { l.Jerk = math.Inf(1) },
		"zero":          func(l *robot.JointLimits) { l.Acceleration = 0 },
		"NaN effort":    func(l *robot.JointLimits) { l.Effort = math.NaN() },
		"lower > upper": func(l *robot.JointLimits) { l.Bounded, l.Lower, l.Upper = true, 1, -1 },
	} {
		t.Run(name, func(t *testing.T) {
			m := pendulum(1, 1)
			spoil(&m.Limits[0])
			_, err := New(Options{Model: m, Clock: Fast})
			require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err))
			require.ErrorContains(t, err, "hinge")
			_, err = NewRehearser(m, nil, 0, RehearserOptions{})
			require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err))
		})
	}
}
