package gate

import (
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonKind is the kind that a decoder announces for a value of this kind; both
// booleans count as 't'.
func (k SchemaKind) jsonKind() jsontext.Kind {
	switch k {
	case KindObject, KindMap, kindFree:
		return '{'
	case KindArray:
		return '['
	case KindNumber, KindInteger:
		return '0'
	case KindString:
		return '"'
	case KindBool:
		return 't'
	}
	return 0
}

func (k SchemaKind) article() string {
	switch k {
	case KindObject, KindMap, kindFree:
		return "an object"
	case KindArray:
		return "an array"
	case KindNumber:
		return "a number"
	case KindInteger:
		return "an integer"
	case KindString:
		return "a string"
	case KindBool:
		return "true or false"
	}
	return "nothing"
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '0':
		return "a number"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "something that is not JSON"
}

// syntax turns a decoder's error into ours, in fixed words of our own, since
// those of the package may change.
func (d *strictDecoder) syntax(err error) error {
	at, what := d.dec.InputOffset(), "not valid JSON"
	var s *jsontext.SyntacticError
	where := ""
	if errors.As(err, &s) {
		at = s.ByteOffset
		switch {
		case errors.Is(s.Err, jsontext.ErrDuplicateName):
			what, where = "the name is there twice", lastToken(s.JSONPointer)
		case errors.Is(s.Err, jsontext.ErrNonStringName):
			what = "a name must be a string"
		case errors.Is(s.Err, io.ErrUnexpectedEOF):
			what = "the JSON ends early"
		case strings.Contains(s.Err.Error(), "UTF-8"):
			what = "not valid UTF-8"
		case strings.Contains(s.Err.Error(), "surrogate"):
			what = "a lone surrogate"
		}
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		what = "the JSON ends early"
	}
	return &Error{Code: CodeInvalidArgument, Where: where, Text: what + ", at byte " + strconv.FormatInt(at, 10), Err: err}
}

func (d *strictDecoder) syntaxOrNil(err error) error {
	if err == nil {
		return nil
	}
	return d.syntax(err)
}

func (d *strictDecoder) trailing() error {
	return Errf(CodeInvalidArgument, "arguments", "there is more behind the object, at byte %d", d.dec.InputOffset())
}

func lastToken(p jsontext.Pointer) string { return clip(p.LastToken(), 64) }

func limitErr(text string, value, limit float64, unit string) error {
	return &Error{
		Code: CodeInvalidArgument, Text: text,
		Value: &Quantity{Value: value, Unit: unit}, Limit: &Quantity{Value: limit, Unit: unit},
	}
}

// prefix puts a field's name before the place that err names, so that a place
// grows from the inside out: "[1]", "position[1]", "waypoints[0].position[1]".
func prefix(err error, name string) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	switch {
	case e.Where == "":
		e.Where = name
	case strings.HasPrefix(e.Where, "["):
		e.Where = name + e.Where
	default:
		e.Where = name + "." + e.Where
	}
	return e
}
