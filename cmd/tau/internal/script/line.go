package script

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/gate/stopscan"
)

const (
	maxLine = 1 << 20 // bytes of a line
	maxID   = 256     // bytes of an id
)

// call is one call of a script.
type call struct {
	id   string
	tool string
	args []byte // raw; the gate decodes it strictly
}

// isStop reports whether the call is matched by name as a stop (G6).
func (c call) isStop() bool {
	return c.tool == string(gate.StopControlled) || c.tool == string(gate.StopEmergency)
}

// lineError is a line that is no call. Its stop is "stop" or "estop" where the
// line names one all the same: a malformed stop still stops.
type lineError struct {
	number int
	text   string
	stop   string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.number, e.text) }

// parse reads one line: an object with tool and perhaps arguments and id, nothing
// else, each once; an array of such objects, which is a batch; or the bare word stop or
// estop. With an error comes what was read of the last call before it, for the
// answer's id.
func parse(number int, line []byte) ([]call, error) {
	line = bytes.TrimSpace(line)
	word := call{tool: string(line)}
	if word.isStop() {
		return []call{word}, nil
	}
	calls, err := parseCalls(line)
	if err == nil {
		return calls, nil
	}
	le := &lineError{number: number, text: err.Error()}
	le.stop = stopscan.In(stopscan.Script(), line)
	if len(calls) > 1 { // of a batch that can't be read nothing is a call
		calls = nil
	}
	return calls, le
}

// errNotACall is what a line begins with that can't be one.
var errNotACall = errors.New(`want an object {"tool":"…","arguments":{…},"id":"…"}, or an array of them`)

func parseCalls(line []byte) ([]call, error) {
	// What is inside the arguments is the gate's to judge, so that it is in its
	// log; here they only have to end where they should.
	d := jsontext.NewDecoder(bytes.NewBuffer(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var calls []call
	what := "object"
	if d.PeekKind() != '[' {
		c, err := parseObject(d)
		calls = append(calls, c)
		if err != nil {
			return calls, err
		}
	} else {
		what = "array"
		if _, err := d.ReadToken(); err != nil {
			return nil, syntax(err)
		}
		for d.PeekKind() != ']' {
			c, err := parseObject(d)
			if calls = append(calls, c); err != nil {
				return calls, fmt.Errorf("call %d of the batch: %w", len(calls), err)
			}
			if len(calls) > gate.MaxBatch {
				return nil, fmt.Errorf("a batch has at most %d calls", gate.MaxBatch)
			}
		}
		if _, err := d.ReadToken(); err != nil {
			return nil, syntax(err)
		}
		if len(calls) == 0 {
			return nil, errors.New("an empty batch")
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return calls, fmt.Errorf("there is data after the %s", what)
	}
	return calls, nil
}

func parseObject(d *jsontext.Decoder) (call, error) {
	var c call
	if d.PeekKind() != '{' {
		return c, errNotACall
	}
	if _, err := d.ReadToken(); err != nil {
		return c, syntax(err)
	}
	seen := map[string]bool{}
	for d.PeekKind() != '}' {
		tok, err := d.ReadToken()
		if err != nil {
			return c, syntax(err)
		}
		name := tok.String()
		if seen[name] {
			return c, fmt.Errorf("%q is there twice", name)
		}
		seen[name] = true
		if err := c.field(d, name); err != nil {
			return c, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return c, syntax(err)
	}
	if c.tool == "" {
		return c, errors.New(`"tool" is missing`)
	}
	return c, nil
}

func (c *call) field(d *jsontext.Decoder, name string) error {
	switch name {
	case "tool", "id":
		tok, err := d.ReadToken()
		if err != nil {
			return syntax(err)
		}
		if tok.Kind() != '"' {
			return fmt.Errorf("%q must be a string", name)
		}
		s := tok.String()
		if !utf8.ValidString(s) {
			return fmt.Errorf("%q is not valid UTF-8", name)
		}
		if name == "tool" {
			c.tool = s
			return nil
		}
		if len(s) > maxID {
			return fmt.Errorf(`"id" has %d bytes, at most %d`, len(s), maxID)
		}
		c.id = s
	case "arguments":
		v, err := d.ReadValue()
		if err != nil {
			return syntax(err)
		}
		c.args = bytes.Clone(v)
	default:
		return fmt.Errorf("unknown field %q; a line has tool, arguments and id", gate.Escape(name))
	}
	return nil
}

func syntax(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("not JSON: it ends in the middle")
	}
	return fmt.Errorf("not JSON: %w", err)
}

// tooLongError is a line longer than maxLine, of which only the beginning was kept.
// Its stop is the one that the whole line names, if it does.
type tooLongError struct{ stop string }

func (*tooLongError) Error() string { return fmt.Sprintf("longer than %d bytes", maxLine) }

// readLine returns the next line without its end. io.EOF comes alone, after the
// last line, whether that one ended in a newline or not.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	scan := stopscan.New(stopscan.Script())
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if !long && len(line)+len(part) <= maxLine {
			line = append(line, part...)
		} else {
			if !long {
				scan.Feed(line)
			}
			long = true
			scan.Feed(part)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0 && !long):
			return nil, err
		case long:
			return line, &tooLongError{scan.Found()}
		}
		return line, nil
	}
}
