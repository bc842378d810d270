package terminal_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
	"github.com/tau-robot/tau/gate/words"
)

// A line asks for less under the conditions under which one approves, and only of what
// can be asked for.
func TestG46_ALineAsksForLess(t *testing.T) {
	late := terminal.Arming
	edited := func(e gate.Edit) gate.Word {
		return gate.Word{Decision: gate.Edited, Reason: terminal.ReasonAnswered, Edit: e}
	}
	no := gate.Word{Decision: gate.Rejected, Reason: terminal.ReasonAnswered}
	void := func(r gate.Reason) gate.Word { return gate.Word{Decision: gate.Void, Reason: r} }
	for name, c := range map[string]struct {
		a    terminal.Answer
		want gate.Word
	}{
		"s":            {typed("s", late), edited(gate.Edit{SpeedScale: 0.5})},
		"S and blanks": {typed(" S\t", late), edited(gate.Edit{SpeedScale: 0.5})},
		"slower":       {typed("Slower 0.2", late), edited(gate.Edit{SpeedScale: 0.2})},
		"s 0.2":        {typed("s  0.2 ", late), edited(gate.Edit{SpeedScale: 0.2})},
		"l":            {typed("l", late), edited(gate.Edit{Fraction: 0.5})},
		"less .1":      {typed("less .1", late), edited(gate.Edit{Fraction: 0.1})},
		"s 1":          {typed("s 1", late), void(terminal.ReasonNotAnEdit)},
		"s 0":          {typed("s 0", late), void(terminal.ReasonNotAnEdit)},
		"s 2":          {typed("s 2", late), void(terminal.ReasonNotAnEdit)},
		"s -0.5":       {typed("s -0.5", late), void(terminal.ReasonNotAnEdit)},
		"s nan":        {typed("s nan", late), void(terminal.ReasonNotAnEdit)},
		"s inf":        {typed("s inf", late), void(terminal.ReasonNotAnEdit)},
		"s half":       {typed("s half", late), void(terminal.ReasonNotAnEdit)},
		"s0.5":         {typed("s0.5", late), no},
		"s y":          {typed("s 0.5 y", late), no},
		"y s":          {typed("y s", late), no},
		"too early":    {typed("s", late-1), void(terminal.ReasonTooEarly)},
		"before":       {typed("s", -1), void(terminal.ReasonBeforeEnd)},
		"expired":      {typed("s", time.Hour), void(terminal.ReasonExpired)},
		"pasted":       {terminal.Answer{Kind: terminal.Typed, Text: "s", At: shown.Add(late), Pasted: true}, void(terminal.ReasonPasted)},
		"no line":      {terminal.Answer{Text: "s", At: shown.Add(late)}, void(terminal.ReasonNoAnswer)},
	} {
		t.Run(name, func(t *testing.T) {
			req := gate.Request{Tier: gate.TierPhysical, Expiry: shown.Add(time.Hour), Editable: true}
			w, err := terminal.New(&console{answer: []terminal.Answer{c.a}}, words.English).Decide(t.Context(), req)
			require.NoError(t, err)
			require.Equal(t, c.want, w)
			if w.Decision == gate.Edited {
				require.NoError(t, w.Edit.Check())
			}
			req.Editable = false
			w, err = terminal.New(&console{answer: []terminal.Answer{c.a}}, words.English).Decide(t.Context(), req)
			require.NoError(t, err)
			require.NotContains(t, []gate.Decision{gate.Approved, gate.Edited}, w.Decision)
		})
	}
}

// The hint stands on the card's last line, where there is something to ask for, so that it
// takes no row; what a person should know stands over the card.
func TestG46_TheCardSaysWhatCanBeAskedFor(t *testing.T) {
	req := request()
	plain := terminal.Card(words.English, req)
	req.Editable = true
	card := terminal.Card(words.English, req)
	require.Equal(t, strings.TrimSuffix(plain, "\n")+"  ("+words.English.EditHint()+")\n", card)
	for _, l := range []words.Lang{words.English, words.Turkish} {
		rows := strings.Split(strings.TrimSuffix(terminal.Card(l, req), "\n"), "\n")
		require.LessOrEqual(t, utf8.RuneCountInString(rows[len(rows)-1]), 80)
	}

	req.Notices = []gate.Notice{{Kind: gate.CantEdit, Text: "NO_PATH\n\x1b[2J"}, {Kind: gate.CallerGone}, {Kind: 99, Text: "x"}, {Text: "y"}}
	require.Equal(t, `! It can't be changed like that (NO_PATH\u{a}\u{1b}[2J); it is asked again as it was`+"\n"+
		"! Whoever asked this has gone; the question stays open until it expires\n"+card, terminal.Card(words.English, req),
		"over the card, which stays whole")
}

// noting is a console whose views take notes.
type noting struct {
	console
	lines   chan string
	opening func() // called before the card is there; nil: nothing
}

func (n *noting) OpenCard(ctx context.Context, card, question string) (terminal.View, error) {
	if n.opening != nil {
		n.opening()
	}
	v, err := n.console.OpenCard(ctx, card, question)
	return notingView{v, n.lines}, err
}

type notingView struct {
	terminal.View
	lines chan string
}

func (v notingView) Note(line string) { v.lines <- line }

// A notice stands at the open card of its own call, and nowhere else; of an unknown kind
// there is none.
func TestG49_ANoticeStandsAtTheOpenCard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		con := &noting{lines: make(chan string, 4)}
		a := terminal.New(con, words.English)
		con.opening = func() { // one that comes before the card is there waits for it
			a.Notice("b", gate.Notice{Kind: gate.CallerBack})
			a.Notice("a", gate.Notice{Kind: gate.CantEdit, Text: "x"})
		}
		gone := gate.Notice{Kind: gate.CallerGone, Text: "left\x07"}
		a.Notice("a", gone) // nothing is open
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = a.Decide(ctx, gate.Request{CallID: "a"})
		}()
		synctest.Wait()
		a.Notice("b", gone)
		a.Notice("a", gate.Notice{Kind: 99, Text: "Tool: home"})
		a.Notice("a", gate.Notice{Text: "Tool: home"})
		a.Notice("a", gone)
		a.Notice("a", gate.Notice{Kind: gate.CallerBack})
		require.Contains(t, <-con.lines, "! It can't be changed like that (x)")
		require.Equal(t, `! Whoever asked this has gone (left\u{7}); the question stays open until it expires`, <-con.lines)
		require.Equal(t, "! Whoever asked this is there again", <-con.lines)
		cancel()
		<-done
		a.Notice("a", gone)
		require.Empty(t, con.lines)
	})
	// One that can't write notes is asked all the same.
	terminal.New(&console{}, words.English).Notice("a", gate.Notice{Kind: gate.CallerGone})
}
