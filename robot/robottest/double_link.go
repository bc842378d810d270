package robottest

import (
	"context"
	"math"
	"time"

	"github.com/tau-robot/tau/robot"
)

// Execute runs a motion on the board, and tells the host of it for as long as the link
// is there.
func (d *Double) Execute(ctx context.Context, m robot.Motion, progress func(robot.Progress)) (robot.Outcome, error) {
	x, err := d.begin(ctx, &m)
	if err != nil {
		return refused(err)
	}
	type report struct {
		p    robot.Progress
		seen chan struct{}
	}
	type end struct {
		out robot.Outcome
		err error
	}
	reports, ended := make(chan report), make(chan end, 1)
	go func() {
		out, err := d.in.Execute(ctx, m, func(p robot.Progress) {
			if !d.tick(x, p.T) {
				return
			}
			r := report{p: p, seen: make(chan struct{})}
			select {
			case reports <- r:
				select {
				case <-r.seen:
				case <-x.lost:
				}
			case <-x.lost:
			}
		})
		out, err = d.ended(x, out, err)
		ended <- end{out, err}
	}()
	for {
		select {
		case r := <-reports:
			if progress != nil {
				d.mu.Lock()
				p := robot.Progress{T: r.p.T, Setpoint: append([]float64(nil), r.p.Setpoint...)}
				if r.p.State.Setpoints != nil {
					p.State = d.shown(r.p.State)
				}
				d.mu.Unlock()
				progress(p)
			}
			close(r.seen)
		case e := <-ended:
			select {
			case <-x.lost: // nobody hears of its end
			default:
				return e.out, e.err
			}
		case <-x.lost:
			return robot.Outcome{Status: robot.OutcomeUnknown},
				robot.Errf(robot.CodeDisconnected, "double", "the link to the board was lost in mid-motion; what became of it isn't known")
		}
	}
}

// begin admits a motion.
func (d *Double) begin(ctx context.Context, m *robot.Motion) (*boardRun, error) {
	if err := m.Validate(d.info.Joints, d.info.Limits); err != nil {
		return nil, err
	}
	x, _, err := d.admit(ctx, func(s robot.State) error {
		if err := d.refuse(m.Epoch, s); err != nil {
			return err
		}
		switch {
		case !d.enabled:
			return robot.Errf(robot.CodeNotEnabled, "double", "torque is off")
		case anyOf(s.Unreferenced):
			return robot.Errf(robot.CodeNotCalibrated, "double", "nobody has said where its joints are")
		}
		for i, q := range s.Where() {
			if off := math.Abs(q - m.Trajectory.Segments[0].Q[i]); !(off <= m.StartTolerance[i]) {
				return robot.LimitErr(robot.CodeStartMoved, d.info.Joints[i], off, m.StartTolerance[i], "", "the joint isn't where the motion starts")
			}
		}
		return nil
	})
	return x, err
}

// tick is the board's own look at a motion, at each report; false where nobody hears of it.
func (d *Double) tick(x *boardRun, t float64) bool {
	d.mu.Lock()
	x.at = t
	late := t-x.deaf >= d.o.Watchdog
	d.mu.Unlock()
	if late {
		d.brake(x, robot.Errf(robot.CodeLinkTimeout, "double", "no host for %.3f s", d.o.Watchdog))
	}
	select {
	case <-x.lost:
		return false
	default:
		return true
	}
}

// brake has the board stop by itself.
func (d *Double) brake(x *boardRun, why *robot.Error) {
	d.mu.Lock()
	first := x.why == nil
	if first {
		x.why = why
		d.latch(why)
	}
	d.mu.Unlock()
	if first {
		d.halt()
	}
}

// halt begins a stop and doesn't wait for its end.
func (d *Double) halt() {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	d.in.Stop(over, robot.StopControlled)
}

// latch keeps the first fault; mu is held. What isn't enabled any more holds.
func (d *Double) latch(why *robot.Error) {
	if d.fault == nil {
		d.fault = &robot.Fault{Code: why.Code, Where: why.Where, Text: why.Text, Since: time.Now()}
	}
	d.enabled = false
}

