package calibrate

import "github.com/tau-robot/tau/robot/hardware"

const (
	turn = hardware.TicksPerTurn
	// fastest is how far a servo may turn between two readings: with half a turn nobody could say
	// which way it went.
	fastest = turn / 4
)

// track follows an encoder across its seam. Its positions are ticks from that of its first
// reading, which lies in [0, 4096): one that goes over the seam goes on counting, so that
// 3900, 4095, 0, 100 are 3900 to 4196. The zero value has seen nothing.
type track struct {
	seen     bool
	last     int // the latest reading, within the turn
	at       int // unwrapped
	min, max int
	lost     bool // it turned too far between two readings
	outside  bool // it read something outside of the turn, where no goal can be sent
}

// wrap brings a reading into [0, 4096).
func wrap(ticks int) int { return ((ticks % turn) + turn) % turn }

// shortest is the way from one reading to another, at most half a turn.
func shortest(from, to int) int { return wrap(to-from+turn/2) - turn/2 }

// add takes a reading.
func (t *track) add(ticks int) {
	out := t.outside || ticks != wrap(ticks)
	ticks = wrap(ticks)
	if !t.seen {
		*t = track{seen: true, last: ticks, at: ticks, min: ticks, max: ticks, outside: out}
		return
	}
	t.outside = out
	d := shortest(t.last, ticks)
	if d > fastest || d < -fastest {
		t.lost = true
	}
	t.last = ticks
	t.at += d
	t.min, t.max = min(t.min, t.at), max(t.max, t.at)
}

// restart forgets the range and begins a new one where the servo is.
func (t *track) restart() {
	if t.seen {
		*t = track{seen: true, last: t.last, at: t.last, min: t.last, max: t.last}
	}
}

// width is the range in ticks.
func (t *track) width() int { return t.max - t.min }

// crossed reports a range with the encoder's seam inside, or beyond it; low and high are
// the first and the last tick that the servo counts within one turn.
func (t *track) crossed(low, high int) bool { return t.outside || t.min < low || t.max > high }
