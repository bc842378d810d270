package telegram

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/card"
	"github.com/tau-robot/tau/gate/approver/desk"
	"github.com/tau-robot/tau/gate/words"
)

// Timeout is how long a question waits here (GATE.md's table of channels).
const Timeout = 5 * time.Minute

// Arming is how long after a card was sent its Approve button does nothing: what was
// pressed until then was meant for what stood there before.
const Arming = 500 * time.Millisecond

// The reasons that are recorded. Only ReasonAnswered comes with an approval or a
// refusal of a person's.
const (
	ReasonAnswered    gate.Reason = "answered"
	ReasonTooLong     gate.Reason = "the card doesn't fit one Telegram message"
	ReasonUnreachable gate.Reason = "the card could not be sent over Telegram"
	ReasonEnded       gate.Reason = "the Telegram channel has ended"
	ReasonTimeout     gate.Reason = "timeout"
	ReasonWithdrawn   gate.Reason = "withdrawn"
)

// Options are what a Channel is made of.
type Options struct {
	Settings Settings
	Token    Token
	// Stop stops everything; it is called in a goroutine of its own, once for the stops
	// of one batch of updates. by names who sent it. Required.
	Stop func(ctx context.Context, kind gate.StopKind, reason, by string) []gate.StopVerdict
	// Status says how things stand, for /status; nil: it isn't offered.
	Status    func(ctx context.Context) string
	Transport http.RoundTripper // nil: one that checks certificates and gives up on what hangs
	Lang      words.Lang
	Log       *slog.Logger     // nil: none
	Now       func() time.Time // nil: time.Now
	Rand      io.Reader        // of the buttons' nonces; nil: crypto/rand
	Jitter    func() float64   // 0 up to 1, of the waits between attempts; nil: math/rand
}

// Channel is a gate.Approver. Its methods may be called from any goroutine. Make one
// with New; it asks while Run runs.
type Channel struct {
	o   Options
	api *api
	log *slog.Logger

	ready chan struct{} // closed when what was sent before has been left behind
	ended chan struct{} // closed when nothing is asked any more
	// life is the context of what goes on after the question that it belongs to: a card
	// on its way, buttons that are taken away.
	life    context.Context
	endLife context.CancelFunc
	replies chan func(context.Context) // bounded; what doesn't fit is dropped

	mu        sync.Mutex
	me        user
	open      map[*asking]bool
	posts     map[string]*post // by nonce
	closing   bool             // nothing new is begun
	later     sync.WaitGroup   // what goes on beside; Add under mu and not once closing
	strangers map[int64]bool   // chats that were logged
}

var _ gate.Approver = (*Channel)(nil)

// asking is one asking of a request.
type asking struct {
	req     gate.Request
	text    string
	word    chan gate.Word // takes the one press that counts
	done    bool           // no press counts any more
	stopped bool           // that is, because of a stop from here
	how     string         // how it ended, for the chats; set with its end
	over    chan struct{}  // closed when it has left Decide
	posts   []*post
	notes   []string // what the chats are told of it
}

// post is the message of an asking in one chat.
type post struct {
	of      *asking
	chat    int64
	message int64     // 0: it isn't known to have been sent
	sent    time.Time // when it was
}

// New makes a channel. It calls nobody.
func New(o Options) (*Channel, error) {
	if !o.Settings.Configured() {
		return nil, gate.Errf(gate.CodeInvalidArgument, "telegram", "the settings have no section [telegram]: it names token_file and chats")
	}
	if err := o.Settings.Check(); err != nil {
		return nil, err
	}
	if o.Token.secret == "" || o.Stop == nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "telegram", "it needs a bot's token, and what to stop with")
	}
	base, err := o.Settings.base()
	if err != nil {
		return nil, err
	}
	if o.Transport == nil {
		o.Transport = newTransport()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Jitter == nil {
		o.Jitter = mathrand.Float64
	}
	c := &Channel{
		o: o, api: newAPI(base, o.Token, o.Transport), log: o.Log,
		ready: make(chan struct{}), ended: make(chan struct{}), replies: make(chan func(context.Context), 64),
		open: map[*asking]bool{}, posts: map[string]*post{}, strangers: map[int64]bool{},
	}
	c.life, c.endLife = context.WithCancel(context.Background())
	return c, nil
}

// Name returns "telegram".
func (*Channel) Name() string { return "telegram" }

// Timeout returns how long a question waits here.
func (*Channel) Timeout() time.Duration { return Timeout }

// Unattended reports whether the channel has ended, so that nobody can answer on it.
func (c *Channel) Unattended() bool {
	select {
	case <-c.ended:
		return true
	default:
		return false
	}
}

