package bench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/go-gl/mathgl/mgl64"

	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
)

const (
	kinRounds       = 15
	kinCalls        = 20_000 // in a round
	kinJoints       = 7
	fkBoundUS       = 0.5
	jacobianBoundUS = 1.0
)

// Kinematics measures the frames of all links of an arm, and the Jacobian of its last
// one, beside 4×4 matrices multiplied along the chain and cross products of their
// columns. Rounds of all four alternate. The bounds are those of 7 joints, in
// proportion. The chain to the arm's last joint must have no joint that follows
// another.
func Kinematics(ctx context.Context, model *robot.Model) (Report, error) {
	if len(model.Arm) == 0 {
		return Report{}, fmt.Errorf("%s has no arm", model.Name)
	}
	d, tip := armOnly(model)
	tree, err := kinematics.New(d)
	if err != nil {
		return Report{}, err
	}
	share := float64(d.DoF()) / kinJoints
	data, jac := tree.NewData(), make([]float64, 6*d.DoF())
	q := make([]float64, d.DoF())
	for i, name := range d.JointNames() {
		q[i] = model.Home[model.ActiveIndex(name)]
	}
	plain := newMatrices(d, tip)
	plain.fk(q)
	// What is compared gives the same numbers.
	tree.FK(data, q)
	tree.Jacobian(data, tip, jac)
	plain.jacobian()
	for i, x := range plain.jac {
		if diff := x - jac[i]; !(diff < 1e-9 && diff > -1e-9) {
			return Report{}, fmt.Errorf("the baseline's Jacobian differs by %g", diff)
		}
	}
	works := []struct {
		name string
		call func()
	}{
		{"FK, all links", func() { q[0] += 1e-9; tree.FK(data, q) }},
		{"baseline: FK with 4×4 matrices", func() { q[0] += 1e-9; plain.fk(q) }},
		{"Jacobian, after FK", func() { tree.Jacobian(data, tip, jac) }},
		{"baseline: Jacobian with cross products", plain.jacobian},
	}
	took := make([][]float64, len(works))
	allocs := make([]uint64, len(works))
	for round := range kinRounds + 1 { // the first warms up and isn't counted
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		for k, w := range works {
			us, n := timed(w.call)
			if round == 0 {
				allocs[k] = n
				continue
			}
			took[k] = append(took[k], us)
			// Others allocate now and then; what the call itself allocates is there each time.
			allocs[k] = min(allocs[k], n)
		}
	}
	var ms []Measure
	for k, w := range works {
		ms = append(ms, Measure{w.name, "µs", spread(took[k])})
	}
	r := newReport("kinematics", fmt.Sprintf("a call for the %d-joint arm of %s, %d a run", d.DoF(), model.Name, kinCalls), kinRounds, fkBoundUS*share, ms...)
	r.Also = []Bound{
		below("Jacobian, median", "µs", ms[2].Median, jacobianBoundUS*share),
		below("allocations of an FK call", "", float64(allocs[0])/kinCalls, 0),
		below("allocations of a Jacobian call", "", float64(allocs[2])/kinCalls, 0),
	}
	for _, b := range r.Also {
		r.Within = r.Within && b.Within
	}
	r.Notes = append(r.Notes, fmt.Sprintf("the Jacobian's ratio to its baseline (medians): %.2f", ms[2].Median/ms[3].Median))
	return r, nil
}

// timed returns what one of many calls took, in µs, and what all allocated.
func timed(call func()) (us float64, allocs uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	t := time.Now()
	for range kinCalls {
		call()
	}
	us = since(t, time.Microsecond) / kinCalls
	runtime.ReadMemStats(&after)
	return us, after.Mallocs - before.Mallocs
}

// armOnly is the chain of the arm's joints without what hangs on it: the model's
// description cut behind the last of them. It returns the last link too.
func armOnly(m *robot.Model) (d *robot.Description, tip int) {
	var chain []int // joints, from the root
	for j := m.Active[m.Arm[len(m.Arm)-1]]; j >= 0; j = m.Links[m.Joints[j].Parent].Parent {
		chain = append(chain, j)
	}
	slices.Reverse(chain)
	d = &robot.Description{Name: m.Name, Links: []robot.Link{{Name: m.Links[m.Root].Name, Parent: -1}}}
	for i, k := range chain {
		j := m.Joints[k]
		d.Links = append(d.Links, robot.Link{Name: m.Links[j.Child].Name, Parent: i})
		j.Parent, j.Child = i, i+1
		if j.Active >= 0 {
			j.Active = len(d.Active)
			d.Active = append(d.Active, i)
		}
		j.Mimic = nil
		d.Joints = append(d.Joints, j)
	}
	return d, len(d.Links) - 1
}

// matrices is the plain way.
type matrices struct {
	d       *robot.Description
	origins []mgl64.Mat4
	at      []mgl64.Mat4 // by link
	tip     int
	jac     []float64
}

func newMatrices(d *robot.Description, tip int) *matrices {
	m := &matrices{d: d, at: make([]mgl64.Mat4, len(d.Links)), tip: tip, jac: make([]float64, 6*d.DoF())}
	for _, j := range d.Joints {
		m.origins = append(m.origins, mgl64.Translate3D(j.Origin.P[0], j.Origin.P[1], j.Origin.P[2]).Mul4(j.Origin.Q.Mat4()))
	}
	return m
}

func (m *matrices) fk(q []float64) {
	m.at[m.d.Root] = mgl64.Ident4()
	for i := range m.d.Joints {
		j := &m.d.Joints[i]
		t := m.at[j.Parent].Mul4(m.origins[i])
		switch {
		case j.Active < 0:
		case j.Type == robot.Prismatic:
			t = t.Mul4(mgl64.Translate3D(q[j.Active]*j.Axis[0], q[j.Active]*j.Axis[1], q[j.Active]*j.Axis[2]))
		default:
			t = t.Mul4(mgl64.HomogRotate3D(q[j.Active], j.Axis))
		}
		m.at[j.Child] = t
	}
}

func (m *matrices) jacobian() {
	n := m.d.DoF()
	p := m.at[m.tip].Col(3).Vec3()
	for i := range m.d.Joints {
		j := &m.d.Joints[i]
		if j.Active < 0 {
			continue
		}
		// A turn about its own axis leaves the axis where it is.
		axis := m.at[j.Child].Mat3().Mul3x1(j.Axis)
		v := axis.Cross(p.Sub(m.at[j.Child].Col(3).Vec3()))
		if j.Type == robot.Prismatic {
			v, axis = axis, mgl64.Vec3{}
		}
		for k := range 3 {
			m.jac[k*n+j.Active], m.jac[(3+k)*n+j.Active] = v[k], axis[k]
		}
	}
}
