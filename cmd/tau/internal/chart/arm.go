package chart

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"sort"

	"github.com/go-gl/mathgl/mgl64"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/tau-robot/tau/robot"
)

// Arm is what DrawArm shows.
type Arm struct {
	Title string
	Model *robot.Model
	Scene robot.Scene
	// Start and End are the links' poses in the root frame, by link. Without Start
	// only the end is drawn.
	Start, End []robot.Pose
	Frames     bool         // draw each link's frame at the end (x red, y green, z blue) and the tree
	Tip        []mgl64.Vec3 // the tip's way, in the root frame, m
}

const (
	armWidth, armHeight = 11 * vg.Inch, 5 * vg.Inch
	ringPoints          = 24   // vertices of a drawn circle
	room                = 0.04 // beside what is drawn, as a part of it
	edgeWidth           = vg.Length(0.6)
	zoneWidth           = vg.Length(1.5)
)

// view is a parallel projection: right and up in the picture, and towards the eye.
type view struct {
	title, right, up string
	x, y, eye        mgl64.Vec3
}

var views = [...]view{
	{"from the side", "x, m", "z, m", mgl64.Vec3{1, 0, 0}, mgl64.Vec3{0, 0, 1}, mgl64.Vec3{0, -1, 0}},
	{"from above", "x, m", "y, m", mgl64.Vec3{1, 0, 0}, mgl64.Vec3{0, 1, 0}, mgl64.Vec3{0, 0, 1}},
}

var (
	sceneColour = color.RGBA{0xE6, 0xE4, 0xDC, 0xFF}
	startColour = color.NRGBA{0x90, 0x98, 0xA0, 0xB0}
	tipColour   = color.RGBA{0xD5, 0x20, 0x50, 0xFF}
	zoneColour  = color.NRGBA{0xD0, 0x20, 0x20, 0x28}
	zoneLine    = color.RGBA{0xB0, 0x10, 0x10, 0xFF}
	edgeColour  = color.Gray{Y: 0x40}
)

// DrawArm writes a PNG of the collision bodies from the side and from above: the
// arm at the start in grey, at the end in colours, the scene with its zones, the
// frames of the links, and the tip's way; and a key of all that.
func DrawArm(w io.Writer, a Arm) error {
	if n := len(a.Model.Links); len(a.Start) != 0 && len(a.Start) != n || len(a.End) != n {
		return fmt.Errorf("chart: %d links, %d poses at the start and %d at the end", n, len(a.Start), len(a.End))
	}
	canvas := vgimg.NewWith(vgimg.UseWH(armWidth, armHeight), vgimg.UseDPI(96), vgimg.UseBackgroundColor(color.White))
	all := draw.New(canvas)
	tiles := draw.Tiles{Rows: 1, Cols: len(views), PadX: 2 * margin, PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: keyW}
	plots := [][]*plot.Plot{make([]*plot.Plot, len(views))}
	for i, v := range views {
		p, err := a.plot(v)
		if err != nil {
			return fmt.Errorf("chart: %w", err)
		}
		plots[0][i] = p
	}
	plots[0][0].Title.Text = a.Title + ", " + views[0].title
	for i, c := range plot.Align(plots, tiles, all)[0] {
		square(plots[0][i], c)
		plots[0][i].Draw(c)
	}
	key := a.key()
	key.Draw(draw.Crop(all, armWidth-keyW+margin, 0, margin, -2*margin))
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(w); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	return nil
}

// outline is a body as a convex polygon in a view.
type outline struct {
	points plotter.XYs
	depth  float64 // towards the eye
	fill   color.Color
	line   color.Color
}

