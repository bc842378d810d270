// Package builtin holds the robots that come with the program, as the same files
// that a user would write (URDF, SRDF, joint_limits.yaml and, where there is more
// than joints, actuators.yaml) and loaded by the same loader. It imports robot and robot/urdf; never gate, motion, sim, drivers or
// cmd.
package builtin

import (
	"embed"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/urdf"
)

//go:embed */*.urdf */*.srdf */*.yaml
var files embed.FS

// Names returns the names of the built-in robots, the default one first.
func Names() []string { return []string{"so101", "panda", "ur5e", "pantilt", "rover", "gantry"} }

// Load returns a new model of the built-in robot of that name. It reads nothing
// but what is compiled in, and may be called from any goroutine.
func Load(name string) (*robot.Model, error) {
	if !slices.Contains(Names(), name) {
		return nil, robot.Errf(robot.CodeInvalidArgument, "robot", "no built-in robot is called %q; there is %s", name, strings.Join(Names(), ", "))
	}
	var src [4]urdf.Source
	for i, file := range []string{name + ".urdf", name + ".srdf", "joint_limits.yaml", "actuators.yaml"} {
		data, err := files.ReadFile(name + "/" + file)
		if file == "actuators.yaml" && errors.Is(err, fs.ErrNotExist) {
			continue // a robot of joints alone
		}
		if err != nil {
			return nil, robot.Errf(robot.CodeInvalidArgument, "builtin:"+name+"/"+file, "can't be read: %w", err)
		}
		src[i] = urdf.Source{Name: "builtin:" + name + "/" + file, Data: data}
	}
	return urdf.Load(src[0], src[1], src[2], src[3], urdf.Options{})
}
