package sim

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

func busyScene() *robot.Scene {
	body := func(name string, x, y, z float64, size vec3) robot.Body {
		p := robot.IdentityPose()
		p.P = vec3{x, y, z}
		return robot.Body{Name: name, Pose: p, Geometry: robot.Geometry{Kind: robot.Box, Size: size}}
	}
	return &robot.Scene{Name: "busy", Bodies: []robot.Body{
		body("table", 0.3, 0, -0.03, vec3{0.4, 0.6, 0.02}),
		body("shelf", 0.45, 0, 0.25, vec3{0.1, 0.4, 0.02}),
		body("post", 0.1, 0.35, 0.2, vec3{0.05, 0.05, 0.4}),
		body("box", 0.3, -0.3, 0.02, vec3{0.05, 0.05, 0.04}),
	}}
}

// BenchmarkRehearse5s rehearses a motion of five seconds of the built-in arm with
// collision on, beside the same dynamics without anything that watches.
func BenchmarkRehearse5s(b *testing.B) {
	m := so101(b)
	to := append([]float64(nil), m.Home...)
	to[0], to[1], to[2], to[3], to[4] = 1, m.Home[1]+0.4, m.Home[2]-0.4, m.Home[3]+0.3, 0.5
	tr := restToRest(m, m.Home, to, 1, 5)
	mo := motionOf(tr, 0)
	b.Run("rehearsal", func(b *testing.B) {
		h, err := NewRehearser(m, busyScene(), 1, RehearserOptions{})
		require.NoError(b, err)
		for b.Loop() {
			rec, err := h.Rehearse(context.Background(), robot.State{Positions: m.Home}, mo)
			require.NoError(b, err)
			b.ReportMetric(rec.Duration, "sim-s/op")
		}
	})
	b.Run("dynamics", func(b *testing.B) {
		tree, err := newTree(m)
		require.NoError(b, err)
		params, _ := driveParams(tree, vec3{0, 0, -9.8})
		for b.Loop() {
			p := newPlant(tree, params, vec3{0, 0, -9.8}, m.Home)
			p.settle()
			c := robot.NewCursor(tr)
			qs, vs := make([]float64, tree.n), make([]float64, tree.n)
			for k := range 5000 {
				c.Sample(float64(k+1)*Step, qs, vs, nil)
				if !p.step(qs, vs, true) {
					b.Fatal("diverged")
				}
			}
		}
	})
}

func BenchmarkDistance(b *testing.B) {
	box, _ := newShape(&robot.Geometry{Kind: robot.Box, Size: vec3{.1, .2, .3}}, "")
	cyl, _ := newShape(&robot.Geometry{Kind: robot.Cylinder, Radius: .05, Length: .2}, "")
	for _, c := range []struct {
		name string
		b    *shape
	}{{"box-box", &box}, {"box-cylinder", &cyl}} {
		b.Run(c.name, func(b *testing.B) {
			q := pairQuery{a: &box, b: c.b, rel: frame{R: rotation(vec3{1, 2, 3}.Normalize(), 1), P: vec3{.3, .2, .1}}}
			guess := vec3{}
			for b.Loop() {
				guess = q.distance(guess, 10, gjkTolerance).dir
			}
		})
	}
}
