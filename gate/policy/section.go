package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tau-robot/tau/gate"
)

// Section is [policy] of the settings file. The zero value bounds nothing.
type Section struct {
	// Allow lists the only tools that may be called; nil: all. Deny lists tools that
	// may not, whatever else says so.
	Allow []string `toml:"allow" json:"allow"`
	Deny  []string `toml:"deny" json:"deny"`

	Bounds []Bound  `toml:"bounds" json:"bounds"`
	Rates  Rates    `toml:"rates" json:"rates"`
	Budget Budget   `toml:"budget" json:"budget"`
	Roles  Roles    `toml:"roles" json:"roles"`
	Redact []Redact `toml:"redact" json:"redact"`
	Retry  []Retry  `toml:"retry" json:"retry"`
	Motion Motion   `toml:"motion" json:"motion"`
	Grants []Grant  `toml:"grants" json:"grants"`
}

// Bound bounds one argument of one tool, or of every tool that has it ("*").
type Bound struct {
	Tool     string   `toml:"tool" json:"tool"`
	Argument string   `toml:"argument" json:"argument"` // dotted; "*" is any member or element
	Min      *float64 `toml:"min" json:"min"`           // in the argument's own unit
	Max      *float64 `toml:"max" json:"max"`
	Values   []Value  `toml:"values" json:"values"` // the only ones allowed
}

// Rate is a token bucket.
type Rate struct {
	PerSecond float64 `toml:"per_second" json:"per_second"`
	Burst     int     `toml:"burst" json:"burst"`
}

// Rates are token buckets: one for all calls of a session, and one for the calls of a
// tool in a session.
type Rates struct {
	Session *Rate           `toml:"session" json:"session"`
	Tools   map[string]Rate `toml:"tools" json:"tools"`
}

// Budget bounds calls; see gate.Budget.
type Budget struct {
	CallsPerTurn    int     `toml:"calls_per_turn" json:"calls_per_turn"`
	CallsPerSession int     `toml:"calls_per_session" json:"calls_per_session"`
	TurnQuietS      float64 `toml:"turn_quiet_s" json:"turn_quiet_s"`
}

// Roles say who may use which tools, and whose yes counts.
type Roles struct {
	// Use lists the tools of each principal; "*" is everybody who isn't listed. Nobody
	// listed: not bounded. A tool "*" is every tool.
	Use map[string][]string `toml:"use" json:"use"`
	// Decide lists who may approve; nil: whoever the channel takes.
	Decide []string `toml:"decide" json:"decide"`
}

// Redact withholds parts of the results of one tool, or of every tool ("*").
type Redact struct {
	Tool    string   `toml:"tool" json:"tool"`
	Fields  []string `toml:"fields" json:"fields"`   // of the result, dotted; "*" is any member or element
	Pattern string   `toml:"pattern" json:"pattern"` // of texts, RE2
}

// Retry has a read that fails in one of these ways tried once more.
type Retry struct {
	Tools []string    `toml:"tools" json:"tools"`
	Codes []gate.Code `toml:"codes" json:"codes"`
}

// Bounds of a section, so that a policy can be read by whoever has to answer for it.
const (
	maxRules   = 256 // of one kind
	maxPattern = 1000
	maxName    = 128
)

