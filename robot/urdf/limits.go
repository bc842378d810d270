package urdf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/tau-robot/tau/robot"
)

// ParseLimits reads a joint_limits.yaml as MoveIt writes it: under joint_limits,
// for each joint, has_position_limits, min_position, max_position,
// has_velocity_limits, max_velocity, has_acceleration_limits, max_acceleration,
// has_jerk_limits, max_jerk, has_effort_limits, max_effort. A number may carry
// the tag !degrees (UR's files do). A has_… of false makes its numbers count for
// nothing; a has_… of true needs them; without a has_… they count.
//
// default_velocity_scaling_factor and default_acceleration_scaling_factor are
// ignored with a warning: how fast a motion runs is the caller's to say.
// Refused are unknown and repeated keys, a second document, anchors, aliases
// and merges, numbers that are not finite decimals, and limits of magnitudes
// that are not above zero.
func ParseLimits(file string, data []byte) (*robot.LimitTable, error) {
	r := &report{file: file}
	if len(data) > MaxLimitsBytes {
		return nil, errAt(file, 1, "the file has %d bytes, more than the %d that are read", len(data), MaxLimitsBytes)
	}
	doc, err := yamlDocument(file, data)
	if err != nil {
		return nil, err
	}
	out := &robot.LimitTable{File: file}
	found := false
	r.mapping(doc, "the file", func(key string, k, v *yaml.Node) {
		switch key {
		case "joint_limits":
			found = true
			r.mapping(v, "joint_limits", func(joint string, k, v *yaml.Node) {
				if wrong := badName(joint); wrong != "" || joint == "" {
					r.bad(k.Line, "joint_limits: not a joint's name: %q %s", clip(joint), wrong)
					return
				}
				out.Joints = append(out.Joints, r.limitEntry(joint, k.Line, v))
			})
		case "default_velocity_scaling_factor", "default_acceleration_scaling_factor":
			r.warn(k.Line, key, "ignored: a motion's speed is the caller's to say")
		default:
			r.bad(k.Line, "unknown key %q", clip(key))
		}
	})
	if !found && len(r.errs) == 0 {
		r.bad(1, "the key joint_limits is missing")
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	out.Warnings = r.warnings()
	return out, nil
}

// yamlDocument returns the root of the file's only document.
func yamlDocument(file string, data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errAt(file, 1, "the file is empty")
		}
		return nil, yamlError(file, err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		if err != nil {
			return nil, yamlError(file, err)
		}
		return nil, errAt(file, more.Line, "a second document: one file holds one")
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, errAt(file, 1, "the file holds nothing")
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`line (\d+): `)

// yamlError moves the line out of the library's message into Where.
func yamlError(file string, err error) error {
	text, line := err.Error(), 1
	if m := yamlLine.FindStringSubmatchIndex(text); m != nil {
		if n, convErr := strconv.Atoi(text[m[2]:m[3]]); convErr == nil {
			line = n
		}
		text = text[:m[0]] + text[m[1]:]
	}
	return errAt(file, line, "not well-formed YAML: %s", text)
}

// mapping calls f for each key of a mapping, after refusing what YAML allows
// beyond plain ones.
func (r *report) mapping(n *yaml.Node, who string, f func(key string, k, v *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.bad(n.Line, "%s: a mapping is due", who)
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind != yaml.ScalarNode || k.Tag == "!!merge" || k.Anchor != "" || v.Anchor != "" || v.Kind == yaml.AliasNode:
			r.bad(k.Line, "%s: anchors, aliases, merges and keys that are not words are not supported", who)
		case seen[k.Value] != 0:
			r.bad(k.Line, "%s: key %q is given twice; the first is in line %d", who, clip(k.Value), seen[k.Value])
		default:
			seen[k.Value] = k.Line
			f(k.Value, k, v)
		}
	}
}

// limitKinds lists each has_… with the numbers that it switches.
var limitKinds = []struct {
	has     string
	numbers []string
}{
	{"has_position_limits", []string{"min_position", "max_position"}},
	{"has_velocity_limits", []string{"max_velocity"}},
	{"has_acceleration_limits", []string{"max_acceleration"}},
	{"has_jerk_limits", []string{"max_jerk"}},
	{"has_effort_limits", []string{"max_effort"}},
}

func (r *report) limitEntry(joint string, line int, n *yaml.Node) robot.LimitEntry {
	out := robot.LimitEntry{Joint: joint, Line: line}
	who := fmt.Sprintf("joint %q", joint)
	into := map[string]**robot.LimitValue{
		"min_position": &out.Lower, "max_position": &out.Upper, "max_velocity": &out.Velocity,
		"max_acceleration": &out.Acceleration, "max_jerk": &out.Jerk, "max_effort": &out.Effort,
	}
	has := map[string]*yaml.Node{}
	r.mapping(n, who, func(key string, k, v *yaml.Node) {
		if dst, ok := into[key]; ok {
			*dst = r.limitValue(who, key, v)
			return
		}
		for _, kind := range limitKinds {
			if kind.has == key {
				has[key] = v
				return
			}
		}
		r.bad(k.Line, "%s: unknown key %q", who, clip(key))
	})
	for _, kind := range limitKinds {
		v := has[kind.has]
		if v == nil {
			continue
		}
		switch {
		case v.Kind != yaml.ScalarNode || v.Tag != "!!bool" || v.Value != "true" && v.Value != "false":
			r.bad(v.Line, "%s: %s is %q; true or false is due", who, kind.has, clip(v.Value))
		case v.Value == "false":
			out.Off = append(out.Off, robot.NamedRef{Name: kind.has, Line: v.Line})
			for _, key := range kind.numbers {
				if dst := into[key]; *dst != nil {
					r.warn((*dst).Line, who, fmt.Sprintf("%s counts for nothing: %s is false", key, kind.has))
					*dst = nil
				}
			}
		default:
			for _, key := range kind.numbers {
				if *into[key] == nil {
					r.bad(v.Line, "%s: %s is true, but %s is missing", who, kind.has, key)
				}
			}
		}
	}
	r.positive(who, into)
	return out
}

// positive refuses limits that would disable or invert a check.
func (r *report) positive(who string, into map[string]**robot.LimitValue) {
	for _, kind := range limitKinds[1:] {
		for _, key := range kind.numbers {
			if v := *into[key]; v != nil && v.Value <= 0 {
				r.bad(v.Line, "%s: %s is %g; it must be above zero", who, key, v.Value)
			}
		}
	}
}

// limitValue reads a number. One that is wrong was reported and counts as 1, so
// that nothing else is reported of it.
func (r *report) limitValue(who, key string, n *yaml.Node) *robot.LimitValue {
	out := &robot.LimitValue{Value: 1, Line: n.Line}
	switch n.Tag {
	case "!!int", "!!float":
	case "!degrees":
		out.Degrees = true
	case "!radians":
	default:
		r.bad(n.Line, "%s: %s: a number is due, not %q", who, key, clip(n.Value))
		return out
	}
	v, wrong := parseNumber(n.Value)
	if wrong == "" && (v > maxMagnitude || v < -maxMagnitude) {
		wrong = fmt.Sprintf("%g is out of range", v)
	}
	if wrong != "" {
		r.bad(n.Line, "%s: %s: %s", who, key, wrong)
		return out
	}
	out.Value = v
	return out
}
