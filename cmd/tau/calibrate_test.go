package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// silentPort is a serial line at which nobody answers.
func silentPort(t *testing.T) string {
	t.Helper()
	ptmx, slave, err := pty.Open()
	require.NoError(t, err)
	t.Cleanup(func() { _ = ptmx.Close(); _ = slave.Close() })
	return slave.Name()
}

// At a terminal a calibration says what it is about to do, and of a bus on which nobody
// answers what to look at; nothing is left behind. How it goes on is tested beside it, on
// an emulated bus in simulated time.
func TestACalibrationOfASilentBusSaysWhatToLookAt(t *testing.T) {
	t.Parallel()
	port, file := silentPort(t), filepath.Join(t.TempDir(), "arm.toml")
	s := seatAt(t, pty.Winsize{Rows: 50, Cols: 200}, "robot", "calibrate", "--driver", "feetech", "--port", port, "--config", file)
	s.await("Nothing moves by itself: torque is off the whole time")
	s.await("Nothing was written.")
	s.await("no servo answers at 1000000 bit/s")
	require.Equal(t, 3, s.status())
	_, err := os.Lstat(file)
	require.ErrorIs(t, err, os.ErrNotExist)

	r := tau(t, "", "robot", "calibrate", "--driver", "feetech", "--port", port, "--config", file)
	require.Equal(t, 2, r.status)
	require.Contains(t, r.stderr, "terminal")
	// Where the file can't be written is said before anything is asked of the bus.
	s = seatAt(t, pty.Winsize{Rows: 50, Cols: 200}, "robot", "calibrate", "--driver", "feetech", "--port", port, "--config", filepath.Join(filepath.Dir(file), "none", "arm.toml"))
	s.await("not written")
	require.Equal(t, 2, s.status())
	require.NoError(t, os.WriteFile(file, []byte("driver = \"mcu\"\n"), 0o600))
	s = seatAt(t, pty.Winsize{Rows: 50, Cols: 200}, "robot", "calibrate", "--driver", "feetech", "--port", port, "--config", file)
	s.await(`is for the driver "mcu", and --driver is "feetech"; move it away`)
	require.Equal(t, 2, s.status())
}

// Ctrl-C in the middle of a scan ends it, and leaves the file that was there.
func TestCtrlCEndsACalibration(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "arm.toml")
	s := seatAt(t, pty.Winsize{Rows: 50, Cols: 200}, "robot", "calibrate", "--driver", "feetech", "--port", silentPort(t), "--config", file)
	s.await("Ctrl-C ends it")
	s.typed("\x03")
	s.await("Nothing was written.")
	require.Contains(t, []int{3, 130}, s.status()) // the scan may have ended before
	_, err := os.Lstat(file)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestADoctorSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	r := tau(t, "", "robot", "doctor", "--port", "/dev/none-such")
	require.Equal(t, 1, r.status)
	require.Contains(t, r.stdout, "problem  port: there is no /dev/none-such")
	port := silentPort(t)
	r = tau(t, "", "robot", "doctor", "--port", port, "--driver", "feetech")
	require.Equal(t, 1, r.status)
	require.Contains(t, r.stdout, "no servo answers, at none of [1000000")
	r = tau(t, "", "robot", "doctor", "--port", port, "--json")
	require.Equal(t, 0, r.status, r.stdout)
	require.Contains(t, r.stdout, `{"ok":true,"findings":[{"level":"ok","check":"port"`)
	usage(t, []string{"robot", "doctor", "--driver", "hal"}, `no driver "hal"`)
	usage(t, []string{"robot", "calibrate", "--driver", "mcu"}, "want feetech or dynamixel")
	usage(t, []string{"robot", "calibrate", "--driver", "feetech"}, "--port")
	usage(t, []string{"robot", "calibrate", "--driver", "feetech", "--port", "x"}, "--config")
	usage(t, []string{"robot", "calibrate", "--driver", "feetech", "--port", "x", "--config", "y", "--new-id", "3"}, "--new-id")
	// An ID that no file could name isn't given, and nothing is opened for it.
	for _, id := range []string{"0", "-1", "253", "1000"} {
		usage(t, []string{"robot", "calibrate", "--driver", "feetech", "--port", "x", "--new-id", id}, "--new-id "+id+": a robot's file takes the IDs 1 to 252 of feetech")
	}
}
