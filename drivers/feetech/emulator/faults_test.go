package emulator

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/robot"
)

// Two servos with one ID answer over each other: what comes isn't a packet.
func TestCase24_TwoServosOfOneID(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		require.NoError(t, h.b.Rename(2, 1))
		for range 20 {
			h.send(bus.Instruction{Op: bus.Read, ID: 1, Addr: stsPosition, Count: 2})
			out, damaged := h.heard(1)
			require.Empty(t, out)
			require.LessOrEqual(t, damaged, 4)
		}
		var clashes int
		for _, p := range h.rec.Packets() {
			if !p.FromHost && p.Collided {
				clashes++
			}
		}
		require.Equal(t, 40, clashes, "both, each time")
		h.silent(bus.Instruction{Op: bus.Ping, ID: 2})
		// What is written to the one is written to the other.
		h.send(write(1, stsAcceleration, 1, 9))
		h.heard(1)
		v, err := h.b.Register(2, stsAcceleration)
		require.NoError(t, err)
		require.EqualValues(t, 9, v)
	})
}

// What the host sends while a servo answers damages both.
func TestHalfDuplex(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		read := func(id byte) bus.Instruction {
			return bus.Instruction{Op: bus.Read, ID: id, Addr: stsPosition, Count: 8}
		}
		h.send(read(1))
		time.Sleep(80*time.Microsecond + think + skews + 20*time.Microsecond) // in the midst of the answer
		h.send(read(2))
		out, _ := h.heard(2)
		require.Empty(t, out)
		h.read(1, stsPosition, 2) // and then all is well
		packets := h.rec.Packets()
		require.Len(t, packets, 5)
		require.True(t, packets[1].Collided && packets[2].Collided)
		require.False(t, packets[3].Collided || packets[4].Collided)

		// An answer that comes after the host has lost its patience meets the next instruction.
		require.NoError(t, h.b.Slow(1, time.Millisecond))
		h.send(read(1))
		time.Sleep(80*time.Microsecond + time.Millisecond)
		h.send(read(2))
		out, _ = h.heard(2)
		require.Empty(t, out)
	})
}

func TestAWrongRateIsGarbageOrNothing(t *testing.T) {
	for _, baud := range []int{9600, 57600, 115200, 250000, 500000, 2000000} {
		onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
			require.NoError(t, h.l.Close())
			var err error
			h.l, err = h.b.DialAt(baud)
			require.NoError(t, err)
			for _, id := range all() {
				h.silent(bus.Instruction{Op: bus.Ping, ID: id})
			}
			require.NoError(t, h.l.SetBaud(1_000_000))
			h.ask(bus.Instruction{Op: bus.Ping, ID: 1})
			// A servo that is told another rate answers once more at the old one.
			h.write(1, stsBaud, 1, 4)
			h.silent(bus.Instruction{Op: bus.Ping, ID: 1})
			h.ask(bus.Instruction{Op: bus.Ping, ID: 2})
			require.NoError(t, h.l.SetBaud(115200))
			h.ask(bus.Instruction{Op: bus.Ping, ID: 1})
		})
	}
}

func TestEveryNthAnswer(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		count := func() (good, damaged int) {
			for range 30 {
				h.send(bus.Instruction{Op: bus.Ping, ID: 3})
				out, bad := h.heard(1)
				good += len(out)
				damaged += min(bad, 1)
			}
			return good, damaged
		}
		h.b.Drop(10)
		good, damaged := count()
		require.Equal(t, 27, good)
		require.Zero(t, damaged)
		h.b.Drop(0)
		h.b.Garble(5)
		good, _ = count()
		require.Equal(t, 24, good)
		h.b.Garble(0)
		good, damaged = count()
		require.Equal(t, 30, good)
		require.Zero(t, damaged)
	})
}

func TestMuteHearsDetachedDoesNot(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		require.NoError(t, h.b.Mute(1, true))
		require.NoError(t, h.b.Detach(2, true))
		h.silent(write(1, stsAcceleration, 1, 7))
		h.silent(write(2, stsAcceleration, 1, 7))
		require.NoError(t, h.b.Mute(1, false))
		require.NoError(t, h.b.Detach(2, false))
		require.EqualValues(t, 7, h.read(1, stsAcceleration, 1))
		require.EqualValues(t, 0, h.read(2, stsAcceleration, 1))
		require.ErrorIs(t, h.b.Mute(9, true), robot.ErrCode(robot.CodeInvalidArgument))
	})
}

func TestNoise(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		require.NoError(t, h.b.Noise(1, 3))
		seen := map[uint32]bool{}
		for range 50 {
			at := h.read(1, stsPosition, 2)
			require.InDelta(t, 2048, at, 20)
			seen[at] = true
		}
		require.Greater(t, len(seen), 5)
		require.Zero(t, h.b.Shaft(1), "the shaft stands still")
	})
}

