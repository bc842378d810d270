package terminal_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
	"github.com/tau-robot/tau/gate/words"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var shown = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// console is a scripted one.
type console struct {
	deaf   bool // not interactive
	broken error
	answer []terminal.Answer // one a card; none: nobody answers
	hang   bool              // the answer channel is closed instead

	mu    sync.Mutex
	cards []string
	notes []string
	open  int
	most  int
}

func (c *console) Interactive() bool { return !c.deaf }

func (c *console) OpenCard(_ context.Context, card, question string) (terminal.View, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return nil, c.broken
	}
	c.cards = append(c.cards, card+question)
	c.open++
	c.most = max(c.most, c.open)
	v := &view{c: c, answer: make(chan terminal.Answer, 1)}
	if c.hang {
		close(v.answer)
	} else if len(c.answer) > 0 {
		v.answer <- c.answer[0]
		c.answer = c.answer[1:]
	}
	return v, nil
}

type view struct {
	c      *console
	answer chan terminal.Answer
	closed bool
}

func (v *view) Shown() time.Time               { return shown }
func (v *view) Answer() <-chan terminal.Answer { return v.answer }
func (v *view) Close(note string) {
	v.c.mu.Lock()
	defer v.c.mu.Unlock()
	if !v.closed {
		v.closed = true
		v.c.open--
		v.c.notes = append(v.c.notes, note)
	}
}

func typed(text string, after time.Duration) terminal.Answer {
	return terminal.Answer{Kind: terminal.Typed, Text: text, At: shown.Add(after)}
}

func TestG30_OnlyYesApproves(t *testing.T) {
	late := terminal.Arming
	for name, c := range map[string]struct {
		a      terminal.Answer
		want   gate.Decision
		reason gate.Reason
	}{
		"early no":      {typed("No ", 0), gate.Rejected, terminal.ReasonAnswered},
		"no ahead":      {typed("hayır", -time.Second), gate.Rejected, terminal.ReasonAnswered},
		"pasted no":     {terminal.Answer{Kind: terminal.Typed, Text: "n", At: shown.Add(late), Pasted: true}, gate.Rejected, terminal.ReasonAnswered},
		"y":             {typed("y", late), gate.Approved, terminal.ReasonAnswered},
		"Y":             {typed("Y", late), gate.Approved, terminal.ReasonAnswered},
		"yes":           {typed(" YeS\t", late), gate.Approved, terminal.ReasonAnswered},
		"e":             {typed("e", late), gate.Approved, terminal.ReasonAnswered},
		"evet":          {typed("EVET  ", late), gate.Approved, terminal.ReasonAnswered},
		"n":             {typed("n", late), gate.Rejected, terminal.ReasonAnswered},
		"blank":         {typed("", late), gate.Rejected, terminal.ReasonAnswered},
		"yy":            {typed("yy", late), gate.Rejected, terminal.ReasonAnswered},
		"yes please":    {typed("yes please", late), gate.Rejected, terminal.ReasonAnswered},
		"no-break":      {typed("y\u00a0", late), gate.Rejected, terminal.ReasonAnswered},
		"full width":    {typed("ｙ", late), gate.Rejected, terminal.ReasonAnswered},
		"Kelvin-like":   {typed("yeſ", late), gate.Rejected, terminal.ReasonAnswered},
		"two lines":     {typed("y\ny", late), gate.Rejected, terminal.ReasonAnswered},
		"zero answer":   {terminal.Answer{Text: "y", At: shown.Add(late)}, gate.Void, terminal.ReasonNoAnswer},
		"unknown kind":  {terminal.Answer{Kind: 99, Text: "y", At: shown.Add(late)}, gate.Void, terminal.ReasonNoAnswer},
		"pasted":        {terminal.Answer{Kind: terminal.Typed, Text: "y", At: shown.Add(late), Pasted: true}, gate.Void, terminal.ReasonPasted},
		"no time":       {terminal.Answer{Kind: terminal.Typed, Text: "y"}, gate.Void, terminal.ReasonBeforeEnd},
		"interrupted":   {terminal.Answer{Kind: terminal.Interrupted, Text: "y", At: shown.Add(late)}, gate.Rejected, terminal.ReasonInterrupted},
		"suspended":     {terminal.Answer{Kind: terminal.Suspended, Text: "y", At: shown.Add(late)}, gate.Void, terminal.ReasonSuspended},
		"after expiry":  {typed("y", time.Hour), gate.Void, terminal.ReasonExpired},
		"before expiry": {typed("y", time.Hour-1), gate.Approved, terminal.ReasonAnswered},
	} {
		t.Run(name, func(t *testing.T) {
			con := &console{answer: []terminal.Answer{c.a}}
			w, err := terminal.New(con, words.English).Decide(t.Context(), gate.Request{Tier: gate.TierPhysical, Expiry: shown.Add(time.Hour)})
			d, r := w.Decision, w.Reason
			require.NoError(t, err)
			require.Equal(t, c.want, d)
			require.Equal(t, c.reason, r)
			require.Zero(t, con.open)
		})
	}
}

