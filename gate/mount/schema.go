package mount

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tau-robot/tau/gate"
)

// jsonSchema is the part of JSON Schema that argument schemas of MCP tools are made of.
// What only narrows a value further (pattern, format, minLength, exclusiveMaximum, …) is
// left to the server, which checks its arguments itself.
type jsonSchema struct {
	Type                 json.RawMessage       `json:"type"`
	Properties           map[string]jsonSchema `json:"properties"`
	Required             []string              `json:"required"`
	AdditionalProperties json.RawMessage       `json:"additionalProperties"`
	Items                *jsonSchema           `json:"items"`
	Enum                 []json.RawMessage     `json:"enum"`
	Const                json.RawMessage       `json:"const"`
	AnyOf                []jsonSchema          `json:"anyOf"`
	OneOf                []jsonSchema          `json:"oneOf"`
	AllOf                []jsonSchema          `json:"allOf"`
	Not                  json.RawMessage       `json:"not"`
	If                   json.RawMessage       `json:"if"`
	PatternProperties    json.RawMessage       `json:"patternProperties"`
	PrefixItems          json.RawMessage       `json:"prefixItems"`
	Ref                  string                `json:"$ref"`
	Defs                 map[string]jsonSchema `json:"$defs"`
	Definitions          map[string]jsonSchema `json:"definitions"`
	Minimum              *float64              `json:"minimum"`
	Maximum              *float64              `json:"maximum"`
	ExclusiveMinimum     json.RawMessage       `json:"exclusiveMinimum"`
	MinItems             int                   `json:"minItems"`
	MaxItems             int                   `json:"maxItems"`
	MaxLength            int                   `json:"maxLength"`
}

// Bounds of a server's schema, and of values for which it states none.
const (
	maxSchemaBytes = 256 << 10
	maxSchemaDepth = 8
	maxString      = 64 << 10 // bytes
	maxElements    = 1024
)

// arguments makes the gate's schema of a server's: as strict as the gate's are, which
// take no unknown field and no null. What can't be said in it is an error.
func arguments(raw []byte, meanings map[string]string) (*gate.Schema, error) {
	if len(raw) > maxSchemaBytes {
		return nil, fmt.Errorf("its schema has %d bytes, at most %d are read", len(raw), maxSchemaBytes)
	}
	var top jsonSchema
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &top); err != nil {
			return nil, fmt.Errorf("its schema can't be read: %w", err)
		}
	}
	r := reader{defs: top.Defs, definitions: top.Definitions}
	if len(top.Type) == 0 && top.Ref == "" && len(top.AnyOf) == 0 {
		top.Type = json.RawMessage(`"object"`)
	}
	s, _, err := r.read(top, "", 0)
	if err != nil {
		return nil, err
	}
	if s.Kind == gate.KindMap {
		return nil, fmt.Errorf("its schema takes any argument")
	}
	if s.Kind != gate.KindObject {
		return nil, fmt.Errorf("its schema isn't that of an object")
	}
	for _, name := range slices.Sorted(maps.Keys(meanings)) {
		i := slices.IndexFunc(s.Properties, func(p gate.Property) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("arguments.%s: the tool has no such argument", name)
		}
		s.Properties[i].Schema = s.Properties[i].Schema.Desc(meanings[name])
	}
	return s, nil
}

type reader struct{ defs, definitions map[string]jsonSchema }

