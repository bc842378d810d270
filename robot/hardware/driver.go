package hardware

import (
	"slices"
	"strings"
)

// The drivers whose files this package knows the keys of. A file of another driver has
// those of DriverMCU.
const (
	DriverMCU       = "mcu"
	DriverFeetech   = "feetech"
	DriverDynamixel = "dynamixel"
	DriverGobot     = "gobot"
)

// What a file of DriverGobot is for.
const (
	AdaptorFirmata = "firmata"
	AdaptorRaspi   = "raspi"
)

// driver is what differs between the files of two drivers.
type driver struct {
	bit             drivers
	channel         string // what one of its channels is called
	lowest, highest int64  // channel
	kinds           []string
	bauds           []int // bit/s of the serial line, the default one first
	maxOffset       int64 // ticks
	whyOffset       string
}

// drivers is a set of them.
type drivers uint8

const (
	mcu drivers = 1 << iota
	feetech
	dynamixel
	gobot

	bus   = feetech | dynamixel
	every = mcu | bus | gobot
)

func (d drivers) String() string {
	var out []string
	for _, x := range []struct {
		bit  drivers
		name string
	}{{mcu, DriverMCU}, {feetech, DriverFeetech}, {dynamixel, DriverDynamixel}, {gobot, DriverGobot}} {
		if d&x.bit != 0 {
			out = append(out, x.name)
		}
	}
	return strings.Join(out, ", ")
}

// maxPin is the highest pin that Firmata has a number for.
const maxPin = 127

// driverOf returns what a driver's files are like. The speeds of the buses are those that
// their servos' registers offer: Feetech's memory table of the STS series (address 6), and
// ROBOTIS' e-Manual of the X series (address 8), as far as a port here goes.
func driverOf(name string) *driver {
	switch name {
	case DriverFeetech:
		return &driver{
			feetech, "the ID", 1, 252, []string{string(BusServo)},
			[]int{1000000, 500000, 250000, 128000, 115200, 76800, 57600, 38400},
			maxSignMagnitude, "doesn't fit the servo's register, which has a sign and 11 bits",
		}
	case DriverDynamixel:
		return &driver{
			dynamixel, "the ID", 0, 252, []string{string(BusServo)},
			[]int{1000000, 9600, 57600, 115200, 2000000, 3000000, 4000000},
			maxQuarterTurn, "is more than a quarter of a turn, and within one turn the servo ignores that",
		}
	case DriverGobot:
		return &driver{
			gobot, "pin", 0, maxPin, []string{string(Servo)},
			[]int{57600, 9600, 19200, 38400, 115200, 250000, 500000, 1000000}, 0, "",
		}
	}
	return &driver{
		mcu, "channel", 0, MaxChannel, []string{string(Servo), string(Stepper)},
		[]int{115200, 57600, 250000, 500000, 1000000}, 0, "",
	}
}

// What a homing offset may be at most, ticks.
const (
	maxSignMagnitude = 2047
	maxQuarterTurn   = 1024
)

// key is a key of a table and whose files it is in.
type key struct {
	name string
	of   drivers
}

// The keys, spelled exactly: TOML's decoder doesn't tell upper case from lower.
var (
	fileKeys = []key{
		{"robot", every}, {"driver", every}, {"calibrated", every}, {"baud", every},
		{"recalibrate_after_days", every}, {"estop_powers_off", every}, {"lost_link_powers_off", every},
		{"min_voltage", bus}, {"max_voltage", bus}, {"adaptor", gobot},
		{"joint", every}, {"output", mcu | gobot}, {"chip", gobot},
	}
	jointKeys = []key{
		{"channel", every}, {"kind", every}, {"direction", every}, {"zero", every}, {"scale", every},
		{"lower", every}, {"upper", every}, {"velocity", every}, {"acceleration", every}, {"jerk", every},
		{"pulse_min", mcu | gobot}, {"pulse_max", mcu | gobot}, {"feedback", every}, {"adc", mcu | gobot}, {"adc_pin", gobot},
		{"tick_min", bus}, {"tick_max", bus}, {"offset", bus}, {"torque_limit", bus}, {"max_temperature", bus}, {"max_current", bus},
		{"via", gobot},
	}
	outputKeys = []key{{"channel", mcu | gobot}, {"scale", mcu | gobot}, {"via", gobot}, {"pwm", gobot}}
	chipKeys   = []key{{"kind", gobot}, {"bus", gobot}, {"address", gobot}, {"frequency", gobot}}
)

// keysOf are the keys of the tables of a group.
func keysOf(group string) []key {
	switch group {
	case "joint":
		return jointKeys
	case "output":
		return outputKeys
	}
	return chipKeys
}

func namesOf(keys []key) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.name
	}
	return out
}

// foreign refuses the first key, or table, that belongs to files of other drivers.
func (p *parser) foreign() error {
	for _, k := range p.keys { // known has found each of them
		of := find(fileKeys, k[0])
		if len(k) == 3 {
			of &= find(keysOf(k[0]), k[2])
		}
		if of&p.driver.bit != 0 {
			continue
		}
		what := strings.Join(k, ".")
		if k[0] == "output" && p.driver.bit&bus != 0 {
			return p.bad(what, "a servo bus has nothing beside its joints; leave the table out")
		}
		return p.bad(what, "is a key of the driver %s, and this file is for %s", of, p.driver.bit)
	}
	return nil
}

func find(keys []key, name string) drivers {
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return 0
	}
	return keys[i].of
}

// MaxOffset is the largest homing offset, either way, of the servos of a driver, ticks; 0
// of a driver whose servos have none.
func MaxOffset(driver string) int { return int(driverOf(driver).maxOffset) }

// Channels are the first and the last channel, or ID, that a file of a driver may name.
func Channels(driver string) (lowest, highest int) {
	d := driverOf(driver)
	return int(d.lowest), int(d.highest)
}

// Bauds are the speeds that a file of a driver may name, bit/s, the default one first.
func Bauds(driver string) []int { return slices.Clone(driverOf(driver).bauds) }
