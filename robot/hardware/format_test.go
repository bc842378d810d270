package hardware_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// fileOf draws a file that a driver could have for a robot.
func fileOf(t *rapid.T, m *robot.Model, driver string) *hardware.File {
	flag := func(what string) bool { return rapid.Bool().Draw(t, what) }
	f := &hardware.File{
		Name: "x.toml", Robot: m.Name, Driver: driver,
		Calibrated:     time.Date(2026, 11, rapid.IntRange(1, 30).Draw(t, "day"), 0, 0, 0, 0, time.UTC),
		Valid:          24 * time.Hour * time.Duration(rapid.IntRange(1, 3650).Draw(t, "valid")),
		EStopPowersOff: flag("estop"), LostLinkPowersOff: flag("lost") && driver == hardware.DriverMCU,
	}
	speeds := map[string][]int{
		"mcu": {115200, 250000}, "gobot": {57600, 115200}, "feetech": {1000000, 38400}, "dynamixel": {57600, 4000000},
	}
	f.Baud = rapid.SampledFrom(speeds[driver]).Draw(t, "baud")
	isBus := driver == "feetech" || driver == "dynamixel"
	if isBus && flag("voltages") {
		f.MinVoltage = rapid.Float64Range(3, 10).Draw(t, "min")
		f.MaxVoltage = rapid.Float64Range(10.5, 30).Draw(t, "max")
	}
	if driver == "gobot" {
		f.Adaptor = "firmata"
		names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a b", "hat", "ä.ü", "\"\\\t"}), 0, 3, rapid.ID[string]).Draw(t, "chips")
		slices.Sort(names)
		for i, n := range names {
			f.Chips = append(f.Chips, hardware.Chip{Name: n, Kind: "pca9685", Address: 0x40 + i, Frequency: rapid.Float64Range(40, 300).Draw(t, "Hz")})
		}
	}
	via := func() string {
		if len(f.Chips) == 0 || flag("pin") {
			return ""
		}
		return rapid.SampledFrom(f.Chips).Draw(t, "via").Name
	}
	for i := range m.Limits {
		l := m.Limits[i]
		j := hardware.Joint{Name: m.JointNames()[i], Channel: i + 1, Direction: rapid.SampledFrom([]float64{-1, 1}).Draw(t, "direction")}
		j.Lower = rapid.Float64Range(l.Lower, l.Lower/2+l.Upper/2-1e-3).Draw(t, "lower")
		j.Upper = rapid.Float64Range(l.Lower/2+l.Upper/2+1e-3, l.Upper).Draw(t, "upper")
		j.Velocity = rapid.Float64Range(1e-3, l.Velocity).Draw(t, "velocity")
		j.Acceleration = rapid.Float64Range(1e-3, l.Acceleration).Draw(t, "acceleration")
		j.Jerk = rapid.Float64Range(1e-3, l.Jerk).Draw(t, "jerk")
		middle := 1500.0
		switch {
		case isBus:
			j.Kind, j.Feedback = hardware.BusServo, hardware.Encoder
			j.Offset = rapid.IntRange(-1024, 1024).Draw(t, "offset")
			j.TorqueLimit = rapid.Float64Range(1e-6, 1).Draw(t, "torque")
			j.MaxTemperature = rapid.SampledFrom([]float64{0, 30, 61.25}).Draw(t, "heat")
			j.MaxCurrent = rapid.SampledFrom([]float64{0, 1e-3, 20}).Draw(t, "current")
			j.TickMin, j.TickMax, middle = 0, 4095, 2048
			if driver == hardware.DriverDynamixel { // its offset moves the ends of its turn
				j.TickMin, j.TickMax = float64(max(0, -j.Offset)), float64(min(4095, 4095-j.Offset))
			}
		default:
			j.Kind, j.Feedback, j.Via = hardware.Servo, hardware.None, via()
			j.PulseMin, j.PulseMax = 500, 2500
		}
		j.Scale = 900 / (j.Upper - j.Lower)
		j.Zero = middle - j.Direction*j.Scale*(j.Lower+j.Upper)/2
		if !isBus && flag("adc") {
			j.Feedback = hardware.ADC
			j.Points = []hardware.Point{{Position: j.Lower, Counts: 100}, {Position: j.Upper, Counts: rapid.Float64Range(300, 1023).Draw(t, "counts")}}
			if driver == "gobot" {
				j.ADCPin = i
			}
		}
		f.Joints = append(f.Joints, j)
	}
	for i := range m.Actuators {
		if isBus || driver == "gobot" && flag("absent") {
			f.Absent = append(f.Absent, m.Actuators[i].Name)
			continue
		}
		o := hardware.Output{Actuator: m.Actuators[i].Name, Channel: 12 + i, Scale: 1, Via: via()}
		o.PWM = driver == "gobot" && o.Via == "" && flag("pwm")
		f.Outputs = append(f.Outputs, o)
	}
	return f
}

