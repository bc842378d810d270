package port

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/robot"
)

// tree writes files, and links whose text begins with "-> ".
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if len(text) > 3 && text[:3] == "-> " {
			require.NoError(t, os.Symlink(text[3:], path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return root
}

func TestListReadsOnlyWhatTheSystemSays(t *testing.T) {
	const hub = "sys/devices/pci0000:00/0000:00:14.0/usb1/1-2/"
	root := tree(t, map[string]string{
		// An Uno: cdc_acm, the interface is the device of the terminal.
		hub + "idVendor": "2341\n", hub + "idProduct": "0043\n", hub + "serial": "7543\x1b[2J0353\n",
		hub + "manufacturer": "Arduino (www.arduino.cc)\n", hub + "product": "Uno\n",
		hub + "1-2:1.0/bInterfaceNumber":      "00\n",
		hub + "1-2:1.0/driver":                "-> ../../../../../../bus/usb/drivers/cdc_acm",
		hub + "1-2:1.0/tty/ttyACM0/dev":       "166:0\n",
		hub + "1-2:1.0/tty/ttyACM0/device":    "-> ../../../1-2:1.0",
		"sys/class/tty/ttyACM0":               "-> ../../devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0/tty/ttyACM0",
		"dev/ttyACM0":                         "must not be read",
		"dev/serial/by-id/usb-Arduino_7-if00": "-> ../../ttyACM0",
		"dev/serial/by-id/usb-gone":           "-> ../../ttyACM9",
		// A UART, a name that is only reserved, a console, and one that just went.
		"sys/devices/pnp0/00:04/tty/ttyS0/type":            "4\n",
		"sys/devices/pnp0/00:04/tty/ttyS0/device":          "-> ../../../00:04",
		"sys/class/tty/ttyS0":                              "-> ../../devices/pnp0/00:04/tty/ttyS0",
		"dev/ttyS0":                                        "",
		"sys/devices/platform/serial8250/tty/ttyS1/type":   "0\n",
		"sys/devices/platform/serial8250/tty/ttyS1/device": "-> ../../../serial8250",
		"sys/class/tty/ttyS1":                              "-> ../../devices/platform/serial8250/tty/ttyS1",
		"dev/ttyS1":                                        "",
		"sys/devices/virtual/tty/tty1/dev":                 "4:1\n",
		"sys/class/tty/tty1":                               "-> ../../devices/virtual/tty/tty1",
		"dev/tty1":                                         "",
		"sys/devices/x/tty/ttyUSB10/device":                "-> ../../../x",
		"sys/class/tty/ttyUSB10":                           "-> ../../devices/x/tty/ttyUSB10",
		"dev/ttyUSB10":                                     "",
		"sys/devices/y/tty/ttyUSB9/device":                 "-> ../../../y",
		"sys/class/tty/ttyUSB9":                            "-> ../../devices/y/tty/ttyUSB9",
		"dev/ttyUSB9":                                      "",
		"sys/devices/z/tty/ttyUSB3/device":                 "-> ../../../z",
		"sys/class/tty/ttyUSB3":                            "-> ../../devices/z/tty/ttyUSB3",
	})
	got, err := list(root)
	require.NoError(t, err)
	dev := func(n string) string { return filepath.Join(root, "dev", n) }
	require.Equal(t, []Info{
		{
			Path: dev("ttyACM0"), ByID: dev("serial/by-id/usb-Arduino_7-if00"), Driver: "cdc_acm",
			Vendor: 0x2341, Product: 0x43, Serial: "7543?[2J0353", Maker: "Arduino (www.arduino.cc)", Name: "Uno",
		},
		{Path: dev("ttyS0")}, {Path: dev("ttyUSB9")}, {Path: dev("ttyUSB10")},
	}, got)
	require.True(t, got[0].USB())
	require.False(t, got[1].USB())

	_, err = list(t.TempDir())
	require.Equal(t, robot.CodeNotSupported, robot.CodeOf(err))
}

func TestListOfThisMachine(t *testing.T) {
	got, err := List()
	if robot.CodeOf(err) == robot.CodeNotSupported {
		t.Skip("no sysfs")
	}
	require.NoError(t, err)
	for _, i := range got {
		require.NotContains(t, i.Path, "/dev/pts", "a pseudo-terminal is no port")
		require.FileExists(t, i.Path)
	}
}
