package mcu

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// coarse is the part of an actuator's range by which the board's steps may round a value.
const coarse = 0.01

// settleWithin is how long a command waits for the joints to lie or hold still.
const settleWithin = 4 * time.Second

// Actuate does one command and returns once the board has said that it is done and the
// joints are measured at rest, after at most a few seconds. ctx counts only before it
// begins: half a switching is no state to leave an arm in. TorqueOn has the board report
// where the joints are and powers them there: a measured joint where it is measured, one
// that nothing measures at its setpoint of this power-up, or where a person has said
// that it is. EStopReset takes away what is latched here and on the board, and leaves the
// robot disabled. SetActuator sets one of Model.Actuators, with torque or without.
func (r *Robot) Actuate(ctx context.Context, c robot.Command) (robot.Outcome, error) {
	var do func(*link, *robot.Command) error
	switch c.Kind {
	case robot.TorqueOn:
		do = r.torqueOn
	case robot.TorqueOff:
		do = r.torqueOff
	case robot.EStopReset:
		do = r.reset
	case robot.SetActuator:
		i, err := r.opts.Model.CheckActuator(&c)
		if err != nil {
			return refused(err)
		}
		do = func(l *link, c *robot.Command) error { return r.set(l, c, i) }
	default:
		return refused(robot.Errf(robot.CodeInvalidArgument, "kind", "%q is not a command", c.Kind))
	}
	if err := context.Cause(ctx); err != nil {
		return refused(robot.Errf(robot.CodeCancelled, c.ID, "cancelled before it began: %w", err))
	}
	r.fresh(ctx)
	r.mu.Lock()
	began := time.Now()
	var err error
	if c.Kind == robot.EStopReset {
		err = r.admitReset(c.Epoch)
	} else {
		err = r.admit(c.Epoch)
	}
	if err != nil {
		r.mu.Unlock()
		return refused(err)
	}
	l, x := r.link, r.begin(c.Epoch)
	r.mu.Unlock()
	defer r.finish(x)
	err = do(l, &c)
	r.mu.Lock()
	defer r.mu.Unlock()
	out := robot.Outcome{Status: robot.OutcomeDone, Duration: time.Since(began).Seconds(), Final: r.snapshot()}
	switch {
	case err == nil:
	case x.sent == nil || x.sent.code != wire.CodeOK:
		return refused(err)
	case x.sent.due.IsZero(): // it was never written
		return refused(err)
	case x.sent.err == nil && x.stop:
		out.Status = robot.OutcomeStopped
	case x.sent.err == nil && len(r.faults) > 0:
		out.Status = robot.OutcomeFaulted
	default:
		out.Status = robot.OutcomeUnknown
		out.Final.Positions, out.Final.Velocities, out.Final.Setpoints = nil, nil, nil
	}
	return out, err
}

// admitReset is admit for what takes away what admit refuses by; Robot.mu is held.
func (r *Robot) admitReset(epoch uint64) error {
	if err := r.reachable(); err != nil {
		return err
	}
	switch {
	case r.run != nil:
		return robot.Errf(robot.CodeBusy, "mcu", "another motion or command is running")
	case epoch != r.epoch:
		return robot.Errf(robot.CodeStopped, "mcu", "prepared in stop epoch %d, it is %d now: a stop came between", epoch, r.epoch)
	}
	return nil
}

// act has the frame of a command written: the one that does it.
func (r *Robot) act(l *link, q *request) error {
	r.mu.Lock()
	q.bound, q.epoch = true, r.run.epoch
	r.run.sent = q
	r.mu.Unlock()
	return r.ask(l, q)
}

// torqueOn enables the joints where they are.
func (r *Robot) torqueOn(l *link, c *robot.Command) error {
	at, err := r.report(l)
	if err != nil {
		return err
	}
	r.mu.Lock()
	already := r.status.Flags.Has(wire.FlagEnabled)
	enable, err := r.places(at)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	q := command(wire.TypeEnable, enable)
	q.acked = func() {
		r.armed = true
		for i := range r.axes {
			r.told[i], r.declared[i] = true, math.NaN()
		}
		r.heard = false // what it said before was of joints that weren't enabled
	}
	if already {
		// It holds what it held, at nobody's word: it has reported, and is taken up again.
		r.mu.Lock()
		if r.run.stop || r.epoch != c.Epoch {
			err = robot.Errf(robot.CodeStopped, c.ID, "a stop came before torque was switched on")
		} else {
			r.armed = true
		}
		r.mu.Unlock()
		return err
	}
	if err := r.act(l, q); err != nil {
		return err
	}
	if err := r.stands(func() bool { return r.status.Flags.Has(wire.FlagEnabled) }); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.run.stop {
			return robot.Errf(robot.CodeStopped, c.ID, "a stop came while torque was switched on; the robot is held")
		}
		return err
	}
	return nil
}

