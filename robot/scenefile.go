package robot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxSceneBytes is the size of the largest scene file that is read.
const MaxSceneBytes = 4 << 20

// ParseScene reads a scene file (docs/scene.schema.json): one JSON object with
// bodies and guarded zones, poses in the robot's root frame. file is only what
// errors call it.
//
// Unknown and repeated fields, invalid UTF-8, data after the object, numbers
// beyond 1000 m, sizes that are not above zero and quaternions whose length is
// off by more than 1e-3 are refused with file:line. A pose without quat_wxyz
// isn't turned. Meshes are not supported yet.
func ParseScene(file string, data []byte) (Scene, error) {
	if len(data) > MaxSceneBytes {
		return Scene{}, Errf(CodeInvalidArgument, fileLine(file, 1), "the file has %d bytes, more than the %d that are read", len(data), MaxSceneBytes)
	}
	r := &sceneReader{file: file, data: data, dec: jsontext.NewDecoder(bytes.NewReader(data)), line: map[string]int{}}
	var name string
	var bodies []Body
	var zones []Zone
	err := r.object("the scene", nil, map[string]func() error{
		"$schema": func() error { _, err := r.text("$schema"); return err },
		"name": func() (err error) {
			if name, err = r.text("name"); err == nil && name != "" {
				err = r.check(badSceneName(name))
			}
			return err
		},
		"bodies": func() error {
			return r.array("bodies", MaxBodies, func() error {
				b := Body{Pose: IdentityPose()}
				err := r.thing("body", &b.Name, &b.Pose, &b.Geometry, map[string]func() error{
					"movable": func() (err error) { b.Movable, err = r.flag("movable"); return err },
				})
				bodies = append(bodies, b)
				return err
			})
		},
		"zones": func() error {
			return r.array("zones", MaxZones, func() error {
				z := Zone{Pose: IdentityPose()}
				err := r.thing("zone", &z.Name, &z.Pose, &z.Geometry, map[string]func() error{})
				zones = append(zones, z)
				return err
			})
		},
	})
	if err != nil {
		return Scene{}, err
	}
	if end := r.dec.InputOffset(); len(bytes.TrimLeft(data[end:], " \t\r\n")) > 0 {
		rest := len(bytes.TrimLeft(data[end:], " \t\r\n"))
		return Scene{}, Errf(CodeInvalidArgument, r.at(int64(len(data)-rest)), "data after the end of the scene")
	}
	return NewScene(name, bodies, zones)
}

// sceneReader reads the fixed shape of a scene token by token. It never goes
// deeper than that shape, so that nesting can't cost stack.
type sceneReader struct {
	file string
	data []byte
	dec  *jsontext.Decoder
	line map[string]int // where each name was given first
}

// at returns the place of the token that was read last.
func (r *sceneReader) at(offset int64) string {
	offset = min(max(offset, 0), int64(len(r.data)))
	return fileLine(r.file, 1+bytes.Count(r.data[:offset], []byte("\n")))
}

func (r *sceneReader) bad(format string, args ...any) error {
	return Errf(CodeInvalidArgument, r.at(r.dec.InputOffset()-1), format, args...)
}

func (r *sceneReader) check(wrong string) error {
	if wrong == "" {
		return nil
	}
	return r.bad("%s", wrong)
}

func (r *sceneReader) next() (jsontext.Token, error) {
	t, err := r.dec.ReadToken()
	if err == nil {
		return t, nil
	}
	var se *jsontext.SyntacticError
	if errors.As(err, &se) && se.Err != nil {
		return t, Errf(CodeInvalidArgument, r.at(se.ByteOffset), "not well-formed JSON: %w", se.Err)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file ends too early")
	}
	return t, Errf(CodeInvalidArgument, r.at(int64(len(r.data))), "not well-formed JSON: %w", err)
}

// object reads an object whose fields are all known. required lists fields that
// must be there.
func (r *sceneReader) object(what string, required []string, fields map[string]func() error) error {
	t, err := r.next()
	if err != nil {
		return err
	}
	if t.Kind() != '{' {
		return r.bad("%s: an object is due", what)
	}
	start := r.dec.InputOffset() - 1
	seen := map[string]bool{}
	for {
		if t, err = r.next(); err != nil {
			return err
		}
		if t.Kind() == '}' {
			break
		}
		key := t.String() // the decoder lets only strings stand here, and none twice
		read := fields[key]
		if read == nil {
			return r.bad("%s: unknown field %q", what, shorten(key))
		}
		seen[key] = true
		if err := read(); err != nil {
			return err
		}
	}
	for _, key := range required {
		if !seen[key] {
			return Errf(CodeInvalidArgument, r.at(start), "%s: the field %q is missing", what, key)
		}
	}
	return nil
}

