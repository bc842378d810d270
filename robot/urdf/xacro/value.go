package xacro

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// value is what an expression gives: none, boolean, integer, real, text, *list,
// *dict, *space, *module or *function. Numbers are 64 bits wide.
type value interface {
	// kind is the value's type as messages call it.
	kind() string
}

type (
	none    struct{}
	boolean bool
	integer int64
	real    float64
	text    string
	list    struct {
		items []value
		tuple bool
	}
	// dict keeps the order in which its keys came.
	dict struct {
		keys, vals []value
		index      map[string]int // by keyOf
	}
	// space is what the names of a file included with ns= are found in.
	space struct {
		name   string
		vars   *scope
		macros *macros
	}
)

func (none) kind() string    { return "None" }
func (boolean) kind() string { return "bool" }
func (integer) kind() string { return "int" }
func (real) kind() string    { return "float" }
func (text) kind() string    { return "str" }
func (l *list) kind() string {
	if l.tuple {
		return "tuple"
	}
	return "list"
}
func (*dict) kind() string  { return "dict" }
func (*space) kind() string { return "namespace" }

// keyOf names a dictionary key so that those which are equal have one name: 1,
// 1.0 and True are one key. It is "" for what can't be a key.
func keyOf(v value) string {
	switch v := v.(type) {
	case text:
		return "s" + string(v)
	case none:
		return "n"
	case boolean, integer, real:
		if i, ok := asInt(v); ok {
			return "i" + strconv.FormatInt(i, 10)
		}
		f, _ := asFloat(v)
		if f == math.Trunc(f) && math.Abs(f) < 1<<63 {
			return "i" + strconv.FormatInt(int64(f), 10)
		}
		return "f" + strconv.FormatFloat(f, 'g', -1, 64)
	}
	return ""
}

func (d *dict) get(k value) (value, bool) {
	if i, ok := d.index[keyOf(k)]; ok {
		return d.vals[i], true
	}
	return nil, false
}

// put adds or replaces an entry; ok is false where k can't be a key.
func (d *dict) put(k, v value) (ok bool) {
	name := keyOf(k)
	if name == "" {
		return false
	}
	if i, known := d.index[name]; known {
		d.vals[i] = v
		return true
	}
	if d.index == nil {
		d.index = map[string]int{}
	}
	d.index[name] = len(d.keys)
	d.keys, d.vals = append(d.keys, k), append(d.vals, v)
	return true
}

