package urdf_test

import (
	"math"
	"testing"
	"testing/fstest"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// The parsers never panic, refuse with a code and a place, and what they let
// through holds the promises of the types.

func refusal(t *testing.T, err error) {
	require.Contains(t, []robot.Code{robot.CodeInvalidArgument, robot.CodeNotSupported}, robot.CodeOf(err))
	for _, f := range urdf.Findings(err) {
		require.Positive(t, f.Line, "%v", err)
	}
}

func finite(t *testing.T, vs ...float64) {
	for _, v := range vs {
		require.False(t, math.IsNaN(v) || math.IsInf(v, 0))
	}
}

func FuzzParseURDF(f *testing.F) {
	f.Add([]byte(threeJoints))
	f.Add([]byte(bot(joint(limit + `<mimic joint="k"/>`))))
	f.Add([]byte(meshBot("x.stl", "1 -1 1")))
	opt := urdf.Options{Files: fstest.MapFS{"x.stl": {Data: asciiSTL(tetra)}}}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := urdf.Parse("f", data, opt)
		if err != nil {
			refusal(t, err)
			return
		}
		wellFormed(t, d)
		again, err := urdf.Parse("f", data, opt)
		require.NoError(t, err)
		require.Equal(t, d, again)
		if m, err := robot.NewModel(d, nil, nil); err == nil {
			require.Len(t, m.Home, d.DoF())
			for i, l := range m.Limits {
				if l.Bounded {
					require.True(t, l.Lower <= m.Home[i] && m.Home[i] <= l.Upper)
				}
			}
		}
	})
}

func wellFormed(t *testing.T, d *robot.Description) {
	require.Len(t, d.Links, len(d.Joints)+1)
	require.Equal(t, -1, d.Links[d.Root].Parent)
	known := make([]bool, len(d.Links))
	known[d.Root] = true
	active := 0
	for i, j := range d.Joints {
		require.True(t, known[j.Parent] && !known[j.Child])
		known[j.Child] = true
		require.Equal(t, i, d.Links[j.Child].Parent)
		finite(t, j.Origin.P[:]...)
		q := j.Origin.Q
		require.InDelta(t, 1, q.W*q.W+q.V.Dot(q.V), 1e-9)
		require.False(t, j.Velocity < 0 || j.Effort < 0 || j.Damping < 0 || j.Friction < 0)
		finite(t, j.Velocity, j.Effort, j.Damping, j.Friction, j.Lower, j.Upper)
		if j.Type != robot.Fixed {
			require.InDelta(t, 1, j.Axis.Len(), 1e-9)
		}
		switch {
		case j.Mimic != nil:
			require.GreaterOrEqual(t, d.Joints[j.Mimic.Joint].Active, 0)
			fallthrough
		case j.Type == robot.Fixed:
			require.Equal(t, -1, j.Active)
		default:
			require.Equal(t, i, d.Active[j.Active])
			require.Equal(t, active, j.Active)
			active++
			require.LessOrEqual(t, j.Lower, j.Upper)
			require.Equal(t, j.Type != robot.Continuous, j.Bounded)
		}
	}
	require.Len(t, d.Active, active)
}

func FuzzParseSRDF(f *testing.F) {
	f.Add([]byte(threeSRDF))
	d, err := urdf.Parse("t.urdf", []byte(threeJoints), urdf.Options{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := urdf.ParseSRDF("f", data)
		if err != nil {
			refusal(t, err)
			return
		}
		m, err := robot.NewModel(d, s, nil)
		if err != nil {
			refusal(t, err)
			return
		}
		require.NotEmpty(t, m.Arm)
		for i, l := range m.Limits {
			require.True(t, l.Lower <= m.Home[i] && m.Home[i] <= l.Upper)
		}
		if g := m.Gripper; g != nil {
			l := m.Limits[g.Joint]
			require.True(t, l.Lower <= min(g.Closed, g.Open) && max(g.Closed, g.Open) <= l.Upper)
		}
	})
}

func FuzzLimitsYAML(f *testing.F) {
	f.Add([]byte(threeYAML))
	f.Add([]byte(of("j1", "has_velocity_limits: false", "max_velocity: !degrees 3")))
	d, err := urdf.Parse("t.urdf", []byte(threeJoints), urdf.Options{})
	require.NoError(f, err)
	base, err := robot.NewLimits(d, nil)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := urdf.ParseLimits("f", data)
		if err != nil {
			refusal(t, err)
			return
		}
		l, err := robot.NewLimits(d, table)
		if err != nil {
			refusal(t, err)
			return
		}
		for i := range l { // never wider than the description, never not a limit
			require.GreaterOrEqual(t, l[i].Lower, base[i].Lower)
			require.LessOrEqual(t, l[i].Upper, base[i].Upper)
			require.LessOrEqual(t, l[i].Lower, l[i].Upper)
			require.LessOrEqual(t, l[i].Velocity, base[i].Velocity)
			require.LessOrEqual(t, l[i].Effort, base[i].Effort)
			for _, v := range []float64{l[i].Velocity, l[i].Acceleration, l[i].Jerk, l[i].Effort} {
				finite(t, v)
				require.Positive(t, v)
			}
		}
	})
}

