package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tau-robot/tau/cmd/tau/internal/exit"
	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/motion/kinematics"
	"github.com/tau-robot/tau/robot"
)

type fkFlags struct {
	robotFlags
	q    string
	json bool
}

func (a *app) fk() *cobra.Command {
	var k fkFlags
	c := leaf("fk", "Where each link is in the root frame", 0, func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("q") && k.q == "" {
			return exit.Usagef("--q is empty: want name=number,…")
		}
		return a.runFK(&k)
	})
	f := c.Flags()
	f.StringVar(&k.q, "q", "", "name=number,… or a number for each joint (rad, or m for sliding joints); joints not named are at 0")
	f.BoolVar(&k.json, "json", false, "the poses as one JSON document")
	k.add(f)
	return c
}

// linkPose is a pose in the root frame.
type linkPose struct {
	XYZ  [3]float64 `json:"xyz"` // m
	Quat [4]float64 `json:"quat_wxyz"`
}

func (a *app) runFK(k *fkFlags) error {
	l, err := k.load()
	if err != nil {
		return err
	}
	d := l.Description
	q := make([]float64, d.DoF())
	if k.q != "" {
		if q, err = jointValues("--q", k.q, d, q); err != nil {
			return exit.Usagef("%w", err)
		}
	}
	poses, err := linkPoses(d, q)
	if err != nil {
		return exit.Bridgef("%w", err)
	}
	a.outside(d, q)
	if k.json {
		doc := struct {
			Links map[string]linkPose `json:"links"`
		}{make(map[string]linkPose, len(poses))}
		for i, p := range poses {
			doc.Links[d.Links[i].Name] = linkPose{p.P, [4]float64{p.Q.W, p.Q.V[0], p.Q.V[1], p.Q.V[2]}}
		}
		return a.document(doc)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-32s %11s %11s %11s   %9s %9s %9s %9s\n", "link", "x, m", "y, m", "z, m", "qw", "qx", "qy", "qz")
	for i, p := range poses {
		fmt.Fprintf(&b, "%-32s %11.6f %11.6f %11.6f   %9.6f %9.6f %9.6f %9.6f\n", gate.Escape(d.Links[i].Name),
			p.P[0], p.P[1], p.P[2], p.Q.W, p.Q.V[0], p.Q.V[1], p.Q.V[2])
	}
	return write(a.out, b.String())
}

// outside says which joints are beyond their limits: the frames are right there
// too, but no robot goes there.
func (a *app) outside(d *robot.Description, q []float64) {
	for i, j := range d.Active {
		if jt := &d.Joints[j]; jt.Bounded && (q[i] < jt.Lower || q[i] > jt.Upper) {
			fmt.Fprintf(a.err, "tau: %s: %g is outside its limits %g to %g %s\n",
				gate.Escape(jt.Name), q[i], jt.Lower, jt.Upper, jt.Type.Unit())
		}
	}
}

// linkPoses returns the poses of all links in the root frame, by link.
func linkPoses(d *robot.Description, q []float64) ([]robot.Pose, error) {
	tree, err := kinematics.New(d)
	if err != nil {
		return nil, err
	}
	data := tree.NewData()
	tree.FK(data, q)
	out := make([]robot.Pose, len(d.Links))
	for i := range out {
		out[i] = kinematics.PoseOf(&data.Frames[i])
	}
	return out, nil
}
