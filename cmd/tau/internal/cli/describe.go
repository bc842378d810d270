package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"math"

	"github.com/spf13/pflag"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/source"
	"github.com/tau-robot/tau/robot"
)

// maxNumber bounds a number of the command line, as the loader bounds those of a
// description: what is computed from it stays finite.
const maxNumber = 1e12

// defaultRobot is the one that is meant where none is named.
const defaultRobot = "so101"

// robotFlags name a robot, wherever one is named.
type robotFlags struct{ source.Robot }

func (r *robotFlags) add(f *pflag.FlagSet) {
	f.StringVar(&r.Name, "robot", defaultRobot, "built-in robot's name, or a URDF or xacro file")
	r.addFiles(f)
}

// addFiles adds what goes with a description's file.
func (r *robotFlags) addFiles(f *pflag.FlagSet) {
	f.StringArrayVar(&r.Packages, "package", nil, "NAME=DIR: where package://NAME/… is; may be repeated")
	f.StringArrayVar(&r.Args, "arg", nil, "NAME=VALUE: an argument of a xacro file; may be repeated")
	f.StringVar(&r.SRDF, "srdf", "", "SRDF that goes with the file: groups, home, pairs of links that may touch")
	f.StringVar(&r.Limits, "limits", "", "joint_limits.yaml that goes with the file; it may only tighten")
	f.StringVar(&r.Actuators, "actuators", "", "actuators.yaml that goes with the file: what can be set beside the joints, a base's wheels, reference switches")
}

// load loads the robot; what is wrong with it is a usage error.
func (r *robotFlags) load() (source.Loaded, error) {
	l, err := r.Load()
	return l, r.wrong(err)
}

// wrong is the usage error of a robot that was named. Where the name is right and
// what its files say isn't, the flags' help is of no use: the check is.
func (r *robotFlags) wrong(err error) error {
	var said *robot.Error
	switch {
	case err == nil:
		return nil
	case !r.BuiltIn() && errors.As(err, &said):
		return exit.Filef(checkCommand(&r.Robot), "%w", err)
	}
	return exit.Usagef("%w", err)
}

// placeFlags name a robot and what stands around it.
type placeFlags struct {
	robotFlags
	scene string
}

func (p *placeFlags) add(f *pflag.FlagSet) {
	p.robotFlags.add(f)
	f.StringVar(&p.scene, "scene", "", "JSON file of what stands around the robot")
}

// load loads a robot that can be moved, and the scene; what is wrong with either
// is a usage error.
func (p *placeFlags) load() (*robot.Model, robot.Scene, error) {
	m, err := p.Model()
	if err != nil {
		return nil, robot.Scene{}, p.wrong(err)
	}
	scene, err := sceneOf(p.scene)
	return m, scene, err
}

// sceneOf reads a scene; what is wrong with it is a usage error.
func sceneOf(path string) (robot.Scene, error) {
	scene, err := source.Scene(path)
	return scene, inFile(err)
}

// inFile is the usage error of a file that was named: of what it says if err is
// about that, else of its name.
func inFile(err error) error {
	var said *robot.Error
	var name *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &said) && !errors.As(err, &name):
		return exit.Filef("", "%w", err)
	}
	return exit.Usagef("%w", err)
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
