// Package script runs a script of tool calls: JSON lines in, one answer a line
// out, in the same order. It is an agent-facing front end: it holds a
// [gate.Caller], which can call and stop, and must never import anything that can
// approve.
//
// Two goroutines: one reads ahead and acts on a stop the moment that it is read,
// whatever an earlier line is doing; the caller's own runs the other lines one
// after another and writes all answers. A line that is an array is a batch (G23): its
// calls run as the gate has them, each in a goroutine of its own that the next line
// waits for. A line that was read before a stop, wherever
// that comes from, and hadn't begun is not run any more, unless it only reads. At most readAhead lines are read ahead.
package script

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"

	"github.com/tau-robot/tau/cmd/tau/internal/show"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

// readAhead is how many lines wait behind the one that runs at most; a stop
// behind them is read once there is room.
const readAhead = 4096

// origin is what a script's calls say of where they come from.
const origin = "script"

// turn names what a script's calls are part of, for budgets: all of it is one turn.
const turn = "script"

// Config is what a script runs with. All but Log and Progress is required.
type Config struct {
	Caller    gate.Caller
	Session   string
	Principal string
	Out       io.Writer
	JSON      bool // JSON lines on Out, else one line of text a call
	Log       *slog.Logger
	// Progress, if set, is told what a running call says of itself. It must not
	// block and is called from any goroutine.
	Progress func(tool, text string)
}

// Answer is one line of the output. Every field but Error is always there.
type Answer struct {
	ID         string            `json:"id"` // the line's own, else the bridge's call id
	Tool       string            `json:"tool"`
	Status     gate.Status       `json:"status"`
	Code       gate.Code         `json:"code"`
	Text       string            `json:"text"`
	Result     json.RawMessage   `json:"result"`
	Approval   gate.ApprovalKind `json:"approval"`
	DurationMS float64           `json:"duration_ms"`
	Error      *Error            `json:"error,omitempty"` // of a call with a code
}

// Error says why a call wasn't carried out, or not to its end, as fields. What there
// isn't is left out, but code and where.
type Error struct {
	Code    gate.Code       `json:"code"`
	Where   string          `json:"where"`
	Value   *gate.Quantity  `json:"value,omitempty"`
	Limit   *gate.Quantity  `json:"limit,omitempty"`
	Nearest []gate.Quantity `json:"nearest,omitempty"`
}

// producer is the result of an answer that has no other: which robot it is about.
// Results of tools name it themselves.
type producer struct {
	Mode    gate.Mode `json:"mode,omitempty"`
	Backend string    `json:"backend,omitempty"`
}

// Summary says how a script went.
type Summary struct {
	Calls int // answers written
	NotOK int // of them, those whose status isn't ok
}

// errStopRead ends the context of a call that a later line's stop overtook.
var errStopRead = gate.Errf(gate.CodeStopped, "script", "a stop was read")

// line is a line on its way to its answers: one for each of its calls, and one for a
// line that is no call.
type line struct {
	number int
	calls  []call
	err    error                    // no call: why
	stops  int                      // stops read up to this line
	taken  gate.Stamp               // when it was read
	stop   map[int]chan gate.Answer // of the calls that stop; their answers come here
}

type runner struct {
	Config
	tiers map[string]gate.Tier

	mu      sync.Mutex
	stops   int                     // stops read so far
	cancel  context.CancelCauseFunc // of the tier-2 calls that run, else nil
	stopped sync.WaitGroup          // stops under way
}

