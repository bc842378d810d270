package gobot

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

const (
	// leastMicroseconds is where StandardFirmata begins to read a servo's value as µs;
	// below it is degrees (Arduino's Servo library, MIN_PULSE_WIDTH).
	leastMicroseconds = 544
	// Servo.attach keeps its limits as a signed byte of 4 µs steps from 544 and 2400 µs:
	// what lies further away wraps around.
	configStep           = 4
	leastMin, mostMin    = 544 - 127*configStep, 544 + 127*configStep
	leastMax, mostMax    = 2400 - 127*configStep, 2400 + 127*configStep
	maxDuty              = 255
	mostAnalogMessagePin = 15
)

// firmata is a rig of an Arduino with StandardFirmata.
type firmata struct {
	*board
	rules   *rules
	chips   map[string]*chip
	servos  []servo
	outputs []output
}

// firmataRules are what may be sent to the board of a file. It refuses what a stock
// board can't do.
func firmataRules(f *hardware.File, chips map[string]*chip) (*rules, error) {
	r := &rules{servos: map[int]span{}, digital: map[int]bool{}, duty: map[int]bool{}, inputs: map[int]bool{}, chips: map[int]*chip{}}
	for _, c := range chips {
		if c.hw.Bus != 0 {
			return nil, robot.LimitErr(robot.CodeInvalidArgument, c.hw.Name, float64(c.hw.Bus), 0, "", "a board with Firmata has one I2C bus, 0")
		}
		r.chips[c.hw.Address] = c
	}
	for i := range f.Joints {
		j := &f.Joints[i]
		if j.Feedback == hardware.ADC {
			r.inputs[j.ADCPin] = true
		}
		if j.Via != "" {
			continue
		}
		least, most := reach(j)
		if least < leastMicroseconds {
			return nil, robot.LimitErr(robot.CodeInvalidArgument, j.Name, least, leastMicroseconds, "µs",
				"StandardFirmata takes a shorter pulse for an angle in degrees; narrow the joint's limits, or correct zero and scale")
		}
		r.servos[j.Channel] = span{least: math.Floor(least), most: math.Ceil(most), config: config(j)}
	}
	for i := range f.Outputs {
		switch o := &f.Outputs[i]; {
		case o.Via != "":
		case o.PWM:
			r.duty[o.Channel] = true
		default:
			r.digital[o.Channel] = true
		}
	}
	return r, nil
}

// config are the shortest and the longest pulse that the board itself is told to keep to:
// the file's, as near as the board can keep them, and never narrower.
func config(j *hardware.Joint) [2]int {
	lo, hi := int(math.Floor(j.PulseMin)), int(math.Ceil(j.PulseMax))
	lo -= ((lo-544)%configStep + configStep) % configStep
	hi += ((2400-hi)%configStep + configStep) % configStep
	return [2]int{min(max(lo, leastMin), mostMin), min(max(hi, leastMax), mostMax)}
}

// connectFirmata greets the board on p and holds the file against it. After an error p
// is closed.
func connectFirmata(ctx context.Context, p Port, f *hardware.File, asked *hellos, log *slog.Logger) (_ *firmata, err error) {
	chips, err := newChips(f)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	r, err := firmataRules(f, chips)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	b := newBoard(p, r.judge, log)
	b.hellos = asked
	if err := b.connect(ctx); err != nil {
		return nil, err
	}
	a := &firmata{board: b, rules: r, chips: chips}
	for _, c := range chips {
		c.bus = a
	}
	defer func() {
		if err != nil {
			_ = a.Close()
		}
	}()
	if err := a.wire(f); err != nil {
		return nil, err
	}
	if err := a.prepare(ctx); err != nil {
		return nil, err
	}
	if err := a.recall(ctx); err != nil {
		return nil, err
	}
	for _, name := range sorted(chips) {
		if err := chips[name].find(ctx); err != nil {
			return nil, err
		}
	}
	log.Info("a board with Firmata", "firmware", b.firmware, "protocol", b.c.ProtocolVersion, "pins", len(b.pins))
	return a, nil
}

