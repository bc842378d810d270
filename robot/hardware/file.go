package hardware

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"math"
	"slices"
	"time"

	"github.com/tau-robot/tau/robot"
)

// Kind is what drives a joint.
type Kind string

// The kinds. The zero value is none.
const (
	Servo    Kind = "servo"     // its unit is a µs of pulse width
	Stepper  Kind = "stepper"   // its unit is a step
	BusServo Kind = "bus_servo" // its unit is a tick of its encoder, 0 to 4095 a turn
)

// Unit returns the name of the kind's unit.
func (k Kind) Unit() string {
	switch k {
	case Stepper:
		return "step"
	case BusServo:
		return "tick"
	}
	return "µs"
}

// Feedback is how a joint's position is measured.
type Feedback string

// The ways. The zero value is none of them.
const (
	None    Feedback = "none"    // not at all: what is known is what it was told
	ADC     Feedback = "adc"     // a voltage, in counts of the board's converter
	Steps   Feedback = "steps"   // the steps that were made are counted, from the switch
	Encoder Feedback = "encoder" // a bus servo's own
)

// Point is a measured pair of a joint's position and the converter's counts there.
type Point struct {
	Position float64 // rad or m
	Counts   float64 // 0 to MaxCounts
}

// Joint says how one active joint of the description is moved. A position q, rad or m,
// is Zero + Direction·Scale·q in the channel's unit.
type Joint struct {
	Name      string
	Channel   int // of the board or of the chip Via; a bus servo's ID
	Kind      Kind
	Direction float64 // +1 or -1
	Zero      float64 // µs, steps or ticks at position 0
	Scale     float64 // µs, steps or ticks per rad or m, > 0
	// Lower and Upper bound the position, rad or m, and are no wider than the
	// description's: they are what the board is told to keep to. Velocity, Acceleration
	// and Jerk likewise, in rad/s or m/s and so on: the file's where it has them, else
	// the description's.
	Lower, Upper                 float64
	Velocity, Acceleration, Jerk float64
	PulseMin, PulseMax           float64 // µs; of servos, what it may be sent at all
	// TickMin and TickMax are, of bus servos, what it may be sent at all, as the person
	// who calibrated it found: from 0 to 4095, and never across the seam between them.
	TickMin, TickMax float64
	// Offset is what a bus servo itself takes from its encoder's ticks (its homing offset),
	// so that the seam lies outside of the joint's range. The driver holds the servo's
	// register against it and doesn't write it; calibrating does. A Dynamixel adds what its
	// register says, so its register is -Offset.
	Offset int
	// TorqueLimit is the part of a bus servo's largest torque that it may give, above 0 to 1.
	TorqueLimit float64
	// MaxTemperature, °C, and MaxCurrent, A, of a bus servo are where a motion ends with
	// OVERLOAD; 0: the servo's own limit alone.
	MaxTemperature, MaxCurrent float64
	// Via names the chip (File.Chips) whose channel it is; "": the board's own pin.
	Via      string
	Feedback Feedback
	// ADCPin is, of an Arduino with Firmata and feedback ADC, the analogue input that
	// measures the joint, from 0.
	ADCPin int
	Points []Point // of ADC, by ascending position; at least two

	assumed []string // what of its limits nothing gave
}

// Output says how an actuator beside the joints is set: its value, in its own unit,
// times Scale is what the board gets.
type Output struct {
	Actuator string
	Channel  int     // of the board, or of the chip Via
	Scale    float64 // board units per unit of the actuator, > 0
	Via      string  // as Joint has it; a chip's units are 0 to 4095
	PWM      bool    // of an Arduino or a computer's pins: a duty of 0 to 255, not on and off
}

// Chip is a PWM chip on a board's I2C bus.
type Chip struct {
	Name      string
	Kind      string  // "pca9685"
	Bus       int     // of the board, where it has more than one
	Address   int     // 7 bits
	Frequency float64 // Hz of its pulses
}

// File is a real robot's file, checked against the robot's model. It isn't modified
// once parsed and may be shared between goroutines.
type File struct {
	Name       string // as it was named, for errors
	Robot      string
	Driver     string
	Baud       int           // bit/s of the serial line
	Calibrated time.Time     // the day, at midnight UTC
	Valid      time.Duration // how long a calibration counts as fresh
	// EStopPowersOff: an e-stop takes the power off once at rest (IEC 60204-1 category 1);
	// else the joints stay powered (category 2, latched). LostLinkPowersOff says the same
	// of a host that went quiet. Both are to be true only where the robot stays where it
	// is without power.
	EStopPowersOff, LostLinkPowersOff bool
	Joints                            []Joint  // by active joint of the model
	Outputs                           []Output // by actuator of the model that Tightened returns
	// Absent are the actuators of the description that this robot hasn't: all of a robot on
	// a servo bus, and those that a file of DriverGobot leaves out.
	Absent []string
	// MinVoltage and MaxVoltage, V, are the supply of bus servos outside of which a motion
	// ends with a fault; 0: whatever they themselves take.
	MinVoltage, MaxVoltage float64
	// Adaptor is what gobot is to talk to: "firmata" for an Arduino, or the name of a
	// computer's own pins ("raspi"); Chips are what hangs on its I2C bus, by name.
	Adaptor string
	Chips   []Chip
}

// Units returns a position, rad or m, in the channel's unit: µs, steps or ticks.
func (j *Joint) Units(q float64) float64 { return j.Zero + j.Direction*j.Scale*q }

// Position returns the position, rad or m, of a value in the channel's unit.
func (j *Joint) Position(units float64) float64 { return (units - j.Zero) / (j.Direction * j.Scale) }

// beyondPoints is how far a count may lie outside the measured points before it is that
// of a broken wire rather than of a joint a little outside, as a part of their range.
const beyondPoints = 0.05

