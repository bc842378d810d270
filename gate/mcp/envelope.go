package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	methodCall   = "tools/call"
	methodListen = "subscriptions/listen"

	maxIDBytes = 256     // of a string id, as written
	maxIntID   = 1 << 53 // ids beyond are not exact in most clients' numbers
)

// message is what the envelope of one JSON-RPC message says.
type message struct {
	method  string
	id      jsontext.Value // a JSON string or integer as written; nil when there is none
	isReply bool           // carries result or error: an answer to a request of ours
	tool    string         // params.name of a tools/call
	args    []byte         // params.arguments of a tools/call as written; nil when absent
	argsAt  int64          // where args begin in the body
	start   int64          // where the message begins in the body
	end     int64          // where it ends; 0 when it breaks off

	meta jsontext.Value // params._meta as written; nil when absent

	unknown string // first member of params that a tools/call doesn't have
	named   bool   // params.name is there and a string
}

// parseBody reads one JSON-RPC message, or a batch, strictly: a duplicate member
// anywhere outside params.arguments, a member that JSON-RPC doesn't have, invalid
// UTF-8, a lone surrogate and trailing data are errors. What params.arguments
// holds must only be one JSON value by its grammar. On an error the messages read
// so far come with it, the last one perhaps incomplete: a stop among them still
// stops.
func parseBody(body []byte) (msgs []message, batch bool, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(body),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '[' {
		m, err := parseMessage(dec, body)
		msgs = append(msgs, m)
		if err != nil {
			return msgs, false, err
		}
		return msgs, false, atEnd(dec)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, true, err
	}
	for dec.PeekKind() != ']' {
		m, err := parseMessage(dec, body)
		msgs = append(msgs, m)
		if err != nil {
			return msgs, true, err
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return msgs, true, err
	}
	if len(msgs) == 0 {
		return msgs, true, errors.New("an empty batch")
	}
	return msgs, true, atEnd(dec)
}

func atEnd(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("data behind the message, at byte %d", dec.InputOffset())
	}
	return nil
}

func parseMessage(dec *jsontext.Decoder, body []byte) (m message, err error) {
	from := body[dec.InputOffset():]
	m.start = int64(len(body) - len(bytes.TrimLeft(from, " \t\r\n,")))
	var version bool
	err = members(dec, "message", func(name string) error {
		switch name {
		case "jsonrpc":
			s, err := readString(dec)
			if err != nil || s != "2.0" {
				return errors.New(`jsonrpc must be "2.0"`)
			}
			version = true
		case "method":
			m.method, err = readString(dec)
			if err != nil {
				return fmt.Errorf("method: %w", err)
			}
		case "id":
			m.id, err = readID(dec)
			return err
		case "params":
			return m.readParams(dec, body)
		case "result", "error":
			m.isReply = true
			return strictValue(dec)
		default:
			return fmt.Errorf("unknown member %q", name)
		}
		return nil
	})
	if err != nil {
		return m, err
	}
	m.end = dec.InputOffset()
	switch {
	case !version:
		return m, errors.New(`jsonrpc must be "2.0"`)
	case m.isReply && m.method != "":
		return m, errors.New("a message can't be both a request and an answer")
	case m.isReply:
		return m, errors.New("this server asks its clients nothing, so it takes no answers")
	case m.method == "":
		return m, errors.New("no method")
	case m.method != methodCall:
		return m, nil
	case m.unknown != "":
		return m, fmt.Errorf("params: unknown member %q", m.unknown)
	case !m.named:
		return m, errors.New("params.name must be a string")
	}
	return m, nil
}

