package gate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Bounds of a routine.
const (
	maxSteps   = 20
	maxFirings = 100
)

// routineStep is one call of a routine: what is stored of it, and what it is in this
// process.
type routineStep struct {
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"arguments"` // canonical
	Snapshot []byte          `json:"snapshot"`

	entry    *entry
	action   Action
	own      [32]byte // the action's digest
	resource string
	card     Card
}

// notAStep are the names of tools that a routine never has, whatever they can do:
// what a person's yes releases or permits is theirs each time.
func notAStep(tool string) bool {
	return isReserved(tool) || tool == "estop_reset"
}

// steppable lists the tools that can be a step.
func (g *Gate) steppable() string {
	var names []string
	for _, s := range g.cat.Specs() {
		if _, ok := g.cat.lookup(s.Name).tool.(Chained); ok && !notAStep(s.Name) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return "none here"
	}
	return strings.Join(names, ", ")
}

// prepareStep checks and prepares a step as a call of its own would be, from where
// the steps before it end (G14).
func (g *Gate) prepareStep(ctx context.Context, of Call, tool string, raw json.RawMessage, before []Action) (*routineStep, error) {
	e := g.cat.lookup(tool)
	if e == nil {
		return nil, Errf(CodeInvalidArgument, "tool", "%q is not registered; those that can be a step: %s", clip(tool, maxName), g.steppable())
	}
	chained, ok := e.tool.(Chained)
	if !ok || notAStep(tool) || e.spec.Tier != TierPhysical {
		return nil, Errf(CodeInvalidArgument, "tool", "%s can't be a step of a routine; those that can: %s", tool, g.steppable())
	}
	args, err := DecodeStrict(e.spec.Input, raw)
	if err != nil {
		return nil, prefix(err, "arguments")
	}
	c := &call{
		g: g, id: of.ID, entry: e, start: g.cfg.Now(), args: args, session: of.Session, epoch: of.Epoch,
		inv: Invocation{Tool: tool, Args: args, Session: of.Session.Name, Principal: of.Principal, Origin: of.Origin, Progress: of.Progress},
	}
	if err := g.mayUse(of.Principal, tool); err != nil {
		return nil, err
	}
	if err := g.beforeCall(ctx, c); err != nil {
		return nil, err
	}
	if c.inv.Tool != tool || !bytes.Equal(c.args, args) {
		return nil, Errf(CodeNotApproved, "", "the operator's rules would change this call to %s %s; a routine has it only as they leave it", c.inv.Tool, clip(string(c.args), 512))
	}
	if err := e.live(true); err != nil {
		return nil, err
	}
	s := &routineStep{Tool: tool, Args: args, entry: e}
	s.action, err = guard(tool, func() (Action, error) { return chained.PrepareAfter(ctx, c.forTool(), slices.Clone(before)) })
	if err != nil {
		return nil, asError(err, CodeInternal)
	}
	if err := s.describe(); err != nil {
		return nil, err
	}
	if s.Snapshot, err = guard(tool, func() ([]byte, error) { return s.action.Snapshot() }); err == nil && len(s.Snapshot) == 0 {
		err = Errf(CodeInternal, tool, "has no snapshot, so it couldn't be fired")
	}
	if err != nil {
		return nil, asError(err, CodeInternal)
	}
	return s, nil
}

// restoreStep makes a step's action again from its snapshot.
func (g *Gate) restoreStep(ctx context.Context, s *routineStep) error {
	if s.entry = g.cat.lookup(s.Tool); s.entry == nil {
		return Errf(CodeNotApproved, "tool", "%q is not registered any more", clip(s.Tool, maxName))
	}
	if err := s.entry.live(true); err != nil {
		return err
	}
	var err error
	s.action, err = guard(s.Tool, func() (Action, error) { return s.entry.tool.Restore(ctx, bytes.Clone(s.Snapshot)) })
	if err == nil {
		err = s.describe()
	}
	if err != nil {
		return asError(err, CodeInternal)
	}
	return nil
}

// describe reads what a step's action says of itself.
func (s *routineStep) describe() error {
	p := plan{action: s.action}
	if err := p.describe(s.Tool); err != nil {
		return err
	}
	s.own, s.resource, s.card = p.own, p.resource, p.card
	return nil
}

// routineDigest is over everything that a firing is held against (G14): what the tools
// are, what the steps do, the session, the principal, the policy and how often. What
// the actions stand on, robot, scene, limits and calibration, is in their digests.
func (g *Gate) routineDigest(name string, s Session, principal string, firings int, steps []*routineStep) ([32]byte, error) {
	policy, err := g.policy()
	if err != nil {
		return [32]byte{}, err
	}
	type one struct {
		Tool     string          `json:"tool"`
		Tier     Tier            `json:"tier"`
		Effect   string          `json:"effect"`
		Schema   string          `json:"schema"`
		Args     json.RawMessage `json:"arguments"`
		Resource string          `json:"resource"`
		Action   string          `json:"action"`
	}
	all := make([]one, len(steps))
	for i, x := range steps {
		if err := x.entry.live(true); err != nil {
			return [32]byte{}, err
		}
		own, err := guard(x.Tool, func() ([32]byte, error) { return x.action.Digest(), nil })
		if err != nil {
			return [32]byte{}, err
		}
		if own == ([32]byte{}) {
			return [32]byte{}, Errf(CodeInternal, x.Tool, "its action has no digest any more")
		}
		all[i] = one{x.Tool, x.entry.spec.Tier, x.entry.spec.Effect, hexOf(x.entry.inputHash), x.Args, x.resource, hexOf(own)}
	}
	return digestOf("tau routine 1", struct {
		Name      string  `json:"name"`
		Session   Session `json:"session"`
		Principal string  `json:"principal"`
		Policy    string  `json:"policy"`
		Firings   int     `json:"firings"`
		Steps     []one   `json:"steps"`
	}{name, s, principal, hexOf(policy), firings, all})
}

// at puts the place of a step in front of an error's.
func at(i int, err error) error {
	if err == nil {
		return nil
	}
	e := *asError(err, CodeInternal) // the tool's own stays as it is
	return prefix(&e, fmt.Sprintf("steps[%d]", i))
}

// stepFacts are what a card says of a step: all that its own card would.
func stepFacts(i int, s *routineStep) []Fact {
	facts := []Fact{{fmt.Sprintf("Step %d", i+1), fmt.Sprintf("%s %s: %s", s.Tool, s.Args, s.entry.spec.Effect)}}
	for _, f := range s.card.Facts {
		facts = append(facts, Fact{fmt.Sprintf("%d. %s", i+1, f.Label), f.Text})
	}
	return facts
}
