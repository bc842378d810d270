package policy

import (
	"context"
	"fmt"
	"strings"

	"github.com/tau-robot/tau/gate"
)

// rule is a bound on an argument of one tool.
type rule struct {
	path   []part
	places []place
	bound  Bound
}

// compileBounds resolves each bound in the schemas of the tools that it is about.
func compileBounds(s *Section, specs []gate.Spec) (map[string][]rule, error) {
	out := map[string][]rule{}
	for i, b := range s.Bounds {
		key := fmt.Sprintf("policy.bounds[%d]", i)
		path, err := parsePath(b.Argument)
		if err != nil {
			return nil, fmt.Errorf("%s.argument = %q: %w", key, b.Argument, err)
		}
		hit := false
		for _, spec := range specs {
			if stops(spec.Name) || b.Tool != "*" && b.Tool != spec.Name {
				continue
			}
			places, err := resolve(spec.Input, path)
			if err == nil {
				err = b.suits(places[len(places)-1].schema)
			}
			switch {
			case err == nil:
				hit = true
				out[spec.Name] = append(out[spec.Name], rule{path, places, b})
			case b.Tool != "*":
				return nil, fmt.Errorf("%s.argument = %q of %s: %w", key, b.Argument, spec.Name, err)
			}
		}
		if !hit && b.Tool == "*" {
			return nil, fmt.Errorf("%s.argument = %q: no tool has such an argument", key, b.Argument)
		}
	}
	return out, nil
}

// suits refuses a bound that no value of the kind could meet or break.
func (b *Bound) suits(s *gate.Schema) error {
	numeric := s.Kind == gate.KindNumber || s.Kind == gate.KindInteger
	if (b.Min != nil || b.Max != nil) && !numeric {
		return fmt.Errorf("it isn't a number, so min and max don't bound it")
	}
	for _, v := range b.Values {
		ok := false
		switch v.is.(type) {
		case float64:
			ok = numeric
		case bool:
			ok = s.Kind == gate.KindBool
		case string:
			ok = s.Kind == gate.KindString
		}
		if !ok {
			return fmt.Errorf("values: it can't be %s", v)
		}
	}
	return nil
}

// beforeCall is the hook of the bounds.
func (p *Policy) beforeCall(_ context.Context, c gate.HookCall) (gate.Change, error) {
	rules := p.bounds[c.Tool]
	if len(rules) == 0 {
		return gate.Change{}, nil
	}
	args, err := parseNode(c.Args)
	if err != nil {
		return gate.Change{}, err
	}
	return firstBeyond(rules, args), nil
}

// firstBeyond is what the first rule says that the arguments are beyond.
func firstBeyond(rules []rule, args *node) (out gate.Change) {
	for i := range rules {
		if out = rules[i].check(args); out.Refuse != nil {
			break
		}
	}
	return out
}

// check refuses the arguments that are beyond the bound.
func (r *rule) check(args *node) (out gate.Change) {
	note := func(e *gate.Error) {
		if out.Refuse == nil {
			out.Refuse = e
		}
	}
	args.find(r.path,
		func(at []string, v *node) { note(r.bound.check(strings.Join(at, "."), v, r.leaf().Unit)) },
		func(depth int) { note(r.absent(depth)) })
	return out
}

func (r *rule) leaf() *gate.Schema { return r.places[len(r.places)-1].schema }

// absent judges an argument that isn't there. A joint that isn't named, or a waypoint
// that isn't there, asks for nothing. Any other argument has a default of the tool's:
// where that is declared it is held to the bound, and where it isn't, leaving the
// argument out would be a way around it.
func (r *rule) absent(depth int) *gate.Error {
	at := r.places[depth]
	where := pathText(r.path[:depth+1])
	if at.member {
		return nil
	}
	if depth == len(r.path)-1 && at.schema.Default != "" {
		if v, err := parseNode([]byte(at.schema.Default)); err == nil {
			if e := r.bound.check(where, v, at.schema.Unit); e != nil {
				e.Text = "its default is " + e.Text
				return e
			}
			return nil
		}
	}
	return &gate.Error{Code: gate.CodeInvalidArgument, Where: where, Text: "has to be given, because the operator's policy bounds it; it was not run"}
}

func (b *Bound) check(where string, v *node, unit string) *gate.Error {
	const beyond = "beyond what the operator's policy allows; it was not run"
	x, numeric := v.number()
	if b.Values != nil {
		for _, want := range b.Values {
			if want.equal(v) {
				return nil
			}
		}
		all := make([]string, len(b.Values))
		for i, w := range b.Values {
			all[i] = w.String()
		}
		return &gate.Error{
			Code: gate.CodeInvalidArgument, Where: where,
			Text: beyond + "; allowed: " + strings.Join(all, ", "),
		}
	}
	if !numeric { // the schema says that it is one
		return &gate.Error{Code: gate.CodeInvalidArgument, Where: where, Text: "is no number, and " + beyond}
	}
	limit := func(l float64) *gate.Error {
		return &gate.Error{
			Code: gate.CodeInvalidArgument, Where: where, Text: beyond,
			Value: &gate.Quantity{Value: x, Unit: unit}, Limit: &gate.Quantity{Value: l, Unit: unit},
			Nearest: []gate.Quantity{{Name: where, Value: l, Unit: unit}},
		}
	}
	switch {
	case b.Min != nil && x < *b.Min:
		return limit(*b.Min)
	case b.Max != nil && x > *b.Max:
		return limit(*b.Max)
	}
	return nil
}

func (v Value) equal(n *node) bool {
	switch x := v.is.(type) {
	case string:
		return n.kind == '"' && n.text == x
	case float64:
		y, ok := n.number()
		return ok && x == y
	case bool:
		return n.kind == 't' && x || n.kind == 'f' && !x
	}
	return false
}

// tools is the hook of allow and deny.
func (p *Policy) tools(_ context.Context, c gate.HookCall) (gate.Change, error) {
	switch {
	case p.deny[c.Tool]:
		return gate.Change{Refuse: &gate.Error{Code: gate.CodeNotApproved, Where: "policy.deny", Text: c.Tool + " is denied by the operator's policy; it was not run"}}, nil
	case p.section.Allow != nil && !p.allow[c.Tool] && !always(c.Tool):
		return gate.Change{Refuse: &gate.Error{Code: gate.CodeNotApproved, Where: "policy.allow", Text: c.Tool + " isn't one of the tools that the operator's policy allows; it was not run"}}, nil
	}
	return gate.Change{}, nil
}

// always are the tools that a list of allowed ones, and a role, has without naming
// them: they only tell of, or end, what was allowed. deny can name them.
func always(tool string) bool {
	return stops(tool) || tool == "call_status" || tool == "cancel_call"
}
