package shell

import (
	"sort"
	"strings"

	"github.com/tau-robot/tau/gate"
)

// builtins are the prompt's own words.
var builtins = [...]string{"help", "quit", "state", "tools"}

// complete returns what the last word of line, the part of a line before the
// cursor, can become: whole words, sorted, each with the "=" or the blank that
// follows it. joints are the names that a map of joints takes. It is a pure
// function and never blocks.
func complete(line string, specs []gate.Spec, joints []string) []string {
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
		for _, p := range spec.Input.Properties {
			if p.Schema != nil && p.Schema.Kind == gate.KindMap {
				for _, j := range joints {
					if !strings.Contains(line[:cut], " "+j+"=") {
						add(j, "=")
					}
				}
				continue
			}
			if !strings.Contains(line[:cut], " "+p.Name+"=") {
				add(p.Name, "=")
			}
		}
	}
	sort.Strings(out)
	return out
}

func find(specs []gate.Spec, name string) (gate.Spec, bool) {
	for _, s := range specs {
		if s.Name == name {
			return s, true
		}
	}
	return gate.Spec{}, false
}
