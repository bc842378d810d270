package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/tau-robot/tau/gate"
)

// withheld stands where a text was.
const withheld = "[withheld]"

// withheldText is the text of an answer whose fields were withheld: what a tool says in
// words may name them.
const withheldText = "Parts of this result are withheld by the operator's policy."

// cut is what is withheld of the results of one tool.
type cut struct {
	fields  [][]part
	pattern []*regexp.Regexp
}

func (s *Section) checkRedact() error {
	for i, r := range s.Redact {
		key := fmt.Sprintf("policy.redact[%d]", i)
		if err := checkTool(key+".tool", r.Tool); err != nil {
			return err
		}
		if len(r.Fields) == 0 && r.Pattern == "" {
			return fmt.Errorf("%s withholds nothing: want fields or a pattern", key)
		}
		for j, f := range r.Fields {
			if _, err := parsePath(f); err != nil {
				return fmt.Errorf("%s.fields[%d] = %q: %w", key, j, f, err)
			}
		}
		if len(r.Pattern) > maxPattern {
			return fmt.Errorf("%s.pattern has %d bytes: want at most %d", key, len(r.Pattern), maxPattern)
		}
		re, err := regexp.Compile(r.Pattern)
		if err != nil {
			return fmt.Errorf("%s.pattern = %q: %w", key, r.Pattern, err)
		}
		if r.Pattern != "" && re.MatchString("") {
			return fmt.Errorf("%s.pattern = %q: it matches the empty text, so it is everywhere", key, r.Pattern)
		}
	}
	return nil
}

// compileRedact resolves each field in the results of the tools that it is about.
func compileRedact(s *Section, specs []gate.Spec) (map[string]cut, error) {
	out := map[string]cut{}
	for i, r := range s.Redact {
		key := fmt.Sprintf("policy.redact[%d]", i)
		hit := make([]bool, len(r.Fields))
		for _, spec := range specs {
			if stops(spec.Name) || r.Tool != "*" && r.Tool != spec.Name {
				continue
			}
			c := out[spec.Name]
			if r.Pattern != "" {
				re, err := regexp.Compile(r.Pattern)
				if err != nil {
					return nil, fmt.Errorf("%s.pattern = %q: %w", key, r.Pattern, err)
				}
				c.pattern = append(c.pattern, re)
			}
			for j, f := range r.Fields {
				path, err := parsePath(f)
				if err != nil {
					return nil, fmt.Errorf("%s.fields[%d] = %q: %w", key, j, f, err)
				}
				places, err := resolve(output(spec), path)
				switch {
				case err != nil && r.Tool == "*":
					continue // another tool's
				case err == nil:
					err = canGo(spec, path, places)
				}
				if err != nil {
					return nil, fmt.Errorf("%s.fields[%d] = %q of %s: %w", key, j, f, spec.Name, err)
				}
				hit[j] = hit[j] || r.Tool != "*" || !places[len(places)-1].loose
				c.fields = append(c.fields, path)
			}
			out[spec.Name] = c
		}
		if j := slices.Index(hit, false); j >= 0 {
			return nil, fmt.Errorf("%s.fields[%d] = %q: no result has such a field", key, j, r.Fields[j])
		}
	}
	return out, nil
}

// output is the schema of a tool's result; one that declares none may have anything.
func output(spec gate.Spec) *gate.Schema {
	if spec.Output == nil {
		return gate.Any()
	}
	return spec.Output
}

// canGo refuses to withhold what clients hold a result to: they would take the answer
// for a broken one.
func canGo(spec gate.Spec, path []part, places []place) error {
	last := places[len(places)-1]
	if last.schema.Kind == gate.KindString && len(last.schema.Enum) == 0 {
		return nil // another text takes its place
	}
	parent := output(spec)
	if len(places) > 1 {
		parent = places[len(places)-2].schema
	}
	switch {
	case last.required:
		return fmt.Errorf("every result has it, and clients insist on it; texts and what may be left out can be withheld")
	case parent.Kind == gate.KindArray:
		return fmt.Errorf("the elements of a list can't be withheld one by one; name the list, or a field of its elements")
	case parent.Kind == gate.KindMap && parent.MinItems > 0:
		return fmt.Errorf("%s has at least %d members, and clients insist on it", pathText(path[:len(path)-1]), parent.MinItems)
	}
	return nil
}

// redact is the hook that withholds.
func (p *Policy) redact(_ context.Context, call gate.HookCall, a gate.Answer) (gate.After, error) {
	c, ok := p.cuts[call.Tool]
	if !ok {
		return gate.After{}, nil
	}
	out := gate.Redacted{Text: c.text(a.Text), Refusal: a.Refusal}
	out.Refusal.Where = c.text(out.Refusal.Where)
	out.Refusal.Nearest = slices.Clone(out.Refusal.Nearest)
	for i := range out.Refusal.Nearest {
		out.Refusal.Nearest[i].Name = c.text(out.Refusal.Nearest[i].Name)
	}
	if len(a.Result) > 0 {
		n, err := parseNode(a.Result)
		if err != nil {
			return gate.After{}, err
		}
		gone := false
		for _, path := range c.fields {
			gone = n.withhold(path) || gone
		}
		if gone {
			out.Text = withheldText
			if a.Status == gate.StatusUnknown {
				out.Text += " What the call did can't be known, and it may have happened: do not send it again. Ask call_status with call_id " + a.CallID + "."
			}
		}
		n.texts(c.text)
		b, err := n.append(nil)
		if err != nil {
			return gate.After{}, err
		}
		out.Result = json.RawMessage(b)
	}
	return gate.After{Redact: &out}, nil
}

func (c cut) text(s string) string {
	for _, re := range c.pattern {
		s = re.ReplaceAllLiteralString(s, withheld)
	}
	return s
}

// withhold takes out what a path leads to, and reports whether there was anything. A
// text is replaced, since it may be one that has to be there.
func (n *node) withhold(path []part) bool {
	p, last := path[0], len(path) == 1
	gone := false
	for i := 0; i < len(n.kids); i++ {
		name := fmt.Sprint(i)
		if n.kind == '{' {
			name = n.names[i]
		}
		if !p.any && name != p.name {
			continue
		}
		kid := n.kids[i]
		switch {
		case !last:
			gone = kid.withhold(path[1:]) || gone
		case kid.kind == '"':
			gone, kid.text = gone || kid.text != withheld, withheld
		case n.kind == '{':
			n.names, n.kids = slices.Delete(n.names, i, i+1), slices.Delete(n.kids, i, i+1)
			i--
			gone = true
		}
	}
	return gone
}

// retry is the hook that has a read tried once more.
func (p *Policy) retryHook(_ context.Context, call gate.HookCall, a gate.Answer) (gate.After, error) {
	return gate.After{Retry: call.Tier == gate.TierRead && slices.Contains(p.retries[call.Tool], a.Code)}, nil
}
