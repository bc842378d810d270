package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/fdio"
	"github.com/tau-robot/tau/cmd/tau/internal/jobctl"
	"github.com/tau-robot/tau/cmd/tau/internal/script"
	"github.com/tau-robot/tau/cmd/tau/internal/show"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
	"github.com/tau-robot/tau/robot"
)

// Front is how a bridge is used: by a script, or by lines on In, which is a
// prompt where In and Out are a terminal.
type Front struct {
	Script io.ReadCloser // nil: no script. Run closes it, which must end a blocked Read.
	JSON   bool
	Stdio  bool // In and Out are an MCP client's; Script is nil and Ask false
	In     *os.File
	Lang   words.Lang
	Out    *os.File // answers; watched for readers that go away
	Err    io.Writer
	Ask    bool // approvals are asked at the terminal, if In and Out are one
	// Screen, if set, is all that In and Out are used for; Script is nil and Ask and
	// Stdio are false. Run closes it.
	Screen *Screen
}

// How long the end waits for a front end: for a reader that doesn't read, or a call
// that doesn't come back. The robot has been told to stop by then.
const (
	frontWait = 5 * time.Second
	notesWait = time.Second
	startWait = time.Second // for a start that was interrupted to release what it opened
)

// Run starts a bridge, serves its front end until that ends or the process is
// told to, brings the robot to a controlled stop and ends the bridge. The error
// carries the exit status.
func Run(s Setup, f Front) error {
	r := &run{Front: f, sig: catchSignals()}
	if f.Script != nil {
		defer func() { _ = f.Script.Close() }() // it was read, or the error says why not
	}
	s.Open = func(dir string) (gate.Approver, Watcher, error) { return r.open(dir, &s) }
	if f.Screen != nil {
		defer f.Screen.close()
	}
	defer func() {
		if r.console != nil {
			r.console.close()
		}
	}()
	var err error
	if r.host, err = r.start(func() (*Host, error) { return Start(s) }); err != nil {
		return err
	}
	gone, unwatch, err := fdio.Watch(f.Out)
	if err != nil {
		return exit.Bridgef("%w", errors.Join(err, r.host.Close()))
	}
	defer unwatch()
	if r.console != nil {
		r.console.bind(r.host)
	}
	if r.Screen != nil {
		r.Screen.bind(r.host)
	}
	r.announce()
	return r.until(gone)
}

// start starts the bridge unless a signal ends that first. Nothing moves then, so
// that the process may end without waiting for a disk that hangs; what was opened is
// released when the start ends, which start itself waits for only so long.
func (r *run) start(begin func() (*Host, error)) (*Host, error) {
	type started struct {
		host *Host
		err  error
	}
	ch, givenUp := make(chan started), make(chan struct{})
	go func() {
		h, err := begin()
		select {
		case ch <- started{h, err}:
		case <-givenUp:
			if err == nil {
				_ = h.Close() // nobody is left to tell
			}
		}
	}()
	for {
		select {
		case s := <-ch:
			var bad *robot.Error
			var own *exit.Error
			switch {
			case errors.As(s.err, &own):
				return nil, own
			case errors.As(s.err, &bad) && bad.Code == robot.CodeInvalidArgument && bad.Where == inSettings:
				return nil, exit.Filef("tau robot tools", "--settings: %w", bad.Err) // a rule about what isn't there
			case errors.As(s.err, &bad) && bad.Code == robot.CodeInvalidArgument:
				return nil, exit.Filef("", "%w", s.err) // robot, scene or faults can't be simulated or planned for
			case s.err != nil:
				return nil, exit.Bridgef("%w", s.err)
			}
			return s.host, nil
		case got := <-r.sig.c:
			if got == syscall.SIGTSTP {
				_ = jobctl.Suspend() // nothing moves yet; one that can't be suspended goes on
				continue
			}
			err := fmt.Errorf("interrupted (%s) while starting: nothing has moved", got)
			select {
			case s := <-ch:
				if s.err == nil {
					err = errors.Join(err, s.host.Close())
				}
			case <-time.After(startWait):
				close(givenUp)
			}
			return nil, &exit.Error{Status: exit.Interrupted, Err: err}
		}
	}
}

