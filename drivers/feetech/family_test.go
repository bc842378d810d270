package feetech

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/robot/hardware"
)

// Each block holds the registers that are read out of it, each one that is written lies in
// the RAM, and what one go writes lies side by side.
func TestFamiliesOfRegisters(t *testing.T) {
	for _, driver := range []string{"feetech", "dynamixel"} {
		f, ok := familyOf(driver)
		require.True(t, ok)
		t.Run(driver, func(t *testing.T) {
			require.Equal(t, driver, f.name)
			within := func(k block, rs ...bus.Register) {
				t.Helper()
				for _, r := range rs {
					_, ok := r.In(make([]byte, k.count), k.addr)
					require.True(t, ok, "%s isn't in the block from %d", r.Name, k.addr)
				}
			}
			within(f.setup, f.model, f.id, f.offset, f.low, f.high)
			within(f.fast, f.goal, f.position)
			powers := f.fast
			if f.slow.count > 0 {
				powers = f.slow
			}
			within(powers, f.torque)
			for _, r := range []bus.Register{f.torque, f.goal, f.watchdog} {
				require.False(t, r.Kept || r.ReadOnly, "%s is written in motion", r.Name)
			}
			for _, r := range []bus.Register{f.offset, f.id, f.low, f.high} {
				require.True(t, r.Kept, "%s is kept", r.Name)
			}
			for _, block := range f.holding(&setup{torque: 1000}, 1234, 0.5) {
				addr, data, err := bytesOf(block)
				require.NoError(t, err)
				at := addr
				for _, s := range block {
					require.Equal(t, at, s.reg.Addr, "%s doesn't follow", s.reg.Name)
					require.False(t, s.reg.Kept || s.reg.ReadOnly, "%s", s.reg.Name)
					at = s.reg.End()
				}
				require.Len(t, data, int(at-addr))
			}
			// No register that moves by speed, current or PWM alone is ever written.
			for _, block := range f.holding(&setup{torque: 1000}, 1234, 0.5) {
				for _, s := range block {
					require.NotContains(t, []string{"mode", "operating_mode", "goal_velocity", "goal_current"}, s.reg.Name)
				}
			}
			// Values that a register's own bytes can't hold are refused, not cut.
			_, _, err := bytesOf([]setting{{f.goal, 1 << 40}})
			require.Error(t, err)
		})
	}
	_, ok := familyOf("mcu")
	require.False(t, ok)
}

// A torque limit is never 0, which would be an arm that drops, nor more than the servo's own.
func TestTorqueLimits(t *testing.T) {
	for _, driver := range []string{"feetech", "dynamixel"} {
		f, _ := familyOf(driver)
		for _, c := range []struct{ part, most, want float64 }{{1e-9, 800, 1}, {1, 800, 800}} {
			var got int64
			for _, block := range f.holding(&setup{torque: int64(c.most)}, 0, c.part) {
				for _, s := range block {
					if s.reg.Name == "torque_limit" || s.reg.Name == "goal_pwm" {
						got = s.value
					}
				}
			}
			require.InDelta(t, c.want, got, 0, driver)
		}
	}
}

// Whatever a servo's memory holds, reading it makes something of it, and what isn't a
// servo as it has to be is refused.
func TestAnyMemoryIsRead(t *testing.T) {
	for _, driver := range []string{"feetech", "dynamixel"} {
		f, _ := familyOf(driver)
		rapid.Check(t, func(t *rapid.T) {
			raw := func(k block) []byte { return rapid.SliceOfN(rapid.Byte(), k.count, k.count).Draw(t, "memory") }
			s := f.readSetup(raw(f.setup))
			var m measured
			f.readFast(raw(f.fast), &s, &m)
			if f.slow.count > 0 {
				f.readSlow(raw(f.slow), &s, &m)
			}
			a := axis{hw: &hardware.Joint{Name: "elbow", Direction: 1, Scale: 651.9, Zero: 2048, TickMin: 500, TickMax: 3500}, id: 1, low: 500, high: 3500}
			if a.check(f, &s) == nil {
				require.Equal(t, 1, s.id)
				require.Zero(t, s.offset)
				require.LessOrEqual(t, s.low, 500)
				require.GreaterOrEqual(t, s.high, 3500)
				_, known := f.modelName(s.model)
				require.True(t, known)
			}
			if a.within(m.ticks, float64(m.ticks)) == nil {
				require.InDelta(t, 2000, m.ticks, 1500+margin)
			}
			var w watch
			for _, fault := range w.add(nil, "elbow", &m, bounds{current: 1, temperature: 60, minVoltage: 5, maxVoltage: 8}, time.Time{}) {
				require.NotEmpty(t, fault.Text)
				require.NotEmpty(t, fault.Code)
			}
		})
	}
}

func TestConditionsSayWhatToDo(t *testing.T) {
	for bit := badVoltage; bit != 0 && bit <= hostQuiet; bit <<= 1 {
		c := bit.about()
		require.NotEmpty(t, c.text)
		require.NotContains(t, c.text, "condition", "%d has no words", bit)
	}
	require.Equal(t, badVoltage|tooHot|overloaded, stsComplaints(1|4|32))
	require.Equal(t, badVoltage|tooHot|badSensor|shocked|overloaded, dxlComplaints(1|4|8|16|32))
	require.Zero(t, stsComplaints(0))
}
