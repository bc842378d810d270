package urdf

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

var shapes = []string{"box", "cylinder", "sphere", "capsule", "mesh"}

// geometry reads <geometry>, which holds exactly one shape.
func (p *parser) geometry(e *element, who string) (g robot.Geometry, ok bool) {
	p.strangers(e, who, shapes, nil)
	var found []*element
	for _, name := range shapes {
		found = append(found, e.all(name)...)
	}
	switch {
	case len(found) == 0:
		p.bad(e.line, "%s: <geometry> holds no box, cylinder, sphere, capsule or mesh", who)
		return g, false
	case len(found) > 1:
		p.bad(e.line, "%s: <geometry> holds %d shapes where one is due", who, len(found))
		return g, false
	}
	s := found[0]
	before := len(p.errs)
	switch s.name {
	case "box":
		p.strangers(s, who, nil, []string{"size"})
		g.Kind = robot.Box
		if _, given := s.attr("size"); !given {
			p.bad(s.line, "%s: <box> lacks the attribute size", who)
		}
		v, good := p.vector(s, who, "size", [3]float64{1, 1, 1})
		if good && !(v[0] > 0 && v[1] > 0 && v[2] > 0) {
			p.bad(s.line, "%s: <box> size %g %g %g: every extent must be above zero", who, v[0], v[1], v[2])
		}
		g.Size = mgl64.Vec3(v)
	case "cylinder", "capsule":
		p.strangers(s, who, nil, []string{"radius", "length"})
		g.Kind = robot.Cylinder
		if s.name == "capsule" {
			g.Kind = robot.Capsule
		}
		g.Radius, g.Length = p.extent(s, who, "radius"), p.extent(s, who, "length")
	case "sphere":
		p.strangers(s, who, nil, []string{"radius"})
		g.Kind, g.Radius = robot.Sphere, p.extent(s, who, "radius")
	case "mesh":
		p.strangers(s, who, nil, []string{"filename", "scale"})
		g.Kind, g.Mesh = robot.MeshGeometry, p.mesh(s, who)
	}
	return g, len(p.errs) == before
}

// extent reads a length that must be above zero.
func (p *parser) extent(e *element, who, name string) float64 {
	v, ok := p.number(e, who, name)
	if a, given := e.attr(name); ok && given && v <= 0 {
		p.bad(a.line, "%s: <%s> %s %g must be above zero", who, e.name, name, v)
	}
	return v
}

// mesh reads <mesh>. A file that can't be had gives an empty mesh and a warning:
// the kinematics are good without it, and NewModel refuses to build a model that
// could be moved. A file that is there and broken is an error.
func (p *parser) mesh(e *element, who string) *robot.Mesh {
	a, given := e.attr("filename")
	if !given || a.value == "" {
		p.bad(e.line, "%s: <mesh> lacks the attribute filename", who)
		return nil
	}
	scale, ok := p.vector(e, who, "scale", [3]float64{1, 1, 1})
	if ok && (scale[0] == 0 || scale[1] == 0 || scale[2] == 0) {
		p.bad(e.line, "%s: <mesh> scale %g %g %g: no factor may be zero", who, scale[0], scale[1], scale[2])
		ok = false
	}
	empty := &robot.Mesh{File: a.value, Named: at(p.report.origin(a.line))}
	unread := func(code robot.Code, why string) *robot.Mesh {
		empty.Missing = why
		p.warnCode(code, a.line, who, fmt.Sprintf("collision mesh %q %s", clip(a.value), why))
		return empty
	}
	if !ok {
		return empty
	}
	key := fmt.Sprintf("%s %x", a.value, scale)
	if m := p.meshes[key]; m != nil {
		return m
	}
	fsys, name, wrong := p.locate(a.value)
	if wrong != "" {
		p.bad(a.line, "%s: mesh %q %s", who, clip(a.value), wrong)
		return empty
	}
	if ext := strings.ToLower(path.Ext(name)); ext != ".stl" {
		return unread(robot.CodeNotSupported, "isn't read: only STL is")
	}
	if fsys == nil {
		return unread(robot.CodeInvalidArgument, "isn't read: no folder was given for "+owner(a.value))
	}
	data, err := readLimited(fsys, name, MaxMeshBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return unread(robot.CodeInvalidArgument, "doesn't exist")
	}
	if err != nil {
		p.bad(a.line, "%s: mesh %q: %w", who, clip(a.value), err)
		return empty
	}
	vertices, triangles, err := parseSTL(data, MaxTriangles-p.triangles)
	if err != nil {
		p.bad(a.line, "%s: mesh %q: %w", who, clip(a.value), err)
		return empty
	}
	p.triangles += len(triangles)
	scaleMesh(vertices, triangles, mgl64.Vec3(scale))
	m := &robot.Mesh{File: a.value, Vertices: vertices, Triangles: triangles}
	if p.meshes == nil {
		p.meshes = map[string]*robot.Mesh{}
	}
	p.meshes[key] = m
	p.hashPart(a.value, data, true)
	return m
}

