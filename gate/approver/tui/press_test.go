package tui

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

// hanging is a gate whose stops don't come back before release is closed.
type hanging struct {
	release chan struct{}
	mu      sync.Mutex
	kinds   []gate.StopKind
}

func (h *hanging) stop(kind gate.StopKind) []gate.StopVerdict {
	h.mu.Lock()
	h.kinds = append(h.kinds, kind)
	h.mu.Unlock()
	<-h.release
	return nil
}

func (h *hanging) count(kind gate.StopKind) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, k := range h.kinds {
		if k == kind {
			n++
		}
	}
	return n
}

// Stops that are under way hold no e-stop up, whatever their number, and what isn't
// sent again is said.
func TestG6_NoStopHoldsAnEStopUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hanging{release: make(chan struct{})}
		s := sit(t, 80, 24, Options{}, Bridge{Stop: h.stop})
		for range 3 * stopsAtOnce { // s held down
			s.tty.typed("s")
			time.Sleep(33 * time.Millisecond)
			synctest.Wait()
		}
		require.Equal(t, stopsAtOnce, h.count(gate.StopControlled))
		s.settle()
		require.Contains(t, s.tty.String(), "■ stop not sent again: 8 are under way, 16 times")
		for i := range stopsAtOnce {
			s.tty.typed("!")
			synctest.Wait() // no frame, no time
			require.Equal(t, i+1, h.count(gate.StopEmergency))
		}
		s.press("!")
		require.Equal(t, stopsAtOnce, h.count(gate.StopEmergency))
		require.Contains(t, s.tty.String(), "■ E-STOP not sent again: 8 are under way")
		close(h.release)
		s.settle()
		s.press("!")
		require.Equal(t, stopsAtOnce+1, h.count(gate.StopEmergency), "there is room again")
		require.NoError(t, s.leave())
	})
}

// Whatever was begun before a stop or an interrupt and never finished, it is read for
// itself: in one read, and in one of its own while the rest is waited for.
func TestG6_NothingBegunSwallowsAStop(t *testing.T) {
	for _, before := range []string{"\x1b", "\x1b\x1b", "\x1b[", "\x1bO", "\x1b[1;2", "\x1b[20", "\xc5", "\x1b\xc5", "\xe2\x82", "\x1b[200~x\x1b", "\x1b[200~\x1b["} {
		for _, key := range []string{"!", "s", "S", "\x03", "\x04", "\x1a"} {
			letter := strings.ContainsAny(key, "sS")
			if letter && (strings.Contains(before, "[") || strings.HasSuffix(before, "O")) {
				continue // the end of a sequence that there is, or text of a paste
			}
			if strings.ContainsAny(key, "\x04\x1a") && strings.Contains(before, "200~") {
				continue
			}
			for _, apart := range []time.Duration{0, escapeWait / 2} {
				synctest.Test(t, func(t *testing.T) {
					var k stopsOf
					suspended := false
					s := sit(t, 80, 24, Options{}, Bridge{Stop: k.stop, Suspend: func() error { suspended = true; return nil }})
					s.ask(t.Context(), request())
					time.Sleep(time.Second)
					if apart == 0 {
						s.tty.typed(before + key)
					} else {
						s.tty.typed(before)
						time.Sleep(apart)
						synctest.Wait()
						s.tty.typed(key)
					}
					synctest.Wait()
					why := []any{"%q behind %q, %v after it", key, before, apart}
					switch {
					case key == "!":
						require.Equal(t, []gate.StopKind{gate.StopEmergency}, k.take(), why...)
					case letter:
						require.Equal(t, []gate.StopKind{gate.StopControlled}, k.take(), why...)
					case key == "\x1a":
						s.settle()
						require.True(t, suspended, why...)
					default:
						select {
						case <-s.tui.Ending():
						default:
							require.Fail(t, "the screen wasn't left", why...)
						}
					}
					s.cancel()
					<-s.ended
					s.settle()
				})
			}
		}
	}
}

// A paste whose end is lost takes no stop and no way out away.
func TestG6_APasteThatNeverEndsHoldsNothingUp(t *testing.T) {
	for name, c := range map[string]struct {
		pause time.Duration
		keys  []string
		left  bool
		stops int
	}{
		"ctrl-C at once":      {0, []string{"\x03"}, true, 0},
		"ctrl-C, pasted more": {0, []string{"more\x03more"}, true, 0},
		"s by itself":         {2 * quiet, []string{"s", "S"}, false, 2},
		"ctrl-D by itself":    {2 * quiet, []string{"\x04"}, true, 0},
		"s with others later": {pasteWait + time.Millisecond, []string{"as"}, false, 1},
		"ctrl-D later":        {pasteWait + time.Millisecond, []string{"x\x04"}, true, 0},
		"q later":             {time.Minute, []string{"q", "q", "q"}, true, 0},
		"text of it":          {quiet / 2, []string{"s", "ss", "\x04x"}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var k stopsOf
				s := sit(t, 80, 24, Options{}, Bridge{Stop: k.stop})
				s.tty.typed("\x1b[200~half of it")
				synctest.Wait()
				for _, key := range c.keys {
					time.Sleep(c.pause)
					synctest.Wait()
					s.tty.typed(key)
					synctest.Wait()
				}
				s.settle()
				left := false
				select {
				case <-s.tui.Ending():
					left = true
				default:
				}
				require.Equal(t, c.left, left)
				require.Len(t, k.take(), c.stops)
				s.cancel()
				<-s.ended
				s.settle()
			})
		})
	}
}

