// Package card writes the card of a request as text, for every channel that shows
// one (G30). It imports gate and gate/words and nothing else of ours, and nothing
// that an agent reaches may import it.
package card

import (
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/words"
)

// Line is one line of a card. Both of its texts went through gate.Escape, so that
// nothing in a request can end a line, move a cursor or hide.
type Line struct{ Label, Text string }

// Lines returns all that a card says behind its first line, which is
// words.Lang.CardNeeded. Nothing is cut. The slice is the caller's.
func Lines(l words.Lang, req gate.Request) []Line {
	args := canonical(req.Args)
	known := func(s string) string {
		if s == "" {
			return l.CardUnknown()
		}
		return gate.Escape(s)
	}
	lines := []Line{
		{l.CardTool(), gate.Escape(req.Tool)},
		{l.CardArguments(), gate.EscapeJSON(args)},
		{l.CardEffect(), gate.Escape(req.Effect)},
		{l.CardSession(), l.CardSessionText(known(req.Session.Name), known(string(req.Session.Mode)), known(req.Session.Backend))},
	}
	if req.Session.OptIn != "" {
		lines = append(lines, Line{l.CardOptIn(), gate.Escape(req.Session.OptIn)})
	}
	lines = append(lines, Line{l.CardAskedBy(), l.CardAskedByText(known(req.Principal), known(req.Origin))})
	for _, f := range req.Card.Facts {
		lines = append(lines, Line{gate.Escape(words.Fact(l, f.Label)), gate.Escape(f.Text)})
	}
	for _, a := range req.Card.Assumed {
		lines = append(lines, Line{l.CardAssumed(), gate.Escape(a)})
	}
	if found := mixedScripts(req, args); len(found) > 0 {
		lines = append(lines, Line{l.CardMixedScripts(), strings.Join(found, ", ")})
	}
	if slices.ContainsFunc(texts(req, args), gate.RightToLeft) {
		lines = append(lines, Line{l.CardRightToLeft(), l.CardRightToLeftText()})
	}
	if !req.Expiry.IsZero() {
		at := req.Expiry.UTC().Format("2006-01-02 15:04:05 UTC")
		if !req.Asked.IsZero() {
			at += " " + l.CardExpiresAfter(req.Expiry.Sub(req.Asked).Round(time.Second).String())
		}
		lines = append(lines, Line{l.CardExpires(), at})
	}
	if req.CallID != "" {
		lines = append(lines, Line{l.CardCall(), gate.Escape(req.CallID)})
	}
	return append(lines, Line{l.CardDigest(), hex.EncodeToString(req.Digest[:8])})
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

// texts returns every string of a card that comes from elsewhere.
func texts(req gate.Request, args []byte) []string {
	all := []string{req.Tool, string(args), req.Effect, req.Session.Name, string(req.Session.Mode), req.Session.Backend, req.Session.OptIn, req.Principal, req.Origin, req.CallID}
	for _, f := range req.Card.Facts {
		all = append(all, f.Label, f.Text)
	}
	return append(all, req.Card.Assumed...)
}

// mixedScripts returns the flagged words, escaped and quoted, each once.
func mixedScripts(req gate.Request, args []byte) []string {
	var found []string
	for _, s := range texts(req, args) {
		for _, w := range gate.MixedScripts(s) {
			if q := `"` + gate.Escape(w) + `"`; !slices.Contains(found, q) {
				found = append(found, q)
			}
		}
	}
	return found
}