// ended is what a motion's end is to the host.
func (d *Double) ended(x *boardRun, out robot.Outcome, err error) (robot.Outcome, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.run = nil
	defer close(x.done)
	if s := out.Final.Setpoints; s != nil && d.link != linkBoot {
		copy(d.told, s)
	}
	if len(out.Final.Faults) > 0 || out.Final.EStopped {
		d.enabled = false
	}
	if x.why != nil {
		out.Status, err = robot.OutcomeFaulted, x.why
	}
	out.MaxTrackingError = d.errors(out.MaxTrackingError)
	if out.Final.Positions == nil {
		out.Final.Setpoints = nil // nobody has heard of them
	} else {
		out.Final = d.shown(out.Final)
	}
	return out, err
}

// errors leaves out of tracking errors what the board can't have measured.
func (d *Double) errors(e []float64) []float64 {
	if blind(d.info) {
		return nil
	}
	e = append([]float64(nil), e...)
	for i := range e {
		if d.info.OpenLoop[i] {
			e[i] = math.NaN()
		}
	}
	return e
}

// Unplug cuts the link between host and board.
func (d *Double) Unplug() { d.cut(linkLost) }

// cut takes the link away; the board finds it out by its watchdog.
func (d *Double) cut(to link) {
	d.mu.Lock()
	d.link = to
	x := d.run
	if x != nil {
		x.deaf = math.Min(x.deaf, x.at)
		x.cut.Do(func() { close(x.lost) })
	}
	idle := x == nil && d.enabled
	if idle {
		d.latch(robot.Errf(robot.CodeLinkTimeout, "double", "no host for %.3f s", d.o.Watchdog))
	}
	d.mu.Unlock()
	if idle {
		d.halt()
	}
}

// Replug brings the link back.
func (d *Double) Replug() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.link == linkLost {
		d.link = linkUp
	}
}

// Silence keeps everything from the board that the host sends.
func (d *Double) Silence() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.quiet = true
	if d.run != nil {
		d.run.deaf = math.Min(d.run.deaf, d.run.at)
	}
}

// Reboot resets the board: it comes up without torque and knows nothing.
func (d *Double) Reboot() {
	d.cut(linkBoot)
	d.halt()
	d.mu.Lock()
	x := d.run
	d.mu.Unlock()
	up := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.enabled, d.fault, d.pressed = false, nil, false
		clear(d.declared)
		for i := range d.told {
			d.told[i] = math.NaN()
		}
		if s, err := d.in.State(context.Background()); err == nil {
			_, _ = d.in.Actuate(context.Background(), robot.Command{Kind: robot.TorqueOff, Epoch: s.StopEpoch})
		}
		d.link = linkUp
	}
	if x == nil {
		up()
		return
	}
	go func() {
		<-x.done
		up()
	}()
}

// Intrude has a second master speak on the wire: a frame that nobody expected.
func (d *Double) Intrude() {
	d.mu.Lock()
	x := d.run
	d.mu.Unlock()
	if x != nil {
		d.brake(x, robot.Errf(robot.CodeLinkTimeout, "double", "a frame is missing: somebody else is on the wire"))
	}
}

// Trip presses the board's e-stop button.
func (d *Double) Trip() {
	why := robot.Errf(robot.CodeEStopped, "double", "the e-stop button is pressed")
	d.mu.Lock()
	d.pressed = true
	x := d.run
	if x == nil {
		d.latch(why)
	}
	d.mu.Unlock()
	if x != nil {
		d.brake(x, why)
		return
	}
	d.halt()
}

// Untrip releases the button.
func (d *Double) Untrip() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pressed = false
}

// Observe is where the servos are, link or not; nil where that can't be seen.
func (d *Double) Observe() []float64 {
	s, err := d.in.State(context.Background())
	if err != nil {
		return nil
	}
	return s.Positions
}
