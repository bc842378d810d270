package prompt

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/tau-robot/tau/cmd/tau/internal/jobctl"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

// ErrInterrupted is how Run ends after a ctrl-C that means exit.
var ErrInterrupted = errors.New("interrupted")

// ErrHangup is how Run ends when the terminal goes away.
var ErrHangup = errors.New("the terminal is gone")

var errClosed = errors.New("prompt: closed")

// Options are what a Prompt needs. Handle is required; the rest may be nil.
type Options struct {
	In, Out *os.File
	Prompt  string // "": "tau> "
	// Complete returns the words that can stand in line from byte start up to the
	// cursor at byte pos, in the order in which they are listed; a word that is
	// complete carries the blank or mark that follows it. It must not block.
	Complete func(line string, pos int) (start int, words []string)
	// Handle runs one command, taken in at an epoch: that of its Enter. ctx ends when
	// Run does. Lines are handled one after another, but for those that Act or Beside
	// pick.
	Handle func(ctx context.Context, line string, epoch uint64)
	// Act takes the lines that wait for nothing (stop, estop): it has acted when it
	// returns, and finish, which runs in a goroutine of its own, waits for what
	// comes of it. The lines that were waiting are dropped. It must not block; false:
	// it isn't such a line.
	Act func(ctx context.Context, line string) (finish func(), ok bool)
	// Beside reports lines that change nothing, and so may be handled beside the one
	// that runs. It must not block.
	Beside func(line string) bool
	// Epoch changes with each stop, wherever that comes from: lines that were taken
	// before it changed are dropped. It must not block.
	Epoch func() uint64
	// OnInterrupt is called in a goroutine of its own for each ctrl-C: it brings
	// what moves to a controlled stop. idle says that nothing ran, waited, was asked
	// or was half typed here; if it then returns true, Run ends. nil: true.
	OnInterrupt func(ctx context.Context, idle bool) (exit bool)
	// OnSuspend is called before the terminal is given back and the process stops
	// itself: it stops what moves, returns when it's at rest, and lets nothing begin
	// until resumed is called, which is when the process goes on.
	OnSuspend func(ctx context.Context) (resumed func())
	History   string           // a file of mode 0600; "": in memory only
	Now       func() time.Time // nil: time.Now

	suspend func() error // what ctrl-Z does; nil: jobctl.SuspendGroup; tests put another here
}

// Prompt is one terminal. Make it with New, and call Run once. It implements
// terminal.Console. All methods may be called from any goroutine.
type Prompt struct {
	o           Options
	inFD, outFD int
	interactive bool
	history     *history
	term        *term.Terminal
	conn        *conn
	keys        *keyQueue
	lines       *lineQueue
	wake        [2]int // a pipe that ends the reader's poll

	ctx    context.Context // of handlers; ends with cancel
	cancel context.CancelCauseFunc
	hooks  sync.WaitGroup // handlers and hooks in goroutines of their own
	begun  chan struct{}  // closed when Run has begun
	gone   chan struct{}  // closed when the reader has ended
	ended  chan struct{}  // closed when the editor has ended

	// out is held while something is written that isn't an echo. It may be held
	// for as long as the terminal takes no output, so the reader never takes it.
	out sync.Mutex
	tty *term.State // how the terminal was; set before raw
	raw atomic.Bool // it is in raw mode

	// mu guards what follows and is never held while anything waits.
	mu       sync.Mutex
	view     *view // the open card
	held     []byte
	heldLost int
	barriers []chan time.Time
	typed    bool // keys were typed since the last line
	stopped  bool
	started  bool

	suspending atomic.Bool
}

var _ terminal.Console = (*Prompt)(nil)

