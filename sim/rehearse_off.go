package sim

import (
	"context"

	"github.com/tau-robot/tau/robot"
)

// RehearseOff switches the torque of a fresh simulated robot off that stands as a state
// says, and tells how it sinks. Errors are as Rehearse's.
func (h *Rehearser) RehearseOff(ctx context.Context, s robot.State) (robot.Sag, error) {
	scene, items, err := h.world()
	if err != nil {
		return robot.Sag{}, failed(err)
	}
	if scene == nil {
		scene = &robot.Scene{}
	}
	start, _, err := startOf(s)
	if err != nil {
		return robot.Sag{}, failed(err)
	}
	r, err := assemble(Options{Model: h.tree.model, Clock: Fast, Seed: h.seed, Start: start}, h.tree, h.params, h.assumed, scene, items, h.gravity)
	if err != nil {
		return robot.Sag{}, failed(err)
	}
	if len(s.Setpoints) == h.tree.n {
		copy(r.qs, s.Setpoints)
	}
	if s.Held != "" {
		if err := r.takeHeld(s); err != nil {
			return robot.Sag{}, failed(err)
		}
	}
	sag := robot.Sag{Simulator: Version, Start: append([]float64(nil), r.s.q...)}
	sag.Tip[0] = r.tip()
	out, err := r.Actuate(ctx, robot.Command{Kind: robot.TorqueOff})
	if err != nil {
		if robot.CodeOf(err) == robot.CodeCancelled {
			return sag, err
		}
		return sag, failed(err)
	}
	sag.Duration, sag.End, sag.Tip[1] = out.Duration, out.Final.Positions, r.tip()
	return sag, nil
}

// tip is where the tip is measured in the root frame, m; the caller has the robot alone.
func (r *Robot) tip() [3]float64 {
	r.mon.pose(r.s.q)
	return r.mon.d.linkFrame(r.opts.Model.Tip).P
}
