package xacro

import "fmt"

// expr is a node of a parsed expression.
type expr interface {
	eval(e *env) (value, error)
}

type (
	constant struct{ v value }
	nameRef  struct{ name string }
	unary    struct {
		op string
		a  expr
	}
	binary struct {
		op   string
		a, b expr
	}
	logic struct { // and, or
		or   bool
		a, b expr
	}
	compare struct { // a < b < c: each pair
		first expr
		ops   []string
		rest  []expr
	}
	choice struct{ cond, yes, no expr }
	listOf struct {
		items []expr
		tuple bool
	}
	dictOf struct{ keys, vals []expr }
	member struct { // a.name
		a    expr
		name string
	}
	index struct{ a, at expr }
	slice struct{ a, from, to expr } // from and to may be nil
	call  struct {
		fn     expr
		args   []expr
		names  []string // of the last len(names) arguments
		source string
	}
)

// parser is a recursive descent parser for the expressions of Python that
// descriptions use. Precedence, loosest first: if-else, or, and, not,
// comparisons, + -, * / // %, unary + -, **, calls and indices.
type parser struct {
	toks  []token
	depth int
}

func parseExpr(s string) (expr, error) {
	toks, err := lex(s)
	if err != nil {
		return nil, err
	}
	p := &parser{toks: toks}
	if p.peek().kind == tokEnd {
		return nil, fmt.Errorf("an empty expression")
	}
	e, err := p.tupleOr("")
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokEnd {
		return nil, fmt.Errorf("unexpected %v", t)
	}
	return e, nil
}

func (p *parser) peek() token { return p.toks[0] }

func (p *parser) next() token {
	t := p.toks[0]
	if t.kind != tokEnd {
		p.toks = p.toks[1:]
	}
	return t
}

// is reports whether the next token is that operator or keyword.
func (p *parser) is(s string) bool {
	t := p.peek()
	return (t.kind == tokOp || t.kind == tokName) && t.text == s
}

func (p *parser) take(s string) bool {
	if p.is(s) {
		p.next()
		return true
	}
	return false
}

func (p *parser) want(s string) error {
	if !p.take(s) {
		return fmt.Errorf("%v where %q is due", p.peek(), s)
	}
	return nil
}

func (p *parser) oneOf(ops ...string) (string, bool) {
	for _, op := range ops {
		if p.take(op) {
			return op, true
		}
	}
	return "", false
}

// tupleOr reads expressions with commas between them up to the closing token,
// which stays; one without a comma is itself.
func (p *parser) tupleOr(closing string) (expr, error) {
	first, err := p.ternary()
	if err != nil || !p.is(",") {
		return first, err
	}
	out := listOf{items: []expr{first}, tuple: true}
	for p.take(",") {
		if p.peek().kind == tokEnd || closing != "" && p.is(closing) {
			break
		}
		e, err := p.ternary()
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, e)
	}
	return out, nil
}

func (p *parser) ternary() (expr, error) {
	if p.depth++; p.depth > maxExprDepth {
		return nil, fmt.Errorf("an expression nested more than %d deep", maxExprDepth)
	}
	defer func() { p.depth-- }()
	yes, err := p.or()
	if err != nil || !p.take("if") {
		return yes, err
	}
	cond, err := p.or()
	if err != nil {
		return nil, err
	}
	if err := p.want("else"); err != nil {
		return nil, err
	}
	no, err := p.ternary()
	return choice{cond, yes, no}, err
}

func (p *parser) or() (expr, error) {
	a, err := p.and()
	for err == nil && p.take("or") {
		var b expr
		b, err = p.and()
		a = logic{true, a, b}
	}
	return a, err
}

func (p *parser) and() (expr, error) {
	a, err := p.not()
	for err == nil && p.take("and") {
		var b expr
		b, err = p.not()
		a = logic{false, a, b}
	}
	return a, err
}

func (p *parser) not() (expr, error) {
	if !p.take("not") {
		return p.comparison()
	}
	if p.depth++; p.depth > maxExprDepth {
		return nil, fmt.Errorf("an expression nested more than %d deep", maxExprDepth)
	}
	defer func() { p.depth-- }()
	a, err := p.not()
	return unary{"not", a}, err
}

func (p *parser) comparison() (expr, error) {
	a, err := p.sum()
	if err != nil {
		return nil, err
	}
	out := compare{first: a}
	for {
		op, ok := p.oneOf("==", "!=", "<=", ">=", "<", ">", "in", "is", "not")
		if !ok {
			break
		}
		if op == "not" {
			if err := p.want("in"); err != nil {
				return nil, err
			}
			op = "not in"
		} else if op == "is" && p.take("not") {
			op = "is not"
		}
		b, err := p.sum()
		if err != nil {
			return nil, err
		}
		out.ops, out.rest = append(out.ops, op), append(out.rest, b)
	}
	if len(out.ops) == 0 {
		return a, nil
	}
	return out, nil
}

func (p *parser) sum() (expr, error) { return p.leftToRight(p.product, "+", "-") }

func (p *parser) product() (expr, error) { return p.leftToRight(p.signed, "*", "//", "/", "%") }

// maxTerms bounds chains such as 1+1+1+…, whose tree is as deep as they are long.
const maxTerms = 1024