// DropsOut reports whether a void word of this channel only says that it couldn't ask:
// the question stays with the other channels.
func (*Channel) DropsOut(r gate.Reason) bool {
	return r == ReasonTooLong || r == ReasonUnreachable || r == ReasonEnded
}

// Decide sends the card to every chat that is listed and waits for the first press that
// counts. It returns as soon as there is one, or the question has ended elsewhere: from
// then on no press counts, and the buttons are taken away beside it. A card that
// doesn't fit one message, or reaches no chat, is void with its own reason.
func (c *Channel) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	select {
	case <-ctx.Done():
		w, _ := c.unanswered(ctx)
		return w, nil
	case <-c.ended:
		return gate.Word{Decision: gate.Void, Reason: ReasonEnded}, nil
	case <-c.ready:
	}
	q := &asking{req: req, text: Card(c.o.Lang, req), word: make(chan gate.Word, 1), over: make(chan struct{}),
		notes: card.Notices(c.o.Lang, req.Notices)}
	if n := units(q.text); n > MaxUnits {
		c.tellAll(c.o.Lang.TelegramTooLong(gate.Escape(req.Tool), gate.Escape(req.CallID), n, MaxUnits))
		return gate.Word{Decision: gate.Void, Reason: ReasonTooLong}, nil
	}
	chats := slices.Clone(c.o.Settings.Chats)
	sent := make(chan bool, len(chats))
	if !c.begin(q, chats, sent) {
		return gate.Word{Decision: gate.Void, Reason: ReasonEnded}, nil
	}
	how := c.o.Lang.TelegramClosedFailed() // also if something below panics
	defer func() { c.close(q, how) }()
	for reached, left := false, len(chats); ; {
		select {
		case w := <-q.word:
			if ctx.Err() != nil { // both were there: the question is no longer open
				w, how = c.unanswered(ctx)
				return w, nil
			}
			how = "" // as the press has said
			return w, nil
		case ok := <-sent:
			reached, left = reached || ok, left-1
			if left == 0 && !reached {
				return gate.Word{Decision: gate.Void, Reason: ReasonUnreachable}, nil
			}
		case <-c.ended:
			how = c.o.Lang.TelegramClosedEnd()
			return gate.Word{Decision: gate.Void, Reason: ReasonEnded}, nil
		case <-ctx.Done():
			var w gate.Word
			w, how = c.unanswered(ctx)
			return w, nil
		}
	}
}

// begin puts an asking on the list and sends its card to the chats, each beside the
// others. Each says in sent whether it got there.
func (c *Channel) begin(q *asking, chats []int64, sent chan<- bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.open[q] = true
	for _, id := range chats {
		c.later.Go(func() { sent <- c.post(q, id) })
	}
	return true
}

// beside runs f beside everything else; the channel's end waits for it, up to a bound.
func (c *Channel) beside(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	c.later.Go(f)
	return true
}

// close ends an asking: no press counts from here on, and the buttons go. how is the
// text under the card; "": as a press has said.
func (c *Channel) close(q *asking, how string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closeLocked(q, how)
}

func (c *Channel) closeLocked(q *asking, how string) {
	if !c.open[q] { // it is closed already
		return
	}
	delete(c.open, q)
	close(q.over)
	q.done = true
	if how != "" {
		q.how = how
	}
	for nonce, p := range c.posts {
		if p.of == q {
			delete(c.posts, nonce)
		}
	}
	for _, p := range q.posts {
		c.later.Go(func() { c.takeAway(p.chat, p.message, q.text, q.how) })
	}
	q.posts = nil
}

// unanswered says how a question ended that nobody answered here: the word, and the
// text for the chats.
func (c *Channel) unanswered(ctx context.Context) (gate.Word, string) {
	l := c.o.Lang
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return gate.Word{Decision: gate.TimedOut, Reason: ReasonTimeout}, l.TelegramClosedTimeout()
	}
	w := gate.Word{Decision: gate.Rejected, Reason: ReasonWithdrawn}
	var e *gate.Error
	if !errors.As(context.Cause(ctx), &e) {
		return w, l.TelegramClosedWithdrawn()
	}
	switch {
	case e.Code == gate.CodeStopped:
		return w, l.TelegramClosedStop()
	case e.Code == gate.CodeRequestExpired:
		return w, l.TelegramClosedTimeout()
	case errors.Is(e, desk.ErrElsewhere):
		return w, l.TelegramClosedElsewhere()
	}
	return w, l.TelegramClosedWithdrawn()
}
