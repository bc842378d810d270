package robot

import (
	"crypto/sha256"
	"encoding/binary"
)

// AppendCanonical appends the canonical encoding of the rehearsal to dst: the
// header "tau.reh" and a version byte, then every field in the order of the type,
// Trace included. Numbers, texts and lists are encoded as in a trajectory, Seed
// as 64 bits, a pose as its position and its quaternion (w, x, y, z), and Clearance
// and HeldPose with a byte before them that says whether they are there.
func (r Rehearsal) AppendCanonical(dst []byte) []byte {
	dst = append(dst, rehearsalMagic...)
	dst = appendString(dst, r.Simulator)
	dst = binary.BigEndian.AppendUint64(dst, r.Seed)
	dst = appendFloat(dst, r.Duration)
	dst = appendCount(dst, len(r.Joints))
	for i := range r.Joints {
		j := &r.Joints[i]
		dst = appendString(dst, j.Joint)
		for _, x := range [...]float64{j.PeakVelocity, j.VelocityLimit, j.PeakEffort, j.EffortLimit, j.MaxTrackingError, j.End} {
			dst = appendFloat(dst, x)
		}
	}
	dst = appendFloat(dst, r.PeakToolSpeed)
	if c := r.Clearance; c == nil {
		dst = append(dst, 0)
	} else {
		dst = appendFloat(append(dst, 1), c.Distance)
		dst = appendString(dst, c.A)
		dst = appendString(dst, c.B)
		dst = appendFloat(dst, c.At)
	}
	for _, x := range r.EndPosition {
		dst = appendFloat(dst, x)
	}
	for _, x := range r.EndOrientation {
		dst = appendFloat(dst, x)
	}
	dst = appendString(dst, r.Gripped)
	dst = appendStrings(dst, r.Assumed)
	dst = appendFloat(dst, r.SamplePeriod)
	dst = appendCount(dst, len(r.Trace))
	for _, q := range r.Trace {
		dst = appendFloats(dst, q)
	}
	dst = appendString(dst, r.Held)
	if r.HeldPose == nil {
		dst = append(dst, 0)
	} else {
		dst = appendPose(append(dst, 1), r.HeldPose)
	}
	dst = appendCount(dst, len(r.Moved))
	for i := range r.Moved {
		dst = appendPose(appendString(dst, r.Moved[i].Name), &r.Moved[i].Pose)
	}
	return dst
}

func appendPose(dst []byte, p *Pose) []byte {
	for _, x := range [...]float64{p.P[0], p.P[1], p.P[2], p.Q.W, p.Q.V[0], p.Q.V[1], p.Q.V[2]} {
		dst = appendFloat(dst, x)
	}
	return dst
}

func (d *decoder) pose() Pose {
	var p Pose
	for _, x := range [...]*float64{&p.P[0], &p.P[1], &p.P[2], &p.Q.W, &p.Q.V[0], &p.Q.V[1], &p.Q.V[2]} {
		*x = d.float()
	}
	return p
}

// Digest returns the SHA-256 of the canonical encoding.
func (r Rehearsal) Digest() [32]byte { return sha256.Sum256(r.AppendCanonical(nil)) }

// DecodeRehearsal is the inverse of Rehearsal.AppendCanonical, as strict as
// DecodeTrajectory; each sample of the trace has one number for each joint.
func DecodeRehearsal(data []byte) (Rehearsal, error) {
	d := decoder{what: "rehearsal", data: data}
	d.magic(rehearsalMagic)
	r := Rehearsal{Simulator: d.string(), Seed: d.uint64(), Duration: d.float()}
	if n := d.count(4 + 6*8); n > 0 {
		r.Joints = make([]JointRehearsal, n)
		for i := range r.Joints {
			r.Joints[i] = JointRehearsal{
				Joint: d.string(), PeakVelocity: d.float(), VelocityLimit: d.float(),
				PeakEffort: d.float(), EffortLimit: d.float(), MaxTrackingError: d.float(), End: d.float(),
			}
		}
	}
	r.PeakToolSpeed = d.float()
	if d.flag() {
		r.Clearance = &Clearance{Distance: d.float(), A: d.string(), B: d.string(), At: d.float()}
	}
	for i := range r.EndPosition {
		r.EndPosition[i] = d.float()
	}
	for i := range r.EndOrientation {
		r.EndOrientation[i] = d.float()
	}
	r.Gripped = d.string()
	r.Assumed = d.strings()
	r.SamplePeriod = d.float()
	joints := len(r.Joints)
	if n := d.count(4 + 8*joints); n > 0 {
		r.Trace = make([][]float64, n)
		for i := range r.Trace {
			r.Trace[i] = d.floatsFor(joints)
		}
	}
	r.Held = d.string()
	if d.flag() {
		p := d.pose()
		r.HeldPose = &p
	}
	if n := d.count(4 + 7*8); n > 0 {
		r.Moved = make([]BodyPose, n)
		for i := range r.Moved {
			r.Moved[i] = BodyPose{Name: d.string(), Pose: d.pose()}
		}
	}
	return r, d.end()
}