// places is what ENABLE says of each joint of the board; Robot.mu is held.
func (r *Robot) places(at wire.Positions) (wire.Enable, error) {
	out := wire.Enable{Report: at.Report, Q: make([]int32, len(at.Joints))}
	for _, s := range r.board.spare {
		out.Q[s.Channel] = s.Lower
	}
	powered := r.status.Flags.Has(wire.FlagPowered)
	if len(r.status.Setpoints) != len(at.Joints) {
		return out, robot.Errf(robot.CodeDisconnected, r.opts.Port, "the board has restarted since it was asked where its joints are")
	}
	for i := range r.axes {
		a := &r.axes[i]
		p, q := at.Joints[a.hw.Channel], &out.Q[a.hw.Channel]
		switch {
		case a.hw.Feedback == hardware.Steps:
			*q = p.Q
		case powered:
			*q = r.status.Setpoints[a.hw.Channel]
		case a.hw.Feedback == hardware.ADC:
			m, ok := a.hw.Measured(float64(p.Raw))
			if p.Raw == wire.NoRaw || !ok {
				return out, robot.Errf(robot.CodeNotCalibrated, a.hw.Name, "its feedback of %d counts doesn't say where it is: a broken wire, or a calibration of another servo", p.Raw)
			}
			in := math.Max(a.limits.Lower, math.Min(a.limits.Upper, m))
			if math.Abs(in-m) > a.tolerance() {
				return out, robot.LimitErr(robot.CodeJointLimit, a.hw.Name, m, in, a.unit, "the joint stands outside its limits; move it inside by hand")
			}
			*q = a.wire(in)
		case r.told[i] && math.IsNaN(r.declared[i]):
			*q = r.status.Setpoints[a.hw.Channel]
		case math.IsNaN(r.declared[i]):
			return out, robot.Errf(robot.CodeNotCalibrated, a.hw.Name, "nothing measures where %s is, and the board was never told since it was switched on: say where it is first", a.hw.Name)
		default:
			*q = a.wire(r.declared[i])
		}
	}
	return out, nil
}

// torqueOff takes the power away.
func (r *Robot) torqueOff(l *link, _ *robot.Command) error {
	q := command(wire.TypeDisable, wire.Disable{})
	q.acked = func() { r.armed, r.heard = false, false }
	if err := r.act(l, q); err != nil {
		return err
	}
	return r.stands(func() bool { return !r.status.Flags.Has(wire.FlagPowered) })
}

// stands waits until the board says so and nothing is measured to move.
func (r *Robot) stands(so func() bool) error {
	ok := r.awaitFor(context.Background(), settleWithin, func() bool {
		return r.link == nil || len(r.faults) > 0 || r.run.stop || r.heard && so() && (r.blind || r.sensed && !r.moving())
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.link == nil:
		return r.reachable()
	case len(r.faults) > 0:
		return robot.Errf(r.faults[0].Code, r.faults[0].Where, "%s", r.faults[0].Text)
	case r.run.stop:
		return robot.Errf(robot.CodeStopped, "mcu", "a stop came in between")
	case !ok:
		return robot.LimitErr(robot.CodeUnknownOutcome, "mcu", settleWithin.Seconds(), settleWithin.Seconds(), "s", "the board has done it, and the robot doesn't come to rest")
	}
	return nil
}

// reset takes away what is latched, here and on the board. It moves and enables nothing.
func (r *Robot) reset(l *link, _ *robot.Command) error {
	clear := func() {
		r.faults, r.estopped, r.seen = nil, false, wire.FaultNone
		r.status.Fault = wire.FaultNone
		r.status.Flags &^= wire.FlagEStopped
	}
	r.mu.Lock()
	fault := r.status.Fault
	if fault == wire.FaultNone {
		clear()
		r.broadcast()
		r.mu.Unlock()
		return nil
	}
	r.mu.Unlock()
	q := command(wire.TypeClear, wire.Clear{Fault: fault})
	q.acked = func() {
		clear()
		r.armed, r.heard = false, false
	}
	if err := r.act(l, q); err != nil {
		return err
	}
	return r.awaitHeard()
}

// awaitHeard waits until the board has said again how it is.
func (r *Robot) awaitHeard() error {
	r.awaitFor(context.Background(), knowWithin, func() bool { return r.link == nil || r.heard })
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reachable()
}

// set sets an output. What State says of it is what the board has acknowledged.
func (r *Robot) set(l *link, c *robot.Command, i int) error {
	r.mu.Lock()
	o := r.output(i, r.board)
	r.mu.Unlock()
	scale := r.opts.Hardware.Outputs[i].Scale
	v := wire.Output{Output: o.Output, Value: uint16(math.Round(c.Value * scale))}
	a := &r.opts.Model.Actuators[i]
	if near := float64(v.Value) / scale; math.Abs(near-c.Value) > coarse*(a.Upper-a.Lower) {
		e := robot.LimitErr(robot.CodeInvalidArgument, a.Name, c.Value, near, a.Unit, fmt.Sprintf("the board's output has steps of %.6g", 1/scale))
		e.Nearest = []robot.Quantity{{Name: a.Name, Value: near, Unit: a.Unit}}
		return e
	}
	q := command(wire.TypeOutput, v)
	q.acked = func() { r.values[i] = float64(v.Value) / scale }
	return r.act(l, q)
}
