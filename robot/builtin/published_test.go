package builtin_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot/urdf"
)

// The built-in arm has the published frames, axes, ranges, masses and inertias,
// within the rounding that README.md states.
func TestSO101HasThePublishedFigures(t *testing.T) {
	const file = "../../../shared/cases/robots/so101/so101_new_calib.urdf"
	if _, err := os.Stat(file); err != nil {
		t.Skipf("SKIPPED %s: the published description isn't at ../shared/cases/robots/so101", t.Name())
	}
	pub, err := urdf.ParseFile(urdf.Files{Description: file})
	require.NoError(t, err)
	m := so101(t)
	require.Equal(t, pub.JointNames(), m.JointNames())
	require.Len(t, m.Joints, len(pub.Joints))
	for i, p := range pub.Joints {
		o := m.Joints[m.JointIndex(p.Name)]
		require.InDelta(t, 0, p.Origin.P.Sub(o.Origin.P).Len(), 2e-8, p.Name)
		require.Less(t, 2*p.Origin.Q.Conjugate().Mul(o.Origin.Q).V.Len(), 2e-5, p.Name) // rad
		require.Equal(t, p.Axis, o.Axis, p.Name)
		require.Equal(t, p.Lower, o.Lower, p.Name)
		require.Equal(t, p.Upper, o.Upper, p.Name)
		require.Equal(t, i, m.JointIndex(p.Name))
		a, b := pub.Links[p.Child].Inertial, m.Links[o.Child].Inertial
		if p.Name == "gripper_frame_joint" { // a frame; published with 1e-9 kg
			require.Nil(t, b)
			continue
		}
		require.Equal(t, a.Mass, b.Mass, p.Name)
		require.InDelta(t, 0, a.Origin.P.Sub(b.Origin.P).Len(), 1e-9, p.Name)
		for k := range a.Inertia {
			require.InDelta(t, a.Inertia[k], b.Inertia[k], 1e-12, p.Name)
		}
	}
	require.Equal(t, pub.Links[pub.Root].Inertial.Mass, m.Links[m.Root].Inertial.Mass)
}
