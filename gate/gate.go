package gate

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// Gate is the one way to a tool. It implements Caller; Stop, Exempt and Close are
// for the program that built it. All methods may be called from any goroutine.
type Gate struct {
	cfg       Config
	cat       *Catalog
	hooks     pipeline
	rates     *limiter
	budget    budgets
	batches   batches
	book      book
	fatigue   fatigue
	wanted    wanted
	question  turn   // the one open question (G11)
	running   group  // calls, approvers and stoppers that Close waits for
	born      uint64 // the stop epoch when the gate was made
	unwritten unwritten

	root     context.Context // of calls that outlive their caller
	endRoot  context.CancelCauseFunc
	sinkDown atomic.Bool // the last event could not be written

	mu         sync.Mutex
	closed     bool
	turns      map[string]*turn // by resource
	recovered  bool
	changed    chan struct{} // closed and made anew when sessions have changed
	exemptions []*Exemption
}

var _ Caller = (*Gate)(nil)

// New builds a gate, adds its own tools to the catalog and seals it. A
// configuration that lacks a part, or has a limit that isn't one, is an error.
func New(cfg Config) (*Gate, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	rates, err := newLimiter(cfg.Rates)
	if err != nil {
		return nil, err
	}
	hooks, err := cfg.Hooks.seal()
	if err != nil {
		return nil, err
	}
	g := &Gate{cfg: cfg, cat: cfg.Catalog, hooks: hooks, rates: rates, turns: map[string]*turn{}, changed: make(chan struct{})}
	g.book.init(cfg.KeepAnswers)
	g.unwritten.wake = make(chan struct{}, 1)
	g.born = uint64(g.Stamp()) - 1
	g.budget.init(cfg.Budget)
	g.wanted.quiet = cfg.Budget.TurnQuiet
	g.root, g.endRoot = context.WithCancelCause(context.Background())
	for _, fn := range cfg.Exemptions {
		g.Exempt(fn)
	}
	if err := g.cat.register(append(g.ownTools(), g.permitTools(cfg.Grants != nil, cfg.Routines != nil)...)); err != nil {
		return nil, err
	}
	g.cat.seal()
	return g, nil
}

// Specs lists the tools by name. The caller owns the list.
func (g *Gate) Specs() []Spec { return g.cat.Specs() }

// Call runs a call to its end; see Caller. Tiers 0 and 1 run in the caller's goroutine.
func (g *Gate) Call(ctx context.Context, inv Invocation) Answer {
	if kind, ok := stopKindOf(inv.Tool); ok {
		return g.callStop(kind, inv)
	}
	c, err := g.newCall(inv)
	if err != nil {
		return g.finish(c, c.refuse(err))
	}
	return g.finish(c, g.run(ctx, c))
}

// Submit starts a call that outlives its caller and returns at once. A stop has
// been commanded when Submit returns, and ends every call submitted before it.
func (g *Gate) Submit(inv Invocation) Ticket {
	if kind, ok := stopKindOf(inv.Tool); ok {
		return g.submitStop(kind, inv)
	}
	c, err := g.newCall(inv)
	c.done = make(chan struct{})
	if err == nil && !g.enter() {
		err = errClosing()
	}
	if err != nil {
		g.finish(c, c.refuse(err))
		return c
	}
	ctx, cancel := context.WithCancelCause(g.root)
	c.cancel = cancel
	go func() {
		defer g.running.done()
		defer cancel(nil)
		g.finish(c, g.run(ctx, c))
	}()
	return c
}

// Close refuses further calls, withdraws open questions, ends what runs and waits
// for all of it, until ctx ends. A stop stays possible. The lane is the caller's
// to close, afterwards.
func (g *Gate) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	err := errClosing()
	g.endRoot(err)
	g.book.cancelAll(err)
	g.batches.endAll(err)
	ended := g.running.wait(ctx)
	if ended != nil {
		ended = Errf(CodeInternal, "close", "something didn't end: %w", ended)
	}
	return errors.Join(ended, g.lastRewrite())
}

func errClosing() *Error { return Errf(CodeCancelled, "", "the bridge is closing") }

