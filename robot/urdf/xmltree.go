package urdf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/tau-robot/tau/robot"
)

// element is an XML element with what the loaders need of it. The tree is built
// by hand from raw tokens because encoding/xml's own mapping takes an element of
// any namespace for one of ours, ignores what follows the root, lets attributes
// repeat and forgets the lines.
type element struct {
	name string
	// vendor is true where the element isn't of the root's own vocabulary: it has
	// a prefix, or a default namespace other than the root's. Its children are
	// not kept.
	vendor   bool
	prefix   string
	line     int
	attrs    []attribute
	children []*element
}

type attribute struct {
	prefix, name, value string
	line                int
}

// attr returns the unprefixed attribute of that name. Prefixed ones belong to
// vendors and are never taken for ours.
func (e *element) attr(name string) (attribute, bool) {
	for _, a := range e.attrs {
		if a.prefix == "" && a.name == name {
			return a, true
		}
	}
	return attribute{}, false
}

// all returns the children of that name, in their order.
func (e *element) all(name string) []*element {
	var out []*element
	for _, c := range e.children {
		if !c.vendor && c.name == name {
			out = append(out, c)
		}
	}
	return out
}

// isXacroSpace reports whether a namespace is one that files declare for xacro's
// elements; several spellings of the wiki's address are about.
func isXacroSpace(uri string) bool {
	return strings.Contains(uri, "ros.org") && strings.Contains(uri, "xacro")
}

// treeBuilder turns raw tokens into elements.
type treeBuilder struct {
	file  string
	data  []byte
	lines []int // offsets of the first byte of each line
	stack []*scope
	root  *element
	// rootSpace is the default namespace of the root element: unprefixed
	// elements in any other one are a vendor's.
	rootSpace string
	count     int
	warn      func(line int, where, text string)
}

// scope is an open element and the namespaces that it declares.
type scope struct {
	el       *element
	raw      xml.Name
	space    string            // default namespace in force
	prefixes map[string]string // declared here, nil for none
	skip     bool              // inside a vendor element: nothing is kept
}

// parseXML reads exactly one document whose root element is called root.
func parseXML(file string, data []byte, root string, warn func(line int, where, text string)) (*element, error) {
	if len(data) > MaxURDFBytes {
		return nil, errAt(file, 1, "the file has %d bytes, more than the %d that are read", len(data), MaxURDFBytes)
	}
	for _, bom := range []struct{ mark, name string }{
		{"\x00\x00\xfe\xff", "UTF-32"}, {"\xff\xfe\x00\x00", "UTF-32"}, {"\xff\xfe", "UTF-16"}, {"\xfe\xff", "UTF-16"},
		{"<\x00", "UTF-16"}, {"\x00<", "UTF-16"},
	} {
		if bytes.HasPrefix(data, []byte(bom.mark)) {
			return nil, errAt(file, 1, "the file is in %s; only UTF-8 is read", bom.name)
		}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	b := &treeBuilder{file: file, data: data, lines: lineStarts(data), warn: warn}
	dec := xml.NewDecoder(bytes.NewReader(data))
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
			return nil, b.syntax(int(dec.InputOffset()), err)
		}
		if err := b.token(tok, start, int(dec.InputOffset())); err != nil {
			return nil, err
		}
	}
	if n := len(b.stack); n > 0 {
		e := b.stack[n-1]
		return nil, errAt(file, e.el.line, "element <%s> is never closed", rawName(e.raw))
	}
	if b.root == nil {
		return nil, errAt(file, 1, "there is no <%s> element", root)
	}
	if b.root.name != root || b.root.prefix != "" {
		return nil, errAt(file, b.root.line, "the root element is <%s>, not <%s>", b.root.name, root)
	}
	return b.root, nil
}

// syntax says where the decoder stopped. The decoder's own message holds a line
// too, which is dropped in favour of ours.
func (b *treeBuilder) syntax(offset int, err error) error {
	var se *xml.SyntaxError
	text := err.Error()
	if errors.As(err, &se) {
		text = se.Msg
	}
	return errAt(b.file, b.lineOf(offset), "not well-formed XML: %s", text)
}

func (b *treeBuilder) token(tok xml.Token, start, end int) error {
	line := b.lineOf(start)
	switch t := tok.(type) {
	case xml.Directive:
		return errAt(b.file, line, "a DOCTYPE or other <!…> declaration is not supported")
	case xml.ProcInst:
		if t.Target == "xml" && start != 0 {
			return errAt(b.file, line, "an XML declaration after the start of the file: one file holds one document")
		}
	case xml.CharData:
		if len(b.stack) == 0 && len(bytes.TrimSpace(t)) > 0 {
			return errAt(b.file, line, "text outside the root element")
		}
	case xml.StartElement:
		return b.open(t, start, end)
	case xml.EndElement:
		return b.close(t, line)
	}
	return nil
}

