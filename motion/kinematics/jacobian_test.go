package kinematics

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// TestJacobianAgainstFiniteDifferences: on random trees with all joint types and
// mimics, every column of every link equals the central difference of FK.
func TestJacobianAgainstFiniteDifferences(t *testing.T) {
	const h, tolerance = 1e-6, 1e-7
	rapid.Check(t, func(t *rapid.T) {
		m := kintest.Tree(t, 10)
		q := kintest.Q(t, m)
		tree, err := New(m.Description)
		require.NoError(t, err)
		n := tree.DoF()
		d, plus, minus := tree.NewData(), tree.NewData(), tree.NewData()
		jac := make([]float64, 6*n)
		tree.FK(d, q)
		link := rapid.IntRange(0, len(m.Links)-1).Draw(t, "link")
		tree.Jacobian(d, link, jac)
		for i := range n {
			old := q[i]
			q[i] = old + h
			tree.FK(plus, q)
			q[i] = old - h
			tree.FK(minus, q)
			q[i] = old
			lin := plus.Position(link).Sub(minus.Position(link)).Mul(1 / (2 * h))
			ang := spin(&minus.Frames[link], &plus.Frames[link]).Mul(1 / (2 * h))
			for k := range 3 {
				require.InDelta(t, lin[k], jac[k*n+i], tolerance, "linear %d of joint %d", k, i)
				require.InDelta(t, ang[k], jac[(3+k)*n+i], tolerance, "angular %d of joint %d", k, i)
			}
		}
	})
}

// spin returns the small rotation vector from a to b in the root frame, from the
// antisymmetric part of B·Aᵀ.
func spin(a, b *Frame) mgl64.Vec3 {
	var r [3][3]float64
	for i := range 3 {
		for j := range 3 {
			for k := range 3 {
				r[i][j] += b[3*i+k] * a[3*j+k]
			}
		}
	}
	return mgl64.Vec3{r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]}.Mul(0.5)
}

func TestJacobianOfRootIsZero(t *testing.T) {
	m := kintest.Arm7()
	tree, err := New(m.Description)
	require.NoError(t, err)
	d, jac := tree.NewData(), make([]float64, 6*tree.DoF())
	jac[3] = 1
	tree.FK(d, m.Home)
	tree.Jacobian(d, m.Root, jac)
	require.Equal(t, make([]float64, 6*tree.DoF()), jac)
}

func TestMimicAddsToMaster(t *testing.T) {
	b := kintest.NewBuilder("mimic", "base")
	z := mgl64.Vec3{0, 0, 1}
	a := b.Joint("a", robot.Revolute, 0, robot.IdentityPose(), z, -1, 1)
	c := b.Mimic("b", robot.Revolute, a, kintest.At(1, 0, 0, 0, 0, 0), z, 0, -2, 0.1)
	tip := b.Joint("tip", robot.Fixed, c, kintest.At(1, 0, 0, 0, 0, 0), z, 0, 0)
	tree, err := New(b.Model(tip).Description)
	require.NoError(t, err)
	require.Equal(t, 1, tree.DoF())
	d, jac := tree.NewData(), make([]float64, 6)
	tree.FK(d, []float64{0.05})
	tree.Jacobian(d, tip, jac)
	require.InDelta(t, -1, jac[5], 1e-12, "1 of the master and -2 of the mimic joint")
}

// TestBuiltinJacobians: the same on every link of every built-in robot.
func TestBuiltinJacobians(t *testing.T) {
	const h, tolerance = 1e-6, 1e-7
	for _, name := range builtin.Names() {
		m, err := builtin.Load(name)
		require.NoError(t, err)
		tree, err := New(m.Description)
		require.NoError(t, err)
		n := tree.DoF()
		d, plus, minus := tree.NewData(), tree.NewData(), tree.NewData()
		jac := make([]float64, 6*n)
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				q := kintest.Q(t, m)
				link := rapid.IntRange(0, len(m.Links)-1).Draw(t, "link")
				tree.FK(d, q)
				tree.Jacobian(d, link, jac)
				for i := range n {
					old := q[i]
					q[i] = old + h
					tree.FK(plus, q)
					q[i] = old - h
					tree.FK(minus, q)
					q[i] = old
					lin := plus.Position(link).Sub(minus.Position(link)).Mul(1 / (2 * h))
					ang := spin(&minus.Frames[link], &plus.Frames[link]).Mul(1 / (2 * h))
					for k := range 3 {
						require.InDelta(t, lin[k], jac[k*n+i], tolerance, "linear %d of joint %d of link %d", k, i, link)
						require.InDelta(t, ang[k], jac[(3+k)*n+i], tolerance, "angular %d of joint %d of link %d", k, i, link)
					}
				}
			})
		})
	}
}