type run struct {
	Front
	sig     signals
	host    *Host
	console *console // nil with a script that can't be asked about

	suspending sync.Mutex // held by the one suspension that is under way
}

// open makes the console once the data folder is there, and says who approves and
// who is told what happens.
func (r *run) open(dir string, s *Setup) (gate.Approver, Watcher, error) {
	if r.Screen != nil {
		t := r.Screen.open(s)
		return t, t, nil
	}
	if r.Stdio || r.Script != nil && !r.Ask {
		return nil, nil, nil
	}
	var err error
	if r.console, err = newConsole(r.In, r.Out, dir+"/history", r.Lang); err != nil {
		return nil, nil, err
	}
	r.console.script = r.Script != nil
	if !r.Ask {
		return nil, r.console.notices, nil
	}
	a := r.console.approver()
	if a == nil && r.Script != nil {
		return nil, nil, errors.New("--approve-from terminal with --script needs a terminal on standard input and output")
	}
	return a, r.console.notices, nil
}

// until serves until the end, whichever it is.
func (r *run) until(gone <-chan struct{}) error {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- r.serve(ctx) }()
	interrupt := func(why string) error {
		// The stop comes before everything else that ends, so that a motion ends
		// stopped and not merely because its caller went away.
		verdicts := r.host.Stop(why)
		cancel(errors.New(why))
		select {
		case err := <-ended:
			r.host.Log.Debug("the front end ended", "err", err)
		case <-time.After(r.frontWait()):
			r.host.Log.Warn("the front end didn't end: whoever reads its output may have stopped reading")
		}
		return r.end(verdicts, interrupted(why))
	}
	for {
		select {
		case err := <-ended:
			return r.end(r.host.Stop("the front end ended"), err)
		case got := <-r.sig.c:
			if got == syscall.SIGTSTP {
				// Beside this loop: giving a terminal back and taking it again may wait for
				// one that takes no output, and the next signal mustn't.
				if r.suspending.TryLock() {
					go func() {
						defer r.suspending.Unlock()
						r.suspend()
					}()
				}
				continue
			}
			return interrupt(got.String())
		case <-r.interrupts():
			return interrupt("ctrl-C")
		case <-r.ending():
			// What runs for the prompt may never come back; the stop doesn't wait for it.
			verdicts := r.host.Stop("the prompt was left")
			select {
			case err := <-ended:
				return r.end(verdicts, err)
			case <-time.After(r.frontWait()):
				return r.end(verdicts, exit.Bridgef("what was asked for at the prompt %w within %s", ErrNotEnded, r.frontWait()))
			}
		case <-gone:
			return interrupt("nobody reads the answers any more")
		}
	}
}

func (r *run) interrupts() <-chan struct{} {
	if r.console == nil {
		return nil
	}
	return r.console.interrupts
}

func (r *run) frontWait() time.Duration { return cmp.Or(r.host.setup.endWait, frontWait) }

// ending is closed when a person leaves the prompt. Plain input that ends isn't
// that: its lines still run.
func (r *run) ending() <-chan struct{} {
	if r.Screen != nil {
		return r.Screen.tui.Ending()
	}
	if r.console == nil || !r.console.prompt.Interactive() {
		return nil
	}
	return r.console.prompt.Ending()
}

// interruption is why a bridge was interrupted. How its stop went is known, and said, at
// its end alone.
type interruption string

func (i interruption) Error() string { return "interrupted (" + string(i) + ")" }

func interrupted(why string) error {
	return &exit.Error{Status: exit.Interrupted, Err: interruption(why)}
}

// end ends the bridge and settles how the process does.
func (r *run) end(verdicts []gate.StopVerdict, err error) error {
	rest := "stopped in a controlled way"
	for _, v := range verdicts {
		if !v.AtRest() {
			rest = "told to stop"
			fmt.Fprintf(r.Err, "tau: %s\n", r.Lang.NotAtRest(show.Verdict(r.Lang, v)))
		}
	}
	if cerr := r.host.Close(); cerr != nil {
		return exit.Bridgef("ending the bridge: %w", cerr)
	}
	var why interruption
	if errors.As(err, &why) {
		return &exit.Error{Status: exit.Interrupted, Err: fmt.Errorf("%w: %s", why, rest)}
	}
	return err
}

