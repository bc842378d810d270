package prompt

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
	"github.com/tau-robot/tau/gate/words"
)

func TestG30_YesAtThePromptApproves(t *testing.T) {
	r := newRig(t, nil)
	for _, yes := range []string{"y\r", "Y\n", " yes \r", "EVET\r\n", "e\r", "nx\x7f\x7fy\r"} {
		ch := r.question(t.Context(), "move_joints")
		r.clock.add(terminal.Arming)
		r.typeIn(yes)
		require.Equal(t, decision{gate.Approved, terminal.ReasonAnswered, nil}, r.decided(ch), "%q", yes)
	}
	r.noLine()
	require.NoError(t, r.do(t.Context(), func() { require.Zero(t, r.history.Len(), "answers aren't remembered") }))
	from := r.mark()
	r.typeIn("home\r")
	require.Equal(t, "home", r.line())
	r.expectAfter(from, "tau> ")
}

func TestG30_AnythingElseRefuses(t *testing.T) {
	r := newRig(t, nil)
	for in, reason := range map[string]gate.Reason{
		"n\r": terminal.ReasonAnswered, "\r": terminal.ReasonAnswered, "yy\r": terminal.ReasonAnswered,
		"yes, do\r": terminal.ReasonAnswered, "\x1b[9y\r": terminal.ReasonAnswered, "y\x15\r": terminal.ReasonAnswered,
		"y\u202e\r": terminal.ReasonAnswered, "\xff" + "y\r": terminal.ReasonAnswered, "y\x00\x1b[31m!\r": terminal.ReasonAnswered,
		"\x04": terminal.ReasonEOF, "y\x03": terminal.ReasonInterrupted, "\x03": terminal.ReasonInterrupted,
		"\x1b[200~y\r\x1b[201~": terminal.ReasonPasted, "\x1b[200~y\x1b[201~\r": terminal.ReasonPasted,
		"\x1b[200~\x1b[201~y\x1b[200~ \x1b[201~\r": terminal.ReasonPasted,
	} {
		ch := r.question(t.Context(), "move_joints")
		r.clock.add(time.Minute)
		r.typeIn(in)
		want := gate.Rejected
		if reason == terminal.ReasonPasted {
			want = gate.Void // it refuses, and is no person's refusal
		}
		require.Equal(t, decision{want, reason, nil}, r.decided(ch), "%q", in)
		r.settle()
	}
	r.noLine()
	select {
	case err := <-r.result:
		t.Fatalf("the prompt ended: %v", err)
	default:
	}
}

func TestCase57_TypedBeforeTheCardIsNoAnswer(t *testing.T) {
	r := newRig(t, nil)
	r.typeIn("y\n") // no card: a command
	require.Equal(t, "y", r.line())
	ch := r.question(t.Context(), "move_joints")
	// Each that comes too early isn't counted, and begins the wait anew: keys that
	// repeat themselves never approve.
	for range 20 {
		for _, line := range []string{"y\r", "\r", "state\r"} {
			from := r.mark()
			r.clock.add(terminal.Arming - 1)
			r.typeIn(line)
			r.expectAfter(from, notCounted)
			r.settle()
			require.Empty(t, ch, "the card stays open")
		}
	}
	r.clock.add(terminal.Arming)
	r.typeIn("y\r")
	require.Equal(t, decision{gate.Approved, terminal.ReasonAnswered, nil}, r.decided(ch))
	r.noLine()
	// A no counts at any time.
	for _, no := range []string{"n\r", "NO\r", " hayır \r"} {
		ch = r.question(t.Context(), "move_joints")
		r.typeIn(no)
		require.Equal(t, decision{gate.Rejected, terminal.ReasonAnswered, nil}, r.decided(ch))
	}
}

func TestCase57_HalfTypedLineIsNoAnswerAndComesBack(t *testing.T) {
	r := newRig(t, nil)
	r.typeIn("y\x1b[D") // with the cursor in front of it
	r.settle()
	ch := r.question(t.Context(), "home")
	r.clock.add(time.Minute)
	r.typeIn("\r") // only Enter answers: the y is gone
	require.Equal(t, decision{gate.Rejected, terminal.ReasonAnswered, nil}, r.decided(ch))
	r.noLine()
	r.typeIn("!\r")
	require.Equal(t, "y!", r.line())

	// It waits behind two cards in a row, and ctrl-C throws it away as any other.
	r.typeIn("half")
	r.settle()
	for range 2 {
		ch = r.question(t.Context(), "home")
		r.clock.add(time.Minute)
		r.typeIn("y\r")
		require.Equal(t, gate.Approved, r.decided(ch).d)
	}
	r.typeIn(" typed\r")
	require.Equal(t, "half typed", r.line())
	require.NoError(t, r.do(t.Context(), func() { require.Equal(t, "half typed", r.history.At(0)) }))
}

