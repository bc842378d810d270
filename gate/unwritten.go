package gate

import (
	"context"
	"errors"
	"sync"
	"time"
)

// rewriteEvery is how often it is tried again to store what couldn't be.
const rewriteEvery = time.Second

// unwritten keeps how requests ended of which the store couldn't be told, because its
// disk is full or it fails: each is written again until it is, so that a restart
// doesn't ask what has been refused. Until then it is this process that knows, and
// nothing new is asked.
type unwritten struct {
	mu      sync.Mutex
	ends    []unwrittenEnd // in the order in which they came
	why     error          // of the last try
	writing bool           // a goroutine of its own tries again
	wake    chan struct{}  // capacity 1: the store may take something again
}

type unwrittenEnd struct {
	id     string
	ending Ending
	begun  bool // this process has tried to start it, and may have
}

// endRequest ends a stored request. An end that the store fails to take is kept and
// stored later; one that it refuses because the request stands elsewhere is an error.
func (g *Gate) endRequest(id string, e Ending, begun bool) error {
	end := unwrittenEnd{id, e, begun}
	err := g.storeEnd(end)
	switch {
	case err == nil:
		g.unwritten.poke()
		return nil
	case CodeOf(err) != CodeInternal:
		return err
	}
	g.cfg.Log.Error("the end of a request could not be stored; it is tried again, and nothing new is asked until then",
		"call_id", id, "state", string(e.State), "error", err)
	g.keepEnd(end, err)
	return nil
}

// storeEnd tells the store. A request that this process has recorded as started,
// whatever was reported of that, is done with an answer that says what happened.
func (g *Gate) storeEnd(end unwrittenEnd) error {
	finish := func(e Ending) error {
		_, err := guard("requests", func() (struct{}, error) {
			return struct{}{}, g.cfg.Requests.Finish(context.WithoutCancel(g.root), end.id, e)
		})
		return err
	}
	e := end.ending
	err := finish(e)
	if end.begun && CodeOf(err) == CodeInProgress && e.State != RequestDone && e.State != RequestUnknown {
		e.State = RequestDone
		return finish(e)
	}
	return err
}

func (g *Gate) keepEnd(e unwrittenEnd, why error) {
	u := &g.unwritten
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ends, u.why = append(u.ends, e), why
	if u.writing {
		return
	}
	u.writing = true
	g.running.add()
	go func() {
		defer g.running.done()
		g.rewriting()
	}()
}

// rewriting tries again until all is stored or the gate closes, which tries once more.
func (g *Gate) rewriting() {
	timer := time.NewTimer(rewriteEvery)
	defer timer.Stop()
	for {
		select {
		case <-g.root.Done():
			g.unwritten.stop()
			return
		case <-g.unwritten.wake:
		case <-timer.C:
		}
		if g.rewrite(true) == 0 {
			return
		}
		timer.Reset(rewriteEvery)
	}
}

func (u *unwritten) stop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.writing = false
}

func (u *unwritten) poke() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

// rewrite tries each once, in order, and returns how many are left. Where none is, the
// one that tries has ended (own: that is the caller).
func (g *Gate) rewrite(own bool) (left int) {
	u := &g.unwritten
	for {
		u.mu.Lock()
		if len(u.ends) == 0 {
			if own {
				u.writing = false
			}
			u.mu.Unlock()
			return 0
		}
		e := u.ends[0]
		u.mu.Unlock()
		err := g.storeEnd(e)
		u.mu.Lock()
		if CodeOf(err) == CodeInternal {
			u.why = err
			left = len(u.ends)
			u.mu.Unlock()
			return left
		}
		if len(u.ends) > 0 && u.ends[0].id == e.id {
			u.ends = u.ends[1:]
		}
		u.mu.Unlock()
		if err != nil {
			g.cfg.Log.Error("the end of a request could not be stored, because it has ended otherwise", "call_id", e.id, "state", string(e.ending.State), "error", err)
		} else {
			g.cfg.Log.Warn("the end of a request is stored at last", "call_id", e.id, "state", string(e.ending.State))
		}
	}
}

// storeReady refuses what would be asked while an end isn't stored.
func (g *Gate) storeReady() error {
	u := &g.unwritten
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.ends) == 0 {
		return nil
	}
	return Errf(CodeInternal, "requests", "the end of %d earlier request(s) couldn't be stored yet, and nothing new is asked until it is; it was not run: %w", len(u.ends), u.why)
}

// over says how a record stands that the store may not know the end of.
func (u *unwritten) over(r Record) Record {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, e := range u.ends {
		if e.id != r.Request.CallID {
			continue
		}
		r.State, r.Answer = e.ending.State, e.ending.Answer
		if e.ending.State == RequestRejected {
			r.Decision = Rejected
		}
		if e.ending.Decider != "" {
			r.Decider = e.ending.Decider
		}
	}
	return r
}

// lastRewrite is Close's: what it can't store is lost with this process, and said so.
func (g *Gate) lastRewrite() error {
	if g.rewrite(false) == 0 {
		return nil
	}
	u := &g.unwritten
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []error
	for _, e := range u.ends {
		all = append(all, Errf(CodeInternal, "requests", "that request %s is %s couldn't be stored, and isn't known after a restart: %w", e.id, e.ending.State, u.why))
	}
	return errors.Join(all...)
}
