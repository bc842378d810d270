package xacro

import (
	"fmt"
	"math"
	"strings"
)

// env is where an expression is evaluated.
type env struct {
	x    *expander
	at   place  // of the expression
	vars *scope // nil inside YAML and $(eval …)
	args bool   // inside $(eval …): names are arguments
}

// maxNesting bounds the evaluator's recursion across expressions that need each
// other through properties.
const maxNesting = 10000

// eval evaluates a part of an expression and counts it.
func (e *env) eval(n expr) (value, error) {
	if err := e.x.spend(1); err != nil {
		return nil, err
	}
	if e.x.nesting++; e.x.nesting > maxNesting {
		return nil, fmt.Errorf("expressions nested more than %d deep", maxNesting)
	}
	v, err := n.eval(e)
	e.x.nesting--
	return v, err
}

func (n constant) eval(*env) (value, error) { return n.v, nil }

func (n nameRef) eval(e *env) (value, error) {
	if e.vars != nil {
		if v, known, err := e.x.lookup(e.vars, n.name, e.at); known {
			return v, err
		}
	}
	if e.args {
		if v, known := e.x.args[n.name]; known {
			e.x.declared[n.name] = true
			return literal(text(v)), nil
		}
	}
	if v, known := global(n.name); known {
		return v, nil
	}
	return nil, fmt.Errorf("%q is not defined", clip(n.name))
}

func (n unary) eval(e *env) (value, error) {
	v, err := e.eval(n.a)
	if err != nil {
		return nil, err
	}
	if n.op == "not" {
		return boolean(!truth(v)), nil
	}
	if i, ok := asInt(v); ok {
		switch {
		case n.op == "+":
			return integer(i), nil
		case i == math.MinInt64:
			return nil, errIntRange
		}
		return integer(-i), nil
	}
	f, ok := v.(real)
	if !ok {
		return nil, fmt.Errorf("unary %s of a %s", n.op, v.kind())
	}
	if n.op == "-" {
		f = -f
	}
	return f, nil
}

func (n logic) eval(e *env) (value, error) {
	v, err := e.eval(n.a)
	if err != nil || truth(v) == n.or {
		return v, err
	}
	return e.eval(n.b)
}

func (n choice) eval(e *env) (value, error) {
	v, err := e.eval(n.cond)
	if err != nil {
		return nil, err
	}
	if truth(v) {
		return e.eval(n.yes)
	}
	return e.eval(n.no)
}

func (n compare) eval(e *env) (value, error) {
	a, err := e.eval(n.first)
	if err != nil {
		return nil, err
	}
	for i, op := range n.ops {
		b, err := e.eval(n.rest[i])
		if err != nil {
			return nil, err
		}
		ok, err := e.x.holds(op, a, b)
		if err != nil || !ok {
			return boolean(false), err
		}
		a = b
	}
	return boolean(true), nil
}

func (x *expander) holds(op string, a, b value) (bool, error) {
	switch op {
	case "==", "!=":
		same, err := x.equal(a, b)
		return same == (op == "=="), err
	case "is", "is not":
		_, an := a.(none)
		_, bn := b.(none)
		if !an && !bn {
			return false, fmt.Errorf("%q is only supported with None", op)
		}
		return (an && bn) == (op == "is"), nil
	case "in", "not in":
		found, err := x.contains(b, a)
		return found == (op == "in"), err
	}
	order, nan, err := ordered(op, a, b)
	if err != nil || nan {
		return false, err
	}
	switch op {
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	}
	return order >= 0, nil
}

// ordered compares two numbers or two texts; nan is true where they have no order.
func ordered(op string, a, b value) (order int, nan bool, err error) {
	if i, ok := asInt(a); ok {
		if j, ok := asInt(b); ok {
			switch {
			case i < j:
				return -1, false, nil
			case i > j:
				return 1, false, nil
			}
			return 0, false, nil
		}
	}
	f, okA := asFloat(a)
	g, okB := asFloat(b)
	if okA && okB {
		switch {
		case f < g:
			return -1, false, nil
		case f > g:
			return 1, false, nil
		}
		return 0, f != g, nil
	}
	s, okA := a.(text)
	t, okB := b.(text)
	if okA && okB {
		return strings.Compare(string(s), string(t)), false, nil
	}
	return 0, false, fmt.Errorf("%q between a %s and a %s", op, a.kind(), b.kind())
}

