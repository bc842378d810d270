package xacro

// scope holds the properties and blocks that are visible in one place. Looking
// up goes on in the parent: the caller's scope for a macro, the including file's
// for a namespace.
type scope struct {
	parent *scope
	// names marks the scope of a file included with ns=. scope="parent" then
	// means what is outside the namespace.
	names  bool
	vars   map[string]*slot
	blocks map[string]*block
}

// slot is a property. While raw holds, its text waits to be evaluated until it
// is asked for, in the scope where it stands.
type slot struct {
	raw  bool
	text string
	val  value
	at   place
	busy bool
}

// block is what insert_block inserts: elements of a property, evaluated at each
// insertion, or of a macro call, evaluated by the caller.
type block struct {
	raw  []*node
	done []*outNode
}

func newScope(parent *scope) *scope {
	return &scope{parent: parent, vars: map[string]*slot{}}
}

// outer is where scope="parent" puts a property.
func (s *scope) outer() *scope {
	p := s.parent
	if p != nil && p.names {
		p = p.parent
	}
	return p
}

func (s *scope) root() *scope {
	for s.parent != nil {
		s = s.parent
	}
	return s
}

func (s *scope) setBlock(name string, b *block) {
	if s.blocks == nil {
		s.blocks = map[string]*block{}
	}
	s.blocks[name] = b
}

func (s *scope) block(name string) *block {
	for ; s != nil; s = s.parent {
		if b := s.blocks[name]; b != nil {
			return b
		}
	}
	return nil
}

// has reports whether a property of that name is visible.
func (s *scope) has(name string) bool {
	for ; s != nil; s = s.parent {
		if s.vars[name] != nil {
			return true
		}
	}
	return false
}

// lookup finds a property and evaluates it where that waited for its first use.
func (x *expander) lookup(s *scope, name string, from place) (v value, known bool, err error) {
	for ; s != nil; s = s.parent {
		if err := x.spend(1); err != nil {
			return nil, true, err
		}
		if p := s.vars[name]; p != nil {
			v, err := x.resolve(s, p, name, from)
			return v, true, err
		}
	}
	return nil, false, nil
}

func (x *expander) resolve(s *scope, p *slot, name string, from place) (value, error) {
	if !p.raw {
		return p.val, nil
	}
	if p.busy {
		return nil, errAt(p.at, "property %s needs its own value", clip(name)).note("needed at %v", from)
	}
	if x.depth++; x.depth > MaxCallDepth {
		return nil, errAt(p.at, "properties and macro calls nested more than %d deep", MaxCallDepth)
	}
	p.busy = true
	v, f := x.evalText(p.text, context{vars: s}, p.at)
	p.busy = false
	x.depth--
	if f != nil {
		return nil, f.note("property %s is used at %v", clip(name), from)
	}
	p.raw, p.val = false, literal(v)
	return p.val, nil
}

// store keeps a property. A text that isn't a number or truth value waits for
// its first use where lazy says so.
func (s *scope) store(name string, v value, at place, lazy bool) {
	v = literal(v)
	p := &slot{val: v, at: at}
	if t, ok := v.(text); ok && lazy {
		p.raw, p.text = true, string(t)
	}
	s.vars[name] = p
}

// macros holds macros and, by their names, the namespaces of included files.
type macros struct {
	parent *macros
	m      map[string]*macro
	spaces map[string]*space
}

func newMacros(parent *macros) *macros {
	return &macros{parent: parent, m: map[string]*macro{}}
}

func (m *macros) find(name string) *macro {
	for ; m != nil; m = m.parent {
		if d := m.m[name]; d != nil {
			return d
		}
	}
	return nil
}

func (m *macros) space(name string) *space {
	for ; m != nil; m = m.parent {
		if s := m.spaces[name]; s != nil {
			return s
		}
	}
	return nil
}

// context is what names mean where something is expanded.
type context struct {
	vars   *scope
	macros *macros
}
