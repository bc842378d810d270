package feetech

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/robot"
)

// Connect implements hosted.Body. It only reads: a servo is neither powered nor let go.
func (b *body) Connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.mu.Lock()
	b.gone = cancel
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.gone = nil
		b.mu.Unlock()
	}()
	if err := b.open(ctx); err != nil {
		return err
	}
	err := b.greet(ctx)
	if err == nil {
		return nil
	}
	return errors.Join(err, b.hangUp())
}

// open opens the line, unless Disconnect comes first.
func (b *body) open(ctx context.Context) error {
	p, err := b.o.Dial(ctx)
	if err != nil {
		return err
	}
	b.mu.Lock()
	ended := ctx.Err()
	if ended == nil {
		b.port = p
	}
	b.mu.Unlock()
	if ended != nil {
		return errors.Join(robot.Errf(robot.CodeDisconnected, "port "+b.o.Port, "not opened: %w", ended), p.Close())
	}
	if b.bus != nil {
		b.sayLine(time.Now()) // the last of the link before
	}
	b.bus, err = bus.New(p, b.fam.codec(), b.busOptions())
	if err != nil {
		return errors.Join(err, b.hangUp())
	}
	b.said = bus.Counters{}
	return nil
}

func (b *body) busOptions() bus.Options {
	return bus.Options{Name: "port " + b.o.Port, Baud: b.o.Hardware.Baud, KeptBelow: b.fam.kept}
}

// greet finds each servo of the file, holds what it says of itself against the file, and
// reads what it measures.
func (b *body) greet(ctx context.Context) error {
	if err := b.find(ctx); err != nil {
		return err
	}
	raw := make([]byte, b.fam.setup.count)
	for i := range b.axes {
		if _, err := b.bus.Read(b.ids[i], b.fam.setup.addr, raw); err != nil {
			return b.about(i, err)
		}
		b.servos[i] = servo{setup: b.fam.readSetup(raw)}
		if err := b.axes[i].check(b.fam, &b.servos[i].setup); err != nil {
			return err
		}
	}
	for i := range b.servos {
		for k := range b.axes {
			if b.servos[i].setup.second == int(b.ids[k]) && i != k {
				return robot.Errf(robot.CodeNotSupported, b.axes[i].hw.Name, "servo %d obeys what is sent to servo %d as well (its secondary ID): switch that off with the maker's tool", b.ids[i], b.ids[k])
			}
		}
	}
	b.slowIn = 0
	n, err := b.readFast(time.Now())
	if err == nil && n < len(b.ids) {
		for i := range b.errs {
			err = errors.Join(err, b.about(i, b.errs[i]))
		}
	}
	if err != nil {
		return err
	}
	for i := range b.axes {
		if err := b.axes[i].checkSupply(&b.servos[i].setup, &b.servos[i].last, b.bounds(i)); err != nil {
			return err
		}
		if err := b.inspect(i); err != nil {
			return err
		}
	}
	return nil
}

// find asks each ID whether a servo has it, and whether it is one alone.
func (b *body) find(ctx context.Context) error {
	found, err := b.fam.ask(ctx, b.bus, b.ids, true)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return b.none(ctx)
	}
	here := map[byte]bool{}
	for _, f := range found {
		if f.Shared {
			return robot.Errf(robot.CodeDisconnected, b.joint(f.ID), "two devices may share ID %d: of %d questions to it %d came back with two answers and %d damaged ones; unplug one of them, and give the other another ID (tau robot calibrate)", f.ID, f.Asked, f.Doubled, f.Bad)
		}
		here[f.ID] = f.Good > 0
	}
	var missing, joints []string
	for i, id := range b.ids {
		if !here[id] {
			missing, joints = append(missing, fmt.Sprint(id)), append(joints, b.axes[i].hw.Name)
		}
	}
	if len(missing) > 0 {
		return robot.Errf(robot.CodeDisconnected, joints[0], "servo %s (%s) doesn't answer and the others do: its cable, or the one before it in the chain, is out, or it is set to another ID or speed", strings.Join(missing, ", "), strings.Join(joints, ", "))
	}
	return nil
}

// joint names the joint that has the servo with an ID.
func (b *body) joint(id byte) string {
	for i := range b.ids {
		if b.ids[i] == id {
			return b.axes[i].hw.Name
		}
	}
	return fmt.Sprintf("servo %d", id)
}

// none is the error of a line on which no servo answers. The first time it is looked for
// servos at the other speeds, which takes the line for as long.
func (b *body) none(ctx context.Context) error {
	baud := b.o.Hardware.Baud
	const text = "no servo answers at %d bit/s: is their supply on (USB alone doesn't power them), and is the cable to the first one plugged in?"
	where := "port " + b.o.Port
	if b.looked || b.o.DialAt == nil {
		return robot.Errf(robot.CodeDisconnected, where, text, baud)
	}
	b.looked = true
	if err := b.hangUp(); err != nil {
		return err
	}
	var others []int
	for _, other := range b.fam.bauds {
		if other != baud {
			others = append(others, other)
		}
	}
	open := func(ctx context.Context, baud int) (bus.Line, error) { return b.o.DialAt(ctx, baud) }
	rates, err := bus.FindBaud(ctx, open, b.fam.codec(), b.busOptions(), others, b.ids)
	for _, r := range rates {
		if len(r.IDs) > 0 {
			return robot.Errf(robot.CodeDisconnected, where, "no servo answers at %d bit/s, but servo %s does at %d: set baud = %d in %s", baud, list(r.IDs), r.Baud, r.Baud, b.o.Hardware.Name)
		}
	}
	if err != nil {
		return robot.Errf(robot.CodeDisconnected, where, text+" Looking for servos at other speeds ended early: %w", baud, err)
	}
	tried := make([]string, len(rates))
	for i, r := range rates {
		tried[i] = fmt.Sprint(r.Baud)
	}
	return robot.Errf(robot.CodeDisconnected, where, text+" None answers at %s either", baud, strings.Join(tried, ", "))
}

func list(ids []byte) string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = fmt.Sprint(id)
	}
	return strings.Join(out, ", ")
}
