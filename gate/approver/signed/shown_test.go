package signed

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tau-robot/tau/gate"
)

// request is the request that a vector tells.
func (r shownRequest) request(t *testing.T) gate.Request {
	t.Helper()
	out := gate.Request{
		CallID: r.CallID, Tool: r.Tool, Args: []byte(r.Arguments), Effect: r.Effect,
		Session:   gate.Session{Name: r.Session[0], Mode: gate.Mode(r.Session[1]), Backend: r.Session[2], OptIn: r.Session[3]},
		Principal: r.Principal, Origin: r.Origin, Card: gate.Card{Assumed: r.Assumed, Data: []byte(r.Data)},
	}
	out.Tier = map[int]gate.Tier{0: gate.TierRead, 1: gate.TierWrite, 2: gate.TierPhysical}[r.Tier]
	d, err := hex.DecodeString(r.Digest)
	require.NoError(t, err)
	require.Equal(t, 32, copy(out.Digest[:], d))
	for _, f := range r.Facts {
		out.Card.Facts = append(out.Card.Facts, gate.Fact{Label: f[0], Text: f[1]})
	}
	if r.AskedMS != 0 {
		out.Asked = time.UnixMilli(r.AskedMS)
	}
	if r.ExpiresMS != 0 {
		out.Expiry = time.UnixMilli(r.ExpiresMS)
	}
	return out
}

// Each thing that a card can say changes the hash, and what only looks otherwise doesn't.
func TestG34_WhatIsShownIsWhatIsSigned(t *testing.T) {
	was := Shown(request())
	for name, change := range map[string]func(*gate.Request){
		"call":           func(r *gate.Request) { r.CallID = "1" },
		"digest":         func(r *gate.Request) { r.Digest[31] ^= 1 },
		"tool":           func(r *gate.Request) { r.Tool = "home" },
		"tier":           func(r *gate.Request) { r.Tier = gate.TierWrite },
		"arguments":      func(r *gate.Request) { r.Args = []byte(`{"positions":{"elbow":0.6},"speed_scale":0.25}`) },
		"no arguments":   func(r *gate.Request) { r.Args = nil },
		"effect":         func(r *gate.Request) { r.Effect = "Moves nothing." },
		"session":        func(r *gate.Request) { r.Session.Name = "real" },
		"mode":           func(r *gate.Request) { r.Session.Mode = gate.ModeReal },
		"backend":        func(r *gate.Request) { r.Session.Backend = "arm" },
		"opt-in":         func(r *gate.Request) { r.Session.OptIn = "ann" },
		"principal":      func(r *gate.Request) { r.Principal = "ann" },
		"origin":         func(r *gate.Request) { r.Origin = "script" },
		"asked":          func(r *gate.Request) { r.Asked = r.Asked.Add(time.Millisecond) },
		"expiry":         func(r *gate.Request) { r.Expiry = r.Expiry.Add(time.Millisecond) },
		"a fact's text":  func(r *gate.Request) { r.Card.Facts[1].Text = "3 m" },
		"a fact's label": func(r *gate.Request) { r.Card.Facts[1].Label = "x" },
		"a fact less":    func(r *gate.Request) { r.Card.Facts = r.Card.Facts[:1] },
		"facts in order": func(r *gate.Request) { f := r.Card.Facts; f[0], f[1] = f[1], f[0] },
		"an assumption":  func(r *gate.Request) { r.Card.Assumed[0] = "nothing" },
		"no assumption":  func(r *gate.Request) { r.Card.Assumed = nil },
		"the drawing":    func(r *gate.Request) { r.Card.Data = []byte(`{"a":[1,3]}`) },
		"fact, assumption": func(r *gate.Request) {
			r.Card.Facts[0].Text, r.Card.Assumed[0] = r.Card.Assumed[0], r.Card.Facts[0].Text
		},
	} {
		r := request()
		change(&r)
		require.NotEqual(t, was, Shown(r), name)
	}
	for name, change := range map[string]func(*gate.Request){
		"blanks in the arguments": func(r *gate.Request) { r.Args = []byte(`{ "speed_scale": 0.25, "positions": {"elbow":5e-1}}`) },
		"another time zone":       func(r *gate.Request) { r.Asked = r.Asked.In(time.FixedZone("x", 3600)) },
		"blanks in the drawing":   func(r *gate.Request) { r.Card.Data = []byte(`{"a": [1, 2]}`) },
	} {
		r := request()
		change(&r)
		require.Equal(t, was, Shown(r), name)
	}
}
