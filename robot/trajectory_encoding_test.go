package robot

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func sampleMotion(t testing.TB) Motion {
	return Motion{
		ID: "call-1", Epoch: 7, Trajectory: sample(t),
		StartTolerance: []float64{0.01, 0.02}, MaxDeviation: []float64{0.1, 0.2},
		Grip: &Grip{MaxEffort: 1.5}, Zones: []string{"bench", "door"},
	}
}

func sampleRehearsal() Rehearsal {
	held := Pose{P: [3]float64{0.1, -0.2, 0.3}, Q: mgl64.Quat{W: 0.5, V: mgl64.Vec3{0.5, -0.5, 0.5}}}
	return Rehearsal{
		Held: "cube", HeldPose: &held, Moved: []BodyPose{{"cube", held}, {"lid", IdentityPose()}},
		Simulator: "tau sim 1", Seed: 42, Duration: 1.8,
		Joints: []JointRehearsal{
			{"up", 1, 2, 3, 4, 5, 6},
			{"down", 7, 8, 9, 10, 11, 12},
		},
		PeakToolSpeed: 0.5, Clearance: &Clearance{Distance: 0.1, A: "wrist", B: "table", At: 0.75},
		EndPosition: [3]float64{1, 2, 3}, EndOrientation: [4]float64{1, 0, 0, 0},
		Gripped: "cube", Assumed: []string{"jerk"},
		SamplePeriod: 0.02, Trace: [][]float64{{0, 0}, {0.5, -0.25}, {1, -0.5}},
	}
}

// The bytes of a small trajectory, written out by hand: the format that stored
// approvals depend on.
func TestTrajectoryEncodingBytes(t *testing.T) {
	tr := Trajectory{
		Joints: []string{"é"},
		Segments: []Segment{{
			Duration: 0.5, Q: []float64{1}, V: []float64{math.Copysign(0, -1)}, A: []float64{-2}, J: []float64{0},
		}},
	}
	want := strings.Join([]string{
		"7461752e74726a", "01", // "tau.trj", version 1
		"00000001", "00000002", "c3a9", // one joint, "é"
		"00000001", "3fe0000000000000", // one segment, 0.5 s
		"00000001", "3ff0000000000000", // Q
		"00000001", "0000000000000000", // V: -0 is 0
		"00000001", "c000000000000000", // A
		"00000001", "0000000000000000", // J
	}, "")
	require.Equal(t, want, hex.EncodeToString(tr.AppendCanonical(nil)))
	require.Equal(t, "prefix"+string(tr.AppendCanonical(nil)), string(tr.AppendCanonical([]byte("prefix"))))
}

func drawTrajectory(t *rapid.T) Trajectory {
	n := rapid.IntRange(1, 4).Draw(t, "joints")
	num := rapid.SliceOfN(rapid.Float64(), n, n)
	return Trajectory{
		Joints: rapid.SliceOfN(rapid.String(), n, n).Draw(t, "names"),
		Segments: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Segment {
			return Segment{
				Duration: rapid.Float64().Draw(t, "duration"),
				Q:        num.Draw(t, "q"), V: num.Draw(t, "v"), A: num.Draw(t, "a"), J: num.Draw(t, "j"),
			}
		}), 1, 5).Draw(t, "segments"),
	}
}

func TestTrajectoryRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tr := drawTrajectory(t)
		if !utf8All(tr.Joints) {
			t.Skip("a name that isn't UTF-8")
		}
		data := tr.AppendCanonical(nil)
		got, err := DecodeTrajectory(data)
		require.NoError(t, err)
		require.Equal(t, data, got.AppendCanonical(nil))
		require.Equal(t, tr.Digest(), got.Digest())
		require.Equal(t, tr.Joints, got.Joints)
		for k := range tr.Segments {
			// InDelta 0 takes -0 for 0, as the encoding does.
			require.InDeltaSlice(t, tr.Segments[k].Q, got.Segments[k].Q, 0)
			require.InDeltaSlice(t, tr.Segments[k].J, got.Segments[k].J, 0)
		}
	})
}

func utf8All(list []string) bool {
	for _, s := range list {
		if strings.ToValidUTF8(s, "") != s {
			return false
		}
	}
	return true
}