// What ends a lost paste may still be its text, and answers nothing.
func TestG30_WhatEndsALostPasteIsNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 80, 24, Options{}, Bridge{})
		s.ask(t.Context(), request())
		s.press("\x1b[200~")
		time.Sleep(time.Minute)
		s.press("y")
		s.open()
		require.Contains(t, s.tty.String(), "not counted: it came together with other keys")
		time.Sleep(letGo)
		s.press("y")
		s.answered(gate.Approved, terminal.ReasonAnswered)
		require.NoError(t, s.leave())
	})
}

// delays are how long keyboards wait until a key that is held down repeats.
var delays = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, 660 * time.Millisecond, time.Second}

// A key that is held down since before the card was there, or since it could count,
// never approves; however it began.
func TestG30_AKeyHeldDownNeverApproves(t *testing.T) {
	for _, delay := range delays {
		for _, c := range []struct{ first, key, repeats string }{
			{"", "y", "y"}, {"", "Y", "Y"}, {"", "e", "e"}, {"\t", " ", " "}, {"", "-", "-"}, {"", "<", "<"},
			{"", "\x1by", "y"},               // Alt let go first
			{"", "\x1b[200~y\x1b[201~", "y"}, // out of a paste
		} {
			synctest.Test(t, func(t *testing.T) {
				s := sit(t, 80, 24, Options{}, Bridge{})
				req := request()
				req.Editable = true
				hold := func() {
					time.Sleep(delay - 121*time.Millisecond)
					for range 100 {
						s.tty.typed(c.repeats)
						time.Sleep(33 * time.Millisecond)
						synctest.Wait()
						s.open()
					}
				}
				s.tty.typed(c.key)
				time.Sleep(time.Millisecond) // it is read before there is a card
				s.ask(t.Context(), req)
				if c.first != "" {
					s.tty.typed(c.first)
				}
				hold()
				require.Contains(t, s.tty.String(), "not counted: ")
				require.Contains(t, s.tty.String(), "(arming…)", "it says that a yes wouldn't count")
				// Let go of, it counts again.
				time.Sleep(letGo)
				s.settle()
				require.Contains(t, s.tty.String(), "half speed")
				s.press("y")
				s.answered(gate.Approved, terminal.ReasonAnswered)
				require.NoError(t, s.leave())
			})
		}
	}
}

// One press answers one card: what is still held answers no other one, and each key
// that didn't count begins the time again.
func TestG30_OnePressApprovesOneCard(t *testing.T) {
	for _, delay := range delays {
		synctest.Test(t, func(t *testing.T) {
			s := sit(t, 80, 24, Options{}, Bridge{})
			s.ask(t.Context(), request())
			time.Sleep(time.Second)
			s.tty.typed("y")
			synctest.Wait()
			time.Sleep(time.Millisecond)
			synctest.Wait()
			s.answered(gate.Approved, terminal.ReasonAnswered)
			second := request()
			second.CallID = "second"
			s.ask(t.Context(), second)
			time.Sleep(delay - 121*time.Millisecond)
			s.tty.typed("y")
			s.settle()
			s.open()
			for range 5 {
				time.Sleep(letGo - 200*time.Millisecond)
				s.tty.typed("e") // another one that says yes: one may be held beside the other
				s.settle()
				s.open()
			}
			time.Sleep(letGo)
			s.press("y")
			s.answered(gate.Approved, terminal.ReasonAnswered)
			require.NoError(t, s.leave())
		})
	}
}

// A yes right behind another key may be the rest of something that was typed or pasted.
func TestG30_AYesRightBehindAnotherKeyDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 80, 24, Options{}, Bridge{})
		s.ask(t.Context(), request())
		time.Sleep(time.Second)
		s.tty.typed("x")
		time.Sleep(quiet - time.Millisecond)
		synctest.Wait()
		s.tty.typed("y")
		s.settle()
		s.open()
		require.Contains(t, s.tty.String(), "not counted: it came together with other keys")
		require.NoError(t, s.leave())
	})
}

// The end of a card counts as shown once the write that has it is done, not before.
func TestG30_TheEndIsShownOnceItsWriteIsDone(t *testing.T) {
	var a arming
	at := time.Unix(1000, 0)
	card := place{question: 1, w: 80, h: 24, rows: 8, upTo: 14}
	next := func() uint64 { return 5 }
	require.True(t, a.look(true, card, 4, at, next), "laid out: to be looked at again")
	require.False(t, a.look(true, card, 4, at, next))
	for range 3 {
		require.False(t, a.look(true, card, 4, at, next))
		require.False(t, a.armed(at.Add(time.Hour)), "its write isn't done")
	}
	a.look(true, card, 5, at, next)
	require.False(t, a.armed(at.Add(Arming-1)))
	require.True(t, a.armed(at.Add(Arming)))
	card.top++
	a.look(true, card, 5, at, next)
	require.False(t, a.armed(at.Add(time.Hour)), "it is elsewhere now")
}
