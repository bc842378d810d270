package motion

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// SceneEditor changes what stands around a robot; a simulated one is its own. The
// change is to be seen at once in Arm.SceneNow. Errors are *robot.Error: BUSY
// while something moves, SCENE_COLLISION for a body that would touch the robot,
// INVALID_ARGUMENT for names that are taken or that nothing has.
type SceneEditor interface {
	AddBody(b robot.Body) error
	RemoveBody(name string) error
}

// edits are the names that scene_add and scene_remove have touched, in the order
// of their first change.
type edits []string

func (e edits) with(name string) edits {
	if slices.Contains(e, name) {
		return e
	}
	return append(slices.Clone(e), name)
}

// quoted lists names so that none can be taken for what stands around it.
func quoted(names []string) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strconv.Quote(n)
	}
	return strings.Join(out, ", ")
}

// onCard is a name as a card has it: as it is where it reads as one word, else quoted,
// so that what an agent called a body can't be taken for the card's own words.
func onCard(name string) string {
	for _, c := range name {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("_-.", c) {
			return strconv.Quote(name)
		}
	}
	return name
}

// text says what of a scene the agent has changed since the start, "" for nothing.
// A body that was carried by a motion isn't a change of the agent's; one that was
// taken out and put back as it was isn't one either.
func (e edits) text(start, now *robot.Scene) string {
	find := func(s *robot.Scene, name string) *robot.Body {
		for i := range s.Bodies {
			if s.Bodies[i].Name == name {
				return &s.Bodies[i]
			}
		}
		return nil
	}
	var added, removed, changed []string
	for _, n := range e {
		was, is := find(start, n), find(now, n)
		switch {
		case was == nil && is != nil:
			added = append(added, n)
		case was != nil && is == nil:
			removed = append(removed, n)
		case was != nil && is != nil && *was != *is:
			changed = append(changed, n)
		}
	}
	var parts []string
	for _, p := range []struct {
		names []string
		what  string
	}{{added, "added"}, {removed, "removed"}, {changed, "replaced"}} {
		if len(p.names) > 0 {
			parts = append(parts, countText(len(p.names), p.what, len(parts) == 0)+" ("+quoted(p.names)+")")
		}
	}
	return strings.Join(parts, ", ")
}

func countText(n int, what string, first bool) string {
	noun := ""
	if first {
		noun = " bodies"
		if n == 1 {
			noun = " body"
		}
		what += " by the agent"
	}
	return strconv.Itoa(n) + noun + " " + what
}

// sceneFacts is the line of a card that says what of the scene the agent has
// changed: a plan rehearsed without the table is worth less.
func (a *arm) sceneFacts(scene *robot.Scene) []gate.Fact {
	if s := a.edited(scene); s != "" {
		return []gate.Fact{{Label: "Scene", Text: s}}
	}
	return nil
}

func (a *arm) edited(scene *robot.Scene) string {
	a.mu.Lock()
	e := a.edits
	a.mu.Unlock()
	return e.text(&a.Scene, scene)
}

// change runs an edit of a body, one at a time. It is noted before it is made, so
// that no plan is made in the changed scene whose card doesn't say so, and taken
// back where it is refused.
func (a *arm) change(name string, edit func() error) error {
	a.editing.Lock()
	defer a.editing.Unlock()
	note := func(set func(edits) edits) (before edits) {
		a.mu.Lock()
		defer a.mu.Unlock()
		before = a.edits
		a.edits = set(before)
		return before
	}
	before := note(func(e edits) edits { return e.with(name) })
	err := edit()
	if err != nil {
		note(func(edits) edits { return before })
	}
	return err
}

// editable refuses changes of a scene that isn't the agent's to change.
func (a *arm) editable() error {
	if a.info.Mode != robot.ModeSim {
		return robot.Errf(robot.CodeNotSupported, "scene", "a real session's scene is the operator's; only a simulated one can be changed by tools")
	}
	if a.Edit == nil {
		return robot.Errf(robot.CodeNotSupported, "scene", "the scene of this robot can't be changed")
	}
	return nil
}

// bodyOf reads a body as a scene file has it.
func bodyOf(raw json.RawMessage) (robot.Body, error) {
	file := slices.Concat([]byte(`{"bodies":[`), raw, []byte(`]}`))
	s, err := robot.ParseScene("body", file)
	if err != nil {
		return robot.Body{}, err
	}
	return s.Bodies[0], nil
}

func (p *Planner) sceneAdd(_ context.Context, call gate.Call, a *arm) (any, error) {
	if err := a.editable(); err != nil {
		return nil, err
	}
	b, err := bodyOf(call.Args)
	if err != nil {
		return nil, err
	}
	err = a.change(b.Name, func() error {
		now := a.sceneNow()
		next, err := robot.NewScene(now.Name, append(slices.Clone(now.Bodies), b), now.Zones)
		if err != nil {
			return err
		}
		if err := next.CheckNames(a.Model.Description); err != nil {
			return err
		}
		return a.Edit.AddBody(b)
	})
	if err != nil {
		return nil, err
	}
	return a.editResult(&b), nil
}

