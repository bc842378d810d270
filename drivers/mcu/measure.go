package mcu

import "math"

const (
	// speedWindow is the stretch of the board's time, ms, whose measured positions a
	// velocity is the slope of, by least squares. It lags behind by half of it.
	speedWindow = 80
	// speedSamples bounds the samples in that stretch; the board sends one in 5 to 20 ms.
	speedSamples = 20
	// minSamples is how many a slope needs.
	minSamples = 3
)

// measured is the feedback of the last moments, by active joint: positions as they
// came, velocities as the slope over speedWindow. A slope that one step of what is
// measured (a count, a step) over the window explains is 0: it is what the last digit
// does of a joint that stands still. It isn't safe for concurrent use.
type measured struct {
	n     int // samples there are
	board [speedSamples]uint32
	q     [speedSamples][]float64 // rad or m, NaN for a joint that isn't measured
	unit  []float64               // by joint: the smallest difference that can be measured, rad or m
}

func newMeasured(unit []float64) *measured {
	m := &measured{unit: unit}
	for i := range m.q {
		m.q[i] = make([]float64, len(unit))
	}
	return m
}

// forget drops what was measured: the counts mean something else from now on.
func (m *measured) forget() { m.n = 0 }

// next returns where to write the sample of a time; it replaces the oldest one.
func (m *measured) next(board uint32) []float64 {
	last := m.q[speedSamples-1]
	copy(m.q[1:], m.q[:speedSamples-1])
	copy(m.board[1:], m.board[:speedSamples-1])
	m.q[0], m.board[0] = last, board
	m.n = min(m.n+1, speedSamples)
	return last
}

// whole reports whether there is enough to tell a joint that moves from one that stands.
func (m *measured) whole() bool {
	return m.n >= minSamples && m.board[0]-m.board[m.n-1] >= speedWindow
}

// latest returns the last sample, nil if there is none. It is valid until the next one.
func (m *measured) latest() []float64 {
	if m.n == 0 {
		return nil
	}
	return m.q[0]
}

// speeds writes the velocities, rad/s or m/s: NaN of a joint that isn't measured, 0
// while there are too few samples to tell.
func (m *measured) speeds(v []float64) {
	for j := range v {
		v[j] = m.speed(j)
	}
}

func (m *measured) speed(j int) float64 {
	if m.n == 0 || math.IsNaN(m.q[0][j]) {
		return math.NaN()
	}
	var n, st, sq, stt, stq float64
	var span float64 // s
	for i := range m.n {
		age := m.board[0] - m.board[i]
		if age > speedWindow || math.IsNaN(m.q[i][j]) {
			break
		}
		t, q := -float64(age)/1000, m.q[i][j]-m.q[0][j]
		n, st, sq, stt, stq = n+1, st+t, sq+q, stt+t*t, stq+t*q
		span = -t
	}
	det := n*stt - st*st
	if n < minSamples || !(det > 0) {
		return 0
	}
	v := (n*stq - st*sq) / det
	// The slope that a single step of one unit within the window has is at most
	// 1.5 units over its span.
	if math.Abs(v) <= 1.5*m.unit[j]/span {
		return 0
	}
	return v
}