// Run runs the script in to its end. An error is an error of reading or writing,
// never of a call; the summary holds for what was done before it. When ctx ends,
// the running call is cancelled (which brings a motion to a controlled stop), its
// answer is written and Run returns ctx's error. Run closes in, which must end a
// blocked Read, and waits for its goroutines.
func Run(ctx context.Context, in io.ReadCloser, c Config) (Summary, error) {
	r := &runner{Config: c, tiers: map[string]gate.Tier{}}
	if r.Log == nil {
		r.Log = slog.New(slog.DiscardHandler)
	}
	for _, s := range c.Caller.Specs() {
		r.tiers[s.Name] = s.Tier
	}
	lines := make(chan line, readAhead)
	readErr := make(chan error, 1)
	readCtx, endReading := context.WithCancel(ctx)
	go func() {
		defer close(lines)
		readErr <- r.read(readCtx, in, lines)
	}()
	closed := make(chan struct{})
	context.AfterFunc(readCtx, func() { defer close(closed); _ = in.Close() })
	sum, err := r.answer(ctx, lines)
	endReading()
	<-closed
	for l := range lines { // the reader ends by itself; what it had read is not run
		for _, answer := range l.stop {
			<-answer
		}
	}
	r.stopped.Wait()
	rerr := <-readErr // of no interest where ending the script ended the reading
	switch {
	case err != nil:
		return sum, err
	case ctx.Err() != nil:
		return sum, ctx.Err()
	}
	return sum, rerr
}

