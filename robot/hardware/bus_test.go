package hardware_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// refusal is one way of being wrong.
type refusal struct {
	file, line, by string
	want           []string
}

func refused(t *testing.T, cases map[string]refusal) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			m := model(t, strings.Split(c.file, "-")[0])
			data, _ := swap(t, string(example(t, c.file)), c.line, c.by)
			_, err := hardware.Parse("arm.toml", []byte(data), m, noon)
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
			require.Contains(t, err.Error(), "arm.toml:")
			for _, w := range c.want {
				require.Contains(t, err.Error(), w)
			}
		})
	}
}

func TestTheExamplesOfServoBusesAreWhatTheySay(t *testing.T) {
	m := model(t, "so101")
	f, err := hardware.Parse("arm.toml", example(t, "so101-feetech.toml"), m, noon)
	require.NoError(t, err)
	require.Equal(t, "feetech", f.Driver)
	require.Equal(t, 1000000, f.Baud)
	require.Equal(t, []float64{4.5, 8.4}, []float64{f.MinVoltage, f.MaxVoltage})
	require.Equal(t, make([]bool, 6), f.OpenLoop())
	for i := range f.Joints {
		j := &f.Joints[i]
		require.Equal(t, i+1, j.Channel)
		require.Equal(t, hardware.BusServo, j.Kind)
		require.Equal(t, hardware.Encoder, j.Feedback)
		require.Equal(t, 4096/(2*math.Pi), j.Scale)
		require.Equal(t, "tick", j.Kind.Unit())
		require.Equal(t, []float64{m.Limits[i].Lower, m.Limits[i].Upper}, []float64{j.Lower, j.Upper})
		// The figures are those of an arm as designed: one tick of room at each end.
		require.InDelta(t, j.TickMin, j.Units(j.Lower), 1)
		require.InDelta(t, j.TickMax, j.Units(j.Upper), 1)
	}
	require.Equal(t, []float64{0.8, 60, 1.5}, []float64{f.Joints[0].TorqueLimit, f.Joints[0].MaxTemperature, f.Joints[0].MaxCurrent})
	require.Equal(t, -2047, f.Joints[4].Offset)
	narrow, err := f.Tightened(m)
	require.NoError(t, err)
	require.Equal(t, m.Limits[0].Lower, narrow.Limits[0].Lower)

	m = model(t, "pantilt")
	f, err = hardware.Parse("arm.toml", example(t, "pantilt-dynamixel.toml"), m, noon)
	require.NoError(t, err)
	require.Equal(t, 1.0, f.Joints[1].TorqueLimit) // all of it, where the file says nothing
	require.Zero(t, f.Joints[1].Offset)
	require.Empty(t, f.Outputs)
	require.Equal(t, []string{"lamp"}, f.Absent)
	narrow, err = f.Tightened(m)
	require.NoError(t, err)
	require.Empty(t, narrow.Actuators)
	require.NotEmpty(t, m.Actuators) // the model itself stays what it is
}

