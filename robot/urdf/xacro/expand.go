package xacro

import (
	"slices"
	"strings"
)

// expand evaluates nodes and hangs the result into out.
func (x *expander) expand(out *outNode, nodes []*node, ctx context) *fault {
	for _, n := range nodes {
		if err := x.spend(1 + len(n.attrs)); err != nil {
			return placed(err, n.at, "expansion")
		}
		var f *fault
		switch {
		case n.name == "":
			f = x.textNode(out, n, ctx)
		case strings.HasPrefix(n.name, "xacro:"):
			f = x.directive(out, n, ctx)
		default:
			e := &outNode{name: n.name, at: n.at, via: x.call}
			if f = x.attributes(e, n, ctx); f == nil {
				f = x.expand(e, n.children, ctx)
			}
			out.children = append(out.children, e)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

func (x *expander) textNode(out *outNode, n *node, ctx context) *fault {
	s, f := x.evalString(n.text, ctx, n.at)
	if f == nil {
		out.children = append(out.children, &outNode{text: s, at: n.at, via: x.call})
	}
	return f
}

// attributes evaluates an element's attributes. Those of the xacro namespace
// are not the expansion's.
func (x *expander) attributes(out *outNode, n *node, ctx context) *fault {
	for _, a := range n.attrs {
		if strings.HasPrefix(a.name, "xacro:") {
			x.warn(a.at, "<"+n.name+">", "attribute "+a.name+" is ignored")
			continue
		}
		s, f := x.evalString(a.value, ctx, a.at)
		if f != nil {
			return f
		}
		out.attrs = append(out.attrs, attr{a.name, s, a.at})
	}
	return nil
}

// given are the attributes of a xacro element.
type given map[string]attr

// check refuses attributes that are not known and asks for those that must be.
func (n *node) check(required, optional []string) (given, *fault) {
	out := given{}
	for _, a := range n.attrs {
		if !slices.Contains(required, a.name) && !slices.Contains(optional, a.name) {
			return nil, errAt(a.at, "<%s> has no attribute %s", n.name, a.name)
		}
		out[a.name] = a
	}
	for _, name := range required {
		if _, ok := out[name]; !ok {
			return nil, errAt(n.at, "<%s> lacks the attribute %s", n.name, name)
		}
	}
	return out, nil
}

func (x *expander) directive(out *outNode, n *node, ctx context) *fault {
	switch n.name {
	case "xacro:property":
		return x.property(n, ctx)
	case "xacro:macro":
		return x.defineMacro(n, ctx)
	case "xacro:arg":
		return x.defineArg(n, ctx)
	case "xacro:include":
		return x.include(out, n, ctx)
	case "xacro:insert_block":
		return x.insertBlock(out, n, ctx)
	case "xacro:if", "xacro:unless":
		return x.condition(out, n, ctx)
	case "xacro:element":
		return x.element(out, n, ctx)
	case "xacro:attribute":
		return x.attribute(out, n, ctx)
	}
	return x.callMacro(out, n, ctx)
}

func (x *expander) condition(out *outNode, n *node, ctx context) *fault {
	g, f := n.check([]string{"value"}, nil)
	if f != nil {
		return f
	}
	ok, f := x.evalBool(g["value"].value, ctx, g["value"].at)
	if f != nil || ok != (n.name == "xacro:if") {
		return f
	}
	return x.expand(out, n.children, ctx)
}

func (x *expander) defineArg(n *node, ctx context) *fault {
	g, f := n.check([]string{"name"}, []string{"default"})
	if f != nil {
		return f
	}
	name := g["name"].value
	if name == "" || strings.ContainsAny(name, " \t\r\n$(){}") {
		return errAt(g["name"].at, "%q can't be the name of an argument", clip(name))
	}
	x.declared[name] = true
	otherwise, hasDefault := g["default"]
	if _, known := x.args[name]; known {
		return nil
	}
	if !hasDefault {
		return errAt(n.at, "the argument %q has no default and must be given", clip(name))
	}
	v, f := x.evalString(otherwise.value, ctx, otherwise.at)
	if f != nil {
		return f
	}
	x.args[name] = v
	return nil
}

func (x *expander) property(n *node, ctx context) *fault {
	g, f := n.check([]string{"name"}, []string{"value", "default", "remove", "scope", "lazy_eval"})
	if f != nil {
		return f
	}
	name, f := x.evalString(g["name"].value, ctx, g["name"].at)
	if f != nil {
		return f
	}
	if !isIdentifier(name) || strings.HasPrefix(name, "__") {
		return errAt(g["name"].at, "%q can't be the name of a property: letters, digits and _ are due, and none that Python keeps for itself", clip(name))
	}
	flag := func(attr string, otherwise bool) bool {
		a, ok := g[attr]
		if !ok || f != nil {
			return otherwise
		}
		var v bool
		v, f = x.evalBool(a.value, ctx, a.at)
		return v
	}
	remove, lazy := flag("remove", false), flag("lazy_eval", true)
	if f != nil {
		return f
	}
	v, hasValue := g["value"]
	otherwise, hasDefault := g["default"]
	if hasValue && (hasDefault || remove) || hasDefault && remove {
		return errAt(n.at, "property %s: value, default and remove exclude each other", clip(name))
	}
	target, lazy, f := scopeOf(g["scope"], ctx.vars, lazy)
	if f != nil {
		return f
	}
	switch {
	case remove:
		delete(ctx.vars.vars, name)
		return nil
	case hasDefault:
		if _, ok := g["scope"]; ok {
			return errAt(g["scope"].at, "property %s: a default has no scope but its own", clip(name))
		}
		if ctx.vars.has(name) {
			return nil
		}
		v, hasValue = otherwise, true
	}
	if !hasValue {
		target.setBlock("**"+name, &block{raw: n.children})
		return nil
	}
	if _, known := global(name); known {
		x.warn(g["name"].at, "property "+name, "it hides what xacro itself calls "+name)
	}
	if lazy {
		target.store(name, text(v.value), v.at, true)
		return nil
	}
	val, f := x.evalText(v.value, ctx, v.at)
	if f != nil {
		return f
	}
	target.store(name, val, v.at, false)
	return nil
}

// scopeOf says where a property goes. What leaves its scope is evaluated first:
// its text may need names of this one.
func scopeOf(a attr, here *scope, lazy bool) (*scope, bool, *fault) {
	switch a.value {
	case "":
		if a.name == "" {
			return here, lazy, nil
		}
	case "global":
		return here.root(), false, nil
	case "parent":
		target := here.parent
		if !here.names {
			target = here.outer()
		}
		if target == nil {
			return nil, false, errAt(a.at, "there is no parent scope here")
		}
		return target, false, nil
	}
	return nil, false, errAt(a.at, "the scope %q is neither parent nor global", clip(a.value))
}

func (x *expander) insertBlock(out *outNode, n *node, ctx context) *fault {
	g, f := n.check([]string{"name"}, nil)
	if f != nil {
		return f
	}
	name, f := x.evalString(g["name"].value, ctx, g["name"].at)
	if f != nil {
		return f
	}
	b := ctx.vars.block("**" + name)
	if b == nil {
		b = ctx.vars.block("*" + name)
	}
	if b == nil {
		return errAt(n.at, "there is no block %q", clip(name))
	}
	if b.raw == nil {
		out.children = append(out.children, b.done...)
		return placedOrNil(x.spend(len(b.done)), n.at)
	}
	if x.depth++; x.depth > MaxCallDepth {
		return errAt(n.at, "blocks and macro calls nested more than %d deep", MaxCallDepth)
	}
	f = x.expand(out, b.raw, ctx)
	x.depth--
	if f != nil {
		return f.note("in the block %s, inserted at %v", clip(name), n.at)
	}
	return nil
}

func placedOrNil(err error, at place) *fault {
	if err == nil {
		return nil
	}
	return placed(err, at, "expansion")
}

func (x *expander) element(out *outNode, n *node, ctx context) *fault {
	name := ""
	copied := &node{name: n.name, at: n.at}
	for _, a := range n.attrs {
		if a.name != "xacro:name" {
			copied.attrs = append(copied.attrs, a)
			continue
		}
		var f *fault
		if name, f = x.evalString(a.value, ctx, a.at); f != nil {
			return f
		}
	}
	if !isXMLName(name) {
		return errAt(n.at, "<xacro:element>: xacro:name is %q, which no element can have", clip(name))
	}
	e := &outNode{name: name, at: n.at, via: x.call}
	if f := x.attributes(e, copied, ctx); f != nil {
		return f
	}
	out.children = append(out.children, e)
	return x.expand(e, n.children, ctx)
}

func (x *expander) attribute(out *outNode, n *node, ctx context) *fault {
	g, f := n.check([]string{"name", "value"}, nil)
	if f != nil {
		return f
	}
	name, f := x.evalString(g["name"].value, ctx, g["name"].at)
	if f != nil {
		return f
	}
	if !isXMLName(name) {
		return errAt(n.at, "<xacro:attribute>: the name is %q, which no attribute can have", clip(name))
	}
	if out.holder {
		return errAt(n.at, "<xacro:attribute> inside no element")
	}
	v, f := x.evalString(g["value"].value, ctx, g["value"].at)
	if f != nil {
		return f
	}
	out.set(attr{name, v, g["value"].at})
	return nil
}

// isXMLName takes names of ASCII letters, digits and . _ - with at most one
// prefix, other than xacro's and xmlns.
func isXMLName(s string) bool {
	prefix, local, has := strings.Cut(s, ":")
	if !has {
		local, prefix = prefix, "a"
	}
	for _, part := range []string{prefix, local} {
		for i, c := range part {
			letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
			if !letter && (i == 0 || c != '-' && c != '.' && (c < '0' || c > '9')) {
				return false
			}
		}
		if part == "" || part == "xmlns" {
			return false
		}
	}
	return prefix != "xacro"
}