// wire holds each joint and output of the file against what the board's pins can do.
func (a *firmata) wire(f *hardware.File) error {
	pins := claims{}
	check := func(what string, n, mode int, can string) error {
		if n < 0 || n >= len(a.pins) {
			return robot.LimitErr(robot.CodeInvalidArgument, what, float64(n), float64(len(a.pins)-1), "", "the board has no such pin")
		}
		if !a.pins[n].can(mode) {
			return robot.Errf(robot.CodeInvalidArgument, what, "pin %d can't %s; these can: %s", n, can, a.which(mode))
		}
		return pins.claim(n, what, what)
	}
	if len(f.Chips) > 0 {
		if err := a.claimI2C(pins, f.Chips[0].Name); err != nil {
			return err
		}
	}
	for i := range f.Joints {
		j := &f.Joints[i]
		if j.Feedback == hardware.ADC {
			n, ok := a.channels[j.ADCPin]
			if !ok {
				return robot.Errf(robot.CodeInvalidArgument, j.Name, "the board has no analogue input %d; it has %d", j.ADCPin, len(a.channels))
			}
			if err := pins.claim(n, j.Name, fmt.Sprintf("the feedback of %s (A%d)", j.Name, j.ADCPin)); err != nil {
				return err
			}
		}
		if j.Via != "" {
			a.servos = append(a.servos, &chipServo{a.chips[j.Via], j.Channel, j.Name})
			continue
		}
		if err := check(j.Name, j.Channel, modeServo, "drive a servo"); err != nil {
			return err
		}
		a.servos = append(a.servos, &pinServo{a, j.Channel, j.Name})
	}
	for i := range f.Outputs {
		o := &f.Outputs[i]
		switch {
		case o.Via != "":
			a.outputs = append(a.outputs, &chipOutput{chipServo{a.chips[o.Via], o.Channel, o.Actuator}})
			continue
		case o.PWM:
			if err := check(o.Actuator, o.Channel, modePWM, "do PWM"); err != nil {
				return err
			}
			if timer := servoTimer(len(a.pins), len(a.rules.servos)); slices.Contains(timer, o.Channel) {
				return robot.Errf(robot.CodeInvalidArgument, o.Actuator, "the PWM of pin %d is made by the timer that makes the servos' pulses, and would stretch them; use another pin with PWM, or put the servos at a PCA9685 (via)", o.Channel)
			}
			a.outputs = append(a.outputs, &dutyOutput{a, o.Channel, o.Actuator})
		default:
			if err := check(o.Actuator, o.Channel, modeOutput, "be switched"); err != nil {
				return err
			}
			a.outputs = append(a.outputs, &digitalOutput{a, o.Channel, o.Actuator})
		}
	}
	return nil
}

// claims are the pins that are in use, and by what: the board and the library both mix up
// two things at one pin.
type claims map[int]string

func (c claims) claim(n int, where, what string) error {
	if by, twice := c[n]; twice {
		return robot.Errf(robot.CodeInvalidArgument, where, "pin %d is that of %s already", n, by)
	}
	c[n] = what
	return nil
}

// claimI2C takes the pins of the I2C bus for a chip.
func (a *firmata) claimI2C(pins claims, chip string) error {
	for n := range a.pins {
		if a.pins[n].can(modeI2C) {
			pins[n] = chip + " (I2C)"
		}
	}
	if len(pins) == 0 {
		return robot.Errf(robot.CodeNotSupported, chip, "the board has no I2C pins")
	}
	return nil
}

// servoTimer are the pins whose PWM is made by a timer that makes servos' pulses (Arduino's
// Servo library, ServoTimers.h for AVR, and the boards' timer pins): writing a duty there
// sets the time at which a servo's pulse ends. Of what kind a board is shows in the number
// of its pins alone.
func servoTimer(pins, servos int) []int {
	const uno, leonardo, each = 22, 31, 12 // pins at most; servos of a timer
	switch {
	case servos == 0:
		return nil
	case pins <= uno:
		return []int{9, 10}
	case pins <= leonardo:
		return []int{9, 10, 11}
	}
	mega := []int{44, 45, 46, 11, 12, 13, 2, 3, 5, 6, 7, 8}
	return mega[:min(3*((servos+each-1)/each), len(mega))]
}

