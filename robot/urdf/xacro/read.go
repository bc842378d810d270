package xacro

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
)

// node is an element or, where name is "", a text of an input file. Nodes are
// not changed once they are read.
type node struct {
	name     string // with its prefix
	text     string
	at       place
	attrs    []attr
	children []*node
}

type attr struct {
	name, value string // the name with its prefix
	at          place
}

func (n *node) attr(name string) (attr, bool) {
	for _, a := range n.attrs {
		if a.name == name {
			return a, true
		}
	}
	return attr{}, false
}

// isXacroSpace reports whether a namespace is one that files declare for xacro;
// several spellings of the wiki's address are about.
func isXacroSpace(uri string) bool {
	return strings.Contains(uri, "ros.org") && strings.Contains(uri, "xacro")
}

// reader builds the tree of one file from raw tokens: encoding/xml's own mapping
// forgets lines, lets attributes repeat and ignores what follows the root.
type reader struct {
	file   string
	data   []byte
	lines  []int // offset of each line's first byte
	stack  []*node
	spaces []bool // for each open element: xacro: may be used inside it
	root   *node
	count  int
}

// read parses a file's XML.
func (x *expander) read(file string, data []byte) (*node, *fault) {
	one := place{file, 1}
	if x.input += len(data); len(data) > MaxFileBytes || x.input > MaxInputBytes {
		return nil, errAt(one, "the file has %d bytes; one may have %d, all together %d", len(data), MaxFileBytes, MaxInputBytes)
	}
	for _, mark := range []string{"\xff\xfe", "\xfe\xff", "<\x00", "\x00<", "\x00\x00"} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return nil, errAt(one, "the file is in UTF-16 or UTF-32; only UTF-8 is read")
		}
	}
	r := &reader{file: file, data: bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), lines: []int{0}}
	for i, c := range r.data {
		if c == '\n' {
			r.lines = append(r.lines, i+1)
		}
	}
	dec := xml.NewDecoder(bytes.NewReader(r.data))
	dec.CharsetReader = func(label string, _ io.Reader) (io.Reader, error) {
		return nil, fmt.Errorf("the file declares the encoding %q; only UTF-8 is read", clip(label))
	}
	for {
		start := int(dec.InputOffset())
		tok, err := dec.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			var se *xml.SyntaxError
			text := err.Error()
			if errors.As(err, &se) {
				text = se.Msg
			}
			return nil, errAt(r.place(int(dec.InputOffset())), "not well-formed XML: %s", text)
		}
		if f := r.token(tok, start, int(dec.InputOffset())); f != nil {
			return nil, f
		}
	}
	if n := len(r.stack); n > 0 {
		return nil, errAt(r.stack[n-1].at, "element <%s> is never closed", r.stack[n-1].name)
	}
	if r.root == nil {
		return nil, errAt(one, "there is no element")
	}
	return r.root, nil
}

func (r *reader) place(offset int) place {
	return place{r.file, sort.SearchInts(r.lines, offset+1)}
}

func (r *reader) token(tok xml.Token, start, end int) *fault {
	at := r.place(start)
	switch t := tok.(type) {
	case xml.Directive:
		return errAt(at, "a DOCTYPE or other <!…> declaration is not supported")
	case xml.ProcInst:
		if t.Target == "xml" && start != 0 {
			return errAt(at, "an XML declaration after the start of the file: one file holds one document")
		}
	case xml.CharData:
		if n := len(r.stack); n > 0 {
			r.stack[n-1].children = append(r.stack[n-1].children, &node{text: string(t), at: at})
		} else if len(bytes.TrimSpace(t)) > 0 {
			return errAt(at, "text outside the root element")
		}
	case xml.StartElement:
		return r.open(t, start, end)
	case xml.EndElement:
		n := len(r.stack)
		if n == 0 {
			return errAt(at, "</%s> closes nothing", rawName(t.Name))
		}
		if top := r.stack[n-1]; top.name != rawName(t.Name) {
			return errAt(at, "</%s> where </%s> of line %d is due", rawName(t.Name), top.name, top.at.line)
		}
		r.stack, r.spaces = r.stack[:n-1], r.spaces[:n-1]
	}
	return nil
}

func (r *reader) open(t xml.StartElement, start, end int) *fault {
	e := &node{name: rawName(t.Name), at: r.place(start)}
	n := len(r.stack)
	if r.count++; r.count > MaxElements {
		return errAt(e.at, "more than %d elements", MaxElements)
	}
	if n >= MaxDepth {
		return errAt(e.at, "elements nested more than %d deep", MaxDepth)
	}
	if r.root != nil && n == 0 {
		return errAt(e.at, "element <%s> after the end of the document", e.name)
	}
	declared := n > 0 && r.spaces[n-1]
	at := r.attrPlaces(start, end, len(t.Attr))
	for i, a := range t.Attr {
		v := attr{name: rawName(a.Name), value: a.Value, at: at[i]}
		if _, twice := e.attr(v.name); twice {
			return errAt(v.at, "element <%s>: attribute %s is given twice", e.name, v.name)
		}
		if v.name == "xmlns:xacro" {
			if declared = isXacroSpace(v.value); !declared {
				return errAt(v.at, "the prefix xacro stands for %q, which isn't the xacro namespace", clip(v.value))
			}
			continue
		}
		if (v.name == "xmlns" || strings.HasPrefix(v.name, "xmlns:")) && isXacroSpace(v.value) {
			return errAt(v.at, "the xacro namespace must have the prefix xacro, not be declared by %s", v.name)
		}
		e.attrs = append(e.attrs, v)
	}
	if strings.HasPrefix(e.name, "xacro:") && !declared {
		return errAt(e.at, "element <%s>: the prefix xacro isn't declared (xmlns:xacro=…)", e.name)
	}
	if n > 0 {
		r.stack[n-1].children = append(r.stack[n-1].children, e)
	} else {
		r.root = e
	}
	r.stack, r.spaces = append(r.stack, e), append(r.spaces, declared)
	return nil
}

// attrPlaces finds the line of each of the n attributes of the start tag in
// data[start:end], which the decoder has found well-formed.
func (r *reader) attrPlaces(start, end, n int) []place {
	out := make([]place, 0, n)
	pos := start
	for pos < end && !isSpace(r.data[pos]) {
		pos++
	}
	for len(out) < n {
		for pos < end && isSpace(r.data[pos]) {
			pos++
		}
		out = append(out, r.place(min(pos, end)))
		for pos < end && r.data[pos] != '"' && r.data[pos] != '\'' {
			pos++
		}
		if pos < end {
			if q := bytes.IndexByte(r.data[pos+1:end], r.data[pos]); q >= 0 {
				pos += q + 2
			} else {
				pos = end
			}
		}
	}
	return out
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func rawName(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}
