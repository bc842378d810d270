package urdf

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/go-gl/mathgl/mgl64"
)

// Sizes of binary STL: a header of 80 bytes, a count, and for each triangle a
// normal and three corners of three float32 each, and two bytes of attributes.
const (
	stlHeader   = 80
	stlTriangle = 50
)

// parseSTL reads a binary or ASCII STL file of at most limit triangles. Corners
// of the same coordinates become one vertex. Normals are ignored: they follow
// from the order of the corners.
func parseSTL(data []byte, limit int) ([]mgl64.Vec3, [][3]int32, error) {
	// A binary header may begin with "solid" too, so the size decides: a binary
	// file has exactly the size that its count says.
	if len(data) >= stlHeader+4 {
		n := int64(binary.LittleEndian.Uint32(data[stlHeader:]))
		if int64(len(data)) == stlHeader+4+n*stlTriangle {
			return binarySTL(data[stlHeader+4:], int(n), limit)
		}
	}
	if bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("solid")) {
		return asciiSTL(data, limit)
	}
	return nil, nil, fmt.Errorf("neither ASCII STL nor binary STL of the length that its count says")
}

// mesh under construction.
type stlMesh struct {
	limit     int
	index     map[mgl64.Vec3]int32
	vertices  []mgl64.Vec3
	triangles [][3]int32
}

func (m *stlMesh) add(corners [3]mgl64.Vec3) error {
	if len(m.triangles) >= m.limit {
		return fmt.Errorf("more triangles than the %d that are read", m.limit)
	}
	var t [3]int32
	for i, v := range corners {
		for k := range v {
			if math.IsNaN(v[k]) || math.Abs(v[k]) > maxMagnitude {
				return fmt.Errorf("triangle %d: a coordinate isn't finite or is out of range", len(m.triangles))
			}
			v[k] += 0 // -0 and 0 are one vertex
		}
		at, ok := m.index[v]
		if !ok {
			at = int32(len(m.vertices))
			m.index[v] = at
			m.vertices = append(m.vertices, v)
		}
		t[i] = at
	}
	m.triangles = append(m.triangles, t)
	return nil
}

func (m *stlMesh) done() ([]mgl64.Vec3, [][3]int32, error) {
	if len(m.triangles) == 0 {
		return nil, nil, fmt.Errorf("no triangles")
	}
	return m.vertices, m.triangles, nil
}

func binarySTL(data []byte, n, limit int) ([]mgl64.Vec3, [][3]int32, error) {
	m := &stlMesh{limit: limit, index: map[mgl64.Vec3]int32{}}
	for i := range n {
		rec := data[i*stlTriangle:]
		var c [3]mgl64.Vec3
		for k := range c {
			for x := range 3 {
				at := 12 + 12*k + 4*x
				c[k][x] = float64(math.Float32frombits(binary.LittleEndian.Uint32(rec[at:])))
			}
		}
		if err := m.add(c); err != nil {
			return nil, nil, err
		}
	}
	return m.done()
}

// asciiSTL reads the words of
//
//	solid [name] { facet normal x y z outer loop {vertex x y z}×3 endloop endfacet } endsolid [name]
func asciiSTL(data []byte, limit int) ([]mgl64.Vec3, [][3]int32, error) {
	m := &stlMesh{limit: limit, index: map[mgl64.Vec3]int32{}}
	r := &stlWords{data: data}
	r.restOfLine() // solid and its name
	for {
		switch w := r.next(); w {
		case "endsolid":
			r.restOfLine()
			if w := r.next(); w != "" {
				return nil, nil, fmt.Errorf("line %d: %q after endsolid", r.line(), clip(w))
			}
			return m.done()
		case "facet":
			c, err := r.facet()
			if err == nil {
				err = m.add(c)
			}
			if err != nil {
				return nil, nil, fmt.Errorf("line %d: %w", r.line(), err)
			}
		case "":
			return nil, nil, fmt.Errorf("the file ends before endsolid")
		default:
			return nil, nil, fmt.Errorf("line %d: %q where facet or endsolid is due", r.line(), clip(w))
		}
	}
}

type stlWords struct {
	data []byte
	pos  int
}

func (r *stlWords) line() int { return 1 + bytes.Count(r.data[:r.pos], []byte("\n")) }

func (r *stlWords) restOfLine() {
	if i := bytes.IndexByte(r.data[r.pos:], '\n'); i >= 0 {
		r.pos += i + 1
		return
	}
	r.pos = len(r.data)
}

// next returns the next word, "" at the end.
func (r *stlWords) next() string {
	for r.pos < len(r.data) && isXMLSpace(rune(r.data[r.pos])) {
		r.pos++
	}
	start := r.pos
	for r.pos < len(r.data) && !isXMLSpace(rune(r.data[r.pos])) {
		r.pos++
	}
	return string(r.data[start:r.pos])
}

func (r *stlWords) expect(words ...string) error {
	for _, w := range words {
		if got := r.next(); got != w {
			return fmt.Errorf("%q where %s is due", clip(got), w)
		}
	}
	return nil
}

func (r *stlWords) facet() (c [3]mgl64.Vec3, err error) {
	if err := r.expect("normal"); err != nil {
		return c, err
	}
	for range 3 {
		r.next() // normals may be anything, even nan of a degenerate facet
	}
	if err := r.expect("outer", "loop"); err != nil {
		return c, err
	}
	for i := range c {
		if err := r.expect("vertex"); err != nil {
			return c, err
		}
		for k := range 3 {
			v, wrong := parseNumber(r.next())
			if wrong != "" {
				return c, fmt.Errorf("vertex: %s", wrong)
			}
			c[i][k] = v
		}
	}
	return c, r.expect("endloop", "endfacet")
}
