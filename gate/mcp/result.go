package mcp

import (
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tau-robot/tau/gate"
)

// content returns what a client sees of an answer: the text for the model alone in
// the first block, the whole answer as JSON in structuredContent, which outputSchema
// describes, and that again in a second block where the text alone would lose
// something to a client that knows no structuredContent. An answer that isn't ok or
// pending is an error.
func content(a gate.Answer) (text string, data []byte, second, isError bool) {
	if a.Status == "" { // an answer that says nothing is not a success
		a.Status = gate.StatusUnknown
	}
	if a.Approval == "" {
		a.Approval = gate.ApprovalNone
	}
	text = a.Text
	if text == "" && a.Status == gate.StatusPending {
		text = "Not ended yet: fetch the rest with call_status and this call_id."
	}
	if text == "" {
		text = string(a.Status)
		if a.Code != "" {
			text += ": " + string(a.Code)
		}
	}
	isError = a.Status != gate.StatusOK && a.Status != gate.StatusPending
	r := a.Refusal
	second = len(a.Result) > 0 || a.Status == gate.StatusPending || r.Value != nil || r.Limit != nil || len(r.Nearest) > 0
	return text, a.JSON(), second, isError
}

func sdkResult(a gate.Answer) *sdk.CallToolResult {
	text, data, second, isError := content(a)
	r := &sdk.CallToolResult{
		Content:           []sdk.Content{&sdk.TextContent{Text: text}},
		StructuredContent: json.RawMessage(data),
		IsError:           isError,
	}
	if second {
		r.Content = append(r.Content, &sdk.TextContent{Text: string(data)})
	}
	return r
}

// errorAnswer is an answer that this package has to give itself.
func errorAnswer(tool string, status gate.Status, code gate.Code, text string) gate.Answer {
	return gate.Answer{Tool: tool, Status: status, Code: code, Text: text, Approval: gate.ApprovalNone}
}
