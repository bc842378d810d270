package gate

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Query is what an exemption is asked: copies, of which nothing it changes matters.
type Query struct {
	Tool      string
	Args      json.RawMessage // canonical
	Session   Session
	Principal string
	Origin    string
}

// Exemption says whether a physical call runs without a person's approval. It is
// asked only about known tier-2 tools; only true exempts, a panic doesn't (G13).
// Limits, rehearsal, the lane and the checks stay. It must not block.
type Exemption func(Query) bool

// RehearseExemption exempts the calls of simulated sessions (G15). Offering it
// together with a real session is the program's start-up error; even then it
// exempts nothing real.
func RehearseExemption(q Query) bool { return q.Session.Mode == ModeSim }

// Exempt adds an exemption and returns what takes it away again, once.
func (g *Gate) Exempt(fn Exemption) (undo func()) {
	if fn == nil {
		return func() {}
	}
	p := &fn
	g.mu.Lock()
	g.exemptions = append(slices.Clone(g.exemptions), p)
	g.mu.Unlock()
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.exemptions = slices.DeleteFunc(slices.Clone(g.exemptions), func(q *Exemption) bool { return q == p })
	}
}

func (g *Gate) exempted(c *call) bool {
	g.mu.Lock()
	list := g.exemptions // copied on write
	g.mu.Unlock()
	for _, fn := range list {
		ok, err := guard("exemption", func() (bool, error) {
			return (*fn)(Query{
				Tool: c.inv.Tool, Args: bytes.Clone(c.args), Session: c.session,
				Principal: c.inv.Principal, Origin: c.inv.Origin,
			}), nil
		})
		if err != nil {
			g.logFault("an exemption failed; it exempts nothing", c, err)
		}
		if ok && err == nil {
			return true
		}
	}
	return false
}
