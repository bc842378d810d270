package wire

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// crcBitwise is the division as the polynomial has it, a bit at a time.
func crcBitwise(p []byte) uint16 {
	c := uint16(0xFFFF)
	for _, b := range p {
		c ^= uint16(b) << 8
		for range 8 {
			top := c & 0x8000
			c <<= 1
			if top != 0 {
				c ^= 0x1021
			}
		}
	}
	return c
}

func TestCRCIsTheDocuments(t *testing.T) {
	require.EqualValues(t, 0x29B1, CRC([]byte("123456789")))
	require.EqualValues(t, 0x2E3E, CRC([]byte{1, 0}))
	require.EqualValues(t, 0xFFFF, CRC(nil))
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.SliceOf(rapid.Byte()).Draw(t, "p")
		require.Equal(t, crcBitwise(p), CRC(p))
	})
}

func TestTheDocumentsFrame(t *testing.T) {
	require.Equal(t, []byte{0x02, 0x01, 0x03, 0x3E, 0x2E, 0x00}, Append(nil, Frame{Type: TypeHello}))
}

// drawFrame draws a frame with any type, also ones that no version has.
func drawFrame(t *rapid.T) Frame {
	b := rapid.OneOf(rapid.Byte(), rapid.Just(byte(0)))
	return Frame{
		Type:    Type(rapid.Byte().Draw(t, "type")),
		Seq:     rapid.Byte().Draw(t, "seq"),
		Payload: rapid.SliceOfN(b, 0, MaxPayload).Draw(t, "payload"),
	}
}

// frames decodes p, handing it over in pieces of at most step bytes.
func frames(d *Decoder, p []byte, step int) []Frame {
	var out []Frame
	for len(p) > 0 {
		part := p[:min(step, len(p))]
		p = p[len(part):]
		for len(part) > 0 {
			n, f, ok := d.Next(part)
			part = part[n:]
			if ok {
				f.Payload = bytes.Clone(f.Payload)
				if f.Payload == nil {
					f.Payload = []byte{}
				}
				out = append(out, f)
			}
		}
	}
	return out
}

func TestFramesComeThroughNoise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d Decoder
		var line []byte
		var want []Frame
		for range rapid.IntRange(1, 8).Draw(t, "frames") {
			if rapid.Bool().Draw(t, "noisy") {
				// A zero ends whatever the noise was, as the document has it.
				line = append(line, rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "noise")...)
				line = append(line, 0)
			}
			f := drawFrame(t)
			before := len(line)
			line = Append(line, f)
			require.Equal(t, len(f.Payload)+Overhead, len(line)-before, "length on the wire")
			require.Equal(t, len(line)-1, before+bytes.IndexByte(line[before:], 0), "a zero within the frame")
			want = append(want, f)
		}
		got := frames(&d, line, rapid.IntRange(1, 100).Draw(t, "step"))
		// Noise is a frame by chance with 2^-16, so what was sent has to be there in
		// order and nothing but chance beside it.
		i := 0
		for _, f := range got {
			if i < len(want) && f.Type == want[i].Type && f.Seq == want[i].Seq && bytes.Equal(f.Payload, want[i].Payload) {
				i++
			}
		}
		require.Equal(t, len(want), i, "frames that arrived in order")
	})
}

func TestALostByteCostsOneFrame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawFrame(t), drawFrame(t), drawFrame(t)
		line := Append(nil, a)
		from := len(line)
		line = Append(line, b)
		cut := rapid.IntRange(from, len(line)-2).Draw(t, "cut") // not the delimiter
		to := len(line)
		line = Append(line, c)
		garbled := append(bytes.Clone(line[:cut]), line[cut+1:]...)
		var d Decoder
		got := frames(&d, garbled, len(garbled))
		require.GreaterOrEqual(t, len(got), 2)
		require.Equal(t, a, got[0])
		require.Equal(t, c, got[len(got)-1])
		if len(got) == 2 {
			require.EqualValues(t, 1, d.Dropped().Total(), "of the bytes %d to %d", from, to)
		}
	})
}

func TestDroppedFramesAreCountedByReason(t *testing.T) {
	good := Append(nil, Frame{Type: TypeGo, Seq: 3, Payload: []byte{1, 0}})
	for _, c := range []struct {
		name string
		wire []byte
		want Dropped
	}{
		{"two zeros", []byte{0, 0}, Dropped{}},
		{"one byte", []byte{1, 0}, Dropped{Short: 1}},
		{"three bytes", []byte{4, 1, 2, 3, 0}, Dropped{Short: 1}},
		{"a code beyond the end", []byte{9, 1, 2, 3, 4, 5, 0}, Dropped{Coding: 1}},
		{"a wrong check", []byte{5, 1, 2, 3, 4, 0}, Dropped{Check: 1}},
		{"too long", append(bytes.Repeat([]byte{1}, MaxFrame), 0), Dropped{Long: 1}},
		{"endless", append(bytes.Repeat([]byte{7}, 10*MaxFrame), 0), Dropped{Long: 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d Decoder
			require.Empty(t, frames(&d, c.wire, len(c.wire)))
			require.Equal(t, c.want, d.Dropped())
			require.Len(t, frames(&d, good, 1), 1, "it is in step again")
			require.Equal(t, c.want, d.Dropped())
		})
	}
}

func TestTheLongestFrame(t *testing.T) {
	f := Frame{Type: 0xFF, Seq: 0xFF, Payload: bytes.Repeat([]byte{0}, MaxPayload)}
	line := Append(nil, f)
	require.Len(t, line, MaxFrame)
	var d Decoder
	require.Equal(t, []Frame{f}, frames(&d, line, 7))
	require.Empty(t, Append(nil, Frame{Payload: make([]byte, MaxPayload+1)}), "one byte more can't be sent")
}

func TestResetForgetsHalfAFrame(t *testing.T) {
	good := Append(nil, Frame{Type: TypeGo, Payload: []byte{}})
	var d Decoder
	require.Empty(t, frames(&d, good[:3], 1))
	d.Reset()
	require.Len(t, frames(&d, good, 1), 1)
	require.Zero(t, d.Dropped())
}

func TestMissingFramesAreCounted(t *testing.T) {
	var m Missing
	require.Zero(t, m.Take(250), "the first number is taken as it is")
	require.Zero(t, m.Take(251))
	require.Equal(t, 6, m.Take(2))
	require.EqualValues(t, 6, m.Count())
	m.Reset()
	require.Zero(t, m.Take(0))
	require.EqualValues(t, 6, m.Count())
	require.Equal(t, 255, m.Take(0), "one that came twice is 255 short of the next")
}

func TestDecodingAllocatesNothing(t *testing.T) {
	line := Append(Append([]byte{1, 2, 0}, Frame{Type: TypeStatus, Payload: make([]byte, 52)}), Frame{Type: TypeAck, Payload: make([]byte, 5)})
	var d Decoder
	var s Status
	s.Setpoints = make([]int32, 0, MaxJoints)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		for p := line; len(p) > 0; {
			n, f, ok := d.Next(p)
			p = p[n:]
			if ok && f.Type == TypeStatus && s.Parse(f.Payload) != nil {
				t.Fatal("a status of zeros is one")
			}
		}
	}))
}
