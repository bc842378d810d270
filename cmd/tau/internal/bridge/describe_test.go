package bridge

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate/words"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/hardware"
)

// Before somebody opts in to a servo bus or to an Arduino they are told what is there
// that can hurt: which servo, how strong, by which chip, and that it has no brake.
func TestAnOptInSaysWhatTheHardwareIs(t *testing.T) {
	for file, c := range map[string]struct {
		robot, change, by string
		want, not         []string
	}{
		"so101-feetech.toml": {"so101", "", "", []string{
			"Supply: 4.5 .. 8.4 V",
			"Limits: shoulder_pan -1.92 .. 1.92 rad, 3 rad/s, 8 rad/s², bus ID 1, torque up to 80 %, ends at 1.5 A, ends at 60 °C",
			"bus ID 6, torque up to 50 %", "If this program dies: each servo goes to the last place it was sent to, and stays there with power",
		}, []string{"by itself", "channel", "open loop", "Not on this robot", "Adaptor"}},
		"pantilt-dynamixel.toml": {"pantilt", "max_voltage = 14.8", "", []string{
			"Supply: 10 V ..", "bus ID 2, torque up to 100 %, ends at 65 °C", "Not on this robot: lamp",
			"If this program dies: each servo goes to the last place it was sent to; after 0.2 s without a word it stops by itself",
		}, []string{"Output"}},
		"pantilt-firmata.toml": {"pantilt", "", "", []string{
			"Adaptor: firmata", "Chip: hat: pca9685, I2C 0, 0x40, 50 Hz", "pin 9, not measured (open loop)", "channel 0 of chip hat, not measured",
			"Not on this robot: lamp", "If this program dies",
		}, []string{"torque up to", "Supply"}},
		"pantilt-servo2.toml": {"pantilt", "", "", []string{
			"channel 1, not measured", "Output: lamp 0 .. 1 (1), channel 2",
		}, []string{"If this program dies", "torque up to", "Not on this robot", "Adaptor", "Supply", "pin"}},
	} {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile("../../../../testdata/hardware/" + file)
			require.NoError(t, err)
			m, err := builtin.Load(c.robot)
			require.NoError(t, err)
			f, err := hardware.Parse(file, []byte(strings.Replace(string(data), c.change, c.by, 1)), m, time.Now())
			require.NoError(t, err)
			m, err = f.Tightened(m)
			require.NoError(t, err)
			r := &realRobot{
				Real: Real{Driver: f.Driver, Port: "/dev/ttyTEST0", File: f}, model: m,
				info: robot.Info{Robot: m.Name, MeasuresPosition: true, OpenLoop: f.OpenLoop()},
			}
			if f.Driver == hardware.DriverDynamixel { // as its driver says, which its own test holds to what the servos are told
				r.info.Watchdog = 200 * time.Millisecond
			}
			var text strings.Builder
			for _, line := range r.describe(words.English, time.Now()) {
				text.WriteString(line.Label + ": " + line.Text + "\n")
			}
			for _, w := range c.want {
				require.Contains(t, text.String(), w)
			}
			for _, w := range c.not {
				require.NotContains(t, strings.ReplaceAll(text.String(), "pan", ""), w)
			}
		})
	}
}
