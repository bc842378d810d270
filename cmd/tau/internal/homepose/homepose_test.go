package homepose

import (
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/urdf"
)

// crossed is a robot with a box that turns inside its base whatever the joints do,
// 20 mm deep, and one on a slide that touches the base, 10 mm deep, at one end of it.
const crossed = `<robot name="crossed">
<link name="base"><collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
<link name="ring"/>
<link name="cam"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<link name="cart"/>
<link name="pad"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="ring"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" velocity="1" effort="10"/></joint>
<joint name="spin" type="continuous"><parent link="ring"/><child link="cam"/><origin xyz="0.13 0 0"/><axis xyz="0 0 1"/>
  <limit velocity="1" effort="10"/></joint>
<joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/><origin xyz="0 0.14 0"/><axis xyz="0 1 0"/>
  <limit lower="0" upper="1" velocity="1" effort="10"/></joint>
<joint name="tilt" type="revolute"><parent link="cart"/><child link="pad"/><axis xyz="0 1 0"/>
  <limit lower="-0.1" upper="0.1" velocity="1" effort="10"/></joint>
</robot>`

func model(t *testing.T, text string) *robot.Model {
	t.Helper()
	d, err := urdf.Parse("x.urdf", []byte(text), urdf.Options{})
	require.NoError(t, err)
	m, err := robot.NewModel(d, nil, nil)
	require.NoError(t, err)
	return m
}

func find(t *testing.T, m *robot.Model) Report {
	t.Helper()
	r, err := Find(m, Poses, rand.New(rand.NewPCG(1, 0)))
	require.NoError(t, err)
	return r
}

func TestEveryPairInContactIsFoundWithItsDepth(t *testing.T) {
	r := find(t, model(t, crossed))
	require.Empty(t, r.Untested)
	require.Len(t, r.Contacts, 2)
	cam, pad := r.Contacts[0], r.Contacts[1]
	require.Equal(t, []string{"base", "cam", "base", "pad"}, []string{cam.A, cam.B, pad.A, pad.B})
	require.InDelta(t, 0.02, cam.Depth, 1e-4)
	require.InDelta(t, 0.01, pad.Depth, 1e-4)
	require.True(t, cam.Always())
	require.Equal(t, Poses, cam.Tried)
	require.True(t, cam.Stuck, "deeper than a motion may begin")
	require.False(t, pad.Always())
	require.True(t, pad.Apart)
	require.False(t, pad.Stuck)
	require.Equal(t, "are 20.0 mm inside each other at the home pose and in all of 200 other poses: every motion from there is refused (SELF_COLLISION)", cam.String())
	require.Contains(t, pad.String(), "are 10.0 mm inside each other at the home pose, but not in every other pose: from there they may only be moved apart")
	require.Equal(t, `<disable_collisions link1="base" link2="cam" reason="Always"/>`, cam.SRDF())
	require.Equal(t, `<disable_collisions link1="base" link2="pad" reason="Default"/>`, pad.SRDF())

	// Without other poses nothing is said about them.
	at, err := Find(model(t, crossed), 0, nil)
	require.NoError(t, err)
	require.Len(t, at.Contacts, 2)
	require.NotContains(t, at.Contacts[0].String(), "other pose")
	require.Equal(t, r, find(t, model(t, crossed)), "the same each time")
}

// What was found is what the description says: half as deep, and not at all.
func TestNothingIsFoundWhereNothingTouches(t *testing.T) {
	m := model(t, strings.Replace(crossed, "0.13 0 0", "0.14 0 0", 1))
	require.InDelta(t, 0.01, find(t, m).Contacts[0].Depth, 1e-4)
	apart := strings.NewReplacer("0.13 0 0", "0.2 0 0", "0 0.14 0", "0 0.1505 0").Replace(crossed)
	require.Empty(t, find(t, model(t, apart)).Contacts)
	for _, name := range builtin.Names() {
		m, err := builtin.Load(name)
		require.NoError(t, err)
		require.Equal(t, Report{}, find(t, m), name)
	}
}

func TestAnSRDFThatLetsThemTouchEndsIt(t *testing.T) {
	d, err := urdf.Parse("x.urdf", []byte(crossed), urdf.Options{})
	require.NoError(t, err)
	lines := "<robot name=\"crossed\">"
	for _, c := range find(t, model(t, crossed)).Contacts {
		lines += c.SRDF()
	}
	s, err := urdf.ParseSRDF("x.srdf", []byte(lines+"</robot>"))
	require.NoError(t, err)
	m, err := robot.NewModel(d, s, nil)
	require.NoError(t, err)
	require.Empty(t, find(t, m).Contacts)
}

func TestNamesAreWrittenAsXML(t *testing.T) {
	c := Contact{A: `a"<&>'`, B: "b\nc"}
	var got struct {
		Link1 string `xml:"link1,attr"`
		Link2 string `xml:"link2,attr"`
	}
	require.NoError(t, xml.Unmarshal([]byte(c.SRDF()), &got))
	require.Equal(t, c.A, got.Link1)
	require.Equal(t, c.B, got.Link2)
}

