package tui

import (
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
}

// quiet is how long nothing must have come before a key that answers: a key that is
// held down, a paste that isn't marked as one and typing that was meant for something
// else come faster.
const quiet = 100 * time.Millisecond

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
	d.last = at
	var keys []key
	// The e-stop is a key of its own whatever came before it and was never finished.
	if len(d.held) > 0 && len(chunk) > 0 && chunk[0] == estopKey {
		keys = append(keys, key{kind: keyOther, at: at})
		d.held = d.held[:0]
	}
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
			k.at, k.pasted = at, d.paste
			keys = append(keys, k)
		}
	}
	for i := range keys {
		keys[i].together = soon || keys[i].pasted || len(keys) > 1 || len(d.held) > 0
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
	case c == 0x03:
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
// with Alt, which means nothing here.
func (d *decoder) sequence(buf []byte) (key, int) {
	if len(buf) == 1 {
		return key{}, 0
	}
	switch buf[1] {
	case '[':
		for i := 2; i < len(buf); i++ {
			switch c := buf[i]; {
			case c >= 0x40 && c <= 0x7e:
				return d.control(string(buf[1 : i+1])), i + 1
			case c < 0x20 || c > 0x3f: // no sequence after all
				return key{kind: keyOther}, i
			}
		}
		return key{}, 0
	case 'O':
		if len(buf) == 2 {
			return key{}, 0
		}
		return key{kind: arrow(buf[2])}, 3
	case 0x1b:
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
