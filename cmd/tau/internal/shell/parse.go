package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

// command is one line of the prompt, taken apart: a word and what follows it.
type command struct {
	word string
	rest string
}

func split(line string) command {
	line = strings.TrimSpace(line)
	word, rest, _ := strings.Cut(line, " ")
	return command{word: word, rest: strings.TrimSpace(rest)}
}

// arguments makes the JSON arguments of a call from what follows the tool's name:
// nothing, one JSON object as it is (the gate judges it), or words. A word key=value
// names its argument; a key that isn't one of the tool's arguments goes into the only
// one of them that takes names of its own, so that "move_joints shoulder_pan=0.5" says
// what it seems to say. Words without a key fill the arguments that are due, in their
// order ("jog elbow_flex 0.1"). A value is JSON, numbers with commas between them
// where a list is due, or else a bare string.
func arguments(spec gate.Spec, rest string, names Names) ([]byte, error) {
	if rest == "" {
		return []byte("{}"), nil
	}
	if strings.HasPrefix(rest, "{") {
		return []byte(rest), nil
	}
	words, err := fields(rest)
	if err != nil {
		return nil, err
	}
	b := object{spec: spec, names: names, seen: map[string]bool{}}
	for _, w := range words {
		if err := b.add(w); err != nil {
			return nil, err
		}
	}
	if err := b.place(); err != nil {
		return nil, err
	}
	return b.bytes(), nil
}

// fields cuts at blanks, but not inside JSON strings, arrays and objects.
func fields(s string) ([]string, error) {
	var out []string
	var cur strings.Builder
	depth, quoted, escaped := 0, false, false
	for _, r := range s {
		switch {
		case escaped:
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		case quoted:
		case r == '[' || r == '{':
			depth++
		case r == ']' || r == '}':
			depth--
		case (r == ' ' || r == '\t') && depth == 0:
			if cur.Len() > 0 {
				out = append(out, cur.String())
				cur.Reset()
			}
			continue
		}
		cur.WriteRune(r)
	}
	if quoted {
		return nil, errors.New(`a " is not closed`)
	}
	if depth != 0 {
		return nil, errors.New("a bracket is not closed, or closed twice")
	}
	if cur.Len() > 0 {
		out = append(out, cur.String())
	}
	return out, nil
}

// object collects words in the order in which they came.
type object struct {
	spec   gate.Spec
	names  Names
	top    []member
	inMap  []member
	bare   []string // words without a key
	seen   map[string]bool
	mapped string
}

type member struct {
	key   string
	value []byte
}

func (o *object) add(word string) error {
	key, value, ok := strings.Cut(word, "=")
	if !ok {
		o.bare = append(o.bare, word)
		return nil
	}
	if key == "" {
		return o.keyless(word)
	}
	if o.seen[key] {
		return fmt.Errorf("%q is there twice", key)
	}
	o.seen[key] = true
	if p := property(o.spec, key); p != nil {
		return o.put(p, value)
	}
	m, err := mapProperty(o.spec, key)
	if err != nil {
		return err
	}
	if len(o.names.Joints) > 0 && !slices.Contains(o.names.Joints, key) {
		return unknownName("joint", key, o.names.Joints)
	}
	v, err := valueOf(m.Schema.Elem, value)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	o.mapped = m.Name
	o.inMap = append(o.inMap, member{key, v})
	return nil
}

// put gives an argument its value. A name that the robot has nothing of is refused
// here, where the nearest one is known.
func (o *object) put(p *gate.Property, text string) error {
	known := o.names.of(o.spec, p.Name)
	if name := strings.Trim(text, `"`); len(known) > 0 && !slices.Contains(known, name) {
		return unknownName(p.Name, name, known)
	}
	v, err := valueOf(p.Schema, text)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	o.top = append(o.top, member{p.Name, v})
	return nil
}

func unknownName(what, name string, known []string) error {
	return fmt.Errorf("there is no %s %q%s; there is %s", what, name, didYouMean(words.English, name, known), strings.Join(known, ", "))
}

func (o *object) keyless(word string) error {
	return fmt.Errorf("%q is not key=value; write %s key=value …, or %s {json}", word, o.spec.Name, o.spec.Name)
}

