package gobot

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// The registers of a PCA9685 (NXP, PCA9685 product data sheet, rev. 4, tables 4 to 9 and
// section 7.3).
const (
	regMode1    = 0x00
	regMode2    = 0x01
	regLED0     = 0x06 // four bytes a channel: ON low, ON high, OFF low, OFF high
	regPrescale = 0xFE

	mode1External = 0x40 // its clock isn't its own
	mode1Increase = 0x20 // the register counts on with each byte
	mode1Sleep    = 0x10
	mode2Drive    = 0x04 // outputs drive both ways, not inverted: as after power-up
	mode2Decides  = 0x1F // the bits that count

	fullOff = 0x10 // of OFF high: no pulse whatever the counts; as after power-up
	fullOn  = 0x10 // of ON high

	chipClock    = 25e6 // Hz; its own oscillator, which may be off by some per cent
	chipCounts   = 4096 // a period
	chipChannels = 16
	// mostRead is how many bytes are read at once at most: a board's I2C buffer has 32.
	mostRead = 4
	// awake is what MODE1 is set to.
	awake = mode1Increase
)

// bus is an I2C bus. readI2C waits that long for an answer; writeI2C may only take note until the next read or the end of a batch.
type bus interface {
	readI2C(ctx context.Context, within time.Duration, address int, register byte, count int) ([]byte, error)
	writeI2C(address int, register byte, data ...byte) error
	// batch has what f writes leave in one go.
	batch(f func() error) error
}

// chip is a PCA9685 as the robot's file has it.
type chip struct {
	hw       *hardware.Chip
	prescale byte
	bus      bus  // of this connection
	lost     bool // it has forgotten what it was told, and is to be set up anew
	may      [chipChannels]counts
}

// counts are what a channel may be set to, beside 0; the zero value is nothing.
type counts struct{ least, most int }

// newChip refuses a frequency that the chip can't make.
func newChip(hw *hardware.Chip) (*chip, error) {
	if hw.Kind != hardware.PCA9685 {
		return nil, robot.Errf(robot.CodeNotSupported, hw.Name, "a chip %q isn't known here; there is %s", hw.Kind, hardware.PCA9685)
	}
	p := math.Round(chipClock/(chipCounts*hw.Frequency)) - 1
	if !(p >= 3 && p <= 255) {
		return nil, robot.LimitErr(robot.CodeInvalidArgument, hw.Name, hw.Frequency, math.Max(24, math.Min(1526, hw.Frequency)), "Hz", "the chip's pulses come at 24 to 1526 Hz")
	}
	return &chip{hw: hw, prescale: byte(p)}, nil
}

// perCount is how long a count is, µs.
func (c *chip) perCount() float64 { return (float64(c.prescale) + 1) / chipClock * 1e6 }

// counts are those of a pulse, µs.
func (c *chip) counts(us float64) int { return int(math.Round(us / c.perCount())) }

// pulse is the register's four bytes for a pulse from count 0 to off.
func pulse(off int) [4]byte {
	switch {
	case off <= 0:
		return [4]byte{3: fullOff}
	case off >= chipCounts:
		return [4]byte{1: fullOn}
	}
	return [4]byte{2: byte(off), 3: byte(off >> 8)}
}

// length is the other way round; 0: no pulse. false: another program's.
func length(led []byte) (counts int, ok bool) {
	switch {
	case len(led) != 4:
		return 0, false
	case led[3]&fullOff != 0:
		return 0, true
	case led[1]&fullOn != 0:
		return chipCounts, true
	}
	return int(led[2]) | int(led[3])<<8, led[0] == 0 && led[1] == 0 && led[3] <= 0x0F
}

func led(channel int) byte { return byte(regLED0 + 4*channel) }

// mayWrite reports whether a write is one that the robot's file gives a reason for; no
// data is the choice of a register to read.
func (c *chip) mayWrite(register byte, data []byte) bool {
	switch register {
	case regMode1:
		return len(data) == 0 || len(data) == 1 && (data[0] == awake || data[0] == awake|mode1Sleep)
	case regMode2:
		return len(data) == 0 || len(data) == 1 && data[0] == mode2Drive
	case regPrescale:
		return len(data) == 0 || len(data) == 1 && data[0] == c.prescale
	}
	n := int(register) - regLED0
	if n < 0 || n/4 >= chipChannels {
		return false
	}
	if len(data) == 0 {
		return true
	}
	if n%4 != 0 || len(data) != 4 {
		return false
	}
	v, ok := length(data)
	may := c.may[n/4]
	return ok && pulse(v) == [4]byte(data) && may.most > 0 && (v == 0 || v >= may.least && v <= may.most)
}

