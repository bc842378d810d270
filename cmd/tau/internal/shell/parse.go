package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tau-robot/tau/gate"
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
// nothing, one JSON object as it is (the gate judges it), or words key=value. A
// value is JSON, or else a bare string. A key that isn't one of the tool's
// arguments goes into the only one of them that takes names of its own, so that
// "move_joints shoulder_pan=0.5" says what it seems to say.
func arguments(spec gate.Spec, rest string) ([]byte, error) {
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
	b := object{spec: spec, seen: map[string]bool{}}
	for _, w := range words {
		if err := b.add(w); err != nil {
			return nil, err
		}
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

// object collects key=value words in the order in which they came.
type object struct {
	spec   gate.Spec
	top    []member
	inMap  []member
	seen   map[string]bool
	mapped string
}

type member struct {
	key   string
	value []byte
}

func (o *object) add(word string) error {
	key, value, ok := strings.Cut(word, "=")
	if !ok || key == "" {
		return fmt.Errorf("%q is not key=value; write %s key=value …, or %s {json}", word, o.spec.Name, o.spec.Name)
	}
	if o.seen[key] {
		return fmt.Errorf("%q is there twice", key)
	}
	o.seen[key] = true
	if p := property(o.spec, key); p != nil {
		o.top = append(o.top, member{key, valueOf(p.Schema, value)})
		return nil
	}
	m, err := mapProperty(o.spec, key)
	if err != nil {
		return err
	}
	o.mapped = m.Name
	o.inMap = append(o.inMap, member{key, valueOf(m.Schema.Elem, value)})
	return nil
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

// valueOf returns a value's JSON: as it was written where that is JSON and a
// string isn't wanted, else as a string.
func valueOf(s *gate.Schema, text string) []byte {
	wantsString := s != nil && s.Kind == gate.KindString
	if json.Valid([]byte(text)) && (!wantsString || strings.HasPrefix(text, `"`)) {
		return []byte(text)
	}
	return quote(text)
}
