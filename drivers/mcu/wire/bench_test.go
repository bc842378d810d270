package wire

import "testing"

// What a host does 200 times a second.

func BenchmarkSegmentAppend(b *testing.B) {
	s := Segment{Ticks: 5, Knots: []Knot{{Q: 384000, V: 25600}, {Q: 384000, V: -25600}, {Q: 1, V: 2}}}
	buf := make([]byte, 0, MaxFrame)
	b.ReportAllocs()
	for b.Loop() {
		line, err := s.Append(buf, 7)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(line)))
	}
}

func BenchmarkDecodeStatus(b *testing.B) {
	line, err := Status{State: Moving, FaultChannel: NoChannel, Setpoints: []int32{1, 2, 3}}.Append(nil, 7)
	if err != nil {
		b.Fatal(err)
	}
	var d Decoder
	s := Status{Setpoints: make([]int32, 0, MaxJoints)}
	b.ReportAllocs()
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		_, f, ok := d.Next(line)
		if !ok || s.Parse(f.Payload) != nil {
			b.Fatal("it isn't one")
		}
	}
}

func BenchmarkFits(b *testing.B) {
	l := Limits{Lower: -1e6, Upper: 1e6, V: 51200, A: 131072, Ramp: 50, Referenced: true}
	p := Piece{V0: 25600, Q1: 2000, V1: 25600, Ticks: 20}
	pieces, limits := []Piece{p, p, p}, []Limits{l, l, l}
	b.ReportAllocs()
	for b.Loop() {
		if code, _ := Fits(pieces, limits, false); code != CodeOK {
			b.Fatal(code)
		}
	}
}
