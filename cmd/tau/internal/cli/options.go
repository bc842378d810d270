package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/bridge"
	"github.com/tau-robot/tau/cmd/tau/internal/datadir"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

const (
	mcpWaitDefault = 45 * time.Second
	simSession     = "sim" // the session of the prompt and the script, unless named
)

// bridgeFlags are the flags of "sim" and "real".
type bridgeFlags struct {
	arm              placeFlags
	session, dataDir string
	mcp, listen      string
	mcpWait          time.Duration
	approveFrom      string // "": attach if a key is trusted, else none
	channels         bridge.Channels
	operatorKey      string
	rehearse         bool
	script           string
	json             bool
	clock            string
	seed             uint64
	faults           string
	unreferenced     bool
	settings         string
	store            string
	verbose          bool
	// of "real" only
	driver, port, config, at string
	resetOnOpen              bool
	optIn                    time.Duration

	set func(name string) bool // given on the command line
}

func (b *bridgeFlags) add(cmd *cobra.Command, isReal bool) {
	f := cmd.Flags()
	b.arm.add(f)
	f.StringVar(&b.dataDir, "data-dir", "", "folder for events, tokens and logs (default: TAU_DATA_DIR, else the XDG state folder)")
	f.StringVar(&b.mcp, "mcp", "http", "MCP: http on loopback, stdio (an MCP client started this process), or off (a script's default)")
	f.StringVar(&b.listen, "listen", "127.0.0.1:0", "loopback address of MCP over HTTP; port 0 takes a free one")
	f.DurationVar(&b.mcpWait, "mcp-wait", mcpWaitDefault, "how long an MCP call that moves something is held before it is answered pending")
	f.StringVar(&b.approveFrom, "approve-from", "terminal", "who approves: terminal, tui (a screen of its own), attach (only 'tau robot approvals attach' elsewhere; the default of --mcp stdio once a key is trusted), web or telegram (elsewhere, as the settings say; also beside one of those here: terminal,telegram), or none (the default of a script)")
	f.StringVar(&b.operatorKey, "operator-key", "", "id of the operator's key to trust from now on, as 'tau robot approvals init' prints it")
	f.StringVar(&b.script, "script", "", "run JSON lines of tool calls from FILE, or - for standard input, and exit")
	f.BoolVar(&b.json, "json", false, "answers as JSON lines on standard output, people's text on standard error")
	f.StringVar(&b.clock, "clock", "real", "simulated time: real, or fast (as fast as the machine can, same results)")
	f.Uint64Var(&b.seed, "seed", 0, "seed of every random choice")
	f.StringVar(&b.faults, "faults", "", "JSON file of faults for the simulator")
	f.BoolVar(&b.unreferenced, "unreferenced", false, "simulator: joints with a reference switch start without knowing where they are")
	f.StringVar(&b.settings, "settings", "", "the operator's settings, a TOML file: language, policies, channels, mounted servers")
	f.StringVar(&b.store, "store", "", "PostgreSQL database that several bridges share, postgres://user@host:port/database, or @FILE with that in a file of mode 0600 (default: a file of the data folder)")
	f.BoolVarP(&b.verbose, "verbose", "v", false, "log tier-0 calls too")
	f.BoolVar(&b.rehearse, "rehearse", false, "simulated sessions only: run physical calls without asking anybody")
	f.StringVar(&b.driver, "driver", "", "driver of the real robot: "+driverNames)
	f.StringVar(&b.port, "port", "", "device of the real robot; 'tau robot ports' lists them")
	f.StringVar(&b.config, "config", "", "the real robot's file (TOML): which channel moves which joint, and how")
	f.StringVar(&b.at, "at", "", "where the joints are that nothing measures: home, or joint=rad,… for each; without it they can't be powered after a reset of the board")
	f.BoolVar(&b.resetOnOpen, "reset-on-open", false, "reset the board when its port is opened, as an Arduino's does by itself; unpowered joints may drop")
	f.DurationVar(&b.optIn, "for", robot.DefaultOptIn, "how long the opt-in lasts, at most 8h")
	session := "name of the session (default " + simSession + ")"
	if isReal {
		session = "the session that is opted in; required"
	}
	f.StringVar(&b.session, "session", "", session)
	// Each command knows the other's flags, so that it can say what is wrong with
	// them (a device named without "real" must not start a simulator in silence),
	// but doesn't offer them.
	hide := realFlags()
	if isReal {
		hide = []string{"rehearse", "clock", "faults", "unreferenced"}
	}
	for _, name := range hide {
		f.Lookup(name).Hidden = true
	}
	b.set = f.Changed
}

// realFlags are the flags of "real" alone.
func realFlags() []string { return []string{"driver", "port", "config", "at", "reset-on-open", "for"} }

// checkSim refuses what doesn't go together, before anything is started.
func (b *bridgeFlags) checkSim() error {
	for _, name := range realFlags() {
		if b.set(name) {
			return exit.Usagef("--%s is about a real robot and robot sim moves none: use 'tau robot real --session NAME --driver … --port …'", name)
		}
	}
	if !b.set("session") {
		b.session = simSession
	}
	return b.check()
}