// Measured returns the position, rad or m, at which the converter has those counts, by
// straight lines between the points; false: the joint isn't measured that way, or the
// counts lie so far outside the points that something else is wrong.
func (j *Joint) Measured(counts float64) (q float64, ok bool) {
	n := len(j.Points)
	if j.Feedback != ADC || n < 2 || math.IsNaN(counts) {
		return 0, false
	}
	first, last := j.Points[0], j.Points[n-1]
	lo, hi := math.Min(first.Counts, last.Counts), math.Max(first.Counts, last.Counts)
	if slack := beyondPoints * (hi - lo); counts < lo-slack || counts > hi+slack {
		return 0, false
	}
	rising := last.Counts > first.Counts
	i := 1
	for i < n-1 && (counts > j.Points[i].Counts) == rising && counts != j.Points[i].Counts {
		i++
	}
	a, b := j.Points[i-1], j.Points[i]
	return a.Position + (counts-a.Counts)/(b.Counts-a.Counts)*(b.Position-a.Position), true
}

// OpenLoop says of each active joint that nothing measures or counts where it is.
func (f *File) OpenLoop() []bool {
	out := make([]bool, len(f.Joints))
	for i := range f.Joints {
		out[i] = f.Joints[i].Feedback == None
	}
	return out
}

// Limits returns the limits of each joint, by active joint: the file's and the model's,
// whichever is narrower.
func (f *File) Limits(m *robot.Model) []robot.JointLimits {
	out := make([]robot.JointLimits, len(f.Joints))
	for i := range f.Joints {
		j := &f.Joints[i]
		out[i] = robot.JointLimits{
			Bounded: true, Lower: j.Lower, Upper: j.Upper,
			Velocity: j.Velocity, Acceleration: j.Acceleration, Jerk: j.Jerk,
			Effort: m.Limits[i].Effort, Assumed: j.assumed,
		}
	}
	return out
}

// Tightened returns the model with the file's limits, and without the actuators that are
// absent: what is planned for, rehearsed and run on this robot. It is refused where home,
// the gripper's ends or a switch lie outside of the limits.
func (f *File) Tightened(m *robot.Model) (*robot.Model, error) {
	if len(f.Absent) > 0 {
		has := *m
		has.Actuators = slices.DeleteFunc(slices.Clone(m.Actuators), func(a robot.Actuator) bool {
			return slices.Contains(f.Absent, a.Name)
		})
		m = &has
	}
	out, err := m.Tighten(f.Limits(m))
	if err != nil {
		return nil, robot.Errf(robot.CodeInvalidArgument, f.Name, "%w", err)
	}
	return out, nil
}

// Stale says that the calibration is older than the file says one may be, "" if it isn't.
func (f *File) Stale(now time.Time) string {
	if age := today(now).Sub(f.Calibrated); age > f.Valid {
		return fmt.Sprintf("calibrated on %s, %d days ago; the file says to calibrate again after %d days",
			f.Calibrated.Format(time.DateOnly), int(age/day), int(f.Valid/day))
	}
	return ""
}

const day = 24 * time.Hour

// today is the day of now, where now says it is, as Calibrated is one.
func today(now time.Time) time.Time {
	y, m, d := now.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// Hash is a SHA-256 over all that the file says, its name apart: two files that move a
// robot in the same way have the same.
func (f *File) Hash() (out [32]byte) {
	e := encoder{sha256.New()}
	e.str("tau robot hardware 2")
	e.str(f.Robot)
	e.str(f.Driver)
	e.str(f.Calibrated.Format(time.DateOnly))
	e.num(int(f.Valid / day))
	e.num(f.Baud)
	e.flag(f.EStopPowersOff)
	e.flag(f.LostLinkPowersOff)
	e.num(len(f.Joints))
	for i := range f.Joints {
		j := &f.Joints[i]
		e.str(j.Name)
		e.num(j.Channel)
		e.str(string(j.Kind))
		e.float(j.Direction, j.Zero, j.Scale, j.Lower, j.Upper, j.Velocity, j.Acceleration, j.Jerk, j.PulseMin, j.PulseMax)
		e.str(string(j.Feedback))
		e.float(j.TickMin, j.TickMax, j.TorqueLimit, j.MaxTemperature, j.MaxCurrent)
		e.num(j.Offset)
		e.str(j.Via)
		e.num(j.ADCPin)
		e.num(len(j.Points))
		for _, p := range j.Points {
			e.float(p.Position, p.Counts)
		}
	}
	e.num(len(f.Outputs))
	for _, o := range f.Outputs {
		e.str(o.Actuator)
		e.num(o.Channel)
		e.float(o.Scale)
		e.str(o.Via)
		e.flag(o.PWM)
	}
	e.float(f.MinVoltage, f.MaxVoltage)
	e.str(f.Adaptor)
	e.num(len(f.Chips))
	for _, c := range f.Chips {
		e.str(c.Name)
		e.str(c.Kind)
		e.num(c.Bus)
		e.num(c.Address)
		e.float(c.Frequency)
	}
	e.h.Sum(out[:0])
	return out
}

// encoder writes values so that no two different sequences give the same bytes. It
// goes into a hash, whose Write never fails.
type encoder struct{ h hash.Hash }

func (e encoder) num(v int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(v))
	e.h.Write(b[:])
}

func (e encoder) str(s string) {
	e.num(len(s))
	e.h.Write([]byte(s))
}

func (e encoder) flag(v bool) {
	if v {
		e.num(1)
	} else {
		e.num(0)
	}
}

func (e encoder) float(vs ...float64) {
	for _, v := range vs {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], math.Float64bits(v+0)) // -0 is 0
		e.h.Write(b[:])
	}
}
