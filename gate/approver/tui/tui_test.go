package tui

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sitting is a person before a screen, in a bubble of fake time.
type sitting struct {
	t      *testing.T
	tty    *fakeTTY
	tui    *TUI
	cancel context.CancelFunc
	ended  chan error
	said   chan said
}

type said struct {
	word gate.Word
	err  error
}

// sit shows a screen. It runs inside of a bubble.
func sit(t *testing.T, w, h int, o Options, b Bridge) *sitting {
	t.Helper()
	s := &sitting{t: t, tty: newFake(w, h), ended: make(chan error, 1), said: make(chan said, 16)}
	o.Terminal, o.Term = s.tty, "xterm-256color"
	if o.Robot == "" {
		o.Robot, o.Mode = "so101", gate.ModeSim
	}
	s.tui = New(o)
	s.tui.Bind(b)
	ctx, cancel := context.WithCancel(t.Context())
	s.cancel = cancel
	go func() { s.ended <- s.tui.Run(ctx) }()
	s.settle()
	t.Cleanup(func() { cancel() })
	return s
}

// settle lets a few frames pass.
func (s *sitting) settle() {
	s.t.Helper()
	time.Sleep(120 * time.Millisecond)
	synctest.Wait()
}

// ask puts a request before the screen.
func (s *sitting) ask(ctx context.Context, req gate.Request) {
	s.t.Helper()
	go func() {
		w, err := s.tui.Decide(ctx, req)
		s.said <- said{w, err}
	}()
	s.settle()
}

// press presses a key by itself.
func (s *sitting) press(keys string) {
	s.t.Helper()
	time.Sleep(2 * quiet)
	s.tty.typed(keys)
	s.settle()
	s.settle() // an escape alone takes its time
}

func (s *sitting) open() {
	s.t.Helper()
	select {
	case w := <-s.said:
		s.t.Fatalf("it has been answered: %+v\n%s", w, s.tty)
	default:
	}
}

func (s *sitting) answered(d gate.Decision, why gate.Reason) {
	s.t.Helper()
	select {
	case w := <-s.said:
		require.NoError(s.t, w.err)
		require.Equal(s.t, d, w.word.Decision, "%s\n%s", w.word.Reason, s.tty)
		require.Equal(s.t, why, w.word.Reason)
	default:
		s.t.Fatalf("it hasn't been answered\n%s", s.tty)
	}
}

// leave ends the screen and checks that the terminal is as it was.
func (s *sitting) leave() error {
	s.t.Helper()
	s.cancel()
	var err error
	select {
	case err = <-s.ended:
	case <-time.After(time.Minute):
		s.t.Fatal("the screen doesn't end")
	}
	s.restored()
	return err
}

// restored checks that the terminal is as it was.
func (s *sitting) restored() {
	s.t.Helper()
	require.False(s.t, s.tty.isTaken())
	require.False(s.t, s.tty.Alt())
	require.False(s.t, s.tty.Paste())
	require.Empty(s.t, s.tty.Unknown())
}

// request is a short one whose card fits a screen of 80 by 24.
func request() gate.Request {
	now := time.Now()
	return gate.Request{
		CallID: "0123456789abcdef", Tool: "move_joints", Tier: gate.TierPhysical,
		Args:   json.RawMessage(`{"positions":{"shoulder_pan":0.5}}`),
		Effect: "Moves the named joints of the arm.", Session: gate.Session{Name: "sim", Mode: gate.ModeSim, Backend: "sim"},
		Principal: "agent", Origin: "mcp", Digest: [32]byte{0xab, 1, 2, 3, 4, 5, 6, 7},
		Asked: now, Expiry: now.Add(10 * time.Minute),
	}
}

// long is one whose card doesn't.
func long() gate.Request {
	req := request()
	for range 40 {
		req.Card.Assumed = append(req.Card.Assumed, "the acceleration limits of a joint")
	}
	return req
}

