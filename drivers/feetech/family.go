package feetech

import (
	"time"

	"github.com/tau-robot/tau/drivers/feetech/bus"
)

// family says what the registers of one maker's servos mean. It isn't modified once made.
type family struct {
	name   string // of the driver in a robot's file: "feetech", "dynamixel"
	servos string // what it is about, for errors
	codec  func() bus.Codec
	lastID int
	// bauds are the speeds that its servos can be set to, bit/s, the likeliest first.
	bauds []int
	kept  uint16 // the first address that isn't kept without power

	// setup is what is read of a servo once; fast at each Read; slow now and then, and
	// after each command: its count is 0 where fast has it all.
	setup, fast, slow                                    block
	model, id, torque, goal, position, offset, low, high bus.Register
	// lock has to be 0 while a register of the EEPROM is written; of size 0: there is none,
	// and it is enough that the torque is off.
	lock bus.Register
	// watchdog stops the servo by itself when the host is quiet; of size 0: it has none.
	watchdog     bus.Register
	watchdogUnit time.Duration
	// alert is the bit of a packet's error byte that says that slow has something new.
	alert byte
	// rebootClears: what a servo has latched goes away by a reboot.
	rebootClears bool

	// offsetFits refuses an offset of hardware.Joint that the register can't say.
	offsetFits func(offset int) error
	// span is the range of ticks that a servo with that offset counts in.
	span func(offset int) (low, high int)
	// asOffset turns an offset of hardware.Joint into the register's value.
	asOffset           func(int64) int64
	readSetup          func(b []byte) setup
	readFast, readSlow func(b []byte, s *setup, m *measured)
	// holding is what is written, and read back, before the torque goes on: for each
	// block of registers that lie side by side, their values.
	holding func(s *setup, goal int, torque float64) [][]setting
	// modelName names a model number; false: the registers are others, or nobody knows.
	modelName func(uint16) (string, bool)
}

// block is a run of registers that is read or written in one go.
type block struct {
	addr  uint16
	count int
}

// from returns the block from register a to register b.
func from(a, b bus.Register) block { return block{a.Addr, int(b.End() - a.Addr)} }

// of reads a register out of the block's bytes; 0 where the block doesn't hold it, which
// the tables' test excludes.
func (k block) of(b []byte, r bus.Register) int64 {
	v, _ := r.In(b, k.addr)
	return v
}

// setting is a value for a register.
type setting struct {
	reg   bus.Register
	value int64
}

// bytesOf returns the values of registers that lie side by side, and where they begin.
func bytesOf(settings []setting) (addr uint16, data []byte, err error) {
	for _, v := range settings {
		if data, err = v.reg.Append(data, v.value); err != nil {
			return 0, nil, err
		}
	}
	return settings[0].reg.Addr, data, nil
}

// setup is what a servo says of itself, once.
type setup struct {
	model    uint16
	firmware string
	old      string // why the firmware is too old; "" if it isn't
	id       int
	mode     string // what it does with a goal where that isn't a position in one turn; "" if it is
	silent   bool   // it acknowledges no writes
	offset   int    // as hardware.Joint has it
	low      int    // ticks: the bounds that it holds a goal within itself
	high     int
	armed    bool // it powers itself when it is switched on
	second   int  // another ID that it obeys; -1: none
	// torque is all of its torque, as the register that limits it has it.
	torque int64
	// currentUnit is what one unit of its current is, A; 0: it measures none.
	currentUnit float64
	// The supply that it takes, V.
	minVoltage, maxVoltage float64
}

// measured is what is known of a servo.
type measured struct {
	ticks       int
	current     float64 // A; NaN where it isn't measured
	voltage     float64 // V
	temperature float64 // °C
	complaints  condition
	powered     bool
	goal        int // ticks
}

// condition is a set of what a servo complains of.
type condition uint8

const (
	badVoltage condition = 1 << iota
	badSensor
	tooHot
	tooMuchCurrent
	overloaded
	shocked
	hostQuiet // its bus watchdog has stopped it
)

// watchdogTime is how long a servo with a watchdog goes without hearing anything before
// it stops by itself.
const watchdogTime = 200 * time.Millisecond

// watched is the setting that has such a servo stop by itself.
func (f *family) watched() setting { return setting{f.watchdog, int64(watchdogTime / f.watchdogUnit)} }

// familyOf returns the family that a file's driver names.
func familyOf(driver string) (*family, bool) {
	switch driver {
	case "feetech":
		return feetechFamily(), true
	case "dynamixel":
		return dynamixelFamily(), true
	}
	return nil, false
}
