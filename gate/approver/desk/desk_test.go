package desk_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/desk"
)

func TestG42_Case64_OfAnyNumberOfAnswersOneIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			a, b := newChannel("a"), newChannel("b")
			d := desk.New(desk.Options{Channels: []gate.Approver{a, b}, Remote: always, Rand: &counter{}})
			got := decide(t.Context(), d, request("1"))
			synctest.Wait()
			q := d.Open()[0]
			var wg sync.WaitGroup
			var mu sync.Mutex
			taken, late := 0, 0
			begin := make(chan struct{})
			for range 100 {
				wg.Go(func() {
					<-begin
					err := d.Answer(answerTo(q, yes()))
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						taken++
					default:
						late++
						require.Contains(t, []gate.Code{gate.CodeInProgress, gate.CodeInvalidArgument}, gate.CodeOf(err))
					}
				})
			}
			wg.Go(func() {
				<-begin
				a.say <- said{word: gate.Word{Decision: gate.Rejected, Reason: "answered"}}
			})
			close(begin)
			wg.Wait()
			o := <-got
			require.NoError(t, o.err)
			require.Equal(t, 100, taken+late)
			require.LessOrEqual(t, taken, 1)
			if taken == 1 {
				require.Equal(t, yes(), o.word, "the answer that was said to be taken is the one that decides")
			} else {
				require.Equal(t, gate.Word{Decision: gate.Rejected, Reason: "answered", By: "a"}, o.word)
			}
			require.Empty(t, d.Open())
		}
	})
}

func TestG12_Case62_Case66_AnAnswerIsForOneAskingOfOneDigest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := desk.New(desk.Options{Remote: always})
		ctx, withdraw := context.WithCancel(t.Context())
		first := decide(ctx, d, request("1"))
		synctest.Wait()
		old := d.Open()[0]
		withdraw()
		require.Equal(t, gate.Rejected, (<-first).word.Decision)

		got := decide(t.Context(), d, request("1"))
		synctest.Wait()
		q := d.Open()[0]
		require.NotEqual(t, old.Nonce, q.Nonce)
		require.Len(t, q.Nonce, 32)
		for name, c := range map[string]struct {
			change func(*desk.Answer)
			code   gate.Code
		}{
			"another call":              {func(a *desk.Answer) { a.ID = "2" }, gate.CodeInvalidArgument},
			"another digest":            {func(a *desk.Answer) { a.Digest[31] ^= 1 }, gate.CodeNotApproved},
			"no nonce":                  {func(a *desk.Answer) { a.Nonce = "" }, gate.CodeNotApproved},
			"an earlier asking's nonce": {func(a *desk.Answer) { a.Nonce = old.Nonce }, gate.CodeNotApproved},
			"no decision":               {func(a *desk.Answer) { a.Word.Decision = 0 }, gate.CodeInvalidArgument},
			"an unknown decision":       {func(a *desk.Answer) { a.Word.Decision = 1 << 6 }, gate.CodeInvalidArgument},
			"a timeout":                 {func(a *desk.Answer) { a.Word.Decision = gate.TimedOut }, gate.CodeInvalidArgument},
			"void":                      {func(a *desk.Answer) { a.Word.Decision = gate.Void }, gate.CodeInvalidArgument},
		} {
			a := answerTo(q, yes())
			c.change(&a)
			require.Equal(t, c.code, gate.CodeOf(d.Answer(a)), name)
			require.Len(t, d.Open(), 1, name)
		}
		require.NoError(t, d.Answer(answerTo(q, yes())), "none of them changed anything")
		require.Equal(t, yes(), (<-got).word)
		require.Error(t, d.Answer(answerTo(q, yes())), "nor does it count twice")
	})
}

func TestCase65_AnAnswerAfterTheExpiryIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := desk.New(desk.Options{Remote: always})
		ctx, cancel := context.WithCancel(t.Context())
		got := decide(ctx, d, request("1"))
		synctest.Wait()
		q := d.Open()[0]
		time.Sleep(10 * time.Minute)
		require.Equal(t, gate.CodeRequestExpired, gate.CodeOf(d.Answer(answerTo(q, yes()))))
		cancel()
		require.Equal(t, gate.Rejected, (<-got).word.Decision)
	})
}

// A channel that fails, that panics, whose time is over or that has nobody leaves the
// question to the others; the last of them has the word when nobody is left.
func TestG9_AChannelThatDropsOutLeavesTheQuestionToTheOthers(t *testing.T) {
	outs := map[string]func(*channel){
		"fails":  func(c *channel) { c.say <- said{err: errors.New("no network")} },
		"panics": func(c *channel) { c.say <- said{panic: true} },
		"absent": func(c *channel) { c.say <- said{word: gate.Word{Decision: gate.Void, Reason: desk.Absent}} },
		"not a terminal": func(c *channel) {
			c.say <- said{word: gate.Word{Decision: gate.Void, Reason: "not interactive"}}
		},
		"its own reason": func(c *channel) {
			c.dropsOn = "the card doesn't fit"
			c.say <- said{word: gate.Word{Decision: gate.Void, Reason: "the card doesn't fit"}}
		},
		"times out": func(c *channel) { c.limit = time.Minute },
	}
	for name, out := range outs {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// The other channel answers.
				a, b := newChannel("a"), newChannel("b")
				out(a)
				d := desk.New(desk.Options{Channels: []gate.Approver{a, b}})
				got := decide(t.Context(), d, request("1"))
				time.Sleep(2 * time.Minute)
				require.Len(t, got, 0, "b is still asked")
				b.say <- said{word: gate.Word{Decision: gate.Approved, Reason: "answered"}}
				require.Equal(t, outcome{word: gate.Word{Decision: gate.Approved, Reason: "answered", By: "b"}}, <-got)

				// Somebody answers from outside.
				a = newChannel("a")
				out(a)
				d = desk.New(desk.Options{Channels: []gate.Approver{a}, Remote: always})
				got = decide(t.Context(), d, request("1"))
				time.Sleep(2 * time.Minute)
				require.Len(t, got, 0)
				require.NoError(t, d.Answer(answerTo(d.Open()[0], yes())))
				require.Equal(t, outcome{word: yes()}, <-got)

				// Nobody is left.
				a = newChannel("a")
				out(a)
				d = desk.New(desk.Options{Channels: []gate.Approver{a}, Remote: never})
				o := <-decide(t.Context(), d, request("1"))
				require.NotEqual(t, gate.Approved, o.word.Decision)
				switch name {
				case "fails", "panics":
					require.Error(t, o.err)
				case "times out":
					require.Equal(t, gate.TimedOut, o.word.Decision)
				default:
					require.Equal(t, gate.Void, o.word.Decision)
				}
			})
		})
	}
}

