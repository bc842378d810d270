package feetech

import (
	"context"
	"errors"
	"slices"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/robot"
)

// Device is a servo as it says of itself.
type Device struct {
	ID   int
	Baud int // bit/s, at which it answers
	// Shared: two devices may have the ID. What follows is then of one of them, or nothing.
	Shared bool
	// Model is its name, Number what its register says. Known: this driver moves such servos.
	Model    string
	Number   uint16
	Known    bool
	Firmware string
	Offset   int // ticks that it takes from its encoder's, as hardware.Joint.Offset
	Low      int // ticks: the bounds that it holds a goal within
	High     int
	// Ticks, Voltage (V), Temperature (°C) and Powered are as they were just now.
	Ticks                int
	Voltage, Temperature float64
	Powered              bool
	// Trouble is why this driver refuses to move it as it is; "" if nothing is.
	Trouble string
}

// ScanOptions say where to look for servos.
type ScanOptions struct {
	Driver string // "feetech" or "dynamixel"
	Port   string // a serial device; only a name for errors with a DialAt
	DialAt func(ctx context.Context, baud int) (Port, error)
	// Bauds are the speeds to look at, bit/s, in turn; the first at which a servo answers
	// ends the search. nil: all that such servos can be set to.
	Bauds []int
	// IDs are those to look for. nil: 0 to 31, among which all arms are that come as a
	// kit; each takes 26 ms a speed where nobody has it.
	IDs []int
	// All looks for each ID that such a servo can have, in place of IDs: seconds a speed.
	All bool
}

const lastScanned = 31

// Scan looks for servos. It only reads, and ends with ctx (CANCELLED). Finding none is no
// error.
func Scan(ctx context.Context, o ScanOptions) ([]Device, error) {
	fam, ok := familyOf(o.Driver)
	if !ok {
		return nil, robot.Errf(robot.CodeInvalidArgument, "driver", "%q is no driver of servo buses; there are feetech and dynamixel", o.Driver)
	}
	ids, err := fam.asIDs(o.IDs)
	if err != nil {
		return nil, err
	}
	if o.All {
		o.IDs, ids = nil, nil
		for id := range fam.lastID + 1 {
			ids = append(ids, byte(id))
		}
	}
	if o.Bauds == nil {
		o.Bauds = fam.bauds
	}
	if o.DialAt == nil {
		o.DialAt = newSerial(o.Port, 0).dialAt
	}
	for _, baud := range o.Bauds {
		found, err := scanAt(ctx, &o, fam, baud, ids)
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
	return nil, nil
}

// asIDs turns IDs into bytes, or says which is none.
func (f *family) asIDs(ids []int) ([]byte, error) {
	var out []byte
	if ids == nil {
		for id := range lastScanned + 1 {
			out = append(out, byte(id))
		}
	}
	for _, id := range ids {
		if id < 0 || id > f.lastID {
			return nil, robot.LimitErr(robot.CodeInvalidArgument, "id", float64(id), float64(max(0, min(f.lastID, id))), "", "no servo has this ID")
		}
		out = append(out, byte(id))
	}
	return out, nil
}

func scanAt(ctx context.Context, o *ScanOptions, fam *family, baud int, ids []byte) (out []Device, err error) {
	p, err := o.DialAt(ctx, baud)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	b, err := bus.New(p, fam.codec(), bus.Options{Name: "port " + o.Port, Baud: baud, KeptBelow: fam.kept})
	if err != nil {
		return nil, err
	}
	return fam.devices(ctx, b, baud, ids, o.IDs != nil)
}

// ask scans for IDs. Of those that are named, and have to be there, one that doesn't answer
// is asked again: a computer that is busy, or a line with noise, loses an answer now and then.
func (f *family) ask(ctx context.Context, b *bus.Bus, ids []byte, named bool) ([]bus.Found, error) {
	o := bus.ScanOptions{IDs: ids, Addr: f.fast.addr, Count: f.fast.count}
	found, err := b.Scan(ctx, o)
	if err != nil || !named {
		return found, err
	}
	for _, id := range ids {
		if slices.ContainsFunc(found, func(one bus.Found) bool { return one.ID == id }) {
			continue
		}
		_, err := b.Ping(id)
		switch {
		case unsure(err):
			continue
		case err != nil:
			return found, err
		}
		o.IDs = []byte{id}
		again, err := b.Scan(ctx, o)
		if err != nil {
			return found, err
		}
		if len(again) == 0 {
			again = []bus.Found{{ID: id, Asked: 1, Good: 1}}
		}
		found = append(found, again...)
	}
	slices.SortFunc(found, func(a, b bus.Found) int { return int(a.ID) - int(b.ID) })
	return found, nil
}

// devices are those of a line, of some IDs; named: they have to be there.
func (f *family) devices(ctx context.Context, b *bus.Bus, baud int, ids []byte, named bool) ([]Device, error) {
	found, err := f.ask(ctx, b, ids, named)
	if err != nil {
		return nil, err
	}
	var out []Device
	for _, one := range found {
		d := Device{ID: int(one.ID), Baud: baud, Shared: one.Shared}
		if err := f.describe(b, &d); err != nil && !d.Shared {
			if !unsure(err) {
				return out, err
			}
			d.Trouble = err.Error()
		}
		if d.Shared {
			d.Trouble = "two devices may share this ID: unplug one of them, and give the other another ID"
		}
		out = append(out, d)
	}
	return out, nil
}

// describe reads what a servo says of itself.
func (f *family) describe(b *bus.Bus, d *Device) error {
	id := byte(d.ID)
	raw := make([]byte, f.setup.count)
	if _, err := b.Read(id, f.setup.addr, raw); err != nil {
		return err
	}
	s := f.readSetup(raw)
	d.Number, d.Firmware, d.Offset, d.Low, d.High = s.model, s.firmware, s.offset, s.low, s.high
	d.Model, d.Known = f.modelName(s.model)
	d.Trouble = f.trouble(&s)
	if !d.Known {
		return nil // its other registers mean something else
	}
	var m measured
	raw = make([]byte, f.fast.count)
	if _, err := b.Read(id, f.fast.addr, raw); err != nil {
		return err
	}
	f.readFast(raw, &s, &m)
	if f.slow.count > 0 {
		raw = make([]byte, f.slow.count)
		if _, err := b.Read(id, f.slow.addr, raw); err != nil {
			return err
		}
		f.readSlow(raw, &s, &m)
	}
	d.Ticks, d.Voltage, d.Temperature, d.Powered = m.ticks, m.voltage, m.temperature, m.powered
	return nil
}
