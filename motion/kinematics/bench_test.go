package kinematics

import (
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

// baseline is the plain way: 4×4 matrices multiplied along the chain.
func baseline(m *robot.Model, origins []mgl64.Mat4, q []float64, out []mgl64.Mat4) {
	out[m.Root] = mgl64.Ident4()
	for i := range m.Joints {
		j := &m.Joints[i]
		t := out[j.Parent].Mul4(origins[i])
		if j.Active >= 0 {
			t = t.Mul4(mgl64.HomogRotate3D(q[j.Active], j.Axis))
		}
		out[j.Child] = t
	}
}

func BenchmarkFK7(b *testing.B) {
	m := kintest.Arm7()
	tree, err := New(m.Description)
	require.NoError(b, err)
	d, jac := tree.NewData(), make([]float64, 6*tree.DoF())
	q := append([]float64(nil), m.Home...)
	origins := make([]mgl64.Mat4, len(m.Joints))
	for i, j := range m.Joints {
		origins[i] = mgl64.Translate3D(j.Origin.P[0], j.Origin.P[1], j.Origin.P[2]).Mul4(j.Origin.Q.Mat4())
	}
	out := make([]mgl64.Mat4, len(m.Links))
	b.Run("fk", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			q[0] += 1e-9
			tree.FK(d, q)
		}
	})
	b.Run("fk-baseline-mat4", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			q[0] += 1e-9
			baseline(m, origins, q, out)
		}
	})
	b.Run("jacobian", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tree.Jacobian(d, m.Tip, jac)
		}
	})
	b.Run("fk+jacobian", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			q[0] += 1e-9
			tree.FK(d, q)
			tree.Jacobian(d, m.Tip, jac)
		}
	})
}