// place gives the words without a key to the arguments that take one: those that are
// due first, a list taking as many as it needs, and then names that may be left out.
func (o *object) place() error {
	if o.spec.Input == nil || len(o.bare) == 0 {
		return o.left()
	}
	for _, due := range []bool{true, false} {
		for i := range o.spec.Input.Properties {
			p := &o.spec.Input.Properties[i]
			if len(o.bare) == 0 || o.seen[p.Name] || p.Schema == nil || p.Required != due || !due && p.Schema.Kind != gate.KindString {
				continue
			}
			n, text := 1, o.bare[0]
			switch p.Schema.Kind {
			case gate.KindNumber, gate.KindString:
			case gate.KindArray:
				if n = p.Schema.MinItems; n == 0 || n != p.Schema.MaxItems || strings.ContainsAny(text, "[,") {
					n = 1
				}
				if len(o.bare) < n {
					return fmt.Errorf("%s takes %d values, and %d are left: %s", p.Name, n, len(o.bare), strings.Join(o.bare, " "))
				}
				text = strings.Join(o.bare[:n], ",")
			default:
				continue
			}
			if err := o.put(p, text); err != nil {
				return err
			}
			o.seen[p.Name] = true
			o.bare = o.bare[n:]
		}
	}
	return o.left()
}

// left refuses words that no argument takes.
func (o *object) left() error {
	if len(o.bare) == 0 {
		return nil
	}
	return o.keyless(o.bare[0])
}

// bytes writes the object. Where the map was given by name as well, the name is
// there twice and the gate refuses it: which of the two was meant isn't known.
func (o *object) bytes() []byte {
	top := o.top
	if len(o.inMap) > 0 {
		top = append(top[:len(top):len(top)], member{o.mapped, write(o.inMap)})
	}
	return write(top)
}

func write(ms []member) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range ms {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quote(m.key))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a string always has a JSON form
		return []byte(`""`)
	}
	return b
}

func property(spec gate.Spec, name string) *gate.Property {
	if spec.Input == nil {
		return nil
	}
	for i := range spec.Input.Properties {
		if spec.Input.Properties[i].Name == name {
			return &spec.Input.Properties[i]
		}
	}
	return nil
}

// mapProperty returns the only argument of the tool that takes names of its own.
func mapProperty(spec gate.Spec, key string) (*gate.Property, error) {
	var found *gate.Property
	var names []string
	if spec.Input != nil {
		for i := range spec.Input.Properties {
			p := &spec.Input.Properties[i]
			names = append(names, p.Name)
			if p.Schema == nil || p.Schema.Kind != gate.KindMap {
				continue
			}
			if found != nil {
				return nil, fmt.Errorf("%s has no argument %q", spec.Name, key)
			}
			found = p
		}
	}
	if found == nil {
		if len(names) == 0 {
			return nil, fmt.Errorf("%s takes no arguments", spec.Name)
		}
		return nil, fmt.Errorf("%s has no argument %q; it has %s", spec.Name, key, strings.Join(names, ", "))
	}
	return found, nil
}

// valueOf returns a value's JSON: as it was written where that is JSON and a string
// isn't wanted, a list of what stands between commas where a list is, else a string.
// What looks like a number in another unit or spelling is refused with the number
// that is meant.
func valueOf(s *gate.Schema, text string) ([]byte, error) {
	kind := gate.SchemaKind(0)
	if s != nil {
		kind = s.Kind
	}
	switch {
	case kind == gate.KindString:
		if json.Valid([]byte(text)) && strings.HasPrefix(text, `"`) {
			return []byte(text), nil
		}
		return quote(text), nil
	case json.Valid([]byte(text)):
		return []byte(text), nil
	case kind == gate.KindArray && strings.Contains(text, ","):
		var list []byte
		for i, part := range strings.Split(text, ",") {
			v, err := valueOf(s.Elem, strings.TrimSpace(part))
			if err != nil {
				return nil, err
			}
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, v...)
		}
		return append(append([]byte{'['}, list...), ']'), nil
	case kind == gate.KindNumber:
		if err := misspelt(text); err != nil {
			return nil, err
		}
	}
	return quote(text), nil
}