// read hands lines on until in ends. A stop acts here.
func (r *runner) read(ctx context.Context, in io.Reader, out chan<- line) error {
	br := bufio.NewReaderSize(in, 64<<10)
	for n := 1; ; n++ {
		text, err := readLine(br)
		taken := r.Caller.Stamp() // before a stop on it acts
		if errors.Is(err, io.EOF) {
			return nil
		}
		var long *tooLongError
		if err != nil && !errors.As(err, &long) {
			return fmt.Errorf("script: line %d: %w", n, err)
		}
		l := line{number: n, taken: taken}
		if err == nil {
			if isBlank(text) {
				continue
			}
			l.calls, l.err = parse(n, text)
		} else {
			l.err = &lineError{number: n, text: err.Error(), stop: long.stop}
		}
		var le *lineError
		if errors.As(l.err, &le) && le.stop != "" {
			// A malformed stop still stops (G6).
			r.Log.Warn("script: a stop that isn't well-formed", "line", n, "err", le.text)
			l.calls, l.err = []call{{id: l.id(), tool: le.stop}}, nil
		}
		if l.err == nil {
			l.stop = r.stopAll(l.calls)
		}
		r.mu.Lock()
		l.stops = r.stops
		r.mu.Unlock()
		select {
		case out <- l:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func isBlank(b []byte) bool {
	for _, c := range b {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}

// id is that of a line that is no call, as far as it could be read.
func (l line) id() string {
	if len(l.calls) == 0 {
		return ""
	}
	return l.calls[0].id
}

// stopAll acts on the stops among a line's calls, an estop first.
func (r *runner) stopAll(calls []call) map[int]chan gate.Answer {
	var out map[int]chan gate.Answer
	for _, kind := range []gate.StopKind{gate.StopEmergency, gate.StopControlled} {
		for i, c := range calls {
			if c.tool == string(kind) {
				if out == nil {
					out = map[int]chan gate.Answer{}
				}
				out[i] = r.stopNow(c)
			}
		}
	}
	return out
}

// stopNow acts on a stop at once: in the gate first, then on what this script has
// begun or queued. It has been commanded when stopNow returns; its answer comes on the
// channel, and isn't given up because the script is.
func (r *runner) stopNow(c call) chan gate.Answer {
	ch := make(chan gate.Answer, 1)
	r.stopped.Add(1)
	// Under the lock, so that no line begins between the stop and its being counted.
	r.mu.Lock()
	defer r.mu.Unlock()
	ticket := r.Caller.Submit(r.invocation(c, 0))
	go func() {
		defer r.stopped.Done()
		<-ticket.Done()
		ch <- ticket.Answer()
	}()
	r.stops++
	if r.cancel != nil {
		r.cancel(errStopRead)
	}
	return ch
}

func (r *runner) invocation(c call, taken gate.Stamp) gate.Invocation {
	inv := gate.Invocation{
		Tool: c.tool, Args: c.args, ToolUseID: c.id,
		Session: r.Session, Principal: r.Principal, Origin: origin, Taken: taken, Turn: turn,
	}
	if r.Progress != nil {
		inv.Progress = func(text string) { r.Progress(c.tool, text) }
	}
	return inv
}

// answer runs the lines in order and writes their answers.
func (r *runner) answer(ctx context.Context, in <-chan line) (Summary, error) {
	var sum Summary
	for {
		select {
		case l, ok := <-in:
			if !ok {
				return sum, nil
			}
			if ctx.Err() != nil {
				return sum, ctx.Err()
			}
			if err := r.tell(ctx, l, &sum); err != nil {
				return sum, fmt.Errorf("script: writing the answer to line %d: %w", l.number, err)
			}
		case <-ctx.Done():
			return sum, ctx.Err()
		}
	}
}

// tell runs a line and writes its answers as they come, in the order of its calls.
func (r *runner) tell(ctx context.Context, l line, sum *Summary) error {
	run := r.run(ctx, l)
	defer run.end()
	for n, answer := range run.answers {
		a := <-answer
		sum.Calls++
		if a.Status != gate.StatusOK {
			sum.NotOK++
		}
		if err := r.write(l, n, a); err != nil {
			return err
		}
	}
	return nil
}

// run runs a line: a batch beside, anything else to its end.
func (r *runner) run(ctx context.Context, l line) answering {
	if l.err != nil {
		r.Log.Warn("script: a line that is no call", "line", l.number, "err", l.err)
		return answered(gate.Answer{Status: gate.StatusError, Code: gate.CodeInvalidArgument, Text: l.err.Error(), Approval: gate.ApprovalNone})
	}
	if len(l.calls) > 1 {
		return r.batch(ctx, l)
	}
	if stop := l.stop[0]; stop != nil {
		return answered(<-stop)
	}
	c := l.calls[0]
	if r.moves(c) {
		return answered(r.one(ctx, l, c))
	}
	return answered(r.Caller.Call(ctx, r.invocation(c, l.taken)))
}

// moves reports whether a call is, or may be, of tier 2.
func (r *runner) moves(c call) bool {
	t, known := r.tiers[c.tool]
	return !known || t == gate.TierPhysical
}

// one runs a call that may move something, alone.
func (r *runner) one(ctx context.Context, l line, c call) gate.Answer {
	callCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if !r.begin(l, cancel) {
		return overtaken(c.tool)
	}
	a := r.Caller.Call(callCtx, r.invocation(c, l.taken))
	r.done()
	return stoppedBy(callCtx, a)
}

// stoppedBy says of a call that a stop on a later line has ended that it was one.
func stoppedBy(ctx context.Context, a gate.Answer) gate.Answer {
	if a.Status == gate.StatusCancelled && errors.Is(context.Cause(ctx), errStopRead) {
		a.Code = gate.CodeStopped // the gate sees a context that ended; why it did is known here
	}
	return a
}

// begin lets a tier-2 line begin unless a stop was read since the line was.
func (r *runner) begin(l line, cancel context.CancelCauseFunc) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stops > l.stops {
		return false
	}
	r.cancel = cancel
	return true
}

func overtaken(tool string) gate.Answer {
	return gate.Answer{
		Tool: tool, Status: gate.StatusCancelled, Code: gate.CodeStopped, Approval: gate.ApprovalNone,
		Text: "A stop was read before this line began; it was not run.",
	}
}

// write writes the answer to the line's call number n.
func (r *runner) write(l line, n int, a gate.Answer) error {
	var c call
	if n < len(l.calls) {
		c = l.calls[n]
	}
	if !r.JSON {
		text := show.Answer(words.English, a)
		if l.err != nil {
			text = "✗ " + gate.Escape(a.Text)
		}
		_, err := fmt.Fprintln(r.Out, text)
		return err
	}
	out := Answer{
		ID: c.id, Tool: c.tool, Status: a.Status, Code: a.Code, Text: a.Text,
		Result: a.Result, Approval: a.Approval, DurationMS: float64(a.Duration.Microseconds()) / 1000,
	}
	if out.ID == "" {
		out.ID = a.CallID
	}
	if a.Code != "" {
		out.Error = &Error{a.Code, a.Refusal.Where, a.Refusal.Value, a.Refusal.Limit, a.Refusal.Nearest}
	}
	if len(out.Result) == 0 {
		origin, err := json.Marshal(producer{Mode: a.Mode, Backend: a.Backend})
		if err != nil {
			return err
		}
		out.Result = origin
	}
	b, err := json.Marshal(out)
	if err != nil {
		return err
	}
	_, err = r.Out.Write(append(b, '\n'))
	return err
}
