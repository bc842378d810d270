package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/go-gl/mathgl/mgl64"
	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/cmd/tau/internal/source"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/collision"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/motion/planning"
	"github.com/tau-robot/tau/robot"
)

// maxChain bounds the joints that a solution may use: the effort grows with the
// cube of their number, and no arm has as many.
const maxChain = 64

type ikFlags struct {
	robotFlags
	tip, pose, axis      string
	seedQ                string
	seed                 uint64
	kinematicsOnly, json bool
}

func (a *app) ik() *cobra.Command {
	var k ikFlags
	c := leaf("ik", "Joint positions, within the limits, that put a link where it is to be", 0, func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("seed-q") && k.seedQ == "" {
			return exit.Usagef("--seed-q is empty: want name=number,…")
		}
		return a.runIK(cmd.Context(), &k)
	})
	f := c.Flags()
	f.StringVar(&k.tip, "tip", "", "the link; only the joints between the root and it move")
	f.StringVar(&k.pose, "pose", "", "where its origin goes: x,y,z or x,y,z,qw,qx,qy,qz in the root frame, m")
	f.StringVar(&k.axis, "tool-axis", "", "with --pose x,y,z: direction of the link's z axis, x,y,z")
	f.StringVar(&k.seedQ, "seed-q", "", "where the search starts and the other joints stay: name=number,… or a number for each joint (default: home)")
	f.Uint64Var(&k.seed, "seed", 0, "seed of every random choice")
	f.BoolVar(&k.kinematicsOnly, "kinematics-only", false, "don't check the solution for self-collision")
	f.BoolVar(&k.json, "json", false, "the solution as one JSON document")
	k.add(f)
	return c
}

// ikDocument is ik --json where there is a solution.
type ikDocument struct {
	OK               bool             `json:"ok"`
	Robot            string           `json:"robot"`
	Tip              string           `json:"tip"`
	Q                namedPositions   `json:"q"`
	PositionError    float64          `json:"position_error"` // m
	AngleError       float64          `json:"angle_error"`    // rad
	CollisionChecked bool             `json:"collision_checked"`
	Clearance        *robot.Clearance `json:"clearance,omitempty"`
}

func (a *app) runIK(ctx context.Context, k *ikFlags) error {
	if k.tip == "" || k.pose == "" {
		return exit.Usagef("robot ik needs --tip LINK and --pose")
	}
	l, err := k.load()
	if err != nil {
		return err
	}
	d := l.Description
	tip := d.LinkIndex(k.tip)
	if tip < 0 {
		return exit.Usagef("--tip: %s has no link %q", d.Name, k.tip)
	}
	target, err := k.target(tip)
	if err != nil {
		return exit.Usagef("%w", err)
	}
	if n := len(chain(d, tip)); n > maxChain {
		return a.refusedIK(k.json, robot.LimitErr(robot.CodeNotSupported, k.tip, float64(n), maxChain, "joints", "too many joints move the link"))
	}
	m, checked, err := a.ikModel(l, tip, k.kinematicsOnly)
	if err != nil {
		return exit.Bridgef("%w", err)
	}
	seed := m.Home
	if k.seedQ != "" {
		if seed, err = jointValues("--seed-q", k.seedQ, d, m.Home); err != nil {
			return exit.Usagef("%w", err)
		}
	}
	a.outside(d, seed)
	tree, err := kinematics.New(d)
	if err != nil {
		return exit.Bridgef("%w", err)
	}
	var checker planning.Checker = unchecked{}
	if checked {
		if checker, err = collision.New(m, nil, tree, collision.DefaultOptions()); err != nil {
			return exit.Bridgef("%w", err)
		}
	}
	planner, err := planning.New(m, tree, checker)
	if err != nil {
		return exit.Bridgef("%w", err)
	}
	s, err := planner.IK(ctx, target, seed, rand.New(rand.NewPCG(k.seed, 0)))
	if err != nil {
		return a.refusedIK(k.json, err)
	}
	if k.json {
		return a.document(ikDocument{true, d.Name, k.tip, named(d.JointNames(), s.Q), s.PositionError, s.AngleError, checked, s.Clearance})
	}
	var b strings.Builder
	for i, j := range d.Active {
		fmt.Fprintf(&b, "%-32s %12.6f %s\n", gate.Escape(d.Joints[j].Name), s.Q[i], d.Joints[j].Type.Unit())
	}
	fmt.Fprintf(&b, "within %.2g m and %.2g rad of the pose\n", s.PositionError, s.AngleError)
	return write(a.out, b.String())
}