func (a *Arm) plot(v view) (*plot.Plot, error) {
	p := newPlot()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = v.title, v.right, v.up
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{Y: 0xE8}, color.Gray{Y: 0xE8}
	p.Add(grid)
	var scene, still, start, end, zones []outline
	for i := range a.Scene.Bodies {
		b := &a.Scene.Bodies[i]
		scene = append(scene, v.outline(b.Pose, &b.Geometry, sceneColour))
	}
	for i := range a.Scene.Zones {
		z := &a.Scene.Zones[i]
		o := v.outline(z.Pose, &z.Geometry, zoneColour)
		o.line = zoneLine
		zones = append(zones, o)
	}
	for l := range a.Model.Links {
		for i := range a.Model.Links[l].Colliders {
			c := &a.Model.Links[l].Colliders[i]
			o := v.outline(a.End[l].Mul(c.Origin), &c.Geometry, palette[l%len(palette)])
			if len(a.Start) == 0 || a.Start[l] == a.End[l] {
				still = append(still, o)
				continue
			}
			start = append(start, v.outline(a.Start[l].Mul(c.Origin), &c.Geometry, startColour))
			end = append(end, o)
		}
	}
	for _, layer := range [][]outline{scene, still, start, end, zones} { // the last one on top
		sort.SliceStable(layer, func(i, j int) bool { return layer[i].depth < layer[j].depth })
		for _, o := range layer {
			if len(o.points) == 0 {
				continue // a mesh that was not read
			}
			poly, err := plotter.NewPolygon(o.points)
			if err != nil {
				return nil, err
			}
			poly.Color = o.fill
			poly.LineStyle = draw.LineStyle{Color: o.line, Width: edgeWidth}
			if o.line == zoneLine {
				poly.LineStyle.Width = zoneWidth
			}
			p.Add(poly)
		}
	}
	if a.Frames {
		if err := a.frames(p, v); err != nil {
			return nil, err
		}
	}
	if err := a.way(p, v); err != nil {
		return nil, err
	}
	if err := names(p, a.Scene, v); err != nil {
		return nil, err
	}
	dx, dy := p.X.Max-p.X.Min, p.Y.Max-p.Y.Min
	p.X.Min, p.X.Max = p.X.Min-room*dx, p.X.Max+room*dx
	p.Y.Min, p.Y.Max = p.Y.Min-room*dy, p.Y.Max+room*dy
	return p, nil
}