func (b *bridgeFlags) checkReal() error {
	if b.set("rehearse") {
		return exit.Usagef("--rehearse runs physical calls without asking and is for simulated sessions only")
	}
	if b.set("clock") || b.set("faults") || b.set("unreferenced") {
		return exit.Usagef("--clock, --faults and --unreferenced are the simulator's; a real robot has none of them")
	}
	if b.session == "" {
		return exit.Usagef("robot real needs --session NAME, which is the opt-in: it lets that one session move the real robot, " +
			"for 30 minutes unless --for says otherwise (at most 8h), can be revoked, is recorded in the event log, " +
			"and is never taken from a configuration file, an environment variable or an earlier run")
	}
	if b.optIn <= 0 || b.optIn > robot.MaxOptIn {
		return exit.Usagef("--for %s: an opt-in lasts more than 0 and at most %s", b.optIn, robot.MaxOptIn)
	}
	if err := b.check(); err != nil {
		return err
	}
	switch {
	case b.driver == "":
		return exit.Usagef("robot real needs --driver; there are %s", driverNames)
	case b.port == "" && b.driver != hardware.DriverGobot: // a computer's own pins have none
		return exit.Usagef("robot real needs --port, the robot's device")
	case b.config == "":
		return exit.Usagef("robot real needs --config, the robot's file: which channel moves which joint, and how (docs/HARDWARE.md)")
	}
	return nil
}

func (b *bridgeFlags) check() error {
	if err := robot.CheckSessionName(b.session); err != nil {
		return exit.Usagef("--session: %w", err)
	}
	if err := oneOf("mcp", b.mcp, []string{"http", "stdio", "off"}); err != nil {
		return err
	}
	if err := b.splitChannels(); err != nil {
		return err
	}
	if b.channels == (bridge.Channels{}) || b.approveFrom != "" {
		if err := oneOf("approve-from", b.approveFrom, []string{"terminal", "tui", "attach", "none"}); err != nil {
			return err
		}
	}
	if b.operatorKey != "" {
		id, err := signed.ParseKeyID(b.operatorKey)
		if err != nil {
			return exit.Usagef("--operator-key: %w", err)
		}
		b.operatorKey = id
	}
	if err := oneOf("clock", b.clock, []string{"real", "fast"}); err != nil {
		return err
	}
	if b.mcpWait <= 0 || b.mcpWait > mcpWaitDefault {
		return exit.Usagef("--mcp-wait %s: more than 0 and at most %s, since clients give up after 60 s", b.mcpWait, mcpWaitDefault)
	}
	if b.set("script") && b.script == "" {
		return exit.Usagef("--script needs a file's name, or - for standard input")
	}
	if b.json && b.script == "" {
		return exit.Usagef("--json is the form of a script's answers; it needs --script")
	}
	if b.mcp == "stdio" {
		return b.checkStdio()
	}
	if b.script == "" {
		return nil
	}
	return b.checkScript()
}

// checkStdio keeps everything else away from the streams of an MCP client.
func (b *bridgeFlags) checkStdio() error {
	switch {
	case b.set("script"):
		return exit.Usagef("--script with --mcp stdio: standard input and output are the MCP client's, and a script's answers can't go there too")
	case b.set("listen"):
		return exit.Usagef("--listen is about MCP over HTTP; --mcp stdio listens nowhere")
	case b.set("approve-from") && b.approveFrom == "terminal":
		return exit.Usagef("--approve-from terminal with --mcp stdio: no approver reads the terminal that an MCP client runs in, " +
			"because standard input and output are the client's and what it runs could type the answers; answer with 'tau robot approvals attach' in another one")
	}
	if b.approveFrom == "tui" {
		return exit.Usagef("--approve-from tui with --mcp stdio: standard input and output are the MCP client's, and the screen needs them both; " +
			"answer with 'tau robot approvals attach' in another one")
	}
	if !b.set("approve-from") {
		b.approveFrom = ""
	}
	return nil
}

// checkScript settles a script's defaults: MCP off, and nobody to ask, because
// the script has the terminal's input.
func (b *bridgeFlags) checkScript() error {
	if !b.set("mcp") {
		b.mcp = "off"
	}
	if !b.set("approve-from") {
		b.approveFrom = "none"
	}
	if b.approveFrom == "tui" {
		return exit.Usagef("--approve-from tui with --script: the screen takes standard output, and the script's answers would have nowhere to go; use --approve-from terminal")
	}
	if b.approveFrom == "terminal" && b.script == "-" {
		return exit.Usagef("--approve-from terminal with --script -: standard input can't give both the script and the answers; name a file")
	}
	return nil
}

func oneOf(flag, value string, built []string) error {
	if slices.Contains(built, value) {
		return nil
	}
	return exit.Usagef("--%s %q: want %s", flag, value, strings.Join(built, " or "))
}

// dataPath is the data folder that a command is about.
func (a *app) dataPath(flag string) (string, error) {
	p, err := datadir.Default(flag, a.getenv)
	if err != nil {
		return "", exit.Usagef("%w", err)
	}
	return p, nil
}

// openScript opens the script before anything is started.
func (a *app) openScript(name string) (*os.File, error) {
	if name == "-" {
		return a.in, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, exit.Usagef("--script: %w", err)
	}
	if st, err := f.Stat(); err == nil && st.IsDir() {
		_ = f.Close()
		return nil, exit.Usagef("--script: %s is a folder", name)
	}
	return f, nil
}

// floats parses "a,b,c".
func floats(what, s string) ([]float64, error) {
	var out []float64
	for i, part := range strings.Split(s, ",") {
		v, err := parseFloat(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("%s: number %d: %w", what, i+1, err)
		}
		out = append(out, v)
	}
	return out, nil
}
