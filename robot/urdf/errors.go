package urdf

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf/xacro"
)

// Errors are all faults found in one file, in the order of its lines as far as
// they were found. There is always at least one.
type Errors []*robot.Error

func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, x := range e {
		lines[i] = x.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns each error, for errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	out := make([]error, len(e))
	for i, x := range e {
		out[i] = x
	}
	return out
}

// Findings turns an error of this package into findings, one for each fault.
func Findings(err error) []robot.Finding {
	if err == nil {
		return nil
	}
	var all Errors
	var one *robot.Error
	switch {
	case errors.As(err, &all):
	case errors.As(err, &one):
		all = Errors{one}
	default:
		return []robot.Finding{{Code: robot.CodeInvalidArgument, Text: err.Error()}}
	}
	out := make([]robot.Finding, len(all))
	for i, e := range all {
		f := robot.Finding{Code: e.Code, Text: e.Text, Where: e.Where}
		if at := strings.LastIndexByte(e.Where, ':'); at >= 0 {
			if _, err := fmt.Sscanf(e.Where[at+1:], "%d", &f.Line); err == nil {
				f.File = e.Where[:at]
			}
		}
		out[i] = f
	}
	return out
}

// report collects what is wrong and what is doubtful in one file.
type report struct {
	file                   string
	src                    *xacro.Result // where lines come from; nil for a file read as it stands
	errs                   Errors
	warns                  []robot.Finding
	moreErrors, moreWarned int
}

func (r *report) fail(code robot.Code, line int, format string, args ...any) {
	if len(r.errs) == maxErrors {
		r.moreErrors++
		return
	}
	e := robot.Errf(code, at(r.file, line), format, args...)
	r.rename(e, line)
	r.errs = append(r.errs, e)
}

func (r *report) bad(line int, format string, args ...any) {
	r.fail(robot.CodeInvalidArgument, line, format, args...)
}

func (r *report) warn(line int, where, text string) {
	r.warnCode(robot.CodeInvalidArgument, line, where, text)
}

func (r *report) warnCode(code robot.Code, line int, where, text string) {
	if len(r.warns) == maxWarnings {
		r.moreWarned++
		return
	}
	file, line := r.origin(line)
	r.warns = append(r.warns, robot.Finding{File: file, Line: line, Where: where, Code: code, Text: text})
}

// warnings returns the warnings; the last one counts those that were left out.
func (r *report) warnings() []robot.Finding {
	if r.moreWarned == 0 {
		return r.warns
	}
	return append(r.warns, robot.Finding{
		File: r.file, Line: 1, Where: r.file, Code: robot.CodeInvalidArgument, Text: fmt.Sprintf("%d more warnings", r.moreWarned),
	})
}

// err returns nil, the one fault, or all of them.
func (r *report) err() error {
	if r.moreErrors > 0 {
		r.errs = append(r.errs, robot.Errf(robot.CodeInvalidArgument, at(r.file, 1), "%d more errors", r.moreErrors))
		r.moreErrors = 0
	}
	switch len(r.errs) {
	case 0:
		return nil
	case 1:
		return r.errs[0]
	}
	return r.errs
}

// maxMagnitude bounds every number of a description, so that sums and products
// along a chain stay finite.
const maxMagnitude = 1e12

// number reads a required attribute; ok is false where it was reported.
func (r *report) number(e *element, who, name string) (v float64, ok bool) {
	a, given := e.attr(name)
	if !given {
		r.bad(e.line, "%s: <%s> lacks the attribute %s", who, e.name, name)
		return 0, false
	}
	return r.value(a, who, e.name, a.value)
}

// optional reads an attribute that may be absent.
func (r *report) optional(e *element, who, name string, otherwise float64) (v float64, given, ok bool) {
	a, given := e.attr(name)
	if !given {
		return otherwise, false, true
	}
	v, ok = r.value(a, who, e.name, a.value)
	return v, true, ok
}

func (r *report) value(a attribute, who, el, text string) (float64, bool) {
	v, wrong := parseNumber(trimXML(text))
	if wrong == "" && math.Abs(v) > maxMagnitude {
		wrong = fmt.Sprintf("%g is out of range", v)
	}
	if wrong != "" {
		r.bad(a.line, "%s: <%s> attribute %s: %s", who, el, a.name, wrong)
		return 0, false
	}
	return v, true
}

// vector reads three numbers; an absent attribute gives otherwise.
func (r *report) vector(e *element, who, name string, otherwise [3]float64) (out [3]float64, ok bool) {
	a, given := e.attr(name)
	if !given {
		return otherwise, true
	}
	f := strings.FieldsFunc(a.value, isXMLSpace)
	if len(f) != 3 {
		r.bad(a.line, "%s: <%s> attribute %s holds %d values where 3 numbers are due: %q", who, e.name, name, len(f), clip(a.value))
		return out, false
	}
	ok = true
	for i, s := range f {
		v, good := r.value(a, who, e.name, s)
		out[i], ok = v, ok && good
	}
	return out, ok
}

// MaxName is the longest name of a robot, link, joint, group or state, in bytes.
const MaxName = 256

// name reads a required name, "" where there is none that is valid.
func (r *report) name(e *element, attr string) string {
	a, given := e.attr(attr)
	if !given || a.value == "" {
		r.bad(e.line, "<%s> lacks the attribute %s", e.name, attr)
		return ""
	}
	if wrong := badName(a.value); wrong != "" {
		r.bad(a.line, "<%s> attribute %s: %s", e.name, attr, wrong)
		return ""
	}
	return a.value
}

func badName(s string) string {
	switch {
	case len(s) > MaxName:
		return fmt.Sprintf("a name of %d bytes, more than %d", len(s), MaxName)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }):
		return fmt.Sprintf("%q holds characters that can't be shown", clip(s))
	}
	return ""
}

// one returns the only child of that name, nil if there is none; a second one is
// an error, since which of them would count is anybody's guess.
func (r *report) one(e *element, who, name string) *element {
	all := e.all(name)
	if len(all) > 1 {
		r.bad(all[1].line, "%s: a second <%s>; the first is in %s", who, name, r.line(all[0].line))
	}
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// strangers warns of children that are not known here, and of unprefixed
// attributes that are not.
func (r *report) strangers(e *element, who string, children, attrs []string) {
	for _, c := range e.children {
		if !c.vendor && !slices.Contains(children, c.name) {
			r.warn(c.line, who, fmt.Sprintf("<%s> inside <%s> is ignored", c.name, e.name))
		}
	}
	for _, a := range e.attrs {
		if a.prefix == "" && !slices.Contains(attrs, a.name) {
			r.warn(a.line, who, fmt.Sprintf("attribute %s of <%s> is ignored", a.name, e.name))
		}
	}
}

func isXMLSpace(c rune) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

func trimXML(s string) string { return strings.TrimFunc(s, isXMLSpace) }

func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
