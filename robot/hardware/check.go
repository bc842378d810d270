package hardware

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tau-robot/tau/robot"
)

// The bounds of what a file may say.
const (
	MaxChannel = 254  // of a board; it says itself how many it has
	MaxCounts  = 1023 // of a board's converter
	maxPoints  = 64   // of an ADC's table
	// leastCounts is how many counts a joint's range has at least, by the steepness of
	// each stretch of its table: with fewer every bound on what is measured is empty.
	leastCounts = 64
	minPulse    = 200  // µs; outside of these a figure is a slip or in another unit
	maxPulse    = 3000 // µs

	defaultValidDays, maxValidDays = 365, 3650

	// wider is by how much, as a part of the limit, a file may be wider than the
	// description before that is an error: two decimal spellings of one number. The
	// narrower one counts either way.
	wider = 1e-9
)

// file checks the whole of it.
func (p *parser) file(raw *rawFile) (*File, error) {
	f := &File{Name: p.name}
	for _, step := range []func(*File, *rawFile) error{p.head, p.chips, p.joints, p.outputs} {
		if err := step(f, raw); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (p *parser) head(f *File, raw *rawFile) (err error) {
	if f.Robot, err = p.str("robot", raw.Robot); err != nil {
		return err
	}
	if f.Robot != p.m.Name {
		return p.bad("robot", "is %q, but the description is of %q", f.Robot, p.m.Name)
	}
	if b := p.m.Base; b != nil {
		return p.bad("robot", "%q has wheels, and no driver moves a base yet", f.Robot)
	}
	if f.Driver, err = p.str("driver", raw.Driver); err != nil {
		return err
	}
	p.driver = driverOf(f.Driver)
	if err := p.foreign(); err != nil {
		return err
	}
	for _, step := range []func(*File, *rawFile) error{p.calibration, p.adaptor, p.voltages} {
		if err := step(f, raw); err != nil {
			return err
		}
	}
	if f.Baud, err = p.baud(f, raw.Baud); err != nil {
		return err
	}
	if f.EStopPowersOff, err = p.flag("estop_powers_off", raw.EStopPowersOff); err != nil {
		return err
	}
	f.LostLinkPowersOff, err = p.flag("lost_link_powers_off", raw.LostLinkPowersOff)
	if err == nil && f.LostLinkPowersOff && p.driver.bit != mcu {
		return p.bad("lost_link_powers_off", "is true, and nothing in this hardware takes the power away when the bridge is gone; set it to false")
	}
	return err
}

// baud reads the speed of the serial line, which a computer's own pins have none of.
func (p *parser) baud(f *File, v value) (int, error) {
	const key = "baud"
	if f.Adaptor == AdaptorRaspi {
		if v.v != nil {
			return 0, p.bad(key, "is a serial line's, and %q are this computer's own pins", AdaptorRaspi)
		}
		return 0, nil
	}
	bauds := p.driver.bauds
	if v.v == nil {
		return bauds[0], nil
	}
	n, ok := v.v.(int64)
	if !ok {
		return 0, p.bad(key, "is %s; want an integer", kindOf(v.v))
	}
	if !slices.Contains(bauds, int(n)) {
		return 0, p.limit(key, float64(n), float64(bauds[0]), "bit/s", fmt.Sprintf("want one of %v", bauds))
	}
	return int(n), nil
}

// calibration reads when it was made and how long it counts as fresh.
func (p *parser) calibration(f *File, raw *rawFile) error {
	const key = "calibrated"
	t, ok := raw.Calibrated.v.(time.Time)
	// TOML's parser marks a date without a time by the name of its zone.
	if !ok || t.Location().String() != "date-local" {
		return p.bad(key, "is %s; want the day on which it was calibrated, as in %s", kindOf(raw.Calibrated.v), p.now.Format(time.DateOnly))
	}
	f.Calibrated = today(t)
	if f.Calibrated.After(today(p.now)) {
		return p.bad(key, "%s is in the future; today is %s", f.Calibrated.Format(time.DateOnly), p.now.Format(time.DateOnly))
	}
	days := defaultValidDays
	if raw.RecalibrateDays.v != nil {
		var err error
		if days, err = p.whole("recalibrate_after_days", raw.RecalibrateDays, 1, maxValidDays); err != nil {
			return err
		}
	}
	f.Valid = time.Duration(days) * day
	return nil
}

// place is where a channel is: on the board, or on one of its chips.
type place struct {
	chip string // "": the board itself
	n    int
}

// channel reads a channel that nothing else has, of the board or of the chip via.
func (p *parser) channel(key string, v value, via string) (int, error) {
	lo, hi := p.driver.lowest, p.driver.highest
	if via != "" {
		lo, hi = 0, chipChannels-1
	}
	n, err := p.whole(key, v, lo, hi)
	if err != nil {
		return 0, err
	}
	at := place{via, n}
	if by, twice := p.taken[at]; twice {
		return 0, p.bad(key, "%s %d is that of %s already", p.driver.channel, n, by)
	}
	if p.taken == nil {
		p.taken = map[place]string{}
	}
	p.taken[at] = strings.TrimSuffix(key, ".channel")
	return n, nil
}

func (p *parser) joints(f *File, raw *rawFile) error {
	names := p.m.JointNames()
	err := extra(raw.Joints, names, func(n string) error {
		key := "joint." + n
		i := p.m.JointIndex(n)
		switch {
		case i < 0:
			return p.bad(key, "%s has no joint %q; it has %s", p.m.Name, n, strings.Join(names, ", "))
		case p.m.Joints[i].Mimic != nil:
			return p.bad(key, "the joint follows %q and has no channel of its own", p.m.Joints[p.m.Joints[i].Mimic.Joint].Name)
		}
		return p.bad(key, "a fixed joint has no channel")
	})
	if err != nil {
		return err
	}
	f.Joints = make([]Joint, len(names))
	for i, n := range names {
		r, ok := raw.Joints[n]
		if !ok {
			return robot.Errf(robot.CodeInvalidArgument, p.name, "joint.%s is missing: each joint that can be moved has a channel", n)
		}
		if f.Joints[i], err = p.joint(i, n, &r); err != nil {
			return err
		}
	}
	return nil
}

// joint reads active joint i.
func (p *parser) joint(i int, name string, r *rawJoint) (Joint, error) {
	j := Joint{Name: name}
	key := func(k string) string { return "joint." + name + "." + k }
	unit := p.m.Joints[p.m.Active[i]].Type.Unit()
	var err error
	if j.Via, err = p.via(key("via"), r.Via); err != nil {
		return j, err
	}
	if j.Channel, err = p.channel(key("channel"), r.Channel, j.Via); err != nil {
		return j, err
	}
	kind, err := p.oneOf(key("kind"), r.Kind, p.driver.kinds...)
	if err != nil {
		return j, err
	}
	j.Kind = Kind(kind)
	switch n, _ := number(r.Direction.v); n {
	case 1, -1:
		j.Direction = n
	default:
		return j, p.bad(key("direction"), "is %s; want 1 or -1", kindOf(r.Direction.v))
	}
	if j.Zero, err = p.num(key("zero"), r.Zero, j.Kind.Unit()); err != nil {
		return j, err
	}
	if j.Scale, err = p.scale(&j, key("scale"), r.Scale, unit); err != nil {
		return j, err
	}
	for _, step := range []func(*Joint, int, *rawJoint, func(string) string, string) error{p.span, p.rates, p.moved, p.feedback} {
		if err := step(&j, i, r, key, unit); err != nil {
			return j, err
		}
	}
	return j, nil
}

// scale reads a joint's scale, which a bus servo on a joint that turns has by itself.
func (p *parser) scale(j *Joint, key string, v value, unit string) (float64, error) {
	if v.v == nil && j.Kind == BusServo && unit == "rad" {
		return TicksPerRadian, nil
	}
	return p.above(key, v, j.Kind.Unit()+" per "+unit)
}

// moved reads what belongs to the kind of what drives the joint.
func (p *parser) moved(j *Joint, i int, r *rawJoint, key func(string) string, unit string) error {
	switch j.Kind {
	case BusServo:
		return p.ticks(j, i, r, key, unit)
	case Stepper:
		return p.steps(j, i, r, key, unit)
	}
	return p.pulses(j, i, r, key, unit)
}

// span reads the limits of position, which are no wider than the description's.
func (p *parser) span(j *Joint, i int, r *rawJoint, key func(string) string, unit string) error {
	l := p.m.Limits[i]
	for _, side := range []struct {
		name string
		said value
		into *float64
		may  float64
		sign float64 // of a wider one
	}{{"lower", r.Lower, &j.Lower, l.Lower, -1}, {"upper", r.Upper, &j.Upper, l.Upper, 1}} {
		if side.said.v == nil {
			if !l.Bounded {
				return p.bad(key(side.name), "is missing, and the description bounds the joint by nothing")
			}
			*side.into = side.may
			continue
		}
		v, err := p.num(key(side.name), side.said, unit)
		if err != nil {
			return err
		}
		*side.into = v
		if over := side.sign * (v - side.may); l.Bounded && over > 0 {
			if over > wider*math.Max(1, math.Abs(side.may)) {
				return p.limit(key(side.name), v, side.may, unit, "is wider than the description's limit; a robot's file may only tighten")
			}
			*side.into = side.may
		}
	}
	if !(j.Lower < j.Upper) {
		return p.bad(key("upper"), "the range %g to %g %s holds no two positions", j.Lower, j.Upper, unit)
	}
	return nil
}

// rates reads velocity, acceleration and jerk, no wider than the description's where
// that gives them.
func (p *parser) rates(j *Joint, i int, r *rawJoint, key func(string) string, unit string) error {
	l := p.m.Limits[i]
	for _, v := range []struct {
		name, unit string
		said       value
		into       *float64
		may        float64
		ramp       float64 // s: what is assumed is the one before it by this
		of         *float64
	}{
		{"velocity", unit + "/s", r.Velocity, &j.Velocity, l.Velocity, 0, nil},
		{"acceleration", unit + "/s²", r.Acceleration, &j.Acceleration, l.Acceleration, assumedRampTime, &j.Velocity},
		{"jerk", unit + "/s³", r.Jerk, &j.Jerk, l.Jerk, assumedJerkTime, &j.Acceleration},
	} {
		assumed := slices.Contains(l.Assumed, v.name)
		if v.said.v == nil {
			*v.into = v.may
			if assumed {
				*v.into = math.Min(v.may, *v.of/v.ramp)
				j.assumed = append(j.assumed, v.name)
			}
			continue
		}
		x, err := p.above(key(v.name), v.said, v.unit)
		if err != nil {
			return err
		}
		if !assumed && v.may > 0 && x > v.may {
			if x > v.may*(1+wider) {
				return p.limit(key(v.name), x, v.may, v.unit, "is wider than the description's limit; a robot's file may only tighten")
			}
			x = v.may
		}
		*v.into = x
	}
	if !(j.Velocity > 0) {
		return p.bad(key("velocity"), "is missing, and the description gives none")
	}
	return nil
}

// What is assumed where nothing gives an acceleration or a jerk: as for every robot.
const (
	assumedRampTime = 1.0 // s
	assumedJerkTime = 0.1 // s
)

// steps refuses what a stepper has none of, and one that never knows where it is.
func (p *parser) steps(_ *Joint, i int, r *rawJoint, key func(string) string, _ string) error {
	for _, v := range []struct {
		name string
		said value
	}{{"pulse_min", r.PulseMin}, {"pulse_max", r.PulseMax}} {
		if v.said.v != nil {
			return p.bad(key(v.name), "is a servo's, and the joint has a stepper")
		}
	}
	if p.m.Reference(i) == nil {
		return p.bad(key("kind"), "a stepper doesn't know where it is when it is switched on, and the description has no reference switch for this joint (actuators.yaml, references)")
	}
	return nil
}

// pulses reads what a servo may be sent at all, and holds the range against it.
func (p *parser) pulses(j *Joint, _ int, r *rawJoint, key func(string) string, _ string) error {
	var err error
	for _, v := range []struct {
		name string
		said value
		into *float64
	}{{"pulse_min", r.PulseMin, &j.PulseMin}, {"pulse_max", r.PulseMax, &j.PulseMax}} {
		if *v.into, err = p.num(key(v.name), v.said, "µs"); err != nil {
			return err
		}
		if in := min(max(*v.into, minPulse), maxPulse); in != *v.into {
			return p.limit(key(v.name), *v.into, in, "µs", fmt.Sprintf("a servo's pulses are from %d to %d µs", minPulse, maxPulse))
		}
	}
	if !(j.PulseMin < j.PulseMax) {
		return p.bad(key("pulse_max"), "the range %g to %g µs holds no two pulses", j.PulseMin, j.PulseMax)
	}
	if most := p.longest(j.Via); j.PulseMax > most {
		return p.limit(key("pulse_max"), j.PulseMax, most, "µs", "is longer than the time between two pulses of the chip "+strconv.Quote(j.Via))
	}
	for _, end := range []struct {
		name string
		q    float64
	}{{"lower", j.Lower}, {"upper", j.Upper}} {
		if u := j.Units(end.q); u < j.PulseMin || u > j.PulseMax {
			return p.limit(key(end.name), u, min(max(u, j.PulseMin), j.PulseMax), "µs",
				fmt.Sprintf("%g would be a pulse that the servo may not be sent; narrow %s, or correct zero and scale", end.q, end.name))
		}
	}
	return nil
}

// feedback reads how the joint is measured.
func (p *parser) feedback(j *Joint, _ int, r *rawJoint, key func(string) string, unit string) error {
	may := []string{string(None), string(ADC)}
	switch j.Kind {
	case Stepper:
		may = []string{string(Steps)}
	case BusServo:
		may = []string{string(Encoder)}
	}
	s, err := p.oneOf(key("feedback"), r.Feedback, may...)
	if err != nil {
		return err
	}
	j.Feedback = Feedback(s)
	if j.Feedback != ADC {
		for _, v := range []struct {
			name string
			said value
		}{{"adc", r.ADC}, {"adc_pin", r.ADCPin}} {
			if v.said.v != nil {
				return p.bad(key(v.name), `goes with feedback = "adc"`)
			}
		}
		return nil
	}
	if err := p.adcPin(j, key, r.ADCPin); err != nil {
		return err
	}
	return p.points(j, key("adc"), r.ADC, unit)
}

// points reads the table of a measured voltage.
func (p *parser) points(j *Joint, key string, v value, unit string) error {
	rows, ok := v.v.([]any)
	if !ok || len(rows) < 2 || len(rows) > maxPoints {
		return p.bad(key, "is %s; want 2 to %d pairs [position in %s, counts]", kindOf(v.v), maxPoints, unit)
	}
	for i, row := range rows {
		at := fmt.Sprintf("%s[%d]", key, i)
		pair, ok := row.([]any)
		if !ok || len(pair) != 2 {
			return p.bad(at, "is %s; want a pair [position in %s, counts]", kindOf(row), unit)
		}
		q, err := p.num(at, value{pair[0]}, unit)
		if err != nil {
			return err
		}
		c, err := p.num(at, value{pair[1]}, "counts")
		if err != nil {
			return err
		}
		if in := min(max(c, 0), MaxCounts); in != c {
			return p.limit(at, c, in, "counts", "the board's converter doesn't count so")
		}
		j.Points = append(j.Points, Point{q, c})
	}
	rising := j.Points[1].Counts > j.Points[0].Counts
	for i := 1; i < len(j.Points); i++ {
		a, b := j.Points[i-1], j.Points[i]
		if !(b.Position > a.Position) || b.Counts == a.Counts || (b.Counts > a.Counts) != rising {
			return p.bad(fmt.Sprintf("%s[%d]", key, i), "positions have to rise, and counts either rise or fall throughout")
		}
		if one, may := (b.Position-a.Position)/math.Abs(b.Counts-a.Counts), (j.Upper-j.Lower)/leastCounts; one > may {
			return p.limit(fmt.Sprintf("%s[%d]", key, i), one, may, unit,
				fmt.Sprintf("one count is more than 1/%d of the joint's range: that measures nothing; check the wiring and the table", leastCounts))
		}
	}
	if a, b := j.Points[0].Position, j.Points[len(j.Points)-1].Position; a > j.Lower || b < j.Upper {
		return p.bad(key, "reaches from %g to %g %s, and the joint may go from %g to %g %s: measure to both ends", a, b, unit, j.Lower, j.Upper, unit)
	}
	return nil
}