func TestCase57_TypedAheadNeverApproves(t *testing.T) {
	for after, reason := range map[time.Duration]gate.Reason{
		-time.Hour:          terminal.ReasonBeforeEnd,
		-1:                  terminal.ReasonBeforeEnd,
		0:                   terminal.ReasonTooEarly,
		terminal.Arming - 1: terminal.ReasonTooEarly,
	} {
		w, err := terminal.New(&console{answer: []terminal.Answer{typed("y", after)}}, words.English).Decide(t.Context(), gate.Request{})
		d, r := w.Decision, w.Reason
		require.NoError(t, err)
		require.Equal(t, gate.Void, d, "%v: neither a yes nor a person's no", after)
		require.Equal(t, reason, r, after)
	}
}

// The log can tell the reasons apart.
func TestG30_EachReasonIsItsOwn(t *testing.T) {
	seen := map[gate.Reason]bool{}
	for _, r := range []gate.Reason{
		terminal.ReasonAnswered, terminal.ReasonEOF, terminal.ReasonInterrupted, terminal.ReasonSuspended,
		terminal.ReasonNotInteractive, terminal.ReasonBeforeEnd, terminal.ReasonTooEarly, terminal.ReasonPasted,
		terminal.ReasonExpired, terminal.ReasonTimeout, terminal.ReasonWithdrawn, terminal.ReasonNotShown, terminal.ReasonNoAnswer,
	} {
		require.False(t, seen[r], r)
		seen[r] = true
	}
}

func TestCase58_Case60_EndOfInputAndNobodyThereRefuse(t *testing.T) {
	for name, c := range map[string]struct {
		con    terminal.Console
		want   gate.Decision
		reason gate.Reason
		err    string
	}{
		"eof":             {&console{answer: []terminal.Answer{{Kind: terminal.EndOfInput, Text: "y", At: shown.Add(time.Minute)}}}, gate.Rejected, terminal.ReasonEOF, ""},
		"not interactive": {&console{deaf: true, answer: []terminal.Answer{typed("y", time.Minute)}}, gate.Void, terminal.ReasonNotInteractive, ""},
		"closed":          {&console{hang: true}, gate.Void, terminal.ReasonNoAnswer, ""},
		"write error":     {&console{broken: errors.New("tty gone")}, gate.Void, terminal.ReasonNotShown, "terminal: tty gone"},
		"none":            {nil, gate.Void, terminal.ReasonNotInteractive, ""},
	} {
		w, err := terminal.New(c.con, words.English).Decide(t.Context(), gate.Request{})
		d, r := w.Decision, w.Reason
		require.Equal(t, c.want, d, name)
		require.Equal(t, c.reason, r, name)
		if c.err != "" {
			require.EqualError(t, err, c.err)
		} else {
			require.NoError(t, err)
		}
	}
	w, err := (&terminal.Approver{}).Decide(t.Context(), gate.Request{})
	d, r := w.Decision, w.Reason
	require.NoError(t, err)
	require.Equal(t, gate.Void, d)
	require.Equal(t, terminal.ReasonNotInteractive, r)
}

func TestCase59_TimeoutIsRecordedAsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		con := &console{}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		began := time.Now()
		w, err := terminal.New(con, words.English).Decide(ctx, gate.Request{})
		d, r := w.Decision, w.Reason
		require.NoError(t, err)
		require.Equal(t, gate.TimedOut, d)
		require.Equal(t, terminal.ReasonTimeout, r)
		require.Equal(t, 5*time.Minute, time.Since(began))
		require.Equal(t, []string{"  (this question is closed, nothing was approved: nobody answered in time)"}, con.notes)
	})
}

func TestG30_WithdrawnQuestionSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		con := &console{}
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Millisecond, func() { cancel(errors.New("stop\x1b[2J")) }) // of the bubble's time: the card is there
		w, err := terminal.New(con, words.English).Decide(ctx, gate.Request{})
		d, r := w.Decision, w.Reason
		require.NoError(t, err)
		require.Equal(t, gate.Rejected, d)
		require.Equal(t, terminal.ReasonWithdrawn, r)
		require.Equal(t, []string{`  (this question is closed, nothing was approved: withdrawn: stop\u{1b}[2J)`}, con.notes)

		// An answer that is there together with the end doesn't approve.
		for range 50 {
			con = &console{answer: []terminal.Answer{typed("y", time.Second)}}
			w, err := terminal.New(con, words.English).Decide(ctx, gate.Request{})
			d = w.Decision
			require.NoError(t, err)
			require.Equal(t, gate.Rejected, d)
		}
	})
}