func TestWhatIsWrongWithABusServoIsRefusedByName(t *testing.T) {
	f, d := "so101-feetech.toml", "pantilt-dynamixel.toml"
	pan := "joint.shoulder_pan."
	refused(t, map[string]refusal{
		"ID 0 of Feetech":            {f, "channel = 1", "channel = 0", []string{pan + "channel", "value 0", "limit 1"}},
		"an ID too high":             {f, "channel = 1", "channel = 253", []string{pan + "channel", "value 253", "limit 252"}},
		"an ID of all":               {d, "channel = 1", "channel = 254", []string{"joint.pan.channel", "value 254", "limit 252"}},
		"an ID twice":                {f, "channel = 2", "channel = 1", []string{"joint.shoulder_lift.channel", "the ID 1", "joint.shoulder_pan"}},
		"a hobby servo":              {f, "kind =", `kind = "servo"`, []string{pan + "kind", `"servo"`, "want bus_servo"}},
		"a stepper":                  {d, "kind =", `kind = "stepper"`, []string{"joint.pan.kind", "want bus_servo"}},
		"ticks below zero":           {f, "tick_min =", "tick_min = -1", []string{pan + "tick_min", "value -1", "limit 0"}},
		"ticks beyond the turn":      {f, "tick_max =", "tick_max = 4096", []string{pan + "tick_max", "value 4096", "limit 4095"}},
		"half a tick":                {f, "tick_max =", "tick_max = 3300.5", []string{pan + "tick_max", "3300.5, a number", "integer"}},
		"no ticks":                   {f, "tick_min =", "", []string{pan + "tick_min: is missing"}},
		"ticks across the seam":      {f, "tick_min =", "tick_min = 3900", []string{pan + "tick_max", "3900 to 3300", "seam", "offset"}},
		"one tick":                   {f, "tick_min =", "tick_min = 3300", []string{pan + "tick_max", "no two ticks"}},
		"a range beyond the ticks":   {f, "tick_min =", "tick_min = 800", []string{pan + "lower", "value 796.4", "limit 800 ticks", "rad would be a tick"}},
		"a range above the ticks":    {f, "tick_max =", "tick_max = 3290", []string{pan + "upper", "value 3299.5", "limit 3290 ticks"}},
		"zero at the seam":           {f, "zero =", "zero = 4000", []string{pan + "upper", "limit 3300 ticks"}},
		"a zero that isn't finite":   {f, "zero =", "zero = nan", []string{pan + "zero", "NaN", "finite", "tick"}},
		"a scale of zero":            {f, "zero =", "zero = 2048\nscale = 0", []string{pan + "scale", "above zero", "tick per rad"}},
		"an offset that doesn't fit": {f, "offset =", "offset = 2048", []string{pan + "offset", "sign and 11 bits", "value 2048", "limit 2047"}},
		"an offset below":            {f, "offset =", "offset = -2048", []string{pan + "offset", "value -2048", "limit -2047"}},
		"half an offset":             {f, "offset =", "offset = 1.0", []string{pan + "offset", "1, a number", "integer"}},
		"a Dynamixel's offset":       {d, "offset =", "offset = 1025", []string{"joint.pan.offset", "quarter of a turn", "value 1025", "limit 1024"}},
		"no torque":                  {f, "torque_limit =", "torque_limit = 0", []string{pan + "torque_limit", "above zero"}},
		"torque below zero":          {f, "torque_limit =", "torque_limit = -0.1", []string{pan + "torque_limit", "value -0.1", "limit 0"}},
		"more than all torque":       {f, "torque_limit =", "torque_limit = 1.01", []string{pan + "torque_limit", "value 1.01", "limit 1"}},
		"torque in percent":          {f, "torque_limit =", "torque_limit = 80", []string{pan + "torque_limit", "value 80", "limit 1"}},
		"torque that isn't a number": {f, "torque_limit =", "torque_limit = nan", []string{pan + "torque_limit", "NaN"}},
		"heat of ice":                {f, "max_temperature =", "max_temperature = 0", []string{pan + "max_temperature", "value 0 °C", "limit 30 °C"}},
		"heat of fire":               {f, "max_temperature =", "max_temperature = 140", []string{pan + "max_temperature", "limit 100 °C"}},
		"heat that is infinite":      {f, "max_temperature =", "max_temperature = inf", []string{pan + "max_temperature", "finite"}},
		"no current":                 {f, "max_current =", "max_current = 0", []string{pan + "max_current", "above zero"}},
		"current in mA":              {f, "max_current =", "max_current = 1500", []string{pan + "max_current", "limit 20 A"}},
		"no feedback":                {f, "feedback =", `feedback = "none"`, []string{pan + "feedback", `"none"`, "want encoder"}},
		"a supply below a servo's":   {f, "min_voltage =", "min_voltage = 0", []string{"min_voltage", "value 0 V", "limit 3 V"}},
		"a supply in mV":             {f, "max_voltage =", "max_voltage = 8400", []string{"max_voltage", "value 8400 V", "limit 30 V"}},
		"a supply upside down":       {f, "max_voltage =", "max_voltage = 4.5", []string{"max_voltage", "4.5 to 4.5 V"}},
		"a speed of another maker":   {f, "baud =", "baud = 2000000", []string{"baud", "value 2e+06", "1000000", "38400"}},
		"the other maker's speed":    {d, "baud =", "baud = 38400", []string{"baud", "38400", "57600"}},
		"pulses":                     {f, "feedback =", "feedback = \"encoder\"\npulse_min = 544", []string{pan + "pulse_min", "mcu, gobot", "is for feetech"}},
		"a table of counts":          {f, "feedback =", "feedback = \"encoder\"\nadc = [[0, 1], [1, 2]]", []string{pan + "adc", "mcu, gobot"}},
		"a chip":                     {f, "feedback =", "feedback = \"encoder\"\nvia = \"hat\"", []string{pan + "via", "driver gobot", "is for feetech"}},
		"an adaptor":                 {f, "baud =", "adaptor = \"firmata\"", []string{"adaptor", "driver gobot"}},
		"something beside":           {d, "[joint.tilt]", "[output.lamp]\nchannel = 3\n[joint.tilt]", []string{"output.lamp:", "nothing beside its joints"}},
		"of nothing":                 {d, "[joint.tilt]", "[output.lamp]\n[joint.tilt]", []string{"output.lamp:", "nothing beside its joints"}},
		"a servo's file on our own":  {f, "driver =", `driver = "mcu"`, []string{"min_voltage", "feetech, dynamixel", "is for mcu"}},
		"a servo's file on Firmata":  {f, "driver =", `driver = "gobot"`, []string{"min_voltage", "is for gobot"}},
	})
}

