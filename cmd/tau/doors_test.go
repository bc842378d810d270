package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// module is the prefix of our own packages.
const module = "github.com/tau-robot/tau/"

// A door is a rule about imports: none of from may come to import any of to, by
// itself or through packages of ours, unless both the package and what it imports
// are in the exception. Patterns are module-relative; "x/..." is x and what is
// below it, "x" is x alone. A pattern with a dot in its first element is another
// module's; such an import counts only where it is direct.
type door struct {
	name   string
	from   []string
	notIn  []string // packages that from doesn't mean
	to     []string
	except []string // of to, what is allowed
	reason string
}

var doors = []door{
	{
		name: "robot is a leaf", from: []string{"robot"}, to: []string{"..."},
		reason: "everything else stands on it",
	},
	{
		name: "gate is a leaf", from: []string{"gate"}, to: []string{"..."},
		reason: "it knows no robot, and its parts are handed in",
	},
	{
		name: "below robot", from: []string{"robot/..."},
		to:     []string{"gate/...", "motion/...", "sim/...", "drivers/...", "cmd/..."},
		reason: "robot knows no gate and nothing that uses it",
	},
	{
		name: "below gate", from: []string{"gate/..."},
		to:     []string{"robot/...", "motion/...", "sim/...", "drivers/...", "cmd/..."},
		reason: "the gate knows no robot: what it permits is data to it",
	},
	{
		name: "the simulator", from: []string{"sim/..."},
		to:     []string{"gate/...", "motion/...", "drivers/...", "cmd/..."},
		reason: "a rehearsal that runs the planner's own checks again proves nothing",
	},
	{
		name: "the drivers", from: []string{"drivers/..."},
		to:     []string{"gate/...", "motion/...", "sim/...", "cmd/..."},
		reason: "a driver does what it is handed; a bus emulator gets its robot as a robot.Backend",
	},
	{
		name: "the wire", from: []string{"drivers/mcu/wire/...", "drivers/mcu/stream/..."},
		to: []string{"..."}, except: []string{"robot", "drivers/mcu/wire"},
		reason: "bytes and arithmetic, with no port and no board behind them",
	},
	{
		name: "the servo bus", from: []string{"drivers/feetech/bus/...", "drivers/feetech/sts/...", "drivers/feetech/dxl/...", "drivers/feetech/emulator/..."},
		to: []string{"..."}, except: []string{"robot", "drivers/feetech/bus", "drivers/feetech/sts", "drivers/feetech/dxl"},
		reason: "packets and servos, with no port behind them; an emulator that used the driver would agree with its mistakes",
	},
	{
		name: "drivers apart", from: []string{"drivers/hosted/...", "drivers/port/..."},
		to:     []string{"drivers/mcu/...", "drivers/feetech/...", "drivers/gobot/..."},
		reason: "what drivers share knows none of them",
	},
	{
		name: "no driver knows another: mcu", from: []string{"drivers/mcu/..."},
		to:     []string{"drivers/hosted/...", "drivers/feetech/...", "drivers/gobot/..."},
		reason: "a board that plans by itself shares nothing with those that don't",
	},
	{
		name: "no driver knows another: feetech", from: []string{"drivers/feetech/..."},
		to:     []string{"drivers/mcu/...", "drivers/gobot/..."},
		reason: "what two drivers share lies in hosted or port",
	},
	{
		name: "no driver knows another: gobot", from: []string{"drivers/gobot/..."},
		to:     []string{"drivers/mcu/...", "drivers/feetech/..."},
		reason: "what two drivers share lies in hosted or port",
	},
	{
		name: "pure motion", from: []string{"motion/kinematics/...", "motion/collision/...", "motion/trajectory/...", "motion/planning/..."},
		to:     []string{"gate/...", "sim/...", "drivers/...", "cmd/...", "motion"},
		reason: "the planner's mathematics knows no approvals, no simulator and no device",
	},
	{
		name: "kinematics alone", from: []string{"motion/kinematics/..."},
		to:     []string{"motion/collision/...", "motion/trajectory/...", "motion/planning/..."},
		reason: "only planning puts the pure parts together",
	},
	{
		name: "collision alone", from: []string{"motion/collision/..."},
		to:     []string{"motion/kinematics/...", "motion/trajectory/...", "motion/planning/..."},
		reason: "only planning puts the pure parts together",
	},
	{
		name: "trajectory alone", from: []string{"motion/trajectory/..."},
		to:     []string{"motion/kinematics/...", "motion/collision/...", "motion/planning/..."},
		reason: "only planning puts the pure parts together",
	},
	{
		name: "the planner", from: []string{"motion"},
		to:     []string{"sim/...", "drivers/...", "cmd/..."},
		reason: "it asks a Rehearser; cmd/tau hands it the simulator",
	},
	{
		name: "agent-facing", from: []string{"gate/mcp/...", "cmd/tau/internal/script/...", "cmd/tau/internal/shell/...", "cmd/tau/internal/control/..."},
		to:     []string{"gate/approver/...", "gate/approval/...", "gate/lane/...", "gate/events/..."},
		reason: "what an agent can reach never sees an interface that can approve",
	},
	{
		name: "calibrating", from: []string{"cmd/tau/internal/calibrate/..."},
		to:     []string{"drivers/...", "sim/...", "cmd/..."},
		reason: "the walk has no means to power or move what a person has their hands in; its bus is handed in",
	},
	{
		name: "the doctor", from: []string{"cmd/tau/internal/doctor/..."},
		to: []string{"drivers/...", "sim/...", "motion/...", "cmd/..."}, except: []string{"drivers/port"},
		reason: "it looks and asks; what could move something isn't at hand",
	},
	{
		name: "what is exposed", from: []string{"cmd/tau/internal/expose/..."},
		to:     []string{"gate/...", "motion/...", "drivers/...", "cmd/..."},
		except: []string{"drivers/feetech/emulator", "drivers/feetech/bus", "drivers/feetech/sts", "drivers/feetech/dxl"},
		reason: "other programs get an arm that isn't there; nothing leads from it to one that is",
	},
	{
		name: "channels elsewhere", from: []string{"gate/approver/telegram/...", "gate/approver/web/..."},
		to:     []string{"gate/mcp/...", "gate/mount/...", "gate/approval/...", "gate/lane/...", "gate/events/..."},
		reason: "a channel hands in a word and a stop; it serves no agent and runs nothing",
	},
	{
		name: "tests only", from: []string{"..."},
		notIn:  testOnly,
		to:     testOnly,
		reason: "scripted approvers and conformance suites exist in tests only",
	},
	{
		name: "only main wires", from: []string{"..."}, notIn: []string{"cmd/..."}, to: []string{"cmd/..."},
		reason: "the binary imports everything; nothing imports the binary",
	},
	{
		name: "serial ports", from: []string{"..."}, notIn: []string{"drivers/port/..."}, to: []string{"go.bug.st/serial/..."},
		reason: "drivers/port wraps it once, with its lock, deadlines and faults",
	},
	{
		name: "gobot", from: []string{"..."}, notIn: []string{"drivers/gobot/..."}, to: []string{"gobot.io/x/gobot/..."},
		reason: "drivers/gobot bounds what it does wrong",
	},
}

