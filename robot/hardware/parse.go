package hardware

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/tau-robot/tau/robot"
)

// MaxBytes bounds a file.
const MaxBytes = 1 << 20

// rawFile is the file as TOML has it. Its values are of any type: that they are of the
// right one is checked where their keys are known.
type rawFile struct {
	Robot             value               `toml:"robot"`
	Driver            value               `toml:"driver"`
	Calibrated        value               `toml:"calibrated"`
	Baud              value               `toml:"baud"`
	RecalibrateDays   value               `toml:"recalibrate_after_days"`
	EStopPowersOff    value               `toml:"estop_powers_off"`
	LostLinkPowersOff value               `toml:"lost_link_powers_off"`
	MinVoltage        value               `toml:"min_voltage"`
	MaxVoltage        value               `toml:"max_voltage"`
	Adaptor           value               `toml:"adaptor"`
	Chips             map[string]rawChip  `toml:"chip"`
	Joints            map[string]rawJoint `toml:"joint"`
	Outputs           map[string]rawOut   `toml:"output"`
}

type rawJoint struct {
	Channel      value `toml:"channel"`
	Kind         value `toml:"kind"`
	Direction    value `toml:"direction"`
	Zero         value `toml:"zero"`
	Scale        value `toml:"scale"`
	Lower        value `toml:"lower"`
	Upper        value `toml:"upper"`
	Velocity     value `toml:"velocity"`
	Acceleration value `toml:"acceleration"`
	Jerk         value `toml:"jerk"`
	PulseMin     value `toml:"pulse_min"`
	PulseMax     value `toml:"pulse_max"`
	Feedback     value `toml:"feedback"`
	ADC          value `toml:"adc"`

	TickMin        value `toml:"tick_min"`
	TickMax        value `toml:"tick_max"`
	Offset         value `toml:"offset"`
	TorqueLimit    value `toml:"torque_limit"`
	MaxTemperature value `toml:"max_temperature"`
	MaxCurrent     value `toml:"max_current"`

	Via    value `toml:"via"`
	ADCPin value `toml:"adc_pin"`
}

type rawOut struct {
	Channel value `toml:"channel"`
	Scale   value `toml:"scale"`
	Via     value `toml:"via"`
	PWM     value `toml:"pwm"`
}

type rawChip struct {
	Kind      value `toml:"kind"`
	Bus       value `toml:"bus"`
	Address   value `toml:"address"`
	Frequency value `toml:"frequency"`
}

// value is a value of any type; the zero value is one that isn't there.
type value struct{ v any }

var _ toml.Unmarshaler = (*value)(nil)

// UnmarshalTOML keeps the value as it is.
func (v *value) UnmarshalTOML(x any) error {
	v.v = x
	return nil
}

// Parse reads a robot's file and checks it against the robot's model. name is for
// errors, now for the calibration's date. Errors are *robot.Error with
// INVALID_ARGUMENT; Where is the file with the line, as far as that is known.
func Parse(name string, data []byte, m *robot.Model, now time.Time) (*File, error) {
	p := &parser{name: name, m: m, now: now}
	if err := readable(name, data); err != nil {
		return nil, err
	}
	var raw rawFile
	meta, err := toml.NewDecoder(bytes.NewReader(data)).Decode(&raw)
	var bad toml.ParseError
	if errors.As(err, &bad) {
		return nil, robot.Errf(robot.CodeInvalidArgument, where(name, bad.Position.Line), "%s", bad.Message)
	}
	p.lines = findLines(data)
	if err := p.known(meta); err != nil {
		return nil, err
	}
	if err != nil { // known has found everything that can't be decoded
		return nil, robot.Errf(robot.CodeInvalidArgument, name, "%s", strings.TrimPrefix(err.Error(), "toml: "))
	}
	return p.file(&raw)
}

// known refuses the first key that isn't one of the file's, spelled exactly, and the
// first that isn't a table where one belongs.
func (p *parser) known(meta toml.MetaData) error {
	p.keys = meta.Keys()
	for _, k := range p.keys {
		name, group := strings.Join(k, "."), k[0] == "joint" || k[0] == "output" || k[0] == "chip"
		var of []string
		switch {
		case group && len(k) <= 2:
			if meta.Type(k...) != "Hash" {
				return p.bad(name, "isn't a table; want [%s.NAME]", k[0])
			}
			continue
		case len(k) == 1:
			of = namesOf(fileKeys)
		case len(k) == 3 && group:
			of = namesOf(keysOf(k[0]))
		}
		if !slices.Contains(of, k[len(k)-1]) {
			return p.bad(name, "is not a key of a robot's file%s", choose(of))
		}
	}
	return nil
}

func choose(of []string) string {
	if len(of) == 0 {
		return ""
	}
	return "; there is " + strings.Join(of, ", ")
}

// parser holds a file against a model.
type parser struct {
	name  string
	m     *robot.Model
	now   time.Time
	lines lines
	keys  []toml.Key // in the file's order

	driver   *driver
	computer bool               // the pins are a computer's own
	freq     map[string]float64 // Hz, of each chip by name
	taken    map[place]string   // the key that has a channel
	pins     map[int]string     // the key that has a converter's pin
}