// enter counts something that Close waits for; false once the gate is closed.
func (g *Gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running.add()
	return true
}

func (g *Gate) turnOf(resource string) *turn {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := g.turns[resource]
	if t == nil {
		t = &turn{}
		g.turns[resource] = t
	}
	return t
}

// newCall makes the record of an invocation. It never returns nil; with an error
// the call is over already.
func (g *Gate) newCall(inv Invocation) (*call, error) {
	c := &call{g: g, inv: inv, id: inv.CallID, start: g.cfg.Now(), epoch: g.stampOf(inv), entry: g.cat.lookup(inv.Tool)}
	if c.id == "" {
		id, err := newID(g.cfg.Rand)
		if err != nil {
			return c, err
		}
		c.id = id
	} else if !isCallID(c.id) {
		c.id = ""
		return c, Errf(CodeInvalidArgument, "call_id", "is not 32 lower-case hexadecimal digits")
	}
	return c, nil
}

func isCallID(s string) bool {
	if len(s) != 32 {
		return false
	}
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'f') {
			return false
		}
	}
	return true
}

// run takes a call through the gate in the order of G7. Whatever panics in here
// refuses, unless the action had begun: then nobody knows (G9).
func (g *Gate) run(ctx context.Context, c *call) (a Answer) {
	defer func() {
		if p := recover(); p != nil {
			a = g.panicked(c, p)
		}
	}()
	if err := g.admit(ctx, c); err != nil {
		return c.refuse(err)
	}
	if c.member != nil {
		c.member.settle(c.entry.spec.Tier == TierPhysical)
	}
	if c.entry.spec.Tier == TierPhysical {
		return g.physical(ctx, c)
	}
	return g.inline(ctx, c)
}

// admit does what all tiers have in common, in the order of G7. A hook's say comes
// before everything that judges: what is left by the hooks is what is bounded by rates
// and roles, compared with what was registered, and later prepared.
func (g *Gate) admit(ctx context.Context, c *call) error {
	if err := g.step(ctx, c, g.decode(c)); err != nil {
		return err
	}
	if err := g.beforeCall(ctx, c); err != nil {
		return err
	}
	if err := g.rates.allow(c.start, c.session.Name, c.inv.Tool); err != nil {
		return c.because("rate", err)
	}
	if err := c.entry.live(false); err != nil {
		return err
	}
	return g.overtaken(c)
}

// decode looks a call's tool up, decodes its arguments strictly, and looks up whose
// call it is.
func (g *Gate) decode(c *call) error {
	if c.inv.Invalid != nil {
		return c.inv.Invalid
	}
	if c.entry == nil {
		if _, err := DecodeStrict(nil, c.inv.Args); err != nil {
			return err
		}
		return &Error{Code: CodeUnknownTool, Where: clip(c.inv.Tool, maxName)}
	}
	for _, f := range []struct{ name, v string }{
		{"session", c.inv.Session}, {"principal", c.inv.Principal}, {"origin", c.inv.Origin}, {"turn", c.inv.Turn},
	} {
		if !utf8.ValidString(f.v) {
			return Errf(CodeInvalidArgument, f.name, "is not valid UTF-8")
		}
	}
	if n := len(c.inv.Turn); n > MaxTurn {
		return limitErr("the turn's name is too long", float64(n), MaxTurn, "bytes")
	}
	args, err := DecodeStrict(c.entry.spec.Input, c.inv.Args)
	if err != nil {
		return err
	}
	c.args = args
	s, err := g.session(c.inv.Session)
	if err != nil {
		// Reading and writing notes need no opt-in; moving does.
		code := CodeOf(err)
		if c.entry.spec.Tier == TierPhysical || s.Name == "" || code != CodeNotOptedIn && code != CodeOptInExpired {
			return err
		}
	}
	c.setSession(s)
	if err := g.mayUse(c.inv.Principal, c.inv.Tool); err != nil {
		return c.because("role", err)
	}
	return nil
}

