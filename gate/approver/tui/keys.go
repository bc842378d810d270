package tui

import (
	"bytes"
	"slices"
	"time"
	"unicode"
	"unicode/utf8"
)

// keyKind says which key was pressed.
type keyKind uint8

const (
	keyRune keyKind = iota + 1 // a character, in key.r
	keyEnter
	keyTab
	keyEscape
	keyUp
	keyDown
	keyLeft
	keyRight
	keyPageUp
	keyPageDown
	keyInterrupt // ctrl-C
	keySuspend   // ctrl-Z
	keyEnd       // ctrl-D
	keyOther     // one that means nothing here, and still was pressed
)

// key is one key as it was read.
type key struct {
	kind keyKind
	r    rune
	at   time.Time // when it had been read
	// together: it came with others in one read, right behind others, or out of a
	// paste, and is nobody's answer to anything.
	together bool
	pasted   bool
	// saysYes: what was read with it has a key that says yes, wherever in it; again:
	// the one before that came less than letGo earlier.
	saysYes, again bool
}

// quiet is how long nothing must have come before a key that answers: a paste that
// isn't marked as one and typing that was meant for something else come faster.
const quiet = 100 * time.Millisecond

// letGo is how long no key that says yes must have come before one that counts. A key
// that is held down comes again after 0.25 to 1 s, and then faster, so that all the
// keys of one press are one yes at most, to whatever was asked when it began.
const letGo = 2 * time.Second

// yesKeys are the keys that can say yes, as they are sent.
const yesKeys = "yYeE -<"

// pasteWait is how long a paste may pause. After that its end was lost.
const pasteWait = time.Second

// escapeWait is how long the rest of an escape sequence may take; an escape alone is
// the key.
const escapeWait = 100 * time.Millisecond

// maxSequence bounds an escape sequence; what is longer is none.
const maxSequence = 64

// decoder turns what a terminal sends into keys. It holds what isn't complete.
type decoder struct {
	held  []byte // an unfinished escape sequence or character
	paste bool
	last  time.Time // when something came last
	yes   time.Time // when a key that says yes did, whatever became of it
}

// pending reports whether something waits for its rest.
func (d *decoder) pending() bool { return len(d.held) > 0 }

const (
	pasteBegin = "[200~"
	pasteEnd   = "[201~"
)

// feed takes what was read at a time. The keys are the caller's.
func (d *decoder) feed(chunk []byte, at time.Time) []key {
	soon := !d.last.IsZero() && at.Sub(d.last) < quiet
	saysYes := bytes.ContainsAny(chunk, yesKeys)
	again := !d.yes.IsZero() && at.Sub(d.yes) < letGo
	alone := len(chunk) == 1 && !soon
	if d.paste && at.Sub(d.last) > pasteWait {
		d.paste = false
		soon = true // it may still be the paste's, and then is nobody's answer
	}
	d.last = at
	if saysYes {
		d.yes = at
	}
	var keys []key
	buf := slices.Concat(d.held, chunk)
	d.held = nil
	for len(buf) > 0 {
		k, n := d.next(buf)
		if n == 0 { // more of it is to come
			if len(buf) <= maxSequence {
				d.held = append(d.held, buf...)
				break
			}
			k, n = key{kind: keyOther}, 1
		}
		buf = buf[n:]
		if k.kind != 0 {
			// A stop that comes by itself is somebody's who waits for no paste to end.
			k.at, k.pasted, k.saysYes, k.again = at, d.paste && !(alone && stops(k)), saysYes, again
			keys = append(keys, k)
		}
	}
	for i := range keys {
		keys[i].together = soon || d.paste || keys[i].pasted || len(keys) > 1 || len(d.held) > 0
	}
	return keys
}

// flush gives up waiting for the rest of what is held.
func (d *decoder) flush(at time.Time) []key {
	held := d.held
	d.held = nil
	switch {
	case len(held) == 0:
		return nil
	case len(held) == 1 && held[0] == 0x1b:
		return []key{{kind: keyEscape, at: at, pasted: d.paste, together: d.paste}}
	}
	return []key{{kind: keyOther, at: at, pasted: d.paste, together: true}}
}

// next reads the first key of buf; n is 0 where its rest isn't there, and the kind 0
// where it is no key.
func (d *decoder) next(buf []byte) (k key, n int) {
	switch c := buf[0]; {
	case c == 0x1b:
		return d.sequence(buf)
	case c == '\r' || c == '\n':
		return key{kind: keyEnter}, 1
	case c == '\t':
		return key{kind: keyTab}, 1
	case c == 0x03: // ends a paste too: it may be the last way out
		d.paste = false
		return key{kind: keyInterrupt}, 1
	case c == 0x04:
		return key{kind: keyEnd}, 1
	case c == 0x1a:
		return key{kind: keySuspend}, 1
	case c < ' ' || c == 0x7f:
		return key{kind: keyOther}, 1
	case c < utf8.RuneSelf:
		return key{kind: keyRune, r: rune(c)}, 1
	}
	if !utf8.FullRune(buf) {
		return key{}, 0
	}
	r, size := utf8.DecodeRune(buf)
	if r == utf8.RuneError || unicode.IsControl(r) {
		return key{kind: keyOther}, size
	}
	return key{kind: keyRune, r: r}, size
}

// sequence reads an escape sequence. An escape with another key behind it is that key
// with Alt, which means nothing here; but a stop or a control character is a key of its
// own, whatever was begun before it.
func (d *decoder) sequence(buf []byte) (key, int) {
	if len(buf) == 1 {
		return key{}, 0
	}
	switch c := buf[1]; {
	case c == '[':
		for i := 2; i < len(buf); i++ {
			switch c := buf[i]; {
			case c >= 0x40 && c <= 0x7e:
				return d.control(string(buf[1 : i+1])), i + 1
			case c == estopKey || c < 0x20 || c > 0x3f: // no sequence after all
				return key{kind: keyOther}, i
			}
		}
		return key{}, 0
	case c == 'O':
		if len(buf) == 2 {
			return key{}, 0
		}
		if c := buf[2]; c == estopKey || c < 0x20 || c > 0x7e { // no sequence after all
			return key{kind: keyOther}, 2
		}
		return key{kind: arrow(buf[2])}, 3
	case c == estopKey || c == stopKey || c == stopKey-'a'+'A' || c < 0x20:
		return key{kind: keyEscape}, 1
	}
	if _, n := d.next(buf[1:]); n > 0 {
		return key{kind: keyOther}, 1 + n
	}
	return key{}, 0
}

// control names a control sequence, without its escape.
func (d *decoder) control(s string) key {
	switch s {
	case pasteBegin:
		d.paste = true
		return key{}
	case pasteEnd:
		d.paste = false
		return key{}
	case "[5~":
		return key{kind: keyPageUp}
	case "[6~":
		return key{kind: keyPageDown}
	case "[Z":
		return key{kind: keyTab}
	}
	if len(s) == 2 {
		return key{kind: arrow(s[1])}
	}
	return key{kind: keyOther}
}

func arrow(c byte) keyKind {
	switch c {
	case 'A':
		return keyUp
	case 'B':
		return keyDown
	case 'C':
		return keyRight
	case 'D':
		return keyLeft
	}
	return keyOther
}
