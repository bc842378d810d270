// Package cli is the command line: flags, their checks, exit statuses. It decides
// nothing about robots; what a command does is in bridge, bench and the packages
// that those wire. Only main imports it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
)

// version is set by the linker (see Makefile).
var version = "dev"

// app is the command line's surroundings: nothing below main reads os.Std*.
type app struct {
	in       *os.File
	out, err *os.File
	getenv   func(string) string
}

// Main runs one command line and returns the process's exit status: 0 all was
// done, 1 some call isn't ok, 2 the command line is wrong, 3 the bridge itself
// failed, 130 interrupted.
func Main(args []string, in, out, err *os.File) int {
	a := &app{in: in, out: out, err: err, getenv: os.Getenv}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(err)
	cmd, runErr := root.ExecuteContextC(context.Background())
	return int(a.report(cmd, runErr))
}

// report writes an error, if there is one to write, and returns the status.
func (a *app) report(cmd *cobra.Command, err error) exit.Status {
	status := exit.StatusOf(err)
	var e *exit.Error
	if err == nil || errors.As(err, &e) && e.Err == nil {
		return status
	}
	fmt.Fprintf(a.err, "tau: %s\n", err)
	switch {
	case e != nil && e.See != "":
		fmt.Fprintf(a.err, "See: %s\n", gate.Escape(e.See)) // as it can be pasted
	case status == exit.Usage && (e == nil || !e.File):
		fmt.Fprintf(a.err, "See '%s --help'.\n", cmd.CommandPath())
	}
	return status
}

func (a *app) root() *cobra.Command {
	root := group("tau", "Drives a robot arm for an agent, each physical command approved by a person",
		a.robot(), a.version())
	root.CompletionOptions.DisableDefaultCmd = true
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.Usagef("%w", err) })
	return root
}

func (a *app) robot() *cobra.Command {
	return group("robot", "Simulated and real arms",
		a.sim(), a.real(), a.tools(), a.check(), a.fk(), a.ik(), a.plan(),
		a.stop("stop"), a.stop("estop"), a.approvals(), a.session(), a.events(), a.ports(), a.doctor(), a.calibrate(), a.bench())
}

// group is a command that only has others below it: without one of them it is a
// usage error, not a help text with exit status 0 that a script takes for success.
func group(use, short string, below ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			var names []string
			for _, b := range cmd.Commands() {
				if b.IsAvailableCommand() && b.Name() != "help" {
					names = append(names, b.Name())
				}
			}
			known := strings.Join(names, ", ")
			if len(args) == 0 {
				return exit.Usagef("%s needs a command: %s", cmd.CommandPath(), known)
			}
			return exit.Usagef("%s has no command %q; it has %s", cmd.CommandPath(), args[0], known)
		},
	}
	c.AddCommand(below...)
	return c
}

// leaf is a command that does something; want is how many arguments it takes.
func leaf(use, short string, want int, run func(cmd *cobra.Command, args []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, RunE: run, DisableFlagsInUseLine: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != want {
				return exit.Usagef("%s takes %s, got %d: %q", cmd.CommandPath(), plural(want, "argument"), len(args), args)
			}
			return nil
		},
	}
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func (a *app) version() *cobra.Command {
	return leaf("version", "Prints the version", 0, func(*cobra.Command, []string) error {
		return write(a.out, fmt.Sprintf("tau %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH))
	})
}

// write writes to standard output; a reader that went away is not success.
func write(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return exit.Bridgef("%w", err)
	}
	return nil
}