func TestMotionAndRehearsalRoundTrip(t *testing.T) {
	m := sampleMotion(t)
	for _, grip := range []*Grip{m.Grip, nil} {
		if m.Grip = grip; grip == nil {
			m.Zones = nil
		}
		got, err := DecodeMotion(m.AppendCanonical(nil))
		require.NoError(t, err)
		require.Empty(t, got.ID)
		require.Zero(t, got.Epoch)
		got.ID, got.Epoch = m.ID, m.Epoch
		require.Equal(t, m, got)
	}
	r := sampleRehearsal()
	for _, c := range []*Clearance{r.Clearance, nil} {
		if r.Clearance = c; c == nil {
			r.HeldPose, r.Moved = nil, nil
		}
		got, err := DecodeRehearsal(r.AppendCanonical(nil))
		require.NoError(t, err)
		require.Equal(t, r, got)
	}
	empty, err := DecodeRehearsal(Rehearsal{}.AppendCanonical(nil))
	require.NoError(t, err)
	require.Equal(t, Rehearsal{}, empty)
}

// codecs are the three encodings with a sample of each.
func codecs(t testing.TB) map[string]struct {
	data   []byte
	recode func([]byte) ([]byte, error)
} {
	return map[string]struct {
		data   []byte
		recode func([]byte) ([]byte, error)
	}{
		"trajectory": {sample(t).AppendCanonical(nil), recodeTrajectory},
		"motion":     {sampleMotion(t).AppendCanonical(nil), recodeMotion},
		"rehearsal":  {sampleRehearsal().AppendCanonical(nil), recodeRehearsal},
	}
}

func recodeTrajectory(b []byte) ([]byte, error) {
	x, err := DecodeTrajectory(b)
	return x.AppendCanonical(nil), err
}

func recodeMotion(b []byte) ([]byte, error) {
	x, err := DecodeMotion(b)
	return x.AppendCanonical(nil), err
}

func recodeRehearsal(b []byte) ([]byte, error) {
	x, err := DecodeRehearsal(b)
	return x.AppendCanonical(nil), err
}

// Each shorter piece and each longer one is refused, and each bit that differs
// is either refused or another value: no two encodings mean the same.
func TestDecodersAreStrict(t *testing.T) {
	for name, c := range codecs(t) {
		t.Run(name, func(t *testing.T) {
			for n := range c.data {
				_, err := c.recode(c.data[:n])
				require.ErrorIs(t, err, ErrCode(CodeInvalidArgument), "%d bytes", n)
				require.ErrorContains(t, err, name+", byte ")
			}
			_, err := c.recode(append(c.data[:len(c.data):len(c.data)], 0))
			require.ErrorIs(t, err, ErrCode(CodeInvalidArgument))
			refused := 0
			for n := range 8 * len(c.data) {
				b := append([]byte(nil), c.data...)
				b[n/8] ^= 1 << (n % 8)
				got, err := c.recode(b)
				if err != nil {
					require.ErrorIs(t, err, ErrCode(CodeInvalidArgument))
					refused++
					continue
				}
				require.Equal(t, b, got, "bit %d", n)
			}
			require.GreaterOrEqual(t, refused, 8*8, "at least each bit of the header")
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	one := func(edit func(*Trajectory)) []byte {
		tr := Hold([]string{"a"}, []float64{1})
		edit(&tr)
		return tr.AppendCanonical(nil)
	}
	negativeZero := one(func(*Trajectory) {})
	negativeZero[len(negativeZero)-8] = 0x80 // the sign of the last jerk
	lie := one(func(*Trajectory) {})
	copy(lie[8:], "\xff\xff\xff\xff")
	for name, tt := range map[string]struct {
		data []byte
		text string
	}{
		"nothing":        {nil, "ends 8 bytes early"},
		"another header": {Motion{}.AppendCanonical(nil), "begins with"},
		"NaN":            {one(func(tr *Trajectory) { tr.Segments[0].Q[0] = math.NaN() }), "isn't finite"},
		"infinity":       {one(func(tr *Trajectory) { tr.Segments[0].Duration = math.Inf(1) }), "isn't finite"},
		"-0":             {negativeZero, "-0"},
		"too many Q":     {one(func(tr *Trajectory) { tr.Segments[0].Q = []float64{1, 2} }), "2 numbers for 1 joints"},
		"no V":           {one(func(tr *Trajectory) { tr.Segments[0].V = nil }), "a count of"},
		"not UTF-8":      {one(func(tr *Trajectory) { tr.Joints[0] = "\xff" }), "UTF-8"},
		"huge count":     {lie, "a count of 4294967295"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := DecodeTrajectory(tt.data)
			require.ErrorIs(t, err, ErrCode(CodeInvalidArgument))
			require.ErrorContains(t, err, tt.text)
		})
	}
	// Each NaN has the same bits, so that a digest can't depend on which it was.
	a := one(func(tr *Trajectory) { tr.Segments[0].Q[0] = math.NaN() })
	b := one(func(tr *Trajectory) { tr.Segments[0].Q[0] = math.Float64frombits(0xfff8_0000_dead_beef) })
	require.Equal(t, a, b)
}
