package gobot_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/gobot"
	"github.com/tau-robot/tau/robot"
)

// The library's own adaptor, on a computer that is no Raspberry Pi: a plain error, with
// what isn't there by name.
func TestNoRaspberryPi(t *testing.T) {
	for _, path := range []string{"/sys/class/pwm/pwmchip0", "/dev/i2c-1"} {
		if _, err := os.Stat(path); err == nil {
			t.Skipf("SKIPPED, NOT TESTED: this computer has %s", path)
		}
	}
	for _, c := range []struct{ name, file string }{
		{"hat", onPins().file},
		{"pan", strings.Replace(strings.Replace(onPins().file, strings.Replace(hat, "address", "bus = 1\naddress", 1), "", 1), "channel = 5\n", "channel = 1\n", 1)},
	} {
		g := onPins()
		g.file = c.file
		if c.name == "pan" {
			g.file = strings.Replace(strings.Replace(g.file, "via = \"hat\"\n", "", 1), "\n[output.lamp]\nchannel = 1\npwm = true\n", "\n[output.lamp]\nchannel = 7\npwm = true\n", 1)
		}
		m, f := g.parts(t)
		_, err := gobot.Open(context.Background(), gobot.Options{Model: m, Hardware: f, At: g.at})
		require.Contains(t, []robot.Code{robot.CodeDisconnected, robot.CodeToolFailed, robot.CodeNotSupported}, robot.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, c.name)
		require.NotContains(t, err.Error(), "\n")
	}
}
