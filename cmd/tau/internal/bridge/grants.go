package bridge

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/policy"
	"github.com/tau-robot/tau/motion"
	"github.com/tau-robot/tau/robot"
)

// limits bound what is planned and rehearsed, beyond the robot and its scene.
type limits struct {
	allow     motion.Allowances // nil: no zone is open, and no speed is capped
	workspace *policy.Box       // of the tool's tip, in the root frame; nil: not bounded
}

func (l limits) box() *motion.Box {
	if l.workspace == nil {
		return nil
	}
	return &motion.Box{Min: vec3(l.workspace.Min), Max: vec3(l.workspace.Max)}
}

func (l limits) corners() *[2]mgl64.Vec3 {
	if b := l.box(); b != nil {
		return &[2]mgl64.Vec3{b.Min, b.Max}
	}
	return nil
}

// vec3 is of a slice that the policy's Check has held to have three numbers.
func vec3(v []float64) mgl64.Vec3 { return mgl64.Vec3{v[0], v[1], v[2]} }

// guarded returns a scene with the guarded zones of the operator's policy beside its own.
func guarded(of *robot.Model, scene robot.Scene, m policy.Motion) (robot.Scene, error) {
	if len(m.Zones) == 0 {
		return scene, nil
	}
	zones := slices.Clone(scene.Zones)
	for _, z := range m.Zones {
		lo, hi := vec3(z.Min), vec3(z.Max)
		pose := robot.IdentityPose()
		pose.P = lo.Add(hi).Mul(0.5)
		zones = append(zones, robot.Zone{Name: z.Name, Pose: pose, Geometry: robot.Geometry{Kind: robot.Box, Size: hi.Sub(lo)}})
	}
	out, err := robot.NewScene(scene.Name, scene.Bodies, zones)
	if err == nil {
		err = out.CheckNames(of.Description)
	}
	if err != nil {
		return robot.Scene{}, robot.Errf(robot.CodeInvalidArgument, "policy.motion.zones", "%w", err)
	}
	return out, nil
}

// permits is what a principal may do in a session beyond what everybody may: by the
// operator's own list and by the grants in force, each time as it is then. What can't
// be looked up is permitted to nobody. Any goroutine may use it.
type permits struct {
	grants   gate.Grants
	sessions gate.Sessions
	list     []policy.Grant
	cap      float64 // of the speed_scale; 0: none
	scene    func() robot.Scene
	now      func() time.Time
	log      *slog.Logger
}

var (
	_ motion.Allowances = (*permits)(nil)
	_ motion.Ending     = (*permits)(nil)
	_ gate.Access       = (*permits)(nil)
)

// standing are the values of the operator's own list.
func (p *permits) standing(session, principal string) []string {
	var out []string
	for _, g := range p.list {
		if g.Principal == principal && (g.Session == session || g.Session == "*") {
			out = append(out, g.Value)
		}
	}
	return out
}

// granted are the grants in force, of the session as it is now.
func (p *permits) granted(session, principal string) []gate.Grant {
	s, err := p.sessions.Session(session)
	if err != nil {
		return nil // it may not move either
	}
	all, err := p.grants.Grants(context.Background(), p.now())
	if err != nil {
		p.log.Error("the grants could not be read; none counts", "session", session, "error", err)
		return nil
	}
	return slices.DeleteFunc(all, func(g gate.Grant) bool { return !g.Holds(s, principal) })
}

// Zone reports whether a guarded zone is open.
func (p *permits) Zone(session, principal, zone string) bool {
	open, _ := p.zone(session, principal, zone)
	return open
}

// ZoneUntil returns when an open zone closes; zero: not by itself.
func (p *permits) ZoneUntil(session, principal, zone string) time.Time {
	_, until := p.zone(session, principal, zone)
	return until
}

func (p *permits) zone(session, principal, zone string) (open bool, until time.Time) {
	value := gate.ZoneValue + zone
	if slices.Contains(p.standing(session, principal), value) {
		return true, time.Time{}
	}
	for _, g := range p.granted(session, principal) {
		if g.Value == value {
			open = true
			if g.Expires.After(until) {
				until = g.Expires
			}
		}
	}
	return open, until
}

// SpeedCap returns the largest speed scale of now: the operator's cap, or what is
// permitted above it.
func (p *permits) SpeedCap(session, principal string) (scale float64, capped bool) {
	if p.cap == 0 {
		return 1, false
	}
	scale = p.cap
	for _, v := range p.standing(session, principal) {
		if s, ok := gate.SpeedOf(v); ok {
			scale = max(scale, s)
		}
	}
	for _, g := range p.granted(session, principal) {
		if s, ok := gate.SpeedOf(g.Value); ok {
			scale = max(scale, s)
		}
	}
	return scale, true
}

// Standing reports whether the operator's own list permits a value already.
func (p *permits) Standing(s gate.Session, principal, value string) bool {
	if v, ok := gate.SpeedOf(value); ok && p.cap > 0 && v <= p.cap {
		return true
	}
	return slices.ContainsFunc(p.standing(s.Name, principal), func(have string) bool { return gate.Covers(have, value) })
}

// Askable says what a value would permit, or how to ask.
func (p *permits) Askable(_ gate.Session, value string) (string, error) {
	scene := p.scene()
	if name, ok := gate.ZoneOf(value); ok {
		for i := range scene.Zones {
			if z := &scene.Zones[i]; z.Name == name {
				return fmt.Sprintf("motions of this session may enter the guarded zone %q (%s around (%.3f, %.3f, %.3f) m)",
					name, shapeText(z.Geometry), z.Pose.P[0], z.Pose.P[1], z.Pose.P[2]), nil
			}
		}
		return "", gate.Errf(gate.CodeInvalidArgument, "", "%q: %s", value, zonesText(scene.Zones))
	}
	if scale, ok := gate.SpeedOf(value); ok {
		if p.cap == 0 {
			return "", gate.Errf(gate.CodeInvalidArgument, "", "%q: the operator has set no cap on the speed, so there is nothing to ask for", value)
		}
		return fmt.Sprintf("motions of this session may have a speed_scale of up to %s; the operator's cap is %s",
			number(scale), number(p.cap)), nil
	}
	return "", gate.Errf(gate.CodeInvalidArgument, "", `%q: ask for "zone:NAME" or for "speed:SCALE" with a scale above 0 to 1; %s`, value, zonesText(scene.Zones))
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func shapeText(g robot.Geometry) string {
	switch g.Kind {
	case robot.Box:
		return fmt.Sprintf("a box of %.3f × %.3f × %.3f m", g.Size[0], g.Size[1], g.Size[2])
	case robot.Sphere:
		return fmt.Sprintf("a sphere of radius %.3f m", g.Radius)
	case robot.Cylinder:
		return fmt.Sprintf("a cylinder of radius %.3f and height %.3f m", g.Radius, g.Length)
	case robot.Capsule:
		return fmt.Sprintf("a capsule of radius %.3f and length %.3f m", g.Radius, g.Length)
	}
	return "a body"
}

func zonesText(zones []robot.Zone) string {
	if len(zones) == 0 {
		return "this scene has no guarded zone"
	}
	names := make([]string, len(zones))
	for i := range zones {
		names[i] = strconv.Quote(gate.ZoneValue + zones[i].Name)
	}
	return "the guarded zones of this scene are " + strings.Join(names, ", ")
}
