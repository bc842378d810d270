package telegram_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/telegram"
	"github.com/tau-robot/tau/gate/approver/telegram/telegramtest"
)

const (
	home    int64 = 100  // the listed chat, private
	group   int64 = -200 // a listed group
	ada     int64 = 1    // listed
	mallory int64 = 66   // not listed
)

// rig is a channel that runs against the stand-in.
type rig struct {
	t    *testing.T
	api  *telegramtest.API
	c    *telegram.Channel
	log  *logged
	stop context.CancelFunc
	ran  chan error // what Run returned

	mu    sync.Mutex
	stops []string
}

// logged is a log that may be read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newRig makes a channel that isn't running yet. At the end of a test no log and no
// path that it wrote may hold the token.
func newRig(t *testing.T, change ...func(*telegram.Options)) *rig {
	t.Helper()
	token, err := telegram.NewToken(telegramtest.Token)
	require.NoError(t, err)
	r := &rig{t: t, api: telegramtest.New(t), log: &logged{}, ran: make(chan error, 1)}
	o := telegram.Options{
		Settings: telegram.Settings{TokenFile: "/x/token", Chats: []int64{home}, Users: []int64{ada}},
		Token:    token, Transport: r.api.Transport(),
		Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Stop: func(_ context.Context, kind gate.StopKind, reason, by string) []gate.StopVerdict {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.stops = append(r.stops, string(kind)+"|"+reason+"|"+by)
			return []gate.StopVerdict{{Backend: "sim", Commanded: "yes", Acknowledged: "yes", Stationary: "yes"}}
		},
		Status: func(context.Context) string { return "all is well" },
		Jitter: func() float64 { return 0 },
	}
	for _, f := range change {
		f(&o)
	}
	r.c, err = telegram.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NotContains(t, r.log.String(), "0123456789abcdefghij", "the log holds the token") })
	return r
}

// start runs it and waits until it polls.
func start(t *testing.T, change ...func(*telegram.Options)) *rig {
	t.Helper()
	r := newRig(t, change...)
	r.run()
	r.api.Wait("the first poll", func() bool { return r.api.Calls("getUpdates") >= 2 })
	return r
}

func (r *rig) run() {
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.ran <- r.c.Run(ctx) }()
	r.t.Cleanup(func() {
		cancel()
		<-r.ran
	})
}

// end ends it and returns what Run did.
func (r *rig) end() error {
	r.stop()
	err := <-r.ran
	r.ran <- nil
	return err
}

func (r *rig) stopped() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.stops...)
}

// request is a question with a card of a usual kind.
func request(id string) gate.Request {
	now := time.Now()
	return gate.Request{
		CallID: id, Tool: "move_joints", Tier: gate.TierPhysical, Args: json.RawMessage(`{"q":[0.1,0.2]}`),
		Effect: "Moves the arm.", Session: gate.Session{Name: "sim", Mode: gate.ModeSim, Backend: "sim"},
		Principal: "agent", Origin: "mcp", Digest: [32]byte{1, 2, 3}, Asked: now, Expiry: now.Add(10 * time.Minute),
		Card: gate.Card{Facts: []gate.Fact{{Label: "Rehearsal", Text: "1.2 s, clearance 31 mm"}}},
	}
}

// asked is a question that is open.
type asked struct {
	t    *testing.T
	word chan gate.Word
	stop context.CancelCauseFunc
}

func (r *rig) ask(a gate.Approver, req gate.Request) *asked {
	ctx, cancel := context.WithCancelCause(context.Background())
	q := &asked{t: r.t, word: make(chan gate.Word, 1), stop: cancel}
	go func() {
		w, err := a.Decide(ctx, req)
		if err != nil {
			w = gate.Word{Decision: gate.Void, Reason: gate.Reason("error: " + err.Error())}
		}
		q.word <- w
	}()
	r.t.Cleanup(func() { cancel(nil) })
	return q
}

// end returns the word. The poller never lets a bubble's time stand still, so that a
// word that never comes has to be given up on.
func (q *asked) end() gate.Word {
	q.t.Helper()
	limit := time.NewTimer(time.Hour)
	defer limit.Stop()
	select {
	case w := <-q.word:
		return w
	case <-limit.C:
		q.t.Fatal("the question never ends")
		return gate.Word{}
	}
}

// still fails if there is a word already.
func (q *asked) still(t *testing.T) {
	t.Helper()
	select {
	case w := <-q.word:
		t.Fatalf("the question has ended: %+v", w)
	default:
	}
}