// read reads and names the chip in what goes wrong.
func (c *chip) read(ctx context.Context, within time.Duration, register byte, count int) ([]byte, error) {
	data, err := c.bus.readI2C(ctx, within, c.hw.Address, register, count)
	if err == nil && len(data) != count {
		err = robot.LimitErr(robot.CodeToolFailed, c.hw.Name, float64(len(data)), float64(count), "bytes", "it answers with too few bytes")
	}
	if err == nil || nobody(err) {
		return data, err
	}
	return nil, robot.Errf(robot.CodeToolFailed, c.hw.Name, "the %s at %#x doesn't answer; check its wiring, its power and its address: %w", c.hw.Kind, c.hw.Address, err)
}

// write writes, and nothing else with it.
func (c *chip) write(register byte, data ...byte) error {
	return c.bus.batch(func() error { return c.bus.writeI2C(c.hw.Address, register, data...) })
}

// findLost sets the chips up anew that have lost what they were told, and reports whether
// there were any. One that isn't to be had stays lost: its joints say so.
func findLost(ctx context.Context, chips map[string]*chip) (some bool, _ error) {
	for _, name := range sorted(chips) {
		c := chips[name]
		if !c.lost {
			continue
		}
		some = true
		switch err := c.find(ctx); {
		case err == nil:
			c.lost = false
		case isLinkLoss(err):
			return true, err
		}
	}
	return some, nil
}

// find looks whether the chip is there and does what the file says. One that was just
// switched on is set up: no pulse comes of that. One that makes pulses at another rate, for
// a program that was here before, is refused, since setting it up would change them.
func (c *chip) find(ctx context.Context) error {
	ready, err := c.ready(ctx)
	if err != nil || ready {
		return err
	}
	for n := range chipChannels {
		silent, err := c.silent(ctx, n)
		if err != nil {
			return err
		}
		if !silent {
			return robot.Errf(robot.CodeInvalidArgument, c.hw.Name, "the chip is set up otherwise than the robot's file has it, and its channel %d has a pulse: another program's; switch the chip's power off and on", n)
		}
	}
	for _, w := range [...][2]byte{{regMode1, awake | mode1Sleep}, {regPrescale, c.prescale}, {regMode2, mode2Drive}, {regMode1, awake}} {
		if err := c.write(w[0], w[1]); err != nil {
			return err
		}
	}
	if ready, err = c.ready(ctx); err == nil && !ready {
		err = robot.Errf(robot.CodeToolFailed, c.hw.Name, "the device at %#x doesn't keep what it is told; is it a %s?", c.hw.Address, c.hw.Kind)
	}
	return err
}

// silent reports whether a channel has no pulse, of a chip whose registers may have to be
// read one by one.
func (c *chip) silent(ctx context.Context, n int) (bool, error) {
	var regs [4]byte
	for i := 3; i >= 0; i-- {
		got, err := c.read(ctx, doneWithin, led(n)+byte(i), 1)
		if err != nil {
			return false, err
		}
		if i == 3 && got[0]&fullOff != 0 {
			return true, nil
		}
		regs[i] = got[0]
	}
	return regs == [4]byte{}, nil
}

// ready reports whether the chip is set up as the file has it.
func (c *chip) ready(ctx context.Context) (bool, error) {
	for _, r := range [...]struct{ register, bits, want byte }{
		{regMode1, mode1External | mode1Increase | mode1Sleep, awake}, {regMode2, mode2Decides, mode2Drive}, {regPrescale, 0xFF, c.prescale},
	} {
		got, err := c.read(ctx, doneWithin, r.register, 1)
		if err != nil {
			return false, err
		}
		if got[0]&r.bits != r.want {
			return false, nil
		}
	}
	return true, nil
}

// isReady refuses to use a chip that isn't set up as the file has it, and has it set up anew.
func (c *chip) isReady(ctx context.Context, what string) error {
	ready, err := c.ready(ctx)
	if err == nil && !ready {
		c.lost = true
		err = robot.Errf(robot.CodeToolFailed, what, "%s was without power, or another program has set it up otherwise, and is being set up anew; nothing was sent", c.hw.Name)
	}
	return err
}

// chipServo is a servo at a channel of a chip.
type chipServo struct {
	chip *chip
	n    int // channel
	name string
}

func (s *chipServo) step(us float64) float64 { return float64(s.chip.counts(us)) * s.chip.perCount() }

func (s *chipServo) set(us float64) error {
	p := pulse(s.chip.counts(us))
	return s.chip.bus.writeI2C(s.chip.hw.Address, led(s.n), p[:]...)
}

