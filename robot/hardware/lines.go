package hardware

import (
	"strings"
)

// lines finds the line of each key of a file that TOML's parser has accepted, for
// errors: the parser keeps them to itself. The key of an inline table or a value over
// several lines has the line of what it is in.
type lines map[string]int

func findLines(data []byte) lines {
	out := lines{}
	table := ""
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "["):
			end := strings.LastIndexByte(strings.SplitN(line, "#", 2)[0], ']')
			if end < 0 {
				continue // a row of an array
			}
			if name := dotted(strings.Trim(line[:end], "[] \t")); name != "" {
				table = name
				out.add(table, n)
			}
		case line != "" && line[0] != '#':
			key, _, isKey := strings.Cut(line, "=")
			if !isKey {
				continue
			}
			if name := dotted(key); name != "" {
				if table != "" {
					name = table + "." + name
				}
				out.add(name, n)
			}
		}
	}
	return out
}

func (l lines) add(key string, line int) {
	if _, had := l[key]; !had {
		l[key] = line
	}
}

// of returns the line of a key, or of the nearest that it is part of; 0: not known.
func (l lines) of(key string) int {
	for {
		if n, ok := l[key]; ok {
			return n
		}
		i := strings.LastIndexByte(key, '.')
		if i < 0 {
			return 0
		}
		key = key[:i]
	}
}

// dotted spells a key without its quotes and blanks.
func dotted(s string) string {
	parts := strings.Split(s, ".")
	for i, p := range parts {
		parts[i] = strings.Trim(strings.TrimSpace(p), `"'`)
	}
	return strings.Join(parts, ".")
}
