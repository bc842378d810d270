package xacro

import (
	"slices"
	"strings"
)

// macro is a definition. Its body is expanded anew at each call.
type macro struct {
	name   string
	at     place
	params []param
	body   []*node
}

type param struct {
	name       string // with the stars of a block
	forward    bool   // take the caller's property of that name
	hasDefault bool
	otherwise  string
}

func (p param) block() bool { return p.name[0] == '*' }

// callWork is what a call costs beyond its body: scopes are made for it.
const callWork = 32

// reserved are the names that xacro elements have.
var reserved = [...]string{"property", "macro", "arg", "include", "insert_block", "if", "unless", "element", "attribute", "call"}

func (x *expander) defineMacro(n *node, ctx context) *fault {
	g, f := n.check([]string{"name"}, []string{"params"})
	if f != nil {
		return f
	}
	name, f := x.evalString(g["name"].value, ctx, g["name"].at)
	if f != nil {
		return f
	}
	name = strings.TrimPrefix(name, "xacro:")
	if !isXMLName(name) || strings.ContainsAny(name, ":.") || slices.Contains(reserved[:], name) {
		return errAt(g["name"].at, "%q can't be the name of a macro", clip(name))
	}
	params, f := parseParams(g["params"])
	if f != nil {
		return f
	}
	ctx.macros.m[name] = &macro{name: name, at: n.at, params: params, body: n.children}
	return nil
}

// parseParams reads the parameters of a macro, with space between them: name,
// name:=default, name:=^ (the caller's property of that name), name:=^|default,
// *block (an element), **block (an element's content). A default is one word,
// in which quotes, ${} and $() may hold spaces.
func parseParams(a attr) ([]param, *fault) {
	var out []param
	s := strings.TrimLeft(a.value, " \t\r\n")
	for s != "" {
		n := strings.IndexAny(s, " \t\r\n:=")
		if n < 0 {
			n = len(s)
		}
		p := param{name: s[:n]}
		s = strings.TrimLeft(s[n:], " \t\r\n")
		if rest, ok := strings.CutPrefix(s, ":="); ok || strings.HasPrefix(s, "=") {
			if !ok {
				rest = s[1:]
			}
			rest = strings.TrimLeft(rest, " \t\r\n")
			if rest, p.forward = strings.CutPrefix(rest, "^"); p.forward {
				rest = strings.TrimPrefix(rest, "|")
			}
			n := defaultLength(rest)
			p.otherwise, p.hasDefault = rest[:n], n > 0
			s = strings.TrimLeft(rest[n:], " \t\r\n")
			if !p.forward && !p.hasDefault {
				return nil, errAt(a.at, "parameter %s: an empty default is written ''", clip(p.name))
			}
		}
		bare := strings.TrimPrefix(strings.TrimPrefix(p.name, "*"), "*")
		if !isIdentifier(bare) {
			return nil, errAt(a.at, "%q can't be the name of a parameter", clip(p.name))
		}
		if p.block() && (p.forward || p.hasDefault) {
			return nil, errAt(a.at, "parameter %s: a block has no default", clip(p.name))
		}
		for _, q := range out {
			if strings.TrimLeft(q.name, "*") == bare {
				return nil, errAt(a.at, "parameter %s is there twice", clip(bare))
			}
		}
		out = append(out, p)
	}
	return out, nil
}

// defaultLength is the length of the word at the start of s.
func defaultLength(s string) int {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isSpace(c):
			return i
		case c == '\'' || c == '"':
			if n := strings.IndexByte(s[i+1:], c); n >= 0 {
				i += n + 1
			}
		case c == '$' && i+1 < len(s) && (s[i+1] == '{' || s[i+1] == '('):
			if end := closing(s, i+1); end > 0 {
				i = end
			}
		}
	}
	return len(s)
}

// findMacro resolves a name, plain or namespace.name, to the macro and to the
// context that its body sees.
func findMacro(name string, ctx context) (*macro, context) {
	for {
		first, rest, ok := strings.Cut(name, ".")
		if !ok {
			return ctx.macros.find(name), ctx
		}
		s := ctx.macros.space(first)
		if s == nil {
			return nil, ctx
		}
		name, ctx = rest, context{s.vars, s.macros}
	}
}