// serve runs the front end to its end.
func (r *run) serve(ctx context.Context) error {
	if r.Stdio {
		return r.serveStdio(ctx)
	}
	if r.Screen != nil {
		return r.Screen.serve(ctx)
	}
	if r.Script == nil {
		return r.console.serve(ctx)
	}
	if r.console == nil {
		return r.script(ctx)
	}
	return r.askedScript(ctx)
}

// askedScript runs the script beside a terminal on which its calls are answered;
// the script doesn't outlive that terminal.
func (r *run) askedScript(ctx context.Context) error {
	sctx, endScript := context.WithCancel(ctx)
	defer endScript()
	pctx, endPrompt := context.WithCancel(ctx)
	defer endPrompt()
	asked := make(chan error, 1)
	go func() {
		defer endScript()
		asked <- r.console.serve(pctx)
	}()
	select { // a question before the terminal is there would be refused
	case <-r.console.prompt.Begun():
	case <-sctx.Done():
	}
	err := r.script(sctx)
	ended := sctx.Err() != nil // before the script did
	endPrompt()
	aerr := <-asked
	switch {
	case err != nil:
		return err
	case aerr == nil && ended:
		return interrupted("the prompt was left")
	}
	return aerr
}

func (r *run) script(ctx context.Context) error {
	out, people := io.Writer(r.Out), r.Err
	if r.console != nil { // which holds both back while a card is open
		out, people = r.console.prompt, r.console.prompt
	}
	progress := newNotes(people)
	sum, err := script.Run(ctx, r.Script, script.Config{
		Caller: r.host.Gate, Session: r.host.setup.Session, Principal: Operator, Out: out, JSON: r.JSON, Log: r.host.Log,
		Progress: func(tool, text string) { progress.tell("… " + gate.Escape(tool) + ": " + gate.Escape(text)) },
	})
	select {
	case <-progress.close():
	case <-time.After(notesWait):
	}
	if ctx.Err() != nil {
		err = nil // the interruption decides
	}
	switch {
	case errors.Is(err, syscall.EPIPE):
		return interrupted("nobody reads the answers any more")
	case err != nil:
		return exit.Bridgef("%w", err)
	case sum.NotOK > 0 && ctx.Err() == nil:
		return exit.Silent(exit.Calls) // the answers have said it
	}
	return nil
}

// announce says that the bridge is ready, and where.
func (r *run) announce() {
	var b strings.Builder
	b.WriteString(r.host.readyNotice(r.Lang))
	if url, token := r.host.Endpoint(); url != "" {
		b.WriteString(r.Lang.MCPAt(url, gate.Escape(token)) + "\n")
	}
	b.WriteString(r.host.channelsNotice() + leftNotice(r.Lang, r.host.left))
	switch {
	case r.Screen != nil:
		for l := range strings.Lines(b.String() + r.host.outsideNotice(false)) {
			// A terminal that draws by cells is given no selector of a sign's form.
			r.Screen.tui.Tell(strings.ReplaceAll(strings.TrimSuffix(l, "\n"), "\ufe0f", ""))
		}
		return
	case r.Stdio:
		b.WriteString(r.host.stdioNotice() + r.host.outsideNotice(true))
	case r.Script != nil:
		b.WriteString(r.host.outsideNotice(false))
	case r.console.prompt.Interactive():
		b.WriteString(r.host.outsideNotice(false))
		r.console.prompt.Print(b.String() + r.Lang.HelpHint() + "\n")
		return
	default:
		b.WriteString(r.Lang.NoTerminal() + "\n" + r.host.outsideNotice(true))
	}
	for l := range strings.Lines(b.String()) {
		fmt.Fprintf(r.Err, "tau: %s", l)
	}
}
