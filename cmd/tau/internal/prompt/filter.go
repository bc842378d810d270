package prompt

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// keyKind says what a key is.
type keyKind uint8

const (
	keyText      keyKind = iota + 1 // bytes for the editor: one character or one editing key
	keyLine                         // Enter
	keyInterrupt                    // ctrl-C
	keySuspend                      // ctrl-Z
	keyEnd                          // ctrl-D
	keyDo                           // not a key: do is run where the keys before it have been worked off
	keyGone                         // the input has ended
)

// key is one key, or one thing to do between keys.
type key struct {
	kind   keyKind
	bytes  string // keyText
	at     time.Time
	epoch  uint64 // keyLine: of stops
	pasted bool
	do     func()
}

// Keys as the editor of x/term reads them.
const (
	editEnd   = "\x05"
	editKill  = "\x15" // to the left of the cursor
	editClear = "\x0c"
	editTab   = "\t"
	// Keys that the editor doesn't know and nobody can type, so that it asks complete:
	editCtrlD   = "\x1d"
	editAside   = "\x1c" // what is half typed is set aside
	editBack    = "\x1e" // and put back
	maxSequence = 32     // bytes of an escape sequence
)

// filter turns the bytes of a terminal in raw mode into keys. What it doesn't
// know never gets to the editor: not a control byte, not an escape sequence
// (x/term waits for ever behind some), not text that could move the cursor. Text
// within a bracketed paste is marked.
//
// An escape sequence must never eat a key: without its first letter estop is another
// word. So one that isn't finished is dropped when nothing came of it for a while, and
// what ends none of the sequences that terminals send counts as text.
type filter struct {
	esc     []byte    // an escape sequence being read, with its ESC
	partial []byte    // a character being read
	last    time.Time // of the chunk before
	paste   bool      // between the marks of a paste
	cr      bool      // the byte before in this chunk was a carriage return
}

// stale is how long a terminal may take between two parts of a key.
const stale = 100 * time.Millisecond

// feed appends the keys of a chunk that was read at a time.
func (f *filter) feed(keys []key, chunk []byte, at time.Time) []key {
	f.cr = false
	if at.Sub(f.last) >= stale {
		f.esc, f.partial = f.esc[:0], f.partial[:0]
	}
	f.last = at
	for _, c := range chunk {
		keys = f.byte(keys, c, at)
	}
	return keys
}

func (f *filter) byte(keys []key, c byte, at time.Time) []key {
	add := func(kind keyKind, bytes string) {
		keys = append(keys, key{kind: kind, bytes: bytes, at: at, pasted: f.paste})
	}
	wasCR := f.cr
	f.cr = c == '\r'
	if len(f.partial) > 0 && c&0xC0 != 0x80 {
		f.partial = f.partial[:0]
		add(keyText, "?") // the character was cut off
	}
	if len(f.esc) > 0 && (c < ' ' || c >= utf8.RuneSelf || len(f.esc) == maxSequence) {
		f.esc = f.esc[:0] // cut off; c is read for itself
	}
	switch {
	case len(f.esc) > 0:
		f.esc = append(f.esc, c)
		if s, done := f.sequence(); done {
			f.esc = f.esc[:0]
			if s != "" {
				add(keyText, s)
			}
		}
	case c == 0x1b:
		f.esc = append(f.esc, c)
	case c == 3:
		f.paste = false // a paste that never ends doesn't lock ctrl-C out
		add(keyInterrupt, "")
	case c == '\n' && wasCR:
	case c == '\r', c == '\n':
		add(keyLine, "")
	case f.paste && c < ' ':
		add(keyText, " ")
	case c == 0x1a:
		add(keySuspend, "")
	case c == 4:
		add(keyEnd, "")
	case c < ' ' || c == 0x7f:
		if editing(c) && !f.paste {
			add(keyText, string(rune(c)))
		}
	case c < utf8.RuneSelf:
		add(keyText, string(rune(c)))
	default:
		f.partial = append(f.partial, c)
		if utf8.FullRune(f.partial) {
			r, n := utf8.DecodeRune(f.partial)
			f.partial = f.partial[:0]
			if r == utf8.RuneError || n < 2 || !unicode.IsPrint(r) {
				r = '?' // seen, and not what it was
			}
			add(keyText, string(r))
		}
	}
	return keys
}

// editing reports the control keys that the editor knows.
func editing(c byte) bool {
	switch c {
	case 1, 2, 5, 6, 8, '\t', 11, 12, 14, 16, 20, 21, 23, 0x7f:
		return true
	}
	return false
}

// sequence looks at the escape sequence so far: whether it is complete, and what
// the editor reads instead ("": nothing). In a paste only its end counts, and text.
func (f *filter) sequence() (as string, done bool) {
	s := string(f.esc[1:])
	last := s[len(s)-1]
	switch {
	case s == "[", s == "O":
		return "", false
	case s[0] == '[' && (last < 0x40 || last > 0x7e):
		return "", false
	case s == "[200~", s == "[201~":
		f.paste = s == "[200~"
		return "", true
	}
	if as := known(s); as != "" && !f.paste {
		return as, true
	}
	switch {
	case alt(s) && last != 0x7f: // Esc, and then a key for itself
		return s, true
	case s[0] == '[' && strings.IndexByte("efghijklopqrsvwz", last) >= 0, s[0] == 'O' && strings.IndexByte("efghiz", last) >= 0:
		return s[len(s)-1:], true // no terminal sends that: it was broken off, and this is a key for itself
	}
	return "", true
}

// alt reports that a sequence is one key behind Esc, as Alt sends it too.
func alt(s string) bool { return s[0] != '[' && s[0] != 'O' }

// known is what the editor reads for a key that it knows; "": it doesn't.
func known(s string) string {
	switch s {
	case "[A", "OA":
		return "\x1b[A"
	case "[B", "OB":
		return "\x1b[B"
	case "[C", "OC":
		return "\x1b[C"
	case "[D", "OD":
		return "\x1b[D"
	case "[H", "OH", "[1~", "[7~":
		return "\x1b[H"
	case "[F", "OF", "[4~", "[8~":
		return "\x1b[F"
	case "[3~":
		return "\x1b[3~"
	case "[1;3C", "[1;5C", "f":
		return "\x1b[1;3C"
	case "[1;3D", "[1;5D", "b":
		return "\x1b[1;3D"
	}
	return ""
}
