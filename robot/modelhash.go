package robot

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"
)

// encoder writes values so that no two different sequences give the same bytes:
// fixed-width big-endian numbers, lengths before strings and lists. It goes into
// a hash, whose Write never fails.
type encoder struct{ h hash.Hash }

func newEncoder(tag string) *encoder {
	e := &encoder{h: sha256.New()}
	e.str(tag)
	return e
}

func (e *encoder) sum() (out [32]byte) {
	e.h.Sum(out[:0])
	return out
}

func (e *encoder) num(v int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(v))
	e.h.Write(b[:])
}

func (e *encoder) str(s string) {
	e.num(len(s))
	e.h.Write([]byte(s))
}

func (e *encoder) flag(v bool) {
	if v {
		e.num(1)
	} else {
		e.num(0)
	}
}

// float writes the IEEE bits; -0 and 0 are the same value and get the same ones.
func (e *encoder) float(vs ...float64) {
	for _, v := range vs {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], math.Float64bits(v+0))
		e.h.Write(b[:])
	}
}

func (e *encoder) pose(p Pose) {
	e.float(p.P[:]...)
	e.float(p.Q.W)
	e.float(p.Q.V[:]...)
}

func (e *encoder) geometry(g Geometry) {
	e.num(int(g.Kind))
	e.float(g.Size[:]...)
	e.float(g.Radius, g.Length)
	if g.Mesh == nil {
		e.num(0)
		return
	}
	e.num(len(g.Mesh.Triangles))
	for _, t := range g.Mesh.Triangles {
		for _, v := range t {
			e.float(g.Mesh.Vertices[v][:]...)
		}
	}
}

// hash covers the description's hash and everything that NewModel adds.
func (m *Model) hash() [32]byte {
	e := newEncoder("tau robot model 2")
	e.h.Write(m.Hash[:])
	e.num(len(m.Limits))
	for _, l := range m.Limits {
		e.flag(l.Bounded)
		e.float(l.Lower, l.Upper, l.Velocity, l.Acceleration, l.Jerk, l.Effort)
		e.num(len(l.Assumed))
		for _, a := range l.Assumed {
			e.str(a)
		}
	}
	e.num(len(m.Arm))
	for _, a := range m.Arm {
		e.num(a)
	}
	e.num(m.Tip)
	e.num(len(m.Home))
	e.float(m.Home...)
	e.flag(m.Gripper != nil)
	if g := m.Gripper; g != nil {
		e.num(g.Joint)
		e.float(g.Closed, g.Open, g.MaxEffort)
		e.num(len(g.Links))
		for _, l := range g.Links {
			e.num(l)
		}
	}
	e.num(len(m.Allowed))
	for _, p := range m.Allowed {
		e.num(p[0])
		e.num(p[1])
	}
	e.num(len(m.Assumed))
	for _, a := range m.Assumed {
		e.str(a)
	}
	m.hashEquipment(e)
	return e.sum()
}

func (m *Model) hashEquipment(e *encoder) {
	e.num(len(m.Actuators))
	for _, a := range m.Actuators {
		for _, s := range []string{a.Name, a.Kind, a.Unit, a.OnStop, a.OnLost} {
			e.str(s)
		}
		e.float(a.Lower, a.Upper, a.Off)
	}
	e.flag(m.Base != nil)
	if b := m.Base; b != nil {
		for _, i := range []int{b.X, b.Y, b.Yaw, b.Left, b.Right} {
			e.num(i)
		}
		e.float(b.Radius, b.Track)
	}
	e.num(len(m.References))
	for _, r := range m.References {
		e.num(r.Joint)
		e.float(r.Switch, r.Direction, r.Speed, r.Travel)
	}
}
