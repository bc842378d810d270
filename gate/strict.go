package gate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of a call's arguments.
const (
	// MaxArgsBytes bounds the raw arguments of a call.
	MaxArgsBytes = 256 << 10
	// MaxArgsDepth bounds their nesting, a client's _meta included.
	MaxArgsDepth = 32
)

// metaField is what MCP clients may add to the arguments; it is taken out first (G7).
const metaField = "_meta"

// maxInteger is the largest integer that float64, and so RFC 8785, holds exactly.
const maxInteger = 1<<53 - 1

// DecodeStrict checks raw against the schema of a tool's arguments and returns
// it in the canonical form of RFC 8785, without a top-level _meta. Empty input
// means {}. It refuses, with INVALID_ARGUMENT naming the field, value and limit:
// duplicate names, lone surrogates, invalid UTF-8, trailing data, unknown and
// missing fields, wrong kinds (booleans for numbers too), numbers that aren't
// finite in float64, values out of bounds, and input beyond MaxArgsBytes or
// MaxArgsDepth. A nil schema checks the syntax alone. An output schema works as
// well, to test a tool's results with. The caller owns the result;
// raw is only read.
func DecodeStrict(schema *Schema, raw []byte) (json.RawMessage, error) {
	if len(raw) > MaxArgsBytes {
		return nil, &Error{
			Code: CodeInvalidArgument, Where: "arguments", Text: "too long",
			Value: &Quantity{Value: float64(len(raw)), Unit: "bytes"},
			Limit: &Quantity{Value: MaxArgsBytes, Unit: "bytes"},
		}
	}
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	// A bytes.Buffer makes the decoder read raw in place.
	d := strictDecoder{dec: jsontext.NewDecoder(bytes.NewBuffer(raw)), raw: raw}
	if err := d.top(schema); err != nil {
		return nil, err
	}
	if _, err := d.dec.ReadToken(); err == nil {
		return nil, d.trailing()
	} else if !errors.Is(err, io.EOF) {
		return nil, d.trailing()
	}
	out := jsontext.Value(d.withoutMeta())
	if err := out.Canonicalize(); err != nil { // can't be: the decoder has taken all of it
		return nil, d.syntax(err)
	}
	return json.RawMessage(out), nil
}

type strictDecoder struct {
	dec *jsontext.Decoder
	raw []byte
	// metaFrom and metaTo bound the top-level _meta member, if there is one:
	// from the end of what precedes its name to the end of its value.
	metaFrom, metaTo int64
	hasMeta          bool
}

// top reads the arguments' object.
func (d *strictDecoder) top(s *Schema) error {
	if k := d.dec.PeekKind(); k != '{' {
		if _, err := d.dec.ReadToken(); err != nil {
			return d.syntax(err)
		}
		return Errf(CodeInvalidArgument, "arguments", "must be an object, not %s", kindName(k))
	}
	if s == nil {
		return d.skip()
	}
	if s.Kind != KindObject {
		return Errf(CodeInvalidArgument, "arguments", "the tool's schema is not an object")
	}
	return d.object(s, true)
}

// withoutMeta returns a copy of raw without its top-level _meta.
func (d *strictDecoder) withoutMeta() []byte {
	if !d.hasMeta {
		return bytes.Clone(d.raw)
	}
	out := make([]byte, 0, len(d.raw))
	out = append(out, d.raw[:d.metaFrom]...)
	rest := bytes.TrimLeft(d.raw[d.metaTo:], " \t\r\n")
	// The member's comma stands either before its name, in the part that was
	// cut, or, for a first member, behind its value.
	if out[len(out)-1] == '{' {
		rest = bytes.TrimPrefix(rest, []byte(","))
	}
	return append(out, rest...)
}

func (d *strictDecoder) object(s *Schema, top bool) error {
	if _, err := d.dec.ReadToken(); err != nil {
		return d.syntax(err)
	}
	var seen uint64 // by property, for the first 64
	var seenMore map[int]bool
	for d.dec.PeekKind() != '}' {
		before := d.dec.InputOffset()
		tok, err := d.dec.ReadToken()
		if err != nil {
			return d.syntax(err)
		}
		name := tok.String()
		if top && name == metaField {
			if err := d.skip(); err != nil {
				return prefix(err, metaField)
			}
			d.hasMeta, d.metaFrom, d.metaTo = true, before, d.dec.InputOffset()
			continue
		}
		i := slices.IndexFunc(s.Properties, func(p Property) bool { return p.Name == name })
		if i < 0 {
			return unknownField(s, name)
		}
		if err := d.value(s.Properties[i].Schema); err != nil {
			return prefix(err, name)
		}
		if i < 64 {
			seen |= 1 << i
		} else {
			if seenMore == nil {
				seenMore = map[int]bool{}
			}
			seenMore[i] = true
		}
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return d.syntax(err)
	}
	for i, p := range s.Properties {
		if p.Required && !(i < 64 && seen&(1<<i) != 0 || seenMore[i]) {
			return Errf(CodeInvalidArgument, p.Name, "is missing")
		}
	}
	return nil
}

func unknownField(s *Schema, name string) error {
	known := make([]string, len(s.Properties))
	for i, p := range s.Properties {
		known[i] = p.Name
	}
	text := "unknown field; there are none here"
	if len(known) > 0 {
		text = "unknown field; known: " + strings.Join(known, ", ")
	}
	return &Error{Code: CodeInvalidArgument, Where: clip(name, 64), Text: text}
}

