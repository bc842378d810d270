package builtin_test

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

// frames returns the pose of every link in the root frame, straight from the
// joint origins and axes.
func frames(d *robot.Description, q []float64) []robot.Pose {
	out := make([]robot.Pose, len(d.Links))
	out[d.Root] = robot.IdentityPose()
	for _, j := range d.Joints {
		move := robot.IdentityPose()
		if j.Active >= 0 {
			if j.Type == robot.Prismatic {
				move.P = j.Axis.Mul(q[j.Active])
			} else {
				move.Q = mgl64.QuatRotate(q[j.Active], j.Axis)
			}
		}
		out[j.Child] = out[j.Parent].Mul(j.Origin).Mul(move)
	}
	return out
}

// support returns the point of a body, grown by margin, that lies furthest along dir.
func support(g robot.Geometry, at robot.Pose, dir mgl64.Vec3, margin float64) mgl64.Vec3 {
	d := at.Q.Conjugate().Rotate(dir)
	var p mgl64.Vec3
	switch g.Kind {
	case robot.Box:
		for i := range p {
			p[i] = math.Copysign(g.Size[i]/2, d[i])
		}
	case robot.Cylinder:
		if r := math.Hypot(d[0], d[1]); r > 0 {
			p[0], p[1] = g.Radius*d[0]/r, g.Radius*d[1]/r
		}
		p[2] = math.Copysign(g.Length/2, d[2])
	case robot.Capsule:
		p[2] = math.Copysign(g.Length/2, d[2])
		margin += g.Radius
	case robot.Sphere:
		margin += g.Radius
	default:
		panic("a body kind that neither the built-in robots nor the example scenes use")
	}
	return at.Apply(p).Add(dir.Normalize().Mul(margin))
}

// overlap says whether two convex bodies come closer than gap, after Gilbert,
// Johnson and Keerthi (IEEE J. Robotics and Automation 4(2), 1988), here in the
// form that only asks whether the difference body holds the origin.
func overlap(a, b robot.Geometry, pa, pb robot.Pose, gap float64) bool {
	diff := func(dir mgl64.Vec3) mgl64.Vec3 {
		return support(a, pa, dir, gap/2).Sub(support(b, pb, dir.Mul(-1), gap/2))
	}
	dir := pb.P.Sub(pa.P)
	if dir.Len() < 1e-12 {
		return true
	}
	s := []mgl64.Vec3{diff(dir)}
	dir = s[0].Mul(-1)
	for range 64 {
		if dir.Len() < 1e-12 {
			return true
		}
		p := diff(dir)
		if p.Dot(dir) < 0 {
			return false
		}
		s = append(s, p)
		var inside bool
		if s, dir, inside = nearest(s); inside {
			return true
		}
	}
	return true // touching within rounding
}

// nearest reduces a simplex, newest point last, to the part nearest the origin
// and returns the direction from there to the origin.
func nearest(s []mgl64.Vec3) ([]mgl64.Vec3, mgl64.Vec3, bool) {
	a := s[len(s)-1]
	ao := a.Mul(-1)
	switch len(s) {
	case 2:
		ab := s[0].Sub(a)
		if ab.Dot(ao) > 0 {
			return s, ab.Cross(ao).Cross(ab), false
		}
		return []mgl64.Vec3{a}, ao, false
	case 3:
		return triangle(s[0], s[1], a)
	}
	for _, f := range [][3]mgl64.Vec3{{s[0], s[1], s[2]}, {s[1], s[2], s[0]}, {s[0], s[2], s[1]}} {
		// Face (f0, f1, a), with f2 the point opposite.
		n := f[0].Sub(a).Cross(f[1].Sub(a))
		if n.Dot(f[2].Sub(a)) > 0 {
			n = n.Mul(-1)
		}
		if n.Dot(ao) > 0 {
			return triangle(f[0], f[1], a)
		}
	}
	return s, mgl64.Vec3{}, true
}

func triangle(c, b, a mgl64.Vec3) ([]mgl64.Vec3, mgl64.Vec3, bool) {
	ab, ac, ao := b.Sub(a), c.Sub(a), a.Mul(-1)
	n := ab.Cross(ac)
	edge := func(p mgl64.Vec3) ([]mgl64.Vec3, mgl64.Vec3, bool) {
		if e := p.Sub(a); e.Dot(ao) > 0 {
			return []mgl64.Vec3{p, a}, e.Cross(ao).Cross(e), false
		}
		return []mgl64.Vec3{a}, ao, false
	}
	switch {
	case n.Cross(ac).Dot(ao) > 0:
		if ac.Dot(ao) > 0 {
			return edge(c)
		}
		return edge(b)
	case ab.Cross(n).Dot(ao) > 0:
		return edge(b)
	case n.Dot(ao) > 0:
		return []mgl64.Vec3{c, b, a}, n, false
	}
	return []mgl64.Vec3{b, c, a}, n.Mul(-1), false
}

// collisions returns the pairs of links that come closer than gap though they
// may not touch.
func collisions(m *robot.Model, q []float64, gap float64) [][2]string {
	var out [][2]string
	at := frames(m.Description, q)
	for i := range m.Links {
		for k := i + 1; k < len(m.Links); k++ {
			if !m.IsAllowed(i, k) && linksOverlap(m, at, i, k, gap) {
				out = append(out, [2]string{m.Links[i].Name, m.Links[k].Name})
			}
		}
	}
	return out
}

func linksOverlap(m *robot.Model, at []robot.Pose, i, k int, gap float64) bool {
	for _, a := range m.Links[i].Colliders {
		for _, b := range m.Links[k].Colliders {
			if overlap(a.Geometry, b.Geometry, at[i].Mul(a.Origin), at[k].Mul(b.Origin), gap) {
				return true
			}
		}
	}
	return false
}

// lowest returns the smallest height above z = 0 of any link but the root.
func lowest(m *robot.Model, q []float64) float64 {
	at, low := frames(m.Description, q), math.Inf(1)
	for i := range m.Links {
		if i == m.Root {
			continue
		}
		for _, c := range m.Links[i].Colliders {
			low = math.Min(low, support(c.Geometry, at[i].Mul(c.Origin), mgl64.Vec3{0, 0, -1}, 0)[2])
		}
	}
	return low
}
