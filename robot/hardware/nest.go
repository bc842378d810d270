package hardware

import (
	"bytes"

	"github.com/tau-robot/tau/robot"
)

// maxNest is how many brackets may stand within one another, and how many dots in a key.
// The deepest that means anything, a list of pairs in a table within a table, has five.
const maxNest = 16

// readable refuses what TOML's parser would take too long, or too much of a stack, for: it
// follows a file as deep as it goes.
func readable(name string, data []byte) error {
	if len(data) > MaxBytes {
		return robot.LimitErr(robot.CodeInvalidArgument, name, float64(len(data)), MaxBytes, "bytes", "the file is too long")
	}
	line, depth, dots := 1, 0, 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '#':
			i += toEnd(data[i:]) - 1
		case '"', '\'':
			n := ofString(data[i:])
			line += bytes.Count(data[i:i+n], []byte{'\n'})
			i += n - 1
		case '.':
			dots++
		case '\n':
			line++
			dots = 0
		case '[', '{':
			depth++
			dots = 0
		case ']', '}':
			depth = max(0, depth-1)
			dots = 0
		case '=', ',':
			dots = 0
		}
		if depth > maxNest || dots > maxNest {
			return robot.Errf(robot.CodeInvalidArgument, where(name, line), "goes more than %d deep, and nothing of a robot's file does", maxNest)
		}
	}
	return nil
}

// toEnd is how far it is to the end of the line, which isn't counted.
func toEnd(b []byte) int {
	if n := bytes.IndexByte(b, '\n'); n >= 0 {
		return n
	}
	return len(b)
}

// ofString is the length of the string that b begins with. One that doesn't end, which the
// parser refuses, goes to the end of its line, or of b where it may go over lines.
func ofString(b []byte) int {
	quote, end := b[:1], toEnd(b)
	if long := bytes.Repeat(quote, 3); bytes.HasPrefix(b, long) {
		quote, end = long, len(b)
	}
	for i := len(quote); i < end; i++ {
		switch {
		case b[i] == '\\' && quote[0] == '"':
			i++
		case bytes.HasPrefix(b[i:], quote):
			return i + len(quote)
		}
	}
	return end
}