func (r *sceneReader) array(what string, limit int, item func() error) error {
	t, err := r.next()
	if err != nil {
		return err
	}
	if t.Kind() != '[' {
		return r.bad("%s: an array is due", what)
	}
	for n := 0; ; n++ {
		if r.dec.PeekKind() == ']' {
			_, err := r.next()
			return err
		}
		if n >= limit {
			return r.bad("%s: more than %d", what, limit)
		}
		if err := item(); err != nil {
			return err
		}
	}
}

// thing reads what bodies and zones have in common.
func (r *sceneReader) thing(what string, name *string, pose *Pose, g *Geometry, fields map[string]func() error) error {
	fields["name"] = func() (err error) {
		if *name, err = r.text("name"); err != nil {
			return err
		}
		if wrong := badSceneName(*name); wrong != "" {
			return r.bad("%s", wrong)
		}
		if first, dup := r.line[*name]; dup {
			return r.bad("the name %q is used twice; the first is in line %d", *name, first)
		}
		r.line[*name] = 1 + bytes.Count(r.data[:r.dec.InputOffset()], []byte("\n"))
		return nil
	}
	fields["pose"] = func() error { return r.pose(pose) }
	fields["geometry"] = func() error { return r.geometry(g) }
	return r.object(what, []string{"name", "pose", "geometry"}, fields)
}

func (r *sceneReader) pose(p *Pose) error {
	err := r.object("pose", []string{"xyz"}, map[string]func() error{
		"xyz": func() error { return r.numbers("xyz", p.P[:]) },
		"quat_wxyz": func() error {
			var q [4]float64
			err := r.numbers("quat_wxyz", q[:])
			p.Q = mgl64.Quat{W: q[0], V: mgl64.Vec3{q[1], q[2], q[3]}}
			return err
		},
	})
	if err != nil {
		return err
	}
	return r.check(normalisePose(p))
}

func (r *sceneReader) geometry(g *Geometry) error {
	kind := func(k GeometryKind, required []string, fields map[string]func() error) func() error {
		return func() error {
			if g.Kind != 0 {
				return r.bad("geometry: a second shape; the first is a %s", g.Kind)
			}
			g.Kind = k
			if err := r.object(k.String(), required, fields); err != nil {
				return err
			}
			return r.check(badSceneGeometry(*g))
		}
	}
	round := map[string]func() error{
		"radius": func() (err error) { g.Radius, err = r.number("radius"); return err },
		"length": func() (err error) { g.Length, err = r.number("length"); return err },
	}
	err := r.object("geometry", nil, map[string]func() error{
		"box": kind(Box, []string{"size"}, map[string]func() error{
			"size": func() error { return r.numbers("size", g.Size[:]) },
		}),
		"cylinder": kind(Cylinder, []string{"radius", "length"}, round),
		"capsule":  kind(Capsule, []string{"radius", "length"}, round),
		"sphere":   kind(Sphere, []string{"radius"}, map[string]func() error{"radius": round["radius"]}),
		"mesh": func() error {
			return Errf(CodeNotSupported, r.at(r.dec.InputOffset()-1), "geometry: meshes are not supported in a scene")
		},
	})
	if err == nil && g.Kind == 0 {
		err = r.bad("geometry: one of box, cylinder, capsule and sphere is due")
	}
	return err
}

func (r *sceneReader) text(what string) (string, error) {
	t, err := r.next()
	if err != nil {
		return "", err
	}
	if t.Kind() != '"' {
		return "", r.bad("%s: a string is due", what)
	}
	return t.String(), nil
}

func (r *sceneReader) flag(what string) (bool, error) {
	t, err := r.next()
	if err != nil {
		return false, err
	}
	if k := t.Kind(); k != 't' && k != 'f' {
		return false, r.bad("%s: true or false is due", what)
	}
	return t.Bool(), nil
}

func (r *sceneReader) number(what string) (float64, error) {
	t, err := r.next()
	if err != nil {
		return 0, err
	}
	if t.Kind() != '0' {
		return 0, r.bad("%s: a number is due", what)
	}
	v, err := strconv.ParseFloat(t.String(), 64)
	if err != nil || math.IsInf(v, 0) {
		return 0, r.bad("%s: %s is out of range", what, shorten(t.String()))
	}
	return v, nil
}

func (r *sceneReader) numbers(what string, into []float64) error {
	n := 0
	err := r.array(what, len(into), func() (err error) {
		into[n], err = r.number(what)
		n++
		return err
	})
	if err == nil && n != len(into) {
		err = r.bad("%s: %d numbers where %d are due", what, n, len(into))
	}
	return err
}

func shorten(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("%.80s…", s)
	}
	return s
}
