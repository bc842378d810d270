package urdf

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tau-robot/tau/robot"
)

// ParseEquipment reads an actuators.yaml, which says what a robot has beside its
// joints. Its keys, of which at least one is there:
//
//	actuators:              # what can be set
//	  lamp:
//	    kind: led           # a word of the writer's; not joint and not gripper
//	    unit: "1"           # what lower, upper and off are in
//	    lower: 0
//	    upper: 1
//	    off: 0              # what "off" stands for, and what it starts with
//	    on_stop: off        # or unchanged
//	    on_lost_link: off   # or unchanged
//	base:                   # a differential drive, by the names of its joints
//	  {x: …, y: …, yaw: …, left: …, right: …, radius: 0.033, track: 0.16} # m
//	references:             # joints that find a switch before they know where they are
//	  carriage:
//	    switch: 0           # where the joint is when its switch closes, rad or m
//	    end: lower          # or upper: the end that the switch is at
//	    speed: 0.02         # the search's largest speed, rad/s or m/s
//	    travel: 0.5         # and travel, rad or m
//
// Every key of an entry is due: nothing is assumed of what a stop does to an
// output. Refused are unknown and repeated keys, a second document, anchors,
// aliases and merges, and numbers that are not finite decimals. What the entries
// say is held against a robot by Model.Equip.
func ParseEquipment(file string, data []byte) (*robot.Equipment, error) {
	r := &report{file: file}
	if len(data) > MaxEquipmentBytes {
		return nil, errAt(file, 1, "the file has %d bytes, more than the %d that are read", len(data), MaxEquipmentBytes)
	}
	doc, err := yamlDocument(file, data)
	if err != nil {
		return nil, err
	}
	out := &robot.Equipment{File: file}
	known := false
	r.mapping(doc, "the file", func(key string, k, v *yaml.Node) {
		switch key {
		case "actuators":
			r.mapping(v, key, func(name string, k, v *yaml.Node) {
				if r.named(key, name, k.Line) {
					out.Actuators = append(out.Actuators, r.actuator(name, k.Line, v))
				}
			})
		case "base":
			out.Base = r.baseEntry(k.Line, v)
		case "references":
			r.mapping(v, key, func(joint string, k, v *yaml.Node) {
				if r.named(key, joint, k.Line) {
					out.References = append(out.References, r.reference(joint, k.Line, v))
				}
			})
		default:
			r.bad(k.Line, "unknown key %q", clip(key))
			return
		}
		known = true
	})
	if !known && len(r.errs) == 0 {
		r.bad(1, "none of the keys actuators, base and references is there")
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return out, nil
}

// named reports whether name can be one; where it can't, that is an error.
func (r *report) named(who, name string, line int) bool {
	wrong := badName(name)
	if wrong == "" && name != "" {
		return true
	}
	r.bad(line, "%s: not a name: %q %s", who, clip(name), wrong)
	return false
}

// field is a key of an entry and what reads its value.
type field struct {
	key  string
	read func(who, key string, n *yaml.Node)
}

// fields reads an entry, all of whose keys are due.
func (r *report) fields(who string, line int, n *yaml.Node, fields []field) {
	if n.Kind != yaml.MappingNode {
		r.bad(n.Line, "%s: a mapping is due", who)
		return
	}
	given := map[string]bool{}
	r.mapping(n, who, func(key string, k, v *yaml.Node) {
		given[key] = true
		i := slices.IndexFunc(fields, func(f field) bool { return f.key == key })
		if i < 0 {
			r.bad(k.Line, "%s: unknown key %q", who, clip(key))
			return
		}
		fields[i].read(who, key, v)
	})
	var missing []string
	for _, f := range fields {
		if !given[f.key] {
			missing = append(missing, f.key)
		}
	}
	if len(missing) > 0 {
		r.bad(line, "%s: missing: %s", who, strings.Join(missing, ", "))
	}
}

func (r *report) actuator(name string, line int, n *yaml.Node) robot.ActuatorEntry {
	out := robot.ActuatorEntry{Line: line}
	out.Name = name
	r.fields(fmt.Sprintf("actuator %q", name), line, n, []field{
		{"kind", r.word(&out.Kind)},
		{"unit", r.word(&out.Unit)},
		{"lower", r.decimal(&out.Lower)},
		{"upper", r.decimal(&out.Upper)},
		{"off", r.decimal(&out.Off)},
		{"on_stop", r.oneOf(&out.OnStop, "off", "unchanged")},
		{"on_lost_link", r.oneOf(&out.OnLost, "off", "unchanged")},
	})
	return out
}

func (r *report) baseEntry(line int, n *yaml.Node) *robot.BaseEntry {
	out := &robot.BaseEntry{Line: line}
	r.fields("base", line, n, []field{
		{"x", r.word(&out.X)},
		{"y", r.word(&out.Y)},
		{"yaw", r.word(&out.Yaw)},
		{"left", r.word(&out.Left)},
		{"right", r.word(&out.Right)},
		{"radius", r.decimal(&out.Radius)},
		{"track", r.decimal(&out.Track)},
	})
	return out
}

func (r *report) reference(joint string, line int, n *yaml.Node) robot.ReferenceEntry {
	out := robot.ReferenceEntry{Joint: joint, Line: line}
	var end string
	r.fields(fmt.Sprintf("reference of joint %q", joint), line, n, []field{
		{"switch", r.decimal(&out.Switch)},
		{"end", r.oneOf(&end, "lower", "upper")},
		{"speed", r.decimal(&out.Speed)},
		{"travel", r.decimal(&out.Travel)},
	})
	out.Upper = end == "upper"
	return out
}

// word reads text that people can read: a name, a kind, a unit.
func (r *report) word(into *string) func(who, key string, n *yaml.Node) {
	return func(who, key string, n *yaml.Node) {
		wrong := badName(n.Value)
		switch {
		case n.Kind != yaml.ScalarNode || n.Tag != "!!str":
			r.bad(n.Line, "%s: %s: text is due, not %q (a number or a word that YAML reads as something else needs quotes)", who, key, clip(n.Value))
		case n.Value == "":
			r.bad(n.Line, "%s: %s is empty", who, key)
		case wrong != "":
			r.bad(n.Line, "%s: %s: %s", who, key, wrong)
		default:
			*into = n.Value
		}
	}
}

func (r *report) oneOf(into *string, words ...string) func(who, key string, n *yaml.Node) {
	return func(who, key string, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!str" || !slices.Contains(words, n.Value) {
			r.bad(n.Line, "%s: %s is %q; %s is due", who, key, clip(n.Value), strings.Join(words, " or "))
			return
		}
		*into = n.Value
	}
}

func (r *report) decimal(into *float64) func(who, key string, n *yaml.Node) {
	return func(who, key string, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || n.Tag != "!!int" && n.Tag != "!!float" {
			r.bad(n.Line, "%s: %s: a number is due, not %q", who, key, clip(n.Value))
			return
		}
		v, wrong := parseNumber(n.Value)
		if wrong == "" && math.Abs(v) > maxMagnitude {
			wrong = fmt.Sprintf("%g is out of range", v)
		}
		if wrong != "" {
			r.bad(n.Line, "%s: %s: %s", who, key, wrong)
			return
		}
		*into = v
	}
}
