package mcu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// Open opens the line, greets the board, holds what it says of itself against the
// robot's file, and tells it its limits. It blocks for at most Options.Within, or until
// ctx ends. The robot starts disabled, whatever it was before, and nothing moves. A board
// that doesn't answer is LINK_TIMEOUT, one of another protocol NOT_SUPPORTED, one that
// isn't what the file says INVALID_ARGUMENT; after an error nothing is open.
func Open(ctx context.Context, o Options) (*Robot, error) {
	r, err := newRobot(o)
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.cancel = cancel
	first := make(chan error, 1)
	opening, end := context.WithTimeoutCause(ctx, r.opts.Within,
		robot.LimitErr(robot.CodeLinkTimeout, r.opts.Port, r.opts.Within.Seconds(), r.opts.Within.Seconds(), "s", "no board with this firmware answered"))
	defer end()
	go r.keep(life, opening, first)
	if err := <-first; err != nil {
		cancel()
		<-r.kept
		switch {
		case robot.CodeOf(err) != "":
		case ctx.Err() != nil:
			err = robot.Errf(robot.CodeCancelled, r.opts.Port, "not opened: %w", err)
		default:
			err = robot.Errf(robot.CodeDisconnected, r.opts.Port, "opening: %w", err)
		}
		return nil, err
	}
	r.describe()
	if r.opts.At != nil {
		r.mu.Lock()
		if r.status.Flags.Has(wire.FlagPowered) {
			// A bridge before has left them with power: the board holds them where it was
			// told, which counts more than where somebody thinks that is.
			r.opts.Log.Warn("the joints have power, so where the operator says they are doesn't count", "port", r.opts.Port)
		} else {
			err = r.declare(r.opts.At)
		}
		r.mu.Unlock()
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
	}
	return r, nil
}

// keep owns the link: it opens one, joins its goroutines when it ends, and opens the
// next. first gets what became of the first one's greeting, which opening bounds.
func (r *Robot) keep(life, opening context.Context, first chan<- error) {
	defer close(r.kept)
	backoff, told := firstBackoff, ""
	for again := false; ; again = true {
		greeted := false
		err := r.serve(life, opening, again, func() {
			greeted, backoff, told = true, firstBackoff, ""
			if !again {
				first <- nil
			}
		})
		if !again && !greeted {
			first <- err
			return
		}
		if life.Err() != nil {
			return
		}
		if text := err.Error(); text != told { // once for each reason, however often it is tried
			told = text
			r.opts.Log.Warn("there is no link to the board", "port", r.opts.Port, "error", err)
		}
		select {
		case <-life.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, lastBackoff)
		opening = life
	}
}

// serve opens one link and runs it to its end. greeted is called once the board is
// ready to be used.
func (r *Robot) serve(life, opening context.Context, again bool, greeted func()) (err error) {
	p, err := r.opts.Dial(opening)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) && opening.Err() != nil {
			return context.Cause(opening)
		}
		return err
	}
	l := newLink(p, r.opts.Baud, time.Now())
	r.mu.Lock()
	r.link, r.why = l, nil
	r.heard, r.sensed = false, false
	r.measured.forget()
	if again {
		// Whatever the board is at, it isn't at anybody's word any more.
		r.queueStop(l, r.stopKind())
	}
	r.mu.Unlock()

	var wg sync.WaitGroup
	ends := func(loop func(*link) error) {
		wg.Go(func() {
			err := loop(l)
			r.mu.Lock()
			r.lose(l, err)
			r.mu.Unlock()
		})
	}
	ends(r.read)
	ends(r.send)
	defer func() {
		r.mu.Lock()
		r.lose(l, err)
		err = l.err
		r.mu.Unlock()
		closed := p.Close()
		wg.Wait()
		r.portMu.Lock()
		r.portOf = closed
		r.portMu.Unlock()
	}()

	if err := r.greet(opening, l); err != nil {
		return err
	}
	greeted()
	for {
		select {
		case <-l.over:
			return nil // l.err says why
		case <-life.Done():
			return robot.Errf(robot.CodeDisconnected, "mcu", "the robot is closed")
		case <-l.regreet:
			ctx, end := context.WithTimeoutCause(life, r.opts.Within,
				robot.LimitErr(robot.CodeLinkTimeout, r.opts.Port, r.opts.Within.Seconds(), r.opts.Within.Seconds(), "s", "the board doesn't answer to HELLO any more"))
			err := r.greet(ctx, l)
			end()
			if err != nil {
				return err
			}
		}
	}
}

