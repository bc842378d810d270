package emulator

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
)

func TestServosAnswer(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		for _, id := range all() {
			require.Zero(t, h.ask(bus.Instruction{Op: bus.Ping, ID: id}).Error)
			require.EqualValues(t, 777, h.read(id, 3, 2))
			require.EqualValues(t, 2048, h.read(id, stsPosition, 2))
			require.EqualValues(t, 74, h.read(id, stsVoltage, 1))
			require.EqualValues(t, 25, h.read(id, stsTemperature, 1))
		}
		h.silent(bus.Instruction{Op: bus.Ping, ID: 7})
	})
}

// One exchange takes the bytes' time on the wire, the delay of the register, and the little
// that a servo thinks; not a byte comes before its time.
func TestTheTimeOfTheWire(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		began := time.Now()
		h.ask(bus.Instruction{Op: bus.Read, ID: 1, Addr: stsPosition, Count: 2}) // 8 bytes and 8
		took := time.Since(began)
		require.GreaterOrEqual(t, took, 160*time.Microsecond+think)
		require.Less(t, took, 160*time.Microsecond+think+skews)

		require.NoError(t, h.b.SetRegister(1, stsDelay, 100))
		began = time.Now()
		h.ask(bus.Instruction{Op: bus.Read, ID: 1, Addr: stsPosition, Count: 2})
		require.Equal(t, 200*time.Microsecond, time.Since(began)-took)

		began = time.Now()
		h.send(syncRead(stsPosition, 2, all()...)) // 14 bytes and six times 8
		out, damaged := h.heard(6)
		require.Zero(t, damaged)
		require.Len(t, out, 6)
		for i, s := range out {
			require.EqualValues(t, i+1, s.ID, "each in its turn")
			require.EqualValues(t, 2048, get(s.Params, 0, 2))
		}
		took = time.Since(began) - 200*time.Microsecond
		require.Less(t, took, 620*time.Microsecond+6*(think+skews))
		require.GreaterOrEqual(t, took, 620*time.Microsecond+6*think)
		for _, p := range h.rec.Packets() {
			require.False(t, p.Collided)
		}
	})
}

// A servo that says nothing is waited for as long as its answer would take, and those behind
// it answer.
func TestASyncReadGoesOnBehindAMuteServo(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		require.NoError(t, h.b.Mute(4, true))
		h.send(syncRead(stsPosition, 2, all()...))
		out, damaged := h.heard(6)
		require.Zero(t, damaged)
		var ids []byte
		for _, s := range out {
			ids = append(ids, s.ID)
		}
		require.Equal(t, []byte{1, 2, 3, 5, 6}, ids)
	})
}

func TestTheLockOfTheEEPROM(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		restart := func() {
			require.NoError(t, h.b.Restart(1))
			time.Sleep(bootTime)
		}
		h.write(1, stsMaxAngle, 2, 3000) // locked: counts until the power goes
		require.EqualValues(t, 3000, h.read(1, stsMaxAngle, 2))
		restart()
		require.EqualValues(t, 4095, h.read(1, stsMaxAngle, 2))
		h.write(1, stsLock, 1, 0)
		h.write(1, stsMaxAngle, 2, 3000)
		restart()
		require.EqualValues(t, 3000, h.read(1, stsMaxAngle, 2))
		require.EqualValues(t, 1, h.read(1, stsLock, 1), "locked again by itself")
	})
}

func TestWhatCannotBeWrittenIsNot(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		h.write(1, 3, 2, 1)                 // the model
		h.write(1, stsTorqueLimit, 2, 1001) // beyond its range
		h.write(1, stsTorque, 1, 3)
		h.write(1, stsPosition, 2, 7)
		require.EqualValues(t, 777, h.read(1, 3, 2))
		require.EqualValues(t, 1000, h.read(1, stsTorqueLimit, 2))
		require.EqualValues(t, 0, h.read(1, stsTorque, 1))
		require.EqualValues(t, 2048, h.read(1, stsPosition, 2))
		require.Zero(t, h.read(1, 200, 2), "where nothing is")
	})
}

