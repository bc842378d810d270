package urdf_test

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

// tetra is a tetrahedron whose corners wind outward.
var tetra = [][3]mgl64.Vec3{
	{{0, 0, 0}, {0, 1, 0}, {1, 0, 0}}, {{0, 0, 0}, {1, 0, 0}, {0, 0, 1}},
	{{0, 0, 0}, {0, 0, 1}, {0, 1, 0}}, {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
}

func binarySTL(header string, faces [][3]mgl64.Vec3) []byte {
	out := make([]byte, 80, 84+50*len(faces))
	copy(out, header)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(faces)))
	for _, f := range faces {
		out = append(out, make([]byte, 12)...)
		for _, v := range f {
			for _, x := range v {
				out = binary.LittleEndian.AppendUint32(out, math.Float32bits(float32(x)))
			}
		}
		out = append(out, 0, 0)
	}
	return out
}

func asciiSTL(faces [][3]mgl64.Vec3) []byte {
	var b strings.Builder
	b.WriteString("solid a name of facet words\n")
	for _, f := range faces {
		b.WriteString(" facet normal 0 nan 0\n  outer loop\r\n")
		for _, v := range f {
			fmt.Fprintf(&b, "   vertex %g %e %f\n", v[0], v[1], v[2])
		}
		b.WriteString("  endloop\n endfacet\n")
	}
	b.WriteString("endsolid a name\n")
	return []byte(b.String())
}

func meshBot(name, scale string) string {
	return `<robot name="t"><link name="a"><collision><geometry>
<mesh filename="` + name + `" scale="` + scale + `"/></geometry></collision></link></robot>`
}

func volume(m *robot.Mesh) float64 {
	v := 0.0
	for _, t := range m.Triangles {
		v += m.Vertices[t[0]].Dot(m.Vertices[t[1]].Cross(m.Vertices[t[2]])) / 6
	}
	return v
}

func TestMeshes(t *testing.T) {
	files := fstest.MapFS{
		"robot/bin.stl":      {Data: binarySTL("solid but binary all the same", tetra)},
		"robot/sub/text.STL": {Data: asciiSTL(tetra)},
		"robot/hole.stl":     {Data: []byte("solid x\nfacet\n")},
		"robot/dir.stl/x":    {Data: []byte("x")},
		"other.stl":          {Data: asciiSTL(tetra)},
	}
	pkg := fstest.MapFS{"meshes/p.stl": {Data: asciiSTL(tetra)}}
	opt := urdf.Options{Files: files, Dir: "robot", Packages: map[string]fs.FS{"tau": pkg, "tau/deep": fstest.MapFS{"p.stl": pkg["meshes/p.stl"]}}}
	load := func(name, scale string) (*robot.Description, error) {
		return urdf.Parse("t.urdf", []byte(meshBot(name, scale)), opt)
	}
	for _, name := range []string{"bin.stl", "./sub/text.STL", "sub/../bin.stl", "../other.stl", "package://tau/meshes/p.stl", "package://tau/deep/p.stl"} {
		d, err := load(name, "1 1 1")
		require.NoError(t, err, name)
		require.Empty(t, d.Warnings, name)
		m := d.Links[0].Colliders[0].Geometry.Mesh
		require.Len(t, m.Vertices, 4, name)
		require.Len(t, m.Triangles, 4, name)
		require.InDelta(t, 1.0/6, volume(m), 1e-12, name)
		_, err = robot.NewModel(d, nil, nil)
		require.NoError(t, err)
	}
	// A mirror keeps its faces outward.
	for scale, want := range map[string]float64{"2 3 0.5": 0.5, "1 -1 1": 1.0 / 6, "-1 -1 -2": 2.0 / 6, "-1 -1 1": 1.0 / 6} {
		d, err := load("bin.stl", scale)
		require.NoError(t, err)
		require.InDelta(t, want, volume(d.Links[0].Colliders[0].Geometry.Mesh), 1e-12, scale)
	}
	// What leaves its folder, or names something else, is refused.
	for _, name := range []string{
		"../../etc/x.stl", "/etc/x.stl", "sub/../../../x.stl", "package://tau/../x.stl", "package://tau/a/../../x.stl",
		"file:///etc/x.stl", "http://h/x.stl", `..\x.stl`, "package:///etc/x.stl", "package://../x.stl", "package://",
	} {
		_, err := load(name, "1 1 1")
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), name)
		require.Contains(t, err.Error(), "t.urdf:2: ", name)
	}
	// What isn't there or isn't STL loads with a warning and makes no model.
	for name, why := range map[string]string{
		"none.stl": "doesn't exist", "bin.dae": "isn't read: only STL is", "package://tau/none.stl": "doesn't exist",
		"package://unknown/x.stl": `isn't read: no folder was given for the package "unknown" (--package unknown=DIR)`,
	} {
		d, err := load(name, "1 1 1")
		require.NoError(t, err, name)
		require.Len(t, d.Warnings, 1, name)
		require.Contains(t, d.Warnings[0].Text, why)
		_, err = robot.NewModel(d, nil, nil)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), name)
		require.Contains(t, err.Error(), fmt.Sprintf("t.urdf:2: link \"a\": the collision mesh %q %s; a robot of unknown shape can't be moved", name, why))
	}
	for _, name := range []string{"hole.stl", "dir.stl"} {
		_, err := load(name, "1 1 1")
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), name)
	}
}