// stopKind is the stop that a board is greeted with that comes back; Robot.mu is held.
func (r *Robot) stopKind() wire.StopKind {
	if r.estopped {
		return wire.StopEmergency
	}
	return wire.StopControlled
}

// lose ends a link, the first reason counting, and with it whatever runs; Robot.mu is
// held.
func (r *Robot) lose(l *link, err error) {
	if err == nil {
		err = robot.Errf(robot.CodeDisconnected, r.opts.Port, "the link ended")
	}
	l.fail(err)
	if r.link != l {
		return
	}
	r.link, r.why = nil, l.err
	r.heard, r.sensed = false, false
	r.measured.forget()
	if r.board != nil && !r.closed {
		r.epoch++
		r.lost(robot.Errf(robot.CodeDisconnected, r.opts.Port, "the link to the board was lost: %w", l.err))
		r.switchOff(func(a *robot.Actuator) bool { return a.OnLost == "off" })
	} else if r.leg != nil {
		r.leg.cut(robot.Errf(robot.CodeDisconnected, "mcu", "the robot was closed"))
	}
	r.broadcast()
}

// greet says HELLO until the board answers, and makes it ready: at first, and after it
// has restarted, by its channels and limits. HELLO ends what anybody has enabled.
func (r *Robot) greet(ctx context.Context, l *link) error {
	hello, err := r.sayHello(ctx, l)
	if err == nil {
		// A board that answers everything, and slowly, ends with the time as well.
		end := context.AfterFunc(ctx, func() {
			r.mu.Lock()
			l.fail(context.Cause(ctx))
			r.broadcast()
			r.mu.Unlock()
		})
		err = r.ready(ctx, l, hello)
		end()
	}
	select {
	case <-l.over:
		return err
	default:
	}
	if err != nil && ctx.Err() != nil && robot.CodeOf(err) == "" {
		return context.Cause(ctx)
	}
	return err
}

// sayHello says HELLO until it is answered.
func (r *Robot) sayHello(ctx context.Context, l *link) (wire.HelloReply, error) {
	r.mu.Lock()
	r.armed = false
	l.greeted, l.reply, l.replyErr, l.nonce, l.busy = false, nil, nil, r.opts.Nonce(), false
	r.mu.Unlock()
	for {
		r.mu.Lock()
		l.hello = true
		r.mu.Unlock()
		signal(l.wake)
		r.awaitFor(ctx, helloPeriod, func() bool { return l.reply != nil || l.replyErr != nil || l.err != nil })
		r.mu.Lock()
		reply, err, lost := l.reply, l.replyErr, l.err
		dropped, busy := l.decoder.Dropped().Total(), l.busy
		r.mu.Unlock()
		switch {
		case lost != nil:
			return wire.HelloReply{}, lost
		case err != nil:
			return wire.HelloReply{}, err
		case reply != nil:
			return *reply, nil
		case ctx.Err() != nil && busy:
			return wire.HelloReply{}, robot.Errf(robot.CodeBusy, r.opts.Port, "the board is moving for somebody else")
		case ctx.Err() != nil && dropped > 0:
			return wire.HelloReply{}, robot.Errf(robot.CodeLinkTimeout, r.opts.Port,
				"what came are no frames of this protocol (%d were dropped): another device, or another speed than %d bit/s: %w", dropped, r.opts.Baud, context.Cause(ctx))
		case ctx.Err() != nil:
			return wire.HelloReply{}, context.Cause(ctx)
		}
	}
}

// ready makes a greeted board ready.
func (r *Robot) ready(ctx context.Context, l *link, hello wire.HelloReply) error {
	r.mu.Lock()
	known := r.board != nil && r.board.hello.Boot == hello.Boot
	if r.board != nil && !known {
		r.restarted(hello)
	}
	firmware := r.board != nil && r.board.hello.Firmware != hello.Firmware
	other := r.board != nil && (r.board.hello.Joints != hello.Joints || r.board.hello.Outputs != hello.Outputs)
	r.mu.Unlock()
	if other {
		return robot.Errf(robot.CodeDisconnected, r.opts.Port, "another board, of %d joints and %d outputs, came back; open the robot again", hello.Joints, hello.Outputs)
	}
	if firmware {
		return robot.Errf(robot.CodeDisconnected, r.opts.Port, "another board, or another firmware (%d), came back; open the robot again", hello.Firmware)
	}
	if known {
		return r.learn(l)
	}
	b := &board{hello: hello}
	for c := range int(hello.Joints) + int(hello.Outputs) {
		q := &request{message: wire.Describe{Channel: byte(c)}, kind: wire.TypeDescribe, answer: wire.TypeChannel}
		if err := r.ask(l, q); err != nil {
			return err
		}
		b.channels = append(b.channels, q.channel)
	}
	if err := r.matches(b); err != nil {
		return err
	}
	if err := r.await(ctx, func() bool { return r.heard || l.err != nil }); err != nil {
		return err
	}
	if err := r.configure(l, b); err != nil {
		return err
	}
	r.mu.Lock()
	r.board = b
	r.mu.Unlock()
	return r.learn(l)
}

