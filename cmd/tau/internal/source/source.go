// Package source turns what a command line says about a robot into a loaded
// model: a built-in robot's name, or a description's file with what goes with it.
// It is the one place that does. It imports robot and its loaders; never gate,
// motion, sim or drivers.
package source

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/urdf"
)

// Robot names a robot. The zero value names none.
type Robot struct {
	Name      string   // of a built-in robot, or the path of a URDF or xacro file
	SRDF      string   // path; "": none
	Limits    string   // path of a joint_limits.yaml; "": none
	Actuators string   // path of an actuators.yaml; "": none
	Packages  []string // NAME=DIR: where package://NAME/… is
	Args      []string // NAME=VALUE: arguments of a xacro file
}

// Loaded is what a robot's files make.
type Loaded struct {
	Description *robot.Description
	// Model is nil where the description loads and yet is no robot to move; Why
	// says why.
	Model *robot.Model
	Why   error
}

// BuiltIn reports whether the name is one of a built-in robot, or could only be
// one: a file's has a dot or a slash in it.
func (r Robot) BuiltIn() bool {
	return slices.Contains(builtin.Names(), r.Name) || !strings.ContainsAny(r.Name, "/.")
}

// Load loads the robot. Errors say what is wrong with the names; those of a file's
// content are *robot.Error and name file and line.
func (r Robot) Load() (Loaded, error) {
	if !r.BuiltIn() {
		f, err := r.Files()
		if err != nil {
			return Loaded{}, err
		}
		return Read(f)
	}
	if len(r.Packages)+len(r.Args) > 0 || r.SRDF+r.Limits+r.Actuators != "" {
		return Loaded{}, fmt.Errorf("%q is no file: --package, --arg, --srdf, --limits and --actuators go with one", r.Name)
	}
	m, err := builtin.Load(r.Name)
	if err != nil {
		return Loaded{}, err
	}
	return Loaded{Description: m.Description, Model: m}, nil
}

// Model loads a robot that can be moved.
func (r Robot) Model() (*robot.Model, error) {
	l, err := r.Load()
	if err == nil && l.Model == nil {
		err = l.Why
	}
	return l.Model, err
}

// Files checks the names and that the files can be read at all: what is wrong here
// is wrong on the command line. What a file says is for Read.
func (r Robot) Files() (urdf.Files, error) {
	f := urdf.Files{Description: r.Name, Semantics: r.SRDF, Limits: r.Limits, Equipment: r.Actuators}
	var err error
	if f.Packages, err = pairs("package", "NAME=DIR", r.Packages); err != nil {
		return f, err
	}
	for name, dir := range f.Packages {
		if st, err := os.Stat(dir); err != nil {
			return f, fmt.Errorf("--package %s: %w", name, err)
		} else if !st.IsDir() {
			return f, fmt.Errorf("--package %s: %s is not a folder", name, dir)
		}
	}
	if f.Args, err = pairs("arg", "NAME=VALUE", r.Args); err != nil {
		return f, err
	}
	if len(f.Args) > 0 && filepath.Ext(r.Name) != ".xacro" && filepath.Ext(r.SRDF) != ".xacro" {
		return f, fmt.Errorf("--arg: xacro arguments need a xacro file, and %s is none", r.Name)
	}
	for _, name := range []string{r.Name, r.SRDF, r.Limits, r.Actuators} {
		if name == "" {
			continue
		}
		if err := readable(name); err != nil {
			return f, err
		}
	}
	return f, nil
}

// pairs reads the values of a flag that is given once for each name. Only a folder
// has to have a name that isn't empty.
func pairs(flag, want string, given []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range given {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" || value == "" && flag == "package" {
			return nil, fmt.Errorf("--%s %q: want %s", flag, p, want)
		}
		if _, twice := out[name]; twice {
			return nil, fmt.Errorf("--%s: %q is there twice", flag, name)
		}
		out[name] = value
	}
	return out, nil
}

// readable refuses what isn't a file that can be opened. It is asked before
// opening: opening a named pipe would wait for its writer.
func readable(name string) error {
	st, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	return f.Close()
}

// Read reads a description and makes a model of it where it makes one. The error
// is what a file says wrong; what only forbids to move the robot is Why.
func Read(f urdf.Files) (Loaded, error) {
	d, err := urdf.ParseFile(f)
	if err != nil {
		return Loaded{}, err
	}
	if f.Semantics+f.Limits+f.Equipment == "" {
		m, why := robot.NewModel(d, nil, nil)
		return Loaded{Description: d, Model: m, Why: why}, nil
	}
	m, err := urdf.LoadFile(f)
	if err != nil {
		return Loaded{}, err
	}
	return Loaded{Description: m.Description, Model: m}, nil
}

// Scene reads what stands around a robot; no path, nothing.
func Scene(path string) (robot.Scene, error) {
	if path == "" {
		return robot.Scene{}, nil
	}
	data, err := ReadFile(path, robot.MaxSceneBytes)
	if err != nil {
		return robot.Scene{}, fmt.Errorf("--scene: %w", err)
	}
	return robot.ParseScene(path, data)
}

// ReadFile reads a regular file, and of one that is larger than most bytes only so
// much that whoever parses it sees that it is. It never waits for a writer.
func ReadFile(path string, most int64) ([]byte, error) {
	if err := readable(path); err != nil {
		return nil, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read from: nothing can be lost
	return io.ReadAll(io.LimitReader(f, most+1))
}
