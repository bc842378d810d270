package script

import (
	"regexp"

	"github.com/tau-robot/tau/gate"
)

// stopName finds a stop in a line that isn't valid, with whitespace taken out and
// any letter perhaps escaped. It may take a stop out of garbage that wasn't meant as
// one; it never leaves one in.
var stopName = regexp.MustCompile(`"` + letters("tool") + `":"(` + letters("e") + `?` + letters("stop") + `)"`)

// letters is a pattern for a word each letter of which may be a JSON escape.
func letters(word string) string {
	hex := map[rune]string{'e': "65", 'l': "6c", 'o': "6f", 'p': "70", 's': "73", 't': "74"}
	p := ""
	for _, c := range word {
		p += `(?:` + string(c) + `|\\u00(?i:` + hex[c] + `))`
	}
	return p
}

// longestStop is more than the bytes of the longest match: nine escaped letters,
// four quotes and the colon.
const longestStop = 64

// stopScan looks for a stop in a line that comes in parts, in constant memory.
type stopScan struct {
	tail  []byte // the end of what came, without whitespace
	n     int64  // bytes that came, without whitespace
	found string
}

// feed takes the next part of the line.
func (s *stopScan) feed(part []byte) {
	for _, c := range part {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			s.tail = append(s.tail, c)
			s.n++
		}
	}
	for _, m := range stopName.FindAllSubmatch(s.tail, -1) {
		name := string(gate.StopControlled)
		if m[1][0] == 'e' || isEscapedE(m[1]) {
			name = string(gate.StopEmergency)
		}
		if s.found == "" || name == string(gate.StopEmergency) {
			s.found = name
		}
	}
	if len(s.tail) > longestStop {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-longestStop:]...)
	}
}

func isEscapedE(name []byte) bool { return len(name) > 6 && string(name[:6]) == `\u0065` }

// end returns "stop" or "estop" if the line names one, the stronger one if it
// names both, or is nothing but that word.
func (s *stopScan) end() string {
	if w := (call{tool: string(s.tail)}); s.n <= longestStop && w.isStop() {
		return w.tool
	}
	return s.found
}

func stopIn(line []byte) string {
	var s stopScan
	s.feed(line)
	return s.end()
}
