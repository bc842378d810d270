package hardware_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot/hardware"
)

// A position and its units are each other's, to what a double holds.
func TestUnitsAndPositionAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		j := hardware.Joint{
			Direction: rapid.SampledFrom([]float64{-1, 1}).Draw(t, "direction"),
			Zero:      rapid.Float64Range(-1e6, 1e6).Draw(t, "zero"),
			Scale:     rapid.Float64Range(1, 1e6).Draw(t, "scale"),
		}
		q := rapid.Float64Range(-10, 10).Draw(t, "q")
		require.InDelta(t, q, j.Position(j.Units(q)), 1e-9)
		require.Equal(t, j.Direction > 0, j.Units(q+1) > j.Units(q))
	})
}

// Between the points a measured position lies between theirs, at them it is theirs, and
// it rises throughout; far outside nothing is measured.
func TestAMeasuredVoltageLiesBetweenItsPoints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "points")
		counts := rapid.SliceOfNDistinct(rapid.IntRange(0, hardware.MaxCounts), n, n, rapid.ID[int]).Draw(t, "counts")
		slices.Sort(counts)
		if rapid.Bool().Draw(t, "falling") {
			slices.Reverse(counts)
		}
		j := hardware.Joint{Feedback: hardware.ADC}
		q := -2.0
		for _, c := range counts {
			j.Points = append(j.Points, hardware.Point{Position: q, Counts: float64(c)})
			q += rapid.Float64Range(0.01, 1).Draw(t, "step")
		}
		i := rapid.IntRange(0, n-2).Draw(t, "piece")
		a, b := j.Points[i], j.Points[i+1]
		for _, p := range j.Points {
			got, ok := j.Measured(p.Counts)
			require.True(t, ok)
			require.InDelta(t, p.Position, got, 1e-9)
		}
		u := rapid.Float64Range(0, 1).Draw(t, "u")
		got, ok := j.Measured(a.Counts + u*(b.Counts-a.Counts))
		require.True(t, ok)
		require.InDelta(t, a.Position+u*(b.Position-a.Position), got, 1e-9)

		span := math.Abs(j.Points[n-1].Counts - j.Points[0].Counts)
		lo := math.Min(j.Points[0].Counts, j.Points[n-1].Counts)
		for _, far := range []float64{lo - 0.06*span - 1e-6, lo + 1.06*span + 1e-6, math.NaN(), math.Inf(1), math.Inf(-1)} {
			_, ok := j.Measured(far)
			require.False(t, ok, "%g counts", far)
		}
	})
	for _, j := range []hardware.Joint{{}, {Feedback: hardware.ADC}, {Feedback: hardware.None, Points: make([]hardware.Point, 2)}} {
		_, ok := j.Measured(3)
		require.False(t, ok)
	}
}

// Whatever of the file says how the robot moves is in its hash; its name, its comments
// and the order of its tables aren't.
func TestTheHashIsOfAllThatCounts(t *testing.T) {
	m := model(t, "pantilt")
	data := string(example(t, "pantilt-servo2.toml"))
	parse := func(name, data string) [32]byte {
		f, err := hardware.Parse(name, []byte(data), m, noon)
		require.NoError(t, err)
		return f.Hash()
	}
	h := parse("a.toml", data)
	require.Equal(t, h, parse("b.toml", "# another comment\n"+strings.ReplaceAll(data, "  ", " ")))
	head, rest, _ := strings.Cut(data, "[joint.pan]")
	pan, tilt, _ := strings.Cut(rest, "[joint.tilt]")
	tilt, lamp, _ := strings.Cut(tilt, "[output.lamp]")
	require.Equal(t, h, parse("a.toml", head+"[output.lamp]"+lamp+"[joint.tilt]"+tilt+"[joint.pan]"+pan))

	seen := map[[32]byte]string{h: "the example"}
	for _, c := range []struct{ line, by string }{
		{"driver =", `driver = "other"`},
		{"calibrated =", `calibrated = 2026-11-29`},
		{"baud =", `baud = 250000`},
		{"recalibrate_after_days =", `recalibrate_after_days = 181`},
		{"estop_powers_off =", `estop_powers_off = false`},
		{"lost_link_powers_off =", `lost_link_powers_off = true`},
		{"channel = 0", "channel = 5"},
		{"channel = 1", "channel = 5"},
		{"channel = 2", "channel = 9"},
		{"direction = 1", "direction = -1"},
		{"zero =", "zero = 1473"},
		{"scale = 590.8", "scale = 590.9"},
		{"lower =", "lower = -1.3"},
		{"upper =", "upper = 1.3"},
		{"lower =", "velocity = 3.9"},
		{"lower =", "acceleration = 19"},
		{"lower =", "jerk = 190"},
		{"pulse_min =", "pulse_min = 545"},
		{"pulse_max =", "pulse_max = 2399"},
		{"feedback =", "feedback = \"adc\"\nadc = [[-1.5, 100], [1.5, 900]]"},
		{"feedback =", "feedback = \"adc\"\nadc = [[-1.5, 100], [1.5, 901]]"},
		{"feedback =", "feedback = \"adc\"\nadc = [[-1.5, 100], [0, 500], [1.5, 900]]"},
		{"scale = 1  ", "scale = 2"},
	} {
		changed, _ := swap(t, data, c.line, c.by)
		got := parse("a.toml", changed)
		require.Empty(t, seen[got], "%s has the hash of %s", c.by, seen[got])
		seen[got] = c.by
	}
}