// session looks a session up and refuses what isn't one.
func (g *Gate) session(name string) (Session, error) {
	s, err := guard("session", func() (Session, error) { return g.cfg.Sessions.Session(name) })
	if err != nil {
		return s, asError(err, CodeNotOptedIn)
	}
	if s.Name != name || s.Backend == "" || s.Mode != ModeSim && s.Mode != ModeReal {
		return Session{}, Errf(CodeNotOptedIn, "session", "%q is not a session that may call tools", clip(name, 64))
	}
	return s, nil
}

// inline runs a call of tier 0 or 1 in the caller's goroutine. An after hook may have
// one of tier 0 run a second time, which takes another token of its rate.
func (g *Gate) inline(ctx context.Context, c *call) Answer {
	a := g.runInline(ctx, c)
	if len(g.hooks.after) == 0 || c.entry.spec.Tier != TierRead {
		return a
	}
	to, again := g.askAfter(c, a, ctx.Err() == nil)
	if again && g.rates.allow(g.cfg.Now(), c.session.Name, c.inv.Tool) == nil {
		c.cause = nil
		a = g.runInline(ctx, c)
		to, _ = g.askAfter(c, a, false)
	}
	c.seen = &seen{a, to}
	return to
}

func (g *Gate) runInline(ctx context.Context, c *call) Answer {
	action, err := c.entry.tool.Prepare(ctx, c.forTool())
	if err == nil && action == nil {
		err = Errf(CodeInternal, c.inv.Tool, "the tool prepared nothing")
	}
	if err == nil {
		err = g.overtaken(c)
	}
	if err != nil {
		return c.refuse(err)
	}
	c.ran = true
	res, err := action.Run(ctx)
	return g.answer(c, res, err)
}

// answer makes an answer of what a tool returned.
func (g *Gate) answer(c *call, res Result, err error) Answer {
	a := Answer{Text: res.Text, Result: res.Data}
	if err != nil {
		code := CodeInternal
		if c.entry.spec.Tier == TierPhysical {
			code = CodeUnknownOutcome
		}
		c.cause = err
		e := asError(err, code)
		a.Code, a.Refusal = e.Code, refusalOf(e)
		if a.Text == "" {
			a.Text = e.Message()
		} else {
			a.Text = e.Message() + ". " + a.Text
		}
	}
	a.Status = statusOf(a.Code, c.ran)
	if validStatus(res.Status) && !(err != nil && res.Status == StatusOK) {
		a.Status = res.Status
	}
	if !isObject(a.Result) {
		if len(a.Result) > 0 {
			g.cfg.Log.Error("a tool returned what is not a JSON object", "tool", c.inv.Tool, "call_id", c.id)
		}
		a.Result = nil
	}
	switch {
	case a.Status == StatusUnknown:
		if a.Code == "" {
			a.Code = CodeUnknownOutcome
		}
		why := a.Text
		if why == "" {
			why = "nothing was measured"
		}
		a.Text = unknownOutcomeText(c.id, why)
	case a.Status != StatusOK && a.Code == "":
		a.Code = CodeInternal
	}
	return a
}

// refuse is the answer to a call that did nothing.
func (c *call) refuse(err error) Answer {
	c.cause = err
	e := asError(err, CodeInternal)
	a := Answer{Code: e.Code, Status: statusOf(e.Code, false), Text: e.Message(), Refusal: refusalOf(e), Approval: ApprovalNone}
	if e.Code == CodeUnknownTool {
		a.Text, a.Refusal = unknownToolText(e.Where), Refusal{} // the name is the tool's
	}
	return a
}

// panicked answers for a call during which something of ours or a tool's panicked.
func (g *Gate) panicked(c *call, p any) Answer {
	_, err := guard("gate", func() (struct{}, error) { panic(p) })
	if c.ran && c.entry.spec.Tier != TierRead {
		c.cause = err
		return Answer{
			Code: CodeUnknownOutcome, Status: StatusUnknown,
			Text: unknownOutcomeText(c.id, "the tool failed inside while it ran"),
		}
	}
	a := c.refuse(err)
	a.Status = statusOf(a.Code, c.ran)
	a.Text = "The tool failed inside; it was not run to its end."
	return a
}