// A terminal that takes no output holds up neither a withdrawal nor Close.
func TestG10_StuckTerminalHoldsNothingUp(t *testing.T) {
	r := newRig(t, nil)
	r.Prompt.out.Lock()
	ctx, cancel := context.WithCancel(t.Context())
	ch := make(chan decision, 1)
	go func() {
		w, err := r.ask.Decide(ctx, gate.Request{Tool: "home"})
		d, reason := w.Decision, w.Reason
		ch <- decision{d, reason, err}
	}()
	require.Eventually(t, r.cardOpen, patience, time.Millisecond)
	cancel()
	require.Equal(t, decision{gate.Rejected, terminal.ReasonWithdrawn, nil}, r.decided(ch))
	require.NoError(t, r.Close())
	r.requireRestored()
	r.Prompt.out.Unlock()
	require.NoError(t, r.end())
	require.NotContains(t, r.text(), "Tool: home", "a card that was withdrawn isn't shown")
}

// What the terminal still had in its buffer when the card's end was written was
// typed before, however late it's read.
func TestCase57_UnreadInputIsOlderThanTheCard(t *testing.T) {
	ptm, tts := openPTY(t)
	c := &clock{now: time.Unix(1_700_000_000, 0)}
	p, err := New(Options{In: tts, Out: tts, Now: c.Now, Handle: func(context.Context, string, uint64) {}})
	require.NoError(t, err)
	require.NoError(t, p.enter()) // but nobody reads yet
	require.NoError(t, unix.Pipe2(p.wake[:], unix.O_CLOEXEC|unix.O_NONBLOCK))
	_, err = ptm.WriteString("y\r")
	require.NoError(t, err)
	fds := []unix.PollFd{{Fd: int32(p.inFD), Events: unix.POLLIN}}
	n, err := unix.Poll(fds, int(patience.Milliseconds()))
	require.NoError(t, err)
	require.Equal(t, 1, n)

	shown := make(chan time.Time, 1)
	p.barriers = append(p.barriers, shown)
	var read string
	require.True(t, p.serveBarriers(make([]byte, 1), func(b []byte, at time.Time) {
		require.Empty(t, shown, "the card counts as shown before what was there has been read")
		read += string(b)
		c.add(time.Second) // reading takes its time
	}))
	require.Equal(t, "y\r", read)
	require.Equal(t, c.Now(), <-shown)
	p.restore()
	p.closeFiles()
	require.NoError(t, errors.Join(ptm.Close(), tts.Close()))
}

func TestCase56_OutputIsHeldBackWhileACardIsOpen(t *testing.T) {
	r := newRig(t, nil)
	r.typeIn("half typed")
	r.settle()
	from := r.mark()
	ch := r.question(t.Context(), "move_joints")
	card := r.text()[from:]
	r.Print("first\x1b[2J")
	_, err := r.Write([]byte("second\nthird"))
	require.NoError(t, err)
	r.typeIn("\x0c\t\x1b[A\x10") // clear screen, completion and history don't work either
	r.settle()
	open := r.text()[from:]
	require.Equal(t, card, open, "nothing was written behind the card")
	require.Equal(t, 1, strings.Count(card, terminal.Question))
	require.True(t, strings.HasSuffix(card, "\r\n"+terminal.Question), "%q", card)
	block := strings.Join(strings.Split(terminal.Card(words.English, gate.Request{Tool: "move_joints", Tier: gate.TierPhysical}), "\n"), "\r\n")
	require.Contains(t, card, block+terminal.Question, "in one block")
	r.clock.add(time.Minute)
	r.typeIn("n\r")
	r.decided(ch)
	r.expectAfter(from, "n\r\nfirst\x1b[2J\r\nsecond\r\nthird\r\ntau> ")
	r.expectAfter(from, "tau> half typed")
	r.noLine()
	r.typeIn("\r")
	require.Equal(t, "half typed", r.line())
}

func TestCase58_HangupRefuses(t *testing.T) {
	r := newRig(t, nil)
	ch := r.question(t.Context(), "move_joints")
	r.typeIn("y")
	r.settle()
	r.hangup()
	require.Equal(t, decision{gate.Rejected, terminal.ReasonEOF, nil}, r.decided(ch))
	require.ErrorIs(t, r.end(), ErrHangup)
	w, err := r.ask.Decide(t.Context(), gate.Request{})
	d, reason := w.Decision, w.Reason
	require.ErrorContains(t, err, "no terminal to ask at")
	require.Equal(t, gate.Void, d)
	require.Equal(t, terminal.ReasonNotShown, reason)
}