// What the model only assumes the file may say, wider or narrower.
func TestWhatIsAssumedMayBeSaid(t *testing.T) {
	m := *model(t, "pantilt")
	m.Limits = slices.Clone(m.Limits)
	m.Limits[0].Acceleration, m.Limits[0].Jerk, m.Limits[0].Assumed = 4, 40, []string{"acceleration", "jerk"}
	data := string(example(t, "pantilt-servo2.toml"))
	f, err := hardware.Parse("a", []byte(data), &m, noon)
	require.NoError(t, err)
	require.Equal(t, []string{"acceleration", "jerk"}, f.Limits(&m)[0].Assumed)
	require.Equal(t, 4.0, f.Joints[0].Acceleration)

	slow, _ := swap(t, data, "lower =", "velocity = 2")
	f, err = hardware.Parse("a", []byte(slow), &m, noon)
	require.NoError(t, err)
	require.Equal(t, []float64{2, 2, 20}, []float64{f.Joints[0].Velocity, f.Joints[0].Acceleration, f.Joints[0].Jerk})

	said, _ := swap(t, data, "lower =", "acceleration = 9")
	f, err = hardware.Parse("a", []byte(said), &m, noon)
	require.NoError(t, err)
	require.Equal(t, []float64{9, 40}, []float64{f.Joints[0].Acceleration, f.Joints[0].Jerk})
	require.Equal(t, []string{"jerk"}, f.Limits(&m)[0].Assumed)
	narrow, err := f.Tightened(&m)
	require.NoError(t, err)
	require.Equal(t, 9.0, narrow.Limits[0].Acceleration)
}

// Whatever is accepted keeps to the description, has each channel once, and is finite.
func FuzzParse(f *testing.F) {
	m := model(f, "pantilt")
	data := string(example(f, "pantilt-servo2.toml"))
	f.Add(data)
	f.Add(string(example(f, "gantry-stepper3.toml")))
	f.Add(string(example(f, "pantilt-dynamixel.toml")))
	f.Add(string(example(f, "pantilt-firmata.toml")))
	f.Add(strings.Replace(string(example(f, "pantilt-dynamixel.toml")), `"dynamixel"`, `"feetech"`, 1))
	f.Add("[joint]\npan = {channel = 0}\n[[output]]\n")
	f.Add("robot = \"pantilt\"\n\"joint\".'pan'.zero = nan")
	f.Add("robot = 'pantilt'\ncalibrated = 2026-11-30\n[joint.\"a.b\"]\n")
	f.Fuzz(func(t *testing.T, data string) {
		got, err := hardware.Parse("x.toml", []byte(data), m, noon)
		if err != nil {
			require.Contains(t, err.Error(), "x.toml")
			return
		}
		type place struct {
			via string
			n   int
		}
		channels := map[place]bool{}
		for i := range got.Joints {
			j := &got.Joints[i]
			require.False(t, channels[place{j.Via, j.Channel}])
			channels[place{j.Via, j.Channel}] = true
			l := m.Limits[i]
			require.True(t, j.Lower >= l.Lower && j.Upper <= l.Upper && j.Lower < j.Upper)
			require.True(t, j.Velocity > 0 && j.Velocity <= l.Velocity && j.Acceleration <= l.Acceleration && j.Jerk <= l.Jerk)
			require.True(t, j.Scale > 0 && j.Direction*j.Direction == 1)
			for _, q := range []float64{j.Lower, j.Upper} {
				switch j.Kind {
				case hardware.Servo:
					require.True(t, j.Units(q) >= j.PulseMin && j.Units(q) <= j.PulseMax)
				case hardware.BusServo:
					require.True(t, j.Units(q) >= j.TickMin && j.Units(q) <= j.TickMax && j.TickMin >= 0 && j.TickMax <= 4095)
				}
				require.False(t, math.IsNaN(j.Units(q)) || math.IsInf(j.Units(q), 0))
			}
		}
		for _, o := range got.Outputs {
			require.False(t, channels[place{o.Via, o.Channel}])
			channels[place{o.Via, o.Channel}] = true
		}
		again, err := hardware.Parse("x.toml", hardware.Format(got, data), m, noon)
		require.NoError(t, err)
		require.Equal(t, got, again)
		require.False(t, got.Calibrated.After(noon))
		_, _ = got.Tightened(m) // home may lie outside
	})
}
