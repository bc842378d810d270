package feetech

import (
	"context"
	"math"
	"time"

	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

// Read implements hosted.Body: one packet asks all servos, who answers badly or not at
// all is asked again with the others that didn't.
func (b *body) Read(_ context.Context, s *hosted.Sample) error {
	at := time.Now()
	n, err := b.readFast(at)
	if err != nil {
		return err
	}
	if n == 0 {
		return b.nobody()
	}
	if len(s.Joints) != len(b.axes) {
		s.Joints = make([]hosted.Joint, len(b.axes))
	}
	s.At, s.Restarted, s.Actuators = at, false, nil
	b.faults = b.faults[:0]
	// Before the slow block overwrites who answered.
	for i := range b.axes {
		s.Joints[i].Err = b.about(i, b.errs[i])
		if b.errs[i] == nil && b.status[i]&b.fam.alert != 0 {
			b.slowIn = 0
		}
	}
	if err := b.readSlow(); err != nil {
		return err
	}
	for i := range b.axes {
		if err := s.Joints[i].Err; err != nil {
			s.Joints[i] = unknown(err)
			continue
		}
		if b.judge(i, &s.Joints[i], at) {
			s.Restarted = true
		}
	}
	s.Faults = b.faults
	if at.Sub(b.saidAt) >= sayEvery {
		b.sayLine(at)
	}
	return nil
}

// sayLine logs what the line has damaged and lost since that was logged last, if anything:
// what was thrown away was asked for again, so that nobody else tells of it.
func (b *body) sayLine(now time.Time) {
	is, was := b.bus.Counters(), b.said
	if is.Damaged == was.Damaged && is.Foreign == was.Foreign && is.Stray == was.Stray && is.Tries == was.Tries {
		return
	}
	b.said, b.saidAt = is, now
	b.o.Log.Warn("the line isn't clean", "port", b.o.Port, "damaged_packets", is.Damaged-was.Damaged, "foreign_packets", is.Foreign-was.Foreign,
		"stray_bytes", is.Stray-was.Stray, "asked_again", is.Tries-was.Tries)
}

// nobody is the error of a bus on which no servo answers any more.
func (b *body) nobody() error {
	return robot.Errf(robot.CodeLinkTimeout, "port "+b.o.Port, "none of the %d servos answers any more: their supply is off, or the cable to them is out: %w", len(b.ids), b.errs[0])
}

// readFast reads what each Read is about into the servos that answer, and returns how
// many do.
func (b *body) readFast(at time.Time) (int, error) {
	k := b.fam.fast
	n, err := b.bus.SyncRead(k.addr, k.count, b.ids, b.fast, b.status, b.errs)
	if err != nil {
		return 0, err
	}
	for i := range b.servos {
		v := &b.servos[i]
		if b.errs[i] != nil {
			continue
		}
		b.fam.readFast(b.fast[i*k.count:(i+1)*k.count], &v.setup, &v.last)
		if !v.heard.IsZero() && at.Sub(v.heard) > followed {
			v.turns = Turns{} // anything may have happened meanwhile
		}
		v.heard = at
		v.turns.Add(float64(v.last.ticks))
	}
	return n, nil
}

// readSlow reads the slow block when it is due, of the servos that have just answered: one
// that is silent would hold the next setpoint up twice. Who doesn't answer is as it was for
// a few times, and is asked again at the next read.
func (b *body) readSlow() error {
	k := b.fam.slow
	if k.count == 0 {
		return nil
	}
	if b.slowIn > 0 {
		b.slowIn--
		return nil
	}
	b.some, b.which = b.some[:0], b.which[:0]
	for i := range b.errs {
		if b.errs[i] == nil {
			b.some, b.which = append(b.some, b.ids[i]), append(b.which, i)
		}
	}
	m := len(b.some)
	n, err := b.bus.SyncRead(k.addr, k.count, b.some, b.slow[:m*k.count], b.status[:m], b.errs[:m])
	if err != nil {
		return err
	}
	for at, i := range b.which {
		v := &b.servos[i]
		if v.why = b.errs[at]; v.why != nil {
			v.unsaid++
			continue
		}
		v.unsaid = 0
		b.fam.readSlow(b.slow[at*k.count:(at+1)*k.count], &v.setup, &v.last)
	}
	if n == len(b.ids) {
		b.slowIn = slowEvery - 1
	}
	return nil
}

// judge says what a servo's measurements are of its joint, and notes what is wrong. It
// reports whether the servo has lost what it was told.
func (b *body) judge(i int, j *hosted.Joint, at time.Time) (restarted bool) {
	a, v := &b.axes[i], &b.servos[i]
	m := &v.last
	if v.unsaid >= hosted.SilentReads { // whether it has torque, and what it complains of, is old news
		*j = unknown(b.about(i, v.why))
		return false
	}
	b.faults = v.watch.add(b.faults, a.hw.Name, m, b.bounds(i), at)
	if v.told && !m.powered && m.complaints == 0 {
		restarted = true
		b.faults = append(b.faults, robot.Fault{Code: robot.CodeDisconnected, Where: a.hw.Name, Since: at,
			Text: "the servo has lost its torque by itself: its supply was interrupted, or something else on the bus switched it off"})
	}
	v.told = m.powered
	if v.strange = v.strange && m.powered; v.strange {
		b.faults = append(b.faults, robot.Fault{Code: robot.CodeNotEnabled, Where: a.hw.Name, Since: at,
			Text: "something else has switched the servo on, with another torque limit, profile or watchdog than this driver's: estop_reset sets them, and moves nothing"})
	}
	*j = hosted.Joint{Position: a.position(m.ticks), Velocity: math.NaN(), Effort: math.NaN(), Powered: m.powered, Setpoint: math.NaN()}
	if m.powered {
		j.Setpoint = a.position(m.goal)
	}
	if err := a.within(m.ticks, float64(m.ticks)+v.turns.base); err != nil {
		j.Position, j.Lost = math.NaN(), err
	}
	return restarted
}

// bounds are those of the robot's file for a joint.
func (b *body) bounds(i int) bounds {
	j := b.axes[i].hw
	return bounds{current: j.MaxCurrent, temperature: j.MaxTemperature, minVoltage: b.o.Hardware.MinVoltage, maxVoltage: b.o.Hardware.MaxVoltage}
}
