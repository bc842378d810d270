package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// usage requires that a command line is refused as one: status 2, nothing on
// standard output, each text on standard error, and no data folder begun.
func usage(t *testing.T, args []string, texts ...string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "untouched")
	r := tauEnv(t, []string{"TAU_DATA_DIR=" + dir}, "", args...)
	require.Equal(t, 2, r.status, "%v: %s%s", args, r.stdout, r.stderr)
	require.Empty(t, r.stdout, "%v", args)
	for _, text := range texts {
		require.Contains(t, r.stderr, text, "%v", args)
	}
	require.NoDirExists(t, dir, "%v started something", args)
}

func TestUnknownCommandsAreUsageErrors(t *testing.T) {
	usage(t, []string{}, "tau needs a command")
	usage(t, []string{"nonsense"}, `no command "nonsense"`)
	usage(t, []string{"robot"}, "tau robot needs a command")
	usage(t, []string{"robot", "events"}, "needs a command")
	usage(t, []string{"robot", "session"}, "tau robot session needs a command")
	usage(t, []string{"robot", "approvals"}, "tau robot approvals needs a command")
	usage(t, []string{"robot", "events", "replay", "x"}, `no command "replay"`)
	usage(t, []string{"robot", "bench", "plan"}, `no command "plan"`)
	usage(t, []string{"robot", "bench", "kinematics", "--robot", "hal"}, "hal")
	usage(t, []string{"robot", "sim", "extra"}, "takes 0 arguments")
	usage(t, []string{"robot", "events", "verify"}, "takes 1 argument")
	usage(t, []string{"robot", "sim", "--nonsense"}, "unknown flag")
	usage(t, []string{"version", "now"}, "takes 0 arguments")
}

func TestVersion(t *testing.T) {
	r := tau(t, "", "version")
	require.Equal(t, 0, r.status, r.stderr)
	require.True(t, strings.HasPrefix(r.stdout, "tau "), r.stdout)
	require.Empty(t, r.stderr)
}

func TestSimFlagsThatMakeNoSense(t *testing.T) {
	sim := func(args ...string) []string { return append([]string{"robot", "sim"}, args...) }
	for _, c := range []struct {
		args []string
		text string
	}{
		{sim("--session", ""), "--session"},
		{sim("--session", "../x"), "--session"},
		{sim("--session", strings.Repeat("x", 65)), "--session"},
		{sim("--session", "a b"), "--session"},
		{sim("--mcp", "stdio", "--approve-from", "terminal"), "no approver reads the terminal that an MCP client runs in"},
		{sim("--mcp", "stdio", "--script", "x"), "standard input and output are the MCP client's"},
		{sim("--mcp", "stdio", "--listen", "127.0.0.1:0"), "listens nowhere"},
		{sim("--mcp", "carrier-pigeon"), "want http or stdio or off"},
		{sim("--approve-from", "tui"), "--approve-from tui: standard input and output aren't a terminal"},
		{sim("--approve-from", "tui", "--mcp", "stdio"), "--approve-from tui with --mcp stdio: standard input and output are the MCP client's"},
		{sim("--approve-from", "tui", "--script", "x"), "--approve-from tui with --script: the screen takes standard output"},
		{sim("--approve-from", "web"), "need --settings FILE, with a section [web]"},
		{sim("--approve-from", "telegram"), "need --settings FILE, with a section [web] or [telegram]"},
		{sim("--approve-from", "terminal,telegram,telegram"), "\"telegram\" is there twice"},
		{sim("--approve-from", "none,telegram"), "none stands alone"},
		{sim("--approve-from", "terminal,tui"), "terminal and tui both ask here"},
		{sim("--approve-from", "web,everyone"), "\"everyone\": want terminal, tui, attach, web, telegram, or none"},
		{sim("--approve-from", "everyone"), "want terminal or tui or attach or none"},
		{sim("--clock", "slow"), "want real or fast"},
		{sim("--seed", "-1"), "--seed"},
		{sim("--seed", "NaN"), "--seed"},
		{sim("--mcp-wait", "-1s"), "--mcp-wait"},
		{sim("--mcp-wait", "NaN"), "--mcp-wait"},
		{sim("--mcp-wait", "46s"), "--mcp-wait"},
		{sim("--listen", "0.0.0.0:0"), "only loopback"},
		{sim("--listen", "example.org:80"), "only loopback"},
		{sim("--listen", "nonsense"), "--listen"},
		{sim("--json"), "needs --script"},
		{sim("--script", ""), "--script"},
		{sim("--script", "/nonexistent/file"), "no such file"},
		{sim("--script", "/"), "is a folder"},
		{sim("--script", "-", "--approve-from", "terminal"), "can't give both"},
		{sim("--robot", "hal9000"), "hal9000"},
		{sim("--robot", "/nonexistent/arm.urdf"), "/nonexistent"},
		{sim("--robot", "so101", "--limits", "x.yaml"), "--limits"},
		{sim("--scene", "/nonexistent/scene.json"), "scene.json"},
		{sim("--faults", "/nonexistent/faults.json"), "faults.json"},
		{sim("--unreferenced"), "no joint with a reference switch"},
	} {
		usage(t, c.args, c.text)
	}
}