// way draws the tip's way, with a dot at its end.
func (a *Arm) way(p *plot.Plot, v view) error {
	if len(a.Tip) < 2 {
		return nil
	}
	way := make(plotter.XYs, len(a.Tip))
	for i, t := range a.Tip {
		way[i] = v.project(t)
	}
	l, err := plotter.NewLine(way)
	if err != nil {
		return err
	}
	l.LineStyle = wayStyle()
	dot, err := plotter.NewScatter(way[len(way)-1:])
	if err != nil {
		return err
	}
	dot.GlyphStyle = draw.GlyphStyle{Color: tipColour, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
	p.Add(l, dot)
	return nil
}

func wayStyle() draw.LineStyle {
	return draw.LineStyle{Color: tipColour, Width: vg.Points(1.8), Dashes: []vg.Length{vg.Points(4), vg.Points(2)}}
}

// maxKey bounds the links that the key names.
const maxKey = 24

// key says what is drawn in which colour.
func (a *Arm) key() plot.Legend {
	key := newKey()
	links := 0
	for l := range a.Model.Links {
		if len(a.Model.Links[l].Colliders) == 0 {
			continue
		}
		if links++; links <= maxKey {
			key.Add(a.Model.Links[l].Name, swatch(palette[l%len(palette)], edgeColour))
		}
	}
	if links > maxKey {
		key.Add(fmt.Sprintf("… and %d more links", links-maxKey))
	}
	if len(a.Start) > 0 {
		key.Add("at the start", swatch(startColour, edgeColour))
	}
	if len(a.Tip) > 1 {
		key.Add("the tip's way", &plotter.Line{LineStyle: wayStyle()})
	}
	if len(a.Scene.Bodies) > 0 {
		key.Add("scene", swatch(sceneColour, edgeColour))
	}
	if len(a.Scene.Zones) > 0 {
		key.Add("guarded zone", swatch(zoneColour, zoneLine))
	}
	if a.Frames {
		for k, name := range []string{"x", "y", "z"} {
			key.Add("frames: "+name, &plotter.Line{LineStyle: draw.LineStyle{Color: axisColours[k], Width: axisWidth}})
		}
	}
	return key
}

// swatch is a piece of a filled shape.
func swatch(fill, line color.Color) plot.Thumbnailer {
	return &plotter.Polygon{Color: fill, LineStyle: draw.LineStyle{Color: line, Width: edgeWidth}}
}

func (v view) project(p mgl64.Vec3) plotter.XY { return plotter.XY{X: p.Dot(v.x), Y: p.Dot(v.y)} }

func (v view) outline(at robot.Pose, g *robot.Geometry, fill color.Color) outline {
	o := outline{fill: fill, line: edgeColour, depth: at.P.Dot(v.eye)}
	pts := vertices(g)
	xy := make(plotter.XYs, len(pts))
	for i, c := range pts {
		xy[i] = v.project(at.Apply(c))
	}
	o.points = hull(xy)
	return o
}

// vertices returns points whose convex hull is the body, round ones as rings.
func vertices(g *robot.Geometry) (out []mgl64.Vec3) {
	switch g.Kind {
	case robot.Box:
		for i := range 8 {
			s := g.Size.Mul(0.5)
			for k := range 3 {
				if i>>k&1 == 1 {
					s[k] = -s[k]
				}
			}
			out = append(out, s)
		}
	case robot.Cylinder:
		for _, z := range []float64{-g.Length / 2, g.Length / 2} {
			for k := range ringPoints {
				s, c := math.Sincos(2 * math.Pi * float64(k) / ringPoints)
				out = append(out, mgl64.Vec3{g.Radius * c, g.Radius * s, z})
			}
		}
	case robot.Sphere, robot.Capsule:
		// Rings of latitude, the halves apart by a capsule's cylinder.
		for j := range ringPoints + 1 {
			s, c := math.Sincos(math.Pi * (float64(j)/ringPoints - 0.5))
			z := g.Radius*s + math.Copysign(g.Length/2, s)
			for k := range ringPoints {
				sk, ck := math.Sincos(2 * math.Pi * float64(k) / ringPoints)
				out = append(out, mgl64.Vec3{g.Radius * c * ck, g.Radius * c * sk, z})
			}
		}
	case robot.MeshGeometry:
		if g.Mesh != nil {
			out = append(out, g.Mesh.Vertices...)
		}
	}
	return out
}

// hull is the convex hull of points in the plane, counter-clockwise (A. M. Andrew,
// "Another efficient algorithm for convex hulls in two dimensions", 1979).
func hull(p plotter.XYs) plotter.XYs {
	sort.Slice(p, func(i, j int) bool { return p[i].X < p[j].X || p[i].X == p[j].X && p[i].Y < p[j].Y })
	turn := func(a, b, c plotter.XY) float64 { return (b.X-a.X)*(c.Y-a.Y) - (b.Y-a.Y)*(c.X-a.X) }
	var out plotter.XYs
	if len(p) == 0 {
		return nil
	}
	for range 2 {
		base := len(out)
		for _, q := range p {
			for len(out) >= base+2 && turn(out[len(out)-2], out[len(out)-1], q) <= 0 {
				out = out[:len(out)-1]
			}
			out = append(out, q)
		}
		out = out[:len(out)-1] // the other half begins with it
		for i, j := 0, len(p)-1; i < j; i, j = i+1, j-1 {
			p[i], p[j] = p[j], p[i]
		}
	}
	return out
}

// square widens a plot's range so that a metre is as long across as it is up.
func square(p *plot.Plot, c draw.Canvas) {
	area := p.DataCanvas(c)
	w, h := float64(area.Max.X-area.Min.X), float64(area.Max.Y-area.Min.Y)
	dx, dy := p.X.Max-p.X.Min, p.Y.Max-p.Y.Min
	if !(w > 0 && h > 0 && dx > 0 && dy > 0) {
		return
	}
	if grow := dy*w/h - dx; grow > 0 {
		p.X.Min, p.X.Max = p.X.Min-grow/2, p.X.Max+grow/2
	} else {
		grow = dx*h/w - dy
		p.Y.Min, p.Y.Max = p.Y.Min-grow/2, p.Y.Max+grow/2
	}
}
