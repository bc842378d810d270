package mcu

import "time"

// echoWindow is how many round trips the alignment looks back on: about a second of
// them. A ceramic resonator is off by up to half a percent, so an older one is worth
// less than a slower new one.
const echoWindow = 20

// clock aligns the board's milliseconds with the host's time, from round trips of
// HEARTBEAT and ECHO: the fastest of the last echoWindow had the least to wait, and the
// board's time belongs to its middle, off by at most half the trip. The zero value is a
// clock that knows nothing yet. It isn't safe for concurrent use.
type clock struct {
	trips [echoWindow]trip
	n     int // trips ever seen
}

type trip struct {
	middle time.Time
	took   time.Duration
	board  uint32 // ms
}

// echo takes one round trip.
func (c *clock) echo(sent, came time.Time, board uint32) {
	took := came.Sub(sent)
	if took < 0 {
		return // the host's clock was set back in between
	}
	c.trips[c.n%echoWindow] = trip{sent.Add(took / 2), took, board}
	c.n++
}

// best is the fastest of the last trips, nil while there was none.
func (c *clock) best() *trip {
	var best *trip
	for i := range min(c.n, echoWindow) {
		if t := &c.trips[i]; best == nil || t.took < best.took {
			best = t
		}
	}
	return best
}

// at returns when the board's clock showed that, as far as is known; never later than
// came, when the host heard of it. The board's clock wraps after 49 days.
func (c *clock) at(board uint32, came time.Time) time.Time {
	b := c.best()
	if b == nil {
		return came
	}
	t := b.middle.Add(time.Duration(int32(board-b.board)) * time.Millisecond)
	if t.After(came) {
		return came
	}
	return t
}