func TestStatusReturnLevel(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		h.write(2, stsLevel, 1, 1)
		h.silent(write(2, stsLevel, 1, 0)) // it counts at once
		h.silent(write(2, stsAcceleration, 1, 50))
		require.EqualValues(t, 50, h.read(2, stsAcceleration, 1))
		h.ask(bus.Instruction{Op: bus.Ping, ID: 2})
		h.silent(write(bus.Broadcast, stsAcceleration, 1, 20))
		require.EqualValues(t, 20, h.read(2, stsAcceleration, 1))
		h.silent(syncWrite(stsAcceleration, 1, 30, 1, 3))
		require.EqualValues(t, 30, h.read(1, stsAcceleration, 1))
		require.EqualValues(t, 20, h.read(2, stsAcceleration, 1))
	})
}

// Torque makes a servo go to whatever goal stands in its register, old ones too.
func TestTorqueSnapsToAnOldGoal(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		h.write(1, stsTorque, 1, 1)
		time.Sleep(time.Second)
		require.EqualValues(t, 2048, h.read(1, stsPosition, 2), "switched on, it stays")
		h.write(1, stsTorque, 1, 0)
		require.False(t, h.b.Powered(1))
		require.NoError(t, h.b.ByHand(1, 1))
		require.EqualValues(t, 2048+652, h.read(1, stsPosition, 2))
		h.write(1, stsTorque, 1, 1)
		time.Sleep(2 * time.Second)
		require.EqualValues(t, 2048, h.read(1, stsPosition, 2), "the old goal")
		require.EqualValues(t, 0, h.read(1, stsMoving, 1))
	})
}

func TestGoalSpeedAndAcceleration(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		h.write(1, stsAcceleration, 1, 10) // 1000 ticks/s²
		h.write(1, stsGoalSpeed, 2, 500)   // ticks/s
		h.write(1, stsTorque, 1, 1)
		h.write(1, stsGoal, 2, 3048)
		time.Sleep(time.Second)
		require.EqualValues(t, 1, h.read(1, stsMoving, 1))
		require.InDelta(t, 500, h.read(1, stsSpeed, 2), 5)
		// 1000 ticks at 500/s with two ramps of 0.5 s: 2.5 s.
		require.InDelta(t, 2048+375, h.read(1, stsPosition, 2), 15)
		time.Sleep(1400 * time.Millisecond)
		require.EqualValues(t, 1, h.read(1, stsMoving, 1))
		time.Sleep(300 * time.Millisecond)
		require.EqualValues(t, 0, h.read(1, stsMoving, 1))
		require.EqualValues(t, 3048, h.read(1, stsPosition, 2))
		require.EqualValues(t, 3048, h.read(1, stsTarget, 2))
	})
}

func TestAngleLimitsBoundTheGoal(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		h.write(1, stsMinAngle, 2, 1000)
		h.write(1, stsMaxAngle, 2, 3000)
		h.write(1, stsTorque, 1, 1)
		h.write(1, stsGoal, 2, 4000)
		time.Sleep(3 * time.Second)
		require.EqualValues(t, 3000, h.read(1, stsPosition, 2))
	})
}

// The seam between 4095 and 0: turned across it by hand a servo's count wraps, and with
// torque it goes the long way round.
func TestTheSeam(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		var seen []uint32
		for _, tick := range []float64{3900, 4000, 4095, 4096, 4196} {
			require.NoError(t, h.b.ByHand(1, (tick-middle)/ticksPerRad))
			seen = append(seen, h.read(1, stsPosition, 2))
		}
		require.Equal(t, []uint32{3900, 4000, 4095, 0, 100}, seen)
		h.write(1, stsGoal, 2, 4000)
		h.write(1, stsTorque, 1, 1)
		time.Sleep(3 * time.Second)
		require.EqualValues(t, 4000, h.read(1, stsPosition, 2))
		require.InDelta(t, (4000-middle)/ticksPerRad, h.b.Shaft(1)-2*math.Pi, 1e-3, "a whole turn further, by way of all of it")
	})
}

