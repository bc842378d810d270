package xacro

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/tau-robot/tau/robot"
)

// Options say what an expansion may read and what arguments it is given. The
// zero value permits no file and gives no argument.
type Options struct {
	// Files holds the file that is expanded and what its relative names point
	// into; Dir is the slash-separated folder in it where the file is, "" for
	// its root. A name that would leave Files is refused.
	Files fs.FS
	Dir   string
	// Packages maps the name in $(find name) and package://name to its folder.
	Packages map[string]fs.FS
	// Args are the values of $(arg name). They are not changed.
	Args map[string]string
}

// Call is a macro call that an output line came through.
type Call struct {
	Macro string
	File  string
	Line  int
}

// Place is where an output line came from. Calls are the macro calls around it,
// the innermost first; nil for a line outside all macros.
type Place struct {
	File  string
	Line  int
	Calls []Call
}

// Result is an expansion. It is not changed after Expand returned it; several
// goroutines may read it.
type Result struct {
	// Data is the expanded document, UTF-8, with one element a line, or several
	// where attributes came from different lines.
	Data     []byte
	Warnings []robot.Finding
	// Unused are the arguments that nothing asked for, sorted: most likely a slip
	// of the pen, and a default then counted.
	Unused []string
	lines  []origin
}

// Where says what a line of Data, counted from 1, came from. A line that isn't
// there counts as the nearest one that is.
func (r *Result) Where(line int) Place {
	o := r.lines[min(max(line, 1), len(r.lines))-1]
	p := Place{File: o.at.file, Line: o.at.line}
	for c := o.via; c != nil; c = c.up {
		p.Calls = append(p.Calls, Call{Macro: c.macro, File: c.at.file, Line: c.at.line})
	}
	return p
}

// place is a line of an input file.
type place struct {
	file string
	line int
}

func (p place) String() string { return fmt.Sprintf("%s:%d", p.file, p.line) }

// callSite is a macro call and the calls around it.
type callSite struct {
	macro string
	at    place
	up    *callSite
}

type origin struct {
	at  place
	via *callSite
}

// fault is a refusal on its way out. It becomes a robot.Error at the door.
type fault struct {
	at    place
	text  string
	notes []string
	more  int
	cause error
}

func (f *fault) Error() string { return f.at.String() + ": " + f.text }

func errAt(at place, format string, args ...any) *fault {
	e := fmt.Errorf(format, args...)
	return &fault{at: at, text: e.Error(), cause: errors.Unwrap(e)}
}

// placed gives an error of the evaluator its place; one that has its own keeps it.
func placed(err error, at place, what string) *fault {
	var f *fault
	if errors.As(err, &f) {
		return f
	}
	return errAt(at, "%s: %w", what, err)
}

// note adds what was going on around a refusal.
func (f *fault) note(format string, args ...any) *fault {
	if len(f.notes) == maxNotes {
		f.more++
		return f
	}
	f.notes = append(f.notes, fmt.Sprintf(format, args...))
	return f
}

func (f *fault) external() error {
	text := f.text
	for _, n := range f.notes {
		text += "; " + n
	}
	if f.more > 0 {
		text += fmt.Sprintf("; and %d more", f.more)
	}
	return &robot.Error{Code: robot.CodeInvalidArgument, Where: f.at.String(), Text: text, Err: f.cause}
}

// Expand expands a document. file is what errors call it; relative names start
// from Options.Dir. data is not kept.
func Expand(file string, data []byte, opt Options) (*Result, error) {
	x := &expander{opt: opt, top: file, args: make(map[string]string, len(opt.Args)), declared: map[string]bool{}, work: MaxWork}
	for k, v := range opt.Args {
		x.args[k] = v
	}
	res, f := x.run(data)
	if f != nil {
		return nil, f.external()
	}
	return res, nil
}

// expander is the state of one expansion.
type expander struct {
	opt      Options
	top      string            // the name of the top file
	args     map[string]string // given, then defaults
	declared map[string]bool   // arguments that an xacro:arg or $(arg) named
	files    []location        // the files being included, the innermost last
	docs     map[location]*node
	yamls    map[location]value
	call     *callSite
	depth    int // macro calls and lazy properties under way
	nesting  int // parts of expressions under way
	includes int
	input    int // bytes read
	work     int // steps left
	root     *outNode
	warnings []robot.Finding
	more     int
}

func (x *expander) run(data []byte) (*Result, *fault) {
	doc, f := x.read(x.top, data)
	if f != nil {
		return nil, f
	}
	x.files = []location{{path: joinDir(x.opt.Dir, baseName(x.top))}}
	vars := newScope(nil)
	ctx := context{vars: vars, macros: newMacros(nil)}
	if strings.HasPrefix(doc.name, "xacro:") {
		return nil, errAt(doc.at, "the root element is <%s>; xacro elements go inside it", doc.name)
	}
	x.root = &outNode{name: doc.name, at: doc.at}
	if f := x.attributes(x.root, doc, ctx); f != nil {
		return nil, f
	}
	if f := x.expand(x.root, doc.children, ctx); f != nil {
		return nil, f
	}
	w := &writer{}
	if f := w.document(x.root); f != nil {
		return nil, f
	}
	if x.more > 0 {
		x.warnings = append(x.warnings, robot.Finding{File: x.top, Line: 1, Where: x.top, Code: robot.CodeInvalidArgument, Text: fmt.Sprintf("%d more warnings", x.more)})
	}
	return &Result{Data: w.out.Bytes(), Warnings: x.warnings, Unused: x.unused(), lines: w.lines}, nil
}

func (x *expander) unused() []string {
	var names []string
	for name := range x.opt.Args {
		if !x.declared[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (x *expander) warn(at place, where, text string) {
	if len(x.warnings) == maxWarnings {
		x.more++
		return
	}
	x.warnings = append(x.warnings, robot.Finding{File: at.file, Line: at.line, Where: where, Code: robot.CodeInvalidArgument, Text: text})
}

// errWork says that an expansion is too long. It needs the place of whoever spends.
var errWork = errors.New("the expansion takes too much work")

// spend counts steps.
func (x *expander) spend(n int) error {
	if x.work -= n; x.work < 0 {
		x.work = 0
		return fmt.Errorf("%w: more than %d steps", errWork, MaxWork)
	}
	return nil
}

func clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
