package xacro

import (
	"errors"
	"fmt"
	"strings"
)

// evalText evaluates the text of an attribute, property or text node: literal
// text with ${expressions} and $(commands) in it. A text that is one expression
// and nothing else keeps the expression's type.
func (x *expander) evalText(s string, ctx context, at place) (value, *fault) {
	if err := x.spend(1 + len(s)/16); err != nil {
		return nil, placed(err, at, "expansion")
	}
	if !strings.Contains(s, "$") {
		return text(s), nil
	}
	var parts []value
	plain := 0 // start of the literal text not yet in parts
	for i := 0; i < len(s); {
		if s[i] != '$' {
			i++
			continue
		}
		run := i
		for run < len(s) && s[run] == '$' {
			run++
		}
		opens := run < len(s) && (s[run] == '{' || s[run] == '(')
		here := at
		here.line += strings.Count(s[:i], "\n")
		switch {
		case !opens && run-i == 1:
			i = run
		case !opens:
			return nil, errAt(here, "%q: $$ only stands before { or (", clip(s))
		case run-i > 1: // an escape: one $ less, and no expression
			parts = append(parts, text(s[plain:i]), text(s[i+1:run+1]))
			i = run + 1
			plain = i
		default:
			end := closing(s, run)
			if end < 0 {
				return nil, errAt(here, "%q isn't closed", clip(s[i:]))
			}
			v, f := x.command(s[run], s[run+1:end], ctx, here)
			if f != nil {
				return nil, f
			}
			if i > plain {
				parts = append(parts, text(s[plain:i]))
			}
			parts = append(parts, v)
			i = end + 1
			plain = i
		}
	}
	if plain < len(s) {
		parts = append(parts, text(s[plain:]))
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	v, err := x.concat(parts)
	if err != nil {
		return nil, placed(err, at, fmt.Sprintf("%q", clip(s)))
	}
	return v, nil
}

// concat joins the parts of a text. $(find …) gives a name with a scheme of its
// own, before which file:// has no meaning any more.
func (x *expander) concat(parts []value) (value, error) {
	var b strings.Builder
	for _, p := range parts {
		s, err := x.str(p)
		if err != nil {
			return nil, err
		}
		if b.Len()+len(s) > MaxValueBytes {
			return nil, errLong
		}
		b.WriteString(s)
	}
	return text(strings.ReplaceAll(b.String(), "file://package://", "package://")), x.spend(b.Len() / 16)
}

// closing finds the bracket that closes the one at s[open], past quotes and
// brackets inside.
func closing(s string, open int) int {
	var stack []byte
	quote := byte(0)
	for i := open; i < len(s); i++ {
		c := s[i]
		switch {
		case quote != 0:
			switch c {
			case '\\':
				i++
			case quote:
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(':
			stack = append(stack, ')')
		case c == '[':
			stack = append(stack, ']')
		case c == '{':
			stack = append(stack, '}')
		case c == ')' || c == ']' || c == '}':
			if stack[len(stack)-1] != c {
				return -1
			}
			if stack = stack[:len(stack)-1]; len(stack) == 0 {
				return i
			}
		}
	}
	return -1
}

// command evaluates what is between ${ and } or $( and ).
func (x *expander) command(kind byte, s string, ctx context, at place) (value, *fault) {
	if kind == '{' {
		v, err := x.evalExpr(s, &env{x: x, at: at, vars: ctx.vars})
		if err != nil {
			return nil, placed(err, at, "${"+clip(s)+"}")
		}
		return v, nil
	}
	inner, f := x.evalString(s, ctx, at)
	if f != nil {
		return nil, f
	}
	v, err := x.substitute(inner, at)
	if err != nil {
		return nil, placed(err, at, "$("+clip(s)+")")
	}
	return v, nil
}

func (x *expander) evalExpr(s string, e *env) (value, error) {
	if err := x.spend(4 + len(s)); err != nil { // parsing takes its time
		return nil, err
	}
	n, err := parseExpr(s)
	if err != nil {
		return nil, err
	}
	return e.eval(n)
}

// substitute carries out $(name …).
func (x *expander) substitute(s string, at place) (value, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "eval":
		return x.evalExpr(rest, &env{x: x, at: at, args: true})
	case "arg", "find":
		if rest == "" || strings.ContainsAny(rest, " \t\r\n") {
			return nil, fmt.Errorf("%s takes one name", word)
		}
		if word == "arg" {
			v, err := x.argument(rest)
			return text(v), err
		}
		if _, known := x.opt.Packages[rest]; !known {
			return nil, fmt.Errorf("xacro needs the folder of the package %q, which isn't given", clip(rest))
		}
		return text("package://" + rest), nil
	case "env", "optenv", "anon", "dirname":
		return nil, errors.New("not supported: a description must mean the same whoever reads it and wherever")
	}
	return nil, fmt.Errorf("%q is no command", clip(word))
}

// argument is $(arg name).
func (x *expander) argument(name string) (string, error) {
	x.declared[name] = true
	v, known := x.args[name]
	if !known {
		return "", fmt.Errorf("the argument %q has no value here: none was given, and no xacro:arg before this line has a default", clip(name))
	}
	return v, nil
}

// evalString is evalText with the result as text.
func (x *expander) evalString(s string, ctx context, at place) (string, *fault) {
	v, f := x.evalText(s, ctx, at)
	if f != nil {
		return "", f
	}
	out, err := x.str(v)
	if err != nil {
		return "", placed(err, at, fmt.Sprintf("%q", clip(s)))
	}
	return out, nil
}

// evalBool is the value of a condition: a truth value, a number, a list, or a
// text that spells a truth value or an integer.
func (x *expander) evalBool(s string, ctx context, at place) (bool, *fault) {
	v, f := x.evalText(s, ctx, at)
	if f != nil {
		return false, f
	}
	t, ok := v.(text)
	if !ok {
		return truth(v), nil
	}
	switch v := literal(text(strings.TrimSpace(string(t)))).(type) {
	case boolean:
		return bool(v), nil
	case integer:
		return v != 0, nil
	}
	return false, errAt(at, "the condition %q is %q, which is neither true nor false", clip(s), clip(string(t)))
}