func (p *parser) leftToRight(operand func() (expr, error), ops ...string) (expr, error) {
	a, err := operand()
	for n := 0; err == nil; n++ {
		op, ok := p.oneOf(ops...)
		if !ok {
			return a, nil
		}
		if n == maxTerms {
			return nil, fmt.Errorf("more than %d terms in a row", maxTerms)
		}
		var b expr
		b, err = operand()
		a = binary{op, a, b}
	}
	return nil, err
}

func (p *parser) signed() (expr, error) {
	op, ok := p.oneOf("-", "+")
	if !ok {
		return p.power()
	}
	if p.depth++; p.depth > maxExprDepth {
		return nil, fmt.Errorf("an expression nested more than %d deep", maxExprDepth)
	}
	defer func() { p.depth-- }()
	a, err := p.signed()
	return unary{op, a}, err
}

func (p *parser) power() (expr, error) {
	a, err := p.postfix()
	if err != nil || !p.take("**") {
		return a, err
	}
	if p.depth++; p.depth > maxExprDepth {
		return nil, fmt.Errorf("an expression nested more than %d deep", maxExprDepth)
	}
	defer func() { p.depth-- }()
	b, err := p.signed()
	return binary{"**", a, b}, err
}

func (p *parser) postfix() (expr, error) {
	a, err := p.atom()
	for n := 0; err == nil; n++ {
		if n == maxTerms {
			return nil, fmt.Errorf("more than %d calls and indices in a row", maxTerms)
		}
		switch {
		case p.take("."):
			t := p.next()
			if t.kind != tokName || isKeyword(t.text) {
				return nil, fmt.Errorf("%v where a name is due after the dot", t)
			}
			a = member{a, t.text}
		case p.take("["):
			a, err = p.subscript(a)
		case p.take("("):
			a, err = p.arguments(a)
		default:
			return a, nil
		}
	}
	return nil, err
}

func (p *parser) subscript(a expr) (expr, error) {
	var from, to expr
	var err error
	if !p.is(":") {
		if from, err = p.tupleOr("]"); err != nil {
			return nil, err
		}
		if p.take("]") {
			return index{a, from}, nil
		}
	}
	if err := p.want(":"); err != nil {
		return nil, err
	}
	if !p.is("]") && !p.is(":") {
		if to, err = p.ternary(); err != nil {
			return nil, err
		}
	}
	if p.is(":") {
		return nil, fmt.Errorf("slices with a step are not supported")
	}
	return slice{a, from, to}, p.want("]")
}

func (p *parser) arguments(fn expr) (expr, error) {
	out := call{fn: fn, source: sourceName(fn)}
	for !p.take(")") {
		if len(out.args) > 0 {
			if err := p.want(","); err != nil {
				return nil, err
			}
			if p.take(")") {
				break
			}
		}
		if t := p.peek(); t.kind == tokName && !isKeyword(t.text) && p.toks[1].kind == tokOp && p.toks[1].text == "=" {
			p.next()
			p.next()
			out.names = append(out.names, t.text)
		} else if len(out.names) > 0 {
			return nil, fmt.Errorf("an argument without a name after named ones")
		}
		e, err := p.ternary()
		if err != nil {
			return nil, err
		}
		out.args = append(out.args, e)
	}
	return out, nil
}

func sourceName(fn expr) string {
	switch f := fn.(type) {
	case nameRef:
		return f.name
	case member:
		return f.name
	}
	return "the expression"
}

func (p *parser) atom() (expr, error) {
	t := p.next()
	switch t.kind {
	case tokNumber:
		return constant{t.num}, nil
	case tokString:
		return constant{text(t.text)}, nil
	case tokName:
		switch t.text {
		case "True", "False":
			return constant{boolean(t.text == "True")}, nil
		case "None":
			return constant{none{}}, nil
		}
		if isKeyword(t.text) {
			return nil, fmt.Errorf("unexpected %v", t)
		}
		return nameRef{t.text}, nil
	case tokOp:
		switch t.text {
		case "(":
			if p.take(")") {
				return listOf{tuple: true}, nil
			}
			e, err := p.tupleOr(")")
			if err != nil {
				return nil, err
			}
			return e, p.want(")")
		case "[":
			return p.listLiteral()
		case "{":
			return p.dictLiteral()
		}
	}
	return nil, fmt.Errorf("unexpected %v", t)
}

func (p *parser) listLiteral() (expr, error) {
	out := listOf{}
	for !p.take("]") {
		if len(out.items) > 0 {
			if p.is("for") {
				return nil, fmt.Errorf("list comprehensions are not supported")
			}
			if err := p.want(","); err != nil {
				return nil, err
			}
			if p.take("]") {
				break
			}
		}
		e, err := p.ternary()
		if err != nil {
			return nil, err
		}
		out.items = append(out.items, e)
	}
	return out, nil
}

func (p *parser) dictLiteral() (expr, error) {
	out := dictOf{}
	for !p.take("}") {
		if len(out.keys) > 0 {
			if err := p.want(","); err != nil {
				return nil, err
			}
			if p.take("}") {
				break
			}
		}
		k, err := p.ternary()
		if err != nil {
			return nil, err
		}
		if err := p.want(":"); err != nil {
			return nil, err
		}
		v, err := p.ternary()
		if err != nil {
			return nil, err
		}
		out.keys, out.vals = append(out.keys, k), append(out.vals, v)
	}
	return out, nil
}
