package wire

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// drawPiece draws a piece that a joint with the largest limits may be sent.
func drawPiece(t *rapid.T) Piece {
	p := Piece{
		Q0:    rapid.Int32Range(-MaxQ/2, MaxQ/2).Draw(t, "q0"),
		V0:    rapid.Int32Range(-MaxV, MaxV).Draw(t, "v0"),
		V1:    rapid.Int32Range(-MaxV, MaxV).Draw(t, "v1"),
		Ticks: rapid.IntRange(1, MaxTicks).Draw(t, "ticks"),
	}
	most := int32(int64(MaxV) * int64(p.Ticks) / 256)
	p.Q1 = p.Q0 + rapid.Int32Range(-most, most).Draw(t, "way")
	return p
}

// at32 is the document's piece with nothing wider than 32 bits, as a small machine
// has it; it panics where a sum doesn't fit.
func at32(p Piece, t int) int32 {
	narrow := func(x int64) int32 {
		if x < math.MinInt32 || x > math.MaxInt32 {
			panic("more than 32 bits")
		}
		return int32(x)
	}
	times := func(u uint32, c int32) int32 {
		high := narrow(int64(u) * int64(c>>16))
		low := u * uint32(c&0xFFFF)
		if uint64(u)*uint64(uint32(c&0xFFFF)) > math.MaxUint32 {
			panic("more than 32 bits")
		}
		return narrow(int64(high) + int64(low>>16))
	}
	d0, d1 := narrow(int64(p.V0)*int64(p.Ticks))>>8, narrow(int64(p.V1)*int64(p.Ticks))>>8
	d := narrow(int64(p.Q1) - int64(p.Q0))
	c2 := narrow(int64(narrow(3*int64(d))) - 2*int64(d0) - int64(d1))
	c3 := narrow(int64(d0) + int64(d1) - 2*int64(d))
	u := uint32(t) * 65536 / uint32(p.Ticks)
	sum := func(a, b int32) int32 { return narrow(int64(a) + int64(b)) }
	return sum(p.Q0, times(u, sum(d0, times(u, sum(c2, times(u, c3))))))
}

func TestAPieceFitsIn32Bits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPiece(t)
		for tick := 1; tick < p.Ticks; tick++ {
			if got, want := at32(p, tick), p.At(tick); got != want {
				t.Fatalf("%+v at %d: %d, %d in 64 bits", p, tick, got, want)
			}
		}
	})
}

func TestAPieceIsItsCubicButForRounding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPiece(t)
		for tick := 1; tick <= p.Ticks; tick++ {
			m := p.Point(float64(tick))
			// u is up to 1/65536 of the piece early, so the joint is behind by as much.
			behind := float64(p.Ticks) / 65536 * math.Max(math.Abs(m.V), math.Abs(p.Point(float64(tick)-0.01).V))
			if off := math.Abs(float64(p.At(tick)) - m.Q); off > Rounding+behind*1.01 {
				t.Fatalf("%+v at %d: %g off, of %g", p, tick, off, Rounding+behind)
			}
		}
		start, end := p.Point(0), p.Point(float64(p.Ticks))
		require.InDelta(t, float64(p.Q0), start.Q, 1e-6)
		require.InDelta(t, float64(p.Q1), end.Q, 1e-6*math.Abs(float64(p.Q1))+1e-3)
		require.InDelta(t, float64(p.V0)/256, start.V, 1e-6*math.Abs(start.V)+1e-9)
		require.InDelta(t, float64(p.V1)/256, end.V, 1e-3)
		require.Equal(t, p.Q0, p.At(0))
		require.Equal(t, p.Q1, p.At(p.Ticks))
	})
}

// TestBrakingSeesNoAccelerationInRoundings: a joint at constant velocity, whatever its
// pieces' positions were rounded to.
func TestBrakingSeesNoAccelerationInRoundings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Int32Range(-MaxV/2, MaxV/2).Draw(t, "v")
		ticks := rapid.IntRange(1, MaxTicks).Draw(t, "ticks")
		at := rapid.Float64Range(-1e6, 1e6).Draw(t, "q")
		p := Piece{
			Q0: int32(math.Round(at)), V0: v, V1: v, Ticks: ticks,
			Q1: int32(math.Round(at + float64(v)/256*float64(ticks))),
		}
		for tick := range ticks + 1 {
			require.InDelta(t, 0, p.Braking(float64(tick)).A, 1e-6)
		}
	})
	// And of a constant jerk what it has, but for one unit of E.
	p := Piece{Q0: 0, V0: 0, Q1: 6667, V1: 256 * 500, Ticks: 40}
	require.InDelta(t, p.Point(40).A, p.Braking(40).A, 6.001/1600)
}

