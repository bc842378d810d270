package xacro

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// location is a file: a path in a package, or in Options.Files where pkg is "".
type location struct{ pkg, path string }

func joinDir(dir, name string) string { return path.Join(dir, name) }

// baseName is the last part of a name as any system writes it.
func baseName(name string) string {
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	return name
}

// called is what messages call a file: package://pkg/path, or a path beside the
// top file's.
func (x *expander) called(l location) string {
	if l.pkg != "" {
		return "package://" + l.pkg + "/" + l.path
	}
	dir := x.opt.Dir
	if dir == "" {
		dir = "."
	}
	rel, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(l.path))
	if err != nil {
		return l.path
	}
	top := x.top[:len(x.top)-len(baseName(x.top))]
	return path.Clean(top + filepath.ToSlash(rel))
}

// locate says where a name points: package://pkg/path, or a path relative to the
// file being included. What would leave its folder is refused.
func (x *expander) locate(name string) (fs.FS, location, error) {
	var fsys fs.FS
	var at location
	if rest, ok := strings.CutPrefix(name, "package://"); ok {
		known := false
		for cut := len(rest); cut > 0 && !known; cut = strings.LastIndexByte(rest[:cut], '/') {
			if fsys, known = x.opt.Packages[rest[:cut]]; known && cut < len(rest) {
				at = location{rest[:cut], path.Clean(rest[cut+1:])}
			}
		}
		if !known {
			return nil, at, errors.New("names a package whose folder xacro isn't given")
		}
	} else {
		if strings.Contains(name, "://") || strings.HasPrefix(name, "/") || filepath.VolumeName(name) != "" {
			return nil, at, errors.New("is neither relative nor in a package: write $(find package)/… or a name beside this file")
		}
		here := x.files[len(x.files)-1]
		at = location{here.pkg, path.Join(path.Dir(here.path), name)}
		fsys = x.opt.Files
		if here.pkg != "" {
			fsys = x.opt.Packages[here.pkg]
		}
	}
	if strings.ContainsAny(at.path, "\\\x00") || !fs.ValidPath(at.path) || at.path == "." {
		return nil, at, errors.New("leaves the folder that may be read from")
	}
	if fsys == nil {
		return nil, at, errors.New("can't be read: no folder was given")
	}
	return fsys, at, nil
}

// readFile reads a whole regular file.
func (x *expander) readFile(fsys fs.FS, name string) ([]byte, error) {
	// Asked before opening: opening a named pipe would wait for its writer.
	st, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from: nothing can be lost
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	if err == nil && len(data) > MaxFileBytes {
		err = fmt.Errorf("more than %d bytes", MaxFileBytes)
	}
	return data, err
}

func (x *expander) include(out *outNode, n *node, ctx context) *fault {
	g, f := n.check([]string{"filename"}, []string{"ns", "optional"})
	if f != nil {
		return f
	}
	a := g["filename"]
	name, f := x.evalString(a.value, ctx, a.at)
	if f != nil {
		return f
	}
	optional := false
	if o, ok := g["optional"]; ok {
		if optional, f = x.evalBool(o.value, ctx, o.at); f != nil {
			return f
		}
	}
	if o, ok := g["ns"]; ok {
		ns, f := x.evalString(o.value, ctx, o.at)
		if f != nil {
			return f
		}
		if !isIdentifier(ns) || strings.HasPrefix(ns, "__") {
			return errAt(o.at, "%q can't be the name of a namespace", clip(ns))
		}
		s := &space{name: ns, vars: newScope(ctx.vars), macros: newMacros(ctx.macros)}
		s.vars.names = true
		if ctx.macros.spaces == nil {
			ctx.macros.spaces = map[string]*space{}
		}
		ctx.macros.spaces[ns] = s
		ctx.vars.store(ns, s, o.at, false)
		ctx = context{s.vars, s.macros}
	}
	fsys, at, err := x.locate(name)
	if err != nil {
		return errAt(a.at, "include %q %w", clip(name), err)
	}
	names := []string{at.path}
	if strings.ContainsAny(at.path, "*?[") {
		if names, err = fs.Glob(fsys, at.path); err != nil {
			return errAt(a.at, "include %q: %w", clip(name), err)
		}
		if len(names) == 0 {
			x.warn(a.at, "include "+clip(name), "no file has a name like that")
		}
	}
	for _, p := range names {
		if f := x.includeOne(out, fsys, location{at.pkg, p}, ctx, a.at, optional); f != nil {
			return f
		}
	}
	return nil
}

func (x *expander) includeOne(out *outNode, fsys fs.FS, l location, ctx context, at place, optional bool) *fault {
	if x.includes++; x.includes > MaxIncludes {
		return errAt(at, "more than %d includes", MaxIncludes)
	}
	if len(x.files) > MaxIncludeDepth {
		return errAt(at, "includes nested more than %d deep: does a file include itself?", MaxIncludeDepth)
	}
	doc := x.docs[l]
	if doc == nil {
		data, err := x.readFile(fsys, l.path)
		if optional && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return errAt(at, "include %q: %w", clip(x.called(l)), err)
		}
		var f *fault
		if doc, f = x.read(x.called(l), data); f != nil {
			return f.note("included at %v", at)
		}
		if x.docs == nil {
			x.docs = map[location]*node{}
		}
		x.docs[l] = doc
	}
	x.prefixes(doc)
	x.files = append(x.files, l)
	f := x.expand(out, doc.children, ctx)
	x.files = x.files[:len(x.files)-1]
	if f != nil {
		return f.note("included at %v", at)
	}
	return nil
}

// prefixes hands the namespace prefixes that an included file's root declares to
// the expansion's root. They are for vendors' elements.
func (x *expander) prefixes(doc *node) {
	for _, a := range doc.attrs {
		if !strings.HasPrefix(a.name, "xmlns:") {
			continue
		}
		known := false
		for _, b := range x.root.attrs {
			if b.name == a.name {
				known = true
				if b.value != a.value {
					x.warn(a.at, "<"+doc.name+">", fmt.Sprintf("%s is %q in %v already and stays that", a.name, clip(b.value), b.at))
				}
			}
		}
		if !known {
			x.root.attrs = append(x.root.attrs, a)
		}
	}
}
