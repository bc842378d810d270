package xacro

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// outNode is an element or, where name is "", a text of the expansion. A block
// that is inserted twice is in the tree twice; nothing below the element being
// filled is changed any more.
type outNode struct {
	name     string
	text     string
	at       place
	via      *callSite
	attrs    []attr
	children []*outNode
	holder   bool // collects children that belong to no element yet
}

// set gives an attribute its value, the last one given.
func (n *outNode) set(a attr) {
	for i := range n.attrs {
		if n.attrs[i].name == a.name {
			n.attrs[i] = a
			return
		}
	}
	n.attrs = append(n.attrs, a)
}

// writer writes the expansion and notes what each line came from.
type writer struct {
	out   bytes.Buffer
	lines []origin
	count int
}

func (w *writer) document(root *outNode) *fault {
	w.out.WriteString(`<?xml version="1.0" encoding="UTF-8"?>`)
	w.lines = append(w.lines, origin{at: place{root.at.file, 1}})
	if f := w.element(root, 0); f != nil {
		return f
	}
	w.out.WriteByte('\n')
	return nil
}

// line begins a line that comes from o.
func (w *writer) line(o origin, indent int) {
	w.out.WriteByte('\n')
	w.lines = append(w.lines, o)
	for range indent {
		w.out.WriteString("  ")
	}
}

func (w *writer) element(n *outNode, depth int) *fault {
	if w.count++; w.count > MaxElements {
		return errAt(n.at, "the expansion has more than %d elements", MaxElements)
	}
	if depth >= MaxDepth {
		return errAt(n.at, "the expansion nests elements more than %d deep", MaxDepth)
	}
	if w.out.Len() > MaxOutputBytes {
		return errAt(n.at, "the expansion has more than %d bytes", MaxOutputBytes)
	}
	now := n.at
	w.line(origin{now, n.via}, depth)
	w.out.WriteByte('<')
	w.out.WriteString(n.name)
	for _, a := range n.attrs {
		if a.at != now {
			now = a.at
			w.line(origin{now, n.via}, depth+2)
		} else {
			w.out.WriteByte(' ')
		}
		w.out.WriteString(a.name)
		w.out.WriteString(`="`)
		if f := w.escaped(a.value, a.at, true); f != nil {
			return f
		}
		w.out.WriteByte('"')
	}
	if w.out.Len() > MaxOutputBytes {
		return errAt(n.at, "the expansion has more than %d bytes", MaxOutputBytes)
	}
	return w.content(n, depth)
}

// content writes what is inside an element, and closes it. Blank text only
// laid the source out and is left away.
func (w *writer) content(n *outNode, depth int) *fault {
	var kids []*outNode
	for _, c := range n.children {
		if c.name != "" || strings.TrimSpace(c.text) != "" {
			kids = append(kids, c)
		}
	}
	if len(kids) == 0 {
		w.out.WriteString("/>")
		return nil
	}
	w.out.WriteByte('>')
	inline := len(kids) == 1 && kids[0].name == ""
	for _, c := range kids {
		if c.name != "" {
			if f := w.element(c, depth+1); f != nil {
				return f
			}
			continue
		}
		if !inline {
			w.line(origin{c.at, c.via}, depth+1)
		}
		if f := w.textLines(c, inline); f != nil {
			return f
		}
	}
	if !inline {
		w.line(origin{n.at, n.via}, depth)
	}
	w.out.WriteString("</" + n.name + ">")
	return nil
}

// textLines writes a text from its first visible character to its last. One that
// began on a new line does so again, so that the line has the right origin.
func (w *writer) textLines(c *outNode, inline bool) *fault {
	text := strings.TrimLeft(c.text, " \t\r\n")
	at := c.at
	if n := strings.Count(c.text[:len(c.text)-len(text)], "\n"); n > 0 {
		at.line += n
		if inline {
			w.line(origin{at, c.via}, 0)
		} else {
			w.lines[len(w.lines)-1].at = at
		}
	}
	for i, s := range strings.Split(strings.TrimRight(text, " \t\r\n"), "\n") {
		if i > 0 {
			at.line++
			w.line(origin{at, c.via}, 0)
		}
		if f := w.escaped(s, at, false); f != nil {
			return f
		}
		if w.out.Len() > MaxOutputBytes {
			return errAt(at, "the expansion has more than %d bytes", MaxOutputBytes)
		}
	}
	return nil
}

// escaped writes text for XML. What XML can't hold is refused: a character that
// was silently replaced would change a name.
func (w *writer) escaped(s string, at place, quoted bool) *fault {
	for i, c := range s {
		switch {
		case c == '&':
			w.out.WriteString("&amp;")
		case c == '<':
			w.out.WriteString("&lt;")
		case c == '>':
			w.out.WriteString("&gt;")
		case c == '"' && quoted:
			w.out.WriteString("&quot;")
		case c == '\n' && quoted:
			w.out.WriteString("&#10;")
		case c == '\t' && quoted:
			w.out.WriteString("&#9;")
		case c == '\r':
			w.out.WriteString("&#13;")
		case c < ' ' && c != '\t' && c != '\n', c == 0xFFFE, c == 0xFFFF, c == utf8.RuneError && !strings.HasPrefix(s[i:], "\xef\xbf\xbd"):
			return errAt(at, "the value %q holds a character that XML can't hold", clip(s))
		default:
			w.out.WriteRune(c)
		}
	}
	return nil
}
