package gate

// A caller that has gone leaves its question open; a person who looks at the card is
// told (G49).

// Leave says that whoever made the call isn't there any more, and why. The call goes
// on: its question stays open, and what runs runs to its end. It never blocks.
func (c *call) Leave(why string) { c.g.tellCaller(c, &why) }

// back says that the caller is there again.
func (g *Gate) back(c *call) {
	if c.isGone() {
		g.tellCaller(c, nil)
	}
}

func (c *call) isGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone != nil
}

func (g *Gate) tellCaller(c *call, gone *string) {
	n := Notice{Kind: CallerBack}
	if gone != nil {
		n = Notice{Kind: CallerGone, Text: clip(*gone, 256)}
	}
	c.mu.Lock()
	same := (c.gone == nil) == (gone == nil)
	c.gone = gone
	over := c.decided || c.ended
	id := c.stored
	c.mu.Unlock()
	if id == "" {
		id = c.id
	}
	if same || over {
		return
	}
	g.cfg.Log.Info("the caller of a call that waits has gone, or is back", "call_id", c.id, "gone", gone != nil, "why", n.Text)
	g.notify(id, n)
}

// notify tells the approver about a question that it may have open.
func (g *Gate) notify(id string, n Notice) {
	to, ok := g.cfg.Approver.(Noticer)
	if !ok {
		return
	}
	if _, err := guard("approver", func() (struct{}, error) { to.Notice(id, n); return struct{}{}, nil }); err != nil {
		g.cfg.Log.Error("an approver could not be told about a question", "call_id", id, "error", err)
	}
}
