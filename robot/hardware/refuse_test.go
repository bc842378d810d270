package hardware_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// swap replaces the first line of the example that begins with a text.
func swap(t *testing.T, data, begin, by string) (out string, line int) {
	t.Helper()
	lines := strings.Split(data, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, begin) {
			lines[i] = by
			return strings.Join(lines, "\n"), i + 1
		}
	}
	t.Fatalf("no line begins with %q", begin)
	return "", 0
}

// Each way of being wrong is refused, by file and line, key, value and limit.
func TestWhatIsWrongIsRefusedByName(t *testing.T) {
	p, g := "pantilt-servo2.toml", "gantry-stepper3.toml"
	for name, c := range map[string]struct {
		file, line, by string
		want           []string
	}{
		"another robot":                   {p, "robot =", `robot = "so101"`, []string{`robot: is "so101"`, `"pantilt"`}},
		"a robot of another type":         {p, "robot =", `robot = 3`, []string{"robot: is 3, an integer", "string"}},
		"no driver":                       {p, "driver =", ``, []string{"driver: is missing"}},
		"an unknown key":                  {p, "driver =", "driver = \"mcu\"\nopt_in = true", []string{"opt_in", "not a key"}},
		"a key in upper case":             {p, "driver =", `Driver = "mcu"`, []string{"Driver", "not a key"}},
		"an unknown key of a joint":       {p, "channel = 0", "channel = 0\nspeed = 3", []string{"joint.pan.speed", "not a key"}},
		"an unknown key of an output":     {p, "channel = 2", "channel = 2\ninvert = true", []string{"output.lamp.invert", "not a key"}},
		"tomorrow":                        {p, "calibrated =", `calibrated = 2026-12-02`, []string{"calibrated", "2026-12-02 is in the future", "2026-12-01"}},
		"a date in quotes":                {p, "calibrated =", `calibrated = "2026-11-30"`, []string{"calibrated", "a string", "2026-12-01"}},
		"a date with a time":              {p, "calibrated =", `calibrated = 2026-11-30T00:00:00Z`, []string{"calibrated", "a time"}},
		"no days":                         {p, "recalibrate_after_days =", `recalibrate_after_days = 0`, []string{"recalibrate_after_days", "value 0", "limit 1"}},
		"a speed of no line":              {p, "baud =", `baud = 9601`, []string{"baud", "value 9601", "115200"}},
		"a speed in quotes":               {p, "baud =", `baud = "115200"`, []string{"baud", "a string"}},
		"a flag that is a number":         {p, "estop_powers_off =", `estop_powers_off = 1`, []string{"estop_powers_off", "1, an integer", "true or false"}},
		"a flag in quotes":                {p, "lost_link_powers_off =", `lost_link_powers_off = "no"`, []string{"lost_link_powers_off", "a string"}},
		"a channel below zero":            {p, "channel = 0", "channel = -1", []string{"joint.pan.channel", "value -1", "limit 0"}},
		"a channel too high":              {p, "channel = 0", "channel = 255", []string{"joint.pan.channel", "value 255", "limit 254"}},
		"a channel that is a number":      {p, "channel = 0", "channel = 0.5", []string{"joint.pan.channel", "0.5, a number", "integer"}},
		"a channel that is true":          {p, "channel = 0", "channel = true", []string{"joint.pan.channel", "true, a boolean"}},
		"a channel twice":                 {p, "channel = 1", "channel = 0", []string{"joint.tilt.channel", "channel 0", "joint.pan"}},
		"an output's channel twice":       {p, "channel = 2", "channel = 1", []string{"output.lamp.channel", "channel 1", "joint.tilt"}},
		"no channel":                      {p, "channel = 0", "", []string{"joint.pan.channel: is missing"}},
		"another kind":                    {p, "kind =", `kind = "motor"`, []string{"joint.pan.kind", `"motor"`, "servo or stepper"}},
		"a direction of 2":                {p, "direction = 1", "direction = 2", []string{"joint.pan.direction", "2", "1 or -1"}},
		"a direction of 0.5":              {p, "direction = 1", "direction = 0.5", []string{"joint.pan.direction", "0.5"}},
		"a zero that isn't finite":        {p, "zero =", "zero = nan", []string{"joint.pan.zero", "NaN", "finite"}},
		"a zero that is endless":          {p, "zero =", "zero = -inf", []string{"joint.pan.zero", "-Inf", "finite"}},
		"a zero out of range":             {p, "zero =", "zero = 1e7", []string{"joint.pan.zero", "value 1e+07 µs", "limit 1e+06 µs"}},
		"a zero in quotes":                {p, "zero =", `zero = "1472"`, []string{"joint.pan.zero", `"1472", a string`, "number in µs"}},
		"no scale":                        {p, "scale = 590.8", "scale = 0", []string{"joint.pan.scale", "above zero", "value 0 µs per rad"}},
		"a scale below zero":              {p, "scale = 590.8", "scale = -590.8", []string{"joint.pan.scale", "above zero"}},
		"a lower limit too wide":          {p, "lower =", "lower = -1.6", []string{"joint.pan.lower", "tighten", "value -1.6 rad", "limit -1.48 rad"}},
		"an upper limit too wide":         {p, "upper =", "upper = 1.49", []string{"joint.pan.upper", "tighten", "value 1.49 rad", "limit 1.48 rad"}},
		"an empty range":                  {p, "upper =", "upper = -1.4", []string{"joint.pan.upper", "-1.4 to -1.4 rad", "no two positions"}},
		"a speed too high":                {p, "lower =", "velocity = 4.1", []string{"joint.pan.velocity", "tighten", "value 4.1 rad/s", "limit 4 rad/s"}},
		"a speed of zero":                 {p, "lower =", "velocity = 0", []string{"joint.pan.velocity", "above zero"}},
		"an acceleration too high":        {p, "lower =", "acceleration = 21", []string{"joint.pan.acceleration", "value 21 rad/s²", "limit 20 rad/s²"}},
		"a jerk too high":                 {p, "lower =", "jerk = 201", []string{"joint.pan.jerk", "value 201 rad/s³", "limit 200 rad/s³"}},
		"no pulse_min":                    {p, "pulse_min =", "", []string{"joint.pan.pulse_min", "missing", "µs"}},
		"a pulse in ms":                   {p, "pulse_min =", "pulse_min = 0.544", []string{"joint.pan.pulse_min", "value 0.544 µs", "limit 200 µs"}},
		"a pulse too long":                {p, "pulse_max =", "pulse_max = 3001", []string{"joint.pan.pulse_max", "value 3001 µs", "limit 3000 µs"}},
		"pulses the wrong way":            {p, "pulse_max =", "pulse_max = 500", []string{"joint.pan.pulse_max", "544 to 500 µs"}},
		"a range beyond the pulses":       {p, "pulse_min =", "pulse_min = 700", []string{"joint.pan.lower", "value 644.88 µs", "limit 700 µs"}},
		"another feedback":                {p, "feedback =", `feedback = "encoder"`, []string{"joint.pan.feedback", `"encoder"`, "none or adc"}},
		"a servo that counts":             {p, "feedback =", `feedback = "steps"`, []string{"joint.pan.feedback", `"steps"`}},
		"adc without a table":             {p, "feedback =", `feedback = "adc"`, []string{"joint.pan.adc", "missing", "pairs"}},
		"a table without adc":             {p, "feedback =", "feedback = \"none\"\nadc = [[-1.5, 0], [1.5, 1023]]", []string{"joint.pan.adc", "goes with"}},
		"a table of one":                  {p, "feedback =", "feedback = \"adc\"\nadc = [[-1.5, 0]]", []string{"joint.pan.adc", "2 to 64"}},
		"a table of triples":              {p, "feedback =", "feedback = \"adc\"\nadc = [[-1.5, 0], [0, 3, 1]]", []string{"joint.pan.adc[1]", "pair"}},
		"a table of words":                {p, "feedback =", "feedback = \"adc\"\nadc = [[-1.5, 0], [0, \"x\"]]", []string{"joint.pan.adc[1]", `"x", a string`}},
		"counts there are not":            {p, "feedback =", "feedback = \"adc\"\nadc = [[-1.5, 0], [1.5, 1024]]", []string{"joint.pan.adc[1]", "value 1024 counts", "limit 1023 counts"}},
		"counts up and down":              {p, "feedback =", "feedback = \"adc\"\nadc = [[-1.5, 0], [0, 900], [1.5, 800]]", []string{"joint.pan.adc[2]", "rise or fall"}},
		"counts that stand still":         {p, "feedback =", "feedback = \"adc\"\nadc = [[-1.5, 5], [1.5, 5]]", []string{"joint.pan.adc[1]"}},
		"a table that measures nothing":   {p, "feedback =", "feedback = \"adc\"\nadc = [[-1.5, 500], [1.5, 502]]", []string{"joint.pan.adc[1]", "value 1.5 rad", "limit 0.04375 rad", "1/64"}},
		"a stretch that measures nothing": {p, "feedback =", "feedback = \"adc\"\nadc = [[-1.5, 100], [0, 500], [0.5, 501], [1.5, 900]]", []string{"joint.pan.adc[2]", "1/64"}},
		"positions that fall":             {p, "feedback =", "feedback = \"adc\"\nadc = [[1.5, 5], [-1.5, 500]]", []string{"joint.pan.adc[1]", "have to rise"}},
		"a table too short":               {p, "feedback =", "feedback = \"adc\"\nadc = [[-1.3, 5], [1.5, 500]]", []string{"joint.pan.adc", "-1.3 to 1.5 rad", "-1.4 to 1.4 rad"}},
		"a joint that isn't there":        {p, "[joint.tilt]", "[joint.roll]", []string{"joint.roll", `no joint "roll"`, "pan, tilt"}},
		"a fixed joint":                   {p, "[joint.tilt]", "[joint.beam_joint]", []string{"joint.beam_joint", "fixed"}},
		"a joint twice":                   {p, "[joint.tilt]", "[joint.pan]", []string{"pan"}},
		"an output that isn't there":      {p, "[output.lamp]", "[output.horn]", []string{"output.horn", `no actuator "horn"`, "lamp"}},
		"an output's scale":               {p, "scale = 1  ", "scale = 0", []string{"output.lamp.scale", "above zero"}},
		"an output beyond the board":      {p, "scale = 1  ", "scale = 65536", []string{"output.lamp.scale", "value 65536", "limit 65535"}},
		"joints as a list":                {p, "[joint.pan]", "[[joint]]", []string{"joint"}},
		"a joint that is a number":        {p, "[joint.pan]", "[joint]\npan = 3", []string{"joint.pan", "[joint.NAME]"}},
		"no TOML":                         {p, "robot =", "robot =", []string{"arm.toml:4", "value"}},
		"a stepper's pulses":              {g, "feedback =", "feedback = \"steps\"\npulse_min = 544", []string{"joint.x.pulse_min", "a servo's"}},
		"a stepper that isn't counted": {
			g, "feedback =", `feedback = "none"`, []string{"joint.x.feedback", `"none"`, "steps"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := model(t, strings.Split(c.file, "-")[0])
			data, _ := swap(t, string(example(t, c.file)), c.line, c.by)
			_, err := hardware.Parse("arm.toml", []byte(data), m, noon)
			require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
			require.Contains(t, err.Error(), "arm.toml")
			for _, w := range c.want {
				require.Contains(t, err.Error(), w)
			}
		})
	}
}