// What a channel says beside that is an answer, a no as well as one that didn't count.
func TestG9_AnyOtherWordOfAChannelEndsTheQuestion(t *testing.T) {
	for _, w := range []gate.Word{
		{Decision: gate.Rejected, Reason: "answered"}, {Decision: gate.Void, Reason: "pasted"}, {}, {Decision: 0x7f, Reason: "?"},
	} {
		synctest.Test(t, func(t *testing.T) {
			a, b := newChannel("a"), newChannel("b")
			d := desk.New(desk.Options{Channels: []gate.Approver{a, b}, Remote: always})
			got := decide(t.Context(), d, request("1"))
			a.say <- said{word: w}
			o := <-got
			require.NoError(t, o.err)
			require.Equal(t, w.Decision, o.word.Decision)
			require.Equal(t, "a", o.word.By)
			require.ErrorIs(t, <-b.cause, desk.ErrElsewhere)
		})
	}
}

// Every card is away before Decide returns, whoever has ended the question.
func TestG30_EveryCardIsTakenAwayBeforeDecideReturns(t *testing.T) {
	for _, end := range []string{"a channel", "outside", "the gate"} {
		synctest.Test(t, func(t *testing.T) {
			a, b := newChannel("a"), newChannel("b")
			b.hold = make(chan struct{})
			d := desk.New(desk.Options{Channels: []gate.Approver{a, b}, Remote: always})
			ctx, cancel := context.WithCancelCause(t.Context())
			got := decide(ctx, d, request("1"))
			synctest.Wait()
			q := d.Open()[0]
			stopped := errors.New("stop")
			want := desk.ErrElsewhere
			switch end {
			case "a channel":
				a.say <- said{word: gate.Word{Decision: gate.Approved, Reason: "answered"}}
			case "outside":
				require.NoError(t, d.Answer(answerTo(q, yes())))
			default:
				cancel(stopped)
				want = stopped
			}
			synctest.Wait()
			require.Len(t, got, 0, "b's card is still there")
			require.Empty(t, d.Open(), "but nobody can answer it any more")
			require.Equal(t, gate.CodeInProgress, gate.CodeOf(d.Answer(answerTo(q, yes()))), end)
			close(b.hold)
			o := <-got
			require.NoError(t, o.err)
			require.Equal(t, end != "the gate", o.word.Decision == gate.Approved)
			require.ErrorIs(t, <-b.cause, want)
			cancel(nil)
		})
	}
}

func TestG25_Case60_WhetherAnybodyCouldAnswer(t *testing.T) {
	here, absent := newChannel("here"), newChannel("absent")
	absent.nobody = true
	for _, c := range []struct {
		channels []gate.Approver
		remote   func() bool
		want     bool
	}{
		{nil, nil, true},
		{nil, never, true},
		{nil, always, false},
		{[]gate.Approver{absent}, never, true},
		{[]gate.Approver{absent, gate.AutoReject{}}, nil, true},
		{[]gate.Approver{absent, here}, never, false},
		{[]gate.Approver{absent}, always, false},
	} {
		require.Equal(t, c.want, desk.New(desk.Options{Channels: c.channels, Remote: c.remote}).Unattended())
	}
	w, err := desk.New(desk.Options{}).Decide(t.Context(), request("1"))
	require.NoError(t, err)
	require.Equal(t, gate.Void, w.Decision)
}

func TestWhatLiesOnTheDeskIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := desk.New(desk.Options{Channels: []gate.Approver{newChannel("a"), newChannel("b")}, Remote: always})
		require.Equal(t, "a+b", d.Name())
		require.Equal(t, "desk", desk.New(desk.Options{}).Name())
		empty := d.Changed()
		got := decide(t.Context(), d, request("1"))
		<-empty
		open := d.Changed()
		q := d.Open()[0]
		q.Request.Args[0] = 'x' // a copy
		require.Equal(t, `{}`, string(d.Open()[0].Request.Args))
		q = d.Open()[0]
		require.NoError(t, d.Answer(answerTo(q, yes())))
		<-open
		require.Empty(t, d.Open())
		<-got
	})
}

func TestWithoutRandomnessNothingIsAsked(t *testing.T) {
	a := newChannel("a")
	_, err := desk.New(desk.Options{Channels: []gate.Approver{a}, Rand: broken{}}).Decide(t.Context(), request("1"))
	require.Equal(t, gate.CodeInternal, gate.CodeOf(err))
	require.Empty(t, a.shown)
}
