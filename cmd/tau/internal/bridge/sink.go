package bridge

import (
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/events"
	"github.com/tau-robot/tau/robot"
)

// sink writes each event into its session's log. What belongs to no session that
// could have one (a stop over the control socket, a call that named a session
// that isn't one) goes into the bridge's own, so that it is recorded and can't
// make the log look broken. An event that says nothing of the robot it is about gets
// mode and backend of its session: a stop acts on all robots, and says in its data
// what is known of each.
type sink struct {
	store *events.Store
	all   *robot.Sessions
	of    func(session string) gate.Session
	home  string // the bridge's own session
	watch Watcher
}

var _ gate.Sink = (*sink)(nil)

// Emit returns once the event would survive kill -9.
func (s *sink) Emit(e gate.Event) error {
	if _, ok := s.all.Get(e.SessionID); !ok {
		e.SessionID = s.home
	}
	if e.Mode == "" && e.Backend == "" {
		of := s.of(e.SessionID)
		e.Mode, e.Backend = of.Mode, of.Backend
	}
	err := s.store.Emit(e)
	if s.watch != nil {
		s.watch.Event(e) // whether or not it could be recorded: it has happened
	}
	return err
}

// Ready says whether the next event could be recorded. Events of other sessions
// lie on the same disk.
func (s *sink) Ready() error { return s.store.Ready(s.home) }
