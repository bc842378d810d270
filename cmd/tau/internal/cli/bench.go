package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/bench"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
)

func (a *app) bench() *cobra.Command {
	return group("bench", "Measurements, each beside its baseline in one run",
		a.benchOf("gate", "A tier-0 call through the whole gate, beside a map lookup and call; a yes to the first actuation, beside an fsync", bench.Gate),
		a.benchKinematics(),
		a.benchOf("sim", "The rehearsal of a 5 s motion with collision on, beside the motion's bare dynamics", bench.Sim),
		a.benchOf("start", "A whole run of the bridge with each built-in robot, beside one that prints the version", bench.Start),
		a.benchWire())
}

// benchOf reports; a figure beyond its bound is reported too, not an error: the
// machine may have been busy.
func (a *app) benchOf(name, short string, run func(context.Context) (bench.Report, error)) *cobra.Command {
	var asJSON bool
	c := leaf(name, short, 0, func(cmd *cobra.Command, _ []string) error {
		r, err := run(cmd.Context())
		if err != nil {
			var known *exit.Error
			if errors.As(err, &known) {
				return err
			}
			return exit.Bridgef("%w", err)
		}
		if asJSON {
			return a.document(r)
		}
		return write(a.out, r.String())
	})
	c.Flags().BoolVar(&asJSON, "json", false, "the report as one JSON document")
	return c
}

// benchWire measures the line of a board, on one that is modelled or on a real port.
func (a *app) benchWire() *cobra.Command {
	var r robotFlags
	var path, config string
	c := a.benchOf("wire", "A command, and a stop while segments stream, to the first byte on the line, beside a write to the bare port", func(ctx context.Context) (bench.Report, error) {
		if path == "" {
			return bench.Wire(ctx)
		}
		if config == "" {
			return bench.Report{}, exit.Usagef("--port needs --config, the robot's file")
		}
		m, err := r.Model()
		if err != nil {
			return bench.Report{}, r.wrong(err)
		}
		file, model, err := realFile(config, "mcu", m)
		if err != nil {
			return bench.Report{}, err
		}
		return bench.WirePort(ctx, model, file, path)
	})
	c.Flags().StringVar(&path, "port", "", "a real board's port; nothing is moved there, so stops are measured at rest")
	c.Flags().StringVar(&config, "config", "", "with --port: the robot's TOML file")
	r.add(c.Flags())
	return c
}

// benchKinematics measures the robot that is named; the bounds are of 7 joints.
func (a *app) benchKinematics() *cobra.Command {
	var r robotFlags
	c := a.benchOf("kinematics", "Forward kinematics and Jacobian of an arm, beside plain matrices", func(ctx context.Context) (bench.Report, error) {
		m, err := r.Model()
		if err != nil {
			return bench.Report{}, r.wrong(err)
		}
		return bench.Kinematics(ctx, m)
	})
	r.add(c.Flags())
	robot := c.Flags().Lookup("robot")
	robot.DefValue, r.Name = "panda", "panda"
	return c
}
