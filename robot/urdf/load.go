package urdf

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tau-robot/tau/robot"
)

// Source is a file in memory; Name is only what errors call it. The zero value
// stands for a file that isn't there.
type Source struct {
	Name string
	Data []byte
}

// Load builds a model from a URDF and, where they are given, an SRDF, a
// joint_limits.yaml and an actuators.yaml.
//
// A URDF or SRDF of a name that ends in .xacro is expanded first; relative names
// in both start from Options.Dir.
func Load(description, semantics, limits, equipment Source, opt Options) (*robot.Model, error) {
	return load(description, semantics, limits, equipment, opt, opt)
}

func load(description, semantics, limits, equipment Source, opt, semOpt Options) (*robot.Model, error) {
	d, err := Parse(description.Name, description.Data, opt)
	if err != nil {
		return nil, err
	}
	var sem *robot.Semantics
	if semantics.Name != "" {
		if sem, err = parseSRDF(semantics.Name, semantics.Data, semOpt); err != nil {
			return nil, err
		}
	}
	var table *robot.LimitTable
	if limits.Name != "" {
		if table, err = ParseLimits(limits.Name, limits.Data); err != nil {
			return nil, err
		}
	}
	m, err := robot.NewModel(d, sem, table)
	if err != nil || equipment.Name == "" {
		return m, err
	}
	e, err := ParseEquipment(equipment.Name, equipment.Data)
	if err != nil {
		return nil, err
	}
	return m.Equip(e)
}

// Files names the files of a robot on disk. All but Description may be empty.
type Files struct {
	Description, Semantics, Limits, Equipment string
	// Packages maps a package name to a folder on disk.
	Packages map[string]string
	// Args are the arguments of xacro files, which the description or the SRDF
	// must then be.
	Args map[string]string
}

// LoadFile builds a model from files. Relative names of meshes and includes may
// point into the folder of the file and below or, where that folder is part of
// one of Packages, anywhere in that package; package:// names point into
// Packages. Links out of those folders are not followed.
func LoadFile(f Files) (*robot.Model, error) {
	opt, done, err := f.options(f.Description)
	if err != nil {
		return nil, err
	}
	defer done()
	semOpt := opt
	if f.Semantics != "" && isXacro(f.Semantics) {
		var doneToo func()
		if semOpt, doneToo, err = f.options(f.Semantics); err != nil {
			return nil, err
		}
		defer doneToo()
	}
	var src [4]Source
	for i, name := range []string{f.Description, f.Semantics, f.Limits, f.Equipment} {
		if name == "" {
			continue
		}
		data, err := readFile(name)
		if err != nil {
			return nil, robot.Errf(robot.CodeInvalidArgument, name, "can't be read: %w", err)
		}
		src[i] = Source{Name: name, Data: data}
	}
	return load(src[0], src[1], src[2], src[3], opt, semOpt)
}

// ParseFile reads one URDF file from disk, as LoadFile does.
func ParseFile(f Files) (*robot.Description, error) {
	opt, done, err := f.options(f.Description)
	if err != nil {
		return nil, err
	}
	defer done()
	data, err := readFile(f.Description)
	if err != nil {
		return nil, robot.Errf(robot.CodeInvalidArgument, f.Description, "can't be read: %w", err)
	}
	return Parse(f.Description, data, opt)
}

// options opens the folders that files named by file may be read from; done
// closes them.
func (f Files) options(file string) (opt Options, done func(), err error) {
	if len(f.Args) > 0 && !isXacro(f.Description) && !isXacro(f.Semantics) {
		return opt, nil, robot.Errf(robot.CodeInvalidArgument, f.Description, "arguments are given, but only .xacro files take any")
	}
	opt.Args = f.Args
	var open []*os.Root
	done = func() {
		for _, r := range open {
			_ = r.Close() // nothing was written
		}
	}
	root := func(dir string) (fs.FS, error) {
		r, err := os.OpenRoot(dir)
		if err != nil {
			return nil, robot.Errf(robot.CodeInvalidArgument, dir, "can't be opened: %w", err)
		}
		open = append(open, r)
		return r.FS(), nil
	}
	dir, within := f.packageOf(filepath.Dir(file))
	if opt.Files, err = root(dir); err != nil {
		return opt, done, err
	}
	opt.Dir = within
	opt.Packages = make(map[string]fs.FS, len(f.Packages))
	for name, dir := range f.Packages {
		if opt.Packages[name], err = root(dir); err != nil {
			done()
			return opt, done, err
		}
	}
	return opt, done, nil
}

func readFile(name string) ([]byte, error) {
	// Asked before opening: opening a named pipe would wait for its writer.
	if st, err := os.Stat(name); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from: nothing can be lost
	data, err := io.ReadAll(io.LimitReader(f, MaxURDFBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxURDFBytes {
		return nil, fmt.Errorf("more than %d bytes", MaxURDFBytes)
	}
	return data, nil
}