var testOnly = []string{"gate/gatetest/...", "robot/robottest/...", "gate/approval/storetest/...", "gate/approval/pgtest/...", "motion/kinematics/kintest/...", "gate/mcp/mcptest/...", "gate/approver/telegram/telegramtest/...", "gate/approver/tui/tuitest/...", "drivers/port/porttest/...", "drivers/mcu/boardtest/...", "drivers/feetech/bus/bustest/..."}

// edges is the import graph of non-test code: package to what it imports, ours
// without the module's prefix.
type edges map[string][]string

func matches(pattern, pkg string) bool {
	base, tree := strings.CutSuffix(pattern, "...")
	if base == "" && tree {
		return !foreign(pkg)
	}
	base = strings.TrimSuffix(base, "/")
	return pkg == base || tree && strings.HasPrefix(pkg, base+"/")
}

func anyMatches(patterns []string, pkg string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, pkg) })
}

// foreign reports a package of another module.
func foreign(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return strings.Contains(first, ".")
}

// open returns the ways through doors that should be shut, sorted.
func open(g edges, ds []door) []string {
	var out []string
	for _, d := range ds {
		for pkg := range g {
			if foreign(pkg) || !anyMatches(d.from, pkg) || anyMatches(d.notIn, pkg) {
				continue
			}
			for _, way := range ways(g, pkg) {
				to := way[len(way)-1]
				if foreign(to) && len(way) > 2 {
					continue
				}
				if anyMatches(d.to, to) && !anyMatches(d.except, to) && to != pkg {
					out = append(out, fmt.Sprintf("%s: %s: %s", d.name, strings.Join(way, " → "), d.reason))
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// ways returns one shortest way from pkg to each package that it reaches through ours.
func ways(g edges, pkg string) [][]string {
	var out [][]string
	seen := map[string]bool{pkg: true}
	for queue := [][]string{{pkg}}; len(queue) > 0; queue = queue[1:] {
		way := queue[0]
		for _, to := range g[way[len(way)-1]] {
			if seen[to] {
				continue
			}
			seen[to] = true
			next := append(slices.Clone(way), to)
			out = append(out, next)
			if !foreign(to) {
				queue = append(queue, next)
			}
		}
	}
	return out
}

// listed reads the import graph as the go command sees it.
func listed(t *testing.T) edges {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Imports,Standard", module+"...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	require.NoError(t, err, "%s", stderr.String())
	g := edges{}
	for dec := json.NewDecoder(bytes.NewReader(b)); ; {
		var p struct {
			ImportPath string
			Imports    []string
			Standard   bool
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return g
		}
		require.NoError(t, err)
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours {
			continue
		}
		g[name] = nil
		for _, i := range p.Imports {
			if i, ours := strings.CutPrefix(i, module); ours || foreign(i) {
				g[name] = append(g[name], i)
			}
		}
	}
}

func TestDoorsStayShut(t *testing.T) {
	g := listed(t)
	for _, must := range []string{"robot", "gate", "sim", "motion", "gate/mcp", "cmd/tau"} {
		require.Contains(t, g, must, "the list is not of this module")
	}
	require.Empty(t, open(g, doors))
}

func TestEveryDoorIsSeenOpen(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []struct {
		g    edges
		want string
	}{
		{edges{"robot": {"robot/urdf"}}, "robot is a leaf"},
		{edges{"gate": {"gate/lane"}}, "gate is a leaf"},
		{edges{"robot/urdf": {"gate"}}, "below robot"},
		{edges{"gate/mcp": {"robot"}}, "below gate"},
		{edges{"sim": {"motion/collision"}}, "the simulator"},
		{edges{"drivers/mcu": {"gate"}}, "the drivers"},
		{edges{"drivers/mcu/stream": {"drivers/port"}}, "the wire"},
		{edges{"drivers/mcu/wire": {"drivers/mcu/stream"}}, "the wire"},
		{edges{"drivers/feetech/emulator": {"drivers/feetech"}}, "the servo bus"},
		{edges{"drivers/feetech/sts": {"drivers/port"}}, "the servo bus"},
		{edges{"drivers/hosted": {"drivers/gobot"}}, "drivers apart"},
		{edges{"drivers/mcu": {"drivers/hosted"}}, "no driver knows another: mcu"},
		{edges{"drivers/feetech": {"drivers/gobot"}}, "no driver knows another: feetech"},
		{edges{"drivers/gobot": {"drivers/mcu"}}, "no driver knows another: gobot"},
		{edges{"motion/planning": {"sim"}}, "pure motion"},
		{edges{"motion/planning": {"motion"}}, "pure motion"},
		{edges{"motion/kinematics": {"motion/collision"}}, "kinematics alone"},
		{edges{"motion/collision": {"motion/planning"}}, "collision alone"},
		{edges{"motion/trajectory": {"motion/kinematics"}}, "trajectory alone"},
		{edges{"motion": {"sim"}}, "the planner"},
		{edges{"gate/mcp": {"gate/approver/terminal"}}, "agent-facing"},
		{edges{"cmd/tau/internal/script": {"gate/approval"}}, "agent-facing"},
		{edges{"cmd/tau/internal/calibrate": {"drivers/feetech"}}, "calibrating"},
		{edges{"cmd/tau/internal/doctor": {"drivers/feetech"}}, "the doctor"},
		{edges{"cmd/tau/internal/expose": {"drivers/feetech"}}, "what is exposed"},
		{edges{"gate/approver/web": {"gate/mcp"}}, "channels elsewhere"},
		{edges{"cmd/tau/internal/bridge": {"gate/gatetest"}}, "tests only"},
		{edges{"sim": {"cmd/tau"}}, "only main wires"},
		{edges{"cmd/tau": {"go.bug.st/serial"}}, "serial ports"},
		{edges{"drivers/mcu": {"gobot.io/x/gobot/v2"}}, "gobot"},
		// Through a package in between.
		{edges{"gate/mcp": {"gate/util"}, "gate/util": {"gate/approval"}}, "gate/mcp → gate/util → gate/approval"},
		{edges{"sim": {"robot/x"}, "robot/x": {"motion/kinematics"}}, "sim → robot/x → motion/kinematics"},
	} {
		got := strings.Join(open(c.g, doors), "\n")
		require.Contains(t, got, c.want, "%v", c.g)
		seen[c.want] = true
	}
	for _, d := range doors {
		require.True(t, seen[d.name], "nothing above goes through the door %q", d.name)
	}
	// What is allowed isn't reported.
	require.Empty(t, open(edges{
		"cmd/tau": {"cmd/tau/internal/cli"}, "cmd/tau/internal/cli": {"gate/approver/terminal", "gate", "sim", "motion"},
		"gate/lane": {"gate"}, "motion": {"gate", "robot", "motion/planning"},
		"motion/planning": {"motion/kinematics", "motion/collision", "motion/trajectory", "robot"},
		"sim":             {"robot", "github.com/go-gl/mathgl/mgl64"},
		"drivers/port":    {"go.bug.st/serial"}, "drivers/mcu": {"drivers/port", "robot", "drivers/mcu/stream"},
		"drivers/mcu/stream": {"drivers/mcu/wire", "robot"}, "drivers/mcu/wire": {"robot"}, "drivers/gobot": {"gobot.io/x/gobot/v2", "drivers/hosted", "drivers/port"},
		"drivers/feetech/emulator": {"drivers/feetech/bus", "drivers/feetech/sts", "robot"}, "drivers/feetech": {"drivers/hosted", "drivers/feetech/sts", "drivers/port"},
		"gate/gatetest": {"gate"}, "robot/robottest": {"robot"},
		"cmd/tau/internal/expose": {"drivers/feetech/emulator", "sim", "robot/hardware"}, "cmd/tau/internal/doctor": {"drivers/port", "gate"},
	}, doors))
}