func where(name string, line int) string {
	if line == 0 {
		return name
	}
	return name + ":" + strconv.Itoa(line)
}

// bad is an error about a key.
func (p *parser) bad(key, format string, args ...any) error {
	return robot.Errf(robot.CodeInvalidArgument, where(p.name, p.lines.of(key)), "%s: "+format, append([]any{key}, args...)...)
}

// limit is an error about a key whose value breaks a limit.
func (p *parser) limit(key string, v, limit float64, unit, text string) error {
	return robot.LimitErr(robot.CodeInvalidArgument, where(p.name, p.lines.of(key)), v, limit, unit, key+": "+text)
}

func kindOf(v any) string {
	switch x := v.(type) {
	case nil:
		return "missing"
	case bool:
		return fmt.Sprintf("%t, a boolean", x)
	case int64:
		return fmt.Sprintf("%d, an integer", x)
	case float64:
		return fmt.Sprintf("%g, a number", x)
	case string:
		return strconv.Quote(x) + ", a string"
	case time.Time:
		return "a time"
	case []any:
		return "a list"
	}
	return "a table"
}

// str reads a string that has to be there.
func (p *parser) str(key string, v value) (string, error) {
	s, ok := v.v.(string)
	if !ok || s == "" {
		return "", p.bad(key, "is %s; want a string", kindOf(v.v))
	}
	return s, nil
}

// oneOf reads a string that has to be one of some.
func (p *parser) oneOf(key string, v value, of ...string) (string, error) {
	s, ok := v.v.(string)
	if !ok || !slices.Contains(of, s) {
		return "", p.bad(key, "is %s; want %s", kindOf(v.v), strings.Join(of, " or "))
	}
	return s, nil
}

// flag reads a boolean; one that isn't there is false.
func (p *parser) flag(key string, v value) (bool, error) {
	if v.v == nil {
		return false, nil
	}
	b, ok := v.v.(bool)
	if !ok {
		return false, p.bad(key, "is %s; want true or false", kindOf(v.v))
	}
	return b, nil
}

// whole reads an integer within bounds that has to be there.
func (p *parser) whole(key string, v value, lo, hi int64) (int, error) {
	n, ok := v.v.(int64)
	if !ok {
		return 0, p.bad(key, "is %s; want an integer from %d to %d", kindOf(v.v), lo, hi)
	}
	if in := min(max(n, lo), hi); in != n {
		return 0, p.limit(key, float64(n), float64(in), "", fmt.Sprintf("want an integer from %d to %d", lo, hi))
	}
	return int(n), nil
}

// most bounds every number: what is computed from it stays exact enough for the wire.
const most = 1e6

// num reads a number that has to be there, finite and no larger than most.
func (p *parser) num(key string, v value, unit string) (float64, error) {
	x, err := number(v.v)
	switch {
	case err != nil:
		return 0, p.bad(key, "is %s; want a number%s", kindOf(v.v), inUnit(unit))
	case math.IsNaN(x) || math.IsInf(x, 0):
		return 0, p.bad(key, "is %g, which is no number that can be used; want a finite one%s", x, inUnit(unit))
	case math.Abs(x) > most:
		return 0, p.limit(key, x, math.Copysign(most, x), unit, "is out of any robot's range")
	}
	return x, nil
}

func inUnit(unit string) string {
	if unit == "" {
		return ""
	}
	return " in " + unit
}

func number(v any) (float64, error) {
	switch x := v.(type) {
	case int64:
		return float64(x), nil
	case float64:
		return x, nil
	}
	return 0, errors.New("is no number")
}

// above reads a number that has to be there and above zero.
func (p *parser) above(key string, v value, unit string) (float64, error) {
	x, err := p.num(key, v, unit)
	if err == nil && !(x > 0) {
		err = p.limit(key, x, 0, unit, "must be above zero")
	}
	return x, err
}

// extra refuses the first name of a table, in alphabetical order, that isn't one of
// some; why says what is wrong with it.
func extra[T any](all map[string]T, names []string, why func(name string) error) error {
	var left []string
	for n := range all {
		if !slices.Contains(names, n) {
			left = append(left, n)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return why(slices.Min(left))
}

// DriverOf reads which driver a file is for, and nothing else: a file of another driver
// than the one that was asked for has other keys, and that it is another is what is wrong
// with it. "" is a file that doesn't say, which Parse refuses.
func DriverOf(name string, data []byte) (string, error) {
	_, driver, err := head(name, data)
	return driver, err
}

// RobotOf reads which robot a file is of, in the same way.
func RobotOf(name string, data []byte) (string, error) {
	is, _, err := head(name, data)
	return is, err
}

func head(name string, data []byte) (is, driver string, err error) {
	if err := readable(name, data); err != nil {
		return "", "", err
	}
	var raw struct {
		Robot  value `toml:"robot"`
		Driver value `toml:"driver"`
	}
	_, err = toml.NewDecoder(bytes.NewReader(data)).Decode(&raw)
	var bad toml.ParseError
	if errors.As(err, &bad) {
		return "", "", robot.Errf(robot.CodeInvalidArgument, where(name, bad.Position.Line), "%s", bad.Message)
	}
	is, _ = raw.Robot.v.(string)
	driver, _ = raw.Driver.v.(string)
	return is, driver, nil
}
