package feetech

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/robot"
)

// CalibratorOptions say which servos are to be calibrated.
type CalibratorOptions struct {
	Driver string // "feetech" or "dynamixel"
	Port   string // a serial device; only a name for errors with a Dial
	Baud   int    // bit/s
	IDs    []int  // of the servos; nil: those that are found, as Scan has it
	Dial   func(ctx context.Context) (Port, error)
}

// Calibrator reads and sets up the servos of an arm that has no power. It moves nothing,
// and powers nothing; what it writes to a servo stays there. It isn't safe for concurrent use.
type Calibrator struct {
	fam  *family
	name string
	port Port
	bus  *bus.Bus
	baud int
	ids  []byte
}

// Reading is where one servo is.
type Reading struct {
	ID      int
	Ticks   int  // with the servo's own offset
	Powered bool // it has torque, and can't be moved by hand
	Err     error
}

// OpenCalibrator opens the line and finds the servos. It writes nothing. DISCONNECTED:
// none is there, or one of IDs isn't, or two share one. It takes about a second, or what Scan does,
// and ends with ctx.
func OpenCalibrator(ctx context.Context, o CalibratorOptions) (*Calibrator, []Device, error) {
	fam, ok := familyOf(o.Driver)
	if !ok {
		return nil, nil, robot.Errf(robot.CodeInvalidArgument, "driver", "%q is no driver of servo buses; there are feetech and dynamixel", o.Driver)
	}
	ids, err := fam.asIDs(o.IDs)
	if err != nil {
		return nil, nil, err
	}
	if o.Dial == nil {
		o.Dial = newSerial(o.Port, o.Baud).dial
	}
	p, err := o.Dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	c := &Calibrator{fam: fam, name: "port " + o.Port, port: p, baud: o.Baud}
	found, err := c.find(ctx, ids, o.IDs != nil)
	if err != nil {
		return nil, found, errors.Join(err, p.Close())
	}
	return c, found, nil
}

func (c *Calibrator) find(ctx context.Context, ids []byte, all bool) ([]Device, error) {
	var err error
	c.bus, err = bus.New(c.port, c.fam.codec(), bus.Options{Name: c.name, Baud: c.baud, KeptBelow: c.fam.kept})
	if err != nil {
		return nil, err
	}
	found, err := c.fam.devices(ctx, c.bus, c.baud, ids, all)
	if err != nil {
		return found, err
	}
	if len(found) == 0 {
		return nil, robot.Errf(robot.CodeDisconnected, c.name, "no servo answers at %d bit/s: is their supply on (USB alone doesn't power them), and is the cable to the first one plugged in?", c.baud)
	}
	for _, d := range found {
		if d.Trouble != "" && (d.Shared || !d.Known) {
			return found, robot.Errf(robot.CodeNotSupported, c.name, "servo %d: %s", d.ID, d.Trouble)
		}
		c.ids = append(c.ids, byte(d.ID))
	}
	for _, id := range ids {
		if all && !slices.Contains(c.ids, id) {
			return found, robot.Errf(robot.CodeDisconnected, c.name, "servo %d doesn't answer; those that do are %s", id, list(c.ids))
		}
	}
	return found, nil
}

// Ticks reads where each servo is, in the order of their IDs. Of one that doesn't answer
// Err says so, and its Ticks are no news. The error is of the line.
func (c *Calibrator) Ticks() ([]Reading, error) {
	n := len(c.ids)
	k := c.fam.position
	at, errs, err := c.each(k)
	if err != nil {
		return nil, err
	}
	on, onErrs, err := c.each(c.fam.torque)
	if err != nil {
		return nil, err
	}
	out := make([]Reading, n)
	for i, id := range c.ids {
		out[i] = Reading{ID: int(id), Ticks: int(at[i]), Powered: on[i] != 0, Err: errors.Join(errs[i], onErrs[i])}
		if out[i].Err != nil {
			out[i].Ticks, out[i].Powered = 0, false
		}
	}
	return out, nil
}

// each reads a register of each servo.
func (c *Calibrator) each(r bus.Register) (out []int64, errs []error, err error) {
	n := len(c.ids)
	raw, status := make([]byte, n*r.Size), make([]byte, n)
	out, errs = make([]int64, n), make([]error, n)
	if _, err := c.bus.SyncRead(r.Addr, r.Size, c.ids, raw, status, errs); err != nil {
		return nil, nil, err
	}
	for i := range out {
		out[i], _ = r.Value(raw[i*r.Size:])
	}
	return out, errs, nil
}

// Release takes the torque of each servo away, whatever the others answer: the arm drops.
// Whoever calls it has told a person so. All errors are joined.
func (c *Calibrator) Release() error {
	var errs []error
	for _, id := range c.ids {
		errs = append(errs, c.set(id, setting{c.fam.torque, 0}))
	}
	return errors.Join(errs...)
}