func (p *Planner) sceneRemove(_ context.Context, call gate.Call, a *arm) (any, error) {
	if err := a.editable(); err != nil {
		return nil, err
	}
	in, err := args[struct {
		Name string `json:"name"`
	}](call)
	if err != nil {
		return nil, err
	}
	now := a.sceneNow()
	if slices.ContainsFunc(now.Zones, func(z robot.Zone) bool { return z.Name == in.Name }) {
		return nil, robot.Errf(robot.CodeNotSupported, "name", "%q is a guarded zone; zones are the operator's", in.Name)
	}
	var was robot.Body
	err = a.change(in.Name, func() error {
		now := a.sceneNow()
		i := slices.IndexFunc(now.Bodies, func(b robot.Body) bool { return b.Name == in.Name })
		if i < 0 {
			return robot.Errf(robot.CodeInvalidArgument, "name", "the scene has no body %q", in.Name)
		}
		was = now.Bodies[i]
		return a.Edit.RemoveBody(in.Name)
	})
	if err != nil {
		return nil, err
	}
	return a.editResult(&was), nil
}

func (p *Planner) sceneDescribe(_ context.Context, _ gate.Call, a *arm) (any, error) {
	return a.sceneResult(), nil
}

type shapeResult struct {
	Name     string         `json:"name"`
	Pose     scenePose      `json:"pose"`
	Geometry geometryResult `json:"geometry"`
	Movable  *bool          `json:"movable,omitempty"` // of bodies
}

type scenePose struct {
	XYZ  [3]float64 `json:"xyz"`
	Quat [4]float64 `json:"quat_wxyz"`
}

type boxResult struct {
	Size mgl64.Vec3 `json:"size"`
}

type roundResult struct {
	Radius float64  `json:"radius"`
	Length *float64 `json:"length,omitempty"`
}

type meshResult struct {
	Triangles int `json:"triangles"`
}

type geometryResult struct {
	Box      *boxResult   `json:"box,omitempty"`
	Cylinder *roundResult `json:"cylinder,omitempty"`
	Capsule  *roundResult `json:"capsule,omitempty"`
	Sphere   *roundResult `json:"sphere,omitempty"`
	Mesh     *meshResult  `json:"mesh,omitempty"`
}

func geometryOf(g robot.Geometry) (out geometryResult) {
	switch g.Kind {
	case robot.Box:
		out.Box = &boxResult{g.Size}
	case robot.Cylinder:
		out.Cylinder = &roundResult{g.Radius, &g.Length}
	case robot.Capsule:
		out.Capsule = &roundResult{g.Radius, &g.Length}
	case robot.Sphere:
		out.Sphere = &roundResult{Radius: g.Radius}
	case robot.MeshGeometry:
		out.Mesh = &meshResult{}
		if g.Mesh != nil {
			out.Mesh.Triangles = len(g.Mesh.Triangles)
		}
	}
	return out
}

func scenePoseOf(p robot.Pose) scenePose {
	return scenePose{XYZ: p.P, Quat: [4]float64{p.Q.W, p.Q.V[0], p.Q.V[1], p.Q.V[2]}}
}

// sceneResult is the scene as a scene file has it, so that a body of it can be
// given back to scene_add.
type sceneResult struct {
	Name     string        `json:"name"`
	Hash     string        `json:"hash"`
	Bodies   []shapeResult `json:"bodies"`
	Zones    []shapeResult `json:"guarded_zones"`
	Changed  string        `json:"changed,omitempty"`
	Editable bool          `json:"editable"`
}

func bodyResult(b *robot.Body) shapeResult {
	return shapeResult{Name: b.Name, Pose: scenePoseOf(b.Pose), Geometry: geometryOf(b.Geometry), Movable: &b.Movable}
}

// editResult is the body that was added or taken out and what the scene has since:
// the whole of it is scene_describe's to tell, lest many edits answer at length.
type editResult struct {
	Body   shapeResult `json:"body"`
	Bodies int         `json:"bodies"`
	Zones  int         `json:"guarded_zones"`
	Hash   string      `json:"hash"`
}

func (a *arm) editResult(b *robot.Body) editResult {
	s := a.sceneNow()
	return editResult{Body: bodyResult(b), Bodies: len(s.Bodies), Zones: len(s.Zones), Hash: hex.EncodeToString(s.Hash[:])}
}

func (a *arm) sceneResult() sceneResult {
	s := a.sceneNow()
	out := sceneResult{
		Name: s.Name, Hash: hex.EncodeToString(s.Hash[:]), Bodies: []shapeResult{}, Zones: []shapeResult{},
		Changed: a.edited(s), Editable: a.editable() == nil,
	}
	for i := range s.Bodies {
		out.Bodies = append(out.Bodies, bodyResult(&s.Bodies[i]))
	}
	for i := range s.Zones {
		z := &s.Zones[i]
		out.Zones = append(out.Zones, shapeResult{Name: z.Name, Pose: scenePoseOf(z.Pose), Geometry: geometryOf(z.Geometry)})
	}
	return out
}
