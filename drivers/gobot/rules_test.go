package gobot

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

func someRules(t testing.TB) *rules {
	f := &hardware.File{
		Joints: []hardware.Joint{
			{Name: "pan", Channel: 9, Kind: hardware.Servo, Direction: 1, Zero: 1472, Scale: 500, Lower: -1, Upper: 1, PulseMin: 544, PulseMax: 2400, Feedback: hardware.ADC, ADCPin: 2},
			{Name: "tilt", Channel: 18, Kind: hardware.Servo, Direction: -1, Zero: 1472, Scale: 500, Lower: -1, Upper: 0.5, PulseMin: 600, PulseMax: 2300},
			{Name: "roll", Channel: 3, Via: "hat", Kind: hardware.Servo, Direction: 1, Zero: 1500, Scale: 500, Lower: -1, Upper: 1, PulseMin: 544, PulseMax: 2400},
		},
		Outputs: []hardware.Output{{Actuator: "led", Channel: 13, Scale: 1}, {Actuator: "lamp", Channel: 11, Scale: 255, PWM: true}, {Actuator: "dim", Channel: 4, Via: "hat", Scale: 4095}},
		Chips:   []hardware.Chip{{Name: "hat", Kind: hardware.PCA9685, Address: 0x40, Frequency: 50}},
	}
	c, err := newChips(f)
	require.NoError(t, err)
	r, err := firmataRules(f, c)
	require.NoError(t, err)
	return r
}

// What is sent to a board is what the robot's file gives a reason for.
func TestOnlyFramesWithAReasonPass(t *testing.T) {
	r := someRules(t)
	for _, c := range []struct {
		name string
		f    []byte
		want verdict
	}{
		{"the version", []byte{0xF9}, pass},
		{"what the pins can do", []byte{0xF0, 0x6B, 0xF7}, pass},
		{"the library's reset of every servo", []byte{0xFF}, withhold},
		{"the library's reports of two ports", []byte{0xD0, 1}, withhold},
		{"a setpoint", []byte{0xE9, 1472 & 127, 1472 >> 7}, pass},
		{"the shortest setpoint", []byte{0xE9, 972 & 127, 972 >> 7}, pass},
		{"one beyond it", []byte{0xE9, 971 & 127, 971 >> 7}, refuse},
		{"the longest setpoint", []byte{0xE9, 1972 & 127, 1972 >> 7}, pass},
		{"one beyond that", []byte{0xE9, 1973 & 127, 1973 >> 7}, refuse},
		{"an angle", []byte{0xE9, 90, 0}, refuse},
		{"a pin of nobody's", []byte{0xE8, 1472 & 127, 1472 >> 7}, refuse},
		{"a pin above 15 as the library would send it", []byte{0xE0 | 18, 1472 & 127, 1472 >> 7}, refuse},
		{"the same by the long message", []byte{0xF0, 0x6F, 18, 1472 & 127, 1472 >> 7, 0xF7}, pass},
		{"a byte that is no data", []byte{0xE9, 0xF7, 3}, refuse},
		{"a servo's limits", []byte{0xF0, 0x70, 9, 544 & 127, 544 >> 7, 2400 & 127, 2400 >> 7, 0xF7}, pass},
		{"the same the other way round", []byte{0xF0, 0x70, 9, 2400 & 127, 2400 >> 7, 544 & 127, 544 >> 7, 0xF7}, refuse},
		{"another servo's limits", []byte{0xF0, 0x70, 18, 544 & 127, 544 >> 7, 2400 & 127, 2400 >> 7, 0xF7}, refuse},
		{"a servo's pulses end", []byte{0xF4, 9, 1}, pass},
		{"a servo as an input", []byte{0xF4, 9, 0}, refuse},
		{"a servo is attached without its limits", []byte{0xF4, 9, 4}, refuse},
		{"PWM of an LED that is switched", []byte{0xF4, 13, 3}, refuse},
		{"a duty", []byte{0xEB, 0x7F, 1}, pass},
		{"more than all of it", []byte{0xEB, 0, 2}, refuse},
		{"the LED", []byte{0x91, 1 << 5, 0}, pass},
		{"the LED with a pin beside it", []byte{0x91, 1<<5 | 1<<4, 0}, refuse},
		{"a port without outputs", []byte{0x90, 0, 0}, refuse},
		{"an input", []byte{0xC2, 1}, pass},
		{"another input", []byte{0xC1, 1}, refuse},
		{"a pulse of the chip", []byte{0xF0, 0x76, 0x40, 0, 18, 0, 0, 0, 0, 0, 307 & 127, 307 >> 7 & 1, 1, 0, 0xF7}, pass},
		{"another chip", []byte{0xF0, 0x76, 0x41, 0, 18, 0, 0, 0, 0, 0, 51, 0, 1, 0, 0xF7}, refuse},
		{"a channel of nobody's", []byte{0xF0, 0x76, 0x40, 0, 10, 0, 0, 0, 0, 0, 51, 0, 1, 0, 0xF7}, refuse},
		{"a pulse that is too long", []byte{0xF0, 0x76, 0x40, 0, 18, 0, 0, 0, 0, 0, 127, 1, 7, 0, 0xF7}, refuse},
		{"a servo always high", []byte{0xF0, 0x76, 0x40, 0, 18, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0xF7}, refuse},
		{"a lamp always on", []byte{0xF0, 0x76, 0x40, 0, 22, 0, 0, 0, 16, 0, 0, 0, 0, 0, 0xF7}, pass},
		{"a part of a pulse", []byte{0xF0, 0x76, 0x40, 0, 20, 0, 51, 0, 0xF7}, refuse},
		{"all channels at once", []byte{0xF0, 0x76, 0x40, 0, 0x7A, 1, 0, 0, 0, 0, 51, 0, 1, 0, 0xF7}, refuse},
		{"another rate", []byte{0xF0, 0x76, 0x40, 0, 0x7E, 1, 30, 0, 0xF7}, refuse},
		{"its own", []byte{0xF0, 0x76, 0x40, 0, 0x7E, 1, 121, 0, 0xF7}, pass},
		{"reading for ever", []byte{0xF0, 0x76, 0x40, 2 << 3, 1, 0, 0xF7}, refuse},
		{"reading once", []byte{0xF0, 0x76, 0x40, 1 << 3, 4, 0, 0xF7}, pass},
		{"two messages in one", []byte{0xF9, 0xF9}, refuse},
		{"a string", []byte{0xF0, 0x71, 1, 1, 0xF7}, refuse},
		{"no end", []byte{0xF0, 0x6D, 9}, refuse},
		{"nothing", nil, refuse},
	} {
		require.Equal(t, c.want, r.judge(c.f), "%s: % x", c.name, c.f)
	}
}

