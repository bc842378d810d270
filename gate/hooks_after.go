package gate

import "bytes"

// seen is an answer before and after the after hooks.
type seen struct{ from, to Answer }

// after asks the after-call hooks about an answer, before anybody else gets it. It may
// be called again with the same answer, which they then aren't asked about again.
func (g *Gate) after(c *call, a Answer) Answer {
	if len(g.hooks.after) == 0 || c.entry == nil || c.again {
		return a
	}
	if c.seen != nil && (sameAnswer(c.seen.from, a) || sameAnswer(c.seen.to, a)) {
		return c.seen.to
	}
	to, _ := g.askAfter(c, a, false)
	c.seen = &seen{a, to}
	return to
}

func sameAnswer(a, b Answer) bool {
	return a.Status == b.Status && a.Code == b.Code && a.Text == b.Text && bytes.Equal(a.Result, b.Result)
}

// askAfter asks the after-call hooks in their order. again says that one of them wants
// the call to be run once more, which only a tier-0 call that hasn't been yet can.
func (g *Gate) askAfter(c *call, a Answer, mayRetry bool) (_ Answer, again bool) {
	for _, h := range g.hooks.after {
		told := c.complete(a)
		told.Result = bytes.Clone(a.Result)
		told.Refusal = a.Refusal.clone()
		in := HookCall{
			Hooked: c.hooked(), Tool: c.inv.Tool, Tier: c.entry.spec.Tier, Args: bytes.Clone(c.args), Ran: c.ran,
		}
		want, err := guard(h.Name, func() (After, error) { return h.AfterCall(g.root, in, told) })
		if r := want.Redact; err == nil && r != nil && len(r.Result) > 0 && !isObject(r.Result) {
			err = Errf(CodeInternal, h.Name, "it left a result that is not a JSON object")
		}
		if err != nil {
			a = g.withhold(c, a, h, err)
			continue
		}
		if r := want.Redact; r != nil {
			a.Text, a.Result, a.Refusal = r.Text, bytes.Clone(r.Result), r.Refusal.clone()
		}
		switch {
		case !want.Retry || again || c.changed != nil && c.changed.Retried != "":
		case c.entry.spec.Tier != TierRead:
			g.errorEvent(c, h.Name, CodeNotSupported, "a hook asked for a call of tier "+c.entry.spec.Tier.String()+" to be run again; it isn't")
		case mayRetry:
			again = true
			if c.changed == nil {
				c.changed = &change{}
			}
			c.changed.Retried = h.Name
		}
	}
	return a, again
}

// withhold takes everything out of an answer whose hook failed but how it ended: what
// should have been redacted must not get out (G22).
func (g *Gate) withhold(c *call, a Answer, h Hook, err error) Answer {
	e := asError(err, CodeInternal)
	g.errorEvent(c, h.Name, e.Code, "a hook failed: "+e.Message()+"; the result is withheld")
	if isFault(err) {
		g.logFault("a hook failed", c, err)
	}
	const why = "the result is withheld, because one of the operator's rules failed inside"
	a.Result, a.Refusal, a.Text = nil, Refusal{Where: h.Name}, "It ended ("+string(a.Status)+"); "+why+"."
	if a.Status == StatusUnknown {
		a.Text = unknownOutcomeText(c.id, why)
	}
	return a
}

func (r Refusal) clone() Refusal {
	r.Value, r.Limit = r.Value.finite(), r.Limit.finite()
	r.Nearest = append([]Quantity(nil), r.Nearest...)
	return r
}

// stored is an answer from the store on its way out: what a hook redacts now was
// perhaps not redacted when it was stored.
func (g *Gate) stored(r Record) Answer {
	a := storedAnswer(r)
	entry := g.cat.lookup(r.Request.Tool)
	if len(g.hooks.after) == 0 || entry == nil {
		return a
	}
	c := g.restoredCall(r.Request)
	c.ran = r.State == RequestDone || r.State == RequestUnknown
	out, _ := g.askAfter(c, a, false)
	return out
}