func drawn(t testing.TB) gate.Request {
	t.Helper()
	req := request()
	data, err := os.ReadFile("testdata/rehearsal.json")
	require.NoError(t, err)
	req.Card = gate.Card{
		Facts: []gate.Fact{
			{Label: "Moves", Text: "shoulder_pan 0.000 → 0.500, elbow_flex 0.000 → -0.400 rad"},
			{Label: "Rehearsed", Text: "1.23 s in tau sim 3, shoulder_pan at most 0.0123 rad off"},
			{Label: "Top speed", Text: "shoulder_pan 0.900 of 2.000 rad/s, tool 0.250 m/s"},
			{Label: "Clearance", Text: "12.3 mm between gripper_link and post at 0.70 s"},
			{Label: "Ends at", Text: "gripper_frame_link (0.343, 0.187, 0.226) m"},
		},
		Assumed: []string{"acceleration and jerk of shoulder_pan"}, Data: data,
	}
	return req
}

func TestG30_YesApprovesOnceTheEndWasShownForHalfASecond(t *testing.T) {
	for _, yes := range []string{"y", "e", "Y", "E", "\t "} {
		synctest.Test(t, func(t *testing.T) {
			s := sit(t, 80, 24, Options{}, Bridge{})
			s.ask(t.Context(), request())
			require.Contains(t, s.tty.String(), "Approval needed (tier 2)")
			require.Contains(t, s.tty.String(), "Arguments: {\"positions\":{\"shoulder_pan\":0.5}}")
			require.Contains(t, s.tty.String(), "end of the card")
			require.Contains(t, s.tty.String(), ">[ Reject ]<")
			require.Contains(t, s.tty.String(), "(arming…)")
			time.Sleep(Arming)
			s.settle()
			require.Contains(t, s.tty.String(), "(y or e approves)")
			s.open()
			for _, k := range yes {
				s.press(string(k))
			}
			s.answered(gate.Approved, terminal.ReasonAnswered)
			require.Contains(t, s.tty.String(), "Nothing waits for an answer.")
			require.NoError(t, s.leave())
		})
	}
}

func TestG30_NothingElseApproves(t *testing.T) {
	for name, keys := range map[string][]string{
		"enter on reject": {"\r"}, "newline": {"\n"}, "n": {"n"}, "h": {"H"}, "escape": {"\x1b"}, "space on reject": {" "},
		"back on reject": {"\t", "\x1b[D", " "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sit(t, 80, 24, Options{}, Bridge{})
				s.ask(t.Context(), request())
				time.Sleep(time.Second)
				for _, k := range keys {
					s.open()
					s.press(k)
				}
				s.answered(gate.Rejected, terminal.ReasonAnswered)
				require.NoError(t, s.leave())
			})
		})
	}
	for name, keys := range map[string][]string{
		"enter on approve": {"\t", "\r", "\n", "\r"}, "other letters": {"a", "x", "1", "ş", "ÿ", "ｙ", "\x19"},
		"alt-y": {"\x1by"}, "function keys": {"\x1bOP", "\x1b[15~", "\x1b[1;5C", "\x1b[121u"},
		"two at once": {"yy", "y\r", "\ry", "ye"}, "pasted": {"\x1b[200~y\x1b[201~"}, "in a paste": {"\x1b[200~", "y", " "},
		"a word": {"yes", "evet"}, "mouse": {"\x1b[<0;20;20M", "\x1b[<0;20;20m"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := sit(t, 80, 24, Options{}, Bridge{})
				s.ask(t.Context(), request())
				time.Sleep(time.Second)
				for _, k := range keys {
					if name != "in a paste" { // which a pause would end
						time.Sleep(letGo) // so that each is refused for what it is
					}
					s.press(k)
					s.open()
				}
				require.NoError(t, s.leave())
				s.settle()
				s.answered(gate.Void, ReasonClosed)
			})
		})
	}
}