// Whatever is to be sent: no servo leaves its span, and no pin is touched that isn't the
// robot's.
func TestPropertyNoFrameMovesAnythingElse(t *testing.T) {
	r := someRules(t)
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(t, "frame")
		if rapid.Bool().Draw(t, "analog") {
			f = []byte{0xE0 | rapid.Byte().Draw(t, "pin"), rapid.Byte().Draw(t, "low"), rapid.Byte().Draw(t, "high")}
		}
		if r.judge(f) != pass {
			return
		}
		switch {
		case f[0]&0xF0 == 0xE0 && f[0] != 0xF0:
			v := word(f[1], f[2])
			pin := int(f[0] & 15)
			require.True(t, pin == 9 && v >= 972 && v <= 1972 || pin == 11 && v <= 255, "% x", f)
		case f[0] == 0xF4:
			require.Contains(t, []byte{9, 18, 13, 11}, f[1])
		}
		for _, b := range f[1:max(1, len(f)-1)] {
			require.Less(t, b, byte(0x80), "a byte within a message that isn't data")
		}
	})
}

// Case 30: SERVO_CONFIG has its shortest pulse first, and one that is longer than the
// longest isn't sent.
func TestCase30_ServoConfigsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, s := talk(t, someRules(t))
		n := len(s.since(0))
		require.NoError(t, b.c.ServoConfig(9, 2400, 544))
		require.Equal(t, [][]byte{{0xF0, 0x70, 0x09, 0x20, 0x04, 0x60, 0x12, 0xF7}}, s.since(n))
		require.Error(t, b.c.ServoConfig(9, 544, 2400))
		require.Len(t, s.since(n), 1, "nothing was sent")
		require.Equal(t, robot.CodeInternal, robot.CodeOf(b.t.failed()), "the link is given up")
	})
}

// What the board is told to keep to holds the file's pulses, and is what its library can
// keep: steps of 4 µs from 544 and 2400, in a signed byte.
func TestPropertyAServosLimitsAreOnesThatTheBoardKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := &hardware.Joint{PulseMin: float64(rapid.IntRange(200, 2000).Draw(t, "min"))}
		j.PulseMax = j.PulseMin + float64(rapid.IntRange(1, 1000).Draw(t, "span"))
		c := config(j)
		kept := func(from, to, us int) int { return from - 4*int(int8((from-us)/4)) } //nolint:gosec // what the board does
		require.Equal(t, c[0], kept(544, 0, c[0]))
		require.Equal(t, c[1], kept(2400, 0, c[1]))
		if j.PulseMin >= leastMin {
			require.LessOrEqual(t, float64(c[0]), j.PulseMin)
		}
		if j.PulseMax <= mostMax {
			require.GreaterOrEqual(t, float64(c[1]), j.PulseMax)
		}
		require.Less(t, c[0], c[1])
	})
}
