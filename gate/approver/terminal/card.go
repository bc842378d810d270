package terminal

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tau-robot/tau/gate"
)

// Question is the last line of a card, where the answer is typed.
const Question = "  Approve? [y/N] "

// Card returns the card of a request as text, without Question: one block of
// lines, each with its newline. Every string in it went through gate.Escape, so
// nothing in a request can end a line, move the cursor or hide; nothing is cut.
func Card(req gate.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "⚠️  Approval needed (tier %d)\n", req.Tier.Number())
	line := func(label, text string) {
		b.WriteString("  " + label + ": " + text + "\n")
	}
	args := canonical(req.Args)
	line("Tool", gate.Escape(req.Tool))
	line("Arguments", gate.EscapeJSON(args))
	line("Effect", gate.Escape(req.Effect))
	line("Session", fmt.Sprintf("%s (mode %s, backend %s)", orUnknown(req.Session.Name), orUnknown(string(req.Session.Mode)), orUnknown(req.Session.Backend)))
	line("Asked by", fmt.Sprintf("%s, from %s", orUnknown(req.Principal), orUnknown(req.Origin)))
	for _, f := range req.Card.Facts {
		line(gate.Escape(f.Label), gate.Escape(f.Text))
	}
	for _, a := range req.Card.Assumed {
		line("Assumed, not known", gate.Escape(a))
	}
	if words := mixedScripts(req, args); len(words) > 0 {
		line("Mixed scripts (letters that may not be what they look like)", strings.Join(words, ", "))
	}
	if slices.ContainsFunc(texts(req, args), gate.RightToLeft) {
		line("Right-to-left letters", "this terminal may show them and what is beside them in another order")
	}
	if !req.Expiry.IsZero() {
		in := ""
		if !req.Asked.IsZero() {
			in = fmt.Sprintf(" (%s after it was asked)", req.Expiry.Sub(req.Asked).Round(time.Second))
		}
		line("Expires", req.Expiry.UTC().Format("2006-01-02 15:04:05 UTC")+in)
	}
	if req.CallID != "" {
		line("Call", gate.Escape(req.CallID))
	}
	line("Digest", hex.EncodeToString(req.Digest[:8]))
	return b.String()
}

// canonical returns JSON with its keys sorted (RFC 8785), as a gate gives it
// anyway, and what isn't JSON as it is.
func canonical(args json.RawMessage) []byte {
	v := jsontext.Value(args).Clone()
	if len(v) == 0 {
		return []byte("{}")
	}
	if v.Canonicalize() != nil {
		return args
	}
	return v
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return gate.Escape(s)
}

// texts returns every string of a card that comes from elsewhere.
func texts(req gate.Request, args []byte) []string {
	all := []string{req.Tool, string(args), req.Effect, req.Session.Name, string(req.Session.Mode), req.Session.Backend, req.Principal, req.Origin, req.CallID}
	for _, f := range req.Card.Facts {
		all = append(all, f.Label, f.Text)
	}
	return append(all, req.Card.Assumed...)
}

// mixedScripts returns the flagged words, escaped and quoted, each once.
func mixedScripts(req gate.Request, args []byte) []string {
	var words []string
	for _, s := range texts(req, args) {
		for _, w := range gate.MixedScripts(s) {
			if q := `"` + gate.Escape(w) + `"`; !slices.Contains(words, q) {
				words = append(words, q)
			}
		}
	}
	return words
}
