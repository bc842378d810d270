package hosted

import (
	"math"
	"time"
)

const (
	// speedWindow is the stretch of time whose measured positions a velocity is the slope
	// of, by least squares. It lags behind by half of it.
	speedWindow = 80 * time.Millisecond
	// speedSamples bounds the samples in that stretch: a read each millisecond.
	speedSamples = 96
	// minSamples is how many a slope needs.
	minSamples = 3
)

// history is what was measured in the last moments, by active joint: positions as they
// came, velocities as the slope over the window. A slope that one step of what is measured
// (a tick, a count) explains is 0: it is what the last digit does of a joint that stands
// still. It isn't safe for concurrent use.
type history struct {
	window time.Duration
	n      int // samples there are
	head   int // where the newest is
	at     [speedSamples]time.Time
	q      [speedSamples][]float64 // rad or m, NaN of a joint that wasn't measured
	unit   []float64               // by joint: the smallest difference that can be measured, rad or m
}

func newHistory(unit []float64, reading time.Duration) *history {
	h := &history{unit: unit, window: max(speedWindow, minSamples*reading)}
	for i := range h.q {
		h.q[i] = make([]float64, len(unit))
	}
	return h
}

// forget drops what was measured.
func (h *history) forget() { h.n = 0 }

// next returns where to write the sample of a time; it replaces the oldest one.
func (h *history) next(at time.Time) []float64 {
	h.head = (h.head + 1) % speedSamples
	h.n = min(h.n+1, speedSamples)
	h.at[h.head] = at
	return h.q[h.head]
}

// whole reports whether there is enough to tell a joint that moves from one that stands.
func (h *history) whole() bool {
	return h.n >= minSamples && h.at[h.head].Sub(h.at[h.index(h.n-1)]) >= h.window
}

// index is where the sample before so many others is.
func (h *history) index(back int) int { return (h.head - back + speedSamples) % speedSamples }

// speeds writes the velocities, rad/s or m/s: NaN of a joint that was never measured, 0
// while there are too few samples to tell.
func (h *history) speeds(v []float64) {
	for j := range v {
		v[j] = h.speed(j)
	}
}

func (h *history) speed(j int) float64 {
	var n, st, sq, stt, stq, span float64
	var newest time.Time
	var origin float64
	for back := range h.n {
		k := h.index(back)
		if h.at[h.head].Sub(h.at[k]) > h.window {
			break
		}
		if math.IsNaN(h.q[k][j]) {
			continue
		}
		if n == 0 {
			newest, origin = h.at[k], h.q[k][j]
		}
		t, q := -newest.Sub(h.at[k]).Seconds(), h.q[k][j]-origin
		n, st, sq, stt, stq, span = n+1, st+t, sq+q, stt+t*t, stq+t*q, -t
	}
	if n == 0 {
		return math.NaN()
	}
	det := n*stt - st*st
	if n < minSamples || !(det > 0) {
		return 0
	}
	v := (n*stq - st*sq) / det
	// The slope that a single step of one unit within the window has is at most 1.5
	// units over its span.
	if math.Abs(v) <= 1.5*h.unit[j]/span {
		return 0
	}
	return v
}

// recent is the last setpoints that were written, and when: what hardware with a lag may
// be at. It isn't safe for concurrent use.
type recent struct {
	n, head int
	at      []time.Time
	q       [][]float64
}

func newRecent(joints, size int) recent {
	r := recent{at: make([]time.Time, size), q: make([][]float64, size)}
	for i := range r.q {
		r.q[i] = make([]float64, joints)
	}
	return r
}

// forget drops all of it.
func (r *recent) forget() { r.n = 0 }

// add remembers a setpoint.
func (r *recent) add(at time.Time, q []float64) {
	r.head = (r.head + 1) % len(r.q)
	r.n = min(r.n+1, len(r.q))
	r.at[r.head] = at
	copy(r.q[r.head], q)
}

// span is between which setpoints a joint may be that is behind by up to lag at a time.
func (r *recent) span(joint int, at time.Time, lag time.Duration) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for back := range r.n {
		k := (r.head - back + len(r.q)) % len(r.q)
		lo, hi = math.Min(lo, r.q[k][joint]), math.Max(hi, r.q[k][joint])
		if at.Sub(r.at[k]) >= lag {
			break // it is the one that was to be reached a lag ago
		}
	}
	return lo, hi
}
