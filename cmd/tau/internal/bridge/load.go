package bridge

import (
	"os"
	"strings"

	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/builtin"
	"github.com/tau-robot/tau/robot/urdf"
	"github.com/tau-robot/tau/sim"
)

// Source names a robot and what stands around it.
type Source struct {
	Robot        string // built-in name, or a path that ends in .urdf
	SRDF, Limits string // of a file's robot; may be empty
	Scene        string // path; may be empty
}

// Load reads the model and the scene. Errors are *robot.Error and name file and line.
func Load(s Source) (*robot.Model, robot.Scene, error) {
	model, err := loadModel(s)
	if err != nil {
		return nil, robot.Scene{}, err
	}
	if s.Scene == "" {
		return model, robot.Scene{}, nil
	}
	data, err := os.ReadFile(s.Scene)
	if err != nil {
		return nil, robot.Scene{}, robot.Errf(robot.CodeInvalidArgument, "scene", "%w", err)
	}
	scene, err := robot.ParseScene(s.Scene, data)
	return model, scene, err
}

func loadModel(s Source) (*robot.Model, error) {
	if strings.HasSuffix(s.Robot, ".urdf") {
		return urdf.LoadFile(urdf.Files{Description: s.Robot, Semantics: s.SRDF, Limits: s.Limits})
	}
	if s.SRDF != "" || s.Limits != "" {
		return nil, robot.Errf(robot.CodeInvalidArgument, "robot", "%q is built in and brings its own SRDF and limits; --srdf and --limits go with a .urdf file", s.Robot)
	}
	if strings.ContainsAny(s.Robot, "/.") {
		return nil, robot.Errf(robot.CodeInvalidArgument, "robot", "%q is neither a built-in robot (%s) nor a .urdf file", s.Robot, strings.Join(builtin.Names(), ", "))
	}
	return builtin.Load(s.Robot)
}

// LoadFaults reads the simulator's faults; no path, no faults.
func LoadFaults(path string) ([]sim.Fault, error) {
	if path == "" {
		return nil, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, robot.Errf(robot.CodeInvalidArgument, "faults", "%w", err)
	}
	return sim.ParseFaults(path, data)
}
