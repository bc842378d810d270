package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/robot"
)

// planGoal says what is to be planned: one motion, in the words of the tool that
// makes it.
type planGoal struct {
	to, pose, axis, waypoints string
	drive, jog                string
	home                      bool
	speedScale                float64
}

func (g *planGoal) add(f *pflag.FlagSet) {
	f.StringVar(&g.to, "to", "", "where it goes: numbers by joint, or name=number,…; joints not named stay")
	f.StringVar(&g.pose, "pose", "", "where the tip goes: x,y,z or x,y,z,qw,qx,qy,qz in the root frame, m; a base: x,y,0")
	f.StringVar(&g.axis, "tool-axis", "", "with --pose x,y,z: direction of the tip's z axis, x,y,z")
	f.StringVar(&g.waypoints, "waypoints", "", "where the tip goes on straight lines: poses as for --pose, with ; between them")
	f.StringVar(&g.jog, "jog", "", "one joint by a small amount: name=number")
	f.StringVar(&g.drive, "drive", "", "a base along an arc: linear,angular,duration (m/s, rad/s, s)")
	f.BoolVar(&g.home, "home", false, "to the home pose")
	f.Float64Var(&g.speedScale, "speed-scale", 0.5, "fraction of the limits to use, above 0 to 1")
}

// check refuses flags that don't go together.
func (g *planGoal) check() error {
	n := 0
	for _, given := range []bool{g.to != "", g.pose != "", g.waypoints != "", g.jog != "", g.drive != "", g.home} {
		if given {
			n++
		}
	}
	switch {
	case n != 1:
		return exit.Usagef("robot plan needs one of --to, --pose, --waypoints, --jog, --drive and --home, and not two")
	case g.axis != "" && g.pose == "":
		return exit.Usagef("--tool-axis goes with --pose")
	case !(g.speedScale > 0 && g.speedScale <= 1):
		return exit.Usagef("--speed-scale %g: want above 0 to 1", g.speedScale)
	}
	return nil
}

// planPose is a pose among the arguments of a tool.
type planPose struct {
	Position    []float64 `json:"position,omitempty"`
	Orientation []float64 `json:"orientation,omitempty"`
}

// planCall is the arguments of whichever tool.
type planCall struct {
	planPose
	Positions  namedPositions `json:"positions,omitempty"`
	ToolAxis   []float64      `json:"tool_axis,omitempty"`
	Waypoints  []planPose     `json:"waypoints,omitempty"`
	Joint      string         `json:"joint,omitempty"`
	Delta      *float64       `json:"delta,omitempty"`
	Linear     *float64       `json:"linear,omitempty"`
	Angular    *float64       `json:"angular,omitempty"`
	Duration   *float64       `json:"duration,omitempty"`
	SpeedScale *float64       `json:"speed_scale,omitempty"`
}

// call makes the tool call that the flags stand for.
func (g *planGoal) call(m *robot.Model, from []float64) (tool string, args []byte, err error) {
	in := planCall{SpeedScale: &g.speedScale}
	switch {
	case g.home:
		tool = "home"
	case g.to != "":
		tool = "move_joints"
		in.Positions, err = g.positions(m, from)
	case g.waypoints != "":
		tool = "move_path"
		for i, w := range strings.Split(g.waypoints, ";") {
			var p planPose
			if p, err = parsePose(fmt.Sprintf("--waypoints: pose %d", i+1), w); err != nil {
				break
			}
			in.Waypoints = append(in.Waypoints, p)
		}
	case g.jog != "":
		tool = "jog"
		name, value, _ := strings.Cut(g.jog, "=")
		var v float64
		if v, err = parseFloat(value); err != nil {
			err = fmt.Errorf("--jog: want name=number: %w", err)
		}
		in.Joint, in.Delta = name, &v
	case g.drive != "":
		tool = "drive"
		var v []float64
		if v, err = counted("--drive", g.drive, 3, "linear,angular,duration"); err == nil {
			in.Linear, in.Angular, in.Duration, in.SpeedScale = &v[0], &v[1], &v[2], nil
		}
	default:
		tool = "move_pose"
		if in.planPose, err = parsePose("--pose", g.pose); err == nil && g.axis != "" {
			in.ToolAxis, err = counted("--tool-axis", g.axis, 3, "x,y,z")
		}
	}
	if err != nil {
		return "", nil, err
	}
	args, err = json.Marshal(in)
	return tool, args, err
}

// positions are the joints that --to names, or all of them. Those of a base that its
// wheels carry, and can't be commanded, are left out where nothing asks them to move.
func (g *planGoal) positions(m *robot.Model, from []float64) (namedPositions, error) {
	q, err := configuration("--to", g.to, m, from)
	if err != nil {
		return nil, err
	}
	out := named(m.JointNames(), q)
	for i, name := range m.JointNames() {
		if m.Base != nil && q[i] == from[i] {
			delete(out, name)
		}
	}
	return out, nil
}

func parsePose(what, s string) (planPose, error) {
	v, err := floats(what, s)
	if err != nil {
		return planPose{}, err
	}
	switch len(v) {
	case 3:
		return planPose{Position: v}, nil
	case 7:
		return planPose{v[:3], v[3:]}, nil
	}
	return planPose{}, fmt.Errorf("%s: %d numbers; want x,y,z or x,y,z,qw,qx,qy,qz", what, len(v))
}

// counted parses so many numbers.
func counted(what, s string, n int, want string) ([]float64, error) {
	v, err := floats(what, s)
	if err == nil && len(v) != n {
		err = fmt.Errorf("%s: %d numbers; want %s", what, len(v), want)
	}
	return v, err
}
