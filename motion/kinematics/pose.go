package kinematics

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

// Position returns the position of a link's origin in the root frame, m.
func (d *Data) Position(link int) mgl64.Vec3 {
	f := &d.Frames[link]
	return mgl64.Vec3{f[9], f[10], f[11]}
}

// Direction returns a direction fixed to a link in the root frame.
func (d *Data) Direction(link int, v mgl64.Vec3) mgl64.Vec3 {
	f := &d.Frames[link]
	return mgl64.Vec3{
		f[0]*v[0] + f[1]*v[1] + f[2]*v[2],
		f[3]*v[0] + f[4]*v[1] + f[5]*v[2],
		f[6]*v[0] + f[7]*v[1] + f[8]*v[2],
	}
}

// Pose returns the pose "root from link" at the last FK. Its quaternion has a
// non-negative w.
func (d *Data) Pose(link int) robot.Pose { return PoseOf(&d.Frames[link]) }

// PoseOf converts a frame. The quaternion is taken from the largest of the four
// squared components (Shepperd, "Quaternion from rotation matrix", J. Guidance
// and Control 1(3), 1978), so that no pose loses digits.
func PoseOf(f *Frame) robot.Pose {
	p := mgl64.Vec3{f[9], f[10], f[11]}
	trace := f[0] + f[4] + f[8]
	var q mgl64.Quat
	switch {
	case trace >= f[0] && trace >= f[4] && trace >= f[8]:
		s := 2 * math.Sqrt(1+trace)
		q = mgl64.Quat{W: s / 4, V: mgl64.Vec3{(f[7] - f[5]) / s, (f[2] - f[6]) / s, (f[3] - f[1]) / s}}
	case f[0] >= f[4] && f[0] >= f[8]:
		s := 2 * math.Sqrt(1+f[0]-f[4]-f[8])
		q = mgl64.Quat{W: (f[7] - f[5]) / s, V: mgl64.Vec3{s / 4, (f[1] + f[3]) / s, (f[2] + f[6]) / s}}
	case f[4] >= f[8]:
		s := 2 * math.Sqrt(1+f[4]-f[0]-f[8])
		q = mgl64.Quat{W: (f[2] - f[6]) / s, V: mgl64.Vec3{(f[1] + f[3]) / s, s / 4, (f[5] + f[7]) / s}}
	default:
		s := 2 * math.Sqrt(1+f[8]-f[0]-f[4])
		q = mgl64.Quat{W: (f[3] - f[1]) / s, V: mgl64.Vec3{(f[2] + f[6]) / s, (f[5] + f[7]) / s, s / 4}}
	}
	if q.W < 0 {
		q = q.Scale(-1)
	}
	return robot.Pose{P: p, Q: q.Scale(1 / q.Len())}
}