// The line is that of the key, wherever it stands and however it is spelled.
func TestAnErrorHasTheLineOfItsKey(t *testing.T) {
	m := model(t, "pantilt")
	for _, c := range []struct{ line, by string }{
		{"scale = 590.8", "scale = 0"},
		{"zero =", "  zero   =  nan # not yet"},
		{"zero =", "\"zero\" = nan"},
		{"feedback =", "feedback = \"adc\"; adc"},
		{"lower =", "lower = -9"},
		{"direction = -1", "direction = -2"},
		{"channel = 2", "channel = 300"},
		{"calibrated =", "calibrated = 3000-01-01"},
	} {
		data, line := swap(t, string(example(t, "pantilt-servo2.toml")), c.line, c.by)
		_, err := hardware.Parse("arm.toml", []byte(data), m, noon)
		var e *robot.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, robot.Errf("", "", "arm.toml:%d", line).Text, e.Where, "%s: %v", c.by, err)
	}
	// A key of an inline table has the line of the table, dotted keys have their own.
	data := strings.Replace(string(example(t, "pantilt-servo2.toml")), "[output.lamp]\nchannel = 2     # outputs come after the joints: the LED, a relay, a PWM\nscale = 1", "[output]\nlamp.channel = 8\nlamp.scale = 0", 1)
	before, _, ok := strings.Cut(data, "lamp.scale")
	require.True(t, ok)
	_, err := hardware.Parse("arm.toml", []byte(data), m, noon)
	var e *robot.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, strings.Count(before, "\n")+1, lineOf(t, e.Where))
}