// target reads the pose.
func (k *ikFlags) target(tip int) (planning.Target, error) {
	t := planning.Target{Tip: tip}
	v, err := floats("--pose", k.pose)
	if err == nil {
		err = bounded("--pose", v)
	}
	if err != nil {
		return t, err
	}
	if len(v) != 3 && len(v) != 7 {
		return t, fmt.Errorf("--pose: %d numbers; want x,y,z or x,y,z,qw,qx,qy,qz", len(v))
	}
	t.Position = mgl64.Vec3{v[0], v[1], v[2]}
	if len(v) == 7 {
		t.Orientation = &mgl64.Quat{W: v[3], V: mgl64.Vec3{v[4], v[5], v[6]}}
	}
	if k.axis == "" {
		return t, nil
	}
	if v, err = floats("--tool-axis", k.axis); err != nil {
		return t, err
	}
	if len(v) != 3 || t.Orientation != nil {
		return t, fmt.Errorf("--tool-axis: want x,y,z, with a --pose that has no orientation")
	}
	t.ToolAxis = &mgl64.Vec3{v[0], v[1], v[2]}
	return t, nil
}

// ikModel is the robot with the joints that move the tip as its arm, and whether
// collisions can be and are to be looked for.
func (a *app) ikModel(l source.Loaded, tip int, kinematicsOnly bool) (*robot.Model, bool, error) {
	var m robot.Model
	d := l.Description
	switch {
	case l.Model != nil:
		m = *l.Model
	default:
		limits, err := robot.NewLimits(d, nil)
		if err != nil {
			return nil, false, err
		}
		m = robot.Model{Description: d, Limits: limits, Home: middle(d)}
		if !kinematicsOnly {
			fmt.Fprintf(a.err, "tau: collisions aren't checked: %s\n", gate.Escape(l.Why.Error()))
		}
	}
	m.Tip, m.Arm = tip, chain(d, tip)
	return &m, l.Model != nil && !kinematicsOnly, nil
}

// chain returns the positions in q of the joints that move a link, in order.
func chain(d *robot.Description, link int) []int {
	var out []int
	for j := d.Links[link].Parent; j >= 0; j = d.Links[d.Joints[j].Parent].Parent {
		jt := &d.Joints[j]
		if jt.Mimic != nil {
			jt = &d.Joints[jt.Mimic.Joint]
		}
		if jt.Active >= 0 {
			out = append(out, jt.Active)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// unchecked accepts every configuration; it is used only where the answer says so.
type unchecked struct{}

func (unchecked) Check([]float64) (*robot.Clearance, error)             { return nil, nil }
func (unchecked) CheckSegment(_, _ []float64) (*robot.Clearance, error) { return nil, nil }

// refusedIK says why there is no solution.
func (a *app) refusedIK(asJSON bool, err error) error {
	code := robot.CodeOf(err)
	if code == "" {
		return exit.Bridgef("%w", err)
	}
	if asJSON {
		if err := a.document(struct {
			OK   bool       `json:"ok"`
			Code robot.Code `json:"code"`
			Text string     `json:"text"`
		}{false, code, err.Error()}); err != nil {
			return err
		}
	}
	return exit.Callsf("%w", err)
}