// What is written is read as the same, for each driver, whatever the comment at its head.
func TestWhatIsFormattedIsReadAsTheSame(t *testing.T) {
	models := map[string]*robot.Model{"pantilt": model(t, "pantilt"), "so101": model(t, "so101")}
	rapid.Check(t, func(t *rapid.T) {
		m := models[rapid.SampledFrom([]string{"pantilt", "so101"}).Draw(t, "robot")]
		f := fileOf(t, m, rapid.SampledFrom([]string{"mcu", "feetech", "dynamixel", "gobot"}).Draw(t, "driver"))
		data := hardware.Format(f, rapid.String().Draw(t, "about"))
		got, err := hardware.Parse("x.toml", data, m, noon)
		require.NoError(t, err, "%s", data)
		require.Equal(t, f, got)
		require.Equal(t, f.Hash(), got.Hash())
		require.Equal(t, hardware.Format(f, "x"), hardware.Format(got, "x"))
	})
}

func TestTheExamplesAreReadAsTheSameOnceFormatted(t *testing.T) {
	for file, robot := range map[string]string{
		"pantilt-servo2.toml": "pantilt", "gantry-stepper3.toml": "gantry", "so101-feetech.toml": "so101",
		"pantilt-firmata.toml": "pantilt", "pantilt-firmata2.toml": "pantilt", "pantilt-dynamixel.toml": "pantilt",
	} {
		m := model(t, robot)
		f, err := hardware.Parse(file, example(t, file), m, noon)
		require.NoError(t, err)
		again, err := hardware.Parse(file, hardware.Format(f, "written by a test\nin two lines"), m, noon)
		require.NoError(t, err)
		require.Equal(t, f, again)
	}
}

// What the description only assumes isn't written as if somebody had said it.
func TestWhatIsAssumedIsNotWritten(t *testing.T) {
	m := *model(t, "pantilt")
	m.Limits = append([]robot.JointLimits(nil), m.Limits...)
	m.Limits[0].Acceleration, m.Limits[0].Jerk, m.Limits[0].Assumed = 4, 40, []string{"acceleration", "jerk"}
	f, err := hardware.Parse("a", example(t, "pantilt-servo2.toml"), &m, noon)
	require.NoError(t, err)
	pan, _, _ := strings.Cut(string(hardware.Format(f, "")), "[joint.tilt]")
	require.NotContains(t, pan, "acceleration")
	require.NotContains(t, pan, "jerk")
	again, err := hardware.Parse("a", hardware.Format(f, ""), &m, noon)
	require.NoError(t, err)
	require.Equal(t, f, again)
}

// A comment can't become a key.
func TestACommentStaysOne(t *testing.T) {
	m := model(t, "pantilt")
	f, err := hardware.Parse("a", example(t, "pantilt-servo2.toml"), m, noon)
	require.NoError(t, err)
	for _, about := range []string{"a\nb", "a\r\nlost_link_powers_off = true", "\x1b[2Kx", "a\u2028estop", strings.Repeat("\n", 5)} {
		data := hardware.Format(f, about)
		again, err := hardware.Parse("a", data, m, noon)
		require.NoError(t, err)
		require.Equal(t, f, again)
		require.NotContains(t, string(data), "\x1b")
		require.NotContains(t, string(data), "\r")
	}
}
