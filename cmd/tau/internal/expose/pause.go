package expose

import "time"

// look is how often a line that nobody has open is looked at.
const look = 20 * time.Millisecond

// pause waits a moment; false: the line was closed meanwhile.
func (l *line) pause() bool {
	t := time.NewTimer(look)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-l.gone:
		return false
	}
}