func TestBrokenSTL(t *testing.T) {
	nan := [][3]mgl64.Vec3{{{math.NaN(), 0, 0}, {1, 0, 0}, {0, 1, 0}}}
	short := binarySTL("", tetra)
	text := string(asciiSTL(tetra))
	for name, data := range map[string][]byte{
		"empty":         {},
		"cut":           short[:len(short)-1],
		"longer":        append(binarySTL("", tetra), 0),
		"no triangles":  binarySTL("", nil),
		"nan":           binarySTL("", nan),
		"ascii nan":     []byte(strings.Replace(text, "vertex 0", "vertex nan", 1)),
		"ascii hex":     []byte(strings.Replace(text, "vertex 0", "vertex 0x1", 1)),
		"ascii cut":     []byte(text[:len(text)/2]),
		"ascii quad":    []byte(strings.Replace(text, "endloop", "vertex 1 1 1", 1)),
		"ascii trailer": []byte(text + "solid again"),
		"ascii empty":   []byte("solid x\nendsolid x\n"),
		"not stl":       []byte("<html>"),
	} {
		_, err := urdf.Parse("t.urdf", []byte(meshBot("x.stl", "1 1 1")), urdf.Options{Files: fstest.MapFS{"x.stl": {Data: data}}})
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), name)
		require.Contains(t, err.Error(), `mesh "x.stl"`, name)
	}
}

// On disk: neither dots nor a symbolic link lead out of the folder.
func TestLoadFileStaysInItsFolder(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	require.NoError(t, os.Mkdir(in, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret.stl"), asciiSTL(tetra), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(in, "ok.stl"), asciiSTL(tetra), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(dir, "secret.stl"), filepath.Join(in, "link.stl")))
	file := filepath.Join(in, "t.urdf")
	for name, good := range map[string]bool{"ok.stl": true, "link.stl": false, "../secret.stl": false} {
		require.NoError(t, os.WriteFile(file, []byte(meshBot(name, "1 1 1")), 0o600))
		m, err := urdf.LoadFile(urdf.Files{Description: file})
		if good {
			require.NoError(t, err)
			require.Len(t, m.Links[0].Colliders[0].Geometry.Mesh.Triangles, 4)
			continue
		}
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), name)
	}
	for _, f := range []urdf.Files{
		{Description: filepath.Join(in, "none.urdf")}, {Description: in}, {Description: filepath.Join(dir, "no", "t.urdf")},
		{Description: file, Packages: map[string]string{"p": filepath.Join(dir, "no")}},
		{Description: file, Semantics: filepath.Join(in, "none.srdf")},
	} {
		_, err := urdf.LoadFile(f)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
	}
}
