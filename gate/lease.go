package gate

import (
	"context"
	"time"
)

// renewing renews a claim while its action waits for the lane, from a goroutine of
// its own, until stop is called or the store says no (G43): an action whose claim
// has run out doesn't start.
func (g *Gate) renewing(l Lease) (stop func()) {
	ctx, cancel := context.WithCancel(g.root)
	ended := make(chan struct{})
	g.running.add()
	go func() {
		defer g.running.done()
		defer close(ended)
		for {
			timer := time.NewTimer(max(l.Until.Sub(g.cfg.Now())/2, time.Millisecond))
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			next, err := guard("requests", func() (Lease, error) { return g.cfg.Requests.Renew(ctx, l, g.cfg.Now()) })
			if err != nil || !next.Until.After(l.Until) {
				return
			}
			l = next
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
