package hardware

import (
	"fmt"
	"math"
)

// A bus servo's encoder.
const (
	TicksPerTurn   = 4096
	TicksPerRadian = TicksPerTurn / (2 * math.Pi)
	lastTick       = TicksPerTurn - 1
)

// The bounds of what a file may say of bus servos. They are those of sense; what a servo
// really is is held against the file by the driver.
const (
	minVoltage, maxVoltage         = 3, 30   // V
	minTemperature, maxTemperature = 30, 100 // °C
	maxCurrent                     = 20      // A
)

// ticks reads what a bus servo may be sent at all, holds the range against it, and reads
// where its motions end.
func (p *parser) ticks(j *Joint, _ int, r *rawJoint, key func(string) string, unit string) error {
	for _, v := range []struct {
		name string
		said value
		into *float64
	}{{"tick_min", r.TickMin, &j.TickMin}, {"tick_max", r.TickMax, &j.TickMax}} {
		n, err := p.whole(key(v.name), v.said, 0, lastTick)
		if err != nil {
			return err
		}
		*v.into = float64(n)
	}
	if !(j.TickMin < j.TickMax) {
		return p.bad(key("tick_max"), "the range %g to %g holds no two ticks; one that crosses the encoder's seam needs another offset", j.TickMin, j.TickMax)
	}
	for _, end := range []struct {
		name string
		q    float64
	}{{"lower", j.Lower}, {"upper", j.Upper}} {
		if u := j.Units(end.q); u < j.TickMin || u > j.TickMax {
			return p.limit(key(end.name), u, min(max(u, j.TickMin), j.TickMax), "ticks",
				fmt.Sprintf("%g %s would be a tick that the servo may not be sent; narrow %s, or correct zero and scale", end.q, unit, end.name))
		}
	}
	if r.Offset.v != nil {
		n, ok := r.Offset.v.(int64)
		if !ok {
			return p.bad(key("offset"), "is %s; want an integer of ticks", kindOf(r.Offset.v))
		}
		if in := min(max(n, -p.driver.maxOffset), p.driver.maxOffset); in != n {
			return p.limit(key("offset"), float64(n), float64(in), "ticks", p.driver.whyOffset)
		}
		j.Offset = int(n)
	}
	if p.driver.bit == dynamixel {
		// Its ticks don't go round: the offset moves their ends, and the seam with them.
		low, high := math.Max(0, float64(-j.Offset)), math.Min(lastTick, float64(lastTick-j.Offset))
		if j.TickMin < low || j.TickMax > high {
			return p.bad(key("offset"), "with %d the servo counts from %g to %g within one turn, and the range is from %g to %g: calibrate again", j.Offset, low, high, j.TickMin, j.TickMax)
		}
	}
	return p.guards(j, r, key)
}

// guards reads where a bus servo's motion ends by itself.
func (p *parser) guards(j *Joint, r *rawJoint, key func(string) string) (err error) {
	j.TorqueLimit = 1
	if r.TorqueLimit.v != nil {
		if j.TorqueLimit, err = p.within(key("torque_limit"), r.TorqueLimit, 0, 1, ""); err != nil {
			return err
		}
		if j.TorqueLimit == 0 {
			return p.limit(key("torque_limit"), 0, 0, "", "must be above zero: a servo without torque holds nothing")
		}
	}
	if r.MaxTemperature.v != nil {
		if j.MaxTemperature, err = p.within(key("max_temperature"), r.MaxTemperature, minTemperature, maxTemperature, "°C"); err != nil {
			return err
		}
	}
	if r.MaxCurrent.v != nil {
		if j.MaxCurrent, err = p.above(key("max_current"), r.MaxCurrent, "A"); err != nil {
			return err
		}
		j.MaxCurrent, err = p.within(key("max_current"), r.MaxCurrent, 0, maxCurrent, "A")
	}
	return err
}

// voltages reads the supply of bus servos.
func (p *parser) voltages(f *File, raw *rawFile) (err error) {
	for _, v := range []struct {
		name string
		said value
		into *float64
	}{{"min_voltage", raw.MinVoltage, &f.MinVoltage}, {"max_voltage", raw.MaxVoltage, &f.MaxVoltage}} {
		if v.said.v == nil {
			continue
		}
		if *v.into, err = p.within(v.name, v.said, minVoltage, maxVoltage, "V"); err != nil {
			return err
		}
	}
	if f.MinVoltage > 0 && f.MaxVoltage > 0 && !(f.MinVoltage < f.MaxVoltage) {
		return p.bad("max_voltage", "the range %g to %g V holds no voltage", f.MinVoltage, f.MaxVoltage)
	}
	return nil
}

// within reads a number that has to be there and within bounds.
func (p *parser) within(key string, v value, lo, hi float64, unit string) (float64, error) {
	x, err := p.num(key, v, unit)
	if err != nil {
		return 0, err
	}
	if in := min(max(x, lo), hi); in != x {
		return 0, p.limit(key, x, in, unit, fmt.Sprintf("want %g to %g%s", lo, hi, inUnit(unit)))
	}
	return x, nil
}
