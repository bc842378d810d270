package urdf

import (
	"fmt"
	"io/fs"
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

// Options say what Parse may read beside the description itself. The zero value
// permits nothing: meshes then stay unread, with a warning each, and NewModel
// refuses the description.
type Options struct {
	// Files holds what relative mesh names point into, Dir the slash-separated
	// folder in it that they start from, "" for its root. A name that would
	// leave Files is refused.
	Files fs.FS
	Dir   string
	// Packages maps what stands after package:// to the folder that it names. A
	// key may hold slashes; the longest that matches counts.
	Packages map[string]fs.FS
	// Args are the arguments of a xacro file.
	Args map[string]string
}

// Parse reads a URDF document. file is only what errors and warnings call it.
//
// It takes: links with inertial and collision bodies (box, cylinder, sphere,
// capsule, STL mesh), joints that are revolute, continuous, prismatic or fixed
// with their origin, axis, limit, dynamics, mimic and safety_controller.
// Elements and attributes of other namespaces are a vendor's and are ignored,
// as are <visual>, <gazebo>, <transmission> and the like. The position limits of
// a joint are the narrower of the hard and the soft ones and of what the joints
// that mimic it allow; a velocity limit likewise.
//
// A file whose name ends in .xacro is expanded first (package xacro), with what
// Options gives; what is wrong with the expansion is then said of the line that
// it came from, in whatever file that is.
//
// It refuses: xacro elements in any other file, DOCTYPE and entities, a second document, numbers
// that are not finite decimals, wrong counts of values, duplicate names and
// attributes, anything but one tree, floating and planar joints, missing or
// swapped position limits, negative limits and masses, inertia that no body can
// have (an eigenvalue below zero). It warns, and loads, where an inertia
// breaks the triangle inequality, a velocity or effort is missing or zero, or an
// element or attribute isn't known.
func Parse(file string, data []byte, opt Options) (*robot.Description, error) {
	p := &parser{report: report{file: file}, opt: opt}
	data, err := p.expand(data, opt, true)
	if err != nil {
		return nil, err
	}
	root, err := parseXML(file, data, "robot", p.warn)
	if err != nil {
		return nil, p.mapped(err)
	}
	p.hashPart(file, data, false)
	d := p.robot(root)
	if err := p.err(); err != nil {
		return nil, err
	}
	d.Warnings = p.warnings()
	d.Hash = p.sum()
	return d, nil
}

type parser struct {
	report
	opt       Options
	triangles int
	meshes    map[string]*robot.Mesh // by file and scale
	hash      contentHash
}

// rawLink and rawJoint are what a file says of a link and a joint, before it is
// known how they hang together.
type rawLink struct {
	robot.Link
	line int
}

type rawJoint struct {
	robot.Joint
	line, parentLine, childLine int
	parent, child               string
	mimic                       *rawMimic
	index                       int // in Description.Joints, once that is known
}

type rawMimic struct {
	joint              string
	multiplier, offset float64
	line               int
}

func (p *parser) robot(e *element) *robot.Description {
	d := &robot.Description{}
	d.Name = p.name(e, "name")
	if a, ok := e.attr("version"); ok && a.value != "1.0" && a.value != "1" {
		p.bad(a.line, "URDF version %q is not supported; 1.0 is", clip(a.value))
	}
	p.strangers(e, "robot", []string{"link", "joint", "material", "gazebo", "transmission", "sensor", "ros2_control"}, []string{"name", "version"})
	var links []rawLink
	var joints []rawJoint
	for _, c := range e.all("link") {
		links = append(links, p.link(c))
	}
	for _, c := range e.all("joint") {
		joints = append(joints, p.joint(c))
	}
	if len(p.errs) > 0 {
		return nil
	}
	if len(links) > MaxLinks {
		p.bad(links[MaxLinks].line, "more than %d links", MaxLinks)
		return nil
	}
	p.tree(d, links, joints)
	return d
}

func (p *parser) link(e *element) rawLink {
	out := rawLink{line: e.line}
	out.Parent = -1
	out.Name = p.name(e, "name")
	who := fmt.Sprintf("link %q", out.Name)
	p.strangers(e, who, []string{"inertial", "visual", "collision"}, []string{"name", "type"})
	if in := p.one(e, who, "inertial"); in != nil {
		out.Inertial = p.inertial(in, who)
	}
	for i, c := range e.all("collision") {
		name := fmt.Sprintf("%s#%d", out.Name, i)
		if a, ok := c.attr("name"); ok && a.value != "" {
			if wrong := badName(a.value); wrong != "" {
				p.bad(a.line, "%s: <collision> attribute name: %s", who, wrong)
			}
			name = a.value
		}
		p.strangers(c, who, []string{"origin", "geometry"}, []string{"name"})
		origin := p.origin(c, who)
		g := p.one(c, who, "geometry")
		if g == nil {
			p.bad(c.line, "%s: <collision> without <geometry>", who)
			continue
		}
		if geo, ok := p.geometry(g, who); ok {
			out.Colliders = append(out.Colliders, robot.Collider{Name: name, Origin: origin, Geometry: geo})
		}
	}
	return out
}

// origin reads the <origin> child: the frame's place in its parent. The
// translation is applied after the rotation, R = Rz(yaw)·Ry(pitch)·Rx(roll)
// about fixed axes, as the URDF specification has it.
func (p *parser) origin(e *element, who string) robot.Pose {
	o := p.one(e, who, "origin")
	if o == nil {
		return robot.IdentityPose()
	}
	p.strangers(o, who, nil, []string{"xyz", "rpy"})
	xyz, _ := p.vector(o, who, "xyz", [3]float64{})
	rpy, _ := p.vector(o, who, "rpy", [3]float64{})
	return robot.Pose{P: mgl64.Vec3(xyz), Q: rpyQuat(rpy)}
}

func rpyQuat(rpy [3]float64) mgl64.Quat {
	about := func(angle float64, axis mgl64.Vec3) mgl64.Quat {
		s, c := math.Sincos(angle / 2)
		return mgl64.Quat{W: c, V: axis.Mul(s)}
	}
	x := about(rpy[0], mgl64.Vec3{1, 0, 0})
	y := about(rpy[1], mgl64.Vec3{0, 1, 0})
	z := about(rpy[2], mgl64.Vec3{0, 0, 1})
	return z.Mul(y).Mul(x).Normalize()
}

func (p *parser) inertial(e *element, who string) *robot.Inertial {
	p.strangers(e, who, []string{"origin", "mass", "inertia"}, nil)
	out := &robot.Inertial{Origin: p.origin(e, who)}
	m, in := p.one(e, who, "mass"), p.one(e, who, "inertia")
	if m == nil || in == nil {
		p.bad(e.line, "%s: <inertial> needs both <mass> and <inertia>", who)
		return nil
	}
	p.strangers(m, who, nil, []string{"value"})
	p.strangers(in, who, nil, []string{"ixx", "ixy", "ixz", "iyy", "iyz", "izz"})
	mass, ok := p.number(m, who, "value")
	if ok && mass < 0 {
		p.bad(m.line, "%s: mass %g kg is negative", who, mass)
	}
	out.Mass = mass
	for i, name := range []string{"ixx", "ixy", "ixz", "iyy", "iyz", "izz"} {
		v, good := p.number(in, who, name)
		out.Inertia[i], ok = v, ok && good
	}
	if !ok {
		return nil
	}
	p.checkInertia(out, in.line, who)
	if out.Mass == 0 && out.Inertia == [6]float64{} {
		return nil // a frame without a body
	}
	return out
}

// psdTolerance is how far below zero an eigenvalue may be, as a part of the
// largest one: rounding of printed numbers.
const psdTolerance = 1e-6

// checkInertia holds an inertia against what a rigid body can have: eigenvalues
// of at least zero, none larger than the sum of the others.
func (p *parser) checkInertia(in *robot.Inertial, line int, who string) {
	low, mid, high := symEigen(in.Inertia)
	switch {
	case low < -psdTolerance*math.Abs(high) || high < 0:
		p.bad(line, "%s: the inertia has a negative eigenvalue (%g kg·m²); no body has it", who, low)
	case high > (low+mid)*(1+1e-3)+1e-12:
		p.warn(line, who, fmt.Sprintf("the inertia breaks the triangle inequality (%.3g > %.3g + %.3g kg·m²)", high, low, mid))
	case in.Mass == 0 && high > 0:
		p.warn(line, who, "inertia without mass")
	}
}

// symEigen returns the eigenvalues of a symmetric 3×3 matrix in rising order, by
// the trigonometric solution of its characteristic polynomial (O. K. Smith,
// Communications of the ACM 4(4), 1961, p. 168).
func symEigen(i [6]float64) (low, mid, high float64) {
	xx, xy, xz, yy, yz, zz := i[0], i[1], i[2], i[3], i[4], i[5]
	scale := 0.0
	for _, v := range i {
		scale = math.Max(scale, math.Abs(v))
	}
	if scale == 0 {
		return 0, 0, 0
	}
	xx, xy, xz, yy, yz, zz = xx/scale, xy/scale, xz/scale, yy/scale, yz/scale, zz/scale
	q := (xx + yy + zz) / 3
	a, b, c := xx-q, yy-q, zz-q
	r := math.Sqrt((a*a + b*b + c*c + 2*(xy*xy+xz*xz+yz*yz)) / 6)
	if r == 0 {
		return q * scale, q * scale, q * scale
	}
	det := a*(b*c-yz*yz) - xy*(xy*c-yz*xz) + xz*(xy*yz-b*xz)
	phi := math.Acos(math.Max(-1, math.Min(1, det/(2*r*r*r)))) / 3
	high = q + 2*r*math.Cos(phi)
	low = q + 2*r*math.Cos(phi+2*math.Pi/3)
	mid = 3*q - high - low
	return low * scale, mid * scale, high * scale
}
