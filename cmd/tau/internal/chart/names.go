package chart

import (
	"math"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/tau-robot/tau/robot"
)

// The size of a name's letters, as parts of the picture's width.
const (
	nameSize    = 8 // points
	letterWidth = 0.014
	letterRise  = 0.035
)

// names writes what the bodies and zones of a scene are called, at the upper edge of
// each. One that would run into another is left out: the other view may have room.
func names(p *plot.Plot, scene robot.Scene, v view) error {
	size := math.Max(p.X.Max-p.X.Min, p.Y.Max-p.Y.Min)
	var at plotter.XYLabels
	add := func(name string, pose robot.Pose, g *robot.Geometry) {
		o := v.outline(pose, g, nil)
		if len(o.points) == 0 {
			return
		}
		left, right, top := math.Inf(1), math.Inf(-1), math.Inf(-1)
		for _, q := range o.points {
			left, right, top = math.Min(left, q.X), math.Max(right, q.X), math.Max(top, q.Y)
		}
		spot, width := plotter.XY{X: (left + right) / 2, Y: top}, letterWidth*size*float64(utf8.RuneCountInString(name))
		if right-left > width*2 { // there is room inside, away from what stands in the middle
			spot = plotter.XY{X: left + width*0.7, Y: top - letterRise*size}
		}
		for i, other := range at.XYs {
			apart := (width + letterWidth*size*float64(utf8.RuneCountInString(at.Labels[i]))) / 2
			if math.Abs(other.X-spot.X) < apart && math.Abs(other.Y-spot.Y) < letterRise*size {
				return
			}
		}
		at.XYs, at.Labels = append(at.XYs, spot), append(at.Labels, name)
	}
	for i := range scene.Zones {
		add(scene.Zones[i].Name, scene.Zones[i].Pose, &scene.Zones[i].Geometry)
	}
	ofZones := len(at.XYs)
	for i := range scene.Bodies {
		add(scene.Bodies[i].Name, scene.Bodies[i].Pose, &scene.Bodies[i].Geometry)
	}
	if len(at.XYs) == 0 {
		return nil
	}
	labels, err := plotter.NewLabels(at)
	if err != nil {
		return err
	}
	for i := range labels.TextStyle {
		s := &labels.TextStyle[i]
		s.Font.Variant, s.Font.Size = "Sans", vg.Points(nameSize)
		s.XAlign, s.YAlign = draw.XCenter, draw.YBottom
		if s.Color = edgeColour; i < ofZones {
			s.Color = zoneLine
		}
	}
	p.Add(labels)
	return nil
}