// read converts one schema. nullable: null is one of its values, which the gate writes
// as an argument that is left out.
func (r reader) read(s jsonSchema, at string, depth int) (out *gate.Schema, nullable bool, err error) {
	bad := func(format string, args ...any) (*gate.Schema, bool, error) {
		return nil, false, fmt.Errorf("its schema%s: %w", at, fmt.Errorf(format, args...))
	}
	if depth > maxSchemaDepth {
		return bad("is nested more than %d deep", maxSchemaDepth)
	}
	if s.Ref != "" {
		name, ok := strings.CutPrefix(s.Ref, "#/$defs/")
		from := r.defs
		if !ok {
			name, ok = strings.CutPrefix(s.Ref, "#/definitions/")
			from = r.definitions
		}
		to, found := from[name]
		if !ok || !found {
			return bad("$ref %q leads nowhere in it", s.Ref)
		}
		return r.read(to, at, depth+1)
	}
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"not", len(s.Not) > 0}, {"if", len(s.If) > 0}, {"patternProperties", len(s.PatternProperties) > 0},
		{"prefixItems", len(s.PrefixItems) > 0}, {"oneOf", len(s.OneOf) > 0}, {"allOf", len(s.AllOf) > 1},
	} {
		if f.set {
			return bad("%s can't be held by the gate", f.name)
		}
	}
	if len(s.AllOf) == 1 {
		return r.read(s.AllOf[0], at, depth+1)
	}
	if len(s.AnyOf) > 0 {
		return r.anyOf(s.AnyOf, at, depth)
	}
	kind, nullable, err := typeOf(s.Type)
	if err != nil {
		return bad("%w", err)
	}
	if kind == "" && len(s.Enum) > 0 || len(s.Const) > 0 {
		kind = "string"
	}
	switch kind {
	case "object":
		out, err = r.object(s, at, depth)
	case "array":
		if s.Items == nil {
			return bad("says nothing of the array's elements")
		}
		var elem *gate.Schema
		if elem, _, err = r.read(*s.Items, at+"[]", depth+1); err == nil {
			out = gate.Arr(elem, max(s.MinItems, 0), bound(s.MaxItems, maxElements))
		}
	case "string":
		out, err = text(s)
	case "number", "integer":
		out = gate.Num()
		if kind == "integer" {
			out = gate.Int()
		}
		out.Min, out.Max = s.Minimum, s.Maximum
		var above float64
		if len(s.ExclusiveMinimum) > 0 && json.Unmarshal(s.ExclusiveMinimum, &above) == nil {
			out.Min, out.Above = nil, &above
		}
	case "boolean":
		out = gate.Bool()
	default:
		return bad("has the type %q, which the gate can't hold", kind)
	}
	if err != nil {
		return bad("%w", err)
	}
	return out, nullable, nil
}

// anyOf takes a choice between one thing and null, which is how optional arguments are
// often written.
func (r reader) anyOf(all []jsonSchema, at string, depth int) (*gate.Schema, bool, error) {
	var one *jsonSchema
	null := false
	for i := range all {
		if string(bytes.TrimSpace(all[i].Type)) == `"null"` {
			null = true
			continue
		}
		if one != nil {
			return nil, false, fmt.Errorf("its schema%s: a choice between several kinds can't be held by the gate", at)
		}
		one = &all[i]
	}
	if one == nil {
		return nil, false, fmt.Errorf("its schema%s: allows nothing", at)
	}
	s, also, err := r.read(*one, at, depth+1)
	return s, null || also, err
}

func (r reader) object(s jsonSchema, at string, depth int) (*gate.Schema, error) {
	if len(s.Properties) == 0 && len(s.AdditionalProperties) > 0 {
		switch string(bytes.TrimSpace(s.AdditionalProperties)) {
		case "false":
		case "true":
			return nil, fmt.Errorf("takes fields of any kind")
		default:
			var elem jsonSchema
			if err := json.Unmarshal(s.AdditionalProperties, &elem); err != nil {
				return nil, err
			}
			of, _, err := r.read(elem, at+".*", depth+1)
			if err != nil {
				return nil, err
			}
			return gate.MapOf(of, 0, maxElements), nil
		}
	}
	out := gate.Obj()
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p, nullable, err := r.read(s.Properties[name], at+"."+name, depth+1)
		if err != nil {
			return nil, err
		}
		out.Properties = append(out.Properties, gate.Property{Name: name, Required: slices.Contains(s.Required, name) && !nullable, Schema: p})
	}
	for _, name := range s.Required {
		if _, ok := s.Properties[name]; !ok {
			return nil, fmt.Errorf("requires %q and doesn't say what that is", name)
		}
	}
	return out, nil
}

func text(s jsonSchema) (*gate.Schema, error) {
	values := s.Enum
	if len(s.Const) > 0 {
		values = []json.RawMessage{s.Const}
	}
	if len(values) == 0 {
		return gate.Str(bound(s.MaxLength, maxString)), nil
	}
	all := make([]string, len(values))
	for i, v := range values {
		if err := json.Unmarshal(v, &all[i]); err != nil {
			return nil, fmt.Errorf("lists values that aren't strings")
		}
	}
	return gate.Enum(all...), nil
}

// typeOf reads a type, or a list of a type and null.
func typeOf(raw json.RawMessage) (kind string, nullable bool, err error) {
	if len(raw) == 0 {
		return "", false, nil
	}
	if json.Unmarshal(raw, &kind) == nil {
		return kind, false, nil
	}
	var list []string
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", false, fmt.Errorf("type isn't one")
	}
	for _, k := range list {
		switch {
		case k == "null":
			nullable = true
		case kind != "":
			return "", false, fmt.Errorf("a choice between several types can't be held by the gate")
		default:
			kind = k
		}
	}
	return kind, nullable, nil
}

func bound(n, most int) int {
	if n <= 0 || n > most {
		return most
	}
	return n
}