// What the two makers' servos have in common a file may be moved between; what they
// don't it says.
func TestAFeetechsIDZeroAndADynamixels(t *testing.T) {
	data, _ := swap(t, string(example(t, "pantilt-dynamixel.toml")), "channel = 1", "channel = 0")
	f, err := hardware.Parse("d", []byte(data), model(t, "pantilt"), noon)
	require.NoError(t, err)
	require.Zero(t, f.Joints[0].Channel)
	for _, n := range []string{"2047", "-2047"} {
		data, _ = swap(t, string(example(t, "so101-feetech.toml")), "offset =", "offset = "+n)
		_, err = hardware.Parse("d", []byte(data), model(t, "so101"), noon)
		require.NoError(t, err)
	}
	data, _ = swap(t, string(example(t, "so101-feetech.toml")), "baud =", "")
	f, err = hardware.Parse("d", []byte(data), model(t, "so101"), noon)
	require.NoError(t, err)
	require.Equal(t, 1000000, f.Baud)
}

// A joint that slides has no scale by itself.
func TestASlideOnABusServoNeedsItsScale(t *testing.T) {
	file := `robot = "gantry"
driver = "feetech"
calibrated = 2026-11-30
[joint.x]
channel = 1
kind = "bus_servo"
direction = 1
zero = 100
tick_min = 0
tick_max = 4095
feedback = "encoder"
`
	_, err := hardware.Parse("g", []byte(file), model(t, "gantry"), noon)
	require.ErrorContains(t, err, "g:4: joint.x.scale: is missing")
	require.ErrorContains(t, err, "tick per m")
}

// What the file may say and what calibrating may write is the same number.
func TestTheLargestOffset(t *testing.T) {
	require.Equal(t, 2047, hardware.MaxOffset(hardware.DriverFeetech), "a sign and 11 bits")
	require.Equal(t, 1024, hardware.MaxOffset(hardware.DriverDynamixel), "a quarter of a turn")
	require.Zero(t, hardware.MaxOffset(hardware.DriverMCU))
}