// readParams walks params one level deep. It runs before the method may be known,
// so what only a tools/call forbids is noted and judged later.
func (m *message) readParams(dec *jsontext.Decoder, body []byte) error {
	if dec.PeekKind() != '{' {
		return strictValue(dec)
	}
	return members(dec, "params", func(name string) (err error) {
		switch name {
		case "name":
			if dec.PeekKind() == '"' {
				m.named = true
				m.tool, err = readString(dec)
				return err
			}
			return strictValue(dec)
		case "arguments":
			start := dec.InputOffset()
			v, err := dec.ReadValue()
			if err != nil {
				m.args = bytes.TrimLeft(body[start:], " \t\r\n:")
				return fmt.Errorf("params.arguments: %w", err)
			}
			m.args = bytes.Clone(v)
			m.argsAt = dec.InputOffset() - int64(len(v))
			return nil
		case "_meta":
			start := dec.InputOffset()
			if err := strictValue(dec); err != nil {
				return err
			}
			m.meta = bytes.Clone(bytes.TrimLeft(body[start:dec.InputOffset()], " \t\r\n:"))
			return nil
		case "task": // its terms are ignored, as a server without tasks must
			return strictValue(dec)
		default:
			if m.unknown == "" {
				m.unknown = name
			}
			return strictValue(dec)
		}
	})
}

// modern reports whether a message says that it speaks the newest revision, as each
// of that revision does.
func (m message) modern() bool {
	var meta struct {
		Version string `json:"io.modelcontextprotocol/protocolVersion"`
	}
	return m.meta != nil && json.Unmarshal(m.meta, &meta) == nil && meta.Version >= modern
}

// members reads an object, refusing duplicate names, and calls each with the
// decoder in front of the member's value.
func members(dec *jsontext.Decoder, what string, each func(name string) error) error {
	if dec.PeekKind() != '{' {
		if err := strictValue(dec); err != nil {
			return err
		}
		return fmt.Errorf("%s must be a JSON object", what)
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	seen := make(map[string]struct{}, 4)
	for dec.PeekKind() != '}' {
		name, err := readString(dec)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if _, dup := seen[name]; dup {
			return fmt.Errorf("%s: duplicate member %q", what, name)
		}
		seen[name] = struct{}{}
		if err := each(name); err != nil {
			return err
		}
	}
	_, err := dec.ReadToken()
	return err
}

func readString(dec *jsontext.Decoder) (string, error) {
	v, err := dec.ReadValue()
	if err != nil {
		return "", err
	}
	if v.Kind() != '"' {
		return "", errors.New("not a string")
	}
	b, err := jsontext.AppendUnquote(nil, v) // refuses invalid UTF-8 and lone surrogates
	if err != nil {
		return "", err
	}
	return string(b), nil
}

// readID takes what MCP takes as an id: a string or an integer, never null.
func readID(dec *jsontext.Decoder) (jsontext.Value, error) {
	v, err := dec.ReadValue()
	if err != nil {
		return nil, fmt.Errorf("id: %w", err)
	}
	v = v.Clone()
	switch v.Kind() {
	case '"':
		if len(v) > maxIDBytes || !v.IsValid() {
			return nil, fmt.Errorf("id: a string of at most %d valid bytes", maxIDBytes)
		}
		return v, nil
	case '0':
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil && n > -maxIntID && n < maxIntID {
			return v, nil
		}
	}
	return nil, errors.New("id must be a string or an integer that a double holds exactly")
}

func strictValue(dec *jsontext.Decoder) error {
	start := dec.InputOffset()
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if !v.IsValid() { // now with duplicate names and invalid UTF-8 refused
		return fmt.Errorf("duplicate member or invalid text in the value at byte %d", start)
	}
	return nil
}

// withoutArgs returns the bytes of the message m alone, with its arguments emptied.
func withoutArgs(body []byte, m message) []byte {
	if m.args == nil {
		return body[m.start:m.end]
	}
	rest := body[m.argsAt+int64(len(m.args)) : m.end]
	out := make([]byte, 0, int(m.argsAt-m.start)+len(rest)+2)
	out = append(out, body[m.start:m.argsAt]...)
	out = append(out, "{}"...)
	return append(out, rest...)
}
