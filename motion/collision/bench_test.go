package collision

import (
	"fmt"
	"testing"

	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
)

// BenchmarkCheck measures one configuration and one long motion, each beside the
// plain way: every sphere against every body, at a fixed number of samples.
func BenchmarkCheck(b *testing.B) {
	m := kintest.Arm5()
	s := &robot.Scene{Bodies: []robot.Body{
		{Name: "table", Pose: kintest.At(0, 0, -0.05, 0, 0, 0), Geometry: box(1, 1, 0.1)},
		{Name: "post", Pose: kintest.At(0.3, 0.2, 0.1, 0, 0, 0), Geometry: robot.Geometry{Kind: robot.Cylinder, Radius: 0.02, Length: 0.3}},
		{Name: "shelf", Pose: kintest.At(0.2, -0.3, 0.2, 0, 0, 0), Geometry: box(0.2, 0.1, 0.02)},
	}}
	c := newChecker(b, m, s)
	tree, _ := kinematics.New(m.Description)
	d := tree.NewData()
	from, to := []float64{-0.5, -0.6, 1.2, 0.8, 0, 0}, []float64{0.2, 0.5, 0.3, 0.3, 1, 0.5}
	if got, err := c.CheckSegment(from, to); err != nil {
		b.Fatal(got, err)
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			newChecker(b, m, s)
		}
	})
	b.Run("check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = c.Check(from)
		}
	})
	b.Run("check-baseline-all-spheres", func(b *testing.B) {
		for b.Loop() {
			tree.FK(d, from)
			for i := range c.pairs {
				p := &c.pairs[i]
				if p.other < 0 {
					o := &c.obstacles[p.obstacle]
					t := relative(&o.frame, &d.Frames[p.body])
					for _, n := range c.covers[p.body].tree.nodes {
						if n.left < 0 {
							sink = min(sink, o.parts[0].solid.distance(apply(&t, n.c))-n.r)
						}
					}
				}
			}
		}
	})
	b.Run("segment", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = c.CheckSegment(from, to)
		}
	})
	b.Run("segment-baseline-1000-samples", func(b *testing.B) {
		q := make([]float64, len(from))
		for b.Loop() {
			for k := range 1000 {
				for i := range q {
					q[i] = from[i] + float64(k)/1000*(to[i]-from[i])
				}
				_, _ = c.Check(q)
			}
		}
	})
}

var sink float64

// BenchmarkWith derives a checker in which the hand carries a cup, as each plan does.
func BenchmarkWith(b *testing.B) {
	m := kintest.Arm5()
	c := newChecker(b, m, &robot.Scene{Bodies: []robot.Body{
		{Name: "table", Pose: kintest.At(0, 0, -0.05, 0, 0, 0), Geometry: box(1, 1, 0.1)},
		{Name: "cup", Pose: kintest.At(0.3, 0, 0.05, 0, 0, 0), Geometry: robot.Geometry{Kind: robot.Cylinder, Radius: 0.04, Length: 0.1}, Movable: true},
	}})
	e := Exceptions{Attached: &Attached{Body: "cup", Link: m.Tip, Pose: robot.IdentityPose()}}
	for b.Loop() {
		if _, err := c.With(e); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSegments checks one motion as a straight line in joint space and, as
// many short segments of a trajectory, as a timed path of the tool comes.
func BenchmarkSegments(b *testing.B) {
	for _, name := range []string{"so101", "panda", "rover"} {
		m, err := builtin.Load(name)
		if err != nil {
			b.Fatal(err)
		}
		c := newChecker(b, m, &robot.Scene{Bodies: []robot.Body{
			{Name: "table", Pose: kintest.At(0, 0, -0.06, 0, 0, 0), Geometry: box(4, 4, 0.1)},
			{Name: "post", Pose: kintest.At(0.5, 0.5, 0.3, 0, 0, 0), Geometry: robot.Geometry{Kind: robot.Cylinder, Radius: 0.03, Length: 0.6}},
			{Name: "shelf", Pose: kintest.At(0.4, -0.7, 0.5, 0, 0, 0), Geometry: box(0.4, 0.2, 0.02)},
		}})
		from, to := m.Home, append([]float64(nil), m.Home...)
		for i := range min(3, len(to)) {
			to[i] += 0.15
		}
		b.Run(name+"/check", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = c.Check(from)
			}
		})
		b.Run(name+"/line", func(b *testing.B) {
			for b.Loop() {
				if _, err := c.CheckSegment(from, to); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, n := range []int{1, 3000} {
			tr := split(moveThrough(m, from, to), n)
			b.Run(fmt.Sprintf("%s/trajectory-%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := c.CheckTrajectory(tr); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
