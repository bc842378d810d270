package bustest

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/drivers/feetech/bus"
)

// Limits of what a codec's packets can say.
type Limits struct {
	LastID, LastAddr, Count int
	LastError               byte
}

// Naive is a codec's rule said a second time, as plainly as can be: whether b is, to the last
// byte, one good packet of a servo.
type Naive func(b []byte) bool

// naively finds the packets in b: at each place from the left on the good one that begins
// there, whole.
func naively(good Naive, b []byte) (out [][]byte) {
	for i := 0; i < len(b); {
		n := 0
		for k := i + 1; k <= len(b) && n == 0; k++ {
			if good(b[i:k]) {
				n = k - i
			}
		}
		if n > 0 {
			out = append(out, bytes.Clone(b[i:i+n]))
		}
		i += max(1, n)
	}
	return out
}

// pieces are what garbage is made of: bytes that headers have are likelier.
func garbage(n int) *rapid.Generator[[]byte] {
	b := rapid.OneOf(rapid.Byte(), rapid.SampledFrom([]byte{0xFF, 0xFF, 0xFD, 0x00, 0x01, 0x02, 0x04, 0x55}))
	return rapid.SliceOfN(b, 0, n)
}

func statuses(l Limits, params int) *rapid.Generator[bus.Status] {
	return rapid.Custom(func(t *rapid.T) bus.Status {
		return bus.Status{
			ID:     byte(rapid.IntRange(0, l.LastID).Draw(t, "id")),
			Error:  byte(rapid.IntRange(0, int(l.LastError)).Draw(t, "error")),
			Params: garbage(params).Draw(t, "params"),
		}
	})
}

// Streams checks that among any garbage, around packets, in them and instead of their
// ends, exactly the good packets are found, and none that isn't good.
func Streams(t *testing.T, c bus.Codec, l Limits, good Naive) {
	rapid.Check(t, func(t *rapid.T) {
		var b []byte
		for range rapid.IntRange(1, 5).Draw(t, "packets") {
			b = append(b, garbage(6).Draw(t, "garbage")...)
			p := c.AppendStatus(nil, statuses(l, 8).Draw(t, "status"))
			at := rapid.IntRange(0, len(p)-1).Draw(t, "at")
			switch rapid.IntRange(0, 5).Draw(t, "harm") {
			case 0:
				p[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
			case 1:
				p = p[:at]
			case 2:
				p = append(p[:at], p[at+1:]...)
			case 3:
				p = append(bytes.Clone(p[:at]), append(garbage(3).Draw(t, "inside"), p[at:]...)...)
			}
			b = append(b, p...)
		}
		got := Packets(c, b)
		for _, p := range got {
			require.True(t, good(p), "%X isn't a good packet", p)
			require.True(t, bytes.Contains(b, p), "%X isn't there", p)
		}
		require.Equal(t, naively(good, b), got, "%X", b)
	})
}

// Pieces checks that it doesn't matter in which pieces bytes arrive.
func Pieces(t *testing.T, c bus.Codec, l Limits) {
	rapid.Check(t, func(t *rapid.T) {
		var b []byte
		for range rapid.IntRange(1, 4).Draw(t, "packets") {
			b = append(b, garbage(4).Draw(t, "garbage")...)
			b = c.AppendStatus(b, statuses(l, 8).Draw(t, "status"))
		}
		var whole, apart [][]byte
		rest := bytes.Clone(b)
		for {
			s, n, err := c.Parse(rest)
			if err == nil {
				whole = append(whole, c.AppendStatus(nil, s))
			}
			rest = rest[n:]
			if errors.Is(err, bus.ErrMore) {
				break
			}
		}
		var have []byte
		for len(b) > 0 {
			k := rapid.IntRange(1, len(b)).Draw(t, "piece")
			have, b = append(have, b[:k]...), b[k:]
			for {
				s, n, err := c.Parse(have)
				if err == nil {
					apart = append(apart, c.AppendStatus(nil, s))
				}
				have = have[n:]
				if errors.Is(err, bus.ErrMore) {
					break
				}
			}
		}
		require.Equal(t, whole, apart)
		require.Equal(t, rest, append([]byte{}, have...))
	})
}

// Instructions checks that what Append makes says what it was told, between garbage too.
func Instructions(t *testing.T, c bus.Codec, l Limits) {
	rapid.Check(t, func(t *rapid.T) {
		i := bus.Instruction{
			Op: rapid.SampledFrom([]bus.Op{bus.Ping, bus.Read, bus.Write, bus.SyncRead, bus.SyncWrite, bus.Reboot}).Draw(t, "op"),
			ID: byte(rapid.IntRange(0, l.LastID).Draw(t, "id")),
		}
		switch i.Op {
		case bus.SyncRead, bus.SyncWrite:
			i.ID = bus.Broadcast
			i.IDs = rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) byte {
				return byte(rapid.IntRange(0, l.LastID).Draw(t, "of"))
			}), 1, 6, rapid.ID[byte]).Draw(t, "ids")
		}
		if i.Op != bus.Ping && i.Op != bus.Reboot {
			i.Count = rapid.IntRange(1, 8).Draw(t, "count")
			i.Addr = uint16(rapid.IntRange(0, l.LastAddr-i.Count+1).Draw(t, "addr"))
		}
		switch i.Op {
		case bus.Write:
			i.Data = rapid.SliceOfN(rapid.Byte(), i.Count, i.Count).Draw(t, "data")
		case bus.SyncWrite:
			i.Data = rapid.SliceOfN(rapid.Byte(), i.Count*len(i.IDs), i.Count*len(i.IDs)).Draw(t, "data")
		}
		p, err := c.Append(nil, i)
		require.NoError(t, err)
		got, n, err := c.ParseInstruction(p)
		require.NoError(t, err)
		require.Equal(t, len(p), n)
		requireInstruction(t, i, got, "")
		for k := range p {
			_, n, err := c.ParseInstruction(p[:k])
			require.ErrorIs(t, err, bus.ErrMore)
			require.Zero(t, n)
		}
	})
}
