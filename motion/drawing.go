package motion

import (
	"math"

	"github.com/tau-robot/tau/robot"
)

// drawingSamples bounds a drawing: as many as a terminal has columns for.
const drawingSamples = 48

// drawing is what a card's data has beside the rehearsal record for whoever draws
// it: the rehearsed motion at a few evenly spaced moments, ends included. It only
// illustrates; the record and the trajectory are what the digest covers.
type drawing struct {
	T         []float64    `json:"t_s"`
	Positions [][]float64  `json:"positions"` // by joint of the record, then by moment; rad or m
	Tool      [][3]float64 `json:"tool"`      // tip in the root frame, m, by moment
}

// cardData is a card's data.
type cardData struct {
	robot.Rehearsal
	Drawing *drawing `json:"drawing,omitempty"`
}

// draw samples the rehearsal's trace; nil where there is none that can be drawn.
func (x *moveAction) draw() *drawing {
	r := x.rehearsal
	last, dof := len(r.Trace)-1, x.arm.tree.DoF()
	if last < 1 || !(r.SamplePeriod > 0) {
		return nil
	}
	for _, q := range r.Trace {
		if len(q) != len(r.Joints) || len(q) < dof {
			return nil
		}
	}
	n := min(last+1, drawingSamples)
	d := &drawing{T: make([]float64, n), Positions: make([][]float64, len(r.Joints)), Tool: make([][3]float64, n)}
	for i := range d.Positions {
		d.Positions[i] = make([]float64, n)
	}
	frames := x.arm.tree.NewData()
	for k := range n {
		at := k * last / (n - 1)
		d.T[k] = short(float64(at) * r.SamplePeriod)
		for i, q := range r.Trace[at] {
			d.Positions[i][k] = short(q)
		}
		x.arm.tree.FK(frames, r.Trace[at][:dof])
		p := x.arm.linkPose(frames, x.arm.Model.Tip).P
		d.Tool[k] = [3]float64{short(p[0]), short(p[1]), short(p[2])}
	}
	return d
}

// short keeps a drawing's numbers short: to 0.1 mrad or 0.1 mm.
func short(v float64) float64 { return math.Round(v*1e4) / 1e4 }
