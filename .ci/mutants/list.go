package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// edit replaces old, which a file must hold exactly once, by new.
type edit struct {
	file     string // below the root, with slashes
	old, new string
}

// mutant is one promise broken on purpose.
type mutant struct {
	clause string // "G12", "lane", "sim", …
	name   string // what is broken, in words
	edits  []edit
	pkg    string         // "./gate"
	tests  *regexp.Regexp // the tests that have to notice
	at     string         // file:line of the list
}

// readLists reads every list (*.txt) of a folder, in order of name.
func readLists(dir string) ([]mutant, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	var all []mutant
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		some, err := parse(filepath.Base(p), string(data))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no mutants in %s", dir)
	}
	return all, nil
}

// parse reads one list; README.md says what it looks like.
func parse(name, text string) ([]mutant, error) {
	var all []mutant
	seen := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		line, at := lines.Text(), fmt.Sprintf("%s:%d", name, n)
		kind, rest, _ := strings.Cut(line, " ")
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if kind == "=" {
			if err := complete(all); err != nil {
				return nil, err
			}
			clause, what, ok := strings.Cut(rest, ": ")
			if !ok || clause == "" || what == "" {
				return nil, fmt.Errorf("%s: want `= CLAUSE: what is broken`", at)
			}
			if old := seen[rest]; old != "" {
				return nil, fmt.Errorf("%s: the same mutant is in %s", at, old)
			}
			seen[rest] = at
			all = append(all, mutant{clause: clause, name: what, at: at})
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("%s: a mutant begins with `= CLAUSE: …`", at)
		}
		if err := all[len(all)-1].add(kind, rest); err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
	}
	return all, errors.Join(lines.Err(), complete(all))
}

// add takes one line of a mutant.
func (m *mutant) add(kind, rest string) error {
	if m.pkg != "" {
		return errors.New("`test` is the last line of a mutant")
	}
	switch kind {
	case "file":
		if !filepath.IsLocal(rest) {
			return fmt.Errorf("%q isn't a file of the tree", rest)
		}
		m.edits = append(m.edits, edit{file: rest})
	case "-", "+":
		if len(m.edits) == 0 {
			return errors.New("`file` comes first")
		}
		e := &m.edits[len(m.edits)-1]
		if kind == "-" {
			if e.new != "" {
				return errors.New("old lines come before new ones; another edit begins with `file`")
			}
			e.old += rest + "\n"
		} else {
			e.new += rest + "\n"
		}
	case "test":
		pkg, expr, ok := strings.Cut(rest, " ")
		if !ok || !strings.HasPrefix(pkg, "./") {
			return errors.New("want `test ./package Regexp`")
		}
		r, err := regexp.Compile(expr)
		if err != nil {
			return err
		}
		m.pkg, m.tests = pkg, r
	default:
		return fmt.Errorf("a line begins with =, file, -, +, test or #, not with %q", kind)
	}
	return nil
}

// complete looks whether the last mutant lacks something, and takes the last
// newline off its texts, so that a text may be a part of a line.
func complete(all []mutant) error {
	if len(all) == 0 {
		return nil
	}
	m := &all[len(all)-1]
	if m.pkg == "" || len(m.edits) == 0 {
		return fmt.Errorf("%s: a mutant needs a file, an old text and a test", m.at)
	}
	for i := range m.edits {
		e := &m.edits[i]
		e.old, e.new = strings.TrimSuffix(e.old, "\n"), strings.TrimSuffix(e.new, "\n")
		if e.old == "" || e.old == e.new {
			return fmt.Errorf("%s: the edit of %s changes nothing", m.at, e.file)
		}
	}
	return nil
}

// apply returns what the files of the tree at root are with the mutant in them,
// by name. A text that isn't there exactly once makes the mutant stale.
func (m *mutant) apply(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, e := range m.edits {
		text, ok := files[e.file]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(e.file)))
			if err != nil {
				return nil, fmt.Errorf("%s: stale: %w", m.at, err)
			}
			text = string(data)
		}
		if n := strings.Count(text, e.old); n != 1 {
			return nil, fmt.Errorf("%s: stale: the old text is in %s %d times, not once:\n%s", m.at, e.file, n, e.old)
		}
		files[e.file] = strings.Replace(text, e.old, e.new, 1)
	}
	return files, nil
}
