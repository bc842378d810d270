package gate

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// DefaultTurnQuiet ends a turn that nobody gave a name.
	DefaultTurnQuiet = time.Minute
	// MaxTurn bounds a turn's name, in bytes.
	MaxTurn = 128
)

// Budget bounds calls (G24). A step that begins within the budget runs whole, however
// many calls it is; what comes after it is refused. call_status and cancel_call are
// about calls that were counted before, and aren't; stop and estop never are.
//
// A turn belongs to one principal on one channel of one session. Where the front end
// names it (Invocation.Turn) it lasts until another name comes: a script is one turn,
// each line of the prompt is one, an MCP client names them in _meta or doesn't. A turn
// without a name ends once nothing has been asked or been under way for TurnQuiet;
// what is refused counts as asked. The name is the client's word, so that whoever
// doesn't trust that bounds the session too.
type Budget struct {
	CallsPerTurn    int           // 0: not bounded
	CallsPerSession int           // 0: not bounded; since the bridge's start
	TurnQuiet       time.Duration // 0: DefaultTurnQuiet
}

func (b *Budget) fill() error {
	for _, n := range []struct {
		name string
		v    int
	}{{"calls_per_turn", b.CallsPerTurn}, {"calls_per_session", b.CallsPerSession}} {
		if n.v < 0 {
			return Errf(CodeInvalidArgument, "config.budget."+n.name, "%d is negative", n.v)
		}
	}
	if b.TurnQuiet < 0 {
		return Errf(CodeInvalidArgument, "config.budget.turn_quiet", "%v is negative", b.TurnQuiet)
	}
	if b.TurnQuiet == 0 {
		b.TurnQuiet = DefaultTurnQuiet
	}
	return nil
}

// count is what was used of a budget.
type count struct {
	what    string // "turn" or "session"
	limit   int    // 0: not bounded
	used    int
	running int // counted calls that haven't ended
	told    bool
	turn    string    // its name
	last    time.Time // when anything was asked or ended
}

func (n *count) spent() bool { return n.limit > 0 && n.used >= n.limit }

type turnKey struct{ session, principal, origin string }

// budgets counts. Sessions are those that exist and principals those that a front end
// knows, so the number of counts is bounded.
type budgets struct {
	limit Budget
	on    bool

	mu       sync.Mutex
	turns    map[turnKey]*count
	sessions map[string]*count
}

func (b *budgets) init(limit Budget) {
	b.limit, b.on = limit, limit.CallsPerTurn > 0 || limit.CallsPerSession > 0
	b.turns, b.sessions = map[turnKey]*count{}, map[string]*count{}
}

// uncounted are the tools that only concern calls that were counted before.
func uncounted(tool string) bool { return tool == toolCallState || tool == toolCancel }

// of returns the counts that a call falls under, of a new turn where one begins with
// it. The caller holds the lock.
func (b *budgets) of(c *call, now time.Time) (turn, session *count) {
	name := c.session.Name
	if session = b.sessions[name]; session == nil {
		session = &count{what: "session", limit: b.limit.CallsPerSession}
		b.sessions[name] = session
	}
	k := turnKey{name, c.inv.Principal, c.inv.Origin}
	turn = b.turns[k]
	switch {
	case turn == nil,
		c.inv.Turn != "" && c.inv.Turn != turn.turn,
		c.inv.Turn == "" && turn.running == 0 && now.Sub(turn.last) >= b.limit.TurnQuiet:
		turn = &count{what: "turn", limit: b.limit.CallsPerTurn, turn: c.inv.Turn}
		b.turns[k] = turn
	}
	turn.last = now
	return turn, session
}

// take counts a step, or refuses all of it. The calls of it that count are given their
// counts.
func (b *budgets) take(step []*call, now time.Time) error {
	if !b.on {
		return nil
	}
	var counted []*call
	for _, c := range step {
		if c.session.Name != "" && !uncounted(c.inv.Tool) {
			counted = append(counted, c)
		}
	}
	if len(counted) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	turn, session := b.of(counted[0], now)
	for _, n := range []*count{turn, session} {
		if n.spent() {
			return n.refusal()
		}
	}
	for _, c := range counted {
		c.counts = [2]*count{turn, session}
		for _, n := range c.counts {
			n.used++
			n.running++
		}
	}
	return nil
}

// spent refuses where nothing is left, and counts nothing.
func (b *budgets) spent(c *call) error {
	if !b.on || c.session.Name == "" {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	turn, session := b.of(c, c.start)
	for _, n := range []*count{turn, session} {
		if n.spent() {
			return n.refusal()
		}
	}
	return nil
}

func (n *count) refusal() error {
	next := "tell the user; the next turn starts fresh"
	if n.what == "session" {
		next = "tell the user; a new session starts fresh"
	}
	return &Error{
		Code: CodeRateLimited, Where: n.what,
		Text:  "its budget of calls is used up; it was not run: " + next,
		Value: &Quantity{Value: float64(n.used), Unit: "calls"}, Limit: &Quantity{Value: float64(n.limit), Unit: "calls"},
	}
}

// ended takes a call out of what is under way, and returns the counts that ended with
// it: used up, with nothing of them under way any more.
func (b *budgets) ended(c *call, now time.Time) (over []count) {
	if c.counts[0] == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range c.counts {
		n.running--
		n.last = now
		if n.spent() && n.running == 0 && !n.told {
			n.told = true
			over = append(over, *n)
		}
	}
	c.counts = [2]*count{}
	return over
}

// endTurns tells of the budgets that ended with a call: at the end of its answer, and
// as an event of its own (G24).
func (g *Gate) endTurns(c *call, a Answer) Answer {
	for _, n := range g.budget.ended(c, g.cfg.Now()) {
		text := fmt.Sprintf("The budget of this %s is used up: %d of %d calls.", n.what, n.used, n.limit)
		next := " Further calls are refused until the next turn: tell the user now."
		if n.what == "session" {
			next = " Further calls of this session are refused: tell the user now."
		}
		a.Text = joinText(a.Text, text+next)
		e := Event{Type: "turn_limit", Where: n.what, Text: text}
		c.event(&e)
		e.Arguments = nil // the call's, which has an event of its own
		_ = g.emit(e)
		g.cfg.Log.Info("a budget of calls is used up", slog.String("of", n.what), slog.Int("calls", n.used), slog.Int("limit", n.limit),
			slog.String("session", e.SessionID), slog.String("principal", e.Principal), slog.String("origin", e.Origin))
	}
	return a
}

// joinText puts a sentence behind a text that may not end in one.
func joinText(a, b string) string {
	switch {
	case a == "":
		return b
	case strings.ContainsAny(a[len(a)-1:], ".!?"):
		return a + " " + b
	}
	return a + ". " + b
}