// which lists the pins that have a mode.
func (a *firmata) which(mode int) string {
	var out []string
	for i, p := range a.pins {
		if p.can(mode) {
			out = append(out, fmt.Sprint(i))
		}
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, ", ")
}

// prepare asks for the analogue inputs and switches the I2C bus on, where there is use
// for them. It moves and powers nothing.
func (a *firmata) prepare(ctx context.Context) error {
	return a.ask(ctx, doneWithin, robot.CodeStaleState, "its analogue inputs", func() error {
		if len(a.rules.chips) > 0 {
			if err := a.c.I2cConfig(0); err != nil {
				return err
			}
		}
		if len(a.rules.inputs) > 0 {
			if err := a.c.WriteSysex([]byte{samplingInterval, sampleEvery, 0}); err != nil {
				return err
			}
		}
		for ch := range mostAnalogMessagePin + 1 {
			if !a.rules.inputs[ch] {
				continue
			}
			if err := a.c.ReportAnalog(ch, 1); err != nil {
				return err
			}
		}
		return a.setMark()
	}, func() bool {
		// Each input was heard once: the first Read has something to say.
		for ch := range a.rules.inputs {
			if a.analog[ch].at.IsZero() {
				return false
			}
		}
		return true
	})
}

func (a *firmata) batch(f func() error) error { return a.write(f) }
func (a *firmata) servo(i int) servo          { return a.servos[i] }
func (a *firmata) output(i int) output        { return a.outputs[i] }

// input returns the newest value of an analogue input; the zero time: none yet.
func (a *firmata) input(ch int) (counts int, at time.Time) {
	v := a.analog[ch]
	return v.counts, v.at
}

// again reports whether the board has booted since the last call, and then has it do
// again what was prepared.
func (a *firmata) again(ctx context.Context) (bool, error) {
	if n := a.unexpected; n != a.reportedUnexpected {
		a.log.Debug("the board says what nobody asked for", "messages", n)
		a.reportedUnexpected = n
	}
	if n := a.t.garbled(); n > 0 && n >= 2*a.reportedGarbled { // at each doubling: noise goes on
		a.log.Warn("the line isn't clean", "bytes_of_no_message", n)
		a.reportedGarbled = n
	}
	if a.restarted {
		a.restarted = false
		clear(a.analog)
		a.forget()
		if err := a.prepare(ctx); err != nil {
			a.restarted = true // and once more
			return true, err
		}
		for _, c := range a.chips {
			c.lost = true // it hangs on the board's power, mostly; if not, it is found as it was
		}
		_, err := findLost(ctx, a.chips)
		return true, err
	}
	return findLost(ctx, a.chips)
}

// forget has the library know nothing of the pins' modes, so that each is set before it
// is used.
func (a *firmata) forget() {
	pins := a.c.Pins()
	for i := range pins {
		pins[i].Mode, pins[i].Value = -1, 0
	}
}

// recall asks for the outputs that are on: the library sets eight of them at a time, by
// what it knows of each.
func (a *firmata) recall(ctx context.Context) error {
	a.forget()
	for _, n := range sorted(a.rules.digital) {
		st, err := a.pinState(ctx, n, doneWithin, robot.CodeStaleState)
		if err != nil {
			return err
		}
		if st.mode == modeOutput {
			a.c.Pins()[n].Mode, a.c.Pins()[n].Value = modeOutput, min(st.value, 1)
		}
	}
	return nil
}

// pinServo is a servo at a pin of a board.
type pinServo struct {
	a    *firmata
	n    int // pin
	name string
}

func (s *pinServo) step(us float64) float64 { return math.Round(us) }

func (s *pinServo) set(us float64) error { return s.a.analogWrite(s.n, int(math.Round(us))) }