func TestCase57_WhatWasTypedBeforeNeverCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 80, 24, Options{}, Bridge{})
		s.press("y")
		s.press("e")
		s.ask(t.Context(), request())
		s.open()
		// During the arming: at any moment of it.
		for range 5 {
			s.tty.typed("y")
			time.Sleep(60 * time.Millisecond)
			synctest.Wait()
			s.open()
		}
		require.Contains(t, s.tty.String(), "not counted: ")
		// A key that is held down doesn't count either, once it would be time.
		for range 100 {
			s.tty.typed("y")
			time.Sleep(33 * time.Millisecond)
			synctest.Wait()
			s.open()
		}
		s.press("y") // too soon behind it, and that begins the time again
		s.open()
		require.Contains(t, s.tty.String(), "not counted: a yes less than 2 s before")
		time.Sleep(letGo)
		s.press("y")
		s.answered(gate.Approved, terminal.ReasonAnswered)
		require.NoError(t, s.leave())
	})
}

// What was typed while the frame was being written, and read late, isn't an answer.
func TestCase57_WhatWasTypedWhileTheCardWasWrittenDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 80, 24, Options{}, Bridge{})
		s.tty.mu.Lock()
		s.tty.early = sync.OnceFunc(func() {
			s.tty.mu.Lock()
			s.tty.chunks = append(s.tty.chunks, []byte("y")) // without waking the reader
			s.tty.mu.Unlock()
		})
		s.tty.mu.Unlock()
		s.ask(t.Context(), request())
		s.tty.mu.Lock()
		s.tty.early = nil
		s.tty.mu.Unlock()
		time.Sleep(2 * time.Second)
		s.settle()
		s.open()
		s.tty.typed("x") // now the reader comes, late
		s.settle()
		s.open()
		require.NoError(t, s.leave())
	})
}

func TestG30_ACardHigherThanTheScreenIsReadToItsEndFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 80, 24, Options{}, Bridge{})
		s.ask(t.Context(), long())
		require.NotContains(t, s.tty.String(), "Digest: ")
		require.Contains(t, s.tty.String(), "(read to the end to approve: PgDn)")
		time.Sleep(time.Minute)
		s.press("y")
		s.open()
		require.Contains(t, s.tty.String(), "not counted: the card's end hasn't been shown")
		pages := 0
		for !strings.Contains(s.tty.String(), "Digest: ") {
			time.Sleep(letGo)
			s.press("y")
			s.open()
			s.press("\x1b[6~")
			pages++
			require.Less(t, pages, 20)
		}
		require.Greater(t, pages, 1)
		s.tty.typed("y") // during the arming
		time.Sleep(Arming)
		s.settle()
		s.open()
		s.press("\x1b[A") // up again: the end is away
		require.NotContains(t, s.tty.String(), "Digest: ")
		time.Sleep(letGo)
		s.press("y")
		s.open()
		s.press("\x1b[B")
		time.Sleep(letGo)
		s.press("y")
		s.answered(gate.Approved, terminal.ReasonAnswered)
		require.NoError(t, s.leave())
	})
}

func TestG30_AResizeDisarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sit(t, 80, 24, Options{}, Bridge{})
		s.ask(t.Context(), request())
		time.Sleep(letGo)
		s.settle()
		require.Contains(t, s.tty.String(), "(y or e approves)")
		s.tty.resize(60, 11)
		s.settle()
		require.NotContains(t, s.tty.String(), "Digest: ")
		time.Sleep(letGo)
		s.press("y")
		s.open()
		// Back again: it arms anew.
		s.tty.resize(80, 24)
		s.settle()
		require.Contains(t, s.tty.String(), "(arming…)")
		s.tty.typed("y")
		s.settle()
		s.open()
		// Too small for any card.
		s.tty.resize(20, 4)
		s.settle()
		require.Contains(t, s.tty.String(), "! E-STOP")
		time.Sleep(letGo)
		s.press("y")
		s.open()
		s.tty.resize(100, 30)
		time.Sleep(letGo)
		// A size that the screen doesn't know of yet.
		s.tty.Screen.Resize(100, 12)
		s.press("y")
		s.open()
		require.Contains(t, s.tty.String(), "not counted: the screen has another size now")
		s.tty.resize(100, 30)
		time.Sleep(letGo)
		s.press("y")
		s.answered(gate.Approved, terminal.ReasonAnswered)
		require.NoError(t, s.leave())
	})
}