// asInt returns an int or a bool as an integer.
func asInt(v value) (int64, bool) {
	switch v := v.(type) {
	case integer:
		return int64(v), true
	case boolean:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// asFloat returns any number as a real.
func asFloat(v value) (float64, bool) {
	if f, ok := v.(real); ok {
		return float64(f), true
	}
	i, ok := asInt(v)
	return float64(i), ok
}

// truth is Python's: empty and zero are false.
func truth(v value) bool {
	switch v := v.(type) {
	case none:
		return false
	case text:
		return v != ""
	case *list:
		return len(v.items) > 0
	case *dict:
		return len(v.keys) > 0
	}
	if f, ok := asFloat(v); ok {
		return f != 0
	}
	return true
}

// literal turns the text of a property or parameter into the number or truth
// value that it spells; of one in single quotes it takes these away and looks no
// further. Texts with an underscore are never numbers.
func literal(v value) value {
	t, ok := v.(text)
	if !ok {
		return v
	}
	s := string(t)
	if len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\'' {
		return text(s[1 : len(s)-1])
	}
	if n, ok := number(s); ok {
		return n
	}
	switch s {
	case "true", "True":
		return boolean(true)
	case "false", "False":
		return boolean(false)
	}
	return v
}

// number reads a decimal integer or a real with space around it. An integer that
// doesn't fit stays a text: as a real it would lose digits unseen.
func number(s string) (value, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s, "_xXpP") {
		return nil, false
	}
	if strings.Trim(s, "0123456789") == "" || (s[0] == '+' || s[0] == '-') && len(s) > 1 && strings.Trim(s[1:], "0123456789") == "" {
		i, err := strconv.ParseInt(s, 10, 64)
		return integer(i), err == nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, false
	}
	return real(f), true
}

// formatReal writes the shortest decimal that reads back the same, as Python does.
func formatReal(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	exp, err := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if err != nil || exp < -4 || exp >= 16 {
		return s
	}
	s = strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// printer writes values within the limits.
type printer struct {
	b strings.Builder
	x *expander
}

var errLong = fmt.Errorf("a value of more than %d bytes", MaxValueBytes)

// str is the text that a value has inside other text.
func (x *expander) str(v value) (string, error) {
	if t, ok := v.(text); ok {
		return string(t), nil
	}
	p := &printer{x: x}
	err := p.repr(v, 0)
	return p.b.String(), err
}

func (p *printer) repr(v value, depth int) error {
	if err := p.x.spend(1); err != nil {
		return err
	}
	if p.b.Len() > MaxValueBytes {
		return errLong
	}
	if depth > maxExprDepth {
		return fmt.Errorf("a value nested more than %d deep", maxExprDepth)
	}
	switch v := v.(type) {
	case none:
		p.b.WriteString("None")
	case boolean:
		if v {
			p.b.WriteString("True")
		} else {
			p.b.WriteString("False")
		}
	case integer:
		p.b.WriteString(strconv.FormatInt(int64(v), 10))
	case real:
		p.b.WriteString(formatReal(float64(v)))
	case text:
		p.quote(string(v))
	case *list:
		return p.items(v, depth)
	case *dict:
		p.b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				p.b.WriteString(", ")
			}
			if err := p.repr(k, depth+1); err != nil {
				return err
			}
			p.b.WriteString(": ")
			if err := p.repr(v.vals[i], depth+1); err != nil {
				return err
			}
		}
		p.b.WriteByte('}')
	default:
		return fmt.Errorf("a %s has no text", v.kind())
	}
	return nil
}

func (p *printer) items(v *list, depth int) error {
	marks := "[]"
	if v.tuple {
		marks = "()"
	}
	p.b.WriteByte(marks[0])
	for i, item := range v.items {
		if i > 0 {
			p.b.WriteString(", ")
		}
		if err := p.repr(item, depth+1); err != nil {
			return err
		}
	}
	if v.tuple && len(v.items) == 1 {
		p.b.WriteByte(',')
	}
	p.b.WriteByte(marks[1])
	return nil
}

func (p *printer) quote(s string) {
	q := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = '"'
	}
	p.b.WriteByte(q)
	for _, c := range s {
		switch c {
		case '\\', rune(q):
			p.b.WriteByte('\\')
			p.b.WriteRune(c)
		case '\n':
			p.b.WriteString(`\n`)
		case '\r':
			p.b.WriteString(`\r`)
		case '\t':
			p.b.WriteString(`\t`)
		default:
			p.b.WriteRune(c)
		}
	}
	p.b.WriteByte(q)
}

// equal compares as Python's == does: numbers by value whatever their type,
// anything else only with its own kind.
func (x *expander) equal(a, b value) (bool, error) {
	if err := x.spend(1); err != nil {
		return false, err
	}
	if i, ok := asInt(a); ok {
		if j, ok := asInt(b); ok {
			return i == j, nil
		}
	}
	if f, ok := asFloat(a); ok {
		g, ok := asFloat(b)
		return ok && f == g, nil
	}
	if a.kind() != b.kind() {
		return false, nil
	}
	switch a := a.(type) {
	case *list:
		other, ok := b.(*list)
		if !ok || len(a.items) != len(other.items) {
			return false, nil
		}
		for i := range a.items {
			if same, err := x.equal(a.items[i], other.items[i]); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	case *dict:
		other, ok := b.(*dict)
		if !ok || len(a.keys) != len(other.keys) {
			return false, nil
		}
		for i, k := range a.keys {
			v, known := other.get(k)
			if !known {
				return false, nil
			}
			if same, err := x.equal(a.vals[i], v); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	}
	return a == b, nil
}

// runes counts the characters of a text as Python does.
func runes(s string) int { return utf8.RuneCountInString(s) }
