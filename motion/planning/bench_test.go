package planning

import (
	"context"
	"testing"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/motion/kinematics/kintest"
	"github.com/tau-robot/tau/robot"
)

// transposed is the plain way to solve for a position: follow the gradient
// (Jacobian transpose), from the same seed, clamped to the limits.
func transposed(p *Planner, tip int, at mgl64.Vec3, q []float64) float64 {
	d, n := p.tree.NewData(), p.m.DoF()
	jac := make([]float64, 6*n)
	var e mgl64.Vec3
	for range 2000 {
		p.tree.FK(d, q)
		if e = at.Sub(d.Position(tip)); e.Len() < PositionTolerance {
			break
		}
		p.tree.Jacobian(d, tip, jac)
		for _, i := range p.m.Arm {
			q[i] = p.clamp(i, q[i]+2*(jac[i]*e[0]+jac[n+i]*e[1]+jac[2*n+i]*e[2]))
		}
	}
	return e.Len()
}

func BenchmarkIK(b *testing.B) {
	for name, m := range map[string]*robot.Model{"arm5": kintest.Arm5(), "arm7": kintest.Arm7()} {
		p := newPlanner(b, m, free{})
		rng := seeded(1)
		var poses []robot.Pose
		d := p.tree.NewData()
		q := make([]float64, m.DoF())
		for range 200 {
			for i, l := range m.Limits {
				q[i] = l.Lower + rng.Float64()*(l.Upper-l.Lower)
			}
			p.tree.FK(d, q)
			poses = append(poses, d.Pose(m.Tip))
		}
		for _, full := range []bool{false, true} {
			kind := "position"
			if full {
				kind = "pose"
			}
			b.Run(name+"/"+kind, func(b *testing.B) {
				failed, k := 0, 0
				for b.Loop() {
					pose := poses[k%len(poses)]
					k++
					target := Target{Tip: m.Tip, Position: pose.P}
					if full {
						target.Orientation = &pose.Q
					}
					if _, err := p.IK(context.Background(), target, m.Home, rng); err != nil {
						failed++
					}
				}
				b.ReportMetric(100*float64(failed)/float64(k), "%failed")
			})
		}
		b.Run(name+"/position-baseline-transpose", func(b *testing.B) {
			failed, k := 0, 0
			for b.Loop() {
				copy(q, m.Home)
				if transposed(p, m.Tip, poses[k%len(poses)].P, q) > PositionTolerance {
					failed++
				}
				k++
			}
			b.ReportMetric(100*float64(failed)/float64(k), "%failed")
		})
	}
}

func BenchmarkJointPath(b *testing.B) {
	m := kintest.Arm5()
	p, c := checked(b, m, post(0.22, 0))
	from, to := []float64{-0.8, 0.9, 0.4, 0.2, 0, 0}, []float64{0.8, 0.9, 0.4, 0.2, 0, 0.4}
	b.Run("straight-line-check", func(b *testing.B) {
		for b.Loop() {
			_, _ = c.CheckSegment(from, to)
		}
	})
	b.Run("detour", func(b *testing.B) {
		var k uint64
		for b.Loop() {
			k++
			if _, err := p.JointPath(context.Background(), from, to, seeded(k)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkLines plans 0.3 m of straight line with a turn of the hand; the baseline
// is one descent for each knot and the checker's look at each, without a curve.
func BenchmarkLines(b *testing.B) {
	m := kintest.Arm7()
	p, c := checked(b, m, nil)
	start := tipAt(p, m.Home)
	turned := start.Q.Mul(mgl64.QuatRotate(0.5, mgl64.Vec3{0, 0, 1}))
	target := Target{Tip: m.Tip, Position: start.P.Add(mgl64.Vec3{0.1, 0.2, -0.2}), Orientation: &turned}
	knots := 0
	b.Run("line", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			curves, err := p.Lines(context.Background(), m.Home, []Target{target}, seeded(1))
			if err != nil {
				b.Fatal(err)
			}
			knots = curves[0].(*spline).intervals() + 1
		}
		b.ReportMetric(float64(knots), "knots")
	})
	b.Run("baseline-descents", func(b *testing.B) {
		s := p.newSolver(m.Tip)
		q := make([]float64, m.DoF())
		for b.Loop() {
			copy(q, m.Home)
			p.tree.FK(s.d, q)
			g, err := p.check(&target)
			if err != nil {
				b.Fatal(err)
			}
			l, err := newLine(g, s.d, len(s.joints))
			if err != nil {
				b.Fatal(err)
			}
			for k := 1; k < knots; k++ {
				at := l.at(float64(k) / float64(knots-1))
				s.descend(&at, s.weight, q, false)
				_, _ = c.Check(q)
			}
		}
	})
}
