package feetech

import "math"

const (
	// Turn is how many ticks the encoder of a servo has, both makers'. They are counted
	// from 0 to Turn-1, and between those two lies the seam.
	Turn = 4096
	half = Turn / 2
)

// Turns follows the ticks of an encoder across its seam: between two samples the shaft
// has turned by less than half a turn. The zero value has seen nothing. It isn't safe
// for concurrent use.
type Turns struct {
	last float64 // ticks as they were read
	base float64 // whole turns, in ticks
	seen bool
	// The least and the largest of what Add returned.
	low, high float64
}

// Add takes the next sample, in ticks, and returns it as the first one's turn counts it:
// above Turn-1 or below 0 once the seam was crossed. A NaN is returned and changes nothing.
func (t *Turns) Add(ticks float64) float64 {
	if math.IsNaN(ticks) {
		return ticks
	}
	if t.seen {
		switch d := ticks - t.last; {
		case d > half:
			t.base -= Turn
		case d < -half:
			t.base += Turn
		}
	}
	u := ticks + t.base
	if !t.seen {
		t.low, t.high = u, u
	}
	t.last, t.seen = ticks, true
	t.low, t.high = math.Min(t.low, u), math.Max(t.high, u)
	return u
}

// Range returns the least and the largest of what Add has returned, NaN where that is
// nothing. Their difference is what the shaft has turned through.
func (t *Turns) Range() (low, high float64) {
	if !t.seen {
		return math.NaN(), math.NaN()
	}
	return t.low, t.high
}

// Unwrap returns the samples of one encoder, in ticks, in the order in which they were
// read, as Turns counts them: 3900, 4000, 4095, 0, 100 are 3900, 4000, 4095, 4096, 4196,
// a range of 296 ticks and not of 4095. The slice is a new one.
func Unwrap(samples []float64) []float64 {
	var t Turns
	out := make([]float64, len(samples))
	for i, s := range samples {
		out[i] = t.Add(s)
	}
	return out
}
