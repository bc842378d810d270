package prompt

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// show writes keys the way the tests below give them.
func show(keys []key) string {
	var b strings.Builder
	for _, k := range keys {
		if k.pasted {
			b.WriteByte('_')
		}
		switch k.kind {
		case keyText:
			b.WriteString(strings.ReplaceAll(k.bytes, "\x1b", "ESC"))
		case keyLine:
			b.WriteString("<line>")
		case keyInterrupt:
			b.WriteString("<int>")
		case keySuspend:
			b.WriteString("<susp>")
		case keyEnd:
			b.WriteString("<end>")
		}
	}
	return b.String()
}

func TestFilter(t *testing.T) {
	for in, want := range map[string]string{
		"abç机\r":                                "abç机<line>",
		"a\r\nb\n\r\n":                          "a<line>b<line><line>",
		"\x03\x1a\x04":                          "<int><susp><end>",
		"a\x00\x07\x1c\x1fb":                    "ab",
		"\x1b[A\x1bOB\x1b[3~":                   "ESC[AESC[BESC[3~",
		"\x1b[1;5C\x1bb\x1b[1~":                 "ESC[1;3CESC[1;3DESC[H",
		"\x1b[99;99Hx\x1b[cx":                   "xx",
		"\x1b]0;t\x07x":                         "]0;tx",
		"\x1b\x1b[Dx":                           "ESC[Dx",
		"\x1b\x03":                              "<int>",
		"\x1bestop\x1b!\x1b\x7f":                "estop!",
		"\x1b[estop\x1b[1;2estop\x1bOestop":     "estopestopestop",
		"\x1b[200~\x1bb\x1b[e\x1b[C":            "_b_e",
		"\x1b[\r":                               "<line>",
		"\x1b[200~a\tb\r\x1b[Ac":                "_a_ _b_<line>_c",
		"\x1b[200~a\x1b[201~b":                  "_ab",
		"\x1b[200~\x1a\x04\x7f":                 "_ _ ",
		"\x1b[200~a\x03b":                       "_a<int>b",
		"\u202ea\u200b\u0085\xff":               "?a???",
		"\xe2\x82a":                             "?a",
		"\xe2\x82\x03":                          "?<int>",
		"\xed\xa0\x80":                          "??",
		"\ufffd":                                "?",
		"\x1b[" + strings.Repeat("1", 40) + "x": strings.Repeat("1", 10) + "x",
	} {
		var whole, split filter
		require.Equal(t, want, show(whole.feed(nil, []byte(in), time.Time{})), "%q", in)
		var keys []key
		for _, c := range []byte(in) {
			keys = split.feed(keys, []byte{c}, time.Time{})
		}
		if !strings.Contains(in, "\r\n") { // typed one after the other these are two lines
			require.Equal(t, want, show(keys), "%q byte by byte", in)
		}
	}
}

// requireSafe is what the editor may be given.
func requireSafe(t interface{ Fatalf(string, ...any) }, in []byte, keys []key) {
	for _, k := range keys {
		r, n := utf8.DecodeRuneInString(k.bytes)
		switch {
		case k.kind != keyText && k.bytes == "", k.kind == keyText && n == len(k.bytes) && unicode.IsPrint(r):
		case k.kind == keyText && len(k.bytes) == 1 && editing(k.bytes[0]) && !k.pasted:
		case k.kind == keyText && strings.HasPrefix(k.bytes, "\x1b[") && !k.pasted:
		default:
			t.Fatalf("%q gives the key %+v", in, k)
		}
	}
}