func (d *strictDecoder) value(s *Schema) error {
	if s == nil {
		return Errf(CodeInvalidArgument, "", "the tool's schema accepts nothing here")
	}
	if s.Kind == KindAny {
		return d.skip()
	}
	k := d.dec.PeekKind()
	if want := s.Kind.jsonKind(); k != want {
		if k == 0 || want == 0 {
			if _, err := d.dec.ReadToken(); err != nil {
				return d.badValue(s, err)
			}
			return Errf(CodeInvalidArgument, "", "the tool's schema accepts nothing here")
		}
		if k == 'f' && want == 't' {
			_, err := d.dec.ReadToken()
			return d.syntaxOrNil(err)
		}
		if err := d.dec.SkipValue(); err != nil {
			return d.badValue(s, err)
		}
		return Errf(CodeInvalidArgument, "", "must be %s, not %s", s.Kind.article(), kindName(k))
	}
	switch s.Kind {
	case kindFree:
		return d.skip()
	case KindObject:
		return d.object(s, false)
	case KindMap:
		return d.mapping(s)
	case KindArray:
		return d.array(s)
	case KindNumber, KindInteger:
		return d.number(s)
	case KindString:
		return d.text(s)
	case KindBool:
		_, err := d.dec.ReadToken()
		return d.syntaxOrNil(err)
	}
	return Errf(CodeInvalidArgument, "", "the tool's schema accepts nothing here")
}

func (d *strictDecoder) badValue(s *Schema, err error) error {
	if s.Kind == KindNumber || s.Kind == KindInteger {
		return d.badNumber(err)
	}
	return d.syntax(err)
}

// badNumber names NaN and infinity, because they are what a program prints by
// mistake; anything else is a syntax error.
func (d *strictDecoder) badNumber(err error) error {
	rest := bytes.TrimLeft(d.raw[min(int(d.dec.InputOffset()), len(d.raw)):], ":, \t\r\n")
	low := strings.TrimLeft(strings.ToLower(string(rest[:min(len(rest), 9)])), "+-")
	if strings.HasPrefix(low, "nan") || strings.HasPrefix(low, "inf") {
		return Errf(CodeInvalidArgument, "", "must be a finite number")
	}
	return d.syntax(err)
}

func (d *strictDecoder) mapping(s *Schema) error {
	if _, err := d.dec.ReadToken(); err != nil {
		return d.syntax(err)
	}
	n := 0
	for d.dec.PeekKind() != '}' {
		tok, err := d.dec.ReadToken()
		if err != nil {
			return d.syntax(err)
		}
		name := tok.String()
		if len(s.Enum) > 0 && !slices.Contains(s.Enum, name) {
			return &Error{Code: CodeInvalidArgument, Where: clip(name, 64), Text: "unknown name; known: " + strings.Join(s.Enum, ", ")}
		}
		if err := d.value(s.Elem); err != nil {
			return prefix(err, clip(name, 64))
		}
		n++
	}
	_, err := d.dec.ReadToken()
	if err != nil {
		return d.syntax(err)
	}
	return countErr(n, s)
}

func (d *strictDecoder) array(s *Schema) error {
	if _, err := d.dec.ReadToken(); err != nil {
		return d.syntax(err)
	}
	n := 0
	for d.dec.PeekKind() != ']' {
		if err := d.value(s.Elem); err != nil {
			return prefix(err, "["+strconv.Itoa(n)+"]")
		}
		n++
	}
	if _, err := d.dec.ReadToken(); err != nil {
		return d.syntax(err)
	}
	return countErr(n, s)
}

func countErr(n int, s *Schema) error {
	if n < s.MinItems {
		return limitErr("too few elements", float64(n), float64(s.MinItems), "")
	}
	if s.MaxItems > 0 && n > s.MaxItems {
		return limitErr("too many elements", float64(n), float64(s.MaxItems), "")
	}
	return nil
}

func (d *strictDecoder) number(s *Schema) error {
	tok, err := d.dec.ReadToken()
	if err != nil {
		return d.badNumber(err)
	}
	v, err := tok.Float()
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return Errf(CodeInvalidArgument, "", "must be a finite number, %s is beyond float64", clip(tok.String(), 24))
	}
	if s.Kind == KindInteger {
		if v != math.Trunc(v) {
			return &Error{Code: CodeInvalidArgument, Text: "must be an integer", Value: &Quantity{Value: v, Unit: s.Unit}}
		}
		if math.Abs(v) > maxInteger {
			return limitErr("the integer is too large", v, math.Copysign(maxInteger, v), s.Unit)
		}
	}
	switch {
	case s.Min != nil && v < *s.Min:
		return limitErr("too small", v, *s.Min, s.Unit)
	case s.Above != nil && v <= *s.Above:
		return limitErr("must be above the limit", v, *s.Above, s.Unit)
	case s.Max != nil && v > *s.Max:
		return limitErr("too large", v, *s.Max, s.Unit)
	}
	return nil
}

func (d *strictDecoder) text(s *Schema) error {
	tok, err := d.dec.ReadToken()
	if err != nil {
		return d.syntax(err)
	}
	v := tok.String()
	if s.MaxLength > 0 && len(v) > s.MaxLength {
		return limitErr("too long", float64(len(v)), float64(s.MaxLength), "bytes")
	}
	if len(s.Enum) > 0 && !slices.Contains(s.Enum, v) {
		return Errf(CodeInvalidArgument, "", "%q is not one of: %s", clip(v, 64), strings.Join(s.Enum, ", "))
	}
	return nil
}

// skip reads one value of any kind, to at most MaxArgsDepth.
func (d *strictDecoder) skip() error {
	base := d.dec.StackDepth()
	for {
		if _, err := d.dec.ReadToken(); err != nil {
			return d.syntax(err)
		}
		depth := d.dec.StackDepth()
		if depth > MaxArgsDepth {
			return limitErr("nested too deep", float64(depth), MaxArgsDepth, "levels")
		}
		if depth <= base {
			return nil
		}
	}
}
