package prompt

import (
	"errors"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/tau-robot/tau/gate/approver/terminal"
)

// maxTyped is the longest line that x/term takes, in characters; it drops what
// goes beyond, so a line of that length isn't run.
const maxTyped = 4096

// conn is the terminal as the editor sees it. Read is called by the editor's
// goroutine alone.
type conn struct {
	p *Prompt

	lineAt     time.Time // of the line that was completed last
	lineEpoch  uint64    // and the epoch of stops
	linePasted bool
	ownFrom    uint64 // epochs that only stops typed here took to ownTo
	ownTo      uint64
	pasted     bool // something of the line being typed was
	end        bool // ctrl-D at an empty line
	hungUp     bool // the terminal went away

	aside       string // what was half typed when a card was opened
	asidePasted bool

	mu    sync.Mutex
	batch bool
	buf   []byte
}

// Read gives the editor one key, after doing what is to be done between keys.
func (c *conn) Read(b []byte) (int, error) {
	p := c.p
	for {
		if c.end {
			c.end = false
			if !p.answer(terminal.Answer{Kind: terminal.EndOfInput, At: c.lineAt}, "^D\n") {
				return 0, io.EOF
			}
		}
		k, ok := p.keys.pop()
		if !ok {
			return 0, io.EOF
		}
		switch k.kind {
		case keyDo:
			k.do()
		case keyText:
			c.pasted = c.pasted || k.pasted
			if p.cardOpen() && (k.bytes == editClear || k.bytes == editTab || k.bytes == editBack) {
				continue // the card stays on the screen, and what is typed is its answer
			}
			return copy(b, k.bytes), nil
		case keyLine:
			c.lineAt, c.lineEpoch, c.linePasted = k.at, c.epochOf(k), c.pasted || k.pasted
			c.pasted = false
			return copy(b, "\r"), nil
		case keyEnd:
			c.lineAt = k.at
			return copy(b, editCtrlD), nil
		case keyGone:
			c.hungUp = true
			return 0, io.EOF
		}
	}
}

// stoppedHere notes that a stop typed here, and none from elsewhere, took the epoch
// from before to after.
func (c *conn) stoppedHere(before, after uint64) {
	if before != c.ownTo {
		c.ownFrom = before
	}
	c.ownTo = after
}

// epochOf is the epoch of a line: that of its Enter, but a stop that was typed in
// front of it doesn't make it older, though the reader was faster than the editor.
func (c *conn) epochOf(k key) uint64 {
	if c.ownFrom <= k.epoch && k.epoch < c.ownTo {
		return c.ownTo
	}
	return k.epoch
}

// forget says that the line being typed is empty again.
func (c *conn) forget() { c.pasted = false }

// Write writes at once, or, between begin and flush, all in one.
func (c *conn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.batch {
		c.buf = append(c.buf, b...)
		return len(b), nil
	}
	return c.p.o.Out.Write(b)
}

func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.batch = true
}

func (c *conn) flush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.p.o.Out.Write(c.buf) // nobody to tell
	c.buf, c.batch = c.buf[:0], false
}

// edit turns keys into lines until the input ends.
func (p *Prompt) edit() {
	defer close(p.ended)
	for {
		line, err := p.term.ReadLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			if p.conn.hungUp {
				p.cancel(ErrHangup)
			} else {
				p.cancel(errClosed) // ctrl-D
			}
			return
		}
		p.mu.Lock()
		p.typed = false
		p.mu.Unlock()
		p.route(line)
		if n := p.keys.lostKeys(); n > 0 {
			p.Print(itoa(n) + " keys were typed faster than they could be taken and are lost")
		}
	}
}

// route gives a line to the card that was open when it was completed, else to
// the commands.
func (p *Prompt) route(text string) {
	at, pasted := p.conn.lineAt, p.conn.linePasted
	if opened := p.openedAt(); !opened.IsZero() && !at.Before(opened) {
		stop := p.act(text) // a stop is a stop, wherever it's typed
		if !stop && p.notYet(text, at) {
			return
		}
		if p.answer(terminal.Answer{Kind: terminal.Typed, Text: text, At: at, Pasted: pasted}, "") {
			p.afterCard("")
		}
		return // an answer to a card that has gone meanwhile is no command
	}
	if utf8.RuneCountInString(text) >= maxTyped {
		p.Print("the line is longer than " + itoa(maxTyped-1) + " characters; it was not run")
		return
	}
	p.command(text, p.conn.lineEpoch, false, pasted)
}

// complete is the editor's question about each key that it has no meaning for.
func (p *Prompt) complete(line string, pos int, k rune) (string, int, bool) {
	switch {
	case string(k) == editAside:
		if line != "" {
			p.conn.aside, p.conn.asidePasted = line, p.conn.pasted
		}
		p.conn.forget()
		return "", 0, true
	case string(k) == editBack:
		return p.putBack(line, pos)
	case string(k) == editCtrlD && line == "":
		p.conn.end = true
		return line, pos, true
	case string(k) == editCtrlD:
		_, n := utf8.DecodeRuneInString(line[pos:])
		return line[:pos] + line[pos+n:], pos, true
	case k != '\t' || p.o.Complete == nil:
		return "", 0, false
	}
	start, words := p.o.Complete(line, pos)
	if len(words) == 0 || start < 0 || start > pos {
		return line, pos, true
	}
	common := words[0]
	for _, w := range words[1:] {
		common = common[:sharedPrefix(common, w)]
	}
	if len(words) > 1 && len(common) <= pos-start {
		p.Print(strings.Join(words, "  "))
		return line, pos, true
	}
	return line[:start] + common + line[pos:], start + len(common), true
}

// putBack returns the line being typed with what was set aside in front of it.
func (p *Prompt) putBack(line string, pos int) (string, int, bool) {
	c := p.conn
	line, pos = c.aside+line, len(c.aside)+pos
	c.pasted = c.pasted || c.asidePasted && c.aside != ""
	c.aside, c.asidePasted = "", false
	p.mu.Lock()
	p.typed = p.typed || line != ""
	p.mu.Unlock()
	return line, pos, true
}

// sharedPrefix returns the length of what a and b begin with, in whole characters.
func sharedPrefix(a, b string) int {
	n := 0
	for i, r := range a {
		if !strings.HasPrefix(b[min(i, len(b)):], string(r)) {
			break
		}
		n = i + utf8.RuneLen(r)
	}
	return n
}
