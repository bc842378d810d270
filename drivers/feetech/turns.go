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
	t.last, t.seen = ticks, true
	return ticks + t.base
}
