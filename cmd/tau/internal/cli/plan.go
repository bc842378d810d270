package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/bridge"
	"github.com/tau-robot/tau/cmd/tau/internal/chart"
	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
)

type planFlags struct {
	arm           placeFlags
	from          string
	goal          planGoal
	seed          uint64
	json          bool
	plot, picture string
}

func (a *app) plan() *cobra.Command {
	var p planFlags
	c := leaf("plan", "Plans and rehearses a motion, as the tools do, and moves nothing", 0, func(cmd *cobra.Command, _ []string) error {
		return a.runPlan(cmd.Context(), &p)
	})
	f := c.Flags()
	p.arm.add(f)
	f.StringVar(&p.from, "from", "", "where it starts: numbers by joint, name=number,…, or home (rad, or m for sliding joints; default: home)")
	p.goal.add(f)
	f.Uint64Var(&p.seed, "seed", 0, "seed of every random choice")
	f.BoolVar(&p.json, "json", false, "the plan as one JSON document")
	f.StringVar(&p.plot, "plot", "", "PNG of positions, speeds and accelerations against their limits")
	f.StringVar(&p.picture, "picture", "", "PNG of the arm at both ends of the motion, from the side and from above")
	return c
}

func (a *app) runPlan(ctx context.Context, p *planFlags) error {
	if err := p.goal.check(); err != nil {
		return err
	}
	model, scene, err := p.arm.load()
	if err != nil {
		return err
	}
	from := model.Home
	if p.from != "" && p.from != "home" {
		if from, err = configuration("--from", p.from, model, model.Home); err != nil {
			return exit.Usagef("%w", err)
		}
	}
	tool, args, err := p.goal.call(model, from)
	if err != nil {
		return exit.Usagef("%w", err)
	}
	plan, err := bridge.Plan(ctx, model, scene, from, p.seed, tool, args)
	if err != nil {
		return a.refusedPlan(p.json, err)
	}
	if p.plot != "" {
		if err := a.plotPlan(p.plot, model, plan.Motion.Trajectory); err != nil {
			return err
		}
	}
	if p.picture != "" {
		if err := a.picturePlan(p.picture, model, scene, plan.Motion.Trajectory); err != nil {
			return err
		}
	}
	if p.json {
		return a.planJSON(model, plan)
	}
	return a.planText(plan)
}

// planDocument is plan --json.
type planDocument struct {
	OK         bool             `json:"ok"`
	Robot      string           `json:"robot"`
	Digest     string           `json:"digest"`
	DurationS  float64          `json:"duration_s"`
	From       namedPositions   `json:"from"`
	To         namedPositions   `json:"to"`
	Assumed    []string         `json:"assumed"`
	Rehearsal  robot.Rehearsal  `json:"rehearsal"`
	Trajectory planTrajectory   `json:"trajectory"`
	Facts      []gate.Fact      `json:"facts"`
	Limits     []planJointLimit `json:"limits"`
}

type namedPositions map[string]float64

type planTrajectory struct {
	Joints   []string      `json:"joints"`
	Segments []planSegment `json:"segments"`
}

// planSegment has constant jerk: q(t) = q + v·t + a·t²/2 + j·t³/6.
type planSegment struct {
	Duration float64   `json:"duration_s"`
	Q        []float64 `json:"q"`
	V        []float64 `json:"v"`
	A        []float64 `json:"a"`
	J        []float64 `json:"j"`
}

type planJointLimit struct {
	Joint string `json:"joint"`
	Unit  string `json:"unit"`
	robot.JointLimits
}

