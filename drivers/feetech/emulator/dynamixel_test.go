package emulator

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
)

func TestXL430Answers(t *testing.T) {
	onBus(t, XL430, func(t *testing.T, h *hostEnd) {
		for _, id := range all() {
			s := h.ask(bus.Instruction{Op: bus.Ping, ID: id})
			require.Zero(t, s.Error)
			require.Equal(t, []byte{0x24, 0x04, 47}, s.Params, "1060 and the firmware")
			require.EqualValues(t, 2048, h.read(id, xlPosition, 4))
			require.EqualValues(t, 120, h.read(id, xlVoltage, 2))
			require.EqualValues(t, 250, h.read(id, xlDelay, 1))
		}
	})
}

func TestXL430PingToAll(t *testing.T) {
	onBus(t, XL430, func(t *testing.T, h *hostEnd) {
		began := time.Now()
		h.send(bus.Instruction{Op: bus.Ping, ID: bus.Broadcast})
		out, damaged := h.heard(6)
		require.Zero(t, damaged)
		require.Len(t, out, 6)
		for i, s := range out {
			require.EqualValues(t, i+1, s.ID)
		}
		require.Greater(t, time.Since(began), 6*pingSlot)
		h.send(syncRead(xlPosition, 4, all()...))
		out, damaged = h.heard(6)
		require.Zero(t, damaged)
		require.Len(t, out, 6)
	})
}

// What was wrong with an instruction is a number in the answer, and then nothing is written.
func TestXL430Refuses(t *testing.T) {
	onBus(t, XL430, func(t *testing.T, h *hostEnd) {
		require.EqualValues(t, dxlAccess, h.write(1, xlModel, 2, 1), "read only")
		require.EqualValues(t, dxlAccess, h.write(1, 66, 1, 1), "nothing is there")
		require.EqualValues(t, dxlRange, h.write(1, xlTorque, 1, 2))
		require.EqualValues(t, dxlRange, h.write(1, xlMode, 1, 1), "only position control is emulated")
		require.EqualValues(t, dxlLength, h.write(1, xlGoal, 2, 1000), "a part of it")
		require.EqualValues(t, dxlLimit, h.write(1, xlGoal, 4, 4096))
		require.EqualValues(t, dxlAccess, h.ask(bus.Instruction{Op: bus.Read, ID: 1, Addr: xlSize - 1, Count: 2}).Error)
		// Two registers, of which the second is refused: neither is written.
		require.EqualValues(t, dxlLimit, h.ask(bus.Instruction{
			Op: bus.Write, ID: 1, Addr: xlSpeed, Count: 8, Data: []byte{9, 0, 0, 0, 0xFF, 0xFF, 0, 0},
		}).Error)
		require.Zero(t, h.read(1, xlSpeed, 4))

		require.Zero(t, h.write(1, xlMaxPosition, 4, 3000))
		require.Zero(t, h.write(1, xlTorque, 1, 1))
		require.EqualValues(t, dxlAccess, h.write(1, xlMaxPosition, 4, 3500), "the EEPROM, under torque")
		require.EqualValues(t, dxlLimit, h.write(1, xlGoal, 4, 3001))
		require.Zero(t, h.ask(bus.Instruction{Op: bus.Reboot, ID: 1}).Error)
		time.Sleep(bootTime)
		require.EqualValues(t, 3000, h.read(1, xlMaxPosition, 4), "kept")
		require.Zero(t, h.read(1, xlTorque, 1))
	})
}

func TestXL430StatusReturnLevel(t *testing.T) {
	onBus(t, XL430, func(t *testing.T, h *hostEnd) {
		h.silent(write(1, xlLevel, 1, 1)) // it counts at once
		h.silent(write(1, xlTorque, 1, 1))
		require.EqualValues(t, 1, h.read(1, xlTorque, 1))
		h.silent(write(1, xlLevel, 1, 0))
		h.silent(bus.Instruction{Op: bus.Read, ID: 1, Addr: xlTorque, Count: 1})
		h.ask(bus.Instruction{Op: bus.Ping, ID: 1})
	})
}

func TestXL430Profile(t *testing.T) {
	onBus(t, XL430, func(t *testing.T, h *hostEnd) {
		h.write(1, xlSpeed, 4, 32)       // 500 ticks/s
		h.write(1, xlAcceleration, 4, 4) // 977 ticks/s²
		h.write(1, xlTorque, 1, 1)
		h.write(1, xlGoal, 4, 3048)
		time.Sleep(time.Second)
		require.EqualValues(t, 1, h.read(1, xlMoving, 1))
		require.EqualValues(t, 2, h.read(1, xlStatus, 1))
		require.InDelta(t, 32, h.read(1, xlVelocity, 4), 1)
		require.InDelta(t, 2048+372, h.read(1, xlPosition, 4), 15)
		require.Greater(t, h.read(1, xlTarget, 4), h.read(1, xlPosition, 4), "it lags")
		time.Sleep(2 * time.Second)
		require.Zero(t, h.read(1, xlMoving, 1))
		require.EqualValues(t, 1, h.read(1, xlStatus, 1))
		require.EqualValues(t, 3048, h.read(1, xlPosition, 4))
		require.InDelta(t, 3000, h.read(1, xlTick, 2), 100)
	})
}

