package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/bus/bustest"
	"github.com/tau-robot/tau/robot"
)

func TestScan(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		r.servo(3).Mute = true
		if c().PingParams() > 0 {
			r.servo(6).Ping = []byte{0x24, 0x04, 45}
		}
		start := time.Now()
		found, err := r.bus.Scan(t.Context(), bus.ScanOptions{})
		require.NoError(t, err)
		require.Less(t, time.Since(start), 8*time.Second)
		var got []byte
		for _, f := range found {
			got = append(got, f.ID)
			require.Equal(t, bus.Found{ID: f.ID, Pong: f.Pong, Asked: 5, Good: 5}, f)
			require.Equal(t, c().PingParams() > 0, f.Pong.Named)
		}
		require.Equal(t, []byte{1, 2, 4, 5, 6}, got)
		if c().PingParams() > 0 {
			require.Equal(t, bus.Pong{Model: 1060, Firmware: 45, Named: true}, found[4].Pong)
		}
		r.servo(3).Mute = false
		r.reads(3, 20, 2)
	})
}

// One damaged answer is what happens on any line.
func TestAScanForgivesOneDamagedAnswer(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		for bad := range 4 {
			r := six(t, c, bus.Options{Echo: bus.NoEcho})
			n := 0
			r.servos.Spoil = func(p []byte) []byte {
				if n++; n <= bad {
					p[len(p)-1] ^= 1
				}
				return p
			}
			found, err := r.bus.Scan(t.Context(), bus.ScanOptions{IDs: []byte{2}})
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.Equal(t, bad > 1, found[0].Shared)
			require.Equal(t, bad, found[0].Bad)
			require.Equal(t, 5-bad, found[0].Good)
		}
	})
}

// Two that answer one after the other are heard twice; two that answer a Ping with the
// same bits at the same time are heard as one, but not what they measure.
func TestAScanHearsTwoServos(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		r.servos.Servos[1].ID = 1
		found, err := r.bus.Scan(t.Context(), bus.ScanOptions{IDs: ids})
		require.NoError(t, err)
		require.Equal(t, byte(1), found[0].ID)
		require.True(t, found[0].Shared)
		require.Equal(t, 5, found[0].Doubled)
		require.Len(t, found, 5)

		// Both drive the line: a bit is 0 where one of them says so.
		wired := func(sent []byte) []bustest.Piece {
			p := r.servos.Answer(sent)
			if len(p) != 2 {
				return p
			}
			for k := range p[1].Bytes {
				p[0].Bytes[k] &= p[1].Bytes[k]
			}
			return p[:1]
		}
		r.line.Answer = wired
		found, err = r.bus.Scan(t.Context(), bus.ScanOptions{IDs: ids})
		require.NoError(t, err)
		require.False(t, found[0].Shared)
		found, err = r.bus.Scan(t.Context(), bus.ScanOptions{IDs: ids, Addr: 56, Count: 15})
		require.NoError(t, err)
		require.True(t, found[0].Shared)
		for _, f := range found[1:] {
			require.False(t, f.Shared)
		}
	})
}

func TestAScanEndsWithItsContext(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		start := time.Now()
		found, err := r.bus.Scan(ctx, bus.ScanOptions{})
		require.Equal(t, robot.CodeCancelled, robot.CodeOf(err))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotEmpty(t, found)
		require.Less(t, len(found), 6)
		require.Less(t, time.Since(start), 650*time.Millisecond)
	})
}

func TestFindBaud(t *testing.T) {
	both(t, func(t *testing.T, c func() bus.Codec) {
		r := six(t, c, bus.Options{})
		const set = 115_200
		var opened, closed int
		open := func(_ context.Context, baud int) (bus.Line, error) {
			opened++
			l := bustest.NewLine(baud)
			l.Answer = func(sent []byte) []bustest.Piece {
				switch {
				case baud == set:
					return r.servos.Answer(sent)
				case baud > set:
					return []bustest.Piece{{Bytes: []byte{0, 0xF8}}} // they hear noise, and say nothing
				}
				return nil
			}
			return &counted{l, &closed}, nil
		}
		rates, err := bus.FindBaud(t.Context(), open, c(), bus.Options{}, []int{1_000_000, set, 57_600}, []byte{1, 6, 9})
		require.NoError(t, err)
		require.Len(t, rates, 3)
		require.Equal(t, bus.Rate{Baud: 1_000_000}, rates[0], "noise is nobody")
		require.Equal(t, bus.Rate{Baud: set, IDs: []byte{1, 6}}, rates[1])
		require.Equal(t, bus.Rate{Baud: 57_600}, rates[2])
		require.Equal(t, 3, opened)
		require.Equal(t, 3, closed)

		refuse := func(context.Context, int) (bus.Line, error) {
			return nil, robot.Errf(robot.CodeBusy, "port x", "another process has it")
		}
		_, err = bus.FindBaud(t.Context(), refuse, c(), bus.Options{}, []int{1_000_000}, ids)
		require.Equal(t, robot.CodeBusy, robot.CodeOf(err))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = bus.FindBaud(ctx, open, c(), bus.Options{}, []int{1_000_000}, ids)
		require.Equal(t, robot.CodeCancelled, robot.CodeOf(err))
		require.Equal(t, opened, closed)
	})
}

type counted struct {
	*bustest.Line
	closed *int
}

func (c *counted) Close() error {
	*c.closed++
	return c.Line.Close()
}
