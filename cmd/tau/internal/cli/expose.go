package cli

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/expose"
	"github.com/tau-robot/tau/gate/private"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
	"github.com/tau-robot/tau/sim"
)

// exposeFlags are the flags of "sim" about an arm for other programs.
type exposeFlags struct{ spec, config string }

func (e *exposeFlags) add(f *pflag.FlagSet) {
	f.StringVar(&e.spec, "expose", "", "also give other programs a simulated arm of their own, of the same robot and scene: feetech:LINK or dynamixel:LINK, LINK being the path that they open as its serial port")
	f.StringVar(&e.config, "expose-config", "", "how the servos of --expose sit on the joints: a real robot's file (default: IDs from 1 by joint, each in its middle at its joint's 0, 1 Mbaud)")
}

// open starts what is exposed and says so; nil without --expose. It is the caller's to close.
func (e *exposeFlags) open(m *robot.Model, scene *robot.Scene, clock sim.Clock, seed uint64, say io.Writer) (*expose.Exposed, error) {
	if e.spec == "" {
		if e.config != "" {
			return nil, exit.Usagef("--expose-config says how servos sit that --expose doesn't ask for")
		}
		return nil, nil
	}
	if clock != sim.Real {
		return nil, exit.Usagef("--expose with --clock fast: other programs live by the wall clock")
	}
	spec, err := expose.Parse(e.spec)
	if err != nil {
		return nil, exit.Usagef("--expose: %w", err)
	}
	o := expose.Options{Spec: spec, Model: m, Scene: scene, Seed: seed}
	if e.config != "" {
		if o.File, err = exposeFile(e.config, spec.Driver, m); err != nil {
			return nil, err
		}
	}
	x, err := expose.Open(o)
	if err != nil {
		return nil, exit.Usagef("--expose: %w", err)
	}
	_, _ = fmt.Fprintln(say, x) // where nobody reads it, the link is there all the same
	return x, nil
}

// exposeFile reads a robot's file for what it says of the servos.
func exposeFile(path, driver string, m *robot.Model) (*hardware.File, error) {
	data, err := private.ReadTrusted(path, hardware.MaxBytes)
	if err != nil {
		return nil, exit.Usagef("--expose-config: %w", err)
	}
	if is, err := hardware.DriverOf(path, data); err == nil && is != driver {
		return nil, exit.Usagef("--expose-config: %s is for the driver %q, and --expose asks for %q", path, is, driver)
	}
	f, err := hardware.Parse(path, data, m, time.Now())
	if err != nil {
		return nil, exit.Filef("", "--expose-config: %w", err)
	}
	return f, nil
}

// exposing runs f with what the flags expose.
func (e *exposeFlags) exposing(m *robot.Model, scene *robot.Scene, clock sim.Clock, seed uint64, say io.Writer, f func() error) error {
	x, err := e.open(m, scene, clock, seed, say)
	switch {
	case err != nil:
		return err
	case x == nil:
		return f()
	}
	err = f()
	if gone := x.Close(); gone != nil && err == nil {
		return exit.Bridgef("--expose: %w", gone)
	}
	return err
}