// Check says what is wrong with the section by itself: the key, its value and what is
// allowed.
func (s *Section) Check() error {
	for _, l := range []struct {
		key string
		n   int
	}{
		{"bounds", len(s.Bounds)}, {"redact", len(s.Redact)}, {"retry", len(s.Retry)}, {"grants", len(s.Grants)},
		{"motion.zones", len(s.Motion.Zones)}, {"roles.use", len(s.Roles.Use)},
	} {
		if l.n > maxRules {
			return fmt.Errorf("policy.%s has %d entries: want at most %d", l.key, l.n, maxRules)
		}
	}
	for _, check := range []func() error{
		s.checkTools, s.checkBounds, s.Rates.check, s.Budget.check, s.Roles.check, s.checkRedact, s.checkRetry, s.Motion.Check, s.checkGrants,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// stops reports the two tools that no rule reaches (G6).
func stops(tool string) bool {
	return tool == string(gate.StopControlled) || tool == string(gate.StopEmergency)
}

func checkTool(key, tool string) error {
	switch {
	case tool == "":
		return fmt.Errorf(`%s is missing: want a tool's name, or "*" where every tool is meant`, key)
	case stops(tool):
		return fmt.Errorf("%s = %q: a stop is always allowed, no rule reaches it", key, tool)
	}
	return nil
}

func (s *Section) checkTools() error {
	for _, l := range []struct {
		key   string
		tools []string
	}{{"policy.allow", s.Allow}, {"policy.deny", s.Deny}} {
		for i, t := range l.tools {
			key := fmt.Sprintf("%s[%d]", l.key, i)
			if err := checkTool(key, t); err != nil {
				return err
			}
			if t == "*" {
				return fmt.Errorf(`%s = "*": want the names of tools; allow = [] allows none`, key)
			}
			if slices.Index(l.tools, t) < i {
				return fmt.Errorf("%s = %q: it is there twice", key, t)
			}
		}
	}
	return nil
}

func (s *Section) checkBounds() error {
	for i := range s.Bounds {
		b := &s.Bounds[i]
		key := fmt.Sprintf("policy.bounds[%d]", i)
		if err := checkTool(key+".tool", b.Tool); err != nil {
			return err
		}
		if _, err := parsePath(b.Argument); err != nil {
			return fmt.Errorf("%s.argument = %q: %w", key, b.Argument, err)
		}
		for _, l := range []struct {
			name string
			v    *float64
		}{{"min", b.Min}, {"max", b.Max}} {
			if l.v != nil && !finite(*l.v) {
				return fmt.Errorf("%s.%s = %g: want a finite number", key, l.name, *l.v)
			}
		}
		switch {
		case b.Min == nil && b.Max == nil && b.Values == nil:
			return fmt.Errorf("%s bounds nothing: want min, max or values", key)
		case b.Values != nil && (b.Min != nil || b.Max != nil):
			return fmt.Errorf("%s: want either min and max or values", key)
		case b.Min != nil && b.Max != nil && *b.Min > *b.Max:
			return fmt.Errorf("%s.min = %g: it is above max = %g", key, *b.Min, *b.Max)
		}
	}
	return nil
}

func (r Rate) check(key string) error {
	if !finite(r.PerSecond) || r.PerSecond <= 0 {
		return fmt.Errorf("%s.per_second = %g: want a number above 0", key, r.PerSecond)
	}
	if r.Burst < 1 {
		return fmt.Errorf("%s.burst = %d: want at least 1, or nothing could ever be called", key, r.Burst)
	}
	return nil
}

func (r *Rates) check() error {
	if r.Session != nil {
		if err := r.Session.check("policy.rates.session"); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		key := "policy.rates.tools." + name
		if err := checkTool(key, name); err != nil {
			return err
		}
		if err := r.Tools[name].check(key); err != nil {
			return err
		}
	}
	return nil
}

// maxQuiet bounds turn_quiet_s; more would be a budget of the session.
const maxQuietS = 86400

func (b *Budget) check() error {
	for _, n := range []struct {
		key string
		v   int
	}{{"calls_per_turn", b.CallsPerTurn}, {"calls_per_session", b.CallsPerSession}} {
		if n.v < 0 {
			return fmt.Errorf("policy.budget.%s = %d: want a number above 0; leave it out for no bound", n.key, n.v)
		}
	}
	if !finite(b.TurnQuietS) || b.TurnQuietS < 0 || b.TurnQuietS > maxQuietS {
		return fmt.Errorf("policy.budget.turn_quiet_s = %g: want seconds above 0 to %d", b.TurnQuietS, maxQuietS)
	}
	return nil
}

func (r *Roles) check() error {
	for _, who := range slices.Sorted(maps.Keys(r.Use)) {
		if err := checkName("policy.roles.use", who); err != nil {
			return err
		}
		for i, t := range r.Use[who] {
			if err := checkTool(fmt.Sprintf("policy.roles.use.%s[%d]", who, i), t); err != nil {
				return err
			}
		}
	}
	for i, who := range r.Decide {
		if err := checkName(fmt.Sprintf("policy.roles.decide[%d]", i), who); err != nil {
			return err
		}
	}
	return nil
}

func checkName(key, name string) error {
	if name == "" || len(name) > maxName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }) {
		return fmt.Errorf("%s: %q: want a name of 1 to %d bytes", key, name, maxName)
	}
	return nil
}

// retryable are the ways in which a read may fail and succeed a moment later.
var retryable = [...]gate.Code{
	gate.CodeStaleState, gate.CodeDisconnected, gate.CodeLinkTimeout, gate.CodeBusy, gate.CodeInternal,
}

func (s *Section) checkRetry() error {
	for i, r := range s.Retry {
		key := fmt.Sprintf("policy.retry[%d]", i)
		if len(r.Tools) == 0 || len(r.Codes) == 0 {
			return fmt.Errorf("%s: want tools and codes", key)
		}
		for j, t := range r.Tools {
			if err := checkTool(fmt.Sprintf("%s.tools[%d]", key, j), t); err != nil {
				return err
			}
		}
		for j, c := range r.Codes {
			if !slices.Contains(retryable[:], c) {
				return fmt.Errorf("%s.codes[%d] = %q: want one of %s", key, j, c, list(retryable[:]))
			}
		}
	}
	return nil
}

func list[T ~string](all []T) string {
	out := make([]string, len(all))
	for i, v := range all {
		out[i] = string(v)
	}
	return strings.Join(out, ", ")
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// Value is a value that an argument may have: a string, a number or a truth value.
type Value struct{ is any }

// UnmarshalTOML implements toml.Unmarshaler.
func (v *Value) UnmarshalTOML(in any) error {
	switch x := in.(type) {
	case string, bool:
		v.is = x
		return nil
	case int64:
		v.is = float64(x)
		return nil
	case float64:
		if finite(x) {
			v.is = x
			return nil
		}
	}
	return fmt.Errorf("values: %v: want strings, finite numbers or truth values", in)
}

// MarshalJSON writes the value, for the policy's hash.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.is) }

func (v Value) String() string {
	b, err := v.MarshalJSON()
	if err != nil { // it is a string, a finite number or a truth value
		return "?"
	}
	return string(b)
}
