package desk_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/desk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// channel is an approver that does as the test says, and keeps account of its card.
type channel struct {
	name    string
	say     chan said // what it says, when; nil: nothing
	limit   time.Duration
	hold    chan struct{} // how long it takes to take its card away; nil: no time
	dropsOn gate.Reason
	nobody  bool

	shown chan gate.Request // gets each question
	cause chan error        // gets why each question ended, once the card is away
}

type said struct {
	word  gate.Word
	err   error
	panic bool
}

func newChannel(name string) *channel {
	return &channel{name: name, say: make(chan said, 1), shown: make(chan gate.Request, 16), cause: make(chan error, 16)}
}

func (c *channel) Name() string                  { return c.name }
func (c *channel) Timeout() time.Duration        { return c.limit }
func (c *channel) Unattended() bool              { return c.nobody }
func (c *channel) DropsOut(why gate.Reason) bool { return c.dropsOn != "" && why == c.dropsOn }

func (c *channel) Decide(ctx context.Context, req gate.Request) (gate.Word, error) {
	c.shown <- req
	defer func() {
		if c.hold != nil {
			<-c.hold
		}
		c.cause <- context.Cause(ctx)
	}()
	select {
	case s := <-c.say:
		if s.panic {
			panic("the channel's own fault")
		}
		return s.word, s.err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return gate.Word{Decision: gate.TimedOut, Reason: "timeout"}, nil
		}
		return gate.Word{Decision: gate.Rejected, Reason: "withdrawn"}, nil
	}
}

// counter is a source of bytes that never repeats itself.
type counter struct{ n byte }

func (c *counter) Read(p []byte) (int, error) {
	c.n++
	for i := range p {
		p[i] = c.n
	}
	return len(p), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("no randomness") }

func request(id string) gate.Request {
	now := time.Now()
	return gate.Request{CallID: id, Tool: "home", Tier: gate.TierPhysical, Args: []byte(`{}`), Digest: [32]byte{1}, Asked: now, Expiry: now.Add(10 * time.Minute)}
}

func yes() gate.Word { return gate.Word{Decision: gate.Approved, Reason: "signed", By: "operator"} }

type outcome struct {
	word gate.Word
	err  error
}

// decide asks in a goroutine.
func decide(ctx context.Context, d *desk.Desk, req gate.Request) chan outcome {
	out := make(chan outcome, 1)
	go func() {
		w, err := d.Decide(ctx, req)
		out <- outcome{w, err}
	}()
	return out
}

func always() bool { return true }
func never() bool  { return false }

// the answer to a question as it lies on the desk.
func answerTo(q desk.Question, w gate.Word) desk.Answer {
	return desk.Answer{ID: q.Request.CallID, Digest: q.Request.Digest, Nonce: q.Nonce, Word: w}
}
