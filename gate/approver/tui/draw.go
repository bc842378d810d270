package tui

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

// rehearsal is what is drawn of a card's data.
type rehearsal struct {
	Joints []struct {
		Joint         string  `json:"joint"`
		PeakVelocity  float64 `json:"peak_velocity"`
		VelocityLimit float64 `json:"velocity_limit"`
	} `json:"joints"`
	Drawing *struct {
		T         []float64    `json:"t_s"`
		Positions [][]float64  `json:"positions"`
		Tool      [][3]float64 `json:"tool"`
	} `json:"drawing"`
}

// maxMoments and maxJoints bound what is drawn.
const (
	maxMoments = 1000
	maxJoints  = 64
)

// readRehearsal returns what can be drawn; nil: nothing can.
func readRehearsal(data json.RawMessage) *rehearsal {
	var r rehearsal
	if len(data) == 0 || json.Unmarshal(data, &r) != nil || r.Drawing == nil {
		return nil
	}
	d := r.Drawing
	n := len(d.T)
	if n < 2 || n > maxMoments || len(r.Joints) > maxJoints || len(d.Positions) != len(r.Joints) || len(d.Tool) != n {
		return nil
	}
	for _, p := range d.Positions {
		if len(p) != n {
			return nil
		}
	}
	return &r
}

const (
	moved     = 1e-3 // rad or m; a joint that moves less isn't drawn
	toolMoved = 1e-3 // m
	sparkWide = 20   // cells
	pathWide  = 36
	pathHigh  = 6
)

// rows draws the rehearsal in rows of at most w columns.
func (r *rehearsal) rows(l words.Lang, ascii bool, w int) []string {
	if r == nil {
		return nil
	}
	d := r.Drawing
	rows := wrap(l.TUIJoints(d.T[len(d.T)-1]), w)
	drawn := false
	for i, p := range d.Positions {
		lo, hi := bounds(p)
		if !(hi-lo >= moved) {
			continue
		}
		drawn = true
		peak := ""
		if j := r.Joints[i]; j.VelocityLimit > 0 {
			peak = l.TUIPeak(100 * j.PeakVelocity / j.VelocityLimit)
		}
		c := newCanvas(min(sparkWide, max(4, w/3)), 1)
		for k := range p {
			x := float64(k) / float64(len(p)-1)
			c.set(x, (p[k]-lo)/(hi-lo))
		}
		text := l.TUIJoint(gate.Escape(r.Joints[i].Joint), p[0]+0, p[len(p)-1]+0, peak) // + 0: no -0.000
		lead := c.rows(ascii)[0] + " "
		for j, row := range wrap(text, max(8, w-width(lead))) {
			if j > 0 {
				lead = strings.Repeat(" ", width(lead))
			}
			rows = append(rows, lead+row)
		}
	}
	if !drawn {
		rows = nil
	}
	return append(rows, r.path(l, ascii, w)...)
}

// path draws the tool's way from the side, or from above where it stays level: seen so
// that the two directions in which it moves most are in the drawing.
func (r *rehearsal) path(l words.Lang, ascii bool, w int) []string {
	tool := r.Drawing.Tool
	var lo, span [3]float64
	for i := range 3 {
		all := make([]float64, len(tool))
		for k := range tool {
			all[k] = tool[k][i]
		}
		var hi float64
		lo[i], hi = bounds(all)
		if span[i] = hi - lo[i]; !(span[i] >= 0) {
			return nil
		}
	}
	across, up := 0, 2
	switch {
	case span[2] < span[0] && span[2] < span[1]:
		up = 1
	case span[1] > span[0]:
		across = 1
	}
	if span[across] < toolMoved && span[up] < toolMoved {
		return nil
	}
	wide := min(pathWide, max(8, w-2))
	// One scale for both directions: a cell is twice as high as wide.
	scale := math.Max(span[across]/float64(2*wide-1), span[up]/float64(4*pathHigh-1))
	high := min(pathHigh, int(span[up]/scale)/4+1)
	c := newCanvas(wide, high)
	at := func(k int) (x, y float64) {
		return (tool[k][across] - lo[across]) / scale / float64(2*wide-1), (tool[k][up] - lo[up]) / scale / float64(4*high-1)
	}
	for k := range tool {
		x, y := at(k)
		c.set(x, y)
		if k > 0 { // between two moments, in straight steps
			px, py := at(k - 1)
			for s := 1; s < 8; s++ {
				f := float64(s) / 8
				c.set(px+(x-px)*f, py+(y-py)*f)
			}
		}
	}
	x, y := at(len(tool) - 1)
	c.mark(x, y, 'E')
	x, y = at(0)
	c.mark(x, y, 'S')
	rows := wrap(l.TUIPath(up == 1, axes[across], cm(lo[across]), cm(lo[across]+span[across]), axes[up], cm(lo[up]), cm(lo[up]+span[up])), w)
	for _, row := range c.rows(ascii) {
		rows = append(rows, strings.TrimRight(row, " "))
	}
	return rows
}

var axes = [3]string{"x", "y", "z"}

// cm rounds to 1 cm, without a negative zero.
func cm(v float64) float64 { return math.Round(v*100)/100 + 0 }

// bounds returns the smallest and the largest of p; NaN where one isn't a number.
func bounds(p []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range p {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return math.NaN(), math.NaN()
		}
		lo, hi = math.Min(lo, v), math.Max(hi, v)
	}
	return lo, hi
}

// canvas has two by four dots in each cell.
type canvas struct {
	w, h  int
	dots  []uint8 // by cell, as a Braille pattern counts them
	marks map[int]rune
}

func newCanvas(w, h int) *canvas {
	return &canvas{w: w, h: h, dots: make([]uint8, w*h), marks: map[int]rune{}}
}

// dot finds a point; x and y go from 0 at the left and the bottom to 1.
func (c *canvas) dot(x, y float64) (cell int, bit uint8, ok bool) {
	if !(x >= 0 && x <= 1 && y >= 0 && y <= 1) {
		return 0, 0, false
	}
	px := int(math.Round(x * float64(2*c.w-1)))
	py := 4*c.h - 1 - int(math.Round(y*float64(4*c.h-1)))
	bits := [4][2]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}
	return py/4*c.w + px/2, bits[py%4][px%2], true
}

func (c *canvas) set(x, y float64) {
	if cell, bit, ok := c.dot(x, y); ok {
		c.dots[cell] |= bit
	}
}

func (c *canvas) mark(x, y float64, r rune) {
	if cell, _, ok := c.dot(x, y); ok {
		c.marks[cell] = r
	}
}

// rows returns the rows, each w cells wide.
func (c *canvas) rows(ascii bool) []string {
	out := make([]string, c.h)
	for y := range out {
		var b strings.Builder
		for x := range c.w {
			cell := y*c.w + x
			r, marked := c.marks[cell]
			switch d := c.dots[cell]; {
			case marked:
			case d == 0:
				r = ' '
			case !ascii:
				r = 0x2800 + rune(d)
			case d&^0x1b == 0: // the upper half alone
				r = '\''
			case d&^0xe4 == 0:
				r = '.'
			default:
				r = ':'
			}
			b.WriteRune(r)
		}
		out[y] = b.String()
	}
	return out
}
