package wire

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// seeds hands the words of a file of testdata/wire that are at a place in its lines to
// a fuzz target's corpus.
func seeds(f *testing.F, file string, add func(words []string)) {
	f.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "wire", file))
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		line, _, _ = strings.Cut(line, "#")
		if w := strings.Fields(line); len(w) > 2 {
			add(w)
		}
	}
}

// FuzzDecoder: whatever comes, however it is cut, gives the same frames; each of them
// is one that Append makes; nothing but what was seen is counted; and after a zero the
// decoder is in step.
func FuzzDecoder(f *testing.F) {
	seeds(f, "frames.txt", func(w []string) {
		if b, err := hex.DecodeString(w[2]); err == nil {
			f.Add(b, byte(3))
		}
	})
	f.Fuzz(func(t *testing.T, line []byte, step byte) {
		var whole, parts Decoder
		a := frames(&whole, line, len(line)+1)
		b := frames(&parts, line, int(step)+1)
		if len(a) != len(b) || whole.Dropped() != parts.Dropped() {
			t.Fatalf("%d frames and %+v at once, %d and %+v in parts", len(a), whole.Dropped(), len(b), parts.Dropped())
		}
		var again []byte
		for i := range a {
			if a[i].Type != b[i].Type || a[i].Seq != b[i].Seq || !bytes.Equal(a[i].Payload, b[i].Payload) {
				t.Fatalf("frame %d is %+v at once, %+v in parts", i, a[i], b[i])
			}
			again = Append(again, a[i])
			if !bytes.Contains(line, again[len(again)-len(a[i].Payload)-Overhead:]) {
				t.Fatalf("frame %+v was never sent", a[i])
			}
		}
		if n := uint64(len(a)) + whole.Dropped().Total(); n > uint64(bytes.Count(line, []byte{0})) {
			t.Fatalf("%d frames in %d", n, bytes.Count(line, []byte{0}))
		}
		good := Append([]byte{0}, Frame{Type: TypeStop, Payload: []byte{0}})
		if got := frames(&whole, good, 1); len(got) == 0 || got[len(got)-1].Type != TypeStop {
			t.Fatal("it isn't in step after a zero")
		}
	})
}

// FuzzParse: a payload is refused with a name, or is exactly what the message sends.
func FuzzParse(f *testing.F) {
	seeds(f, "messages.txt", func(w []string) {
		kind, err := hex.DecodeString(w[1])
		if err != nil || len(kind) != 1 {
			return
		}
		if b, err := hex.DecodeString(strings.ReplaceAll(w[2], "-", "")); err == nil {
			f.Add(kind[0], b)
		}
	})
	f.Fuzz(func(t *testing.T, kind byte, payload []byte) {
		m := newMessage(Type(kind))
		if m == nil {
			return
		}
		before := bytes.Clone(payload)
		err := m.Parse(payload)
		if !bytes.Equal(before, payload) {
			t.Fatal("it wrote into the payload")
		}
		if err != nil {
			if !strings.Contains(err.Error(), Type(kind).String()) {
				t.Fatalf("%v doesn't name %s", err, Type(kind))
			}
			return
		}
		line, err := m.Append(nil, 7)
		if err != nil {
			t.Fatalf("it is taken and can't be sent: %v", err)
		}
		if want := Append(nil, Frame{Type: Type(kind), Seq: 7, Payload: payload}); !bytes.Equal(want, line) {
			t.Fatalf("%x comes back as %x", want, line)
		}
		// Parsing again into what was used before changes nothing.
		if err := m.Parse(payload); err != nil {
			t.Fatal(err)
		}
		if line2, _ := m.Append(nil, 7); !bytes.Equal(line, line2) {
			t.Fatal("a message that is used again isn't the same")
		}
	})
}

// FuzzPiece: no number of a piece does more than overflow 32 bits, and then it is refused.
func FuzzPiece(f *testing.F) {
	f.Add(int32(0), int32(0), int32(100), int32(0), byte(20))
	f.Add(int32(-MaxQ), int32(MaxV), int32(MaxQ), int32(-MaxV), byte(100))
	f.Fuzz(func(t *testing.T, q0, v0, q1, v1 int32, ticks byte) {
		p := Piece{Q0: q0, V0: v0, Q1: q1, V1: v1, Ticks: int(ticks)}
		l := Limits{Lower: -MaxQ, Upper: MaxQ, V: MaxV, A: MaxA, Ramp: MaxRamp}
		if ticks < 1 || ticks > MaxTicks || q0 < -MaxQ || q0 > MaxQ || v0 < -MaxV || v0 > MaxV || p.Ends(l) != CodeOK {
			return
		}
		for tick := range p.Ticks {
			if tick > 0 && at32(p, tick) != p.At(tick) {
				t.Fatalf("%+v at %d: %d, %d in 64 bits", p, tick, at32(p, tick), p.At(tick))
			}
		}
		if _, err := NewBrake([]Point{p.Braking(float64(p.Ticks))}, []Limits{l}); err != nil {
			t.Fatal(err)
		}
	})
}
