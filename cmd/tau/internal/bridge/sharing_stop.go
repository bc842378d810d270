package bridge

import (
	"strconv"
	"strings"

	"github.com/tau-robot/tau/gate"
)

// A stop here ends what is answered here, wherever it was asked (G6): a request of
// another bridge is shown under the stamp of this one, the nonce of a yes to it names
// that stamp, and what is taken up runs under no other.

var _ Watcher = (*sharing)(nil)

// Motion implements Watcher.
func (*sharing) Motion(gate.Running, float64, float64) {}

// Event implements Watcher: a stop takes the other bridges' cards away here. Who is
// still to decide is shown them anew.
func (s *sharing) Event(e gate.Event) {
	if e.Type != "stop" && e.Type != "estop" {
		return
	}
	stamp := s.h.Gate.Stamp()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offered != stamp {
		s.tell(stamp)
	}
}

// tell has those who watch look again; s.mu is held.
func (s *sharing) tell(stamp gate.Stamp) {
	s.offered = stamp
	close(s.changed)
	s.changed = make(chan struct{})
}

// offeredAs begins the nonce of a question that is open elsewhere, as it is shown here.
func offeredAs(stamp gate.Stamp) string {
	return "elsewhere " + strconv.FormatUint(uint64(stamp), 10) + " "
}

// stopped reports whether a question with such a nonce was taken away by a stop here.
func (s *sharing) stopped(nonce string) bool {
	if s == nil || !strings.HasPrefix(nonce, "elsewhere ") {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return !strings.HasPrefix(nonce, offeredAs(s.offered))
}

const toTakeUp = "to be taken up, stamp "

// takenUp is the asking that a nonce is issued for where the request is still to be
// taken up, by a person who was asked at stamp; no desk has such a one.
func takenUp(stamp gate.Stamp) string {
	return toTakeUp + strconv.FormatUint(uint64(stamp), 10)
}

// stampOf reads that stamp back; false: it is another asking.
func stampOf(asking string) (gate.Stamp, bool) {
	text, ok := strings.CutPrefix(asking, toTakeUp)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return gate.Stamp(n), err == nil
}

func errStopCame() error {
	return gate.Errf(gate.CodeStopped, "call_id", "a stop came first; look at the request again")
}
