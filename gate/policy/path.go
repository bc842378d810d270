package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tau-robot/tau/gate"
)

// anyPart stands for any member of an object and any element of an array.
const anyPart = "*"

// part is one step of a path into JSON.
type part struct {
	name string
	any  bool
}

// maxParts bounds a path.
const maxParts = 16

// parsePath reads a dotted path. A part in double quotes is taken as it is, so that a
// name may contain a dot.
func parsePath(s string) ([]part, error) {
	var out []part
	for rest := s; ; {
		var p part
		if strings.HasPrefix(rest, `"`) {
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				return nil, errors.New("a quoted part doesn't end")
			}
			p.name, rest = rest[1:1+end], rest[end+2:]
			if rest != "" && rest[0] != '.' {
				return nil, errors.New("want a dot behind a quoted part")
			}
		} else {
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			p.name, rest = rest[:end], rest[end:]
			p.any = p.name == anyPart
		}
		if p.name == "" {
			return nil, errors.New("want a dotted path, such as positions.elbow or waypoints.*.position.2")
		}
		if out = append(out, p); len(out) > maxParts {
			return nil, fmt.Errorf("want at most %d parts", maxParts)
		}
		if rest == "" {
			return out, nil
		}
		rest = rest[1:]
	}
}

func pathText(path []part) string {
	names := make([]string, len(path))
	for i, p := range path {
		names[i] = p.name
	}
	return strings.Join(names, ".")
}

// place is where a path leads in a schema.
type place struct {
	schema   *gate.Schema
	required bool // of an object's property: it is always there
	member   bool // a member of a map, an element of an array: it may be absent at will
	loose    bool // the schema takes anything here
}

// resolve follows a path through a schema, and returns each place on it. An error says
// what there is instead.
func resolve(s *gate.Schema, path []part) ([]place, error) {
	var out []place
	for i, p := range path {
		at := pathText(path[:i])
		if at == "" {
			at = "the top"
		}
		if s == nil {
			return nil, fmt.Errorf("nothing is known of %s", at)
		}
		next := place{}
		switch s.Kind {
		case gate.KindObject:
			if p.any {
				return nil, fmt.Errorf("%s is an object of named fields: want one of %s", at, fields(s))
			}
			for _, f := range s.Properties {
				if f.Name == p.name {
					next = place{schema: f.Schema, required: f.Required}
				}
			}
			if next.schema == nil {
				return nil, fmt.Errorf("there is no %q in %s: want one of %s", p.name, at, fields(s))
			}
		case gate.KindMap:
			if !p.any && len(s.Enum) > 0 && !has(s.Enum, p.name) {
				return nil, fmt.Errorf("there is no %q in %s: want one of %s, or *", p.name, at, strings.Join(s.Enum, ", "))
			}
			next = place{schema: s.Elem, member: true}
		case gate.KindArray:
			n, err := strconv.Atoi(p.name)
			if !p.any && (err != nil || n < 0 || strconv.Itoa(n) != p.name || s.MaxItems > 0 && n >= s.MaxItems) {
				return nil, fmt.Errorf("%s is a list: want an index from 0, or *", at)
			}
			next = place{schema: s.Elem, member: true}
		case gate.KindAny:
			next = place{schema: s, member: true, loose: true}
		default:
			return nil, fmt.Errorf("%s has no parts", at)
		}
		out = append(out, next)
		s = next.schema
	}
	return out, nil
}

func fields(s *gate.Schema) string {
	if len(s.Properties) == 0 {
		return "none"
	}
	names := make([]string, len(s.Properties))
	for i, p := range s.Properties {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

func has(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}