// configure tells the board the robot's limits, and sets its outputs to off.
func (r *Robot) configure(l *link, b *board) error {
	for i := range r.axes {
		if err := r.ask(l, command(wire.TypeConfigure, r.axes[i].config)); err != nil {
			return fmt.Errorf("%s: %w", r.axes[i].hw.Name, err)
		}
	}
	for _, c := range b.spare {
		if err := r.ask(l, command(wire.TypeConfigure, c)); err != nil {
			return fmt.Errorf("spare joint %d of the board: %w", c.Channel, err)
		}
	}
	for i := range r.opts.Model.Actuators {
		c := r.output(i, b)
		if err := r.ask(l, command(wire.TypeConfigureOutput, c)); err != nil {
			return fmt.Errorf("%s: %w", r.opts.Model.Actuators[i].Name, err)
		}
		// The first CONFIGURE_OUTPUT of a boot has set it to off; a later one hasn't.
		if err := r.ask(l, command(wire.TypeOutput, wire.Output{Output: c.Output, Value: c.Off})); err != nil {
			return fmt.Errorf("%s: %w", r.opts.Model.Actuators[i].Name, err)
		}
	}
	return nil
}

// learn asks the board where the joints are, and takes over what it knows of that.
func (r *Robot) learn(l *link) error {
	_, err := r.report(l)
	return err
}

// report is learn with the answer.
func (r *Robot) report(l *link) (wire.Positions, error) {
	q := &request{message: wire.Report{}, kind: wire.TypeReport, answer: wire.TypePositions}
	if err := r.ask(l, q); err != nil {
		return wire.Positions{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := int(r.board.hello.Joints); len(q.positions.Joints) != n {
		return wire.Positions{}, robot.Errf(robot.CodeInternal, r.opts.Port, "the board reports %d joints, and has %d", len(q.positions.Joints), n)
	}
	for i := range r.axes {
		p := q.positions.Joints[r.axes[i].hw.Channel]
		switch r.axes[i].hw.Feedback {
		case hardware.Steps:
			r.unref[i], r.told[i] = p.Known == wire.KnownNot, true
		case hardware.ADC:
			r.told[i] = r.status.Flags.Has(wire.FlagPowered)
		default:
			// What a person has said since counts until the joint is powered. A board that
			// measures a joint which the file says isn't doesn't say whether it was told.
			powered, said := r.status.Flags.Has(wire.FlagPowered), !math.IsNaN(r.declared[i])
			r.told[i] = powered || !said && (p.Known == wire.KnownSetpoint || p.Known == wire.KnownMeasured && r.told[i])
		}
	}
	r.broadcast()
	return q.positions, nil
}

// command is a request that an ACK answers.
func command(kind wire.Type, m message) *request {
	return &request{message: m, kind: kind, answer: wire.TypeAck}
}

// ungreeted is why a board is asked nothing that has to be greeted first.
func (r *Robot) ungreeted() *robot.Error {
	return robot.Errf(robot.CodeDisconnected, r.opts.Port, "the board has restarted, and isn't greeted again yet")
}

// ask has a frame written and waits for its answer, for as long as its patience lasts
// after it was written. One that the board refused because a frame before it was lost is
// written again, and so is a question whose answer was lost: it changes nothing.
// What isn't written before the board restarts fails.
// Robot.mu must not be held.
func (r *Robot) ask(l *link, q *request) error {
	const tries = 3
	for try := 1; ; try++ {
		q.done, q.ended, q.err, q.code, q.due = make(chan struct{}), false, nil, wire.CodeOK, time.Time{}
		r.mu.Lock()
		switch {
		case l.err != nil:
			q.finish(l.err)
		case !l.greeted: // it would wait for a greeting that its caller may be busy with
			q.finish(r.ungreeted())
		default:
			l.queue = append(l.queue, q)
		}
		r.mu.Unlock()
		signal(l.wake)
		<-q.done
		lost := q.code == wire.CodeBadSequence || q.answer != wire.TypeAck && robot.CodeOf(q.err) == robot.CodeLinkTimeout
		if !lost || q.once || try == tries {
			return q.err
		}
	}
}