// A device named, the real mode forgotten: no simulator may start in its place.
func TestCase51_ADeviceFlagWithoutRealIsAUsageError(t *testing.T) {
	for _, flag := range [][]string{{"--port", "/dev/ttyUSB0"}, {"--driver", "feetech"}, {"--config", "arm.toml"}, {"--for", "1h"}, {"--at", "home"}, {"--reset-on-open"}} {
		usage(t, append([]string{"robot", "sim", "--script", "-", "--rehearse"}, flag...), flag[0], "robot real --session NAME")
	}
}

func TestG15_RehearseWithARealSessionIsAStartUpError(t *testing.T) {
	usage(t, []string{"robot", "real", "--session", "s", "--driver", "mcu", "--port", "/dev/null", "--rehearse"}, "--rehearse", "simulated sessions only")
}

func TestRealSaysWhatTheOptInIsAndFailsClosed(t *testing.T) {
	real := func(args ...string) []string { return append([]string{"robot", "real"}, args...) }
	usage(t, real(), "--session NAME, which is the opt-in", "30 minutes", "8h", "revoked", "event log", "never taken from a configuration file")
	usage(t, real("--driver", "mcu", "--port", "/dev/null"), "which is the opt-in")
	full := func(args ...string) []string {
		return real(append([]string{"--session", "cell", "--driver", "mcu", "--port", "/dev/null"}, args...)...)
	}
	usage(t, full(), "needs --config")
	usage(t, real("--session", "cell"), "needs --driver")
	usage(t, real("--session", "cell", "--driver", "mcu"), "needs --port")
	usage(t, full("--config", "x.toml", "--driver", "hal"), `no driver "hal"`)
	usage(t, full("--config", "x.toml", "--driver", "feetech"), "--config", "x.toml", "no such file")
	usage(t, real("--session", "cell", "--driver", "gobot"), "needs --config")
	for _, bad := range []string{"0", "-1m", "8h1s", "NaN", "forever", "1e3"} {
		usage(t, full("--for", bad), "--for")
	}
	usage(t, full("--clock", "fast"), "simulator's")
	usage(t, full("--faults", "x"), "simulator's")
	usage(t, full("--unreferenced"), "simulator's")
	usage(t, full("--config", "x.toml", "--robot", "hal"), `robot is called "hal"`)
	usage(t, full("--session", "a/b"), "--session")
}

// An opt-in comes from the command line of this run and from nowhere else.
func TestAnOptInIsNotReadFromAnyOtherPlace(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"session", "TAU_SESSION", "config.toml", "tau.toml"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("session = \"cell\"\n"), 0o600))
	}
	r := tauEnv(t, []string{"TAU_SESSION=cell", "TAU_OPT_IN=cell", "SESSION=cell", "TAU_DATA_DIR=" + dir, "XDG_CONFIG_HOME=" + dir}, "",
		"robot", "real", "--driver", "mcu", "--port", "/dev/null", "--config", filepath.Join(dir, "config.toml"))
	require.Equal(t, 2, r.status)
	require.Contains(t, r.stderr, "which is the opt-in")
}

func TestPlanFlagsThatMakeNoSense(t *testing.T) {
	plan := func(args ...string) []string { return append([]string{"robot", "plan"}, args...) }
	usage(t, plan(), "needs one of --to, --pose, --waypoints, --jog, --drive and --home")
	usage(t, plan("--to", "shoulder_pan=0", "--pose", "0,0,0"), "not two")
	usage(t, plan("--to", "0,0"), "2 numbers")
	usage(t, plan("--to", "shoulder_pan=NaN"), "finite")
	usage(t, plan("--to", "shoulder_pan=inf"), "finite")
	usage(t, plan("--to", "knee=1"), "knee")
	usage(t, plan("--to", "shoulder_pan=0,shoulder_pan=1"), "twice")
	usage(t, plan("--pose", "1,2"), "2 numbers")
	usage(t, plan("--pose", "1,2,3", "--tool-axis", "1"), "1 numbers")
	usage(t, plan("--to", "shoulder_pan=0", "--speed-scale", "NaN"), "--speed-scale")
	usage(t, plan("--to", "shoulder_pan=0", "--speed-scale", "0"), "--speed-scale")
	usage(t, plan("--to", "shoulder_pan=0", "--speed-scale", "-1"), "--speed-scale")
	usage(t, plan("--to", "shoulder_pan=0", "--tool-axis", "0,0,1"), "goes with --pose")
	usage(t, plan("--waypoints", "0,0,0;1,2"), "--waypoints: pose 2: 2 numbers")
	usage(t, plan("--waypoints", "0,0,0", "--tool-axis", "0,0,1"), "goes with --pose")
	usage(t, plan("--jog", "elbow_flex"), "--jog: want name=number")
	usage(t, plan("--drive", "1,2"), "--drive: 2 numbers; want linear,angular,duration")
	usage(t, plan("--home", "--jog", "elbow_flex=1"), "not two")
	usage(t, plan("--home", "--from", "away"), "--from")
	usage(t, []string{"robot", "check", "so101", "--scene", "x.json"}, "--scene goes with --plot")
	usage(t, []string{"robot", "check", "so101", "--plot", "x.png", "--scene", "/nonexistent.json"}, "nonexistent")
}
