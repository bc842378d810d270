package collision

import (
	"math/rand/v2"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

// split cuts each segment of a trajectory into n of equal duration.
func split(tr robot.Trajectory, n int) robot.Trajectory {
	out := robot.Trajectory{Joints: tr.Joints}
	for i := range tr.Segments {
		s := &tr.Segments[i]
		p := piece{q: s.Q, v: s.V, a: s.A, j: s.J}
		for k := range n {
			t := s.Duration * float64(k) / float64(n)
			part := robot.Segment{Duration: s.Duration / float64(n), Q: make([]float64, len(s.Q)), V: make([]float64, len(s.Q)), A: make([]float64, len(s.Q)), J: s.J}
			p.at(t, part.Q)
			for x := range s.Q {
				part.V[x] = s.V[x] + t*(s.A[x]+t*s.J[x]/2)
				part.A[x] = s.A[x] + t*s.J[x]
			}
			out.Segments = append(out.Segments, part)
		}
	}
	return out
}

// TestManyShortSegmentsAreOnePath: cut into as many as a thousand, a trajectory is
// judged as before, and what is accepted is free at every instant.
func TestManyShortSegmentsAreOnePath(t *testing.T) {
	m := kintest.Arm5()
	tr := newTruth(t, m, rand.New(rand.NewPCG(6, 6)), 20)
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScene(t)
		c := newChecker(t, m, s)
		v := func(scale float64) []float64 {
			out := make([]float64, 6)
			for i := range out {
				out[i] = scale * rapid.Float64Range(-1, 1).Draw(t, "v")
			}
			return out
		}
		whole := robot.Trajectory{Joints: m.JointNames(), Segments: []robot.Segment{{Duration: 1, Q: kintest.Q(t, m), V: v(1), A: v(2), J: v(6)}}}
		n := rapid.SampledFrom([]int{3, 50, 1000}).Draw(t, "cuts")
		_, want := c.CheckTrajectory(whole)
		got, err := c.CheckTrajectory(split(whole, n))
		seg := &whole.Segments[0]
		p := piece{q: seg.Q, v: seg.V, a: seg.A, j: seg.J, length: 1}
		q := make([]float64, 6)
		if err != nil {
			refused++
			// The other may have looked at other instants, at most the resolution apart.
			var e *robot.Error
			require.ErrorAs(t, err, &e)
			if want == nil {
				require.GreaterOrEqual(t, e.Value.Value, e.Limit.Value-DefaultResolution)
			}
			return
		}
		accepted++
		if got.Distance < DefaultSceneMargin {
			return
		}
		for k := range 61 {
			p.at(float64(k)/60, q)
			scene, self := tr.at(q, s)
			require.GreaterOrEqual(t, scene, DefaultSceneMargin-DefaultResolution)
			require.GreaterOrEqual(t, self, 0.0)
		}
	})
	require.Greater(t, accepted, 1)
	require.Greater(t, refused, 1)
}

// TestShortSegmentsAddUp: no piece is longer than what any pair could notice, and
// all together go through a foil.
func TestShortSegmentsAddUp(t *testing.T) {
	b := kintest.NewBuilder("bead", "base")
	l := b.Joint("z", robot.Prismatic, 0, robot.IdentityPose(), mgl64.Vec3{0, 0, 1}, -1, 1)
	b.Body(l, robot.IdentityPose(), robot.Geometry{Kind: robot.Sphere, Radius: 0.0005})
	m := b.Model(l)
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Float64Range(-0.8, 0.8).Draw(t, "at")
		n := rapid.IntRange(1, 20000).Draw(t, "cuts")
		c := newChecker(t, m, &robot.Scene{Bodies: []robot.Body{{Name: "foil", Pose: kintest.At(0, 0, at, 0, 0, 0), Geometry: box(0.1, 0.1, 0.0001)}}})
		got, err := c.CheckTrajectory(split(moveThrough(m, []float64{-1}, []float64{1}), n))
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeSceneCollision))
		gap := at - (2*got.At - 1) - 0.0005 - 0.00005
		require.LessOrEqual(t, gap, DefaultSceneMargin)
		require.GreaterOrEqual(t, gap, DefaultSceneMargin-DefaultResolution-1e-9)
	})
}

// TestShortSegmentsCostFewLooks: ten thousand of them are looked at about as often
// as the whole.
func TestShortSegmentsCostFewLooks(t *testing.T) {
	c, n := rover(t, body("wall", 1.5, 0, 0, box(0.1, 5, 1)))
	way := moveThrough(c.m, []float64{0, 0, 0, 0, 0}, []float64{0.5, 0, 0, 15, 15}, []float64{0.5, 0, 1, 20, 10})
	_, err := c.CheckTrajectory(way)
	require.NoError(t, err)
	whole := n.poses
	n.poses = 0
	_, err = c.CheckTrajectory(split(way, 5000))
	require.NoError(t, err)
	require.LessOrEqual(t, n.poses, 2*whole+4)
}
