package emulator

import (
	"math"
	"math/rand/v2"
	"time"
)

const (
	ticksPerTurn = 4096
	ticksPerRad  = ticksPerTurn / (2 * math.Pi)
	middle       = ticksPerTurn / 2
	// ambient is the temperature of a cold servo, °C; a servo at its largest torque warms
	// by hotter, with warmth, s. Assumed, not published.
	ambient = 25.0
	hotter  = 60.0
	warmth  = 300.0
	// bootTime is how long a servo says nothing after power comes, or a reboot. Assumed.
	bootTime = 200 * time.Millisecond
)

// servo is one servo: its memory, and what its own processor knows.
type servo struct {
	place int  // of the arm's joints
	made  byte // the ID that it was made with: its name in this package
	kind  kind
	mem   []byte // all registers
	rom   []byte // what of them stays without power
	skew  time.Duration

	supply  bool
	bootAt  time.Duration // until when it is starting
	sense   Sense
	prof    profile
	over    float64 // s of too much load so far
	overAmp float64 // s of too much current so far
	faults  byte    // latched, as the maker's status bits
	heat    float64 // °C
	volts   float64
	base    float64 // ticks of the turns before it was switched on (Dynamixel)
	age     float64 // s since then
	watched float64 // s since the last instruction
	barked  bool    // the watchdog has ended what it did
	limp    bool    // overload: only the torque that is left then

	// What a test does to it.
	mute, detached bool
	slow           time.Duration
	noise          float64 // ticks
	hot            float64 // °C that are measured instead, NaN for none
}

// kind is what one maker's servos do with their registers.
type kind interface {
	table() *table
	// status is the error byte of a status packet.
	status(s *servo) byte
	// powerUp fills the registers that don't come from the EEPROM.
	powerUp(s *servo)
	// supply is the voltage that such servos are made for.
	supply() float64
	// factory sets the ID and the rate of a new servo. INVALID_ARGUMENT: there are none such.
	factory(s *servo, id byte, baud int) error
	// homed writes the homing offset, in ticks that the servo takes from its encoder's.
	homed(s *servo, ticks int) error
	// pong is what the answer to a Ping says; unknown the answer, if any, to an instruction
	// that there isn't.
	pong(s *servo) []byte
	unknown(s *servo) (status byte, answers bool)
	// saysReboot says that a Reboot is answered before the servo goes.
	saysReboot() bool
	// take checks and stores a write of whole bytes, and returns the error of the answer.
	take(s *servo, addr int, data []byte) byte
	// refresh fills the registers that are measured.
	refresh(s *servo, rng *rand.Rand)
	// readable says that so many bytes may be read at an address, else with which error it is refused.
	readable(addr, count int) byte
	// drive is one step of the servo's own loop.
	drive(s *servo, dt float64) Drive
	// torque says that the servo drives its joint.
	torque(s *servo) bool
	// id, baud and delay are what the registers say of the bus; answers says that an
	// instruction gets a status packet.
	id(s *servo) byte
	baud(s *servo) int
	delay(s *servo) time.Duration
	answers(s *servo, read, ping bool) bool
}

func newServo(place int, id byte, k kind, skew time.Duration) *servo {
	t := k.table()
	s := &servo{place: place, made: id, kind: k, mem: make([]byte, len(t.at)), rom: make([]byte, len(t.at)), skew: skew, hot: math.NaN(), heat: ambient}
	for i := range t.regs {
		if r := &t.regs[i]; r.rom {
			put(s.rom, r.addr, r.size, r.def)
		}
	}
	return s
}

// start is what happens when the servo gets power, or is told to boot: what isn't in its
// EEPROM is forgotten.
func (s *servo) start() {
	t := s.kind.table()
	clear(s.mem)
	for i := range t.regs {
		r := &t.regs[i]
		v := r.def
		if r.rom {
			v = get(s.rom, r.addr, r.size)
		}
		put(s.mem, r.addr, r.size, v)
	}
	s.faults, s.over, s.overAmp, s.limp = 0, 0, 0, false
	s.age, s.watched, s.barked = 0, 0, false
	s.supply = true
	s.kind.powerUp(s)
}

func (s *servo) get(addr, size int) uint32    { return get(s.mem, addr, size) }
func (s *servo) put(addr, size int, v uint32) { put(s.mem, addr, size, v) }

// runs says that the servo's processor does, at a time.
func (s *servo) runs(now time.Duration) bool { return s.supply && now >= s.bootAt }

// raw is what the encoder would read without its bounds, in ticks.
func (s *servo) raw() float64 { return middle + s.sense.Position*ticksPerRad }

// wrapped is x within one turn: 0 to below 4096.
func wrapped(x float64) float64 {
	x = math.Mod(x, ticksPerTurn)
	if x < 0 {
		x += ticksPerTurn
	}
	if x >= ticksPerTurn { // what rounding made of a little below 0
		x = 0
	}
	return x
}

// jitter is the encoder's noise, in ticks.
func (s *servo) jitter(rng *rand.Rand) float64 {
	if s.noise == 0 {
		return 0
	}
	return s.noise * rng.NormFloat64()
}

// celsius is what the servo measures of itself.
func (s *servo) celsius() float64 {
	if !math.IsNaN(s.hot) {
		return s.hot
	}
	return s.heat
}

// warm passes dt of the load that the servo carries.
func (s *servo) warm(dt float64) {
	to := ambient + hotter*s.sense.Load*s.sense.Load
	s.heat += (to - s.heat) * dt / warmth
}