func (x *expander) contains(in, what value) (bool, error) {
	switch c := in.(type) {
	case text:
		s, ok := what.(text)
		if !ok {
			return false, fmt.Errorf("a %s in a str", what.kind())
		}
		return strings.Contains(string(c), string(s)), x.spend(len(c) / 16)
	case *list:
		for _, v := range c.items {
			if same, err := x.equal(v, what); err != nil || same {
				return same, err
			}
		}
		return false, nil
	case *dict:
		_, known := c.get(what)
		return known, nil
	}
	return false, fmt.Errorf("\"in\" a %s", in.kind())
}

func (e *env) all(items []expr) ([]value, error) {
	out := make([]value, len(items))
	for i, item := range items {
		v, err := e.eval(item)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

func (n listOf) eval(e *env) (value, error) {
	items, err := e.all(n.items)
	return &list{items, n.tuple}, err
}

func (n dictOf) eval(e *env) (value, error) {
	keys, err := e.all(n.keys)
	if err != nil {
		return nil, err
	}
	vals, err := e.all(n.vals)
	if err != nil {
		return nil, err
	}
	d := &dict{}
	for i, k := range keys {
		if !d.put(k, vals[i]) {
			return nil, fmt.Errorf("a %s can't be a key", k.kind())
		}
	}
	return d, nil
}

func (n index) eval(e *env) (value, error) {
	a, err := e.eval(n.a)
	if err != nil {
		return nil, err
	}
	at, err := e.eval(n.at)
	if err != nil {
		return nil, err
	}
	if d, ok := a.(*dict); ok {
		if v, known := d.get(at); known {
			return v, nil
		}
		s, err := e.x.str(at)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("there is no key %q", clip(s))
	}
	i, ok := asInt(at)
	if !ok {
		return nil, fmt.Errorf("a %s as the index of a %s", at.kind(), a.kind())
	}
	length, part, err := e.sequence(a)
	if err != nil {
		return nil, err
	}
	if i < -int64(length) || i >= int64(length) {
		return nil, fmt.Errorf("index %d of a %s of %d", i, a.kind(), length)
	}
	if i < 0 {
		i += int64(length)
	}
	if l, ok := a.(*list); ok {
		return l.items[i], nil
	}
	return part(int(i), int(i)+1), nil
}

// sequence returns the length of a text or list and a function that cuts it.
func (e *env) sequence(a value) (int, func(from, to int) value, error) {
	switch a := a.(type) {
	case *list:
		return len(a.items), func(from, to int) value { return &list{a.items[from:to:to], a.tuple} }, nil
	case text:
		r := []rune(string(a))
		return len(r), func(from, to int) value { return text(r[from:to]) }, e.x.spend(len(a) / 16)
	}
	return 0, nil, fmt.Errorf("a %s can't be indexed", a.kind())
}

func (n slice) eval(e *env) (value, error) {
	a, err := e.eval(n.a)
	if err != nil {
		return nil, err
	}
	length, part, err := e.sequence(a)
	if err != nil {
		return nil, err
	}
	bound := func(n expr, otherwise int) (int, error) {
		if n == nil {
			return otherwise, nil
		}
		v, err := e.eval(n)
		if err != nil {
			return 0, err
		}
		if _, open := v.(none); open {
			return otherwise, nil
		}
		i, ok := asInt(v)
		if !ok {
			return 0, fmt.Errorf("a %s as the bound of a slice", v.kind())
		}
		if i < 0 {
			i = max(i, -int64(length)) + int64(length)
		}
		return int(min(i, int64(length))), nil
	}
	from, err := bound(n.from, 0)
	if err != nil {
		return nil, err
	}
	to, err := bound(n.to, length)
	if err != nil {
		return nil, err
	}
	return part(from, max(from, to)), nil
}

func (n member) eval(e *env) (value, error) {
	a, err := e.eval(n.a)
	if err != nil {
		return nil, err
	}
	switch a := a.(type) {
	case *dict:
		if v, known := a.get(text(n.name)); known {
			return v, nil
		}
		return nil, fmt.Errorf("there is no key %q", clip(n.name))
	case *space:
		if v, known, err := e.x.lookup(a.vars, n.name, e.at); known {
			return v, err
		}
		return nil, fmt.Errorf("%q is not defined in the namespace %s", clip(n.name), clip(a.name))
	case *module:
		if v, known := a.member(n.name); known {
			return v, nil
		}
		return nil, fmt.Errorf("%s.%s is not supported", a.name, clip(n.name))
	}
	return nil, fmt.Errorf("a %s has no member %q here", a.kind(), clip(n.name))
}
