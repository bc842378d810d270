package bustest

import (
	"encoding/hex"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/robot"
)

// Lines reads a file of testdata/servobus, named from the test's folder: its lines as
// words, without comments.
func Lines(t testing.TB, file string) [][]string {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	var out [][]string
	for line := range strings.Lines(string(raw)) {
		line, _, _ = strings.Cut(line, "#")
		if w := strings.Fields(line); len(w) > 0 {
			out = append(out, w)
		}
	}
	require.NotEmpty(t, out)
	return out
}

// Hex is the bytes of a word; "-" is none.
func Hex(t testing.TB, s string) []byte {
	t.Helper()
	if s == "-" {
		return nil
	}
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

func number(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

// instruction reads OP ID ADDR COUNT IDS DATA.
func instruction(t testing.TB, w []string) bus.Instruction {
	t.Helper()
	require.Len(t, w, 6)
	i := bus.Instruction{
		Op: map[string]bus.Op{
			"ping": bus.Ping, "read": bus.Read, "write": bus.Write,
			"sync_read": bus.SyncRead, "sync_write": bus.SyncWrite, "reboot": bus.Reboot,
		}[w[0]],
		ID: byte(number(t, w[1])), Count: number(t, w[3]), Data: Hex(t, w[5]),
	}
	addr := number(t, w[2])
	i.Addr = uint16(addr)
	if w[4] != "-" {
		for s := range strings.SplitSeq(w[4], ",") {
			i.IDs = append(i.IDs, byte(number(t, s)))
		}
	}
	return i
}

// Vectors holds a codec to a file of testdata/servobus.
func Vectors(t *testing.T, c bus.Codec, file string) {
	seen := map[string]int{}
	for _, w := range Lines(t, file) {
		seen[w[0]]++
		name := strings.Join(w, " ")
		switch w[0] {
		case "instruction":
			i, packet := instruction(t, w[2:]), Hex(t, w[1])
			out, err := c.Append([]byte{1, 2}, i)
			require.NoError(t, err, name)
			require.Equal(t, append([]byte{1, 2}, packet...), out, name)
			got, n, err := c.ParseInstruction(packet)
			require.NoError(t, err, name)
			require.Equal(t, len(packet), n, name)
			// What was read outlives what is made then.
			c.AppendStatus(nil, bus.Status{ID: 7, Params: []byte{1, 2, 3, 4, 5, 6, 7}})
			requireInstruction(t, i, got, name)
		case "status":
			s, packet := bus.Status{ID: byte(number(t, w[2])), Error: byte(number(t, w[3])), Params: Hex(t, w[4])}, Hex(t, w[1])
			require.Equal(t, append([]byte{7}, packet...), c.AppendStatus([]byte{7}, s), name)
			got, n, err := c.Parse(packet)
			require.NoError(t, err, name)
			require.Equal(t, len(packet), n, name)
			c.AppendStatus(nil, bus.Status{ID: 7, Params: []byte{1, 2, 3, 4, 5, 6, 7}})
			require.Equal(t, s.ID, got.ID, name)
			require.Equal(t, s.Error, got.Error, name)
			require.Equal(t, s.Params, append([]byte(nil), got.Params...), name)
			for k := range packet {
				_, n, err := c.Parse(packet[:k])
				require.ErrorIs(t, err, bus.ErrMore, "%s: the first %d bytes", name, k)
				require.Zero(t, n, "%s: the first %d bytes", name, k)
			}
		case "stream":
			var want [][]byte
			for _, p := range w[2:] {
				if p != "-" {
					want = append(want, Hex(t, p))
				}
			}
			require.Equal(t, want, Packets(c, Hex(t, w[1])), name)
		case "damaged":
			_, n, err := c.Parse(Hex(t, w[2]))
			var d *bus.Damaged
			require.ErrorAs(t, err, &d, name)
			require.Contains(t, err.Error(), w[1], name)
			require.Positive(t, n, name)
		case "refused":
			addr := number(t, w[3])
			i := instruction(t, w[1:])
			if addr != int(i.Addr) {
				t.Fatalf("%s: an address of more than 16 bits can't be asked for", name)
			}
			out, err := c.Append([]byte{1, 2}, i)
			require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err), "%s: %v", name, err)
			require.Equal(t, []byte{1, 2}, out, name)
		default:
			t.Fatalf("%s: no line of this format", name)
		}
	}
	for _, kind := range []string{"instruction", "status", "stream", "damaged", "refused"} {
		require.Positive(t, seen[kind], kind)
	}
}

func requireInstruction(t require.TestingT, want, got bus.Instruction, name string) {
	none := func(b []byte) []byte {
		if len(b) == 0 {
			return nil
		}
		return append([]byte(nil), b...)
	}
	want.IDs, want.Data, got.IDs, got.Data = none(want.IDs), none(want.Data), none(got.IDs), none(got.Data)
	require.Equal(t, want, got, name)
}

// Packets returns the packets of servos in b, one after the other, as a Bus finds them:
// where nothing more comes, what looked like the beginning of one is passed over.
func Packets(c bus.Codec, b []byte) (out [][]byte) {
	for len(b) > 0 {
		s, n, err := c.Parse(b)
		if err == nil {
			out = append(out, c.AppendStatus(nil, s))
		}
		b = b[n:]
		if errors.Is(err, bus.ErrMore) && len(b) > 0 {
			b = b[1:]
		}
	}
	return out
}
