// Package chart draws a trajectory against its limits. It is a pure function of
// its arguments but for the file that Save writes; it imports robot and must
// never import gate.
package chart

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/tau-robot/tau/robot"
)

const (
	samples = 800 // points of a curve
	width   = 11 * vg.Inch
	height  = 10 * vg.Inch
	margin  = vg.Length(10)
	keyW    = vg.Length(130) // points; the key's column
	still   = 1e-6           // rad or m: a joint that moves less has no limits drawn
)

// palette holds colours that stay apart for most people with a colour deficiency,
// the first seven after Okabe and Ito ("Color Universal Design", 2008); beyond its length it
// starts again, curves with another dash.
var palette = [...]color.RGBA{
	{0x00, 0x72, 0xB2, 0xFF}, {0xD5, 0x5E, 0x00, 0xFF}, {0x00, 0x9E, 0x73, 0xFF}, {0xCC, 0x79, 0xA7, 0xFF},
	{0x56, 0xB4, 0xE9, 0xFF}, {0xE6, 0x9F, 0x00, 0xFF}, {0x33, 0x33, 0x33, 0xFF}, {0x7A, 0x4B, 0x1E, 0xFF},
	{0x6A, 0x3D, 0x9A, 0xFF}, {0x8C, 0x96, 0x2B, 0xFF},
}

// panel is one of the three plots: what it shows and where its limits are.
type panel struct {
	label  string
	value  func(q, v, a []float64) []float64
	limits func(l robot.JointLimits) (lower, upper float64, bounded bool)
}

var panels = [...]panel{
	{
		label: "position", value: func(q, _, _ []float64) []float64 { return q },
		limits: func(l robot.JointLimits) (float64, float64, bool) { return l.Lower, l.Upper, l.Bounded },
	},
	{
		label: "speed", value: func(_, v, _ []float64) []float64 { return v },
		limits: func(l robot.JointLimits) (float64, float64, bool) { return -l.Velocity, l.Velocity, true },
	},
	{
		label: "acceleration", value: func(_, _, a []float64) []float64 { return a },
		limits: func(l robot.JointLimits) (float64, float64, bool) { return -l.Acceleration, l.Acceleration, true },
	},
}

// Draw writes a PNG of three panels over time: positions, speeds and
// accelerations of each joint, with the limits of the joints that move dashed in
// the joint's colour. units and limits have one element for each joint of t.
func Draw(w io.Writer, title string, t robot.Trajectory, units []string, limits []robot.JointLimits) error {
	n := len(t.Joints)
	if n == 0 || len(units) != n || len(limits) != n {
		return fmt.Errorf("chart: %d joints, %d units, %d limits", n, len(units), len(limits))
	}
	if d := t.Duration(); !(d > 0) || math.IsInf(d, 0) {
		return errors.New("chart: the trajectory takes no time; there is nothing to draw")
	}
	canvas := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(96), vgimg.UseBackgroundColor(color.White))
	all := draw.New(canvas)
	curves := sample(t)
	plots := make([][]*plot.Plot, len(panels))
	key := newKey()
	for i, p := range panels {
		pl, err := p.plot(t.Duration(), curves[i], units, limits)
		if err != nil {
			return fmt.Errorf("chart: %s: %w", p.label, err)
		}
		plots[i] = []*plot.Plot{pl}
	}
	plots[0][0].Title.Text = title
	plots[len(plots)-1][0].X.Label.Text = "time, s"
	for j, name := range t.Joints {
		key.Add(name, &plotter.Line{LineStyle: style(j, false)})
	}
	key.Add("limit", &plotter.Line{LineStyle: draw.LineStyle{
		Color: color.Gray{Y: 0x60}, Width: vg.Points(0.8), Dashes: limitDash,
	}})
	tiles := draw.Tiles{
		Rows: len(panels), Cols: 1, PadY: margin,
		PadTop: margin, PadBottom: margin, PadLeft: margin, PadRight: keyW,
	}
	for i, row := range plot.Align(plots, tiles, all) {
		plots[i][0].Draw(row[0])
	}
	key.Draw(draw.Crop(all, width-keyW+margin, 0, margin, -4*margin))
	if _, err := (vgimg.PngCanvas{Canvas: canvas}).WriteTo(w); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	return nil
}

// sample returns, by panel and joint, the curve of t.
func sample(t robot.Trajectory) [len(panels)][]plotter.XYs {
	n := len(t.Joints)
	var out [len(panels)][]plotter.XYs
	for i := range out {
		out[i] = make([]plotter.XYs, n)
	}
	q, v, a := make([]float64, n), make([]float64, n), make([]float64, n)
	for k := range samples + 1 {
		at := t.Duration() * float64(k) / samples
		t.Sample(at, q, v, a)
		for i, p := range panels {
			for j, y := range p.value(q, v, a) {
				out[i][j] = append(out[i][j], plotter.XY{X: at, Y: y})
			}
		}
	}
	return out
}

func (p panel) plot(duration float64, curves []plotter.XYs, units []string, limits []robot.JointLimits) (*plot.Plot, error) {
	pl := newPlot()
	pl.Y.Label.Text = p.label + ", " + unitOf(units, p.label)
	pl.X.Min, pl.X.Max = 0, duration
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{Y: 0xDD}, color.Gray{Y: 0xDD}
	pl.Add(grid)
	for j, xys := range curves {
		lower, upper, bounded := p.limits(limits[j])
		if bounded && moves(xys) {
			for _, y := range []float64{lower, upper} {
				l, err := plotter.NewLine(plotter.XYs{{X: 0, Y: y}, {X: duration, Y: y}})
				if err != nil {
					return nil, err
				}
				l.LineStyle = style(j, true)
				pl.Add(l)
			}
		}
		l, err := plotter.NewLine(xys)
		if err != nil {
			return nil, err
		}
		l.LineStyle = style(j, false)
		pl.Add(l)
	}
	return pl, nil
}

// unitOf names the unit of a panel's axis for joints that turn, slide, or both.
func unitOf(units []string, label string) string {
	suffix := map[string]string{"position": "", "speed": "/s", "acceleration": "/s²"}[label]
	out := units[0] + suffix
	for _, u := range units[1:] {
		if u != units[0] {
			return "rad" + suffix + " (m" + suffix + " for sliding joints)"
		}
	}
	return out
}

func moves(xys plotter.XYs) bool {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range xys {
		lo, hi = math.Min(lo, p.Y), math.Max(hi, p.Y)
	}
	return hi-lo > still
}

// newPlot is an empty plot in the letters of all of them.
func newPlot() *plot.Plot {
	p := plot.New()
	for _, s := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		s.Font.Variant = "Sans"
	}
	return p
}

// newKey is an empty key in those letters, small ones.
func newKey() plot.Legend {
	key := newPlot().Legend
	key.TextStyle.Font.Size = vg.Points(9)
	key.Top, key.Left, key.Padding = true, true, vg.Points(3)
	return key
}

var limitDash = []vg.Length{vg.Points(5), vg.Points(3)}

func style(joint int, limit bool) draw.LineStyle {
	s := draw.LineStyle{Color: palette[joint%len(palette)], Width: vg.Points(1.6)}
	if round := joint / len(palette); round > 0 {
		s.Dashes = []vg.Length{vg.Points(float64(1 + round)), vg.Points(2)}
	}
	if limit {
		s.Width, s.Dashes = vg.Points(0.8), limitDash
	}
	return s
}

// Save writes what write produces to path: whole or not at all. It makes a
// temporary file beside path and renames it.
func Save(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := errors.Join(write(f), f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
