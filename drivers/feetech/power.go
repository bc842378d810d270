package feetech

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/hosted"
	"github.com/tau-robot/tau/robot"
)

const (
	// moved is by how many ticks a joint may have moved since it was measured when its
	// torque goes on: about one degree.
	moved = 12
)

// PowerOn implements hosted.Body. Of each joint in turn: where it is now is held against
// q; its goal is set to that, with its torque limit, and read back; only then the torque
// goes on, which is read back as well. One that has its torque and that goal already is let
// alone: under its load it may stand some way off.
func (b *body) PowerOn(ctx context.Context, q []float64) error {
	b.slowIn = 0
	for i := range b.axes {
		if hosted.Stopped(ctx) {
			return robot.Errf(robot.CodeStopped, b.axes[i].hw.Name, "a stop came before it was switched on")
		}
		goal, err := b.axes[i].ticks(q[i])
		if err != nil {
			return err
		}
		if err := b.powerOn(i, goal); err != nil {
			return err
		}
	}
	return nil
}

func (b *body) powerOn(i, goal int) error {
	a, v := &b.axes[i], &b.servos[i]
	if err := b.look(i); err != nil {
		return err
	}
	if v.last.powered && v.last.goal == goal {
		return nil
	}
	if err := b.here(i, goal); err != nil {
		return err
	}
	if b.fam.watchdog.Size > 0 {
		// A servo whose watchdog has stopped it takes no goal, and one that is watched
		// could be stopped by it between here and the last line.
		if err := b.set(i, []setting{{b.fam.watchdog, 0}}); err != nil {
			return err
		}
	}
	for _, block := range b.fam.holding(&v.setup, goal, a.hw.TorqueLimit) {
		if err := b.set(i, block); err != nil {
			return err
		}
	}
	err := b.set(i, []setting{{b.fam.torque, 1}})
	if err == nil {
		err = b.look(i)
	}
	if err == nil {
		err = b.here(i, goal)
	}
	if err == nil && v.last.goal != goal {
		err = robot.LimitErr(robot.CodeInternal, a.hw.Name, float64(v.last.goal), float64(goal), "tick", fmt.Sprintf("servo %d has another goal than it was given once its torque was on", a.id))
	}
	if err != nil {
		// It may have torque, and wouldn't hold where it was meant to.
		return errors.Join(err, b.letGo(i))
	}
	v.told, v.strange = true, false
	return b.watch(i)
}

// watch has a servo that can stop by itself once this computer is quiet.
func (b *body) watch(i int) error {
	if b.fam.watchdog.Size == 0 {
		return nil
	}
	return b.set(i, []setting{b.fam.watched()})
}

// here refuses a joint that, as it was just read, isn't where its goal is to be: a hand is
// moving it, or it is falling.
func (b *body) here(i, goal int) error {
	a, v := &b.axes[i], &b.servos[i]
	if err := a.within(v.last.ticks, float64(v.last.ticks)); err != nil {
		return err
	}
	if low, high := b.fam.span(a.hw.Offset); v.last.ticks < low || v.last.ticks > high {
		// A Dynamixel counts its turns while it is limp, and begins anew with its torque: it
		// would go round once to where it stands.
		return robot.LimitErr(robot.CodeNotCalibrated, a.hw.Name, float64(v.last.ticks), float64(max(low, min(high, v.last.ticks))), "tick",
			"the joint stands beyond the seam of its encoder: turn it back by hand, or "+again)
	}
	if d := v.last.ticks - goal; d < -moved || d > moved {
		return &robot.Error{Code: robot.CodeStartMoved, Where: a.hw.Name,
			Text:  "the joint moves while it is to be switched on: hold it still and try again",
			Value: &robot.Quantity{Value: math.Abs(a.position(v.last.ticks) - a.position(goal)), Unit: a.unit},
			Limit: &robot.Quantity{Value: moved / a.hw.Scale, Unit: a.unit}}
	}
	return nil
}

// set writes registers that lie side by side, once, and reads them back.
func (b *body) set(i int, block []setting) error {
	return b.about(i, writeAndRead(b.bus, b.ids[i], block))
}

// writeAndRead writes registers that lie side by side, once, and reads them back: an
// acknowledgement that was lost is no failure where the servo has the values.
func writeAndRead(b *bus.Bus, id byte, block []setting) error {
	addr, data, err := bytesOf(block)
	if err != nil {
		return err
	}
	if _, err := b.Write(id, addr, data); err != nil && !unsure(err) {
		return err
	}
	back := make([]byte, len(data))
	if _, err := b.Read(id, addr, back); err != nil {
		return err
	}
	if !bytes.Equal(back, data) {
		return robot.Errf(robot.CodeUnknownOutcome, fmt.Sprintf("servo %d", id), "it has % X at address %d and was told % X", back, addr, data)
	}
	return nil
}

// unsure reports whether a write may have been done all the same.
func unsure(err error) bool { return errors.Is(err, bus.ErrSilent) || errors.Is(err, bus.ErrDamaged) }

// PowerOff implements hosted.Body: each servo is told, whatever the others answer.
func (b *body) PowerOff(_ context.Context) error {
	b.slowIn = 0
	var errs []error
	for i := range b.axes {
		errs = append(errs, b.letGo(i))
	}
	return errors.Join(errs...)
}

func (b *body) letGo(i int) error {
	b.servos[i].told = false
	if err := b.set(i, []setting{{b.fam.torque, 0}}); err != nil {
		code := robot.CodeOf(err)
		return robot.Errf(code, b.axes[i].hw.Name, "servo %d may still have torque: %w", b.ids[i], err)
	}
	return nil
}