func TestFilter_GivesTheEditorOnlyWhatItKnows(t *testing.T) {
	piece := rapid.SampledFrom([]string{"\x1b", "[", "200~", "\x1b[200~", "\x1b[201~", "\r", "\n", "y", "\x03", "\xe2", "\x82", "1;", "A"})
	rapid.Check(t, func(t *rapid.T) {
		var f filter
		var all []key
		presses := 0
		for range rapid.IntRange(0, 20).Draw(t, "chunks") {
			chunk := []byte(piece.Draw(t, "piece"))
			if rapid.Bool().Draw(t, "random") {
				chunk = rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")
			}
			presses += strings.Count(string(chunk), "\x03")
			keys := f.feed(nil, chunk, time.Time{})
			requireSafe(t, chunk, keys)
			all = append(all, keys...)
		}
		for _, k := range all {
			if k.kind == keyInterrupt {
				presses--
			}
		}
		if presses != 0 {
			t.Fatalf("%d ctrl-C were lost", presses)
		}
	})
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"", "y\r", "\x1b[200~y\r\x1b[201~", "\x1b[1;5C\x1bOA", "\xe2\x82\x03", "\x1b]0;x\x07"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var fl filter
		keys := fl.feed(nil, in, time.Time{})
		requireSafe(t, in, keys)
		if len(keys) > len(in) {
			t.Fatalf("%d keys of %d bytes", len(keys), len(in))
		}
		if len(fl.esc) > maxSequence || len(fl.partial) >= utf8.UTFMax {
			t.Fatalf("%q keeps %q and %q", in, fl.esc, fl.partial)
		}
	})
}

// typedLine is what stands on a line that keys made, and what they ended with.
func typedLine(keys []key) string {
	var b strings.Builder
	for _, k := range keys {
		if k.kind == keyText {
			b.WriteString(k.bytes)
		}
		if k.kind == keyLine {
			break
		}
	}
	return b.String()
}

// A key, or the beginning of what a key sends, that stands before a stop never takes a
// letter from it: typed 100 ms later it is that stop, and at once the same one or none.
func TestFilter_AStrayEscapeTakesNoLetterFromAStop(t *testing.T) {
	for _, first := range []string{"\x1b", "\x1b[", "\x1bO", "\x1b[1;2", "\x1b[200", "\xe2\x82"} {
		for _, stop := range []string{"stop", "estop"} {
			var f filter
			now := time.Now()
			f.feed(nil, []byte(first), now)
			require.Equal(t, stop, typedLine(f.feed(nil, []byte(stop+"\r"), now.Add(stale))), "%q", first)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		head := rapid.SampledFrom([]string{"", "\x1b", "\x1b[", "\x1b[?", "\x1bO", "\x1b\x1b", "\x1b[200~", "\x1b[201~\x1b[", "\xe2", "\xf0\x9f\x98", "\x00\x1b"}).Draw(t, "head")
		if strings.HasSuffix(head, "[") || strings.HasSuffix(head, "?") {
			head += rapid.StringMatching(`[ -?]{0,28}`).Draw(t, "parameters")
		}
		stop := rapid.SampledFrom([]string{"stop", "estop"}).Draw(t, "stop")
		pause := rapid.SampledFrom([]time.Duration{0, 1, stale - 1, stale, time.Second, time.Hour}).Draw(t, "pause")
		between := rapid.SampledFrom([]time.Duration{0, time.Millisecond, time.Second}).Draw(t, "between")
		var f filter
		at := time.Now()
		keys := f.feed(nil, []byte(head), at)
		at = at.Add(pause)
		for _, c := range stop + "\r" {
			keys = f.feed(keys, []byte(string(c)), at)
			at = at.Add(between)
		}
		got := strings.TrimSpace(typedLine(keys))
		switch {
		case got == stop:
		case pause >= stale:
			t.Fatalf("%q, and %v later %s: %q", head, pause, stop, got)
		case stop == "estop" && got == "stop":
			t.Fatalf("%q, and %v later estop is a lesser stop", head, pause)
		}
	})
}

// What comes in two parts is one key where they come one upon the other.
func TestFilter_AKeyInTwoParts(t *testing.T) {
	var f filter
	now := time.Now()
	keys := f.feed(nil, []byte("\x1b["), now)
	keys = f.feed(keys, []byte("D\xe2\x82"), now.Add(stale-1))
	require.Equal(t, "ESC[D€", show(f.feed(keys, []byte("\xac"), now.Add(2*stale-2))))
}