func TestWhoseFileItIs(t *testing.T) {
	for data, want := range map[string]string{
		`driver = "feetech"`:            "feetech",
		"baud = 3\ndriver = 'x'\n[a.b]": "x",
		"driver = 3":                    "",
		"":                              "",
	} {
		got, err := hardware.DriverOf("a.toml", []byte(data))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	is, err := hardware.RobotOf("a.toml", []byte("robot = \"so101\"\ndriver = \"feetech\""))
	require.NoError(t, err)
	require.Equal(t, "so101", is)
	_, err = hardware.DriverOf("a.toml", []byte("\ndriver ="))
	require.ErrorContains(t, err, "INVALID_ARGUMENT: a.toml:2")
	_, err = hardware.DriverOf("a.toml", make([]byte, hardware.MaxBytes+1))
	require.ErrorContains(t, err, "too long")
}

// lampOf is put where pan's feedback is, of which it takes the place.
const lampOf = "feedback = \"none\"\n[output.lamp]\nchannel = 13\n"

// Whatever of a bus or of an Arduino says how the robot moves is in the file's hash.
func TestTheHashIsOfAllThatCountsOfABusAndAnArduino(t *testing.T) {
	type change struct{ line, by string }
	for file, changes := range map[string][]change{
		"so101-feetech.toml": {
			{"baud =", "baud = 500000"}, {"min_voltage =", "min_voltage = 4.6"}, {"max_voltage =", "max_voltage = 8.3"},
			{"max_voltage =", ""}, {"channel = 1", "channel = 9"}, {"zero =", "zero = 2048.25"}, {"zero =", "zero = 2048\nscale = 651.8"},
			{"tick_min =", "tick_min = 795"}, {"tick_max =", "tick_max = 3301"}, {"offset =", "offset = -153"},
			{"torque_limit =", "torque_limit = 0.7"}, {"max_temperature =", "max_temperature = 59"}, {"max_current =", "max_current = 1.4"},
		},
		"pantilt-firmata.toml": {
			{"bus =", ""}, // the default, so the same
			{"address =", "address = 0x41"}, {"frequency =", "frequency = 60"}, {"channel = 0", "channel = 1"},
			{`via = "hat"`, ""}, {"feedback =", lampOf + "scale = 1"}, {"feedback =", lampOf + "scale = 1\npwm = true"}, {"feedback =", lampOf + "scale = 1\nvia = \"hat\""},
			{"[chip.hat]", "[chip.cap]\nkind = \"pca9685\"\naddress = 0x41\n[chip.hat]"},
			{"feedback =", "feedback = \"adc\"\nadc_pin = 0\nadc = [[-1.5, 0], [1.5, 1023]]"},
			{"feedback =", "feedback = \"adc\"\nadc_pin = 1\nadc = [[-1.5, 0], [1.5, 1023]]"},
		},
	} {
		m, data := model(t, strings.Split(file, "-")[0]), string(example(t, file))
		parse := func(data string) [32]byte {
			f, err := hardware.Parse("a.toml", []byte(data), m, noon)
			require.NoError(t, err)
			return f.Hash()
		}
		seen := map[[32]byte]string{parse(data): "the example"}
		for _, c := range changes {
			changed, _ := swap(t, data, c.line, c.by)
			got := parse(changed)
			if c.line == "bus =" {
				require.Equal(t, "the example", seen[got])
				continue
			}
			require.Empty(t, seen[got], "%s has the hash of %s", c.by, seen[got])
			seen[got] = c.by
		}
	}
	// A Pi's pins aren't an Arduino's.
	m := model(t, "pantilt")
	data, _ := swap(t, string(example(t, "pantilt-firmata.toml")), "baud =", "")
	f, err := hardware.Parse("a", []byte(data), m, noon)
	require.NoError(t, err)
	data, _ = swap(t, data, "adaptor =", `adaptor = "raspi"`)
	data, _ = swap(t, data, "bus =", "bus = 0")
	g, err := hardware.Parse("a", []byte(data), m, noon)
	require.NoError(t, err)
	require.NotEqual(t, f.Hash(), g.Hash())
	g.Baud = f.Baud
	require.NotEqual(t, f.Hash(), g.Hash())
}