func TestG11_SecondQuestionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		con := &console{}
		a := terminal.New(con, words.English)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { _, _ = a.Decide(ctx, gate.Request{}) })
		}
		synctest.Wait()
		require.Len(t, con.cards, 1)
		cancel()
		wg.Wait()
		require.Equal(t, 1, con.most)
		require.Zero(t, con.open)
		con.answer = []terminal.Answer{typed("y", time.Second)}
		w, err := a.Decide(t.Context(), gate.Request{})
		d := w.Decision
		require.NoError(t, err)
		require.Equal(t, gate.Approved, d)
	})
}

func request() gate.Request {
	return gate.Request{
		CallID: "0123456789abcdef", Tool: "move_joints", Tier: gate.TierPhysical,
		Args:   json.RawMessage(`{"speed_scale":0.5,"positions":{"wrist_roll":1,"shoulder_pan":0.5}}`),
		Effect: "Moves the named joints of the arm.", Session: gate.Session{Name: "default", Mode: gate.ModeSim, Backend: "sim:so101"},
		Principal: "operator", Origin: "prompt", Digest: [32]byte{0xab, 1, 2, 3, 4, 5, 6, 7, 8},
		Card: gate.Card{
			Facts:   []gate.Fact{{Label: "Rehearsal", Text: "1.20 s, top joint speed 0.8 rad/s"}, {Label: "Clearance", Text: "0.031 m between jaw and table"}},
			Assumed: []string{"acceleration limits", "jerk limits"},
		},
		Asked: shown, Expiry: shown.Add(10 * time.Minute),
	}
}

func TestG30_TheCard(t *testing.T) {
	con := &console{answer: []terminal.Answer{typed("n", time.Second)}}
	_, err := terminal.New(con, words.English).Decide(t.Context(), request())
	require.NoError(t, err)
	require.Equal(t, []string{`⚠️  Approval needed (tier 2)
  Tool: move_joints
  Arguments: {"positions":{"shoulder_pan":0.5,"wrist_roll":1},"speed_scale":0.5}
  Effect: Moves the named joints of the arm.
  Session: default (mode sim, backend sim:so101)
  Asked by: operator, from prompt
  Rehearsal: 1.20 s, top joint speed 0.8 rad/s
  Clearance: 0.031 m between jaw and table
  Assumed, not known: acceleration limits
  Assumed, not known: jerk limits
  Expires: 2026-01-02 03:14:05 UTC (10m0s after it was asked)
  Call: 0123456789abcdef
  Digest: ab01020304050607
  Approve? [y/N] `}, con.cards)
}

func TestG30_Case53_54_55_NothingIsCutOrHidden(t *testing.T) {
	req := request()
	long := strings.Repeat("abcdefgh ", 10_000)
	req.Effect = long
	for range 200 {
		req.Card.Facts = append(req.Card.Facts, gate.Fact{Label: "Fact", Text: long[:500]})
	}
	card := terminal.Card(words.English, req)
	require.Contains(t, card, strings.TrimSuffix(long, " "))
	require.Equal(t, 200, strings.Count(card, "\n  Fact: "+strings.TrimSpace(long[:500])))

	// Hostile text in every string: the card keeps its lines and has no control.
	evil := "\r\x1b[2K\x1b[A\n  Tool: home\u202e\u200b\u2028\x9b"
	lines := strings.Count(terminal.Card(words.English, request()), "\n")
	req = request()
	args, err := json.Marshal([]string{evil})
	require.NoError(t, err)
	req.Args = args
	req.Tool, req.Effect, req.Session.Name, req.Session.Backend, req.Session.Mode = evil, evil, evil, evil, gate.Mode(evil)
	req.Principal, req.Origin, req.CallID = evil, evil, evil
	req.Card.Facts = []gate.Fact{{Label: evil, Text: evil}, {Label: evil, Text: evil}}
	req.Card.Assumed = []string{evil, evil}
	card = terminal.Card(words.English, req)
	require.Equal(t, lines, strings.Count(card, "\n"))
	require.NotContains(t, strings.TrimPrefix(card, "⚠️"), "\ufe0f")
	for _, l := range strings.Split(card, "\n")[1:] {
		require.Equal(t, gate.Escape(l), strings.ReplaceAll(l, `\u{`, `\u{5c}u{`), "every line is printable")
	}
	req.Args = json.RawMessage("{\x1b not json\n")
	require.Contains(t, terminal.Card(words.English, req), `  Arguments: {\u{1b} not json\u{a}`+"\n")
}

func TestG30_CardFlagsScripts(t *testing.T) {
	require.NotContains(t, terminal.Card(words.English, request()), "Mixed scripts")
	req := request()
	req.Tool = "mоve_joints"
	req.Args = json.RawMessage(`{"jоint":1}`)
	req.Card.Assumed = []string{"שלום"}
	card := terminal.Card(words.English, req)
	require.Contains(t, card, "\n  Mixed scripts (letters that may not be what they look like): \"mоve_joints\", \"jоint\"\n")
	require.Contains(t, card, "\n  Right-to-left letters: ")
}
