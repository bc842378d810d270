package cli

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/urdf"
)

// maxNumber bounds a number of the command line, as the loader bounds those of a
// description: what is computed from it stays finite.
const maxNumber = 1e12

// descriptionFlags say how a description is read, wherever one is named.
type descriptionFlags struct {
	srdf, limits   string
	packages, args []string
}

func (d *descriptionFlags) add(f *pflag.FlagSet, extras bool) {
	f.StringArrayVar(&d.packages, "package", nil, "NAME=DIR: where package://NAME/… is; may be repeated")
	f.StringArrayVar(&d.args, "arg", nil, "NAME=VALUE: an argument of a xacro file; may be repeated")
	if extras {
		f.StringVar(&d.srdf, "srdf", "", "SRDF of the robot: groups, home, pairs of links that may touch")
		f.StringVar(&d.limits, "limits", "", "joint_limits.yaml of the robot; it may only tighten")
	}
}

// files checks the flags and that the files named can be read at all. What is
// wrong here is wrong on the command line; what a file says is the loader's.
func (d *descriptionFlags) files(description string) (urdf.Files, error) {
	f := urdf.Files{Description: description, Semantics: d.srdf, Limits: d.limits, Packages: map[string]string{}}
	for _, p := range d.packages {
		name, dir, _ := strings.Cut(p, "=")
		if name == "" || dir == "" {
			return f, fmt.Errorf("--package %q: want NAME=DIR", p)
		}
		if _, twice := f.Packages[name]; twice {
			return f, fmt.Errorf("--package: %q is there twice", name)
		}
		if st, err := os.Stat(dir); err != nil {
			return f, fmt.Errorf("--package %s: %w", name, err)
		} else if !st.IsDir() {
			return f, fmt.Errorf("--package %s: %s is not a folder", name, dir)
		}
		f.Packages[name] = dir
	}
	var err error
	if f.Args, err = d.xacroArgs(description); err != nil {
		return f, err
	}
	for _, name := range []string{description, d.srdf, d.limits} {
		if name == "" {
			continue
		}
		if err := readable(name); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (d *descriptionFlags) xacroArgs(description string) (map[string]string, error) {
	args := map[string]string{}
	for _, a := range d.args {
		name, value, ok := strings.Cut(a, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--arg %q: want NAME=VALUE", a)
		}
		if _, twice := args[name]; twice {
			return nil, fmt.Errorf("--arg: %q is there twice", name)
		}
		args[name] = value
	}
	if len(args) > 0 && filepath.Ext(description) != ".xacro" {
		return nil, fmt.Errorf("--arg: xacro arguments need a xacro file, and %s is none", description)
	}
	return args, nil
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

// description loads the built-in robot of that name, or a file. model is nil for
// a file that loads as a description but not as a robot to move; why says why.
func (d *descriptionFlags) description(name string) (desc *robot.Description, model *robot.Model, why, err error) {
	if slices.Contains(builtin.Names(), name) || !strings.ContainsAny(name, "/.") {
		if len(d.packages)+len(d.args) > 0 || d.srdf != "" || d.limits != "" {
			return nil, nil, nil, exit.Usagef("%q is no file: --package, --arg, --srdf and --limits go with one", name)
		}
		if model, err = builtin.Load(name); err != nil {
			return nil, nil, nil, exit.Usagef("%w", err)
		}
		return model.Description, model, nil, nil
	}
	f, err := d.files(name)
	if err != nil {
		return nil, nil, nil, exit.Usagef("%w", err)
	}
	desc, model, why, err = load(f)
	if err != nil {
		return nil, nil, nil, exit.Usagef("%w", err)
	}
	return desc, model, why, nil
}

// load reads a description and makes a model of it where it makes one. err is
// what a file says wrong; why is what only forbids to move the robot.
func load(f urdf.Files) (d *robot.Description, m *robot.Model, why, err error) {
	if d, err = urdf.ParseFile(f); err != nil {
		return nil, nil, nil, err
	}
	if f.Semantics == "" && f.Limits == "" {
		m, why = robot.NewModel(d, nil, nil)
		return d, m, why, nil
	}
	if m, err = urdf.LoadFile(f); err != nil {
		return nil, nil, nil, err
	}
	return m.Description, m, nil, nil
}

// middle is where the joints of d stand when nothing says so: at zero, or in the
// middle of a range that doesn't hold zero.
func middle(d *robot.Description) []float64 {
	q := make([]float64, d.DoF())
	for i, j := range d.Active {
		if jt := &d.Joints[j]; jt.Bounded && (jt.Lower > 0 || jt.Upper < 0) {
			q[i] = (jt.Lower + jt.Upper) / 2
		}
	}
	return q
}

// jointValues parses a configuration of d upon base, within what can be computed with.
func jointValues(what, s string, d *robot.Description, base []float64) ([]float64, error) {
	q, err := configuration(what, s, &robot.Model{Description: d}, base)
	if err != nil {
		return nil, err
	}
	return q, bounded(what, q)
}

func bounded(what string, v []float64) error {
	for _, x := range v {
		if math.Abs(x) > maxNumber {
			return fmt.Errorf("%s: %g is out of range", what, x)
		}
	}
	return nil
}
