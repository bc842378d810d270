package show

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

const (
	maxDepth = 16   // of a result that is shown as a table
	maxRows  = 2000 // lines of it; the rest is counted
	minFour  = 1e-4 // numbers below that aren't shown with four decimals
	large    = 1e7  // nor those beyond that
	nothing  = 1e-9 // numbers below that, in SI units, are 0 to a person
	wide     = 100  // characters; a longer list has a line for each of its members
)

// kind says what a value of a result is.
type kind uint8

const (
	scalar kind = iota
	list
	object
)

// value is a JSON value with its members in the order in which they came.
type value struct {
	kind   kind
	text   string // of a scalar, escaped
	number bool
	x      float64  // of a number
	keys   []string // of an object, escaped
	kids   []value
}

// Table returns a result as lines for a person: names with their values, lists of
// things as tables. Members that omit names, by their place ("joints.parent"), are
// left out, and so are columns with nothing in them. What isn't a JSON object is
// shown as it is.
func Table(l words.Lang, result json.RawMessage, omit ...string) string {
	v, err := parse(result)
	if err != nil || v.kind != object {
		return Text(l, string(result))
	}
	p := printer{omit: omit}
	p.object(v, "", "  ")
	if len(p.lines) > maxRows {
		p.lines = append(p.lines[:maxRows], "  … "+l.MoreLines(len(p.lines)-maxRows))
	}
	return strings.Join(p.lines, "\n")
}

func parse(raw []byte) (value, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return next(d, 0)
}

func next(d *json.Decoder, depth int) (value, error) {
	t, err := d.Token()
	if err != nil {
		return value{}, err
	}
	if depth > maxDepth {
		return value{}, fmt.Errorf("deeper than %d", maxDepth)
	}
	switch x := t.(type) {
	case json.Delim:
		v := value{kind: list}
		if x == '{' {
			v.kind = object
		}
		for d.More() {
			if v.kind == object {
				k, err := d.Token()
				if err != nil {
					return v, err
				}
				v.keys = append(v.keys, gate.Escape(fmt.Sprint(k)))
			}
			kid, err := next(d, depth+1)
			if err != nil {
				return v, err
			}
			v.kids = append(v.kids, kid)
		}
		_, err := d.Token()
		return v, err
	case json.Number:
		f, _ := x.Float64() // beyond what a float holds: infinite
		return value{text: number(x), number: true, x: f}, nil
	case bool:
		return value{text: map[bool]string{true: "yes", false: "no"}[x]}, nil
	case nil:
		return value{}, nil
	}
	return value{text: gate.Escape(fmt.Sprint(t))}, nil
}

// number shortens one to what a person reads: whole numbers as they are, others with
// four decimals or, where that would say nothing, four digits.
func number(n json.Number) string {
	x, err := n.Float64()
	switch {
	case err != nil:
		return gate.Escape(n.String())
	case math.Abs(x) < nothing:
		return "0"
	case x == math.Trunc(x) && math.Abs(x) < large:
		return strconv.FormatFloat(x, 'f', -1, 64)
	case math.Abs(x) < minFour || math.Abs(x) >= large:
		return strconv.FormatFloat(x, 'g', 4, 64)
	}
	return strconv.FormatFloat(x, 'f', 4, 64)
}

type printer struct {
	omit  []string
	lines []string
}

func (p *printer) line(indent, text string) {
	p.lines = append(p.lines, strings.TrimRight(indent+text, " "))
}

func join(path, key string) string { return strings.TrimPrefix(path+"."+key, ".") }

func (p *printer) leaves(path string) bool { return slices.Contains(p.omit, path) }

// object prints an object's members: first what fits on a line, aligned, then the rest.
func (p *printer) object(v value, path, indent string) {
	width := 0
	for i, k := range v.keys {
		if v.kids[i].short() && !p.leaves(join(path, k)) && v.kids[i].inline() != "" {
			width = max(width, utf8.RuneCountInString(k))
		}
	}
	for i, k := range v.keys {
		if text := v.kids[i].inline(); v.kids[i].short() && !p.leaves(join(path, k)) && text != "" {
			p.line(indent, pad(k, width, false)+"  "+text)
		}
	}
	for i := 0; i < len(v.keys); i++ {
		k, kid := v.keys[i], v.kids[i]
		switch at := join(path, k); {
		case kid.short() || p.leaves(at) || len(kid.kids) == 0:
		case kid.flat() && (alike(v, i) > 1 || kid.numbers()):
			p.maps(v, i, path, indent)
			i += alike(v, i) - 1
		case kid.kind == list || kid.rows():
			p.line(indent, k+":")
			p.table(kid, at, indent+"  ")
		default:
			p.line(indent, k+":")
			p.object(kid, at, indent+"  ")
		}
	}
}

// alike returns how many members of an object, from i on, are objects of scalars
// with the same names.
func alike(v value, i int) int {
	n := i
	for n < len(v.kids) && v.kids[n].flat() && slices.Equal(v.kids[n].keys, v.kids[i].keys) {
		n++
	}
	return n - i
}