func TestPowerAndRestart(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		for _, id := range all() {
			h.write(id, stsTorque, 1, 1)
			h.write(id, stsAcceleration, 1, 9)
		}
		require.NoError(t, h.b.Restart(1))
		require.False(t, h.b.Powered(1))
		h.silent(bus.Instruction{Op: bus.Ping, ID: 1})
		time.Sleep(bootTime)
		require.Zero(t, h.read(1, stsTorque, 1))
		require.Zero(t, h.read(1, stsAcceleration, 1))
		require.EqualValues(t, 1, h.read(2, stsTorque, 1))

		h.b.PowerCut()
		for _, id := range all() {
			require.False(t, h.b.Powered(id))
			h.silent(bus.Instruction{Op: bus.Ping, ID: id})
		}
		h.b.PowerBack()
		h.silent(bus.Instruction{Op: bus.Ping, ID: 2})
		time.Sleep(bootTime)
		require.Zero(t, h.read(2, stsTorque, 1))

		h.write(2, stsAcceleration, 1, 9)
		h.silent(bus.Instruction{Op: bus.Reboot, ID: 2})
		time.Sleep(bootTime)
		require.Zero(t, h.read(2, stsAcceleration, 1))
	})
}

func TestUnplug(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		_, err := h.b.Dial()
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeBusy))
		h.write(1, stsTorque, 1, 1)
		h.send(syncWrite(stsGoal, 2, 3000, 1))
		time.Sleep(time.Millisecond)
		read := make(chan error)
		go func() {
			_, err := h.l.Read(make([]byte, 8))
			read <- err
		}()
		synctest.Wait()
		h.b.Unplug()
		require.ErrorIs(t, <-read, robot.ErrCode(robot.CodeDisconnected))
		_, err = h.l.Write([]byte{1})
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeDisconnected))
		_, err = h.b.Dial()
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeDisconnected))
		time.Sleep(2 * time.Second)
		require.InDelta(t, 952/ticksPerRad, h.b.Shaft(1), 1e-3, "the servos go on")
		h.b.Plug()
		_, err = h.l.Write([]byte{1})
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeDisconnected), "the old link stays lost")
		old := h.l
		h.dial()
		require.NoError(t, old.Close())
		require.EqualValues(t, 1, h.read(1, stsTorque, 1))
	})
}

func TestALinkEndsAsAPortDoes(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		read := make(chan error)
		look := func() {
			go func() {
				_, err := h.l.Read(make([]byte, 8))
				read <- err
			}()
			synctest.Wait()
		}
		look()
		require.NoError(t, h.l.SetReadDeadline(time.Now()))
		err := <-read
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeLinkTimeout))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, h.l.SetReadDeadline(time.Time{}))
		look()
		require.NoError(t, h.l.Close())
		err = <-read
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeDisconnected))
		require.ErrorIs(t, err, os.ErrClosed)
		require.NoError(t, h.l.Close())
		h.dial()
		h.ask(bus.Instruction{Op: bus.Ping, ID: 1})
	})
}

// A host that doesn't read holds nothing up.
func TestAReaderThatDoesNotCome(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		for range 200 {
			h.send(bus.Instruction{Op: bus.Read, ID: 1, Addr: 0, Count: 80})
			time.Sleep(2 * time.Millisecond)
		}
		require.Equal(t, 200*86-fifo, h.b.Lost())
	})
}

func TestGoalsInTheTrace(t *testing.T) {
	onBus(t, STS3215, func(t *testing.T, h *hostEnd) {
		h.write(2, stsGoal, 2, 2000)
		h.silent(syncWrite(stsAcceleration, 7, 0x0102, 1, 3)) // acceleration, goal, time, speed
		goals := h.rec.Writes(stsGoal, 2)
		require.Len(t, goals, 3)
		require.EqualValues(t, 2, goals[0].ID)
		require.EqualValues(t, 2000, get(goals[0].Data, 0, 2))
		require.EqualValues(t, 1, goals[1].ID)
		require.EqualValues(t, 3, goals[2].ID)
		require.EqualValues(t, 1, get(goals[2].Data, 0, 2))
		require.Greater(t, goals[1].At, goals[0].At)
	})
}

func TestWhatIsNoBus(t *testing.T) {
	for _, o := range []Options{
		{}, {Kind: STS3215}, {Kind: STS3215, IDs: []byte{1, 1}}, {Kind: STS3215, IDs: []byte{254}},
		{Kind: STS3215, IDs: []byte{1}, Baud: 9600}, {Kind: XL430, IDs: []byte{253}}, {Kind: XL430, IDs: []byte{1}, Baud: 500000},
	} {
		_, err := New(o)
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), "%+v", o)
	}
}