// owner says whose folder a mesh name points into.
func owner(name string) string {
	rest, ok := strings.CutPrefix(name, "package://")
	if !ok {
		return "the files beside the description"
	}
	pkg, _, _ := strings.Cut(rest, "/")
	return fmt.Sprintf("the package %q (--package %s=DIR)", clip(pkg), clip(pkg))
}

// scaleMesh scales in place. A mirror turns every triangle inside out, so their
// winding is turned back.
func scaleMesh(vertices []mgl64.Vec3, triangles [][3]int32, scale mgl64.Vec3) {
	for i, v := range vertices {
		vertices[i] = mgl64.Vec3{v[0] * scale[0], v[1] * scale[1], v[2] * scale[2]}
	}
	if scale[0]*scale[1]*scale[2] < 0 {
		for i, t := range triangles {
			triangles[i] = [3]int32{t[0], t[2], t[1]}
		}
	}
}

// locate says where a mesh name points, and refuses what would leave the folder
// that it may point into. The file system is nil where none was given.
func (p *parser) locate(name string) (fsys fs.FS, file, wrong string) {
	if rest, ok := strings.CutPrefix(name, "package://"); ok {
		for cut := len(rest); cut > 0; cut = strings.LastIndexByte(rest[:cut], '/') {
			if sub, known := p.opt.Packages[rest[:cut]]; known && cut < len(rest) {
				fsys, rest = sub, rest[cut+1:]
				break
			}
		}
		file = path.Clean(rest)
	} else {
		if strings.Contains(name, "://") {
			return nil, "", "has a scheme that isn't package://"
		}
		fsys, file = p.opt.Files, path.Join(p.opt.Dir, name)
	}
	if strings.HasPrefix(name, "/") || strings.ContainsAny(name, "\\\x00") || !fs.ValidPath(file) || file == "." {
		return nil, "", "leaves the folder that meshes may be read from"
	}
	return fsys, file, ""
}

// readLimited reads a whole file of at most limit bytes.
func readLimited(fsys fs.FS, name string, limit int64) ([]byte, error) {
	// Asked before opening: opening a named pipe would wait for its writer.
	st, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file")
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from: nothing can be lost
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("more than %d bytes", limit)
	}
	return data, nil
}

// contentHash collects everything that a description was made from, each part
// with its length so that no two sequences of parts hash alike.
type contentHash struct{ h hash.Hash }

func (p *parser) hashPart(name string, data []byte, named bool) {
	if p.hash.h == nil {
		p.hash.h = sha256.New()
	}
	if !named {
		name = "" // the same description under another file name is the same
	}
	var n [16]byte
	binary.BigEndian.PutUint64(n[:8], uint64(len(name)))
	binary.BigEndian.PutUint64(n[8:], uint64(len(data)))
	p.hash.h.Write(n[:])
	p.hash.h.Write([]byte(name))
	p.hash.h.Write(data)
}

func (p *parser) sum() (out [32]byte) {
	p.hash.h.Sum(out[:0])
	return out
}
