package gate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"
)

// demoTool shows the whole flow of a physical call and moves nothing (G5).
type demoTool struct{}

type demoAction struct {
	Args    json.RawMessage `json:"arguments"`
	Backend string          `json:"backend"`
}

var (
	_ Tool   = demoTool{}
	_ Action = (*demoAction)(nil)
)

func (demoTool) Spec() Spec {
	return Spec{
		Name: toolDemo, Tier: TierPhysical,
		Description: "Goes through approval like a physical command and moves nothing. Use it to see the flow.",
		Effect:      "Nothing moves; this only shows how an approval works.",
		Input:       Obj(Opt("note", Str(200).Desc("A text for the approval card"))),
		Output:      Obj(Req("moved", Bool())),
	}
}

func (demoTool) Prepare(_ context.Context, call Call) (Action, error) {
	return &demoAction{Args: call.Args, Backend: call.Session.Backend}, nil
}

func (demoTool) Restore(_ context.Context, snapshot []byte) (Action, error) {
	var a demoAction
	if err := json.Unmarshal(snapshot, &a); err != nil {
		return nil, Errf(CodeInvalidArgument, "snapshot", "%w", err)
	}
	return &a, nil
}

func (a *demoAction) Card() Card {
	return Card{Facts: []Fact{{Label: "Moves", Text: "nothing"}}}
}

func (a *demoAction) Digest() [32]byte {
	b, err := json.Marshal(a)
	if err != nil { // arguments that passed the schema are JSON
		return [32]byte{}
	}
	return sha256.Sum256(append([]byte("tau demo action 1\x00"), b...))
}

func (a *demoAction) Snapshot() ([]byte, error)   { return json.Marshal(a) }
func (a *demoAction) Expiry() time.Time           { return time.Time{} }
func (a *demoAction) Resource() string            { return a.Backend }
func (a *demoAction) Check(context.Context) error { return nil }
func (a *demoAction) Run(ctx context.Context) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, ended(ctx)
	}
	return Result{Text: "Done. Nothing moved.", Data: json.RawMessage(`{"moved":false}`)}, nil
}
