package policy

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// node is a JSON value that can be looked through and changed.
type node struct {
	kind  jsontext.Kind  // '{', '[', '"', '0', 't', 'f' or 'n'
	text  string         // of a string
	raw   jsontext.Value // of a number
	names []string       // of an object's members, as kids
	kids  []*node
}

func parseNode(b []byte) (*node, error) {
	return readNode(jsontext.NewDecoder(bytes.NewBuffer(bytes.Clone(b))))
}

func readNode(d *jsontext.Decoder) (*node, error) {
	n := &node{kind: d.PeekKind()}
	switch n.kind {
	case '{', '[':
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		for k := d.PeekKind(); k != '}' && k != ']'; k = d.PeekKind() {
			if n.kind == '{' {
				name, err := d.ReadToken()
				if err != nil {
					return nil, err
				}
				n.names = append(n.names, name.String())
			}
			kid, err := readNode(d)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, kid)
		}
		_, err := d.ReadToken()
		return n, err
	case '"':
		t, err := d.ReadToken()
		n.text = t.String()
		return n, err
	}
	v, err := d.ReadValue()
	n.raw = v.Clone()
	return n, err
}

// append writes the value behind b.
func (n *node) append(b []byte) ([]byte, error) {
	var err error
	switch n.kind {
	case '{', '[':
		b = append(b, byte(n.kind))
		for i, kid := range n.kids {
			if i > 0 {
				b = append(b, ',')
			}
			if n.kind == '{' {
				if b, err = jsontext.AppendQuote(b, n.names[i]); err != nil {
					return nil, err
				}
				b = append(b, ':')
			}
			if b, err = kid.append(b); err != nil {
				return nil, err
			}
		}
		return append(b, byte(n.kind)+2), nil // } is { + 2, and ] is [ + 2
	case '"':
		return jsontext.AppendQuote(b, n.text)
	}
	return append(b, n.raw...), nil
}

// number is the value as a float64; false: it isn't a number.
func (n *node) number() (float64, bool) {
	if n.kind != '0' {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(n.raw), 64)
	return v, err == nil
}

// find calls each with the values that a path leads to, and absent with the place in
// the path at which a member isn't there.
func (n *node) find(path []part, each func(at []string, v *node), absent func(depth int)) {
	n.walk(path, nil, each, absent)
}

func (n *node) walk(path []part, at []string, each func([]string, *node), absent func(int)) {
	if len(path) == len(at) {
		each(at, n)
		return
	}
	p, found := path[len(at)], false
	for i, kid := range n.kids {
		name := strconv.Itoa(i)
		if n.kind == '{' {
			name = n.names[i]
		}
		if p.any || name == p.name {
			found = true
			kid.walk(path, append(at[:len(at):len(at)], name), each, absent)
		}
	}
	if !found {
		absent(len(at))
	}
}

// texts calls change on every string in the value.
func (n *node) texts(change func(string) string) {
	if n.kind == '"' {
		n.text = change(n.text)
	}
	for _, kid := range n.kids {
		kid.texts(change)
	}
}
