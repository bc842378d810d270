package gobot

import (
	"slices"
	"sync"

	lib "gobot.io/x/gobot/v2"
)

// events is the library's Eventer without goroutines: whoever publishes calls the
// handlers, one after the other, in the order in which they came. The library's own
// starts one goroutine for itself and one for each handler, none of which ever ends, and
// hands an event only to those who have subscribed by the time that goroutine gets to it.
type events struct {
	// Eventer is nil. It brings the two methods that have a type in them that has no name
	// outside of the library; the client calls neither.
	lib.Eventer

	mu       sync.Mutex
	names    map[string]string
	handlers []handler
}

type handler struct {
	name string
	once bool
	f    func(any)
}

func newEvents() *events { return &events{names: map[string]string{}} }

// Events returns a copy of the names that were added.
func (e *events) Events() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make(map[string]string, len(e.names))
	for k, v := range e.names {
		out[k] = v
	}
	return out
}

// Event returns the name, which is its own event.
func (*events) Event(name string) string { return name }

// AddEvent adds a name.
func (e *events) AddEvent(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names[name] = name
}

// DeleteEvent takes a name away.
func (e *events) DeleteEvent(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.names, name)
}

// On has f called with each event of that name, by whoever publishes it.
func (e *events) On(name string, f func(any)) error { e.add(handler{name: name, f: f}); return nil }

// Once has f called with the next event of that name.
func (e *events) Once(name string, f func(any)) error {
	e.add(handler{name: name, f: f, once: true})
	return nil
}

func (e *events) add(h handler) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handlers = append(e.handlers, h)
}

// drop takes the handlers of that name away.
func (e *events) drop(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.handlers = slices.DeleteFunc(e.handlers, func(h handler) bool { return h.name == name })
}

// Publish calls the handlers that there are now.
func (e *events) Publish(name string, data any) {
	e.mu.Lock()
	var call []handler
	e.handlers = slices.DeleteFunc(e.handlers, func(h handler) bool {
		if h.name != name {
			return false
		}
		call = append(call, h)
		return h.once
	})
	e.mu.Unlock()
	for _, h := range call {
		h.f(data)
	}
}