func lineOf(t *testing.T, where string) (n int) {
	t.Helper()
	for _, c := range where[strings.LastIndexByte(where, ':')+1:] {
		n = 10*n + int(c-'0')
	}
	return n
}

func TestEveryJointAndOutputHasAChannel(t *testing.T) {
	m, data := model(t, "pantilt"), string(example(t, "pantilt-servo2.toml"))
	before, out, ok := strings.Cut(data, "[output.lamp]")
	require.True(t, ok)
	_, err := hardware.Parse("arm.toml", []byte(before), m, noon)
	require.ErrorContains(t, err, "arm.toml: output.lamp is missing")
	before, _, ok = strings.Cut(data, "[joint.tilt]")
	require.True(t, ok)
	_, err = hardware.Parse("arm.toml", []byte(before+"[output.lamp]"+out), m, noon)
	require.ErrorContains(t, err, "arm.toml: joint.tilt is missing")
}

func TestMimicJointsAndWheelsHaveNoChannel(t *testing.T) {
	panda := model(t, "panda")
	i := -1
	for k := range panda.Joints {
		if panda.Joints[k].Mimic != nil {
			i = k
		}
	}
	require.GreaterOrEqual(t, i, 0)
	name := panda.Joints[i].Name
	file := "robot = \"panda\"\ndriver = \"mcu\"\ncalibrated = 2026-11-30\n[joint." + name + "]\nchannel = 0\n"
	_, err := hardware.Parse("arm.toml", []byte(file), panda, noon)
	require.ErrorContains(t, err, "arm.toml:4: joint."+name+": the joint follows")

	_, err = hardware.Parse("arm.toml", []byte("robot = \"rover\"\n"), model(t, "rover"), noon)
	require.ErrorContains(t, err, "arm.toml:1: robot")
	require.ErrorContains(t, err, "wheels")
}

