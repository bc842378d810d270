package bridge

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/prompt"
	"github.com/tau-robot/tau/cmd/tau/internal/shell"
	"github.com/tau-robot/tau/cmd/tau/internal/show"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

// console is the prompt of a run. It exists before the bridge does, because the
// approver asks on it, and learns of the bridge once that is there.
type console struct {
	prompt *prompt.Prompt
	// set by bind, before the prompt reads
	shell *shell.Shell
	host  *Host
	// interrupts tells Run of a ctrl-C that came while something ran.
	interrupts chan struct{}
	script     bool           // a script runs beside the prompt, so there is always something under way
	lines      int            // handled; the prompt handles one after another
	stops      sync.WaitGroup // of ctrl-C, which serve waits for
}

func newConsole(in, out *os.File, history string) (*console, error) {
	c := &console{interrupts: make(chan struct{}, 1)}
	var err error
	c.prompt, err = prompt.New(prompt.Options{
		In: in, Out: out, History: history,
		Handle:      c.handle,
		Complete:    func(line string, pos int) (int, []string) { return c.shell.Complete(line, pos) },
		Immediate:   func(line string) bool { return c.shell.Immediate(line) },
		OnInterrupt: c.interrupt,
		OnSuspend:   func(context.Context) func() { return c.host.Hold("suspended") },
	})
	return c, err
}

// approver asks on this console; nil where nobody can answer there.
func (c *console) approver() gate.Approver {
	if !c.prompt.Interactive() {
		return nil
	}
	return terminal.New(c.prompt)
}

func (c *console) bind(h *Host) {
	c.host = h
	c.shell = shell.New(shell.Config{
		Caller: h.Gate, Session: h.setup.Session, Principal: Operator, Joints: h.Model.JointNames(),
		Print: c.prompt.Print,
		Quit:  func() { _ = c.prompt.Close() }, // gives the terminal back and returns at once
	})
}

func (c *console) handle(ctx context.Context, line string) {
	if !c.shell.Immediate(line) {
		c.lines++
	}
	c.shell.Handle(ctx, line)
}

// interrupt is ctrl-C, which is what SIGINT is elsewhere: a controlled stop and
// then the end. With a half-typed line, or while something moves that was asked for
// elsewhere (over MCP), the line is discarded, everything that moves or waits is
// stopped, and the prompt goes on.
func (c *console) interrupt(_ context.Context, idle bool) bool {
	if c.script || c.shell.Busy() {
		select {
		case c.interrupts <- struct{}{}:
		default: // told already
		}
		return false
	}
	if !idle || c.host.Moving() {
		c.stops.Add(1)
		go func() { // the reader of the terminal never waits for a robot
			defer c.stops.Done()
			for _, v := range c.host.Stop("ctrl-C") {
				c.prompt.Print(show.Verdict(v) + "\n")
			}
		}()
		return false
	}
	return idle
}

// serve reads lines until the end. Input that is no terminal and has nothing in it
// (a service's) isn't an end while MCP is served: then only a signal is.
func (c *console) serve(ctx context.Context) error {
	err := c.prompt.Run(ctx)
	c.stops.Wait()
	if ctx.Err() != nil {
		err = nil // the interruption decides
	}
	switch {
	case errors.Is(err, prompt.ErrInterrupted), errors.Is(err, prompt.ErrHangup):
		return &exit.Error{Status: exit.Interrupted, Err: err}
	case err != nil:
		return exit.Bridgef("reading the prompt: %w", err)
	}
	if !c.prompt.Interactive() && c.lines == 0 && c.host.mcp != nil { // returns at once when ctx has ended
		<-ctx.Done()
	}
	return nil
}
