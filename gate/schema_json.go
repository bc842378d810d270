package gate

import (
	"crypto/sha256"
	"encoding/json"
	"math"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// schemaDialect is the meta-schema that JSON names.
const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

// maxSchemaDepth bounds the nesting of a schema and so of any valid argument.
const maxSchemaDepth = 16

var propertyName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// JSON returns the schema as JSON Schema 2020-12. Equal schemas give equal bytes:
// keywords come in a fixed order and properties in the order of the schema. Units
// stand in brackets behind the descriptions. The caller owns the bytes.
func (s *Schema) JSON() []byte {
	b := append([]byte(`{"$schema":`), quote(schemaDialect)...)
	body := s.appendJSON(nil)
	if len(body) > 2 {
		b = append(b, ',')
		b = append(b, body[1:]...)
		return b
	}
	return append(b, '}')
}

// Hash returns the SHA-256 of JSON.
func (s *Schema) Hash() [32]byte { return sha256.Sum256(s.JSON()) }

func (s *Schema) appendJSON(b []byte) []byte {
	if s == nil {
		return append(b, `{"not":{}}`...)
	}
	start := len(b)
	b = append(b, '{')
	key := func(name string) {
		if len(b) > start+1 {
			b = append(b, ',')
		}
		b = append(b, quote(name)...)
		b = append(b, ':')
	}
	num := func(name string, v *float64) {
		if v != nil {
			key(name)
			b = appendNumber(b, *v)
		}
	}
	count := func(name string, n int) {
		if n > 0 {
			key(name)
			b = strconv.AppendInt(b, int64(n), 10)
		}
	}
	if t := s.Kind.jsonType(); t != "" {
		key("type")
		b = append(b, quote(t)...)
	} else if s.Kind != KindAny {
		key("not")
		b = append(b, "{}"...)
	}
	if d := s.describe(); d != "" {
		key("description")
		b = append(b, quote(d)...)
	}
	switch s.Kind {
	case KindObject:
		key("properties")
		b = append(b, '{')
		for i, p := range s.Properties {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, quote(p.Name)...)
			b = append(b, ':')
			b = p.Schema.appendJSON(b)
		}
		b = append(b, '}')
		if req := s.required(); len(req) > 0 {
			key("required")
			b = appendStrings(b, req)
		}
		key("additionalProperties")
		b = append(b, "false"...)
	case KindMap:
		if len(s.Enum) > 0 {
			key("propertyNames")
			b = append(b, `{"enum":`...)
			b = appendStrings(b, s.Enum)
			b = append(b, '}')
		}
		key("additionalProperties")
		b = s.Elem.appendJSON(b)
		count("minProperties", s.MinItems)
		count("maxProperties", s.MaxItems)
	case KindArray:
		key("items")
		b = s.Elem.appendJSON(b)
		count("minItems", s.MinItems)
		count("maxItems", s.MaxItems)
	case KindString:
		if len(s.Enum) > 0 {
			key("enum")
			b = appendStrings(b, s.Enum)
		}
		count("maxLength", s.MaxLength)
	case KindNumber, KindInteger:
		num("minimum", s.Min)
		num("exclusiveMinimum", s.Above)
		num("maximum", s.Max)
	}
	if s.Default != "" {
		key("default")
		b = append(b, s.Default...)
	}
	return append(b, '}')
}

func (k SchemaKind) jsonType() string {
	switch k {
	case KindObject, KindMap, kindFree:
		return "object"
	case KindArray:
		return "array"
	case KindNumber:
		return "number"
	case KindInteger:
		return "integer"
	case KindString:
		return "string"
	case KindBool:
		return "boolean"
	}
	return ""
}

func (s *Schema) describe() string {
	switch {
	case s.Unit == "":
		return s.Description
	case s.Description == "":
		return "[" + s.Unit + "]"
	}
	return s.Description + " [" + s.Unit + "]"
}

func (s *Schema) required() []string {
	var out []string
	for _, p := range s.Properties {
		if p.Required {
			out = append(out, p.Name)
		}
	}
	return out
}

func appendStrings(b []byte, list []string) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, quote(v)...)
	}
	return append(b, ']')
}

func appendNumber(b []byte, v float64) []byte {
	out, err := json.Marshal(v)
	if err != nil { // not finite; check has refused it before a tool is registered
		return append(b, "null"...)
	}
	return append(b, out...)
}

func quote(s string) []byte {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil { // invalid UTF-8: b holds the text with replacement characters
		return b
	}
	return b
}

// check refuses a schema that can't be meant: unknown kinds, double or ill-formed
// names, bounds that aren't finite or exclude everything, a default that isn't
// JSON. where names the place inside the schema; input says that KindAny is not allowed.
func (s *Schema) check(where string, input bool, depth int) error {
	bad := func(format string, args ...any) error {
		return Errf(CodeInvalidArgument, where, "schema: "+format, args...)
	}
	if s == nil {
		return bad("there is none")
	}
	if depth > maxSchemaDepth {
		return bad("nested more than %d deep", maxSchemaDepth)
	}
	if s.MinItems < 0 || s.MaxItems < 0 || s.MaxLength < 0 || s.MaxItems > 0 && s.MinItems > s.MaxItems {
		return bad("counts %d to %d, length %d", s.MinItems, s.MaxItems, s.MaxLength)
	}
	lo := math.Inf(-1)
	for _, v := range []*float64{s.Min, s.Above, s.Max} {
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) {
			return bad("a bound is not finite")
		}
	}
	if s.Min != nil {
		lo = *s.Min
	}
	if s.Max != nil && (lo > *s.Max || s.Above != nil && *s.Above >= *s.Max) {
		return bad("the bounds exclude every value")
	}
	if s.Default != "" && !jsontext.Value(s.Default).IsValid() {
		return bad("the default %q is not JSON", s.Default)
	}
	switch s.Kind {
	case KindObject:
		seen := make(map[string]bool, len(s.Properties))
		for _, p := range s.Properties {
			if !propertyName.MatchString(p.Name) {
				return bad("%q is not a property name", p.Name)
			}
			if input && p.Name == metaField {
				return bad("%q is the client's own field", p.Name)
			}
			if seen[p.Name] {
				return bad("property %q is there twice", p.Name)
			}
			seen[p.Name] = true
			if err := p.Schema.check(joinPath(where, p.Name), input, depth+1); err != nil {
				return err
			}
		}
	case KindMap, KindArray:
		return s.Elem.check(where+"[]", input, depth+1)
	case KindNumber, KindInteger, KindString, KindBool, kindFree:
	case KindAny:
		if input {
			return bad("arguments of any kind are not allowed")
		}
	default:
		return bad("%d is not a kind", s.Kind)
	}
	return nil
}

func joinPath(where, name string) string {
	if where == "" {
		return name
	}
	return where + "." + name
}
