package cli

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/bridge"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/fdio"
	"github.com/tau-robot/tau/cmd/tau/internal/settings"
	"github.com/tau-robot/tau/cmd/tau/internal/source"
	"github.com/tau-robot/tau/gate/mcp"
	"github.com/tau-robot/tau/gate/private"
	"github.com/tau-robot/tau/sim"
)

func (a *app) sim() *cobra.Command {
	var b bridgeFlags
	var e exposeFlags
	c := leaf("sim", "Runs the bridge with a simulated arm: prompt or script, approvals, MCP over HTTP on loopback or on stdio", 0, func(*cobra.Command, []string) error {
		if err := b.checkSim(); err != nil {
			return err
		}
		return a.runSim(&b, &e)
	})
	b.add(c, false)
	e.add(c.Flags())
	return c
}

// runSim reads everything that the flags name before anything is started, so that
// a wrong name is a usage error that left nothing behind.
func (a *app) runSim(b *bridgeFlags, e *exposeFlags) error {
	s, f, err := a.bridgeSetup(b)
	if err != nil {
		return err
	}
	return e.exposing(s.Model, &s.Scene, s.Clock, s.Seed, a.err, func() error { return a.run(b, s, f) })
}

// bridgeSetup reads what the flags of both commands name. It opens nothing that would
// have to be closed.
func (a *app) bridgeSetup(b *bridgeFlags) (s bridge.Setup, f bridge.Front, err error) {
	s = bridge.Setup{
		Clock: sim.Real, Seed: b.seed, Session: b.session, Verbose: b.verbose, Rehearse: b.rehearse,
		MCPWait: b.mcpWait, Version: version, Now: time.Now,
	}
	if b.clock == "fast" {
		s.Clock = sim.Fast
	}
	if s.DataDir, err = a.dataPath(b.dataDir); err != nil {
		return s, f, err
	}
	if s.Model, s.Scene, err = b.arm.load(); err != nil {
		return s, f, err
	}
	if b.unreferenced {
		if len(s.Model.References) == 0 {
			return s, f, exit.Usagef("--unreferenced: %s has no joint with a reference switch", s.Model.Name)
		}
		s.Unreferenced = true
	}
	if s.Faults, err = loadFaults(b.faults); err != nil {
		return s, f, inFile(err)
	}
	if s.Store, err = loadStore(b.store); err != nil {
		return s, f, err
	}
	if s.Settings, err = loadSettings(b.settings); err != nil {
		return s, f, inFile(err)
	}
	s.Stdio = b.mcp == "stdio"
	s.Outside = bridge.Outside{Answers: b.approveFrom != "none", Required: b.approveFrom == "attach", Key: b.operatorKey}
	s.Channels = b.channels
	f = bridge.Front{JSON: b.json, Lang: s.Settings.Lang(), In: a.in, Out: a.out, Err: a.err, Ask: b.approveFrom == "terminal", Stdio: s.Stdio}
	return s, f, nil
}

// run opens the front end and runs the bridge to its end.
func (a *app) run(b *bridgeFlags, s bridge.Setup, f bridge.Front) (err error) {
	if b.approveFrom == "tui" {
		if f.Screen, err = bridge.OpenScreen(a.in, a.out, a.getenv); err != nil {
			return exit.Usagef("--approve-from tui: %w", err)
		}
	}
	if b.script != "" {
		file, err := a.openScript(b.script)
		if err != nil {
			return err
		}
		if f.Script, err = scriptReader(file); err != nil {
			return exit.Bridgef("%w", err)
		}
	}
	if b.mcp == "http" {
		if s.Listener, err = listen(b.listen); err != nil {
			return err
		}
	}
	warnHome(a.err, s.Model, checkCommand(&b.arm.Robot))
	return exit.WithSee(bridge.Run(s, f), checkCommand(&b.arm.Robot))
}

// listen opens the address of MCP over HTTP; one that isn't loopback, or whose port
// can't be one, is a usage error.
func listen(addr string) (net.Listener, error) {
	ln, err := mcp.Listen(addr)
	var op *net.OpError
	var addrErr *net.AddrError
	var portErr *net.DNSError
	if errors.As(err, &addrErr) || errors.As(err, &portErr) {
		return nil, exit.Usagef("--listen: %w", err)
	}
	if errors.As(err, &op) && op.Op == "listen" {
		return nil, exit.Bridgef("--listen: %w", err)
	}
	if err != nil {
		return nil, exit.Usagef("--listen: %w", err)
	}
	return ln, nil
}

// script is a script's input: its blocked Read ends when it is closed.
type scriptFile struct {
	*fdio.Reader
	file *os.File
}

func scriptReader(f *os.File) (io.ReadCloser, error) {
	r, err := fdio.NewReader(f)
	if err != nil {
		return nil, err
	}
	return &scriptFile{r, f}, nil
}

// Close ends a blocked Read before the descriptor goes.
func (s *scriptFile) Close() error {
	return errors.Join(s.Reader.Close(), ignoreClosed(s.file.Close()))
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// loadSettings reads the operator's settings, from a file that nobody but this user and
// root could have written: what is in it says what is allowed. No path, none.
func loadSettings(path string) (settings.File, error) {
	if path == "" {
		return settings.File{}, nil
	}
	data, err := private.ReadTrusted(path, settings.MaxBytes)
	if err != nil {
		return settings.File{}, fmt.Errorf("--settings: %w", err)
	}
	return settings.Parse(path, data)
}

// loadFaults reads what is to go wrong with the simulated robot; no path, nothing.
func loadFaults(path string) ([]sim.Fault, error) {
	if path == "" {
		return nil, nil
	}
	data, err := source.ReadFile(path, sim.MaxFaultBytes)
	if err != nil {
		return nil, fmt.Errorf("--faults: %w", err)
	}
	return sim.ParseFaults(path, data)
}
