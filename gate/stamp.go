package gate

import "math"

// Stamp is the stop epoch of a moment: the moment at which a front end took a call
// in. The zero Stamp is none. Stamps of two moments are equal if and only if no stop
// came between them; a number that a front end has carried as text is one again.
type Stamp uint64

// Stamp returns the stamp of now. It never blocks. A lane that fails has one under
// which nothing runs.
func (g *Gate) Stamp() Stamp {
	epoch, err := guard("lane", func() (uint64, error) { return g.cfg.Lane.Epoch(), nil })
	if err != nil {
		return math.MaxUint64
	}
	return Stamp(epoch + 1)
}

// stampOf is the epoch under which a call counts: that of its intake, so that what
// was sent before a stop doesn't run after it however late it gets here (G6).
func (g *Gate) stampOf(inv Invocation) uint64 {
	s := inv.Taken
	if s == 0 {
		s = g.Stamp()
	}
	return uint64(s) - 1
}

// overtaken refuses a call that was taken in before the last stop. What only reads
// changes nothing that a stop has brought to rest.
func (g *Gate) overtaken(c *call) error {
	if c.entry.spec.Tier != TierRead && g.cfg.Lane.Epoch() != c.epoch {
		return Errf(CodeStopped, "", "a stop came first; it was not run")
	}
	return nil
}
