package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/bench"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
)

func (a *app) bench() *cobra.Command {
	return group("bench", "Measurements, each beside its baseline in one run",
		a.benchOf("gate", "A tier-0 call through the whole gate, beside a map lookup and call", bench.Gate),
		a.benchOf("kinematics", "Forward kinematics and Jacobian of a 7-joint arm, beside plain matrices", bench.Kinematics),
		a.benchOf("sim", "The rehearsal of a 5 s motion with collision on, beside the motion's bare dynamics", bench.Sim),
		a.benchOf("start", "A whole run of the bridge with each built-in robot, beside one that prints the version", bench.Start))
}

// benchOf reports; a figure beyond its bound is reported too, not an error: the
// machine may have been busy.
func (a *app) benchOf(name, short string, run func(context.Context) (bench.Report, error)) *cobra.Command {
	var asJSON bool
	c := leaf(name, short, 0, func(cmd *cobra.Command, _ []string) error {
		r, err := run(cmd.Context())
		if err != nil {
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
