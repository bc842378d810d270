package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tau-robot/tau/gate"
)

// The tools that stop (G6). They are matched by name, before anything else.
const (
	toolStop   = "stop"
	toolEStop  = "estop"
	toolCancel = "cancel_call"
)

func isStop(tool string) bool { return tool == toolStop || tool == toolEStop }

// The keys under a tool's _meta, for hubs that show them.
const (
	metaTier   = "tau/tier"
	metaEffect = "tau/effect"
)

// sdkTool describes a tool to clients. The annotations follow from the tier alone,
// and where a tier doesn't tell they say the worse.
func sdkTool(spec gate.Spec) (*sdk.Tool, error) {
	if !spec.Tier.Valid() {
		return nil, fmt.Errorf("mcp: tool %q has no tier", spec.Name)
	}
	if spec.Input == nil {
		return nil, fmt.Errorf("mcp: tool %q has no input schema", spec.Name)
	}
	effect := spec.Effect
	if effect == "" {
		effect = spec.Description
	}
	return &sdk.Tool{
		Name:         spec.Name,
		Description:  spec.Description,
		InputSchema:  json.RawMessage(spec.Input.JSON()),
		OutputSchema: outputSchema(spec.Output),
		Annotations:  annotations(spec),
		Meta:         sdk.Meta{metaTier: spec.Tier.Number(), metaEffect: effect},
	}, nil
}

// dialect is the member of a schema's root that has no place in a part of another.
var dialect = regexp.MustCompile(`^\{"\$schema":"[^"]*",?`)

func annotations(spec gate.Spec) *sdk.ToolAnnotations {
	var (
		read     = spec.Tier == gate.TierRead
		physical = spec.Tier == gate.TierPhysical
		// A stop must never wait for somebody's "allow a destructive tool?".
		harmless = read || isStop(spec.Name) || spec.Name == toolCancel
		destroys = !harmless
	)
	return &sdk.ToolAnnotations{
		ReadOnlyHint:    read,
		DestructiveHint: &destroys,
		IdempotentHint:  harmless,
		OpenWorldHint:   &physical,
	}
}

// quantitySchema is the schema of a gate.Quantity.
const quantitySchema = `{"type":"object","required":["value"],"properties":{` +
	`"name":{"type":"string"},"value":{"type":"number"},"unit":{"type":"string"}}}`

// outputSchema is the schema of structuredContent: the answer, with the tool's own
// output schema for the result of a call that ended well. A call that didn't end
// well still says what was measured, and that may be less.
func outputSchema(out *gate.Schema) json.RawMessage {
	var own []byte
	if out != nil {
		own = fmt.Appendf(nil, `,"if":{"properties":{"status":{"const":"ok"}}},"then":{"properties":{"result":%s}}`,
			dialect.ReplaceAll(out.JSON(), []byte("{")))
	}
	return fmt.Appendf(nil, `{"type":"object","required":["status","approval","duration_ms"],"properties":{`+
		`"status":{"type":"string","enum":["ok","refused","error","cancelled","unknown","pending"]},`+
		`"tool":{"type":"string"},`+
		`"code":{"type":"string","description":"why the call wasn't carried out"},`+
		`"text":{"type":"string"},`+
		`"where":{"type":"string","description":"what was refused: a field of the arguments, a joint, a link, a place"},`+
		`"value":%[1]s,"limit":%[1]s,`+
		`"nearest":{"type":"array","items":%[1]s,"description":"the nearest admissible alternative"},`+
		`"result":{"type":"object","description":"what was measured, or read"},`+
		`"approval":{"type":"string","enum":["none","approved","rejected","timeout","exempt"]},`+
		`"call_id":{"type":"string","description":"for call_status and cancel_call"},`+
		`"session":{"type":"string"},`+
		`"mode":{"type":"string","description":"sim or real"},`+
		`"backend":{"type":"string","description":"the backend that answered"},`+
		`"digest":{"type":"string","description":"SHA-256 of what a person is asked, hex"},`+
		`"expires_at":{"type":"string","format":"date-time","description":"when the open question expires"},`+
		`"duration_ms":{"type":"number"}}%[2]s}`, quantitySchema, own)
}
