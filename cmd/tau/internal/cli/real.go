package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/bridge"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate/private"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// driverOptions are what a driver is opened with.
type driverOptions struct {
	model       *robot.Model // with the file's limits
	file        *hardware.File
	port        string
	resetOnOpen bool
	at          []float64 // where the operator says the joints are, by active joint; NaN: not said; nil: none
	now         func() time.Time
}

// opener opens a driver; see bridge.Real.Open.
type opener func(ctx context.Context, o driverOptions, log *slog.Logger) (robot.Backend, error)

func (a *app) real() *cobra.Command {
	var b bridgeFlags
	c := leaf("real", "Runs the bridge with a real arm beside the simulated one; --session NAME is the opt-in", 0, func(*cobra.Command, []string) error {
		if err := b.checkReal(); err != nil {
			return err
		}
		return a.runReal(&b)
	})
	b.add(c, true)
	return c
}

// runReal reads everything that the flags name before anything is opened, so that a
// wrong name or file is a usage error that left nothing behind and no byte on a wire.
func (a *app) runReal(b *bridgeFlags) error {
	s, f, err := a.bridgeSetup(b)
	if err != nil {
		return err
	}
	open, err := driverOf(b.driver)
	if err != nil {
		return err
	}
	file, model, err := realFile(b.config, b.driver, s.Model)
	if err != nil {
		return err
	}
	if err := portOf(b, file); err != nil {
		return err
	}
	o := driverOptions{model: model, file: file, port: b.port, resetOnOpen: b.resetOnOpen, now: time.Now}
	if o.at, err = whereItIs(b.at, file, model); err != nil {
		return exit.Usagef("%w", err)
	}
	s.Model = model
	s.Real = &bridge.Real{
		Driver: b.driver, Port: b.port, File: file, For: b.optIn,
		Open: func(ctx context.Context, log *slog.Logger) (robot.Backend, error) { return open(ctx, o, log) },
	}
	return a.run(b, s, f)
}

// realFile reads a robot's file, which says how the robot is moved: nobody but this
// user and root may have written it.
func realFile(path, driver string, m *robot.Model) (*hardware.File, *robot.Model, error) {
	data, err := private.ReadTrusted(path, hardware.MaxBytes)
	if err != nil {
		return nil, nil, exit.Usagef("--config: %w", err)
	}
	// The driver first: a file for another one has other keys, and which of them is wrong
	// is not what is wrong with it.
	if is, err := hardware.DriverOf(path, data); err == nil && is != "" && is != driver {
		return nil, nil, exit.Filef("", "--config: %s is for the driver %q, and --driver is %q", path, is, driver)
	}
	file, err := hardware.Parse(path, data, m, time.Now())
	if err != nil {
		return nil, nil, exit.Filef("", "--config: %w", err)
	}
	narrow, err := file.Tightened(m)
	if err != nil {
		return nil, nil, exit.Filef("", "--config: %w", err)
	}
	return file, narrow, nil
}

// whereItIs reads what the operator says of where the joints are that nothing measures:
// "home", or a position for each. What is measured nobody has to say.
func whereItIs(s string, file *hardware.File, m *robot.Model) ([]float64, error) {
	if s == "" {
		return nil, nil
	}
	open := file.OpenLoop()
	if !slices.Contains(open, true) {
		return nil, errors.New("--at: each joint of this robot is measured or counted, so there is nothing to say")
	}
	q := make([]float64, len(open))
	for i := range q {
		q[i] = math.NaN()
	}
	if s == "home" {
		for i := range q {
			if open[i] {
				q[i] = m.Home[i]
			}
		}
		return q, nil
	}
	said, err := jointValues("--at", s, m.Description, q)
	if err != nil {
		return nil, err
	}
	var missing []string
	for i, v := range said {
		l, name := m.Limits[i], m.JointNames()[i]
		switch {
		case !open[i] && !math.IsNaN(v):
			return nil, fmt.Errorf("--at: %s is measured; only of what isn't can be said where it is", name)
		case open[i] && math.IsNaN(v):
			missing = append(missing, name)
		case open[i] && l.Bounded && !(v >= l.Lower && v <= l.Upper):
			return nil, robot.LimitErr(robot.CodeJointLimit, "--at "+name, v, min(max(v, l.Lower), l.Upper), m.Joints[m.Active[i]].Type.Unit(), "outside the robot's limits")
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("--at: say it of each joint that nothing measures; missing: %s", strings.Join(missing, ", "))
	}
	return said, nil
}
