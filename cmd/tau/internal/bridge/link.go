package bridge

import (
	"context"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// How often a real robot is asked how it is, and how long it may take to answer.
const (
	linkLook = 250 * time.Millisecond
	linkWait = 2 * time.Second
	// lateLooks is how many looks in a row have to find nothing but an old report
	// before the robot counts as gone: a computer that is busy is late by itself.
	lateLooks = 4
)

// The places of the events about a real robot that are nobody's call.
const (
	whereLink  = "link"  // it was lost, or is back
	whereBoard = "board" // the robot latched a fault, or its e-stop
)

// link watches a real robot for what happens to it by itself: a link that is lost, a
// fault or an e-stop that latches while nothing runs. Each is an event, which whoever
// is at the bridge is told, once.
type link struct {
	backend robot.Backend
	name    string // of the backend
	session string // of events that are nobody's call
	now     func() time.Time
	emit    func(gate.Event) error

	late    int        // looks in a row that found only an old report
	lost    robot.Code // why it isn't there; "": it is
	latched string     // the fault that was told last
	stopped bool       // the e-stop was told
}

// run looks until ctx ends.
func (l *link) run(ctx context.Context) {
	tick := time.NewTicker(linkLook)
	defer tick.Stop()
	for {
		l.look(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l *link) look(ctx context.Context) {
	wait, cancel := context.WithTimeout(ctx, linkWait)
	defer cancel()
	st, err := l.backend.State(wait)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		code := robot.CodeOf(err)
		if code == "" {
			code = robot.CodeDisconnected
		}
		if code == robot.CodeStaleState {
			if l.late++; l.late < lateLooks {
				return
			}
		}
		if l.lost == "" {
			l.tell(whereLink, code, "the robot isn't there: "+err.Error())
		}
		l.lost = code
	default:
		l.late = 0
		if l.lost != "" {
			l.lost = ""
			l.tell(whereLink, "", "the robot is there again; it moves nothing until that is asked for and approved anew")
		}
		l.faults(st)
	}
}

// faults tells of a latch that wasn't there before. One that is gone may be told again.
func (l *link) faults(st robot.State) {
	fault := ""
	if len(st.Faults) > 0 {
		f := st.Faults[0]
		fault = string(f.Code) + " " + f.Where + " " + f.Text
		if fault != l.latched {
			l.tell(whereBoard, f.Code, "the robot has latched a fault: "+f.Text)
		}
	}
	if st.EStopped && !l.stopped && fault == "" {
		l.tell(whereBoard, robot.CodeEStopped, "the robot's e-stop is latched")
	}
	l.latched, l.stopped = fault, st.EStopped
}

// tell records it. A log that can't be written changes nothing of what has happened,
// and the sink tells whoever watches either way.
func (l *link) tell(where string, code robot.Code, text string) {
	_ = l.emit(gate.Event{
		Type: "fault", Time: l.now(), SessionID: l.session, Principal: Operator, Origin: "bridge", Where: where,
		Mode: gate.ModeReal, Backend: l.name, Code: gate.Code(code), Text: text,
	})
}