func TestG30_WithdrawnCardGoesAway(t *testing.T) {
	r := newRig(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	from := r.mark()
	ch := r.question(ctx, "move_joints")
	r.Print("later")
	r.typeIn("ye")
	r.settle()
	cancel(errors.New("stop"))
	require.Equal(t, decision{gate.Rejected, terminal.ReasonWithdrawn, nil}, r.decided(ch))
	r.expectAfter(from, "(this question is closed, nothing was approved: withdrawn: stop)\r\nlater\r\ntau> ")
	r.clock.add(time.Minute)
	r.typeIn("s\r") // "yes" in all, but the half of it is gone
	require.Equal(t, "s", r.line())

	// Withdrawn before it could be shown.
	w, err := r.ask.Decide(ctx, gate.Request{Tool: "home"})
	d := w.Decision
	require.NoError(t, err)
	require.Equal(t, gate.Rejected, d)
}

func TestG6_StopTypedAtACardStops(t *testing.T) {
	r := newRig(t, func(r *rig, o *Options) {
		o.Act = r.acts("stop")
	})
	ch := r.question(t.Context(), "move_joints")
	r.typeIn("stop\r")
	require.Equal(t, "stop", r.line())
	require.Equal(t, gate.Void, r.decided(ch).d)
}

func TestG30_SecondCardWaitsForTheFirst(t *testing.T) {
	r := newRig(t, nil)
	first := r.question(t.Context(), "move_joints")
	second := make(chan decision, 1)
	go func() {
		w, err := r.ask.Decide(t.Context(), gate.Request{Tool: "home"})
		d, reason := w.Decision, w.Reason
		second <- decision{d, reason, err}
	}()
	_, err := r.OpenCard(t.Context(), "x", "y")
	require.ErrorContains(t, err, "another card is open")
	r.clock.add(time.Minute)
	from := r.mark()
	require.NotContains(t, r.text(), "Tool: home")
	r.typeIn("y\ry\r") // the second y comes before the second card's end
	require.Equal(t, gate.Approved, r.decided(first).d)
	r.expectAfter(from, "Tool: home")
	r.shown()
	r.settle()
	require.Empty(t, second, "the second card is open, whichever of them the second y came to")
	r.clock.add(time.Minute)
	r.typeIn("n\r")
	require.Equal(t, gate.Rejected, r.decided(second).d)
}

func TestG30_TallCardIsWrittenWhole(t *testing.T) {
	r := newRig(t, nil)
	req := gate.Request{Tool: "move_joints", Effect: strings.Repeat("0123456789", 3000)}
	for range 300 {
		req.Card.Assumed = append(req.Card.Assumed, "this")
	}
	ch := make(chan decision, 1)
	go func() {
		w, err := r.ask.Decide(t.Context(), req)
		d, reason := w.Decision, w.Reason
		ch <- decision{d, reason, err}
	}()
	r.expect(strings.ReplaceAll(terminal.Card(words.English, req), "\n", "\r\n") + terminal.Question)
	r.shown()
	r.clock.add(time.Minute)
	r.typeIn("y\r")
	require.Equal(t, decision{gate.Approved, terminal.ReasonAnswered, nil}, r.decided(ch))
}

// A note stands over the open card, which is written again whole, with the question and
// what is typed under that; it has to stand there for a while before anything approves.
// After the card has gone it is nothing any more.
func TestG49_ANoteShowsTheCardAgain(t *testing.T) {
	r := newRig(t, nil)
	ch := r.question(t.Context(), "move_joints")
	r.Prompt.mu.Lock()
	v := r.view
	r.Prompt.mu.Unlock()
	r.clock.add(terminal.Arming)
	r.typeIn("ye")
	block := strings.ReplaceAll(terminal.Card(words.English, gate.Request{Tool: "move_joints", Tier: gate.TierPhysical}), "\n", "\r\n")
	for range 3 {
		from := r.mark()
		v.Note("! whoever asked has gone")
		r.expectAfter(from, "! whoever asked has gone\r\n"+block+terminal.Question+"ye")
		r.shown()
		r.clock.add(terminal.Arming - 1)
		from = r.mark()
		r.typeIn("s\r")
		r.expectAfter(from, notCounted)
		r.settle()
		require.Empty(t, ch, "the card stays open")
		r.clock.add(terminal.Arming)
		r.typeIn("ye")
		r.settle()
	}
	r.typeIn("s\r")
	require.Equal(t, decision{gate.Approved, terminal.ReasonAnswered, nil}, r.decided(ch))
	from := r.mark()
	v.Note("late")
	r.typeIn("home\r")
	require.Equal(t, "home", r.line())
	r.expectAfter(from, "tau> ")
	require.NotContains(t, r.text(), "late")
}

// From the moment of a note nothing approves until the card has been written again, and a
// line that was completed before that doesn't make the wait shorter.
func TestG49_NothingApprovesBetweenANoteAndItsCard(t *testing.T) {
	r := newRig(t, nil)
	ch := r.question(t.Context(), "move_joints")
	r.Prompt.mu.Lock()
	v := r.view
	r.Prompt.mu.Unlock()
	r.clock.add(time.Minute)
	r.Prompt.out.Lock() // the terminal takes nothing
	v.Note("! x")
	require.True(t, v.Shown().IsZero())
	r.Prompt.out.Unlock()
	r.settle()
	require.Eventually(t, func() bool { return !v.Shown().IsZero() }, patience, time.Millisecond)
	r.clock.add(time.Minute)
	shown := v.Shown()
	require.True(t, r.notYet("y", shown.Add(-time.Second)), "typed before the card was there again")
	require.Equal(t, shown, v.Shown())
	r.typeIn("y\r")
	require.Equal(t, decision{gate.Approved, terminal.ReasonAnswered, nil}, r.decided(ch))
}