func TestAcceptance(t *testing.T) {
	l := Limits{Lower: -100000, Upper: 100000, V: 51200, A: 131072, Ramp: 50, Referenced: true}
	rest := Piece{Ticks: 20}
	for _, c := range []struct {
		name  string
		p     Piece
		l     Limits
		last  bool
		code  Code
		fits  Code
		fault Fault
	}{
		{"rest", rest, l, false, CodeOK, CodeOK, FaultNone},
		{"at its limit", Piece{Q0: 99900, Q1: 100000, Ticks: 20}, l, false, CodeOK, CodeOK, FaultNone},
		{"beyond", Piece{Q0: 99900, Q1: 100001, Ticks: 20}, l, false, CodeLimit, CodeLimit, FaultNone},
		{"below", Piece{Q0: -99900, Q1: -100001, Ticks: 20}, l, false, CodeLimit, CodeLimit, FaultNone},
		{"unreferenced", Piece{Q0: 99900, Q1: 100001, Ticks: 20}, l.Unreferenced(), false, CodeOK, CodeOK, FaultNone},
		{"beyond what the wire says", Piece{Q0: MaxQ, Q1: MaxQ + 1, Ticks: 20}, l.Unreferenced(), false, CodeLimit, CodeLimit, FaultNone},
		{"as fast as it may be", Piece{V0: 51200, Q1: 4000, V1: 51200, Ticks: 20}, l, false, CodeOK, CodeOK, FaultNone},
		{"faster at its end", Piece{V0: 51200, Q1: 4000, V1: 51201, Ticks: 20}, l, false, CodeSpeed, CodeSpeed, FaultNone},
		{"faster on average", Piece{V0: 51200, Q1: 4581, V1: 51200, Ticks: 20}, l, false, CodeSpeed, CodeSpeed, FaultSpeed},
		{"an eighth and roundings more", Piece{V0: 51200, Q1: 4580, V1: 51200, Ticks: 20}, l, false, CodeOK, CodeOK, FaultSpeed},
		{"faster within", Piece{Q1: 4000, Ticks: 20}, l, false, CodeOK, CodeOK, FaultSpeed},
		{"beyond within", Piece{Q0: 99900, Q1: 99900, V1: -51200, Ticks: 20}, l, false, CodeOK, CodeOK, FaultLimit},
		{"no room", Piece{Q0: 90000, V0: 51200, Q1: 94000, V1: 51200, Ticks: 20}, l, false, CodeNoRoom, CodeNoRoom, FaultNone},
		{"no room, but the last", Piece{Q0: 97000, V0: 51200, Q1: 99000, V1: 0, Ticks: 20}, l, true, CodeOK, CodeOK, FaultNone},
		{"no room, downwards", Piece{Q0: -90000, V0: -51200, Q1: -94000, V1: -51200, Ticks: 20}, l, false, CodeNoRoom, CodeNoRoom, FaultNone},
		{"room for a board, not for the host", Piece{Q0: 83000, V0: 51200, Q1: 87600, V1: 51200, Ticks: 23}, l, false, CodeOK, CodeNoRoom, FaultNone},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, joint := Accept([]Piece{rest, c.p}, []Limits{l, c.l}, c.last)
			require.Equal(t, c.code, code)
			if code != CodeOK {
				require.Equal(t, 1, joint)
			}
			code, _ = Fits([]Piece{c.p}, []Limits{c.l}, c.last)
			require.Equal(t, c.fits, code)
			fault, tick := c.p.Way(c.l)
			require.Equal(t, c.fault, fault)
			require.Equal(t, c.fault != FaultNone, tick > 0)
		})
	}
}

// TestWhatFitsIsAccepted: the host's allowance is never more than a board's.
func TestWhatFitsIsAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, MaxJoints).Draw(t, "joints")
		pieces, limits := make([]Piece, n), make([]Limits, n)
		ticks := rapid.IntRange(1, MaxTicks).Draw(t, "ticks")
		for j := range pieces {
			limits[j] = drawLimits(t)
			limits[j].Lower, limits[j].Upper = -50000, 50000
			v := int32(limits[j].V)
			p := Piece{Q0: rapid.Int32Range(-50000, 50000).Draw(t, "q0"), V0: rapid.Int32Range(-v, v).Draw(t, "v0"), V1: rapid.Int32Range(-v, v).Draw(t, "v1"), Ticks: ticks}
			p.Q1 = p.Q0 + int32((int64(p.V0)+int64(p.V1))*int64(ticks)/512)
			pieces[j] = p
		}
		if code, _ := Fits(pieces, limits, false); code == CodeOK {
			code, _ := Accept(pieces, limits, false)
			require.Equal(t, CodeOK, code)
		}
	})
}