// attach tells the board the servo's limits, which begins its pulses, and the setpoint in
// the same breath. The board's firmware has no way to take a setpoint before: a servo that
// it attaches for the first time since it was reset may get one pulse of 1500 µs.
func (s *pinServo) attach(ctx context.Context, us float64) error {
	c, texts := s.a.rules.servos[s.n].config, s.a.texts
	if err := s.a.write(func() error {
		if err := s.a.c.ServoConfig(s.n, c[1], c[0]); err != nil {
			return err
		}
		// What the library notes of the pin, so that it means the same by it as the board.
		s.a.c.Pins()[s.n].Mode = modeServo
		return s.set(us)
	}); err != nil {
		return err
	}
	st, err := s.a.pinState(ctx, s.n, doneWithin, robot.CodeUnknownOutcome)
	if err != nil {
		return err
	}
	if want := int(math.Round(us)); st.mode != modeServo || st.value != want || s.a.texts != texts {
		return robot.Errf(robot.CodeToolFailed, s.name, "pin %d is in mode %d at %d after it was attached at %d µs%s", s.n, st.mode, st.value, want, s.a.complaint())
	}
	return nil
}

// complaint is what the board has said in words last.
func (a *firmata) complaint() string {
	if a.said == "" {
		return ""
	}
	return fmt.Sprintf("; the board said %q", a.said)
}

func (s *pinServo) detach(context.Context) error {
	return s.a.write(func() error { return s.a.c.SetPinMode(s.n, modeOutput) })
}

func (s *pinServo) read(ctx context.Context) (powered bool, us float64, err error) {
	st, err := s.a.pinState(ctx, s.n, readWithin, robot.CodeStaleState)
	if err != nil || st.mode != modeServo {
		return false, math.NaN(), err
	}
	if st.value < leastMicroseconds {
		return true, math.NaN(), nil // attached, and told nothing, or degrees
	}
	return true, float64(st.value), nil
}

// analogWrite sets a servo or a duty, by the short message where there is one for the pin.
func (a *firmata) analogWrite(n, v int) error {
	if n <= mostAnalogMessagePin {
		return a.c.AnalogWrite(n, v)
	}
	return a.c.WriteSysex([]byte{extendedAnalog, byte(n), low(v), high(v)})
}

// digitalOutput is a pin that is on or off.
type digitalOutput struct {
	a    *firmata
	n    int
	name string
}

func (o *digitalOutput) most() float64 { return 1 }

func (o *digitalOutput) set(ctx context.Context, v float64) (float64, error) {
	on := int(math.Round(v))
	if err := o.a.write(func() error {
		pins := o.a.c.Pins()
		if pins[o.n].Mode != modeOutput {
			if err := o.a.c.SetPinMode(o.n, modeOutput); err != nil {
				return err
			}
		}
		// The library sets all eight pins of the port by the values that it has noted of
		// them, whatever they are of: a servo's µs, an input's counts.
		for i := o.n &^ 7; i < (o.n&^7)+8; i++ {
			if !o.a.rules.digital[i] {
				pins[i].Value = 0
			}
		}
		return o.a.c.DigitalWrite(o.n, on)
	}); err != nil {
		return 0, err
	}
	return o.a.holds(ctx, o.n, o.name, modeOutput, on)
}

// dutyOutput is a pin with PWM.
type dutyOutput struct {
	a    *firmata
	n    int
	name string
}

func (o *dutyOutput) most() float64 { return maxDuty }

func (o *dutyOutput) set(ctx context.Context, v float64) (float64, error) {
	duty := int(math.Round(v))
	if err := o.a.write(func() error {
		if o.a.c.Pins()[o.n].Mode != modePWM {
			if err := o.a.c.SetPinMode(o.n, modePWM); err != nil {
				return err
			}
		}
		return o.a.analogWrite(o.n, duty)
	}); err != nil {
		return 0, err
	}
	return o.a.holds(ctx, o.n, o.name, modePWM, duty)
}

// holds asks whether a pin is in a mode and was set to a value.
func (a *firmata) holds(ctx context.Context, n int, name string, mode, want int) (float64, error) {
	st, err := a.pinState(ctx, n, doneWithin, robot.CodeUnknownOutcome)
	if err != nil {
		return 0, err
	}
	if st.mode != mode || st.value != want {
		return 0, robot.Errf(robot.CodeToolFailed, name, "pin %d is in mode %d at %d after it was set to %d%s", n, st.mode, st.value, want, a.complaint())
	}
	return float64(want), nil
}
