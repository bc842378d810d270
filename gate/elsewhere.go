package gate

import "time"

// here reports whether the session of a stored request is there at all in this run. One
// that isn't opted in is there, and one that isn't what the card said, too.
func (g *Gate) here(q Request) bool {
	_, err := g.session(q.Session.Name)
	switch CodeOf(err) {
	case "", CodeNotOptedIn, CodeOptInExpired:
		return true
	}
	return false
}

// watchElsewhere takes up what waits for a session that isn't open in this run, as soon
// as it is, or once it has expired, from a goroutine of its own that ends with them.
func (g *Gate) watchElsewhere(left []Record) {
	if len(left) == 0 || !g.enter() {
		return
	}
	for _, r := range left {
		g.cfg.Log.Warn("a request waits for a session that isn't open in this run; it is left as it is",
			"call_id", r.Request.CallID, "tool", r.Request.Tool, "session", r.Request.Session.Name, "expiry", r.Request.Expiry)
	}
	left = append([]Record(nil), left...)
	go func() {
		defer g.running.done()
		for len(left) > 0 {
			g.mu.Lock()
			changed := g.changed
			g.mu.Unlock()
			left = g.takeUpThere(left)
			if len(left) == 0 {
				return
			}
			timer := time.NewTimer(g.untilExpiry(left))
			select {
			case <-changed:
			case <-timer.C:
			case <-g.root.Done():
				timer.Stop()
				return
			}
			timer.Stop()
		}
	}()
}

// takeUpThere takes up those whose session is there, or whose time is over, and returns
// the others.
func (g *Gate) takeUpThere(left []Record) []Record {
	var rest []Record
	for _, r := range left {
		if g.here(r.Request) || Expired(g.cfg.Now(), r.Request.Expiry) {
			g.takeUp(g.restoredCall(r.Request), g.born)
		} else {
			rest = append(rest, r)
		}
	}
	return rest
}

func (g *Gate) untilExpiry(left []Record) time.Duration {
	next := left[0].Request.Expiry
	for _, r := range left {
		if r.Request.Expiry.Before(next) {
			next = r.Request.Expiry
		}
	}
	return max(next.Sub(g.cfg.Now()), time.Millisecond)
}
