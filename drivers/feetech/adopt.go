package feetech

import (
	"bytes"

	"github.com/tau-robot/tau/robot"
)

// A servo may have torque when the link comes up: a bridge before has left it so, or another
// program has. torque_on takes up what holds already without a word to it, so what else was
// set in it is looked at here, and set by Clear.

// inspect looks whether a servo that has torque has other settings than PowerOn gives it. It
// only reads.
func (b *body) inspect(i int) error {
	v := &b.servos[i]
	if err := b.look(i); err != nil || !v.last.powered {
		return err
	}
	for _, block := range b.settings(i) {
		addr, want, err := bytesOf(block)
		if err != nil {
			return b.about(i, err)
		}
		got := make([]byte, len(want))
		if _, err := b.bus.Read(b.ids[i], addr, got); err != nil {
			return b.about(i, err)
		}
		v.strange = v.strange || !bytes.Equal(got, want)
	}
	return nil
}

// settings are those of a servo that holds the goal that it has, by this driver's word.
func (b *body) settings(i int) [][]setting {
	v := &b.servos[i]
	out := b.fam.holding(&v.setup, v.last.goal, b.axes[i].hw.TorqueLimit)
	if b.fam.watchdog.Size > 0 && v.last.complaints&hostQuiet == 0 {
		out = append(out, []setting{b.fam.watched()})
	}
	return out
}

// adopt gives a servo that has torque the settings of this driver. Its goal stays; one that
// isn't there, or may not be sent, is an error: the settings would have it go there as fast
// as it can.
func (b *body) adopt(i int) error {
	a, v := &b.axes[i], &b.servos[i]
	if err := b.look(i); err != nil {
		return err
	}
	m := &v.last
	if !m.powered {
		v.strange = false
		return nil
	}
	if in := max(a.low, min(a.high, m.goal)); in != m.goal {
		return robot.LimitErr(robot.CodeJointLimit, a.hw.Name, float64(m.goal), float64(in), "tick",
			"something else has switched the servo on, with a goal outside of the ticks that were calibrated: support the arm, and switch the servos' supply off and on")
	}
	if d := m.ticks - m.goal; d < -margin || d > margin {
		return robot.LimitErr(robot.CodeStartMoved, a.hw.Name, float64(d), float64(max(-margin, min(margin, d))), "tick",
			"something else has switched the servo on, and it isn't where it was sent: wait until it is there, or support the arm and switch the servos' supply off and on")
	}
	for _, block := range b.settings(i) {
		if err := b.set(i, block); err != nil {
			return err
		}
	}
	v.strange = false
	return nil
}
