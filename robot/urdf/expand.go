package urdf

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf/xacro"
)

// isXacro reports whether a file is to be expanded: its name says so.
func isXacro(file string) bool { return strings.HasSuffix(strings.ToLower(file), ".xacro") }

// expand expands a xacro file and keeps where its lines came from; any other
// file stays what it is. unused says whether arguments that nothing asked for
// deserve a warning.
func (r *report) expand(data []byte, opt Options, unused bool) ([]byte, error) {
	if !isXacro(r.file) {
		return data, nil
	}
	res, err := xacro.Expand(r.file, data, xacro.Options{Files: opt.Files, Dir: opt.Dir, Packages: opt.Packages, Args: opt.Args})
	if err != nil {
		return nil, err
	}
	for _, w := range res.Warnings {
		if len(r.warns) == maxWarnings {
			r.moreWarned++
		} else {
			r.warns = append(r.warns, w)
		}
	}
	r.src = res
	if unused {
		for _, name := range res.Unused {
			r.warn(1, fmt.Sprintf("argument %q", clip(name)), "it is given, but the description has no such argument")
		}
	}
	return res.Data, nil
}

// origin says what file and line a line of the document came from.
func (r *report) origin(line int) (string, int) {
	if r.src == nil {
		return r.file, line
	}
	p := r.src.Where(line)
	return p.File, p.Line
}

// line is how the text of an error mentions a line.
func (r *report) line(line int) string {
	if r.src == nil {
		return fmt.Sprintf("line %d", line)
	}
	return at(r.origin(line))
}

// maxCalls is how many of the macro calls around a fault its text names.
const maxCalls = 3

// rename gives an error of an expansion the place that it came from, and says
// which macro calls led there.
func (r *report) rename(e *robot.Error, line int) {
	if r.src == nil {
		return
	}
	p := r.src.Where(line)
	e.Where = at(p.File, p.Line)
	for i, c := range p.Calls {
		if i == maxCalls {
			e.Text += fmt.Sprintf("; and %d calls more", len(p.Calls)-i)
			break
		}
		e.Text += fmt.Sprintf("; in the macro %s, called at %s", clip(c.Macro), at(c.File, c.Line))
	}
}

// mapped does for an error of the XML reader what rename does.
func (r *report) mapped(err error) error {
	var e *robot.Error
	if r.src == nil || !errors.As(err, &e) {
		return err
	}
	if rest, ok := strings.CutPrefix(e.Where, r.file+":"); ok {
		if line, convErr := strconv.Atoi(rest); convErr == nil {
			r.rename(e, line)
		}
	}
	return err
}

// topLines makes the lines of an expanded SRDF lines of its top file, since a
// robot.Semantics has one file: the line itself, or that of the macro call or
// start of file that it came through.
func (r *report) topLines(s *robot.Semantics) {
	top := func(line *int) {
		p := r.src.Where(*line)
		*line = 1
		for i := len(p.Calls) - 1; i >= 0; i-- {
			if p.Calls[i].File == r.file {
				*line = p.Calls[i].Line
				return
			}
		}
		if p.File == r.file {
			*line = p.Line
		}
	}
	refs := func(all []robot.NamedRef) {
		for i := range all {
			top(&all[i].Line)
		}
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		top(&g.Line)
		refs(g.Joints)
		refs(g.Links)
		refs(g.Subgroups)
		for k := range g.Chains {
			top(&g.Chains[k].Line)
		}
	}
	for i := range s.States {
		top(&s.States[i].Line)
		for k := range s.States[i].Values {
			top(&s.States[i].Values[k].Line)
		}
	}
	for i := range s.EndEffectors {
		top(&s.EndEffectors[i].Line)
	}
	for i := range s.Disabled {
		top(&s.Disabled[i].Line)
	}
}

// packageOf returns the package that a folder is in, and where in it, with
// slashes. A folder in none is its own root; of several, the innermost counts.
func (f Files) packageOf(dir string) (root, within string) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir, ""
	}
	best := -1
	root = dir
	for _, p := range f.Packages {
		top, err := filepath.Abs(p)
		if err != nil || len(top) <= best {
			continue
		}
		rel, err := filepath.Rel(top, abs)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		best, root, within = len(top), p, filepath.ToSlash(rel)
		if within == "." {
			within = ""
		}
	}
	return root, within
}