// SetOffset makes a servo take so many ticks from its encoder's from now on, for good. It
// is refused while the servo has torque (BUSY), and for an offset that doesn't fit
// (INVALID_ARGUMENT). The offset is read back, and its memory is locked again whatever
// happens.
func (c *Calibrator) SetOffset(id, offset int) error {
	if err := c.fam.offsetFits(offset); err != nil {
		return err
	}
	return c.keep(id, setting{c.fam.offset, c.fam.asOffset(int64(offset))})
}

// SetLimits makes a servo hold each goal within these ticks by itself, for good.
func (c *Calibrator) SetLimits(id, low, high int) error {
	if low < 0 || high >= Turn || low >= high {
		return robot.Errf(robot.CodeInvalidArgument, c.servo(byte(id)), "%d to %d ticks is no range within 0 to %d", low, high, Turn-1)
	}
	return errors.Join(c.keep(id, setting{c.fam.low, int64(low)}), c.keep(id, setting{c.fam.high, int64(high)}))
}

// SetID gives a servo another ID, for good. It is refused where another servo has that one
// already, or where two share the old one: both would get the new one.
func (c *Calibrator) SetID(ctx context.Context, from, to int) error {
	ids, err := c.fam.asIDs([]int{from, to})
	if err != nil {
		return err
	}
	if from == to {
		return robot.Errf(robot.CodeInvalidArgument, c.servo(ids[0]), "it has that ID")
	}
	found, err := c.bus.Scan(ctx, bus.ScanOptions{IDs: ids, Addr: c.fam.fast.addr, Count: c.fam.fast.count})
	if err != nil {
		return err
	}
	for _, f := range found {
		switch {
		case f.ID == ids[1]:
			return robot.Errf(robot.CodeInvalidArgument, c.servo(f.ID), "a servo has the ID %d already", to)
		case f.Shared:
			return robot.Errf(robot.CodeInvalidArgument, c.servo(f.ID), "two devices may share the ID %d, and both would get the new one: unplug all but one", from)
		}
	}
	if len(found) == 0 {
		return robot.Errf(robot.CodeDisconnected, c.servo(ids[0]), "no servo answers")
	}
	if err := c.unpowered(ids[0]); err != nil {
		return err
	}
	if err := c.unlock(ids[0]); err != nil {
		return errors.Join(err, c.lock(ids[0])) // it may be open all the same
	}
	_, err = c.bus.Write(ids[0], c.fam.id.Addr, []byte{ids[1]})
	if err != nil && !unsure(err) {
		return errors.Join(err, c.lock(ids[0]))
	}
	// Whoever acknowledged it, it is there by its new ID or it isn't.
	if _, err := c.bus.Ping(ids[1]); err != nil {
		return errors.Join(robot.Errf(robot.CodeUnknownOutcome, c.servo(ids[0]), "it doesn't answer by its new ID %d: switch its supply off and on, and scan: %w", to, err), c.lock(ids[0]))
	}
	if i := slices.Index(c.ids, ids[0]); i >= 0 {
		c.ids[i] = ids[1]
		slices.Sort(c.ids)
	}
	return c.lock(ids[1])
}

// Close gives the line back. A second one returns nil.
func (c *Calibrator) Close() error {
	p := c.port
	if p == nil {
		return nil
	}
	c.port = nil
	return p.Close()
}

func (c *Calibrator) servo(id byte) string { return fmt.Sprintf("servo %d", id) }

// unpowered refuses a servo that has torque.
func (c *Calibrator) unpowered(id byte) error {
	raw := make([]byte, c.fam.torque.Size)
	if _, err := c.bus.Read(id, c.fam.torque.Addr, raw); err != nil {
		return err
	}
	if v, _ := c.fam.torque.Value(raw); v != 0 {
		return robot.Errf(robot.CodeBusy, c.servo(id), "it has torque; release it first, with the arm supported")
	}
	return nil
}

// keep writes a register of a servo's EEPROM and reads it back.
func (c *Calibrator) keep(id int, s setting) error {
	ids, err := c.fam.asIDs([]int{id})
	if err != nil {
		return err
	}
	if err := c.unpowered(ids[0]); err != nil {
		return err
	}
	if err := c.unlock(ids[0]); err != nil {
		return errors.Join(err, c.lock(ids[0])) // it may be open all the same
	}
	return errors.Join(c.set(ids[0], s), c.lock(ids[0]))
}

func (c *Calibrator) unlock(id byte) error { return c.locked(id, 0) }
func (c *Calibrator) lock(id byte) error   { return c.locked(id, 1) }

func (c *Calibrator) locked(id byte, v int64) error {
	if c.fam.lock.Size == 0 {
		return nil
	}
	return c.set(id, setting{c.fam.lock, v})
}

// set writes a register once and reads it back.
func (c *Calibrator) set(id byte, s setting) error { return writeAndRead(c.bus, id, []setting{s}) }
