package policy

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tau-robot/tau/gate"
)

// Policy is a section that has been held against a catalog.
type Policy struct {
	section Section
	hash    [32]byte
	allow   map[string]bool
	deny    map[string]bool
	bounds  map[string][]rule
	cuts    map[string]cut
	retries map[string][]gate.Code
	use     map[string]map[string]bool
	decide  map[string]bool
}

var _ gate.Roles = (*Policy)(nil)

// Compile checks a section against all tools that there will be, gate.OwnSpecs among
// them, and returns the policy. It keeps what it is given.
func Compile(s Section, specs []gate.Spec) (*Policy, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	p := &Policy{section: s, allow: set(s.Allow), deny: set(s.Deny)}
	tiers := make(map[string]gate.Tier, len(specs))
	for _, spec := range specs {
		tiers[spec.Name] = spec.Tier
	}
	for _, err := range []error{
		p.checkNames(tiers), p.compileRetry(tiers),
	} {
		if err != nil {
			return nil, err
		}
	}
	var err error
	if p.bounds, err = compileBounds(&s, specs); err != nil {
		return nil, err
	}
	if p.cuts, err = compileRedact(&s, specs); err != nil {
		return nil, err
	}
	if s.Roles.Use != nil {
		p.use = map[string]map[string]bool{}
		for who, tools := range s.Roles.Use {
			p.use[who] = set(tools)
		}
	}
	p.decide = set(s.Roles.Decide)
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	p.hash = hashOf(b)
	return p, nil
}

func set(names []string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, n := range names {
		out[n] = true
	}
	return out
}

// checkNames refuses a rule about a tool that isn't there.
func (p *Policy) checkNames(tiers map[string]gate.Tier) error {
	known := func(key, tool string) error {
		if _, ok := tiers[tool]; ok || tool == "*" {
			return nil
		}
		names := slices.Sorted(maps.Keys(tiers))
		return fmt.Errorf("%s = %q: there is no such tool; there are %s", key, tool, strings.Join(names, ", "))
	}
	s := &p.section
	var all []error
	look := func(key string, tools ...string) {
		for i, t := range tools {
			all = append(all, known(fmt.Sprintf("policy.%s[%d]", key, i), t))
		}
	}
	look("allow", s.Allow...)
	look("deny", s.Deny...)
	for i, b := range s.Bounds {
		all = append(all, known(fmt.Sprintf("policy.bounds[%d].tool", i), b.Tool))
	}
	for i, r := range s.Redact {
		all = append(all, known(fmt.Sprintf("policy.redact[%d].tool", i), r.Tool))
	}
	for i, r := range s.Retry {
		look(fmt.Sprintf("retry[%d].tools", i), r.Tools...)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Rates.Tools)) {
		all = append(all, known("policy.rates.tools", name))
	}
	for _, who := range slices.Sorted(maps.Keys(s.Roles.Use)) {
		look("roles.use."+who, s.Roles.Use[who]...)
	}
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *Policy) compileRetry(tiers map[string]gate.Tier) error {
	p.retries = map[string][]gate.Code{}
	for i, r := range p.section.Retry {
		for j, t := range r.Tools {
			if t == "*" {
				for name, tier := range tiers {
					if tier == gate.TierRead {
						p.retries[name] = append(p.retries[name], r.Codes...)
					}
				}
				continue
			}
			if tier, ok := tiers[t]; ok && tier != gate.TierRead {
				return fmt.Errorf("policy.retry[%d].tools[%d] = %q: it is of tier %s, and only reads (tier 0) are tried again", i, j, t, tier)
			}
			p.retries[t] = append(p.retries[t], r.Codes...)
		}
	}
	return nil
}

// Hooks are the policy's hooks, to be registered behind every other one: those that have
// something to do.
func (p *Policy) Hooks() []gate.Hook {
	var out []gate.Hook
	if p.section.Allow != nil || len(p.deny) > 0 {
		out = append(out, gate.Hook{Name: "policy.tools", BeforeCall: p.tools})
	}
	if len(p.bounds) > 0 {
		out = append(out, gate.Hook{Name: "policy.bounds", BeforeCall: p.beforeCall})
	}
	if len(p.cuts) > 0 {
		out = append(out, gate.Hook{Name: "policy.redact", AfterCall: p.redact})
	}
	if len(p.retries) > 0 {
		out = append(out, gate.Hook{Name: "policy.retry", AfterCall: p.retryHook})
	}
	return out
}

// empty reports a section that says nothing at all.
func (p *Policy) empty() bool {
	b, err := json.Marshal(Section{})
	return err == nil && p.hash == hashOf(b)
}

func hashOf(section []byte) [32]byte {
	return sha256.Sum256(append([]byte("tau policy 1\n"), section...))
}

// Apply hands the policy to a gate that is about to be made: its hooks behind those of
// cfg.Hooks, which is made where there is none, its rates, budget, roles and hash. The
// places must be empty, so that nothing that was stricter is overwritten. An empty
// section leaves everything as it is.
func (p *Policy) Apply(cfg *gate.Config) error {
	if cfg.Roles != nil || cfg.Policy != nil || cfg.Budget != (gate.Budget{}) || cfg.Rates.Session != nil || cfg.Rates.Tools != nil {
		return fmt.Errorf("policy: the gate has roles, rates, a budget or a policy of its own already")
	}
	if p.empty() {
		return nil
	}
	if cfg.Hooks == nil {
		cfg.Hooks = gate.NewHooks()
	}
	if err := cfg.Hooks.Register(p.Hooks()...); err != nil {
		return err
	}
	cfg.Roles, cfg.Policy = p, p.Hash
	cfg.Budget, cfg.Rates = p.Budget(), p.Rates()
	return nil
}

// Hash is over the whole section.
func (p *Policy) Hash() [32]byte { return p.hash }

// Section is what the policy was made of. The caller must not change what it points to.
func (p *Policy) Section() *Section { return &p.section }

// MayUse implements gate.Roles.
func (p *Policy) MayUse(principal, tool string) bool {
	if p.use == nil || always(tool) {
		return true
	}
	tools, listed := p.use[principal]
	if !listed {
		tools = p.use["*"]
	}
	return tools[tool] || tools["*"]
}

// MayDecide implements gate.Roles.
func (p *Policy) MayDecide(decider string) bool {
	return p.section.Roles.Decide == nil || p.decide[decider]
}

// Rates are the policy's rate limits.
func (p *Policy) Rates() gate.RateLimits {
	in := p.section.Rates
	var out gate.RateLimits
	if in.Session != nil {
		out.Session = &gate.Rate{PerSecond: in.Session.PerSecond, Burst: in.Session.Burst}
	}
	for name, r := range in.Tools {
		if out.Tools == nil {
			out.Tools = map[string]gate.Rate{}
		}
		out.Tools[name] = gate.Rate{PerSecond: r.PerSecond, Burst: r.Burst}
	}
	return out
}

// Budget is the policy's budget of calls.
func (p *Policy) Budget() gate.Budget {
	in := p.section.Budget
	return gate.Budget{
		CallsPerTurn: in.CallsPerTurn, CallsPerSession: in.CallsPerSession,
		TurnQuiet: time.Duration(in.TurnQuietS * float64(time.Second)),
	}
}
