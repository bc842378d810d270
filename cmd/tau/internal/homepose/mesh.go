package homepose

import (
	"math"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/robot"
)

// bounds are the corners of a mesh's box in its frame, m.
func bounds(m *robot.Mesh) (lo, hi mgl64.Vec3) {
	for k := range lo {
		lo[k], hi[k] = math.Inf(1), math.Inf(-1)
		for _, v := range m.Vertices {
			lo[k], hi[k] = min(lo[k], v[k]), max(hi[k], v[k])
		}
	}
	return lo, hi
}

// triangles counts those of a link's meshes.
func triangles(l *robot.Link) (n int) {
	for i := range l.Colliders {
		if mesh := l.Colliders[i].Geometry.Mesh; mesh != nil {
			n += len(mesh.Triangles)
		}
	}
	return n
}
