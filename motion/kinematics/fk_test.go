package kinematics

import (
	"math"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

// reference computes the poses of all links with quaternions, straight from the
// meaning of the description.
func reference(m *robot.Model, q []float64) []robot.Pose {
	out := make([]robot.Pose, len(m.Links))
	out[m.Root] = robot.IdentityPose()
	for _, j := range m.Joints {
		var v float64
		switch {
		case j.Type == robot.Fixed:
		case j.Mimic != nil:
			v = j.Mimic.Multiplier*q[m.Joints[j.Mimic.Joint].Active] + j.Mimic.Offset
		default:
			v = q[j.Active]
		}
		move := robot.IdentityPose()
		switch j.Type {
		case robot.Prismatic:
			move.P = j.Axis.Mul(v)
		case robot.Revolute, robot.Continuous:
			move.Q = mgl64.QuatRotate(v, j.Axis)
		}
		out[j.Child] = out[j.Parent].Mul(j.Origin).Mul(move)
	}
	return out
}

func TestFKAgreesWithQuaternions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := kintest.Tree(t, 12)
		q := kintest.Q(t, m)
		tree, err := New(m.Description)
		require.NoError(t, err)
		d := tree.NewData()
		tree.FK(d, q)
		for i, want := range reference(m, q) {
			got := d.Pose(i)
			require.InDelta(t, 0, got.P.Sub(want.P).Len(), 1e-12, "link %d", i)
			require.InDelta(t, 1, math.Abs(got.Q.Dot(want.Q)), 1e-12, "link %d", i)
			require.GreaterOrEqual(t, got.Q.W, 0.0)
			v := mgl64.Vec3{0.3, -0.2, 0.9}
			require.InDelta(t, 0, d.Direction(i, v).Sub(want.Q.Rotate(v)).Len(), 1e-12)
			require.Equal(t, got.P, d.Position(i))
		}
	})
}

func TestFKAndJacobianAllocateNothing(t *testing.T) {
	m := kintest.Arm7()
	tree, err := New(m.Description)
	require.NoError(t, err)
	d, j := tree.NewData(), make([]float64, 6*tree.DoF())
	require.Zero(t, testing.AllocsPerRun(100, func() {
		tree.FK(d, m.Home)
		tree.Jacobian(d, m.Tip, j)
	}))
}

// TestCase7_NegativeAxis: a joint about (0,0,-1) at +0.3 turns by -0.3 about z,
// and its Jacobian column points along -z.
func TestCase7_NegativeAxis(t *testing.T) {
	b := kintest.NewBuilder("case7", "base")
	link := b.Joint("j", robot.Revolute, 0, robot.IdentityPose(), mgl64.Vec3{0, 0, -1}, -1, 1)
	tip := b.Joint("tip", robot.Fixed, link, kintest.At(0.5, 0, 0, 0, 0, 0), mgl64.Vec3{}, 0, 0)
	tree, err := New(b.Model(tip).Description)
	require.NoError(t, err)
	d, jac := tree.NewData(), make([]float64, 6)
	tree.FK(d, []float64{0.3})
	p := d.Pose(tip)
	require.InDelta(t, -0.3, 2*math.Atan2(p.Q.Z(), p.Q.W), 1e-12)
	require.InDelta(t, -0.5*math.Sin(0.3), p.P[1], 1e-12)
	tree.Jacobian(d, tip, jac)
	require.Equal(t, []float64{0, 0, -1}, jac[3:])
	const h = 1e-6
	tree.FK(d, []float64{0.3 + h})
	plus := d.Position(tip)
	tree.FK(d, []float64{0.3 - h})
	for k, v := range plus.Sub(d.Position(tip)).Mul(1 / (2 * h)) {
		require.InDelta(t, v, jac[k], 1e-6)
	}
}

func TestCase5_TranslationBeforeRotation(t *testing.T) {
	b := kintest.NewBuilder("case5", "base")
	link := b.Joint("j", robot.Revolute, 0, kintest.At(1, 0, 0, 0, 0, math.Pi/2), mgl64.Vec3{0, 0, 1}, -1, 1)
	tree, err := New(b.Model(link).Description)
	require.NoError(t, err)
	d := tree.NewData()
	tree.FK(d, []float64{0})
	p := d.Pose(link)
	require.InDelta(t, 0, p.P.Sub(mgl64.Vec3{1, 0, 0}).Len(), 1e-15)
	require.InDelta(t, math.Pi/2, 2*math.Atan2(p.Q.Z(), p.Q.W), 1e-12)
}

func TestNewRefuses(t *testing.T) {
	for name, spoil := range map[string]func(m *robot.Model){
		"axis not unit":        func(m *robot.Model) { m.Joints[2].Axis = mgl64.Vec3{0, 0, 2} },
		"axis zero":            func(m *robot.Model) { m.Joints[2].Axis = mgl64.Vec3{} },
		"axis nan":             func(m *robot.Model) { m.Joints[2].Axis[1] = math.NaN() },
		"origin inf":           func(m *robot.Model) { m.Joints[2].Origin.P[0] = math.Inf(1) },
		"quaternion zero":      func(m *robot.Model) { m.Joints[2].Origin.Q = mgl64.Quat{} },
		"no such parent":       func(m *robot.Model) { m.Joints[2].Parent = 99 },
		"child before parent":  func(m *robot.Model) { m.Joints[1], m.Joints[2] = m.Joints[2], m.Joints[1] },
		"two parents":          func(m *robot.Model) { m.Joints[3].Child = m.Joints[2].Child },
		"self parent":          func(m *robot.Model) { m.Joints[2].Parent = m.Joints[2].Child },
		"unknown type":         func(m *robot.Model) { m.Joints[2].Type = 0 },
		"active out of range":  func(m *robot.Model) { m.Joints[2].Active = 50 },
		"active missing":       func(m *robot.Model) { m.Joints[2].Active = -1 },
		"mimic out of range":   func(m *robot.Model) { m.Joints[2].Mimic = &robot.Mimic{Joint: 77} },
		"mimic nan":            func(m *robot.Model) { m.Joints[2].Mimic = &robot.Mimic{Multiplier: math.NaN()} },
		"root out of range":    func(m *robot.Model) { m.Root = -1 },
		"link left over":       func(m *robot.Model) { m.Links = append(m.Links, robot.Link{Name: "loose"}) },
		"nothing":              func(m *robot.Model) { m.Description = nil },
		"description is empty": func(m *robot.Model) { m.Description = &robot.Description{} },
	} {
		t.Run(name, func(t *testing.T) {
			m := kintest.Arm7()
			spoil(m)
			_, err := New(m.Description)
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
		})
	}
}