// maps prints the objects from i on that are alike as one table.
func (p *printer) maps(v value, i int, path, indent string) {
	rows := value{kind: object, keys: v.kids[i].keys}
	for range rows.keys {
		rows.kids = append(rows.kids, value{kind: object})
	}
	for n := i; n < i+alike(v, i); n++ {
		for r := range rows.keys {
			cell := v.kids[n].kids[r]
			if cell.number && math.Abs(cell.x) < large { // measured: what is smaller is noise
				cell.text = strings.Replace(strconv.FormatFloat(cell.x, 'f', 4, 64), "-0.0000", "0.0000", 1)
			}
			rows.kids[r].keys = append(rows.kids[r].keys, v.keys[n])
			rows.kids[r].kids = append(rows.kids[r].kids, cell)
		}
	}
	p.table(rows, path, indent)
}

// table prints a list, or an object of objects with the names as its first column.
func (p *printer) table(v value, path, indent string) {
	if len(v.kids) > 0 && v.kids[0].kind != object {
		for _, k := range v.kids {
			p.line(indent, k.inline())
		}
		return
	}
	var columns []string
	cells := make([]map[string]value, len(v.kids))
	for r, row := range v.kids {
		cells[r] = map[string]value{}
		if v.kind == object {
			row = value{kind: object, keys: append([]string{""}, row.keys...), kids: append([]value{{text: v.keys[r]}}, row.kids...)}
		}
		p.cells(row, path, "", cells[r], &columns)
	}
	columns = slices.DeleteFunc(columns, func(c string) bool {
		return !slices.ContainsFunc(cells, func(row map[string]value) bool { return row[c].text != "" })
	})
	head := make([]string, len(columns))
	widths := make([]int, len(columns))
	for i, c := range columns {
		head[i] = heading(columns, c)
		widths[i] = utf8.RuneCountInString(head[i])
		for _, row := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[c].text))
		}
	}
	numeric := func(c string) bool {
		return !slices.ContainsFunc(cells, func(row map[string]value) bool { return row[c].text != "" && !row[c].number })
	}
	var b strings.Builder
	for i, c := range columns {
		b.WriteString(pad(head[i], widths[i], numeric(c)) + "  ")
	}
	if len(columns) > 1 || columns != nil && head[0] != "" {
		p.line(indent, b.String())
	}
	for _, row := range cells {
		b.Reset()
		for i, c := range columns {
			b.WriteString(pad(row[c].text, widths[i], numeric(c)) + "  ")
		}
		p.line(indent, b.String())
	}
}

// cells flattens a row: a member of a member is a column of its own. A no is left
// blank, so that a yes is seen.
func (p *printer) cells(row value, path, prefix string, into map[string]value, columns *[]string) {
	for i, k := range row.keys {
		at, name := join(path, k), prefix+k
		if p.leaves(at) {
			continue
		}
		cell := row.kids[i]
		if cell.kind == object && len(cell.kids) == 1 && cell.kids[0].kind == object {
			cell = value{text: cell.inline()} // a choice: which, and its members
		}
		if cell.kind == object {
			p.cells(cell, at, name+".", into, columns)
			continue
		}
		if cell.kind == list {
			cell = value{text: cell.inline()}
		}
		if cell.text == "no" {
			cell.text = ""
		}
		into[name] = cell
		if !slices.Contains(*columns, name) {
			*columns = append(*columns, name)
		}
	}
}

// heading is a column's last name, or all of it where another one's is the same.
func heading(columns []string, c string) string {
	last := c[strings.LastIndexByte(c, '.')+1:]
	for _, other := range columns {
		if other != c && other[strings.LastIndexByte(other, '.')+1:] == last {
			return c
		}
	}
	return last
}

// short reports what fits on one line: a scalar, or a list of a few.
func (v value) short() bool {
	return v.kind == scalar || v.kind == list && utf8.RuneCountInString(v.inline()) <= wide &&
		!slices.ContainsFunc(v.kids, func(k value) bool { return k.kind != scalar })
}

// flat reports an object whose members are all scalars.
func (v value) flat() bool {
	return v.kind == object && len(v.kids) > 0 && !slices.ContainsFunc(v.kids, func(k value) bool { return k.kind != scalar })
}

// numbers reports an object of several numbers: something measured by name.
func (v value) numbers() bool {
	return len(v.kids) > 1 && !slices.ContainsFunc(v.kids, func(k value) bool { return !k.number })
}

// rows reports an object whose members are all objects.
func (v value) rows() bool {
	return v.kind == object && !slices.ContainsFunc(v.kids, func(k value) bool { return k.kind != object })
}

// inline is a value on one line; numbers of a list in brackets.
func (v value) inline() string {
	if v.kind == scalar {
		return v.text
	}
	if v.kind == list && len(v.kids) == 0 {
		return "none"
	}
	parts := make([]string, len(v.kids))
	numbers := v.kind == list && len(v.kids) > 0
	for i, k := range v.kids {
		parts[i] = k.inline()
		if i < len(v.keys) {
			parts[i] = v.keys[i] + " " + parts[i]
		}
		numbers = numbers && k.number
	}
	if numbers {
		return "(" + strings.Join(parts, ", ") + ")"
	}
	return strings.Join(parts, ", ")
}

func pad(s string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if right {
		return space + s
	}
	return s + space
}
