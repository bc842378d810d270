package emulator

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/drivers/feetech/bus"
	"github.com/tau-robot/tau/drivers/mcu/boardtest"
)

// sdkTime bounds a script of an SDK, which waits for at most a minute for an answer.
const sdkTime = 3 * time.Minute

// python is the interpreter that has the makers' SDKs. Where it is missing the test is
// skipped by name, and fails under CI=true.
func python(t *testing.T) (interpreter, scripts string) {
	t.Helper()
	scripts, err := filepath.Abs(filepath.Join("..", "..", "..", "testdata", "servosdk"))
	require.NoError(t, err)
	interpreter = filepath.Join(scripts, "venv", "bin", "python")
	if _, err := os.Stat(interpreter); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the makers' SDKs aren't installed (.ci/deps does it): %v", err)
		}
		t.Skipf("the makers' SDKs aren't installed (.ci/deps does it): %v", err)
	}
	return interpreter, scripts
}

// runSDK serves a bus of six servos on a pseudo-terminal and runs a script on it; it returns
// what its steps gave, and what was on the wire.
func runSDK(t *testing.T, k Kind, script string) (*Bus, map[string][]json.RawMessage, *Recorder) {
	t.Helper()
	boardtest.OnTheWallClock(t) // an SDK waits so long for an answer and no longer
	interpreter, scripts := python(t)
	rec := &Recorder{}
	b, err := New(Options{Kind: k, IDs: all(), Seed: 1, Trace: rec.Add})
	require.NoError(t, err)
	blocking, slave, err := pty.Open()
	require.NoError(t, err)
	defer slave.Close()
	fd, err := syscall.Dup(int(blocking.Fd()))
	require.NoError(t, err)
	require.NoError(t, blocking.Close())
	require.NoError(t, syscall.SetNonblock(fd, true)) // so that Serve can end its Read
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { served <- b.Serve(ctx, os.NewFile(uintptr(fd), "ptmx"), nil) }()

	limit, end := context.WithTimeout(t.Context(), sdkTime)
	defer end()
	cmd := exec.CommandContext(limit, interpreter, filepath.Join(scripts, script), slave.Name())
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	cancel()
	require.NoError(t, <-served)
	require.NoError(t, err)
	var steps map[string][]json.RawMessage
	require.NoError(t, json.Unmarshal(out, &steps))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the script got %s", out)
			for _, p := range rec.Packets() {
				t.Logf("%v to %v, of the host: %v: % X", p.At, p.End, p.FromHost, p.Bytes)
			}
		}
	})
	for _, p := range rec.Packets() {
		require.False(t, p.Collided, "one owner of the line: %+v", p)
	}
	return b, steps, rec
}

// gave requires that each call of a step returned one and the same.
func gave(t *testing.T, steps map[string][]json.RawMessage, name string, times int, want string) {
	t.Helper()
	require.Len(t, steps[name], times, name)
	for _, got := range steps[name] {
		require.JSONEq(t, want, string(got), name)
	}
}

func goals() []int { return []int{2300, 1800, 2048, 2500, 1500, 2200} }

func TestFeetechsSDK(t *testing.T) {
	b, steps, rec := runSDK(t, STS3215, "feetech.py")
	gave(t, steps, "open", 1, `true`)
	gave(t, steps, "baud", 1, `true`)
	gave(t, steps, "ping", 6, `[777, 0, 0]`) // value, result, error
	gave(t, steps, "voltage", 6, `[74, 0, 0]`)
	gave(t, steps, "position", 6, `[2048, 0, 0]`)
	gave(t, steps, "eeprom", 3, `[0, 0]`)
	gave(t, steps, "max angle", 1, `[4000, 0, 0]`)
	gave(t, steps, "hold", 6, `[0, 0]`)
	gave(t, steps, "torque", 6, `[0, 0]`)
	gave(t, steps, "sync write", 1, `0`)
	require.Empty(t, steps["sync read"], "each sync read was answered by all")
	gave(t, steps, "arrived", 1, `[2300, 1800, 2048, 2500, 1500, 2200]`)
	gave(t, steps, "nobody", 1, `[0, -6, 0]`) // there is no status packet

	writes := rec.Writes(stsGoal, 2)
	require.Len(t, writes, 12)
	for i, goal := range goals() {
		require.EqualValues(t, i+1, writes[i].ID)
		require.EqualValues(t, 2048, get(writes[i].Data, 0, 2), "where it stands")
		require.EqualValues(t, i+1, writes[6+i].ID)
		require.EqualValues(t, goal, get(writes[6+i].Data, 0, 2))
		require.True(t, b.Powered(byte(i+1)))
		require.InDelta(t, float64(goal-middle)/ticksPerRad, b.Shaft(byte(i+1)), 2/ticksPerRad)
	}
	torque := rec.Writes(stsTorque, 1)
	require.Len(t, torque, 6)
	for i := range torque {
		require.Greater(t, torque[i].At, writes[i].At, "the goal came before the torque")
	}
	require.Equal(t, bus.Ping, rec.Packets()[0].Op)
}

func TestDynamixelsSDK(t *testing.T) {
	b, steps, rec := runSDK(t, XL430, "dynamixel.py")
	gave(t, steps, "open", 1, `true`)
	gave(t, steps, "baud", 1, `true`)
	gave(t, steps, "all", 1, `[[[1, 1060, 47], [2, 1060, 47], [3, 1060, 47], [4, 1060, 47], [5, 1060, 47], [6, 1060, 47]], 0]`)
	gave(t, steps, "ping", 6, `[1060, 0, 0]`)
	gave(t, steps, "voltage", 6, `[120, 0, 0]`)
	gave(t, steps, "position", 6, `[2048, 0, 0]`)
	gave(t, steps, "hold", 6, `[0, 0]`)
	gave(t, steps, "torque", 6, `[0, 0]`)
	gave(t, steps, "refused", 1, `[0, 6]`) // beyond its limit
	gave(t, steps, "watchdog", 1, `[0, 0]`)
	gave(t, steps, "sync write", 1, `0`)
	require.Empty(t, steps["sync read"], "each sync read was answered by all")
	gave(t, steps, "arrived", 1, `[2300, 1800, 2048, 2500, 1500, 2200]`)
	gave(t, steps, "reboot", 1, `[0, 0]`)
	gave(t, steps, "nobody", 1, `[0, -3001, 0]`)

	writes := rec.Writes(xlGoal, 4)
	require.Len(t, writes, 13)
	for i, goal := range goals() {
		require.EqualValues(t, 2048, get(writes[i].Data, 0, 4))
		require.EqualValues(t, goal, get(writes[7+i].Data, 0, 4))
		require.Equal(t, i != 5, b.Powered(byte(i+1)), "the last one was told to boot")
		require.InDelta(t, float64(goal-middle)/ticksPerRad, b.Shaft(byte(i+1)), 2/ticksPerRad)
	}
}
