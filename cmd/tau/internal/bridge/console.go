package bridge

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/prompt"
	"github.com/tau-robot/tau/cmd/tau/internal/shell"
	"github.com/tau-robot/tau/cmd/tau/internal/show"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
	"github.com/tau-robot/tau/gate/words"
	"github.com/tau-robot/tau/robot"
)

// console is the prompt of a run. It exists before the bridge does, because the
// approver asks on it, and learns of the bridge once that is there.
type console struct {
	prompt *prompt.Prompt
	lang   words.Lang
	// set by bind, before the prompt reads
	shell   *shell.Shell
	host    *Host
	notices *notices
	// interrupts tells Run of a ctrl-C that came while something ran.
	interrupts chan struct{}
	script     bool           // a script runs beside the prompt, so there is always something under way
	lines      atomic.Int64   // handled
	stops      sync.WaitGroup // of ctrl-C, which serve waits for
	unrested   atomic.Bool    // the stop of the last ctrl-C hasn't brought everything to rest
	stopped    atomic.Int64   // the number of the line that ran when ctrl-C last came
}

func newConsole(in, out *os.File, history string, lang words.Lang) (*console, error) {
	c := &console{interrupts: make(chan struct{}, 1), lang: lang}
	var err error
	c.prompt, err = prompt.New(prompt.Options{
		In: in, Out: out, History: history,
		Handle:      c.handle,
		Complete:    func(line string, pos int) (int, []string) { return c.shell.Complete(line, pos) },
		Act:         c.act,
		Beside:      func(line string) bool { return c.shell.Beside(line) },
		Epoch:       func() uint64 { return uint64(c.host.Gate.Stamp()) },
		OnInterrupt: c.interrupt,
		OnSuspend:   func(context.Context) func() { return c.host.Hold("suspended") },
	})
	if err != nil {
		return nil, err
	}
	c.notices = newNotices(newNotes(c.prompt), lang)
	return c, nil
}

// close writes what there is to tell, if its reader takes it.
func (c *console) close() {
	select {
	case <-c.notices.out.close():
	case <-time.After(notesWait):
	}
}

// approver asks on this console; nil where nobody can answer there.
func (c *console) approver() gate.Approver {
	if !c.prompt.Interactive() {
		return nil
	}
	return patient{terminal.New(c.prompt, c.lang), c.prompt.Begun()}
}

func (c *console) bind(h *Host) {
	c.host = h
	c.shell = shell.New(shell.Config{
		Caller: h.Gate, Lang: c.lang, Session: h.setup.Session, Principal: Operator, Names: namesOf(h.Model, h.scene),
		Print: c.prompt.Print, Why: c.notices.Why,
		Quit: func() { _ = c.prompt.Close() }, // gives the terminal back and returns at once
	})
}

// namesOf are the names that a person may type.
func namesOf(m *robot.Model, scene func() robot.Scene) shell.Names {
	n := shell.Names{Joints: m.JointNames(), Bodies: func() []string {
		s := scene()
		names := make([]string, len(s.Bodies))
		for i := range names {
			names[i] = s.Bodies[i].Name
		}
		return names
	}}
	for i := range m.Links {
		n.Links = append(n.Links, m.Links[i].Name)
	}
	for i := range m.Actuators {
		n.Actuators = append(n.Actuators, m.Actuators[i].Name)
	}
	return n
}

func (c *console) handle(ctx context.Context, line string, epoch uint64) {
	c.lines.Add(1)
	c.shell.Handle(ctx, line, gate.Stamp(epoch))
}

// act takes what waits for nothing: stops, and, where a person types, the end. Of
// lines from a file the end comes where it stands.
func (c *console) act(_ context.Context, line string) (finish func(), ok bool) {
	if c.prompt.Interactive() && c.shell.Quits(line) {
		c.shell.Quit()
		return func() {}, true
	}
	return c.shell.Act(line)
}

// interrupt is ctrl-C. While something moves or waits, whoever asked for it, or a
// line is half typed, everything is brought to a controlled stop and the prompt goes
// on; when nothing does, it ends the bridge, and so does one that comes before the
// last one has ended what it stopped. Beside a script, which always has something
// under way, it is what SIGINT is elsewhere: a stop and the end.
func (c *console) interrupt(_ context.Context, idle bool) bool {
	busy := !idle || c.shell.Busy() || c.host.Moving()
	if !c.script && !busy {
		return true
	}
	line := c.lines.Load()
	again := c.unrested.Swap(true)
	if c.stopped.Swap(line) == line && c.shell.Busy() {
		again = true // the same line still runs
	}
	if c.script || again {
		select {
		case c.interrupts <- struct{}{}:
		default: // told already
		}
		return false
	}
	c.stops.Add(1)
	go func() { // the reader of the terminal never waits for a robot
		defer c.stops.Done()
		vs := c.host.Stop("ctrl-C")
		if show.AtRest(vs) {
			c.unrested.Store(false)
		}
		for _, v := range vs {
			c.prompt.Print(show.Verdict(c.lang, v) + "\n")
		}
	}()
	return false
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
	if !c.prompt.Interactive() && c.lines.Load() == 0 && c.host.mcp != nil { // returns at once when ctx has ended
		<-ctx.Done()
	}
	return nil
}