func (x *expander) callMacro(out *outNode, n *node, ctx context) *fault {
	name := strings.TrimPrefix(n.name, "xacro:")
	attrs := n.attrs
	if name == "call" {
		a, ok := n.attr("macro")
		if !ok {
			return errAt(n.at, "<xacro:call> lacks the attribute macro")
		}
		var f *fault
		if name, f = x.evalString(a.value, ctx, a.at); f != nil {
			return f
		}
		attrs = slices.DeleteFunc(slices.Clone(attrs), func(a attr) bool { return a.name == "macro" })
	}
	m, inside := findMacro(name, ctx)
	if m == nil {
		return errAt(n.at, "there is no macro %q, nor a xacro element of that name", clip(name))
	}
	if err := x.spend(callWork); err != nil {
		return placed(err, n.at, "expansion")
	}
	if x.depth++; x.depth > MaxCallDepth {
		return errAt(n.at, "macro calls nested more than %d deep", MaxCallDepth)
	}
	vars := newScope(inside.vars)
	f := x.arguments(vars, m, n, attrs, ctx)
	if f == nil {
		x.call = &callSite{macro: m.name, at: n.at, up: x.call}
		f = x.expand(out, m.body, context{vars, newMacros(inside.macros)})
		x.call = x.call.up
	}
	x.depth--
	if f != nil {
		return f.note("in the macro %s, called at %v", clip(m.name), n.at)
	}
	return nil
}

// arguments fills a macro's scope from its call.
func (x *expander) arguments(vars *scope, m *macro, n *node, attrs []attr, ctx context) *fault {
	for _, a := range attrs {
		if !slices.ContainsFunc(m.params, func(p param) bool { return p.name == a.name }) {
			return errAt(a.at, "the macro %s has no parameter %s", m.name, clip(a.name))
		}
		v, f := x.evalText(a.value, ctx, a.at)
		if f != nil {
			return f
		}
		vars.store(a.name, v, a.at, false)
	}
	if f := x.blocks(vars, m, n, ctx); f != nil {
		return f
	}
	var missing []string
	for _, p := range m.params {
		if p.block() || vars.vars[p.name] != nil {
			continue
		}
		if p.forward {
			v, known, err := x.lookup(ctx.vars, p.name, n.at)
			if err != nil {
				return placed(err, n.at, "parameter "+p.name)
			}
			if known {
				vars.store(p.name, v, n.at, false)
				continue
			}
		}
		if !p.hasDefault {
			missing = append(missing, p.name)
			continue
		}
		v, f := x.evalText(p.otherwise, ctx, m.at)
		if f != nil {
			return f
		}
		vars.store(p.name, v, m.at, false)
	}
	if len(missing) > 0 {
		return errAt(n.at, "the call of the macro %s gives no value for %s", m.name, clip(strings.Join(missing, ", ")))
	}
	return nil
}

// blocks expands what is inside a call, by the caller's names, and hands its
// elements to the block parameters in their order.
func (x *expander) blocks(vars *scope, m *macro, n *node, ctx context) *fault {
	inside := &outNode{holder: true}
	if f := x.expand(inside, n.children, ctx); f != nil {
		return f
	}
	var found []*outNode
	for _, c := range inside.children {
		switch {
		case c.name != "":
			found = append(found, c)
		case strings.TrimSpace(c.text) != "":
			return errAt(c.at, "text inside the call of the macro %s, which takes elements", m.name)
		}
	}
	for _, p := range m.params {
		if !p.block() {
			continue
		}
		if len(found) == 0 {
			return errAt(n.at, "the call of the macro %s holds no element for the block %s", m.name, p.name)
		}
		b := &block{done: found[:1:1]}
		if strings.HasPrefix(p.name, "**") {
			b.done = found[0].children
		}
		vars.setBlock(p.name, b)
		found = found[1:]
	}
	if len(found) > 0 {
		return errAt(found[0].at, "the macro %s has no block left for <%s>", m.name, found[0].name)
	}
	return nil
}
