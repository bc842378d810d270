package xacro

import (
	"errors"
	"fmt"
	"strings"
)

func (n call) eval(e *env) (value, error) {
	if n.names != nil {
		return n.makeDict(e)
	}
	var on value
	method, isMember := n.fn.(member)
	if isMember {
		v, err := e.eval(method.a)
		if err != nil {
			return nil, err
		}
		on = v
	}
	switch on.(type) {
	case text, *list, *dict:
		args, err := e.all(n.args)
		if err != nil {
			return nil, err
		}
		return e.method(on, method.name, args)
	}
	fn, err := e.eval(n.fn)
	if err != nil {
		return nil, err
	}
	f, ok := fn.(*function)
	if !ok {
		return nil, fmt.Errorf("%s is a %s and can't be called", clip(n.source), fn.kind())
	}
	if f.name == "dict" && len(n.args) == 0 {
		return &dict{}, nil
	}
	args, err := e.all(n.args)
	if err != nil {
		return nil, err
	}
	v, err := f.run(e, args)
	return v, err
}

// makeDict is dict(a=1, b=2), the one function that takes named arguments.
func (n call) makeDict(e *env) (value, error) {
	fn, err := e.eval(n.fn)
	if err != nil {
		return nil, err
	}
	if f, ok := fn.(*function); !ok || f.name != "dict" || len(n.names) != len(n.args) {
		return nil, fmt.Errorf("%s takes no named arguments here", clip(n.source))
	}
	d := &dict{}
	for i, name := range n.names {
		if _, twice := d.get(text(name)); twice {
			return nil, fmt.Errorf("dict: %s is given twice", clip(name))
		}
		v, err := e.eval(n.args[i])
		if err != nil {
			return nil, err
		}
		d.put(text(name), v)
	}
	return d, nil
}

// method calls a method of a text, list or dict.
func (e *env) method(on value, name string, args []value) (value, error) {
	switch v := on.(type) {
	case *dict:
		switch {
		case name == "keys" && len(args) == 0:
			return &list{items: v.keys}, nil
		case name == "values" && len(args) == 0:
			return &list{items: v.vals}, nil
		case name == "items" && len(args) == 0:
			out := &list{}
			for i := range v.keys {
				out.items = append(out.items, &list{[]value{v.keys[i], v.vals[i]}, true})
			}
			return out, e.x.spend(len(v.keys))
		case name == "get" && (len(args) == 1 || len(args) == 2):
			if found, ok := v.get(args[0]); ok {
				return found, nil
			}
			return append(args, none{})[1], nil
		}
	case text:
		return e.textMethod(string(v), name, args)
	}
	return nil, fmt.Errorf("the method %s of a %s, with %d arguments, is not supported", clip(name), on.kind(), len(args))
}

func (e *env) textMethod(s, name string, args []value) (value, error) {
	if err := e.x.spend(1 + len(s)/16); err != nil {
		return nil, err
	}
	if name == "join" && len(args) == 1 {
		return e.join(s, args[0])
	}
	in := make([]string, len(args))
	for i, a := range args {
		t, ok := a.(text)
		if !ok {
			return nil, fmt.Errorf("%s of a %s; a str is due", clip(name), a.kind())
		}
		in[i] = string(t)
	}
	const space = " \t\r\n\v\f"
	switch len(in) {
	case 0:
		switch name {
		case "upper":
			return text(strings.ToUpper(s)), nil
		case "lower":
			return text(strings.ToLower(s)), nil
		case "strip":
			return text(strings.Trim(s, space)), nil
		case "lstrip":
			return text(strings.TrimLeft(s, space)), nil
		case "rstrip":
			return text(strings.TrimRight(s, space)), nil
		case "split":
			return e.texted(strings.Fields(s))
		}
	case 1:
		switch name {
		case "startswith":
			return boolean(strings.HasPrefix(s, in[0])), nil
		case "endswith":
			return boolean(strings.HasSuffix(s, in[0])), nil
		case "strip":
			return text(strings.Trim(s, in[0])), nil
		case "lstrip":
			return text(strings.TrimLeft(s, in[0])), nil
		case "rstrip":
			return text(strings.TrimRight(s, in[0])), nil
		case "find":
			at := strings.Index(s, in[0])
			if at > 0 {
				at = runes(s[:at])
			}
			return integer(at), nil
		case "split":
			if in[0] == "" {
				return nil, errors.New("split at nothing")
			}
			return e.texted(strings.Split(s, in[0]))
		}
	case 2:
		if name == "replace" {
			n := strings.Count(s, in[0])
			if err := e.x.size(int64(len(s)), 1); err != nil {
				return nil, err
			}
			if err := e.x.size(int64(len(in[1])), int64(n)); err != nil {
				return nil, err
			}
			return text(strings.ReplaceAll(s, in[0], in[1])), nil
		}
	}
	return nil, fmt.Errorf("the method %s of a str, with %d arguments, is not supported", clip(name), len(args))
}

func (e *env) texted(parts []string) (value, error) {
	out := &list{}
	for _, p := range parts {
		out.items = append(out.items, text(p))
	}
	return out, e.x.spend(len(parts))
}

func (e *env) join(sep string, v value) (value, error) {
	l, ok := v.(*list)
	if !ok {
		return nil, fmt.Errorf("join of a %s; a list is due", v.kind())
	}
	parts := make([]string, len(l.items))
	size := int64(len(sep)) * int64(len(parts))
	for i, item := range l.items {
		t, ok := item.(text)
		if !ok {
			return nil, fmt.Errorf("join of a list that holds a %s; only str are due", item.kind())
		}
		parts[i] = string(t)
		size += int64(len(t))
	}
	if err := e.x.size(size, 1); err != nil {
		return nil, err
	}
	return text(strings.Join(parts, sep)), nil
}
