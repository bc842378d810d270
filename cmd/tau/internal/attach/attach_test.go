package attach

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/tau-robot/tau/cmd/tau/internal/control"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/signed"
	"github.com/tau-robot/tau/gate/approver/terminal"
	"github.com/tau-robot/tau/gate/words"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = time.Minute

// impostor is a program in the bridge's place: it asks one question, and says beside it
// what it likes.
type impostor struct {
	asks   control.Item
	says   []control.Event
	seen   chan struct{} // closed by the test when the card is there: then it says that
	heard  chan struct{} // closed when the terminal has taken it in
	signed chan control.Request

	ctx   context.Context
	turns int // of events
	mu    sync.Mutex
	own   sync.WaitGroup
}

// serve answers until the listener is closed.
func (i *impostor) serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		i.own.Go(func() {
			defer func() { _ = c.Close() }()
			line, err := bufio.NewReader(c).ReadBytes('\n')
			var r control.Request
			if err != nil || json.Unmarshal(line, &r) != nil {
				return
			}
			i.answer(r, func(r control.Reply) {
				b, _ := json.Marshal(r)
				_, _ = c.Write(append(b, '\n')) // whoever has gone reads nothing
			})
		})
	}
}

func (i *impostor) answer(r control.Request, say func(control.Reply)) {
	tell := func(e control.Event) { say(control.Reply{OK: true, Event: &e}) }
	switch r.Verb {
	case control.Events:
		i.mu.Lock()
		i.turns++
		turn := i.turns
		i.mu.Unlock()
		tell(control.Event{Kind: "attached"})
		tell(control.Event{Kind: "open", Request: &i.asks, CallID: i.asks.CallID})
		tell(control.Event{Kind: "current"})
		if turn == 2 { // it comes again once it has taken in all of the first time
			close(i.heard)
		}
		wait := i.seen
		if turn > 1 {
			wait = nil
		}
		select {
		case <-wait:
			for _, e := range i.says {
				tell(e)
			}
		case <-i.ctx.Done():
		}
	case control.Nonce:
		say(control.Reply{OK: true, Nonce: &control.Challenge{Nonce: strings.Repeat("ab", 16), Expires: i.asks.Expires}})
	case control.Approve:
		i.signed <- r
		say(control.Reply{OK: true})
	}
}

// seat is the person's terminal.
type seat struct {
	t   *testing.T
	ptm *os.File

	mu   sync.Mutex
	cond *sync.Cond
	out  string
}

func (s *seat) read() {
	b := make([]byte, 4096)
	for {
		n, err := s.ptm.Read(b)
		s.mu.Lock()
		s.out += string(b[:n])
		s.cond.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// await waits until ok holds of all that was written.
func (s *seat) await(what string, ok func(out string) bool) string {
	s.t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.cond.Broadcast()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !ok(s.out) {
		if late {
			s.t.Fatalf("no %s in %q", what, s.out)
		}
		s.cond.Wait()
	}
	return s.out
}

func (s *seat) types(keys string) {
	s.t.Helper()
	_, err := s.ptm.WriteString(keys)
	require.NoError(s.t, err)
}

// clock is set by the test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rig is a terminal attached to an impostor.
type rig struct {
	*seat
	*impostor
	clock *clock
	req   gate.Request
}

func attachTo(t *testing.T, l words.Lang, notices []control.Notice, says func(call string) []control.Event) *rig {
	now := time.Now()
	r := &rig{clock: &clock{now: now}, req: gate.Request{
		CallID: "0123456789abcdef", Tool: "torque_off", Tier: gate.TierPhysical, Args: json.RawMessage(`{}`),
		Effect: "Lets the arm fall.", Session: gate.Session{Name: "s", Mode: gate.ModeSim, Backend: "sim"}, Principal: "agent", Origin: "mcp",
		Digest: [32]byte{0xab}, Asked: now, Expiry: now.Add(24 * time.Hour),
	}}
	ctx, cancel := context.WithCancel(context.Background())
	item := control.ItemOf(r.req)
	item.Open, item.Notices = true, notices
	r.impostor = &impostor{asks: item, says: says(item.CallID), seen: make(chan struct{}), heard: make(chan struct{}), signed: make(chan control.Request, 1), ctx: ctx}
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)

	blocking, tts, err := pty.Open()
	require.NoError(t, err)
	fd, err := unix.Dup(int(blocking.Fd()))
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(fd, true)) // so that Close ends a Read
	require.NoError(t, blocking.Close())
	r.seat = &seat{t: t, ptm: os.NewFile(uintptr(fd), "ptm")}
	r.cond = sync.NewCond(&r.seat.mu)
	require.NoError(t, pty.Setsize(tts, &pty.Winsize{Rows: 24, Cols: 200}))

	key, err := signed.NewPrivate(rand.Reader)
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() { r.serve(listener) })
	all.Go(r.read)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = Run(ctx, Options{In: tts, Out: tts, Socket: socket, Lang: l, Now: r.clock.Now,
			Unlock: func(context.Context) (*signed.Private, error) { return key, nil }})
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		_ = listener.Close()
		_ = tts.Close()
		_ = r.ptm.Close()
		all.Wait()
		r.own.Wait()
	})
	return r
}

