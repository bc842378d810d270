package builtin_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// The example scene fits the built-in arm: the arm stands clear of everything in
// its named poses and on the ways between them, but for the table that its base
// stands on, and the things to grip are within its reach and narrow enough for
// its jaws.
func TestExampleSceneFitsSO101(t *testing.T) {
	m := so101(t)
	data, err := os.ReadFile("../../testdata/scenes/table.json")
	require.NoError(t, err)
	scene, err := robot.ParseScene("table.json", data)
	require.NoError(t, err)
	require.NoError(t, scene.CheckNames(m.Description))
	things := scene.Bodies
	for _, z := range scene.Zones {
		things = append(things, robot.Body{Name: z.Name, Pose: z.Pose, Geometry: z.Geometry})
	}
	zero := make([]float64, m.DoF())
	for s := range 101 {
		q := make([]float64, m.DoF())
		for i := range q {
			q[i] = zero[i] + (m.Home[i]-zero[i])*float64(s)/100
		}
		at := frames(m.Description, q)
		for i, l := range m.Links {
			if i == m.Root {
				continue
			}
			for _, c := range l.Colliders {
				for _, b := range things {
					require.False(t, overlap(c.Geometry, b.Geometry, at[i].Mul(c.Origin), b.Pose, 0.01),
						"%s and %s at %d %% of the way home", c.Name, b.Name, s)
				}
			}
		}
	}
	movable := 0
	for _, b := range scene.Bodies {
		if b.Movable {
			movable++
			require.Less(t, b.Pose.P.Len(), 0.38)
			require.LessOrEqual(t, 2*b.Geometry.Radius, 0.03)
		}
	}
	require.Equal(t, 2, movable)
}
