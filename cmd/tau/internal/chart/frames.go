package chart

import (
	"image/color"
	"math"

	"github.com/go-gl/mathgl/mgl64"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/tau-robot/tau/robot"
)

const (
	frameShare   = 0.05 // an axis' length, as a part of the robot's size
	pointSize    = 0.1  // m: the size of a robot that is a single point
	boneWidth    = vg.Length(1.4)
	axisWidth    = vg.Length(1.8)
	nearestFrame = 1e-9 // of the size: origins nearer than that are joined by no line
)

var (
	boneColour  = color.Gray{Y: 0x20}
	axisColours = [3]color.RGBA{{0xD0, 0x10, 0x10, 0xFF}, {0x10, 0x90, 0x10, 0xFF}, {0x10, 0x30, 0xE0, 0xFF}}
)

// frames draws a line from each link's origin to its parent's, and upon those the
// axes of each link.
func (a *Arm) frames(p *plot.Plot, v view) error {
	size := a.size()
	for i := range a.Model.Joints {
		j := &a.Model.Joints[i]
		from, to := a.End[j.Parent].P, a.End[j.Child].P
		if to.Sub(from).Len() <= nearestFrame*size {
			continue
		}
		if err := v.line(p, from, to, draw.LineStyle{Color: boneColour, Width: boneWidth}); err != nil {
			return err
		}
	}
	for _, at := range a.End {
		for k, c := range axisColours {
			var tip mgl64.Vec3
			tip[k] = frameShare * size
			if err := v.line(p, at.P, at.Apply(tip), draw.LineStyle{Color: c, Width: axisWidth}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v view) line(p *plot.Plot, from, to mgl64.Vec3, style draw.LineStyle) error {
	l, err := plotter.NewLine(plotter.XYs{v.project(from), v.project(to)})
	if err != nil {
		return err
	}
	l.LineStyle = style
	p.Add(l)
	return nil
}

// size is the diagonal of the box around the links' origins and bodies, m.
func (a *Arm) size() float64 {
	lo, hi := mgl64.Vec3{math.Inf(1), math.Inf(1), math.Inf(1)}, mgl64.Vec3{math.Inf(-1), math.Inf(-1), math.Inf(-1)}
	grow := func(at robot.Pose, p mgl64.Vec3) {
		w := at.Apply(p)
		for k := range 3 {
			lo[k], hi[k] = math.Min(lo[k], w[k]), math.Max(hi[k], w[k])
		}
	}
	for l := range a.Model.Links {
		grow(a.End[l], mgl64.Vec3{})
		for i := range a.Model.Links[l].Colliders {
			c := &a.Model.Links[l].Colliders[i]
			at := a.End[l].Mul(c.Origin)
			for _, p := range vertices(&c.Geometry) {
				grow(at, p)
			}
		}
	}
	if d := hi.Sub(lo).Len(); d > 0 {
		return d
	}
	return pointSize
}