// A mesh that is read has triangles of corners that are there and finite, no two
// corners in one place, and is the same each time; scaled by a mirror it keeps its
// size.
func FuzzSTL(f *testing.F) {
	f.Add(asciiSTL(tetra))
	f.Add(binarySTL("", tetra))
	f.Add(binarySTL("solid but binary all the same", tetra))
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func(scale string) (*robot.Mesh, error) {
			d, err := urdf.Parse("f", []byte(meshBot("x.stl", scale)), urdf.Options{Files: fstest.MapFS{"x.stl": {Data: data}}})
			if err != nil {
				return nil, err
			}
			require.Empty(t, d.Warnings)
			return d.Links[0].Colliders[0].Geometry.Mesh, nil
		}
		m, err := read("1 1 1")
		if err != nil {
			refusal(t, err)
			return
		}
		require.NotEmpty(t, m.Triangles)
		require.LessOrEqual(t, len(m.Vertices), 3*len(m.Triangles))
		used := make([]bool, len(m.Vertices))
		for _, tri := range m.Triangles {
			for _, v := range tri {
				require.True(t, v >= 0 && int(v) < len(m.Vertices))
				used[v] = true
			}
		}
		seen := map[mgl64.Vec3]bool{}
		for i, v := range m.Vertices {
			finite(t, v[:]...)
			require.True(t, used[i] && !seen[v])
			seen[v] = true
		}
		again, err := read("1 1 1")
		require.NoError(t, err)
		require.Equal(t, m, again)
		mirror, err := read("1 -1 1")
		require.NoError(t, err)
		require.Len(t, mirror.Triangles, len(m.Triangles))
		for i, v := range m.Vertices {
			require.Equal(t, mgl64.Vec3{v[0], -v[1], v[2]}, mirror.Vertices[i])
		}
		for i, tri := range m.Triangles {
			require.Equal(t, [3]int32{tri[0], tri[2], tri[1]}, mirror.Triangles[i])
		}
	})
}

// wheeled has what a base needs, and a slide and a turntable beside it.
const wheeled = `<robot name="w">
<link name="o"/><link name="a"/><link name="b"/><link name="c"/><link name="l"/><link name="r"/><link name="s"/><link name="t"/>
<joint name="x" type="prismatic"><parent link="o"/><child link="a"/><axis xyz="1 0 0"/><limit lower="-5" upper="5" velocity="1" effort="9"/></joint>
<joint name="y" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/><limit lower="-5" upper="5" velocity="1" effort="9"/></joint>
<joint name="yaw" type="continuous"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/><limit velocity="3" effort="9"/></joint>
<joint name="wl" type="continuous"><origin xyz="0 0.1 0"/><parent link="c"/><child link="l"/><axis xyz="0 1 0"/><limit velocity="6" effort="1"/></joint>
<joint name="wr" type="continuous"><origin xyz="0 -0.1 0"/><parent link="c"/><child link="r"/><axis xyz="0 1 0"/><limit velocity="6" effort="1"/></joint>
<joint name="jf" type="prismatic"><parent link="c"/><child link="s"/><limit lower="-0.1" upper="0.1" velocity="0.2" effort="9"/></joint>
<joint name="k" type="revolute"><parent link="c"/><child link="t"/><limit lower="-1" upper="2" velocity="3" effort="9"/></joint>
</robot>`

func FuzzEquipmentYAML(f *testing.F) {
	f.Add([]byte(lampYAML))
	f.Add([]byte(baseYAML))
	f.Add([]byte(refYAML))
	f.Add([]byte(lampYAML + baseYAML + refYAML))
	m, err := urdf.Load(urdf.Source{Name: "w.urdf", Data: []byte(wheeled)}, urdf.Source{}, urdf.Source{}, urdf.Source{}, urdf.Options{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := urdf.ParseEquipment("f", data)
		if err != nil {
			refusal(t, err)
			return
		}
		got, err := m.Equip(e)
		if err != nil {
			refusal(t, err)
			return
		}
		names := map[string]bool{}
		for _, a := range got.Actuators {
			require.True(t, a.Name != "" && !names[a.Name] && m.JointIndex(a.Name) < 0, "%q", a.Name)
			names[a.Name] = true
			require.NotEmpty(t, a.Unit)
			finite(t, a.Lower, a.Upper, a.Off)
			require.True(t, a.Lower < a.Upper && a.Lower <= a.Off && a.Off <= a.Upper)
			for _, on := range []string{a.OnStop, a.OnLost} {
				require.Contains(t, []string{"off", "unchanged"}, on)
			}
		}
		if b := got.Base; b != nil {
			require.Equal(t, []int{0, 1, 2, 3, 4}, []int{b.X, b.Y, b.Yaw, b.Left, b.Right})
			finite(t, b.Radius, b.Track)
			require.True(t, b.Radius > 0 && b.Track > 0)
		}
		for i, r := range got.References {
			require.True(t, i == 0 || got.References[i-1].Joint < r.Joint)
			l := m.Limits[r.Joint]
			require.True(t, l.Lower <= r.Switch && r.Switch <= l.Upper)
			require.True(t, 0 < r.Speed && r.Speed <= l.Velocity)
			finite(t, r.Travel)
			require.Positive(t, r.Travel)
			require.Equal(t, 1.0, math.Abs(r.Direction))
		}
		require.Equal(t, m.ModelHash == got.ModelHash, len(got.Actuators)+len(got.References) == 0 && got.Base == nil)
	})
}
