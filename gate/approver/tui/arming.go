package tui

import "time"

// place is all that decides whether the end of a card is on the screen, and where. A
// proof that it was shown holds for one place only.
type place struct {
	question   uint64
	notices    int
	w, h       int
	top, rows  int
	from, upTo int // rows of the card on the screen
}

// arming follows the end of a card to the terminal. It is laid out in one frame; when
// the screen's loop comes round again that frame is the renderer's; the next write
// that begins then has it, or a later one that shows no less; and when that write is
// done, and what was typed until then has been read, the end has been shown.
type arming struct {
	place place
	step  armStep
	write uint64    // the write that is waited for
	at    time.Time // when the end had been shown
}

type armStep uint8

const (
	armHidden armStep = iota // the end isn't in the frame
	armLaid                  // it is in the frame that was laid out last
	armWaits                 // it is with the renderer, and the next write has it
	armShown                 // it was shown
)

// look follows the state of the screen, once each time that the loop comes round and
// before the next frame is laid out. await asks for word of the next write. It
// reports whether the loop has to come round again by itself.
func (a *arming) look(visible bool, p place, written uint64, at time.Time, await func() uint64) (again bool) {
	switch {
	case !visible:
		*a = arming{}
	case a.step == armHidden || a.place != p:
		*a = arming{place: p, step: armLaid}
		return true
	case a.step == armLaid:
		a.step, a.write = armWaits, await()
	case a.step == armWaits && written >= a.write:
		a.step, a.at = armShown, at
	}
	return false
}

// armed reports whether a yes that was pressed at a time counts.
func (a *arming) armed(at time.Time) bool {
	return a.step == armShown && at.Sub(a.at) >= Arming
}

// left is how long it takes until one would; 0: it does, or that isn't known.
func (a *arming) left(now time.Time) time.Duration {
	if a.step != armShown {
		return 0
	}
	return max(0, Arming-now.Sub(a.at))
}