// New returns a prompt on In and Out. It is interactive if both are terminals;
// neither is touched before Run.
func New(o Options) (*Prompt, error) {
	if o.In == nil || o.Out == nil || o.Handle == nil {
		return nil, errors.New("prompt: In, Out and Handle are required")
	}
	if o.Prompt == "" {
		o.Prompt = "tau> "
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.suspend == nil {
		o.suspend = jobctl.SuspendGroup
	}
	p := &Prompt{o: o, inFD: int(o.In.Fd()), outFD: int(o.Out.Fd()), keys: newKeyQueue(), lines: newLineQueue(),
		begun: make(chan struct{}), gone: make(chan struct{}), ended: make(chan struct{})}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	p.interactive = term.IsTerminal(p.inFD) && term.IsTerminal(p.outFD)
	if !p.interactive {
		return p, nil
	}
	h, err := openHistory(o.History)
	if err != nil {
		return nil, err
	}
	h.off = p.cardOpen
	p.history = h
	p.conn = &conn{p: p}
	p.term = term.NewTerminal(p.conn, o.Prompt)
	p.term.History = h
	p.term.AutoCompleteCallback = p.complete
	return p, nil
}

// Begun is closed once Run has begun: from then on a card can be opened.
func (p *Prompt) Begun() <-chan struct{} { return p.begun }

// Ending is closed when Run is about to end: no more lines are taken, and what was
// begun for earlier ones has been told to end. Run returns once it has.
func (p *Prompt) Ending() <-chan struct{} { return p.ctx.Done() }

// Interactive reports whether a person can be asked here.
func (p *Prompt) Interactive() bool { return p.interactive }

// Run reads and handles lines until the input ends (nil), ctrl-C means exit
// (ErrInterrupted), the terminal goes away (ErrHangup), Close is called (nil) or
// ctx ends (its cause). At the end of plain input it first runs the lines that
// wait; else it ends the handlers' context and waits for them. Whatever the way
// out, a panic in one of its goroutines or handlers too, the terminal is as it
// was. It can be called once.
func (p *Prompt) Run(ctx context.Context) error {
	p.mu.Lock()
	again := p.started || p.stopped
	p.started = true
	p.mu.Unlock()
	if again {
		return errClosed
	}
	close(p.begun)
	if err := unix.Pipe2(p.wake[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return err
	}
	defer p.closeFiles()
	defer p.restore()
	if p.interactive {
		if err := p.enter(); err != nil {
			return err
		}
	}
	signals := make(chan os.Signal, 8)
	if p.interactive {
		signal.Notify(signals, syscall.SIGWINCH, syscall.SIGCONT)
		defer signal.Stop(signals)
	}
	var own sync.WaitGroup
	own.Go(func() { defer p.guard(); p.read() })
	own.Go(func() { defer p.guard(); p.work() })
	stopSignals := make(chan struct{})
	if p.interactive {
		own.Go(func() { defer p.guard(); p.edit() })
		own.Go(func() { defer p.guard(); p.follow(signals, stopSignals) })
	}
	undo := context.AfterFunc(ctx, func() { p.cancel(context.Cause(ctx)) })
	defer undo()
	<-p.ctx.Done()
	p.shutDown()
	close(stopSignals)
	own.Wait()
	p.hooks.Wait()
	p.restore()
	p.flushHeld()
	if err := context.Cause(p.ctx); !errors.Is(err, errClosed) {
		return err
	}
	return nil
}

// shutDown lets every goroutine end.
func (p *Prompt) shutDown() {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.answer(terminal.Answer{Kind: terminal.EndOfInput, At: p.o.Now()}, "")
	p.lines.close()
	p.keys.close()
	p.poke()
}

// Close ends Run and gives the terminal back at once, without waiting for
// handlers; Run's return says that they have ended. Closing twice is fine.
func (p *Prompt) Close() error {
	p.mu.Lock()
	p.stopped = true
	p.mu.Unlock()
	p.cancel(errClosed)
	p.restore()
	return nil
}

// guard gives the terminal back when a goroutine panics, and lets it panic on.
func (p *Prompt) guard() {
	if r := recover(); r != nil {
		p.restore()
		panic(r)
	}
}

func (p *Prompt) closeFiles() {
	p.mu.Lock()
	wake := p.wake
	p.wake = [2]int{-1, -1}
	p.mu.Unlock()
	_ = unix.Close(wake[0])
	_ = unix.Close(wake[1])
	if p.history != nil {
		_ = p.history.close() // each line was written when it was typed
	}
}

// Print writes text, as it is, above the prompt; while a card is open it is held
// back until the card is closed. A newline is added where the last is missing.
func (p *Prompt) Print(text string) {
	if text == "" {
		return
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	p.out.Lock()
	defer p.out.Unlock()
	if !p.hold(text) {
		p.write(text)
	}
}

// Write prints p's bytes, so that a Prompt can be a log's or a command's output.
func (p *Prompt) Write(b []byte) (int, error) {
	p.Print(string(b))
	return len(b), nil
}

// write writes to the terminal. p.out must be held.
func (p *Prompt) write(text string) {
	if !p.raw.Load() {
		_, _ = p.o.Out.WriteString(text) // nobody to tell
		return
	}
	p.conn.begin()
	_, _ = p.term.Write([]byte(text))
	p.conn.flush()
}

// work runs the queued lines, one after another.
func (p *Prompt) work() {
	for {
		l, ok := p.lines.next()
		switch {
		case !ok:
			return
		case l.epoch != p.epoch():
			// It was typed before a stop, and so were all that wait behind it up to that.
			p.printDropped(1 + p.lines.dropIf(func(l line) bool { return l.epoch != p.epoch() }))
		default:
			p.o.Handle(p.ctx, l.text, l.epoch)
		}
	}
}

func (p *Prompt) epoch() uint64 {
	if p.o.Epoch == nil {
		return 0
	}
	return p.o.Epoch()
}

// command takes one line, completed at an epoch, for the handler. wait says that the
// input may be made to wait for room; pasted, that it wasn't typed.
func (p *Prompt) command(text string, epoch uint64, wait, pasted bool) {
	if strings.TrimSpace(text) == "" || p.act(text) {
		return
	}
	if p.interactive && p.lines.busy() {
		if !pasted && p.lines.waiting() == 0 && p.o.Beside != nil && p.o.Beside(text) {
			p.hooks.Go(func() {
				defer p.guard()
				p.o.Handle(p.ctx, text, epoch)
			})
			return
		}
		p.Print("(this waits for what runs; a stop drops it)")
	}
	if err := p.lines.push(line{text, epoch}, wait); err != nil && !errors.Is(err, errClosed) {
		p.Print(err.Error())
	}
}

// act acts on a line that waits for nothing, beside what runs, and drops what waits:
// what was typed before a stop doesn't run after it. It reports whether it is one.
func (p *Prompt) act(text string) bool {
	if p.o.Act == nil {
		return false
	}
	before := p.epoch()
	finish, ok := p.o.Act(p.ctx, text)
	if !ok {
		return false
	}
	if after := p.epoch(); p.conn != nil && after == before+1 {
		p.conn.stoppedHere(before, after)
	}
	dropped := p.lines.drop()
	p.hooks.Go(func() {
		defer p.guard()
		finish()
	})
	p.printDropped(dropped)
	return true
}

func (p *Prompt) printDropped(n int) {
	switch {
	case n == 1:
		p.Print("1 waiting line was dropped")
	case n > 1:
		p.Print(itoa(n) + " waiting lines were dropped")
	}
}
