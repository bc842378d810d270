package kinematics

// Jacobian writes the geometric Jacobian of a link's origin into out, which has
// 6·DoF elements by rows: out[row·DoF + i] belongs to joint i of q. Rows 0 to 2
// are the linear velocity of the link's origin (m/s per rad/s or m/s), rows 3 to
// 5 the angular velocity (rad/s per rad/s or m/s), x, y, z each, both in the
// root frame. A mimic joint's motion is part of its master's column.
//
// d holds the frames of a preceding FK at the q in question. It allocates
// nothing. See Siciliano et al., Robotics: Modelling, Planning and Control
// (2009), eq. 3.30.
func (t *Tree) Jacobian(d *Data, link int, out []float64) {
	n := t.dof
	out = out[:6*n]
	clear(out)
	tip := &d.Frames[link]
	for i := t.last[link]; i >= 0; i = t.ops[i].up {
		o := &t.ops[i]
		f := &d.Frames[o.child]
		// A joint's own motion leaves its axis where it is, so the child's frame
		// serves as well as the joint's.
		var ax, ay, az float64
		s := o.turnSign * o.scale
		switch o.kind {
		case turnX:
			ax, ay, az = f[0]*s, f[3]*s, f[6]*s
		case turnY:
			ax, ay, az = f[1]*s, f[4]*s, f[7]*s
		case turnZ:
			ax, ay, az = f[2]*s, f[5]*s, f[8]*s
		default:
			v := &o.axis
			ax = (f[0]*v[0] + f[1]*v[1] + f[2]*v[2]) * s
			ay = (f[3]*v[0] + f[4]*v[1] + f[5]*v[2]) * s
			az = (f[6]*v[0] + f[7]*v[1] + f[8]*v[2]) * s
		}
		c := out[o.active:]
		if o.kind == slide {
			c[0] += ax
			c[n] += ay
			c[2*n] += az
			continue
		}
		rx, ry, rz := tip[9]-f[9], tip[10]-f[10], tip[11]-f[11]
		c[0] += ay*rz - az*ry
		c[n] += az*rx - ax*rz
		c[2*n] += ax*ry - ay*rx
		c[3*n] += ax
		c[4*n] += ay
		c[5*n] += az
	}
}
