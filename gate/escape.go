package gate

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxMarks  = 4 // combining marks shown on one base; the rest of a pile is escaped
	maxBlanks = 4 // blanks shown in a row; the rest is escaped, so that padding can't lay out a false line
)

// Escape returns s as every channel shows it to a person (G30). What could move
// the cursor, reorder, hide or join text is shown as \u{hex}, in lower case and
// without leading zeros:
//
//   - C0 (newline and tab too), DEL and C1 controls, and all format characters
//     (bidi controls, zero-width joiners, soft hyphen, tags, byte order mark);
//   - line and paragraph separators, and every blank but U+0020;
//   - letters and marks that show nothing (Hangul fillers, variation selectors,
//     the grapheme joiner, the blank Braille pattern);
//   - unassigned and private code points and noncharacters;
//   - a combining mark without a base, and those beyond the fourth on one base;
//   - blanks beyond the fourth in a row;
//   - a byte that isn't valid UTF-8, as the code point U+DC00 plus the byte,
//     which no valid text can hold;
//   - a backslash in front of "u{", as \u{5c}, so that an escape that somebody
//     typed can't be taken for one made here.
//
// Other backslashes stay. Two different strings never look the same: reading
// each \u{…} of the result as its code point (and U+DC80 to U+DCFF as a byte)
// gives s back. The result holds no newline. Safe for concurrent use.
func Escape(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	var e escaper
	for i := 0; i < len(s); {
		i += e.rune(&b, s[i:])
	}
	return b.String()
}

// EscapeJSON returns a JSON text as every channel shows it: as Escape does, and
// the escapes of JSON that stand for a control character or for a code point
// that Escape wouldn't show (\n, \u001b, \u202e) become \u{…} too, so that one
// thing has one look however it was written. \" and \\ stay, but for a typed
// "\u{1b}", which JSON writes as "\\u{1b}": its second backslash is shown as
// \u{5c}. Text that isn't JSON is shown as safely.
func EscapeJSON(raw []byte) string {
	s := string(raw)
	var b strings.Builder
	b.Grow(len(s) + 16)
	var e escaper
	inString := false
	for i := 0; i < len(s); {
		switch {
		case s[i] == '"':
			inString = !inString
			i += e.rune(&b, s[i:])
		case inString && s[i] == '\\' && i+1 < len(s):
			i += e.jsonEscape(&b, s[i:])
		default:
			i += e.rune(&b, s[i:])
		}
	}
	return b.String()
}

// plain reports whether s is printable ASCII that Escape leaves alone.
func plain(s string) bool {
	blanks := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c < ' ' || c > '~' || c == '\\' {
			return false
		}
		if c != ' ' {
			blanks = 0
			continue
		}
		if blanks++; blanks > maxBlanks {
			return false
		}
	}
	return true
}

// escaper carries what the look of the next code point depends on.
type escaper struct {
	base   bool // the last code point shown can carry marks
	marks  int
	blanks int
}

// rune writes the first code point of s and returns its length in bytes.
func (e *escaper) rune(b *strings.Builder, s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && n <= 1 {
		e.escape(b, 0xDC00+rune(s[0]))
		return 1
	}
	if r == '\\' && strings.HasPrefix(s[n:], "u{") {
		e.escape(b, r)
		return n
	}
	e.show(b, r)
	return n
}

// show writes one code point as it is, or escaped.
func (e *escaper) show(b *strings.Builder, r rune) {
	switch {
	case r == ' ':
		if e.blanks >= maxBlanks {
			e.escape(b, r)
			e.blanks = maxBlanks // the run goes on
			return
		}
		e.base, e.blanks = false, e.blanks+1
		b.WriteByte(' ')
	case hidden(r):
		e.escape(b, r)
	case unicode.Is(unicode.M, r):
		if !e.base || e.marks >= maxMarks {
			base, marks := e.base, e.marks
			e.escape(b, r)
			e.base, e.marks = base, marks // the pile goes on
			return
		}
		e.marks, e.blanks = e.marks+1, 0
		b.WriteRune(r)
	default:
		e.base, e.marks, e.blanks = true, 0, 0
		b.WriteRune(r)
	}
}

// escape writes r as \u{hex}. The closing brace carries no marks.
func (e *escaper) escape(b *strings.Builder, r rune) {
	e.base, e.marks, e.blanks = false, 0, 0
	b.WriteString(`\u{`)
	b.WriteString(strconv.FormatInt(int64(r), 16))
	b.WriteByte('}')
}

// jsonEscape writes the JSON escape that s begins with and returns its length.
func (e *escaper) jsonEscape(b *strings.Builder, s string) int {
	switch s[1] {
	case '"', '\\', '/':
		if strings.HasPrefix(s[1:], `\u{`) {
			b.WriteByte('\\')
			e.escape(b, '\\')
			return 2
		}
		e.base, e.marks, e.blanks = true, 0, 0
		b.WriteString(s[:2])
		return 2
	case 'b':
		e.escape(b, '\b')
		return 2
	case 'f':
		e.escape(b, '\f')
		return 2
	case 'n':
		e.escape(b, '\n')
		return 2
	case 'r':
		e.escape(b, '\r')
		return 2
	case 't':
		e.escape(b, '\t')
		return 2
	case 'u':
		if len(s) >= 6 {
			if v, err := strconv.ParseUint(s[2:6], 16, 16); err == nil {
				e.escape(b, rune(v)) // always the escaped look: it was written as an escape
				return 6
			}
		}
	}
	return e.rune(b, s)
}

// hidden reports code points that are never shown as they are.
func hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' || r == 0x7f
	}
	switch {
	case !unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S):
		return true // controls, format, separators, private, surrogates, unassigned
	case unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return true
	}
	// blank Braille, object replacement, null notehead
	return r == 0x2800 || r == 0xFFFC || r == 0x1D159
}
