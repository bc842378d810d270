package tui

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/approver/terminal"
)

// witness looks over a person's shoulder: when the end of which card has been on the
// terminal, without a break and at the size that it has, and what was typed when.
type witness struct {
	since time.Time // the end of the card has been there; zero: it isn't
}

// look is called at each moment that anything could have changed.
func (w *witness) look(screen string, digest string, now time.Time) {
	if !strings.Contains(screen, digest) || !strings.Contains(screen, "[ Approve ]") {
		w.since = time.Time{}
	} else if w.since.IsZero() {
		w.since = now
	}
}

// TestG30_NoSequenceApprovesButAYesInTime drives a screen with keys, pastes, sizes,
// time and other output, in any order, and holds that an approval came only of a key
// that says yes, by itself, on an unchanged screen whose card's end had been there for
// half a second.
func TestG30_NoSequenceApprovesButAYesInTime(t *testing.T) {
	// synctest has its own T; rapid's fails through it.
	rapid.Check(t, func(rt *rapid.T) {
		long := rapid.IntRange(0, 30).Draw(rt, "assumed")
		steps := rapid.SliceOfN(rapid.SampledFrom([]string{
			"y", "y", "y", "e", "Y", " ", "\t", "\r", "n", "h", "\x1b", "\x1b[6~", "\x1b[6~", "\x1b[5~", "\x1b[A", "\x1b[B", "yy", "y\r", "\x1b[200~", "\x1b[201~",
			"\x1b[200~y\x1b[201~", "\x1by", "v", "q", "ş", "\x1b[", "-", "<", "size:80x24", "size:50x10", "size:60x40", "size:20x3", "size:120x50",
			"wait:1", "wait:50", "wait:150", "wait:490", "wait:700", "wait:700", "wait:2000", "wait:2000", "event", "notice", "quiet:80x30",
			"!", "\x1b!", "\x1b[!", "\x1bO!", "\x1b[20!", "\x1b[200~y!", "\x1b\x1b!", "ş\x1b!y", "\x1bO", "\x1b[200~lost", "\xc5!", "\x1b[200~\x1b!", "s", "\x1bs",
			"\x1b\x03", "held:y:250", "held:y:500", "held:y:1000", "held:e:660", "held: :500", "held:-:400", "held:<:1000", "held:s:500",
		}), 1, 40).Draw(rt, "steps")
		var trouble string
		synctest.Test(t, func(t *testing.T) { trouble = session(t, long, steps) })
		if trouble != "" {
			rt.Fatal(trouble)
		}
	})
}

// session runs one sequence and says what was wrong with it.
func session(t *testing.T, assumed int, steps []string) string {
	var stops stopsOf
	s := sit(t, 80, 24, Options{}, Bridge{Stop: stops.stop})
	defer func() { s.cancel(); <-s.ended; s.settle() }()
	req := request()
	req.Editable = true
	for range assumed {
		req.Card.Assumed = append(req.Card.Assumed, "the acceleration of a joint")
	}
	go func() {
		w, err := s.tui.Decide(t.Context(), req)
		s.said <- said{w, err}
	}()
	const digest = "Digest: ab01020304050607"
	var w witness
	pass := func(d time.Duration) {
		for ; d > 0; d -= 10 * time.Millisecond {
			time.Sleep(min(d, 10*time.Millisecond))
			synctest.Wait()
			w.look(s.tty.String(), digest, time.Now())
		}
	}
	typed := ""
	var at, yesAt time.Time
	lawful := false // what was typed last may approve
	edits := false
	pasting := false
	trouble := ""
	types := func(step string) {
		now := time.Now()
		alone := typed == "" || now.Sub(at) >= quiet
		if now.Sub(at) > pasteWait {
			pasting = false
		}
		shown := !w.since.IsZero() && now.Sub(w.since) >= Arming-40*time.Millisecond // a frame's look
		if strings.Contains(step, pasteBegin) {
			pasting = true
		}
		released := yesAt.IsZero() || now.Sub(yesAt) >= letGo
		counts := alone && shown && !pasting && released && len(step) == 1
		lawful = counts && strings.ContainsAny(step, "yeY ")
		edits = counts && strings.ContainsAny(step, "-<")
		if strings.ContainsAny(step, yesKeys) {
			yesAt = now
		}
		if strings.Contains(step, pasteEnd) {
			pasting = false
		}
		typed, at = step, now
		s.tty.typed(step)
		synctest.Wait()
		estops := 0
		for _, kind := range stops.take() {
			if kind == gate.StopEmergency {
				estops++
			}
		}
		if estops != strings.Count(step, "!") {
			trouble = fmt.Sprintf("%d e-stops of %q", estops, step)
		}
		if strings.Contains(step, "\x03") {
			select {
			case <-s.tui.Ending():
			default:
				trouble = "ctrl-C was lost"
			}
		}
	}
	for i, step := range steps {
		var d int
		var x, y int
		switch {
		case step == "event":
			s.tui.Event(gate.Event{Type: "error", Time: time.Now(), Text: fmt.Sprint(i)})
		case step == "notice":
			s.tui.Notice(req.CallID, gate.Notice{Kind: gate.CallerGone, Text: "x"})
			w.since = time.Time{} // there is more to read, at the next frame at the latest
		case n(fmt.Sscanf(step, "size:%dx%d", &x, &y)):
			s.tty.resize(x, y)
			w.since = time.Time{}
		case n(fmt.Sscanf(step, "quiet:%dx%d", &x, &y)): // the screen isn't told
			s.tty.Screen.Resize(x, y)
			w.since = time.Time{}
		case n(fmt.Sscanf(step, "wait:%d", &d)):
			pass(time.Duration(d) * time.Millisecond)
		case strings.HasPrefix(step, "held:") && n(fmt.Sscanf(step[7:], "%d", &d)): // the key is step[5]
			types(step[5:6])
			may, mayEdit := lawful, edits // the press itself, but none of what follows
			for range 8 {
				pass(time.Duration(d) * time.Millisecond)
				types(step[5:6])
				d = 33
			}
			lawful, edits = may, mayEdit
		default:
			types(step)
		}
		pass(10 * time.Millisecond)
		if trouble != "" {
			return fmt.Sprintf("%s at step %d of %q:\n%s", trouble, i, steps, s.tty)
		}
		select {
		case got := <-s.said:
			switch {
			case got.err != nil:
				return got.err.Error()
			case got.word.Decision == gate.Approved && !lawful, got.word.Decision == gate.Edited && !edits:
				return fmt.Sprintf("decision %x at step %d of %q, the end shown since %v, now %v:\n%s", got.word.Decision, i, steps, w.since, time.Now(), s.tty)
			}
			return ""
		default:
		}
	}
	return ""
}