func TestHomingOffset(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		h.write(1, stsOffset, 2, 100)
		require.EqualValues(t, 1948, h.read(1, stsPosition, 2))
		h.write(1, stsOffset, 2, 1<<11|100)
		require.EqualValues(t, 2148, h.read(1, stsPosition, 2))
		h.write(1, stsOffset, 2, 2048) // half a turn doesn't fit: the sign alone, of nothing
		require.EqualValues(t, 2048, h.read(1, stsPosition, 2))
		// Calibrating makes wherever it stands the middle.
		require.NoError(t, h.b.ByHand(1, -1))
		h.write(1, stsLock, 1, 0)
		h.write(1, stsTorque, 1, calibrate)
		require.EqualValues(t, 2048, h.read(1, stsPosition, 2))
		require.Equal(t, -652, magnitude(h.read(1, stsOffset, 2), 11))
		require.EqualValues(t, 0, h.read(1, stsTorque, 1))
		require.NoError(t, h.b.Restart(1))
		time.Sleep(bootTime)
		require.EqualValues(t, 2048, h.read(1, stsPosition, 2), "kept")
	})
}

// A joint that is blocked carries more and more, until the servo gives up most of its torque
// and says so in each answer, until its torque is switched.
func TestOverload(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		h.write(1, stsTorque, 1, 1)
		require.NoError(t, h.b.Hold(1, true))
		h.write(1, stsGoal, 2, 3000)
		time.Sleep(time.Second)
		require.EqualValues(t, 1000, h.read(1, stsLoad, 2))
		require.EqualValues(t, 415, h.read(1, stsCurrent, 2)) // 2.7 A of 6.5 mA
		require.Zero(t, h.ask(bus.Instruction{Op: bus.Ping, ID: 1}).Error)
		time.Sleep(1500 * time.Millisecond) // register 35: 2 s in all
		require.EqualValues(t, stsErrOverload, h.ask(bus.Instruction{Op: bus.Ping, ID: 1}).Error)
		require.EqualValues(t, stsErrOverload, h.read(1, stsStatus, 1))
		require.EqualValues(t, 200, h.read(1, stsLoad, 2), "register 34")
		require.NoError(t, h.b.Hold(1, false))
		time.Sleep(time.Second)
		require.EqualValues(t, stsErrOverload, h.read(1, stsStatus, 1), "latched")
		h.write(1, stsTorque, 1, 0)
		require.Zero(t, h.ask(bus.Instruction{Op: bus.Ping, ID: 1}).Error)
	})
}

func TestOverloadMayTakeAllTorque(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		h.write(1, stsHoldTorque, 1, 0)
		h.write(1, stsTorque, 1, 1)
		h.free.Load(0, 0.5)
		time.Sleep(time.Second)
		require.NoError(t, h.b.Overload(1))
		time.Sleep(2 * loop)
		require.EqualValues(t, stsErrOverload, h.ask(bus.Instruction{Op: bus.Ping, ID: 1}).Error)
		require.Zero(t, h.read(1, stsLoad, 2))
	})
}

func TestHeatAndVoltage(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		h.write(1, stsTorque, 1, 1)
		h.write(2, stsTorque, 1, 1)
		require.NoError(t, h.b.Heat(1, 71))
		time.Sleep(2 * loop)
		require.EqualValues(t, stsErrTemperature, h.ask(bus.Instruction{Op: bus.Ping, ID: 1}).Error)
		require.EqualValues(t, 71, h.read(1, stsTemperature, 1))
		require.Zero(t, h.read(1, stsTorque, 1), "it has let go")
		h.b.Voltage(3.5)
		time.Sleep(2 * loop)
		require.EqualValues(t, stsErrVoltage, h.ask(bus.Instruction{Op: bus.Ping, ID: 2}).Error)
		require.EqualValues(t, 35, h.read(2, stsVoltage, 1))
		require.EqualValues(t, 1, h.read(2, stsTorque, 1), "register 19 doesn't say to let go")
		require.NoError(t, h.b.Heat(1, math.NaN()))
		h.b.Voltage(7.4)
		time.Sleep(2 * loop)
		require.Zero(t, h.ask(bus.Instruction{Op: bus.Ping, ID: 1}).Error)
	})
}

func TestATorqueLimit(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		h.write(1, stsTorqueLimit, 2, 300)
		h.write(1, stsTorque, 1, 1)
		require.NoError(t, h.b.Hold(1, true))
		h.write(1, stsGoal, 2, 1000)
		time.Sleep(time.Second)
		require.Equal(t, -300, magnitude(h.read(1, stsLoad, 2), 10))
		require.EqualValues(t, 1, h.read(1, stsTorque, 1))
		require.NoError(t, h.b.Restart(1))
		time.Sleep(bootTime)
		require.EqualValues(t, 1000, h.read(1, stsTorqueLimit, 2), "register 16 again")
	})
}
