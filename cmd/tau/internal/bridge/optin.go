package bridge

import (
	"context"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// optInLook is how often an opt-in that is in force is looked at: the clocks that end
// it don't all have timers (a machine that slept, a wall clock that was set).
const optInLook = time.Second

// sessions are robot.Sessions as the gate sees them: which robot a session moves. real
// is nil where the bridge has none. A session that was opted in once stays one of the
// real robot to the end of the bridge: it never becomes a simulated one behind its
// caller's back, and moves nothing any more.
type sessions struct {
	all  *robot.Sessions
	real *optIns
}

var _ gate.Sessions = sessions{}

// Session looks a session up from live state.
func (s sessions) Session(name string) (gate.Session, error) {
	if _, ok := s.all.Get(name); !ok {
		return gate.Session{}, gate.Errf(gate.CodeInvalidArgument, "session", "there is no session %q", name)
	}
	if by, ok := s.real.of(name); ok {
		out := gate.Session{Name: name, Mode: gate.ModeReal, Backend: s.real.robot.Driver}
		if err := s.real.permit(name); err != nil {
			return out, gateError(err)
		}
		out.OptIn = s.real.robot.consent(by)
		return out, nil
	}
	return gate.Session{Name: name, Mode: gate.ModeSim, Backend: SimArm}, nil
}

// optIns are the opt-ins of a bridge with a real robot. nil are those of one without.
type optIns struct {
	robot   *realRobot
	all     *robot.Sessions
	emit    func(gate.Event) error
	changed func() // sessions have changed

	mu        sync.Mutex
	by        map[string]string // who opted a session in last, by session; it stays when that ends
	followed  map[string]bool
	closed    bool
	following sync.WaitGroup
	quit      chan struct{}
}

func newOptIns(r *realRobot, all *robot.Sessions, emit func(gate.Event) error, changed func()) *optIns {
	return &optIns{
		robot: r, all: all, emit: emit, changed: changed,
		by: map[string]string{}, followed: map[string]bool{}, quit: make(chan struct{}),
	}
}

// of returns who opted a session in, whether or not that is still in force.
func (o *optIns) of(session string) (by string, ok bool) {
	if o == nil {
		return "", false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	by, ok = o.by[session]
	return by, ok
}

// permit returns nil while a session may move the real robot.
func (o *optIns) permit(session string) error {
	err := o.all.Permit(session)
	if _, had := o.of(session); had && robot.CodeOf(err) == robot.CodeNotOptedIn {
		return robot.Errf(robot.CodeNotOptedIn, "session", "the opt-in of session %q was revoked; the real robot needs a new one", session)
	}
	return err
}

// grant puts an opt-in in force once it is recorded. An earlier one of that session
// ends. One that can't be recorded is none. origin says where it was given.
func (o *optIns) grant(session, by, origin string, d time.Duration) (robot.OptIn, error) {
	in, err := o.all.OptIn(robot.OptIn{
		Session: session, Robot: o.robot.info.Robot, Driver: o.robot.Driver, Port: o.robot.Port, Principal: by,
	}, d)
	if err != nil {
		return robot.OptIn{}, err
	}
	data, err := o.robot.event(in)
	if err == nil {
		err = o.emit(gate.Event{
			Type: "session", Where: whereOptIn, SessionID: session, Principal: by, Origin: origin, Mode: gate.ModeReal,
			Backend: o.robot.Driver, Text: "opted in until " + in.Expires.UTC().Format(time.RFC3339) + ": " + o.robot.consent(by), Data: data,
		})
	}
	if err != nil {
		o.all.Revoke(session)
		return robot.OptIn{}, robot.Errf(robot.CodeInternal, "session "+session, "the opt-in could not be recorded, so there is none: %w", err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		o.all.Revoke(session)
		return robot.OptIn{}, robot.Errf(robot.CodeCancelled, "session "+session, "the bridge is closing")
	}
	o.by[session] = by
	if !o.followed[session] {
		o.followed[session] = true
		o.following.Go(func() { o.follow(session) })
	}
	return in, nil
}

// whereOptIn is the place of the events about opt-ins, and where they come from: the
// start of the bridge, whose command line gave one, or the control socket.
const (
	whereOptIn    = "optin"
	originStart   = "command line"
	originControl = "control"
)

// follow waits for the end of a session's opt-in, through those that replace it, and
// records it.
func (o *optIns) follow(session string) {
	for {
		err := o.wait(context.Background(), session)
		if err == nil {
			return // the bridge ends
		}
		o.mu.Lock()
		if o.all.Permit(session) == nil { // granted again meanwhile
			o.mu.Unlock()
			continue
		}
		by := o.by[session]
		o.followed[session] = false
		o.mu.Unlock()
		// A log that can't be written changes nothing of that it has ended.
		_ = o.emit(gate.Event{
			Type: "session", Where: whereOptIn, SessionID: session, Principal: by, Origin: "bridge", Mode: gate.ModeReal, Backend: o.robot.Driver,
			Code: gate.Code(robot.CodeOf(err)), Text: "the opt-in has ended: " + err.Error(),
		})
		o.changed()
		return
	}
}

// wait waits until no opt-in of a session is in force, and returns why; nil when ctx or
// the bridge ends first.
func (o *optIns) wait(ctx context.Context, session string) error {
	for {
		left, ended, err := o.all.Watch(session)
		if err != nil {
			if why := o.permit(session); why != nil {
				return why
			}
			continue // granted between the two looks
		}
		look := time.NewTimer(min(left, optInLook))
		select {
		case <-ended:
		case <-look.C:
		case <-ctx.Done():
			look.Stop()
			return nil
		case <-o.quit:
			look.Stop()
			return nil
		}
		look.Stop()
	}
}

// end lets nobody opt in any more and waits for what follows the opt-ins. Those in
// force stay so until the robot is at rest: whoever ends the bridge stops it first.
func (o *optIns) end() {
	if o == nil {
		return
	}
	o.mu.Lock()
	if !o.closed {
		o.closed = true
		close(o.quit)
	}
	o.mu.Unlock()
	o.following.Wait()
}

// optedIn is a real backend that moves for nobody whose session has no opt-in in force,
// whatever the gate says, and whose motion ends by a controlled stop when the opt-in
// does. Reading and stopping need none.
type optedIn struct {
	robot.Backend
	in *optIns
}

var _ robot.Backend = (*optedIn)(nil)

// permit returns the session of the call that runs, if it may move the robot.
func (b *optedIn) permit(ctx context.Context) (string, error) {
	of, ok := gate.RunningOf(ctx)
	if !ok {
		return "", robot.Errf(robot.CodeNotOptedIn, "session", "a real robot moves for a session's call alone")
	}
	if _, ok := b.in.of(of.Session); !ok {
		return "", robot.Errf(robot.CodeNotOptedIn, "session", "session %q is simulated; moving a real robot needs its opt-in", of.Session)
	}
	return of.Session, b.in.permit(of.Session)
}

// Execute runs a motion for as long as the opt-in of its session is in force.
func (b *optedIn) Execute(ctx context.Context, m robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	session, err := b.permit(ctx)
	if err != nil {
		return robot.Outcome{Status: robot.OutcomeRefused}, err
	}
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watching sync.WaitGroup
	var over error // why the opt-in ended; read once watching has
	watching.Go(func() {
		if err := b.in.wait(run, session); err != nil {
			over = err
			cancel(err)
		}
	})
	out, err := b.Backend.Execute(run, m, progress)
	cancel(nil)
	watching.Wait()
	if over != nil && out.Status == robot.OutcomeCancelled {
		err = robot.Errf(robot.CodeCancelled, "session "+session, "stopped in a controlled way, since the opt-in ended in mid-motion: %w", over)
	}
	return out, err
}

// Actuate does a command for a session whose opt-in is in force.
func (b *optedIn) Actuate(ctx context.Context, c robot.Command) (robot.Outcome, error) {
	if _, err := b.permit(ctx); err != nil {
		return robot.Outcome{Status: robot.OutcomeRefused}, err
	}
	return b.Backend.Actuate(ctx, c)
}
