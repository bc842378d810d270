package shell

import (
	"slices"
	"sort"
	"strings"

	"github.com/tau-robot/tau/gate"
)

// builtins are the prompt's own words.
var builtins = [...]string{"help", "quit", "state", "tools"}

// complete returns what the last word of line, the part of a line before the
// cursor, can become: whole words, sorted, each with the "=" or the blank that
// follows it. It is a pure function but for the names of the scene's bodies, which
// change, and never blocks.
func complete(line string, specs []gate.Spec, names Names) []string {
	line = strings.TrimLeft(line, " ")
	cut := strings.LastIndexByte(line, ' ') + 1
	word := line[cut:]
	var out []string
	add := func(name, end string) {
		if strings.HasPrefix(name, word) {
			out = append(out, name+end)
		}
	}
	switch first := split(line).word; {
	case cut == 0:
		for _, s := range specs {
			end := " "
			if s.Input == nil || len(s.Input.Properties) == 0 {
				end = ""
			}
			add(s.Name, end)
		}
		for _, b := range builtins {
			add(b, "")
		}
	case first == "help":
		for _, s := range specs {
			add(s.Name, "")
		}
	default:
		spec, ok := find(specs, first)
		if !ok || spec.Input == nil || strings.Contains(line, "{") {
			return nil
		}
		if key, _, ok := strings.Cut(word, "="); ok {
			for _, n := range names.of(spec, key) {
				add(key+"="+n, " ")
			}
			break
		}
		completeArguments(spec, line[:cut], names, add)
	}
	sort.Strings(out)
	return slices.Compact(out)
}

// completeArguments offers the arguments that aren't there yet, and the names that
// the first one that is due takes.
func completeArguments(spec gate.Spec, before string, names Names, add func(name, end string)) {
	there := func(name string) bool { return strings.Contains(before, " "+name+"=") }
	due := true
	for _, p := range spec.Input.Properties {
		if p.Schema != nil && p.Schema.Kind == gate.KindMap {
			for _, j := range names.Joints {
				if !there(j) {
					add(j, "=")
				}
			}
			continue
		}
		if there(p.Name) {
			continue
		}
		add(p.Name, "=")
		if due && strings.Count(strings.TrimSpace(before), " ") == 0 {
			for _, n := range names.of(spec, p.Name) {
				add(n, " ")
			}
		}
		due = false
	}
}

// of returns the names that an argument takes.
func (n Names) of(spec gate.Spec, argument string) []string {
	p := property(spec, argument)
	if p == nil || p.Schema == nil || p.Schema.Kind != gate.KindString {
		return nil
	}
	switch {
	case len(p.Schema.Enum) > 0:
		return p.Schema.Enum
	case argument == "joint":
		return n.Joints
	case argument == "tip" || argument == "frame":
		return n.Links
	case argument == "name" && spec.Name == "set_actuator":
		return n.Actuators
	case argument == "name" && spec.Name == "scene_remove" && n.Bodies != nil:
		return n.Bodies()
	}
	return nil
}

func find(specs []gate.Spec, name string) (gate.Spec, bool) {
	for _, s := range specs {
		if s.Name == name {
			return s, true
		}
	}
	return gate.Spec{}, false
}
