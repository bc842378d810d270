package gate

import (
	"context"
	"time"
)

// Func makes a tool of tier 0 or 1 from a function that needs no preparing. A
// physical one can't be registered (G12). f may run in any number of goroutines
// at once; it returns *Error errors, and should end soon after ctx has.
func Func(spec Spec, f func(ctx context.Context, call Call) (Result, error)) Tool {
	return &funcTool{spec: spec, f: f}
}

type funcTool struct {
	spec Spec
	f    func(context.Context, Call) (Result, error)
}

func (t *funcTool) Spec() Spec { return t.spec }

func (t *funcTool) Prepare(_ context.Context, call Call) (Action, error) {
	if t.f == nil || t.spec.Tier == TierPhysical {
		return nil, Errf(CodeNotSupported, t.spec.Name, "can't be prepared")
	}
	return &funcAction{tool: t, call: call}, nil
}

func (t *funcTool) Restore(context.Context, []byte) (Action, error) {
	return nil, Errf(CodeNotSupported, t.spec.Name, "has nothing to restore")
}

type funcAction struct {
	tool *funcTool
	call Call
}

func (a *funcAction) Card() Card        { return Card{} }
func (a *funcAction) Digest() [32]byte  { return [32]byte{} }
func (a *funcAction) Expiry() time.Time { return time.Time{} }
func (a *funcAction) Resource() string  { return "" }
func (a *funcAction) Snapshot() ([]byte, error) {
	return nil, Errf(CodeNotSupported, a.tool.spec.Name, "has no snapshot")
}
func (a *funcAction) Check(context.Context) error { return nil }
func (a *funcAction) Run(ctx context.Context) (Result, error) {
	return a.tool.f(ctx, a.call)
}
