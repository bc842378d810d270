package xacro

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// loadYAML is xacro.load_yaml: the file as dictionaries, lists and scalars.
func (x *expander) loadYAML(name string, from place) (value, error) {
	fsys, at, err := x.locate(name)
	if err != nil {
		return nil, fmt.Errorf("file %q %w", clip(name), err)
	}
	if v, known := x.yamls[at]; known {
		return v, nil
	}
	file := x.called(at)
	data, err := x.readFile(fsys, at.path)
	if err != nil {
		return nil, fmt.Errorf("file %q: %w", clip(file), err)
	}
	if x.input += len(data); x.input > MaxInputBytes {
		return nil, fmt.Errorf("all files together have more than %d bytes", MaxInputBytes)
	}
	if err := x.spend(len(data)); err != nil {
		return nil, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	err = dec.Decode(&doc)
	if err == nil {
		if err = dec.Decode(&more); errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			return nil, errAt(place{file, more.Line}, "a second document: one file holds one").note("loaded at %v", from)
		}
	}
	switch {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		return nil, errAt(place{file, 1}, "the file holds nothing").note("loaded at %v", from)
	case err != nil:
		return nil, yamlError(file, err).note("loaded at %v", from)
	}
	y := &yamlReader{x: x, file: file}
	v, f := y.value(doc.Content[0], 0)
	if f != nil {
		return nil, f.note("loaded at %v", from)
	}
	if x.yamls == nil {
		x.yamls = map[location]value{}
	}
	x.yamls[at] = v
	return v, nil
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// yamlError moves the line out of the library's message into the place.
func yamlError(file string, err error) *fault {
	at, msg := place{file, 1}, err.Error()
	if m := yamlLine.FindStringSubmatchIndex(msg); m != nil {
		if n, convErr := strconv.Atoi(msg[m[2]:m[3]]); convErr == nil && n > 0 {
			at.line = n
		}
		msg = msg[:m[0]] + msg[m[1]:]
	}
	return errAt(at, "not well-formed YAML: %s", msg)
}

type yamlReader struct {
	x    *expander
	file string
}

func (y *yamlReader) bad(n *yaml.Node, format string, args ...any) *fault {
	return errAt(place{y.file, max(n.Line, 1)}, format, args...)
}

func (y *yamlReader) value(n *yaml.Node, depth int) (value, *fault) {
	if err := y.x.spend(1); err != nil {
		return nil, y.bad(n, "%w", err)
	}
	if depth > maxYAMLDepth {
		return nil, y.bad(n, "nested more than %d deep", maxYAMLDepth)
	}
	if n.Anchor != "" || n.Kind == yaml.AliasNode {
		return nil, y.bad(n, "anchors and aliases are not supported")
	}
	if n.Kind != yaml.ScalarNode && n.Style&yaml.TaggedStyle != 0 {
		return nil, y.bad(n, "the tag %s is not supported here", clip(n.Tag))
	}
	switch n.Kind {
	case yaml.SequenceNode:
		out := &list{}
		for _, c := range n.Content {
			v, f := y.value(c, depth+1)
			if f != nil {
				return nil, f
			}
			out.items = append(out.items, v)
		}
		return out, nil
	case yaml.MappingNode:
		return y.mapping(n, depth)
	}
	return y.scalar(n)
}

func (y *yamlReader) mapping(n *yaml.Node, depth int) (value, *fault) {
	out := &dict{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, f := y.value(n.Content[i], depth+1)
		if f != nil {
			return nil, f
		}
		if n.Content[i].Tag == "!!merge" {
			return nil, y.bad(n.Content[i], "merges are not supported")
		}
		if _, twice := out.get(k); twice {
			return nil, y.bad(n.Content[i], "the key %q is given twice", clip(n.Content[i].Value))
		}
		v, f := y.value(n.Content[i+1], depth+1)
		if f != nil {
			return nil, f
		}
		if !out.put(k, v) {
			return nil, y.bad(n.Content[i], "a %s can't be a key", k.kind())
		}
	}
	return out, nil
}

// unit is what a unit tag multiplies with; ok is false for any other tag.
func unit(tag string) (factor float64, ok bool) {
	switch tag {
	case "!radians", "!meters":
		return 1, true
	case "!degrees":
		return math.Pi / 180, true
	case "!millimeters":
		return 0.001, true
	case "!foot":
		return 0.3048, true
	case "!inches":
		return 0.0254, true
	}
	return 0, false
}

// ambiguous are plain scalars that YAML 1.1, which ROS reads, and YAML 1.2 take
// for different numbers: octal 010, sexagesimal 1:30, underscores.
var ambiguous = regexp.MustCompile(`^[-+]?(0[0-9]+|[0-9]+(:[0-5]?[0-9])+(\.[0-9]*)?|0o[0-7]+|[0-9][0-9.]*_[0-9_.]*)$`)

func (y *yamlReader) scalar(n *yaml.Node) (value, *fault) {
	if n.Style&yaml.TaggedStyle != 0 {
		return y.tagged(n)
	}
	if n.Style != 0 { // quoted or a block: a text
		return text(n.Value), nil
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		return none{}, nil
	case "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON":
		return boolean(true), nil
	case "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF":
		return boolean(false), nil
	case ".inf", ".Inf", ".INF", "+.inf", "-.inf", ".nan", ".NaN", ".NAN":
		return nil, y.bad(n, "%s is not finite", n.Value)
	}
	if ambiguous.MatchString(n.Value) {
		return nil, y.bad(n, "%q is one number in YAML 1.1 and another, or none, in YAML 1.2; write it plainly", clip(n.Value))
	}
	if c := n.Value[0]; c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' {
		if hex, err := strconv.ParseInt(n.Value, 0, 64); err == nil {
			return integer(hex), nil
		}
		if v, ok := number(n.Value); ok {
			return v, nil
		}
	}
	return text(n.Value), nil
}

// tagged reads !degrees 90 and the like; the number may be an expression.
func (y *yamlReader) tagged(n *yaml.Node) (value, *fault) {
	factor, ok := unit(n.Tag)
	if !ok {
		if n.Tag == "!!str" {
			return text(n.Value), nil
		}
		return nil, y.bad(n, "the tag %s is not supported", clip(n.Tag))
	}
	at := place{y.file, max(n.Line, 1)}
	v, err := y.x.evalExpr(strings.TrimSpace(n.Value), &env{x: y.x, at: at})
	if err != nil {
		return nil, placed(err, at, n.Tag+" "+clip(n.Value))
	}
	f, ok := asFloat(v)
	if !ok {
		return nil, y.bad(n, "%s of a %s; a number is due", n.Tag, v.kind())
	}
	return real(f * factor), nil
}
