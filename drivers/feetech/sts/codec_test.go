package sts_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/feetech/bus/bustest"
	"github.com/tau-robot/tau/drivers/feetech/sts"
	"github.com/tau-robot/tau/robot"
)

const vectors = "../../../testdata/servobus/feetech.txt"

var limits = bustest.Limits{LastID: 253, LastAddr: 255, Count: 200, LastError: 0x7F}

// good says of a packet's bytes what the maker's description says.
func good(b []byte) bool {
	if len(b) < 6 || b[0] != 255 || b[1] != 255 || b[2] > 253 || int(b[3]) != len(b)-4 || b[3] > 250 || b[4] > 127 {
		return false
	}
	total := 0
	for _, v := range b[2 : len(b)-1] {
		total += int(v)
	}
	return int(b[len(b)-1]) == 255-total%256
}

func TestVectors(t *testing.T)      { bustest.Vectors(t, sts.New(), vectors) }
func TestStreams(t *testing.T)      { bustest.Streams(t, sts.New(), limits, good) }
func TestPieces(t *testing.T)       { bustest.Pieces(t, sts.New(), limits) }
func TestInstructions(t *testing.T) { bustest.Instructions(t, sts.New(), limits) }
func FuzzStatus(f *testing.F)       { bustest.FuzzStatus(f, sts.New(), vectors) }
func FuzzInstruction(f *testing.F)  { bustest.FuzzInstruction(f, sts.New(), vectors) }

func TestCodecSaysWhatItIs(t *testing.T) {
	c := sts.New()
	require.Equal(t, "feetech", c.Name())
	require.Equal(t, 6, c.StatusSize(0))
	require.Equal(t, len(c.AppendStatus(nil, bus.Status{ID: 1, Params: make([]byte, 15)})), c.StatusSize(15))
	require.Zero(t, c.PingParams())
	require.False(t, c.AnswersReboot())
	for e := range byte(128) {
		require.Empty(t, c.Refused(e))
	}
}

// A packet of an instruction that a bus never sends is whole all the same.
func TestAnotherInstructionIsWhole(t *testing.T) {
	c := sts.New()
	i, n, err := c.ParseInstruction([]byte{255, 255, 254, 2, 5, 250, 9})
	require.NoError(t, err)
	require.Equal(t, 6, n)
	require.Equal(t, bus.Instruction{ID: 254, Count: 1, Data: []byte{5}}, i)
	i, _, err = c.ParseInstruction(bustest.Hex(t, "FFFF0109042A00080000E803D4"))
	require.NoError(t, err)
	require.Equal(t, bus.Instruction{ID: 1, Count: 8, Data: bustest.Hex(t, "042A00080000E803")}, i)
}

// The same bytes, said by a servo and by a host.
func TestAnswersThatAreInstructions(t *testing.T) {
	c := sts.New()
	same := 0
	for id := range 3 {
		for e := range 128 {
			for n := range 4 {
				s := bus.Status{ID: byte(id), Error: byte(e), Params: []byte{40, 1, 7, 9}[:n]}
				i, _, err := c.ParseInstruction(c.AppendStatus(nil, s))
				known := err == nil && i.Op != 0
				require.Equal(t, known, c.Instruction(s), "error %d with %d parameters", e, n)
				if known {
					same++
				}
			}
		}
	}
	require.Equal(t, 3*5, same) // ping, restart, read, and a write of one and of two bytes
}

func TestAHomingOffsetOfHalfATurnIsRefused(t *testing.T) {
	b, err := sts.HomingOffset.Append([]byte{9}, 2048)
	require.Equal(t, robot.CodeInvalidArgument, robot.CodeOf(err))
	require.ErrorContains(t, err, "2048")
	require.ErrorContains(t, err, "2047")
	require.ErrorContains(t, err, "homing_offset")
	require.Equal(t, []byte{9}, b)
	// The newer servos' twelfth bit is read as what it is, not as what is left without it.
	v, ok := sts.HomingOffset.Value([]byte{5, 0x10})
	require.True(t, ok)
	require.EqualValues(t, 2053, v)
	v, _ = sts.HomingOffset.Value([]byte{5, 0x18})
	require.EqualValues(t, -2053, v)
}

func TestBauds(t *testing.T) {
	require.Equal(t, 1_000_000, sts.Baud(0))
	require.Equal(t, 76_800, sts.Baud(5))
	require.Equal(t, 38_400, sts.Baud(7))
	require.Zero(t, sts.Baud(8))
	require.Zero(t, sts.Baud(-1))
}

func TestTable(t *testing.T) {
	bustest.Table(t, "sts", sts.Registers(), sts.Kept, true)
	bustest.Values(t, "sts", sts.Registers())
}