// attach writes the pulse, which begins with it, and reads it back. A chip that was set up
// otherwise since would make a pulse of another length of it.
func (s *chipServo) attach(ctx context.Context, us float64) error {
	if err := s.chip.isReady(ctx, s.name); err != nil {
		return err
	}
	if err := s.chip.bus.batch(func() error { return s.set(us) }); err != nil {
		return err
	}
	return s.holds(ctx, s.chip.counts(us))
}

// detach ends the pulses. A servo without pulses holds nothing.
func (s *chipServo) detach(context.Context) error {
	p := pulse(0)
	return s.chip.write(led(s.n), p[:]...)
}

func (s *chipServo) holds(ctx context.Context, want int) error {
	regs, err := s.chip.read(ctx, doneWithin, led(s.n), 4)
	if err != nil {
		return err
	}
	if got, ok := length(regs); !ok || got != want {
		return robot.Errf(robot.CodeToolFailed, s.name, "channel %d of %s has % x in its registers, not the pulse that was written", s.n, s.chip.hw.Name, regs)
	}
	return nil
}

// read asks the chip. One that was without power sleeps, and has forgotten all.
func (s *chipServo) read(ctx context.Context) (powered bool, us float64, err error) {
	if s.chip.lost {
		return false, math.NaN(), robot.Errf(robot.CodeToolFailed, s.name, "%s was without power, and isn't set up anew yet", s.chip.hw.Name)
	}
	mode, err := s.chip.read(ctx, readWithin, regMode1, 1)
	if err != nil {
		return false, math.NaN(), err
	}
	regs, err := s.chip.read(ctx, readWithin, led(s.n), 4)
	if err != nil {
		return false, math.NaN(), err
	}
	counts, ok := length(regs)
	if mode[0]&(mode1Sleep|mode1Increase) != awake {
		s.chip.lost = true
		return false, math.NaN(), nil
	}
	if counts == 0 && ok {
		return false, math.NaN(), nil
	}
	if !ok {
		return true, math.NaN(), nil
	}
	return true, float64(counts) * s.chip.perCount(), nil
}

// chipOutput is an output at a channel of a chip: a duty of 0 to 4095 counts.
type chipOutput struct{ chipServo }

const maxCounts = chipCounts - 1

func (o *chipOutput) most() float64 { return maxCounts }

func (o *chipOutput) set(ctx context.Context, v float64) (float64, error) {
	if err := o.chip.isReady(ctx, o.name); err != nil {
		return 0, err
	}
	n := int(math.Round(v))
	p := pulse(n)
	if n == maxCounts {
		p = pulse(chipCounts) // all of it: not 1/4096 less
	}
	if err := o.chip.write(led(o.n), p[:]...); err != nil {
		return 0, err
	}
	regs, err := o.chip.read(ctx, doneWithin, led(o.n), 4)
	if err != nil {
		return 0, err
	}
	if !slices.Equal(regs, p[:]) {
		return 0, robot.Errf(robot.CodeToolFailed, o.name, "channel %d of %s has % x in its registers, not % x as written", o.n, o.chip.hw.Name, regs, p)
	}
	return float64(n), nil
}

// newChips makes the file's chips, with the channels that it uses.
func newChips(f *hardware.File) (map[string]*chip, error) {
	out := map[string]*chip{}
	for i := range f.Chips {
		c, err := newChip(&f.Chips[i])
		if err != nil {
			return nil, err
		}
		out[c.hw.Name] = c
	}
	use := func(what, via string, channel int, may func(*chip) counts) error {
		if via == "" {
			return nil
		}
		c := out[via]
		if c == nil {
			return robot.Errf(robot.CodeInvalidArgument, what, "the file has no chip %q", via)
		}
		if channel < 0 || channel >= chipChannels || c.may[channel].most > 0 {
			return robot.Errf(robot.CodeInvalidArgument, what, "channel %d of %s isn't free: it has 0 to %d, one for each thing", channel, via, chipChannels-1)
		}
		c.may[channel] = may(c)
		if c.may[channel].most > maxCounts+1 {
			return robot.Errf(robot.CodeInvalidArgument, what, "its longest pulse is longer than a period of %s", via)
		}
		return nil
	}
	for i := range f.Joints {
		j := &f.Joints[i]
		if err := use(j.Name, j.Via, j.Channel, func(c *chip) counts {
			least, most := reach(j)
			return counts{c.counts(least), c.counts(most)}
		}); err != nil {
			return nil, err
		}
	}
	for i := range f.Outputs {
		o := &f.Outputs[i]
		if err := use(o.Actuator, o.Via, o.Channel, func(*chip) counts { return counts{1, chipCounts} }); err != nil {
			return nil, err
		}
	}
	return out, nil
}
