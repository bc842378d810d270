package chart

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
)

func TestHullHoldsEveryPoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(3, 40).Draw(t, "n")
		p := make(plotter.XYs, n)
		for i := range p {
			p[i] = plotter.XY{X: float64(rapid.IntRange(-9, 9).Draw(t, "x")), Y: float64(rapid.IntRange(-9, 9).Draw(t, "y"))}
		}
		h := hull(append(plotter.XYs(nil), p...))
		if len(h) < 3 {
			return // all on one line
		}
		for i, a := range h {
			b := h[(i+1)%len(h)]
			for _, q := range p {
				require.GreaterOrEqual(t, (b.X-a.X)*(q.Y-a.Y)-(b.Y-a.Y)*(q.X-a.X), 0.0, "counter-clockwise, with %v inside", q)
			}
		}
	})
}

// twoLinks is a box at the root and a sphere on a second link.
func twoLinks() *robot.Model {
	id := robot.IdentityPose()
	return &robot.Model{Description: &robot.Description{Links: []robot.Link{
		{Name: "base", Colliders: []robot.Collider{{Origin: id, Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.2, 0.2, 0.2}}}}},
		{Name: "ball", Colliders: []robot.Collider{{Origin: id, Geometry: robot.Geometry{Kind: robot.Sphere, Radius: 0.1}}}},
	}}}
}

// colours counts the pixels of a drawing by colour.
func colours(t *testing.T, a Arm) map[color.RGBA]int {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, DrawArm(&b, a))
	img, err := png.Decode(&b)
	require.NoError(t, err)
	flat := image.NewRGBA(img.Bounds())
	draw.Draw(flat, flat.Bounds(), img, img.Bounds().Min, draw.Src)
	seen := map[color.RGBA]int{}
	var last color.RGBA
	run := 0 // of pixels alike: most of them are
	for i := 0; i < len(flat.Pix); i += 4 {
		c := color.RGBA{flat.Pix[i], flat.Pix[i+1], flat.Pix[i+2], flat.Pix[i+3]}
		if c != last {
			seen[last] += run
			last, run = c, 0
		}
		run++
	}
	seen[last] += run
	return seen
}

func TestDrawArmShowsBothEnds(t *testing.T) {
	m := twoLinks()
	at := func(z float64) []robot.Pose {
		p := robot.IdentityPose()
		p.P = mgl64.Vec3{0.5, 0, z}
		return []robot.Pose{robot.IdentityPose(), p}
	}
	seen := colours(t, Arm{Title: "x", Model: m, Start: at(0), End: at(0.5)})
	require.Greater(t, seen[palette[0]], 500, "the base")
	require.Greater(t, seen[palette[1]], 500, "the ball at the end")
	require.Greater(t, len(seen), 10)

	m.Links[1].Colliders[0].Geometry = robot.Geometry{Kind: robot.Cylinder, Radius: 0.1, Length: 0.3}
	withScene := Arm{Title: "x", Model: m, Start: at(0), End: at(0.5), Scene: robot.Scene{Bodies: []robot.Body{
		{Name: "post", Pose: at(-0.5)[1], Geometry: robot.Geometry{Kind: robot.Capsule, Radius: 0.1, Length: 0.2}},
	}}}
	before := colours(t, withScene)
	require.Greater(t, before[sceneColour], 500)
	// A zone is drawn over the scene, in its own colour, with its name.
	withScene.Scene.Zones = []robot.Zone{{Name: "desk", Pose: at(-0.5)[1], Geometry: robot.Geometry{Kind: robot.Box, Size: mgl64.Vec3{0.5, 0.5, 0.2}}}}
	after := colours(t, withScene)
	require.Greater(t, after[zoneLine], 100)
	require.Zero(t, before[zoneLine])
	require.Less(t, after[sceneColour], before[sceneColour])
	// What didn't move is drawn once, in its own colour.
	same := colours(t, Arm{Title: "x", Model: m, Start: at(0.5), End: at(0.5)})
	require.Greater(t, same[palette[1]], 500)

	require.Error(t, DrawArm(&bytes.Buffer{}, Arm{Model: m, Start: at(0)}))
}

func TestDrawArmShowsFramesAndBearsWhatHasNoShape(t *testing.T) {
	m := twoLinks()
	at := robot.IdentityPose()
	at.P = mgl64.Vec3{0.5, 0, 0.5}
	m.Joints = []robot.Joint{{Parent: 0, Child: 1}}
	axes := func(a Arm) (n [3]int) {
		seen := colours(t, a)
		for k, c := range axisColours {
			n[k] = seen[c]
		}
		return n
	}
	end := []robot.Pose{robot.IdentityPose(), at}
	for k, n := range axes(Arm{Title: "x", Model: m, End: end, Frames: true}) {
		require.Greater(t, n, 20, "axis %d", k)
	}
	require.Zero(t, axes(Arm{Title: "x", Model: m, End: end}))
	// A mesh that was not read, one of a single point, and a robot of one link.
	m.Links[0].Colliders[0].Geometry = robot.Geometry{Kind: robot.MeshGeometry}
	m.Links[1].Colliders[0].Geometry = robot.Geometry{Kind: robot.MeshGeometry, Mesh: &robot.Mesh{Vertices: make([]mgl64.Vec3, 3)}}
	require.NotZero(t, axes(Arm{Title: "x", Model: m, End: end, Frames: true}))
	one := &robot.Model{Description: &robot.Description{Links: []robot.Link{{Name: "a"}}}}
	require.NotZero(t, axes(Arm{Title: "x", Model: one, End: end[:1], Frames: true}))
}
