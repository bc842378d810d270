package sim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

func TestHullKeepsEverySupport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		n := rapid.IntRange(hullWorth, 400).Draw(t, "n")
		grid := rapid.SampledFrom([]float64{0, 0.05, 0.2}).Draw(t, "grid") // a grid makes points lie in planes
		p := make([]vec3, n)
		for i := range p {
			for k := range 3 {
				p[i][k] = rnd.Float64() - 0.5
				if grid > 0 {
					p[i][k] = math.Round(p[i][k]/grid) * grid
				}
			}
		}
		if rapid.Bool().Draw(t, "flat") {
			for i := range p {
				p[i][2] = 0
			}
		}
		h := hullVertices(p)
		require.LessOrEqual(t, len(h), n)
		full, thin := shape{kind: robot.MeshGeometry, verts: p}, shape{kind: robot.MeshGeometry, verts: h}
		for range 100 {
			d := vec3{rnd.NormFloat64(), rnd.NormFloat64(), rnd.NormFloat64()}.Normalize()
			require.InDelta(t, full.support(d).Dot(d), thin.support(d).Dot(d), 1e-8)
		}
	})
}

func TestHullThinsOutWhatIsInside(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	var p []vec3
	for range 5000 {
		p = append(p, vec3{rnd.Float64(), rnd.Float64(), rnd.Float64()})
	}
	for k := range 8 {
		p = append(p, vec3{float64(k&1)*2 - 0.5, float64(k>>1&1)*2 - 0.5, float64(k>>2)*2 - 0.5})
	}
	require.Len(t, hullVertices(p), 8)
}