func (a *app) planJSON(m *robot.Model, p bridge.Planned) error {
	t := p.Motion.Trajectory
	d := planDocument{
		OK: true, Robot: m.Name, Digest: fmt.Sprintf("%x", p.Digest), DurationS: p.Rehearsal.Duration,
		From: named(t.Joints, t.Start()), To: named(t.Joints, t.End()),
		Assumed: append([]string{}, p.Card.Assumed...), Rehearsal: p.Rehearsal, Facts: p.Card.Facts,
		Trajectory: planTrajectory{Joints: t.Joints},
	}
	for _, s := range t.Segments {
		d.Trajectory.Segments = append(d.Trajectory.Segments, planSegment(s))
	}
	for i, u := range jointUnits(m) {
		d.Limits = append(d.Limits, planJointLimit{t.Joints[i], u, m.Limits[i]})
	}
	return a.document(d)
}

func (a *app) document(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return exit.Bridgef("%w", err)
	}
	return write(a.out, string(b)+"\n")
}

func named(names []string, q []float64) namedPositions {
	out := namedPositions{}
	for i, n := range names {
		out[n] = q[i]
	}
	return out
}

func jointUnits(m *robot.Model) []string {
	out := make([]string, 0, m.DoF())
	for _, j := range m.Active {
		out = append(out, m.Joints[j].Type.Unit())
	}
	return out
}

func (a *app) planText(p bridge.Planned) error {
	var b strings.Builder
	for _, f := range p.Card.Facts {
		fmt.Fprintf(&b, "%-12s %s\n", gate.Escape(f.Label)+":", gate.Escape(f.Text))
	}
	for _, s := range p.Card.Assumed {
		fmt.Fprintf(&b, "%-12s %s\n", "Assumed:", gate.Escape(s))
	}
	return write(a.out, b.String())
}

// refusedPlan says why there is no plan: the refusal that a tool call would get.
func (a *app) refusedPlan(asJSON bool, err error) error {
	code := gate.CodeOf(err)
	if code == "" {
		return exit.Bridgef("%w", err)
	}
	if asJSON {
		if err := a.document(struct {
			OK   bool      `json:"ok"`
			Code gate.Code `json:"code"`
			Text string    `json:"text"`
		}{false, code, err.Error()}); err != nil {
			return err
		}
	}
	return exit.Callsf("%w", err)
}

func (a *app) plotPlan(path string, m *robot.Model, t robot.Trajectory) error {
	err := chart.Save(path, func(w io.Writer) error {
		return chart.Draw(w, fmt.Sprintf("%s, %.2f s", m.Name, t.Duration()), t, jointUnits(m), m.Limits)
	})
	if err != nil {
		return exit.Bridgef("--plot: %w", err)
	}
	fmt.Fprintf(a.err, "wrote %s\n", path)
	return nil
}

// wayPoints is how many points of the tip's way a picture has.
const wayPoints = 200

// picturePlan draws the arm at both ends of a motion and the tip's way between.
func (a *app) picturePlan(path string, m *robot.Model, scene robot.Scene, t robot.Trajectory) error {
	tree, err := kinematics.New(m.Description)
	if err != nil {
		return exit.Bridgef("--picture: %w", err)
	}
	d := tree.NewData()
	poses := func(q []float64) []robot.Pose {
		tree.FK(d, q)
		out := make([]robot.Pose, len(m.Links))
		for i := range out {
			out[i] = kinematics.PoseOf(&d.Frames[i])
		}
		return out
	}
	arm := chart.Arm{
		Title: fmt.Sprintf("%s, %.2f s", m.Name, t.Duration()), Model: m, Scene: scene,
		Start: poses(t.Start()), End: poses(t.End()),
	}
	q, v, acc := make([]float64, m.DoF()), make([]float64, m.DoF()), make([]float64, m.DoF())
	for k := range wayPoints + 1 {
		t.Sample(t.Duration()*float64(k)/wayPoints, q, v, acc)
		arm.Tip = append(arm.Tip, poses(q)[m.Tip].P)
	}
	if err := chart.Save(path, func(w io.Writer) error { return chart.DrawArm(w, arm) }); err != nil {
		return exit.Bridgef("--picture: %w", err)
	}
	fmt.Fprintf(a.err, "wrote %s\n", path)
	return nil
}