func (b *treeBuilder) open(t xml.StartElement, start, end int) error {
	line := b.lineOf(start)
	if b.count++; b.count > MaxElements {
		return errAt(b.file, line, "more than %d elements", MaxElements)
	}
	if len(b.stack) >= MaxDepth {
		return errAt(b.file, line, "elements nested more than %d deep", MaxDepth)
	}
	if b.root != nil && len(b.stack) == 0 {
		return errAt(b.file, line, "element <%s> after the end of the document", rawName(t.Name))
	}
	el := &element{name: t.Name.Local, prefix: t.Name.Space, line: line}
	sc := &scope{el: el, raw: t.Name}
	if n := len(b.stack); n > 0 {
		sc.space, sc.skip = b.stack[n-1].space, b.stack[n-1].skip || b.stack[n-1].el.vendor
	}
	lines := b.attrLines(start, end, len(t.Attr))
	seen := make(map[xml.Name]bool, len(t.Attr))
	for i, a := range t.Attr {
		if seen[a.Name] {
			return errAt(b.file, lines[i], "element <%s>: attribute %s is given twice", rawName(t.Name), rawName(a.Name))
		}
		seen[a.Name] = true
		switch {
		case a.Name.Space == "" && a.Name.Local == "xmlns":
			sc.space = a.Value
		case a.Name.Space == "xmlns":
			if sc.prefixes == nil {
				sc.prefixes = map[string]string{}
			}
			sc.prefixes[a.Name.Local] = a.Value
		default:
			if a.Name.Space == "" && (strings.Contains(a.Value, "${") || strings.Contains(a.Value, "$(")) {
				return b.xacro(lines[i], fmt.Sprintf("expression in <%s> attribute %s", rawName(t.Name), a.Name.Local))
			}
			el.attrs = append(el.attrs, attribute{a.Name.Space, a.Name.Local, a.Value, lines[i]})
		}
	}
	if b.root == nil {
		b.root, b.rootSpace = el, sc.space
	}
	b.stack = append(b.stack, sc)
	return b.place(sc, line)
}

// place decides whose element it is and hangs it into the tree.
func (b *treeBuilder) place(sc *scope, line int) error {
	el := sc.el
	if el.prefix != "" {
		uri, declared := b.resolve(el.prefix)
		// The prefix decides only where nothing was declared for it: a file cut
		// out of a xacro document must not pass for a plain one.
		if isXacroSpace(uri) || !declared && el.prefix == "xacro" {
			return b.xacro(line, fmt.Sprintf("element <%s>", rawName(sc.raw)))
		}
		if !declared {
			b.warn(line, "<"+rawName(sc.raw)+">", "the prefix isn't declared; the element is ignored")
		}
		el.vendor = true
	} else {
		if isXacroSpace(sc.space) {
			return b.xacro(line, fmt.Sprintf("element <%s>", rawName(sc.raw)))
		}
		el.vendor = sc.space != b.rootSpace
	}
	if n := len(b.stack); n > 1 && !sc.skip {
		p := b.stack[n-2].el
		p.children = append(p.children, el)
	}
	return nil
}

func (b *treeBuilder) xacro(line int, what string) error {
	return robot.Errf(robot.CodeNotSupported, at(b.file, line), "unexpanded xacro %s; expand the file first, or name it .xacro", what)
}

func (b *treeBuilder) close(t xml.EndElement, line int) error {
	n := len(b.stack)
	if n == 0 {
		return errAt(b.file, line, "</%s> closes nothing", rawName(t.Name))
	}
	if top := b.stack[n-1]; top.raw != t.Name {
		return errAt(b.file, line, "</%s> where </%s> of line %d is due", rawName(t.Name), rawName(top.raw), top.el.line)
	}
	b.stack = b.stack[:n-1]
	return nil
}

// resolve returns the namespace that a prefix stands for.
func (b *treeBuilder) resolve(prefix string) (string, bool) {
	if prefix == "xml" {
		return "http://www.w3.org/XML/1998/namespace", true
	}
	for i := len(b.stack) - 1; i >= 0; i-- {
		if uri, ok := b.stack[i].prefixes[prefix]; ok {
			return uri, uri != ""
		}
	}
	return "", false
}

// attrLines returns the line of each of the n attributes of the start tag in
// data[start:end]. The decoder has found the tag well-formed, so that quotes are
// balanced and no '<' or '>' confuses the scan.
func (b *treeBuilder) attrLines(start, end, n int) []int {
	out := make([]int, n)
	tag := b.data[start:end]
	pos := bytes.IndexAny(tag, " \t\r\n")
	for i := range out {
		out[i] = b.lineOf(start)
		if pos < 0 {
			continue
		}
		for pos < len(tag) && strings.IndexByte(" \t\r\n", tag[pos]) >= 0 {
			pos++
		}
		out[i] = b.lineOf(start + pos)
		q := bytes.IndexAny(tag[pos:], `"'`)
		if q < 0 {
			pos = -1
			continue
		}
		end := bytes.IndexByte(tag[pos+q+1:], tag[pos+q])
		if end < 0 {
			pos = -1
			continue
		}
		pos += q + 1 + end + 1
	}
	return out
}

func lineStarts(data []byte) []int {
	out := []int{0}
	for i, c := range data {
		if c == '\n' {
			out = append(out, i+1)
		}
	}
	return out
}

// lineOf returns the number of the line, from 1, that holds the byte at offset.
func (b *treeBuilder) lineOf(offset int) int {
	return sort.SearchInts(b.lines, offset+1)
}

func rawName(n xml.Name) string {
	if n.Space != "" {
		return n.Space + ":" + n.Local
	}
	return n.Local
}

func at(file string, line int) string { return fmt.Sprintf("%s:%d", file, line) }

func errAt(file string, line int, format string, args ...any) error {
	return robot.Errf(robot.CodeInvalidArgument, at(file, line), format, args...)
}
