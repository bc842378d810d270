package xacro

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokNumber
	tokString
	tokName // names and keywords
	tokOp
)

type token struct {
	kind tokenKind
	text string // of names and operators; of a string its content
	num  value
}

func (t token) String() string {
	switch t.kind {
	case tokEnd:
		return "the end"
	case tokNumber, tokName, tokOp:
		return strconv.Quote(t.text)
	}
	return "a string"
}

// operators, the longer ones first.
var operators = [...]string{
	"**", "//", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "<", ">", "(", ")", "[", "]", "{", "}", ",", ":", ".", "=",
}

// keywords of Python can't be names. Those that expressions here don't know are
// refused where they stand.
const keywords = " False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield "

func isKeyword(s string) bool { return strings.Contains(keywords, " "+s+" ") }

// isIdentifier reports whether s can be the name of a property or parameter.
func isIdentifier(s string) bool {
	for i, c := range s {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			return false
		}
	}
	return s != "" && !isKeyword(s)
}

// lex cuts an expression into tokens; the last one is tokEnd.
func lex(s string) ([]token, error) {
	if len(s) > MaxExpression {
		return nil, fmt.Errorf("an expression of %d bytes, more than %d", len(s), MaxExpression)
	}
	var out []token
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		if s == "" {
			return append(out, token{}), nil
		}
		var t token
		var n int
		var err error
		c, width := utf8.DecodeRuneInString(s)
		switch {
		case c >= '0' && c <= '9', c == '.' && len(s) > 1 && s[1] >= '0' && s[1] <= '9':
			t, n, err = lexNumber(s)
		case c == '"' || c == '\'':
			t, n, err = lexString(s)
		case c == '_' || unicode.IsLetter(c):
			n = width
			for n < len(s) {
				c, w := utf8.DecodeRuneInString(s[n:])
				if c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
					break
				}
				n += w
			}
			t = token{kind: tokName, text: s[:n]}
			if n < len(s) && (s[n] == '"' || s[n] == '\'') {
				return nil, fmt.Errorf("strings with a prefix (%s%c) are not supported", clip(t.text), s[n])
			}
		default:
			for _, op := range operators {
				if strings.HasPrefix(s, op) {
					t, n = token{kind: tokOp, text: op}, len(op)
					break
				}
			}
			if n == 0 {
				err = fmt.Errorf("unexpected %q", c)
			}
		}
		if err != nil {
			return nil, err
		}
		out, s = append(out, t), s[n:]
	}
}

func lexNumber(s string) (token, int, error) {
	n := 0
	digits := func() {
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
	}
	digits()
	whole := true
	if n < len(s) && s[n] == '.' {
		whole = false
		n++
		digits()
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		whole = false
		n++
		if n < len(s) && (s[n] == '+' || s[n] == '-') {
			n++
		}
		digits()
	}
	t := token{kind: tokNumber, text: s[:n]}
	if c, w := utf8.DecodeRuneInString(s[n:]); w > 0 && (c == '_' || unicode.IsLetter(c)) {
		return t, n, fmt.Errorf("%q is not a decimal number", clip(s[:n+w]))
	}
	if !whole {
		f, err := strconv.ParseFloat(t.text, 64)
		t.num = real(f)
		if err != nil {
			return t, n, fmt.Errorf("%q is not a number, or out of range", clip(t.text))
		}
		return t, n, nil
	}
	if n > 1 && s[0] == '0' && strings.Trim(t.text, "0") != "" {
		return t, n, fmt.Errorf("%q: an integer with leading zeros", clip(t.text))
	}
	i, err := strconv.ParseInt(t.text, 10, 64)
	t.num = integer(i)
	if err != nil {
		return t, n, fmt.Errorf("%q: an integer beyond 64 bits", clip(t.text))
	}
	return t, n, nil
}

func lexString(s string) (token, int, error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == s[0]:
			return token{kind: tokString, text: b.String()}, i + 1, nil
		case c == '\n':
			return token{}, 0, fmt.Errorf("a string that doesn't end on its line")
		case c == '\\' && i+1 < len(s):
			i++
			at := strings.IndexByte(`\'"nt`, s[i])
			if at < 0 {
				return token{}, 0, fmt.Errorf(`the escape \%c is not supported`, s[i])
			}
			b.WriteByte("\\'\"\n\t"[at])
		default:
			b.WriteByte(c)
		}
	}
	return token{}, 0, fmt.Errorf("a string that doesn't end")
}