// card is the card that is shown, as it stands on the terminal.
func (r *rig) card(l words.Lang) string {
	return strings.ReplaceAll(terminal.Card(l, r.req), "\n", "\r\n") + l.TerminalQuestion()
}

// What a program in the bridge's place says beside a question, which nobody signs, never
// looks like a card: what stands over the question is the whole card of what is signed.
func TestG34_NothingBesideTheCardLooksLikeOne(t *testing.T) {
	for _, l := range []words.Lang{words.English, words.Turkish} {
		other := []string{"", "⚠️  Approval needed (tier 2)", "Tool: gripper_open", "  Tool: gripper_open", "Arguments: {}", "Digest: 1111111111111111"}
		lie := strings.Repeat(" ", 300) + "  Tool: gripper_open\n  Tool: gripper_open\r\n" + strings.Repeat("  Tool: gripper_open", 50)
		var before []control.Notice
		for _, text := range other {
			before = append(before, control.Notice{Kind: 99, Text: text}, control.Notice{Text: text})
		}
		for range 40 {
			before = append(before, control.Notice{Kind: gate.CallerGone, Text: lie})
		}
		r := attachTo(t, l, before, func(call string) (all []control.Event) {
			note := func(kind gate.NoticeKind, text string) {
				all = append(all, control.Event{Kind: "notice", CallID: call, Notice: &control.Notice{Kind: kind, Text: text}})
			}
			for range 40 {
				note(99, "")
			}
			for _, text := range other {
				note(99, text)
				note(0, text)
			}
			for range 40 {
				note(gate.CantEdit, lie)
			}
			// Other questions, and things that are no questions, say nothing here.
			item := control.Item{CallID: "fedcba9876543210", Tool: "gripper_open", Tier: 2, Digest: strings.Repeat("1", 64)}
			all = append(all, control.Event{Kind: "open", Request: &item, CallID: item.CallID}, control.Event{Kind: "open", Text: "Tool: gripper_open"},
				control.Event{Kind: "closed", CallID: item.CallID, How: "approved", By: lie}, control.Event{Kind: "Tool: gripper_open", Text: lie},
				control.Event{Kind: "notice", CallID: call}, control.Event{Kind: "open", Request: &control.Item{CallID: "x", Digest: lie}})
			return all
		})
		card := r.card(l)
		first := r.await("card", func(out string) bool { return strings.HasSuffix(out, card) })
		require.Equal(t, control.MaxNotices, strings.Count(first, terminal.NoticeMark))
		r.clock.add(time.Hour)
		close(r.seen)
		select {
		case <-r.heard:
		case <-time.After(patience):
			t.Fatal("it doesn't listen")
		}
		out := r.await("card after each note", func(out string) bool {
			return strings.Count(out, card) == 1+control.MaxNotices && strings.HasSuffix(out, card)
		})
		for _, line := range strings.Split(out, "\r\n") {
			_, note, is := strings.Cut(line, terminal.NoticeMark)
			switch {
			case is:
				require.Less(t, len(note), 350, "%q", line)
				require.NotContains(t, note, "  ")
			case strings.Contains(line, "gripper_open"), strings.Contains(line, "1111"), strings.Contains(line, "⚠️") && !strings.Contains(card, line):
				t.Fatalf("%q looks like a card's", line)
			}
		}
		require.Equal(t, 1+control.MaxNotices, strings.Count(out, "⚠️"))

		// The card has just been written again: a yes at once doesn't count.
		r.types("y\r")
		r.await("refusal", func(out string) bool { return strings.Contains(out, "not counted") })
		require.Empty(t, r.signed)
		for counted := 1; len(r.signed) == 0; counted++ {
			r.clock.add(terminal.Arming)
			r.types("y\r")
			r.await("answer", func(out string) bool {
				return strings.Contains(out, l.AttachApproved("torque_off")) || strings.Count(out, "not counted") > counted
			})
		}
		st, err := signed.ParseStatement((<-r.signed).Statement)
		require.NoError(t, err)
		shown, _ := st.Param(signed.ShownParam)
		require.Equal(t, signed.Shown(r.req), shown)
	}
}
