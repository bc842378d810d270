package motion

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// The snapshots: everything that Restore needs to make the same action again.
type moveSnapshot struct {
	Version   int              `json:"version"`
	Arm       string           `json:"arm"`
	Call      string           `json:"call"`
	Session   string           `json:"session"`
	Principal string           `json:"principal"`
	Scale     float64          `json:"scale"`
	Motion    []byte           `json:"motion"`    // canonical encoding
	Rehearsal []byte           `json:"rehearsal"` // canonical encoding
	Held      string           `json:"held,omitempty"`
	HeldAt    *robot.Pose      `json:"held_at,omitempty"`
	Loose     []robot.BodyPose `json:"loose,omitempty"`
	Facts     []gate.Fact      `json:"facts,omitempty"`
	Digest    [32]byte         `json:"digest"`
}

const snapshotVersion = 4

func (x *moveAction) Snapshot() ([]byte, error) {
	return json.Marshal(moveSnapshot{
		Version: snapshotVersion, Arm: x.arm.name, Call: x.call, Held: x.held, HeldAt: x.heldAt, Loose: x.loose,
		Session: x.session, Principal: x.principal, Scale: x.scale,
		Facts: x.facts, Digest: x.digest,
		Motion: x.motion.AppendCanonical(nil), Rehearsal: x.rehearsal.AppendCanonical(nil),
	})
}

type commandSnapshot struct {
	Version int               `json:"version"`
	Arm     string            `json:"arm"`
	Call    string            `json:"call"`
	Kind    robot.CommandKind `json:"kind"`
	Name    string            `json:"name,omitempty"`
	Value   float64           `json:"value"`
	Start   []*float64        `json:"start"` // null where it isn't known
	Facts   []gate.Fact       `json:"facts"`
	Latches string            `json:"latches"`
	Digest  [32]byte          `json:"digest"`
}

func (x *commandAction) Snapshot() ([]byte, error) {
	return json.Marshal(commandSnapshot{
		Version: snapshotVersion, Arm: x.arm.name, Call: x.call, Kind: x.cmd.Kind, Name: x.cmd.Name, Value: x.cmd.Value,
		Start: optional(x.start), Facts: x.facts, Latches: x.latches, Digest: x.digest,
	})
}

// optional is a configuration as JSON can have it: nil for what isn't known.
func optional(q []float64) []*float64 {
	out := make([]*float64, len(q))
	for i := range q {
		if !math.IsNaN(q[i]) {
			out[i] = &q[i]
		}
	}
	return out
}

// numbers is the inverse of optional.
func numbers(q []*float64) []float64 {
	out := make([]float64, len(q))
	for i, v := range q {
		if out[i] = math.NaN(); v != nil {
			out[i] = *v
		}
	}
	return out
}

var errSnapshot = errors.New("the snapshot doesn't match this bridge")

// restoreMove makes the action again. The digest is recomputed from live inputs,
// so a changed robot, scene, driver or calibration is refused here already. The
// backend counts its stops anew in each of its lives: the action is void by any
// stop from now on, and it is asked only after this.
func (p *Planner) restoreMove(ctx context.Context, snapshot []byte) (gate.Action, error) {
	var s moveSnapshot
	if err := json.Unmarshal(snapshot, &s); err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "%w", err)
	}
	a := p.arms[s.Arm]
	if s.Version != snapshotVersion || a == nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "version %d of robot %q: %w", s.Version, s.Arm, errSnapshot)
	}
	x := &moveAction{
		arm: a, session: s.Session, principal: s.Principal, scale: s.Scale,
		held: s.Held, heldAt: s.HeldAt, loose: s.Loose, facts: s.Facts, call: s.Call, power: a.powerNow(),
	}
	st, err := a.state(ctx)
	if err != nil {
		return nil, gateErr(err)
	}
	if x.motion, err = robot.DecodeMotion(s.Motion); err != nil {
		return nil, gateErr(err)
	}
	if x.rehearsal, err = robot.DecodeRehearsal(s.Rehearsal); err != nil {
		return nil, gateErr(err)
	}
	x.motion.Epoch = st.StopEpoch
	if err := watchable(x.rehearsal, a.Model.DoF()); err != nil {
		return nil, gateErr(err)
	}
	if err := sameJoints(a.Model.JointNames(), x.motion.Trajectory.Joints); err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "%w", err)
	}
	if x.digest = x.liveDigest(); x.digest != s.Digest {
		return nil, gate.Errf(gate.CodeStartMoved, "snapshot", "robot, limits, scene, driver or calibration changed: %w", errSnapshot)
	}
	return x, nil
}

// restoreCommand makes the command again, with the stop epoch of now as restoreMove
// does: a backend counts its stops anew in each of its lives, so that the count of an
// earlier one says nothing. What a stop would have said is said otherwise. A stop of
// this bridge ends every request that waits, in the store too (G6), so one that is
// still there to be restored has seen none in the life before; any from now on raises
// the epoch; and what a stop leaves of itself while no bridge runs (a latched e-stop, a
// fault, torque that is off, another place) isn't what the card showed, and Check
// compares all of that before anything is actuated (G12, G47). estop_reset above all
// releases only the latches that somebody was shown.
func (p *Planner) restoreCommand(ctx context.Context, snapshot []byte) (gate.Action, error) {
	var s commandSnapshot
	if err := json.Unmarshal(snapshot, &s); err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "%w", err)
	}
	a := p.arms[s.Arm]
	if s.Version != snapshotVersion || a == nil || len(s.Start) != a.Model.DoF() {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "version %d of robot %q: %w", s.Version, s.Arm, errSnapshot)
	}
	st, err := a.state(ctx)
	if err != nil {
		return nil, gateErr(err)
	}
	cmd := robot.Command{Kind: s.Kind, Name: s.Name, Value: s.Value, Epoch: st.StopEpoch}
	x := &commandAction{arm: a, call: s.Call, cmd: cmd, facts: s.Facts, latches: s.Latches, start: numbers(s.Start)}
	if x.digest = x.liveDigest(); x.digest != s.Digest {
		return nil, gate.Errf(gate.CodeStartMoved, "snapshot", "robot, scene, driver or calibration changed: %w", errSnapshot)
	}
	return x, nil
}