// Turned by hand it counts beyond a turn, until it is switched off.
func TestXL430CountsTurns(t *testing.T) {
	onBus(t, XL430, func(t *testing.T, h *hostEnd) {
		require.NoError(t, h.b.ByHand(1, 4))
		require.EqualValues(t, 2048+2608, h.read(1, xlPosition, 4))
		require.NoError(t, h.b.ByHand(2, -4))
		require.EqualValues(t, 2048-2608, signed(h.read(2, xlPosition, 4), 4))
		require.NoError(t, h.b.Restart(1))
		require.NoError(t, h.b.Restart(2))
		time.Sleep(bootTime)
		require.EqualValues(t, 2048+2608-4096, h.read(1, xlPosition, 4))
		require.EqualValues(t, 2048-2608+4096, h.read(2, xlPosition, 4))
		require.Zero(t, h.write(3, xlOffset, 4, 100))
		require.EqualValues(t, 2148, h.read(3, xlPosition, 4))
	})
}

// Without instructions the servo stops where it is, and takes no goal before it is told
// that its host is there again.
func TestXL430Watchdog(t *testing.T) {
	onBus(t, XL430, func(t *testing.T, h *hostEnd) {
		h.write(1, xlSpeed, 4, 32)
		h.write(1, xlTorque, 1, 1)
		h.write(1, xlWatchdog, 1, 5) // 100 ms
		h.write(1, xlGoal, 4, 3048)
		for range 10 {
			time.Sleep(50 * time.Millisecond)
			h.read(2, xlPosition, 4) // any instruction on the bus will do
		}
		require.EqualValues(t, 5, h.read(1, xlWatchdog, 1))
		require.EqualValues(t, 1, h.read(1, xlMoving, 1))
		time.Sleep(200 * time.Millisecond)
		require.EqualValues(t, 0xFF, h.read(1, xlWatchdog, 1))
		at := h.read(1, xlPosition, 4)
		require.Less(t, at, uint32(2500))
		require.Zero(t, h.read(1, xlMoving, 1))
		require.EqualValues(t, dxlRange, h.write(1, xlGoal, 4, 3048))
		time.Sleep(time.Second)
		require.Equal(t, at, h.read(1, xlPosition, 4))
		require.EqualValues(t, 1, h.read(1, xlTorque, 1), "and holds there")
		require.Zero(t, h.write(1, xlWatchdog, 1, 0))
		require.Zero(t, h.write(1, xlGoal, 4, 3048))
	})
}

// What the hardware complains of is latched; a reboot alone ends a shutdown.
func TestXL430HardwareError(t *testing.T) {
	onBus(t, XL430, func(t *testing.T, h *hostEnd) {
		h.write(1, xlTorque, 1, 1)
		require.NoError(t, h.b.Hold(1, true))
		h.write(1, xlGoal, 4, 3500)
		time.Sleep(3 * time.Second)
		s := h.ask(bus.Instruction{Op: bus.Read, ID: 1, Addr: xlError, Count: 1})
		require.EqualValues(t, dxlAlert, s.Error)
		require.Equal(t, []byte{xlErrOverload}, s.Params)
		require.Zero(t, h.read(1, xlTorque, 1))
		require.EqualValues(t, dxlAlert|dxlFailed, h.write(1, xlTorque, 1, 1))
		h.ask(bus.Instruction{Op: bus.Reboot, ID: 1})
		time.Sleep(bootTime)
		require.Zero(t, h.ask(bus.Instruction{Op: bus.Ping, ID: 1}).Error)
		require.Zero(t, h.write(1, xlTorque, 1, 1))

		require.NoError(t, h.b.Heat(2, 80))
		h.b.Voltage(5)
		time.Sleep(2 * loop)
		require.EqualValues(t, xlErrTemperature|xlErrVoltage, h.read(2, xlError, 1))
		require.EqualValues(t, xlErrVoltage, h.read(3, xlError, 1))
		require.EqualValues(t, dxlAlert, h.write(3, xlTorque, 1, 1), "register 63 doesn't say to let go")
		require.True(t, h.b.Powered(3))
	})
}

func TestXL430KnowsNoSuchInstruction(t *testing.T) {
	onBus(t, XL430, func(t *testing.T, h *hostEnd) {
		// Protocol 2.0's Reg Write, which the emulation hasn't, to servo 1 (the maker's
		// description: instruction 0x04; the sum is of these bytes).
		_, err := h.l.Write(withCRC([]byte{0xFF, 0xFF, 0xFD, 0, 1, 6, 0, 0x04, 65, 0, 1}))
		require.NoError(t, err)
		out, _ := h.heard(1)
		require.Len(t, out, 1)
		require.EqualValues(t, dxlInstruction, out[0].Error)
	})
}

// withCRC sets a packet's length and appends its sum: CRC-16 with the polynomial 0x8005, as
// the maker describes it.
func withCRC(b []byte) []byte {
	n := len(b) - 7 + 2
	b[5], b[6] = byte(n), byte(n>>8)
	var crc uint16
	for _, c := range b {
		crc ^= uint16(c) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x8005
			} else {
				crc <<= 1
			}
		}
	}
	return append(b, byte(crc), byte(crc>>8))
}
