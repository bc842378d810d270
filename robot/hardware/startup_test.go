package hardware_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// A limit that isn't finite and above zero fails when the file is read: there is nothing
// yet that could be moved without it, or the other way round.
func TestCase46_ALimitOfAFileThatIsNoneFailsAtStartUp(t *testing.T) {
	for file, limits := range map[string][]string{
		"so101-feetech.toml": {
			"velocity", "acceleration", "jerk", "scale", "torque_limit", "max_temperature", "max_current", "tick_max",
		},
		"pantilt-dynamixel.toml": {"velocity", "scale", "torque_limit", "max_current", "tick_max"},
		"pantilt-firmata2.toml":  {"velocity", "acceleration", "jerk", "scale", "pulse_min", "pulse_max"},
		"pantilt-servo2.toml":    {"velocity", "acceleration", "jerk", "scale", "pulse_min", "pulse_max"},
		"gantry-stepper3.toml":   {"velocity", "acceleration", "jerk", "scale"},
	} {
		name, _, _ := strings.Cut(file, "-")
		m := model(t, name)
		for _, key := range append(limits, "lower", "upper") {
			for _, bad := range []string{"nan", "-nan", "inf", "-inf", "true", `"1"`, "-5"} {
				if bad == "-5" && (key == "lower" || key == "upper") {
					continue // a position may be below zero
				}
				t.Run(fmt.Sprintf("%s %s=%s", file, key, bad), func(t *testing.T) {
					data := with(t, string(example(t, file)), key, bad)
					_, err := hardware.Parse("arm.toml", []byte(data), m, noon)
					require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
					require.ErrorContains(t, err, "."+key+":")
				})
			}
		}
	}
	for _, key := range []string{"min_voltage", "max_voltage", "recalibrate_after_days", "baud"} {
		for _, bad := range []string{"nan", "inf", "-5"} {
			data := with(t, string(example(t, "so101-feetech.toml")), key, bad)
			_, err := hardware.Parse("arm.toml", []byte(data), model(t, "so101"), noon)
			require.ErrorContains(t, err, key+":", "%s = %s", key, bad)
		}
	}
}

// with sets a key to a value: in its first place, or in the first joint's table.
func with(t *testing.T, data, key, v string) string {
	t.Helper()
	out, put := []string{}, false
	for line := range strings.SplitSeq(data, "\n") {
		if !put && strings.HasPrefix(line, key+" =") {
			line, put = key+" = "+v, true
		}
		out = append(out, line)
	}
	if put {
		return strings.Join(out, "\n")
	}
	before, after, ok := strings.Cut(data, "\nkind =")
	require.True(t, ok)
	return before + "\n" + key + " = " + v + "\nkind =" + after
}

// Power that goes with the link is refused where nothing in the hardware can take it.
func TestOnlyOurFirmwareTakesThePowerAwayByItself(t *testing.T) {
	for file, can := range map[string]bool{
		"so101-feetech.toml": false, "pantilt-dynamixel.toml": false, "pantilt-firmata2.toml": false, "pantilt-servo2.toml": true,
	} {
		name, _, _ := strings.Cut(file, "-")
		data := with(t, string(example(t, file)), "lost_link_powers_off", "true")
		f, err := hardware.Parse("arm.toml", []byte(data), model(t, name), noon)
		if can {
			require.NoError(t, err)
			require.True(t, f.LostLinkPowersOff)
			continue
		}
		require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument), file)
		require.ErrorContains(t, err, "lost_link_powers_off: is true, and nothing in this hardware takes the power away")
	}
}

// A Dynamixel's seam is where its offset has it, and no range may have it inside.
func TestADynamixelsRangeLiesWithinItsTurn(t *testing.T) {
	m, file := model(t, "pantilt"), string(example(t, "pantilt-dynamixel.toml"))
	for _, c := range []struct {
		offset string
		ok     bool
	}{{"1024", true}, {"-1024", true}, {"1000", true}} {
		data := with(t, file, "offset", c.offset)
		_, err := hardware.Parse("arm.toml", []byte(data), m, noon)
		require.NoError(t, err, c.offset)
	}
	for offset, end := range map[string][2]string{"1024": {"tick_max", "3072"}, "-1024": {"tick_min", "1023"}} {
		data := with(t, with(t, file, "offset", offset), end[0], end[1])
		_, err := hardware.Parse("arm.toml", []byte(data), m, noon)
		require.ErrorContains(t, err, "joint.pan.offset: with "+offset+" the servo counts from")
	}
	// A Feetech's ticks go round.
	data := with(t, with(t, strings.Replace(file, `"dynamixel"`, `"feetech"`, 1), "offset", "1024"), "tick_max", "4000")
	_, err := hardware.Parse("arm.toml", []byte(data), m, noon)
	require.NoError(t, err)
}

// However deep a file nests, it is refused in no time, and nothing falls over.
func TestAFileThatNestsIsRefused(t *testing.T) {
	m := model(t, "pantilt")
	for name, data := range map[string]string{
		"arrays":        "robot = " + strings.Repeat("[", hardware.MaxBytes-100),
		"closed arrays": "robot = " + strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000),
		"over lines":    "robot = " + strings.Repeat("[\n", 500_000),
		"tables":        "robot = " + strings.Repeat("{a=", 340_000),
		"a dotted key":  strings.Repeat("a.", 500_000) + "a = 1",
		"a header":      "[" + strings.Repeat("a.", 500_000) + "a]",
		"in a joint":    "[joint.pan]\nadc = " + strings.Repeat("[1,", 300_000),
		"quoted keys":   strings.Repeat(`"[".`, 250_000) + "a = 1",
	} {
		t.Run(name, func(t *testing.T) {
			for _, read := range []func() error{
				func() error { _, err := hardware.Parse("arm.toml", []byte(data), m, noon); return err },
				func() error { _, err := hardware.DriverOf("arm.toml", []byte(data)); return err },
				func() error { _, err := hardware.RobotOf("arm.toml", []byte(data)); return err },
			} {
				err := read()
				require.ErrorIs(t, err, robot.ErrCode(robot.CodeInvalidArgument))
				require.ErrorContains(t, err, "arm.toml")
			}
		})
	}
	// What looks like it and isn't.
	for _, text := range []string{"# " + strings.Repeat("[", 5000), "# " + strings.Repeat("a.", 600)} {
		_, err := hardware.Parse("arm.toml", append([]byte(text+"\n"), example(t, "pantilt-servo2.toml")...), m, noon)
		require.NoError(t, err)
	}
}
