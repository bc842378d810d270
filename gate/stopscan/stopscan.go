// Package stopscan finds a stop in bytes that can't be read as what they should be:
// a line or body that breaks off, that isn't JSON, or that is longer than anything
// is kept of. Front ends use it after their parser has given up, so that a malformed
// stop still stops (G6).
//
// It errs on one side only. It may take a stop out of garbage that wasn't meant as
// one; it leaves none in that its form says.
//
// It must never import anything of ours: scripts and MCP both stand on it.
package stopscan

import (
	"fmt"
	"regexp"
	"strings"
)

// The tools that stop, as [Scanner.Found] names them.
const (
	Stop  = "stop"
	EStop = "estop"
)

// Stronger reports whether a stops more than b does; "" stops nothing.
func Stronger(a, b string) bool { return rank(a) > rank(b) }

func rank(tool string) int {
	switch tool {
	case Stop:
		return 1
	case EStop:
		return 2
	}
	return 0
}

// Form says how a protocol names a tool. Make one with Script or MCP.
type Form struct {
	name     *regexp.Regexp // its one group is the tool's name
	also     *regexp.Regexp // must be there too, anywhere; nil: nothing must
	bareWord bool           // nothing but the name is a stop too
}

var (
	script = Form{name: member("tool", stopName), bareWord: true}
	mcp    = Form{name: member("name", stopName), also: member("method", escapable("tools/call"))}

	stopName = "(" + escapable("e") + "?" + escapable("stop") + ")"
)

// Script is the form of a script's line: {"tool":"stop"}, or the word alone.
func Script() Form { return script }

// MCP is the form of a request: a name in a message whose method is tools/call.
func MCP() Form { return mcp }

// member is a pattern for a member of a JSON object, without whitespace.
func member(name, value string) *regexp.Regexp {
	return regexp.MustCompile(`"` + escapable(name) + `":"` + value + `"`)
}

// escapable is a pattern for a word each letter of which may be a JSON escape.
func escapable(word string) string {
	var p strings.Builder
	for _, c := range []byte(word) {
		slash := ""
		if c == '/' {
			slash = `|\\/`
		}
		fmt.Fprintf(&p, `(?:%s|\\u00(?i:%02x)%s)`, regexp.QuoteMeta(string(rune(c))), c, slash)
	}
	return p.String()
}

// window is more than the bytes of the longest match: the method's name and value,
// all of it escaped, four quotes and the colon.
const window = 128

// chunk bounds what is looked at at once, and with it the memory.
const chunk = 32 << 10

// Scanner looks for a stop in text that comes in parts, in constant memory. It is
// not safe for concurrent use.
type Scanner struct {
	form  Form
	tail  []byte // the end of what came, without whitespace
	n     int64  // bytes that came, without whitespace
	also  bool
	found string
}

// New returns a scanner for one text of that form.
func New(f Form) *Scanner { return &Scanner{form: f, also: f.also == nil} }

// Feed takes the next part of the text.
func (s *Scanner) Feed(part []byte) {
	for len(part) > chunk {
		s.feed(part[:chunk])
		part = part[chunk:]
	}
	s.feed(part)
}

func (s *Scanner) feed(part []byte) {
	for _, c := range part {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			s.tail = append(s.tail, c)
			s.n++
		}
	}
	s.also = s.also || s.form.also.Match(s.tail)
	for _, m := range s.form.name.FindAllSubmatch(s.tail, -1) {
		tool := Stop
		if m[1][0] == 'e' || escapedE(m[1]) {
			tool = EStop
		}
		if Stronger(tool, s.found) {
			s.found = tool
		}
	}
	if len(s.tail) > window {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-window:]...)
	}
}

func escapedE(name []byte) bool { return len(name) > 6 && string(name[:6]) == `\u0065` }

// Found returns "stop" or "estop" if what came so far names one, the stronger one
// if it names both, else "".
func (s *Scanner) Found() string {
	if w := string(s.tail); s.form.bareWord && s.n <= window && rank(w) > 0 {
		return w
	}
	if !s.also {
		return ""
	}
	return s.found
}

// In returns what a scanner of that form finds in the whole of text.
func In(f Form, text []byte) string {
	s := New(f)
	s.Feed(text)
	return s.Found()
}
