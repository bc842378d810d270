package feetech

import (
	"context"
	"errors"
	"time"

	"github.com/tau-robot/tau/robot"
)

const (
	// rebootWithin is how long servos may take to answer again after a reboot.
	rebootWithin = 1500 * time.Millisecond
	rebootLook   = 50 * time.Millisecond
)

// Clear implements hosted.Body: it has each servo forget what it has latched. One that
// still complains afterwards is an error that says of what. Nothing moves, and nothing is
// powered that wasn't.
//
// Feetech's servos forget an overload when their torque is set to what it is; one with
// power is first given the place where it is for a goal. Dynamixel forget by a reboot
// alone, which costs them their torque: so only those are rebooted whose error has taken
// it already. A bus watchdog that has bitten is wound up anew. A servo that something else
// has given its torque gets the settings of this driver, with the goal that it has.
func (b *body) Clear(ctx context.Context) error {
	b.slowIn = 0
	var errs []error
	var rebooted []int
	for i := range b.axes {
		again, err := b.clear(i)
		if again {
			rebooted = append(rebooted, i)
		}
		if err == nil && !again && b.servos[i].strange {
			err = b.adopt(i)
		}
		errs = append(errs, err)
	}
	for _, i := range rebooted {
		errs = append(errs, b.awaitReboot(ctx, i))
	}
	for i := range b.axes {
		if errs[i] != nil {
			continue
		}
		if errs[i] = b.look(i); errs[i] == nil {
			errs[i] = b.still(i)
		}
	}
	return errors.Join(errs...)
}

// look reads all that is measured of one servo.
func (b *body) look(i int) error {
	v := &b.servos[i]
	raw := b.fast[:b.fam.fast.count]
	if _, err := b.bus.Read(b.ids[i], b.fam.fast.addr, raw); err != nil {
		return b.about(i, err)
	}
	b.fam.readFast(raw, &v.setup, &v.last)
	if b.fam.slow.count == 0 {
		return nil
	}
	raw = b.slow[:b.fam.slow.count]
	if _, err := b.bus.Read(b.ids[i], b.fam.slow.addr, raw); err != nil {
		return b.about(i, err)
	}
	b.fam.readSlow(raw, &v.setup, &v.last)
	return nil
}

// clear does what one servo needs; rebooted: it restarts, and doesn't answer for a moment.
func (b *body) clear(i int) (rebooted bool, err error) {
	a, v := &b.axes[i], &b.servos[i]
	if err := b.look(i); err != nil {
		return false, err
	}
	m := v.last
	if m.complaints&hostQuiet != 0 {
		err := b.set(i, []setting{{b.fam.watchdog, 0}})
		if err == nil && m.powered {
			err = b.watch(i) // torque_on has nothing to say to one that has its torque
		}
		if err != nil {
			return false, err
		}
		m.complaints &^= hostQuiet
	}
	switch {
	case m.complaints == 0:
		return false, nil
	case b.fam.rebootClears && m.powered:
		return false, nil // it holds on all the same, and a reboot would let go
	case b.fam.rebootClears:
		v.told = false
		if _, err := b.bus.Reboot(b.ids[i]); err != nil && !unsure(err) {
			return false, b.about(i, err)
		}
		return true, nil
	case !m.powered:
		return false, b.set(i, []setting{{b.fam.torque, 0}})
	}
	if err := a.within(m.ticks, float64(m.ticks)); err != nil {
		return false, err
	}
	for _, block := range b.fam.holding(&v.setup, max(a.low, min(a.high, m.ticks)), a.hw.TorqueLimit) {
		if err := b.set(i, block); err != nil {
			return false, err
		}
	}
	return false, b.set(i, []setting{{b.fam.torque, 1}})
}

// awaitReboot waits until a servo answers again.
func (b *body) awaitReboot(ctx context.Context, i int) error {
	t := time.NewTicker(rebootLook)
	defer t.Stop()
	for end := time.Now().Add(rebootWithin); ; {
		select {
		case <-t.C:
		case <-ctx.Done():
			return robot.Errf(robot.CodeCancelled, b.axes[i].hw.Name, "servo %d was rebooted and hasn't answered since: %w", b.ids[i], context.Cause(ctx))
		}
		_, err := b.bus.Ping(b.ids[i])
		if err == nil || !unsure(err) {
			return b.about(i, err)
		}
		if time.Now().After(end) {
			return robot.Errf(robot.CodeStaleState, b.axes[i].hw.Name, "servo %d was rebooted and doesn't answer: switch the supply off and on: %w", b.ids[i], err)
		}
	}
}

// still is the error of a servo that complains after it was told to forget.
func (b *body) still(i int) error {
	m := &b.servos[i].last
	for bit := badVoltage; bit != 0; bit <<= 1 {
		if m.complaints&bit == 0 {
			continue
		}
		c := bit.about()
		return robot.Errf(c.code, b.axes[i].hw.Name, "servo %d isn't rid of it: %s", b.ids[i], c.text+b.also(bit))
	}
	return nil
}

// also is what helps against a condition that Clear can't end.
func (b *body) also(bit condition) string {
	if b.fam.rebootClears && bit != hostQuiet {
		return "; it has kept its torque, and forgets only by a reboot, which would drop the arm: support the arm, and switch the servos' supply off and on"
	}
	return ""
}