// cube is a closed mesh with its middle at the origin, each side in 2·n² triangles.
func cube(side float64, n int) *robot.Mesh {
	m := &robot.Mesh{File: "cube.stl"}
	at := map[[3]int]int32{}
	corner := func(p [3]int) int32 {
		i, ok := at[p]
		if !ok {
			i = int32(len(m.Vertices))
			at[p] = i
			m.Vertices = append(m.Vertices, mgl64.Vec3{float64(p[0]), float64(p[1]), float64(p[2])}.Mul(side/float64(n)).Sub(mgl64.Vec3{side, side, side}.Mul(0.5)))
		}
		return i
	}
	for axis := range 3 {
		for _, end := range []int{0, n} {
			for i := range n {
				for j := range n {
					var q [4]int32
					for k, d := range [4][2]int{{0, 0}, {1, 0}, {1, 1}, {0, 1}} {
						var p [3]int
						p[axis], p[(axis+1)%3], p[(axis+2)%3] = end, i+d[0], j+d[1]
						q[k] = corner(p)
					}
					if end == 0 {
						q[1], q[3] = q[3], q[1]
					}
					m.Triangles = append(m.Triangles, [3]int32{q[0], q[1], q[2]}, [3]int32{q[0], q[2], q[3]})
				}
			}
		}
	}
	return m
}

// withMesh is crossed with its cam as a mesh.
func withMesh(t *testing.T, n int) *robot.Model {
	m := model(t, crossed)
	cam := m.LinkIndex("cam")
	return withBodies(m, func(i int, own []robot.Collider) []robot.Collider {
		if i != cam {
			return own
		}
		return []robot.Collider{{Name: "c", Origin: own[0].Origin, Geometry: robot.Geometry{Kind: robot.MeshGeometry, Mesh: cube(0.1, n)}}}
	})
}

func TestMeshesAreMeasuredToo(t *testing.T) {
	r := find(t, withMesh(t, 2))
	require.Empty(t, r.Untested)
	require.Len(t, r.Contacts, 2)
	require.InDelta(t, 0.02, r.Contacts[0].Depth, 4e-3, "less what the balls of a mesh reach beyond it")
	require.True(t, r.Contacts[0].Always())
	require.Equal(t, meshPoses, r.Contacts[0].Tried)
}

// What is too much to be tested is said, and the rest is tested.
func TestWhatIsTooLargeIsSaid(t *testing.T) {
	r := find(t, withMesh(t, 27)) // 8,748 triangles
	require.Contains(t, r.Untested, "wasn't tested of 1 of the 2 pairs")
	require.Len(t, r.Contacts, 1)
	require.Equal(t, "pad", r.Contacts[0].B)

	var b strings.Builder
	b.WriteString(`<robot name="snake"><link name="l0"><collision><geometry><sphere radius="0.01"/></geometry></collision></link>`)
	for i := range maxBodies {
		fmt.Fprintf(&b, `<link name="l%[2]d"><collision><geometry><sphere radius="0.01"/></geometry></collision></link>
<joint name="j%[1]d" type="continuous"><parent link="l%[1]d"/><child link="l%[2]d"/><origin xyz="0.1 0 0"/><axis xyz="0 0 1"/><limit velocity="1" effort="1"/></joint>`, i, i+1)
	}
	b.WriteString("</robot>")
	r = find(t, model(t, b.String()))
	require.Contains(t, r.Untested, "201 links have a collision body, and up to 200 are tested")
	require.Empty(t, r.Contacts)
}

// More pairs than are looked at are not taken for all.
func TestTooManyPairsAreSaid(t *testing.T) {
	var b strings.Builder
	b.WriteString(`<robot name="heap"><link name="root"/>`)
	for i := range 16 {
		fmt.Fprintf(&b, `<link name="a%[1]d"/><link name="b%[1]d"><collision><geometry><sphere radius="0.05"/></geometry></collision></link>
<joint name="p%[1]d" type="prismatic"><parent link="root"/><child link="a%[1]d"/><axis xyz="0 0 1"/><limit lower="0" upper="1" velocity="1" effort="1"/></joint>
<joint name="q%[1]d" type="prismatic"><parent link="a%[1]d"/><child link="b%[1]d"/><axis xyz="1 0 0"/><limit lower="0" upper="1" velocity="1" effort="1"/></joint>`, i)
	}
	b.WriteString("</robot>")
	r := find(t, model(t, b.String()))
	require.Contains(t, r.Untested, "of 100 pairs only")
	require.Len(t, r.Contacts, maxSuspects)
	for i := range r.Contacts {
		require.InDelta(t, 0.1, r.Contacts[i].Depth, 1e-3)
	}
}