func TestAStepperNeedsASwitch(t *testing.T) {
	data := string(example(t, "pantilt-servo2.toml"))
	data, _ = swap(t, data, "kind =", `kind = "stepper"`)
	data, _ = swap(t, data, "pulse_min =", "")
	data, _ = swap(t, data, "pulse_max =", "")
	_, err := hardware.Parse("arm.toml", []byte(data), model(t, "pantilt"), noon)
	require.ErrorContains(t, err, "joint.pan.kind")
	require.ErrorContains(t, err, "reference switch")
}

// A date is a day where the robot stands: until midnight there it isn't tomorrow.
func TestACalibrationIsOfADay(t *testing.T) {
	m, data := model(t, "pantilt"), example(t, "pantilt-servo2.toml")
	east := time.FixedZone("east", 9*3600)
	_, err := hardware.Parse("p", data, m, time.Date(2026, 11, 30, 0, 0, 1, 0, east)) // the 29th in London
	require.NoError(t, err)
	_, err = hardware.Parse("p", data, m, time.Date(2026, 11, 29, 23, 59, 59, 0, east))
	require.ErrorContains(t, err, "future")

	f, err := hardware.Parse("p", data, m, noon)
	require.NoError(t, err)
	require.Empty(t, f.Stale(noon))
	require.Empty(t, f.Stale(noon.AddDate(0, 0, 179)))
	require.Contains(t, f.Stale(noon.AddDate(0, 0, 180)), "2026-11-30, 181 days ago")
}

func TestAFileTooLongIsNotRead(t *testing.T) {
	_, err := hardware.Parse("arm.toml", make([]byte, hardware.MaxBytes+1), model(t, "pantilt"), noon)
	require.ErrorContains(t, err, "too long")
}

// Limits that leave out where the robot has to go are refused by name.
func TestHomeHasToBeWithin(t *testing.T) {
	m := model(t, "pantilt")
	data, _ := swap(t, string(example(t, "pantilt-servo2.toml")), "lower =", "lower = 0.5")
	f, err := hardware.Parse("arm.toml", []byte(data), m, noon)
	require.NoError(t, err)
	_, err = f.Tightened(m)
	require.ErrorContains(t, err, "arm.toml")
	require.ErrorContains(t, err, "pan")
	require.ErrorContains(t, err, "home")
	require.ErrorContains(t, err, "value 0 rad, limit 0.5 rad")
}
