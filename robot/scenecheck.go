package robot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/go-gl/mathgl/mgl64"
)

// Limits on a scene.
const (
	MaxBodies      = 1024
	MaxZones       = 256
	maxSceneName   = 128  // bytes of a name
	maxSceneExtent = 1000 // m, of sizes and positions
	// quatTolerance is how far a quaternion's length may be from one; nearer
	// ones are rounded figures and are normalised, others are mistakes.
	quatTolerance = 1e-3
)

// NewScene checks bodies and zones, sorts each kind by name, normalises their
// quaternions (w ≥ 0) and computes the hash. Two scenes of the same content are
// equal and have the same hash, whatever order they were given in. Names must be
// unique among bodies and zones together.
func NewScene(name string, bodies []Body, zones []Zone) (Scene, error) {
	s := Scene{Name: name, Bodies: slices.Clone(bodies), Zones: slices.Clone(zones)}
	if wrong := badSceneName(name); name != "" && wrong != "" {
		return Scene{}, Errf(CodeInvalidArgument, "name", "%s", wrong)
	}
	if len(s.Bodies) > MaxBodies || len(s.Zones) > MaxZones {
		return Scene{}, Errf(CodeInvalidArgument, "scene", "%d bodies and %d zones; at most %d and %d are allowed",
			len(s.Bodies), len(s.Zones), MaxBodies, MaxZones)
	}
	seen := map[string]bool{}
	one := func(name string, p *Pose, g Geometry) error {
		wrong := badSceneName(name)
		if wrong == "" && seen[name] {
			wrong = "the name is used twice"
		}
		seen[name] = true
		if wrong == "" {
			wrong = normalisePose(p)
		}
		if wrong == "" {
			wrong = badSceneGeometry(g)
		}
		if wrong != "" {
			return Errf(CodeInvalidArgument, "scene", "%q: %s", name, wrong)
		}
		return nil
	}
	for i := range s.Bodies {
		if err := one(s.Bodies[i].Name, &s.Bodies[i].Pose, s.Bodies[i].Geometry); err != nil {
			return Scene{}, err
		}
	}
	for i := range s.Zones {
		if err := one(s.Zones[i].Name, &s.Zones[i].Pose, s.Zones[i].Geometry); err != nil {
			return Scene{}, err
		}
	}
	slices.SortFunc(s.Bodies, func(a, b Body) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Zones, func(a, b Zone) int { return cmp.Compare(a.Name, b.Name) })
	s.Hash = s.hash()
	return s, nil
}

func (s *Scene) hash() [32]byte {
	e := newEncoder("tau robot scene 1")
	e.str(s.Name)
	e.num(len(s.Bodies))
	for _, b := range s.Bodies {
		e.str(b.Name)
		e.pose(b.Pose)
		e.geometry(b.Geometry)
		e.flag(b.Movable)
	}
	e.num(len(s.Zones))
	for _, z := range s.Zones {
		e.str(z.Name)
		e.pose(z.Pose)
		e.geometry(z.Geometry)
	}
	return e.sum()
}

// WithBodies returns the scene with other bodies and its hash computed anew: what
// a simulator says of a scene in which a body was carried. The bodies are those of
// a checked scene at other poses, so nothing is checked again; the slice is kept.
func (s Scene) WithBodies(bodies []Body) Scene {
	s.Bodies = bodies
	s.Hash = s.hash()
	return s
}

// CheckNames refuses a scene whose bodies or zones are called like links of the
// robot: a report of what touched what would be ambiguous.
func (s *Scene) CheckNames(d *Description) error {
	names := make([]string, 0, len(s.Bodies)+len(s.Zones))
	for _, b := range s.Bodies {
		names = append(names, b.Name)
	}
	for _, z := range s.Zones {
		names = append(names, z.Name)
	}
	for _, n := range names {
		if d.LinkIndex(n) >= 0 {
			return Errf(CodeInvalidArgument, "scene", "%q is also the name of a link of the robot %q", n, d.Name)
		}
	}
	return nil
}

func badSceneName(s string) string {
	switch {
	case s == "":
		return "the name is empty"
	case len(s) > maxSceneName:
		return fmt.Sprintf("a name of %d bytes; at most %d are allowed", len(s), maxSceneName)
	case !utf8.ValidString(s):
		return "the name isn't UTF-8"
	}
	for _, c := range s {
		if !unicode.IsPrint(c) {
			return fmt.Sprintf("the name %q holds characters that can't be shown", s)
		}
		// A card quotes names, and a quote in one could end it for who reads it.
		if c == '`' || unicode.Is(unicode.Quotation_Mark, c) {
			return fmt.Sprintf("the name %q holds the quote character %c", s, c)
		}
	}
	// " a" and "a" look the same; no other blank can be shown.
	if s[0] == ' ' || s[len(s)-1] == ' ' {
		return fmt.Sprintf("the name %q begins or ends with a blank", s)
	}
	return ""
}

// normalisePose makes the quaternion a unit one with w ≥ 0, so that a rotation
// has one spelling.
func normalisePose(p *Pose) string {
	for _, v := range p.P {
		if wrong := badExtent("position", v); wrong != "" {
			return wrong
		}
	}
	q := p.Q
	n := math.Sqrt(q.W*q.W + q.V.Dot(q.V))
	if !(math.Abs(n-1) <= quatTolerance) {
		return fmt.Sprintf("the quaternion has the length %.6g; 1 is due", n)
	}
	if first := cmp.Or(q.W, q.V[0], q.V[1], q.V[2]); first < 0 {
		n = -n
	}
	if math.Abs(math.Abs(n)-1) > 1e-15 || n < 0 {
		q = mgl64.Quat{W: q.W / n, V: mgl64.Vec3{q.V[0] / n, q.V[1] / n, q.V[2] / n}}
	}
	// Adding zero takes the sign from -0.
	p.Q = mgl64.Quat{W: q.W + 0, V: mgl64.Vec3{q.V[0] + 0, q.V[1] + 0, q.V[2] + 0}}
	p.P = mgl64.Vec3{p.P[0] + 0, p.P[1] + 0, p.P[2] + 0}
	return ""
}

func badSceneGeometry(g Geometry) string {
	above := func(what string, v float64) string {
		if !(v > 0) {
			return fmt.Sprintf("%s %g m must be above zero", what, v)
		}
		return badExtent(what, v)
	}
	switch g.Kind {
	case Box:
		return cmp.Or(above("box size", g.Size[0]), above("box size", g.Size[1]), above("box size", g.Size[2]))
	case Cylinder, Capsule:
		return cmp.Or(above(g.Kind.String()+" radius", g.Radius), above(g.Kind.String()+" length", g.Length))
	case Sphere:
		return above("sphere radius", g.Radius)
	default:
		return fmt.Sprintf("geometry of the kind %s isn't supported in a scene", g.Kind)
	}
}

func badExtent(what string, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) || math.Abs(v) > maxSceneExtent {
		return fmt.Sprintf("%s %g m isn't finite or is beyond %d m", what, v, maxSceneExtent)
	}
	return ""
}
