package calibrate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

type tester interface {
	require.TestingT
	Helper()
}

// models are loaded once: a property takes one for each of its checks.
var models sync.Map

func model(t tester, name string) *robot.Model {
	t.Helper()
	if m, ok := models.Load(name); ok {
		return m.(*robot.Model)
	}
	m, err := builtin.Load(name)
	require.NoError(t, err)
	models.Store(name, m)
	return m
}

// hand is an arm on a bus, and the person who moves it: each joint's servo was put in at
// some tick, one way round or the other.
type hand struct {
	t         tester
	m         *robot.Model
	s         *Session
	q         []float64 // true positions
	mount     []int     // of the encoder, at position 0
	direction []float64
	offset    []int
	powered   []bool
	silent    []bool
	swap      [2]int // joints whose servos have each other's ID
	limp      bool   // its servos count their turns while they have no torque, as a Dynamixel's do
	unwrapped bool   // the servo doesn't bring what it takes off back into the turn

	said  strings.Builder
	wrote []Offset
	limit []Limit
	file  []byte
	out   Out
}

func newHand(t tester, robotName, driver string, old *hardware.File) *hand {
	t.Helper()
	m := model(t, robotName)
	s, err := New(Options{Model: m, Driver: driver, Baud: 1000000, Name: "arm.toml", Old: old, Drop: "By 0.1 m.", Now: noon})
	require.NoError(t, err)
	n := m.DoF()
	h := &hand{
		t: t, m: m, s: s, q: slices.Clone(m.Home), mount: make([]int, n), direction: make([]float64, n),
		offset: make([]int, n), powered: make([]bool, n), silent: make([]bool, n),
	}
	for i := range n {
		h.mount[i], h.direction[i] = 500+617*i, 1-2*float64(i%2)
	}
	return h
}

func (h *hand) reading(i int) Reading {
	if h.swap[0] != h.swap[1] {
		switch i {
		case h.swap[0]:
			i = h.swap[1]
		case h.swap[1]:
			i = h.swap[0]
		}
	}
	if h.silent[i] {
		return Reading{Err: robot.Errf(robot.CodeLinkTimeout, "ID", "silent")}
	}
	if h.limp {
		return Reading{Ticks: h.mount[i] + int(math.Round(h.direction[i]*hardware.TicksPerRadian*h.q[i])) - h.offset[i], Powered: h.powered[i]}
	}
	ticks := wrap(h.mount[i]+int(math.Round(h.direction[i]*hardware.TicksPerRadian*h.q[i]))) - h.offset[i]
	if !h.unwrapped {
		ticks = wrap(ticks)
	}
	return Reading{Ticks: ticks, Powered: h.powered[i]}
}

// take notes what a step came to and does it.
func (h *hand) take(o Out) {
	h.t.Helper()
	for {
		h.said.WriteString(o.Say)
		h.out = o
		switch o.Do {
		case DoScan:
			found := make([]Found, len(h.q))
			for i := range found {
				found[i] = Found{ID: h.s.ids[i], Model: "STS3215", Firmware: "3.10", Offset: h.offset[i], Powered: h.powered[i]}
			}
			o = h.s.Scanned(found, nil)
		case DoPowerOff:
			clear(h.powered)
			o = h.s.PoweredOff(nil)
		case DoOffsets:
			for i := range o.Offsets {
				w := &o.Offsets[i]
				require.LessOrEqual(h.t, abs(w.Ticks), hardware.MaxOffset(h.s.o.Driver))
				h.offset[slices.Index(h.s.ids, w.ID)] = w.Ticks
				w.Read = w.Ticks
				h.wrote = append(h.wrote, *w)
			}
			o = h.s.Wrote(o.Offsets)
		case DoLimits:
			h.limit = append(h.limit, o.Limits...)
			o = h.s.Limited(nil)
		case DoSave:
			h.file = o.File
			o = h.s.Saved("", nil)
		default:
			return
		}
	}
}

func (h *hand) begin() *hand {
	h.t.Helper()
	h.take(h.s.Begin())
	return h
}

// look reads all joints n times.
func (h *hand) look(n int) {
	h.t.Helper()
	for range n {
		rs := make([]Reading, len(h.q))
		for i := range rs {
			rs[i] = h.reading(i)
		}
		h.take(h.s.Sampled(rs))
	}
}

// moves takes a joint somewhere, slowly, and holds it.
func (h *hand) moves(i int, to float64) {
	h.t.Helper()
	const step = 0.2 // rad between two readings
	for h.q[i] != to {
		d := to - h.q[i]
		h.q[i] += math.Copysign(min(math.Abs(d), step), d)
		if math.Abs(h.q[i]-to) < 1e-12 {
			h.q[i] = to
		}
		h.look(1)
	}
	h.look(steadyOf)
}

func (h *hand) types(line string) {
	h.t.Helper()
	h.take(h.s.Typed(line))
}

// says wants a text among what was said since the last time.
func (h *hand) says(texts ...string) {
	h.t.Helper()
	for _, x := range texts {
		require.Contains(h.t, h.said.String(), x)
	}
	h.said.Reset()
}

// poses puts the arm into the pose, off by some for each joint, and takes it.
func (h *hand) poses(off float64) {
	h.t.Helper()
	for i := range h.q {
		h.moves(i, h.s.q[i]+off*float64(1-2*(i%2)))
	}
	h.types("")
}

// written has offsets written, and the same pose taken again.
func (h *hand) written() {
	h.t.Helper()
	h.types("yes")
	h.look(steadyOf)
	h.types("")
}

// turns shows the positive side of each joint.
func (h *hand) turns() {
	h.t.Helper()
	for i := range h.q {
		h.moves(i, h.q[i]+0.35)
		h.types("")
	}
}

// ends moves each joint to both ends of the description's range, less some.
func (h *hand) ends(less float64) {
	h.t.Helper()
	for i, l := range h.m.Limits {
		h.moves(i, l.Lower+less)
		h.moves(i, l.Upper-less)
		h.moves(i, (l.Lower+l.Upper)/2)
	}
}

// parsed reads the file that came out.
func (h *hand) parsed() *hardware.File {
	h.t.Helper()
	require.NotNil(h.t, h.file, h.said.String())
	f, err := hardware.Parse("arm.toml", h.file, h.m, noon)
	require.NoError(h.t, err, string(h.file))
	_, err = f.Tightened(h.m)
	require.NoError(h.t, err)
	return f
}

// agrees holds a file against the arm: where it is by its ticks is where it is.
func (h *hand) agrees(f *hardware.File, within float64) {
	h.t.Helper()
	for i := range f.Joints {
		j := &f.Joints[i]
		for _, u := range []float64{0, 0.25, 0.5, 0.75, 1} {
			h.q[i] = j.Lower + u*(j.Upper-j.Lower)
			r := h.reading(i)
			require.NoError(h.t, r.Err)
			require.InDelta(h.t, h.q[i], j.Position(float64(r.Ticks)), within, j.Name)
			require.True(h.t, float64(r.Ticks) >= j.TickMin-within*700 && float64(r.Ticks) <= j.TickMax+within*700, "%s: %s", j.Name, fmt.Sprint(r, j.TickMin, j.TickMax))
		}
	}
}
