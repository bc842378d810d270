package hardware

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Format writes a file as TOML that Parse reads as the same file, but for its name and the
// spelling: keys in a fixed order, limits spelled out, each with its unit. about is put at
// the head as a comment, line by line; "" is none. It checks nothing: whoever made the
// file parses what came out before anything goes by it.
func Format(f *File, about string) []byte {
	w := &writer{}
	if about != "" {
		for line := range strings.SplitSeq(strings.TrimRight(about, "\n"), "\n") {
			w.b.WriteString(strings.TrimRight("# "+comment(line), " ") + "\n")
		}
	}
	w.str("robot", f.Robot)
	w.str("driver", f.Driver)
	if f.Adaptor != "" {
		w.str("adaptor", f.Adaptor)
	}
	w.line("calibrated", f.Calibrated.Format(time.DateOnly), "")
	w.line("recalibrate_after_days", strconv.Itoa(int(f.Valid/day)), "")
	if f.Baud != 0 {
		w.line("baud", strconv.Itoa(f.Baud), "")
	}
	w.line("estop_powers_off", strconv.FormatBool(f.EStopPowersOff), "")
	w.line("lost_link_powers_off", strconv.FormatBool(f.LostLinkPowersOff), "")
	w.some("min_voltage", f.MinVoltage, "V")
	w.some("max_voltage", f.MaxVoltage, "V")
	for i := range f.Chips {
		w.chip(&f.Chips[i])
	}
	for i := range f.Joints {
		w.joint(&f.Joints[i], driverOf(f.Driver).bit)
	}
	for i := range f.Outputs {
		w.output(&f.Outputs[i])
	}
	return w.b.Bytes()
}

type writer struct{ b bytes.Buffer }

func (w *writer) chip(c *Chip) {
	w.table("chip", c.Name)
	w.str("kind", c.Kind)
	w.line("bus", strconv.Itoa(c.Bus), "")
	w.line("address", fmt.Sprintf("%#x", c.Address), "")
	w.num("frequency", c.Frequency, "Hz")
}

func (w *writer) joint(j *Joint, of drivers) {
	unit := j.Kind.Unit()
	w.table("joint", j.Name)
	w.channel(j.Via, j.Channel, of)
	w.str("kind", string(j.Kind))
	w.num("direction", j.Direction, "")
	w.num("zero", j.Zero, unit+" at position 0")
	w.num("scale", j.Scale, unit+" per rad or m")
	w.num("lower", j.Lower, "rad or m")
	w.num("upper", j.Upper, "")
	for _, v := range []struct {
		name string
		v    float64
	}{{"velocity", j.Velocity}, {"acceleration", j.Acceleration}, {"jerk", j.Jerk}} {
		if v.v != 0 && !slices.Contains(j.assumed, v.name) {
			w.num(v.name, v.v, "")
		}
	}
	switch j.Kind {
	case Servo:
		w.num("pulse_min", j.PulseMin, "µs")
		w.num("pulse_max", j.PulseMax, "")
	case BusServo:
		w.line("tick_min", strconv.Itoa(int(j.TickMin)), "")
		w.line("tick_max", strconv.Itoa(int(j.TickMax)), "")
		w.line("offset", strconv.Itoa(j.Offset), "ticks, as the servo's memory has it")
		w.num("torque_limit", j.TorqueLimit, "")
		w.some("max_temperature", j.MaxTemperature, "°C")
		w.some("max_current", j.MaxCurrent, "A")
	}
	w.str("feedback", string(j.Feedback))
	if j.Feedback != ADC {
		return
	}
	if of == gobot {
		w.line("adc_pin", strconv.Itoa(j.ADCPin), "")
	}
	rows := make([]string, len(j.Points))
	for i, p := range j.Points {
		rows[i] = "[" + number64(p.Position) + ", " + number64(p.Counts) + "]"
	}
	w.line("adc", "["+strings.Join(rows, ", ")+"]", "")
}

func (w *writer) output(o *Output) {
	w.table("output", o.Actuator)
	w.channel(o.Via, o.Channel, 0)
	w.num("scale", o.Scale, "")
	if o.PWM {
		w.line("pwm", "true", "")
	}
}

func (w *writer) channel(via string, n int, of drivers) {
	if via != "" {
		w.str("via", via)
	}
	what := ""
	if of&bus != 0 {
		what = "the servo's ID"
	}
	w.line("channel", strconv.Itoa(n), what)
}

func (w *writer) table(group, name string) {
	w.b.WriteString("\n[" + group + "." + bare(name) + "]\n")
}

func (w *writer) line(key, v, comment string) {
	w.b.WriteString(key + " = " + v)
	if comment != "" {
		w.b.WriteString(" # " + comment)
	}
	w.b.WriteByte('\n')
}

func (w *writer) str(key, v string) { w.line(key, quote(v), "") }

func (w *writer) num(key string, v float64, comment string) { w.line(key, number64(v), comment) }

// some writes a number where there is one.
func (w *writer) some(key string, v float64, comment string) {
	if v != 0 {
		w.num(key, v, comment)
	}
}

// number64 spells a number so that reading it gives the same one. A whole one is an
// integer of TOML, which a number may be.
func number64(v float64) string {
	s := strconv.FormatFloat(v, 'g', -1, 64)
	if s == "-0" {
		return "0"
	}
	return s
}

// bare spells a name as a key, without quotes where it needs none.
func bare(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
	}
	if s == "" || strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return quote(s)
	}
	return s
}

// quote spells a text as a basic string of TOML, which has fewer escapes than Go.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case !strconv.IsPrint(r):
			fmt.Fprintf(&b, "\\U%08X", r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// comment takes out of a text what would end a comment, or a person's terminal.
func comment(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}
