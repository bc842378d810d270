package gate

import (
	"context"
	"encoding/json"
	"sync"
)

// Hooked is what a hook is told of an invocation: copies of live state, never of
// anything that came with the arguments.
type Hooked struct {
	CallID    string
	Session   Session
	Principal string
	Origin    string // the channel that it came by
	Turn      string // the front end's name for the turn; "" where it has none
	Batch     Batch  // the zero value: it came alone
}

// HookCall is a call as a hook sees it. Changing it changes nothing.
type HookCall struct {
	Hooked
	Tool string
	Tier Tier
	Args json.RawMessage // canonical, valid under the tool's schema; nil after a call whose own weren't
	Ran  bool            // for after hooks: the tool's Run was called
}

// Step is all that was asked for at once: a batch, or one call.
type Step struct {
	Session   Session
	Principal string
	Origin    string
	Turn      string
	Calls     []StepCall // in their order
}

// StepCall is one call of a step.
type StepCall struct {
	CallID  string
	Tool    string
	Tier    Tier            // not valid where the tool isn't known
	Args    json.RawMessage // as HookCall has them
	Refused bool            // by the gate already: unknown tool, arguments that aren't valid
}

// ModelStep is one step of a model that a front end is about to ask.
type ModelStep struct {
	Session   string
	Principal string
	Origin    string
	Turn      string
	Tokens    int // used so far in this turn, as far as the front end knows
}

// Change is what a before-call hook wants. The zero value changes nothing.
type Change struct {
	// Refuse ends the call. A code that is left out is NOT_APPROVED, a text that is left
	// out says that the operator's rules refuse it.
	Refuse *Error
	Tool   string          // another tool in its place; "" leaves it
	Args   json.RawMessage // other arguments; nil leaves them
}

// After is what an after-call hook wants. The zero value changes nothing.
type After struct {
	Redact *Redacted
	// Retry asks for one more run. Only tools of tier 0 are run again, and only once,
	// however many hooks ask for it.
	Retry bool
}

// Redacted takes the place of what an answer says. Status, code and approval stay.
type Redacted struct {
	Text    string
	Result  json.RawMessage // a JSON object, or nil
	Refusal Refusal
}

// Hook is what an operator's rule does around calls. Functions that are nil do
// nothing; each must return promptly, and may run in any number of goroutines at once.
//
// The before functions run in the order of registration, the after functions in the
// reverse one. An error or a panic is a fault of the hook: it is recorded as an error
// event under the hook's name, a before function's refuses (G22), and an after
// function's withholds the result. stop and estop never come by.
//
// Nothing here can permit: the gate judges last, on what the hooks have left (G21).
type Hook struct {
	Name string // for the log; unique
	// BeforeBatch sees all calls of a step; refuse cancels all of them.
	BeforeBatch func(ctx context.Context, s Step) (refuse *Error, err error)
	// BeforeCall sees a call whose arguments are valid, changed by the hooks before it.
	BeforeCall func(ctx context.Context, c HookCall) (Change, error)
	// AfterCall sees the answer of each call to a known tool, whether it ran, failed or
	// was refused, and before anybody else does: what it takes out reaches neither the
	// caller nor the event, the stored answer or call_status. Of what is stored it may
	// be asked again, with answers that it has redacted already.
	AfterCall func(ctx context.Context, c HookCall, a Answer) (After, error)
	// BeforeModel sees what a front end is about to ask its model; refuse ends the turn.
	BeforeModel func(ctx context.Context, s ModelStep) (refuse *Error, err error)
}

func (h Hook) before() bool {
	return h.BeforeBatch != nil || h.BeforeCall != nil || h.BeforeModel != nil
}

// GateHook is the name of the gate's own place among the hooks. A Hook of that name
// without functions puts it there; else it stands behind all of them.
const GateHook = "gate"

// Hooks is the registry. New seals it; before that its methods may be called from any
// goroutine.
type Hooks struct {
	mu     sync.Mutex
	sealed bool
	list   []Hook
}

// NewHooks returns an empty registry.
func NewHooks() *Hooks { return &Hooks{} }

// Register adds hooks behind those that are there, all or none.
func (r *Hooks) Register(hooks ...Hook) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sealed {
		return Errf(CodeInvalidArgument, "hooks", "the registry is sealed; no hook can be registered any more")
	}
	names := make(map[string]bool, len(r.list)+len(hooks))
	for _, h := range r.list {
		names[h.Name] = true
	}
	for i, h := range hooks {
		if h.Name == "" {
			return Errf(CodeInvalidArgument, "hooks", "number %d has no name; none of the set was registered", i)
		}
		if names[h.Name] {
			return Errf(CodeInvalidArgument, "hooks."+clip(h.Name, maxName), "is registered already; none of the set was registered")
		}
		names[h.Name] = true
	}
	r.list = append(r.list, hooks...)
	return nil
}

// pipeline is the hooks by what they do, each list in the order in which it runs.
type pipeline struct {
	batch, call, model, after []Hook
}

// seal ends the registering and builds the pipeline, unless a before function would
// run at the gate's place or behind it: the gate judges last (G21).
func (r *Hooks) seal() (pipeline, error) {
	var p pipeline
	if r == nil {
		return p, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	behind := false
	for _, h := range r.list {
		if h.Name == GateHook {
			behind = true
			if h.AfterCall != nil {
				return pipeline{}, Errf(CodeInvalidArgument, "config.hooks", "the gate's place (%q) can't have a function of its own", GateHook)
			}
		}
		if behind && h.before() {
			return pipeline{}, Errf(CodeInvalidArgument, "config.hooks", "%q has a before function and stands at the gate or behind it; the gate judges last", clip(h.Name, maxName))
		}
		if h.BeforeBatch != nil {
			p.batch = append(p.batch, h)
		}
		if h.BeforeCall != nil {
			p.call = append(p.call, h)
		}
		if h.BeforeModel != nil {
			p.model = append(p.model, h)
		}
	}
	for i := len(r.list) - 1; i >= 0; i-- {
		if r.list[i].AfterCall != nil {
			p.after = append(p.after, r.list[i])
		}
	}
	r.sealed = true
	return p, nil
}
