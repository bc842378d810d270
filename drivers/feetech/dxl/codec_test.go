package dxl_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/bus/bustest"
	"github.com/tau-robot/tau/drivers/feetech/dxl"
)

const vectors = "../../../testdata/servobus/dynamixel.txt"

var limits = bustest.Limits{LastID: 252, LastAddr: 65535, Count: 800, LastError: 255}

// good says of a packet's bytes what the maker's description says, the CRC bit by bit.
func good(b []byte) bool {
	if len(b) < 11 || string(b[:4]) != "\xff\xff\xfd\x00" || b[4] > 252 || b[7] != 0x55 || len(b) > 1024 || int(b[5])+256*int(b[6]) != len(b)-7 {
		return false
	}
	body := b[7 : len(b)-2]
	for k := range body {
		if k >= 2 && string(body[k-2:k+1]) == "\xff\xff\xfd" && (k+1 == len(body) || body[k+1] != 0xFD) {
			return false
		}
	}
	reg := 0
	for _, v := range b[:len(b)-2] {
		for bit := 7; bit >= 0; bit-- {
			top := reg>>15 ^ int(v)>>bit&1
			reg = reg << 1 & 0xFFFF
			if top == 1 {
				reg ^= 0x8005
			}
		}
	}
	return reg == int(b[len(b)-2])+256*int(b[len(b)-1])
}

func TestVectors(t *testing.T)      { bustest.Vectors(t, dxl.New(), vectors) }
func TestStreams(t *testing.T)      { bustest.Streams(t, dxl.New(), limits, good) }
func TestPieces(t *testing.T)       { bustest.Pieces(t, dxl.New(), limits) }
func TestInstructions(t *testing.T) { bustest.Instructions(t, dxl.New(), limits) }
func FuzzStatus(f *testing.F)       { bustest.FuzzStatus(f, dxl.New(), vectors) }
func FuzzInstruction(f *testing.F)  { bustest.FuzzInstruction(f, dxl.New(), vectors) }

func TestCodecSaysWhatItIs(t *testing.T) {
	c := dxl.New()
	require.Equal(t, "dynamixel 2.0", c.Name())
	require.Equal(t, 11, c.StatusSize(0))
	require.Equal(t, len(c.AppendStatus(nil, bus.Status{ID: 1, Params: make([]byte, 15)})), c.StatusSize(15))
	require.Equal(t, 3, c.PingParams())
	require.True(t, c.AnswersReboot())
}

// An answer with the alert bit is an answer; one with a number says no.
func TestRefusals(t *testing.T) {
	c := dxl.New()
	require.Empty(t, c.Refused(0))
	require.Empty(t, c.Refused(0x80))
	seen := map[string]bool{}
	for n := byte(1); n < 128; n++ {
		why := c.Refused(n)
		require.NotEmpty(t, why)
		require.False(t, seen[why], why)
		seen[why] = true
		require.Equal(t, why, c.Refused(n|0x80))
	}
	require.True(t, dxl.Alert(0x81))
	require.False(t, dxl.Alert(1))
}

// A servo's packet can't be taken for a host's, nor the other way round.
func TestSidesAreApart(t *testing.T) {
	c := dxl.New()
	for _, w := range bustest.Lines(t, vectors) {
		switch w[0] {
		case "instruction":
			require.Empty(t, bustest.Packets(c, bustest.Hex(t, w[1])), w[1])
		case "status":
			_, _, err := c.ParseInstruction(bustest.Hex(t, w[1]))
			require.ErrorIs(t, err, bus.ErrMore, w[1])
			require.False(t, c.Instruction(bus.Status{}))
		}
	}
}

// A packet of an instruction that a bus never sends is whole all the same.
func TestAnotherInstructionIsWhole(t *testing.T) {
	c := dxl.New()
	p := c.AppendStatus(nil, bus.Status{ID: 1, Error: 5})
	p[7] = 0x92 // bulk read
	for v := range 1 << 16 {
		p[9], p[10] = byte(v), byte(v>>8)
		if i, n, err := c.ParseInstruction(p); err == nil {
			require.Equal(t, len(p), n)
			require.Equal(t, bus.Instruction{ID: 1, Count: 2, Data: []byte{0x92, 5}}, i)
			return
		}
	}
	t.Fatal("no sum fits")
}

func TestBauds(t *testing.T) {
	require.Equal(t, 57_600, dxl.Baud(1))
	require.Equal(t, 1_000_000, dxl.Baud(3))
	require.Equal(t, 4_000_000, dxl.Baud(6))
	require.Zero(t, dxl.Baud(7))
	require.Zero(t, dxl.Baud(-1))
}

func TestTable(t *testing.T) {
	bustest.Table(t, "dxl", dxl.Registers(), dxl.Kept, false)
	bustest.Values(t, "dxl", dxl.Registers())
}