func n(got int, err error) bool { return err == nil && got > 0 }

// FuzzKeys holds the decoder: whatever is sent, and however it is cut, the e-stop is
// never swallowed by a read of its own, a paste and what comes together answer
// nothing, and nothing is held for ever.
func FuzzKeys(f *testing.F) {
	for _, s := range []string{"y", "\x1b", "\x1b[A\x1bOB", "\x1b[200~y!\x1b[201~", "\x1b[<0;1;1M", "ş!", "\xff\xfe", "\x1b[", "\x1b\x1b\x1b", "\x1b[1;5C", "\x1b]0;x\a"} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		at := time.Unix(1000, 0)
		var d decoder
		size := int(cut)%16 + 1
		for i := 0; i < len(data); i += size {
			chunk := data[i:min(len(data), i+size)]
			at = at.Add(quiet)
			ks := d.feed(chunk, at)
			for _, k := range ks {
				require.Equal(t, at, k.at)
				require.NotZero(t, k.kind)
				if len(ks) > 1 || k.pasted {
					require.True(t, k.together)
				}
			}
			require.LessOrEqual(t, len(d.held), maxSequence)
		}
		at = at.Add(escapeWait)
		d.flush(at)
		require.False(t, d.pending())
		// After any of that the e-stop is a key.
		at = at.Add(time.Second)
		found := false
		for _, k := range d.feed([]byte{estopKey}, at) {
			found = found || acts(k)
		}
		require.True(t, found)
		// And without the pause too.
		d.feed([]byte("\x1b["), at)
		found = false
		for _, k := range d.feed([]byte{estopKey}, at) {
			found = found || acts(k)
		}
		require.True(t, found)
	})
}

// FuzzWrap holds that nothing is left out and nothing is too wide, on a terminal that
// takes most of each character.
func FuzzWrap(f *testing.F) {
	for _, s := range []string{"", "a b c", "日本語テキスト", "e\u0301\u0301\u0301", strings.Repeat("x", 200), "a  b   c    d"} {
		f.Add(s, uint8(10))
	}
	f.Fuzz(func(t *testing.T, s string, wide uint8) {
		s = gate.Escape(s)
		w := int(wide)%100 + 8
		rows := wrap(s, w)
		require.Equal(t, s, strings.Join(rows, ""))
		for _, r := range rows {
			require.NotEmpty(t, r)
			require.LessOrEqual(t, width(r), w, "%q", r)
		}
		require.LessOrEqual(t, width(clip(s, w)), w)
	})
}

func TestG9_Case60_AScreenThatIsntThereRefuses(t *testing.T) {
	w, err := New(Options{}).Decide(t.Context(), request())
	require.NoError(t, err)
	require.Equal(t, gate.Word{Decision: gate.Void, Reason: terminal.ReasonNotInteractive}, w)
	require.Error(t, New(Options{}).Run(context.Background()))
}
