package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/port"
)

// tree is a computer's root with what the test puts there.
func tree(t *testing.T, files map[string]string, links map[string]string) *computer {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	for name, to := range links {
		require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700))
		require.NoError(t, os.Symlink(filepath.Join(root, to), filepath.Join(root, name)))
	}
	return &computer{root, func() ([]port.Info, error) { return nil, nil }}
}

func TestALatencyTimerIsRead(t *testing.T) {
	c := tree(t, map[string]string{
		"dev/ttyUSB3": "",
		"sys/bus/usb-serial/devices/ttyUSB3/latency_timer": "16\n",
		"sys/bus/usb-serial/devices/ttyUSB4/latency_timer": "soon\n",
	}, map[string]string{"dev/serial/by-id/arm": "dev/ttyUSB3"})
	for path, want := range map[string]int{"/dev/ttyUSB3": 16, "/dev/serial/by-id/arm": 16, "/dev/ttyUSB4": 0, "/dev/ttyACM0": 0} {
		ms, ok := c.Latency(path)
		require.Equal(t, want != 0, ok, path)
		require.Equal(t, want, ms, path)
	}
}

func TestModemManagerIsFoundAndSoIsTheRuleThatKeepsItAway(t *testing.T) {
	base := map[string]string{
		"proc/17/comm": "bash\n", "proc/self/comm": "ModemManager\n",
		"sys/devices/usb1/1-2/1-2:1.0/ttyUSB0/tty/ttyUSB0/dev": "188:0\n",
		"sys/devices/usb1/1-2/dev":                             "189:5\n",
	}
	links := map[string]string{"sys/class/tty/ttyUSB0": "sys/devices/usb1/1-2/1-2:1.0/ttyUSB0/tty/ttyUSB0"}
	runs, _ := tree(t, base, links).ModemManager("/dev/ttyUSB0")
	require.False(t, runs)

	base["proc/801/comm"] = "ModemManager\n"
	runs, ignores := tree(t, base, links).ModemManager("/dev/ttyUSB0")
	require.True(t, runs)
	require.False(t, ignores)
	for key, text := range map[string]string{"c188:0": "E:ID_MM_PORT_IGNORE=1\n", "c189:5": "I:1\nE:ID_MM_DEVICE_IGNORE=1\n"} {
		with := map[string]string{"run/udev/data/" + key: text}
		for k, v := range base {
			with[k] = v
		}
		_, ignores = tree(t, with, links).ModemManager("/dev/ttyUSB0")
		require.True(t, ignores, key)
		with["run/udev/data/"+key] = "E:ID_MM_DEVICE_IGNORE=0\n"
		_, ignores = tree(t, with, links).ModemManager("/dev/ttyUSB0")
		require.False(t, ignores, key)
	}
}

func TestADeviceIsLookedAtWithoutOpeningIt(t *testing.T) {
	master, slave, err := pty.Open()
	require.NoError(t, err)
	defer func() { require.NoError(t, master.Close()); require.NoError(t, slave.Close()) }()
	c := ThisComputer()
	d := c.Device(slave.Name())
	require.True(t, d.Exists && d.Serial && d.Allowed)
	require.NotEmpty(t, d.Group)
	require.Empty(t, d.Holders, "who made it has it open")
	p, err := port.Open(t.Context(), port.Options{Path: slave.Name(), Baud: 9600})
	require.NoError(t, err)
	held := c.Device(slave.Name()).Holders
	require.NoError(t, p.Close())
	require.Len(t, held, 1)
	require.Equal(t, os.Getpid(), held[0].PID)
	// A link beside whoever asks, as --expose makes one, is a name like any other.
	t.Chdir(t.TempDir())
	require.NoError(t, os.Symlink(slave.Name(), "arm.tty"))
	d = c.Device("arm.tty")
	require.True(t, d.Exists && d.Serial && d.Allowed)
	d = c.Device(filepath.Join(t.TempDir(), "none"))
	require.False(t, d.Exists)
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	d = c.Device(path)
	require.True(t, d.Exists)
	require.False(t, d.Serial)
	require.False(t, c.Device("/dev/null").Serial)
	require.NotEmpty(t, c.User())
}
