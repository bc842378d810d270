package tui

import (
	"errors"
	"io"
	"sync"
	"time"
)

// The keys that act by themselves, whatever is on the screen.
const (
	estopKey = '!'
	stopKey  = 's'
)

// input reads the terminal. Stops act from here; every other key goes on.
type input struct {
	tty Terminal
	now func() time.Time
	// act is told of each key that acts by itself, on the goroutine that read it. It
	// must not block.
	act func(k key)
	// pass takes the others. It must not block.
	pass func(ks []key)

	mu  sync.Mutex // held from reading until what was read is where it belongs
	dec decoder
	buf [4096]byte
	err error // of the end
}

// run reads until there is no more, and says why.
func (in *input) run() error {
	for {
		in.mu.Lock()
		wait := time.Duration(0)
		if in.dec.pending() {
			wait = escapeWait
		}
		in.mu.Unlock()
		ready, err := in.tty.Wait(wait)
		switch {
		case err != nil:
			return err
		case !ready:
			in.mu.Lock()
			in.hand(in.dec.flush(in.now()))
			in.mu.Unlock()
			continue
		}
		if err := in.drain(); err != nil {
			return err
		}
	}
}

// drain reads what is there without waiting for more. What was typed before it was
// called has been handed on when it returns.
func (in *input) drain() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.err == nil && in.tty.Ready() {
		n, err := in.tty.Read(in.buf[:])
		if n > 0 {
			in.hand(in.dec.feed(in.buf[:n], in.now()))
		}
		if err != nil {
			in.err = err
		} else if n == 0 {
			break
		}
	}
	return in.err
}

// hand gives keys to whom they are for. in.mu is held.
func (in *input) hand(ks []key) {
	var rest []key
	for _, k := range ks {
		if acts(k) {
			in.act(k)
		} else {
			rest = append(rest, k)
		}
	}
	if len(rest) > 0 {
		in.pass(rest)
	}
}

// acts reports whether a key acts by itself. A pasted e-stop does too: a stop too many
// does no harm, and one that is missed does.
func acts(k key) bool {
	return k.kind == keyRune && k.r == estopKey || !k.pasted && stops(k)
}

// stops reports whether a key that wasn't pasted acts by itself: each of them stops
// what moves.
func stops(k key) bool {
	switch k.kind {
	case keyInterrupt, keySuspend, keyEnd:
		return true
	case keyRune:
		return k.r == estopKey || k.r == stopKey || k.r == stopKey-'a'+'A'
	}
	return false
}

// hungUp reports whether a terminal's end is one, and not our own doing.
func hungUp(err error) bool { return !errors.Is(err, ErrBroken) || errors.Is(err, io.EOF) }
