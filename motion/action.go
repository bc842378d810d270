package motion

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// moveAction is a planned and rehearsed motion. It is immutable.
type moveAction struct {
	arm       *arm
	motion    robot.Motion
	rehearsal robot.Rehearsal
	held      string // the body that the gripper held when it was planned
	digest    [32]byte
	call      string       // id of the call that runs it
	progress  func(string) // of that call; may be nil
}

var _ gate.Action = (*moveAction)(nil)

// forCall returns a copy that runs as a call's and reports to it.
func (x *moveAction) forCall(call gate.Call) *moveAction {
	c := *x
	c.call, c.progress = call.ID, call.Progress
	return &c
}

// digestOf is the action's part of what a person approves (G12): the robot, its
// limits, the scene, the backend with driver and calibration, the motion and the
// rehearsal. It is recomputed from live inputs before the first actuation.
func digestOf(a *arm, m robot.Motion, r robot.Rehearsal, held string) [32]byte {
	info := a.Backend.Info()
	scene := a.sceneNow()
	b := append([]byte(nil), "tau motion action 1\x00"...)
	b = append(b, a.Model.ModelHash[:]...)
	b = append(b, scene.Hash[:]...)
	b = append(b, info.Identity[:]...)
	b = append(b, info.Calibration[:]...)
	for _, s := range []string{a.name, info.Robot, info.Backend, info.Port, string(info.Mode), held} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	b = m.AppendCanonical(b)
	b = r.AppendCanonical(b)
	return sha256.Sum256(b)
}

func (x *moveAction) Digest() [32]byte  { return x.digest }
func (x *moveAction) Expiry() time.Time { return time.Time{} } // a plan handle's 120 s bound only the time until it is asked
func (x *moveAction) Resource() string  { return x.arm.name }

// Check recomputes what this action stands on: that nothing it was approved with
// has changed, that the robot may move, and that it is still at the start.
func (x *moveAction) Check(ctx context.Context) error {
	if d := digestOf(x.arm, x.motion, x.rehearsal, x.held); d != x.digest {
		return gate.Errf(gate.CodeStartMoved, x.arm.name, "robot, limits, scene, driver or calibration changed since this was approved; plan again")
	}
	st, err := x.arm.state(ctx)
	if err != nil {
		return gateErr(err)
	}
	if st.StopEpoch != x.motion.Epoch {
		return gate.Errf(gate.CodeStopped, x.arm.name, "stopped since this was planned; plan again")
	}
	if err := x.arm.canMove(st); err != nil {
		return gateErr(err)
	}
	if st.Held != x.held {
		return gate.Errf(gate.CodeStartMoved, x.arm.name, "the gripper held %q when this was planned and holds %q now; plan again", x.held, st.Held)
	}
	return gateErrOrNil(x.atStart(st))
}

// atStart compares the measured configuration with the motion's start.
func (x *moveAction) atStart(st robot.State) error {
	start := x.motion.Trajectory.Start()
	for i, q := range where(st) {
		if d := math.Abs(q - start[i]); !(d <= x.motion.StartTolerance[i]) {
			u := x.arm.unit(i)
			return &robot.Error{
				Code: robot.CodeStartMoved, Where: x.motion.Trajectory.Joints[i],
				Text:  fmt.Sprintf("is %.4f %s from where the plan starts (%.4f %s); plan again", d, u, start[i], u),
				Value: &robot.Quantity{Value: d, Unit: u},
				Limit: &robot.Quantity{Value: x.motion.StartTolerance[i], Unit: u},
			}
		}
	}
	return nil
}

// Run executes the motion, watched against its rehearsal.
func (x *moveAction) Run(ctx context.Context) (gate.Result, error) {
	runCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := newWatch(x)
	next := 0.0
	m := x.motion
	m.ID = x.call
	out, err := x.arm.Backend.Execute(runCtx, m, func(p robot.Progress) {
		if d := w.check(p); d != nil {
			cancel(d) // the backend stops in a controlled way; Execute returns at rest
		}
		if x.progress != nil && p.T >= next {
			next = p.T + reportEvery
			x.progress(fmt.Sprintf("moving: %.1f of %.1f s", p.T, x.motion.Trajectory.Duration()))
		}
	})
	switch d := w.deviation(); {
	case d != nil:
		x.arm.latch(d, out.Final.MeasuredAt)
		if out.Status == robot.OutcomeCancelled && ctx.Err() == nil {
			out.Status, err = robot.OutcomeFaulted, d
		}
	case out.Status == robot.OutcomeDone && x.arm.info.MeasuresPosition && !w.watched():
		out.Status = robot.OutcomeUnknown
		err = robot.Errf(robot.CodeUnknownOutcome, x.arm.name, "the backend reported no measurement on the way, so the motion was not watched")
	}
	return x.result(out, err)
}

// reportEvery is how often a running motion tells its caller where it is, s of motion time.
const reportEvery = 0.5

// result turns an outcome into what the caller is told: measured values only.
func (x *moveAction) result(out robot.Outcome, err error) (gate.Result, error) {
	r := motionResult{
		DurationS: out.Duration, Outcome: out.Status, Mode: x.arm.info.Mode,
		Backend: x.arm.info.Backend, Gripped: out.Gripped, Rehearsal: &x.rehearsal,
	}
	if out.Final.Positions != nil {
		r.Positions = byName(x.motion.Trajectory.Joints, out.Final.Positions)
		r.MeasuredAt = &out.Final.MeasuredAt
		tip := x.arm.tipPose(out.Final.Positions)
		r.Tip = &tip
	}
	if len(out.MaxTrackingError) > 0 {
		worst := 0.0
		for _, e := range out.MaxTrackingError {
			worst = math.Max(worst, e)
		}
		r.MaxTrackingError = &worst
	}
	data, merr := json.Marshal(r)
	if merr != nil {
		return gate.Result{}, gate.Errf(gate.CodeUnknownOutcome, x.arm.name, "the result could not be encoded: %w", merr)
	}
	res := gate.Result{Data: data, Text: r.text()}
	switch out.Status {
	case robot.OutcomeDone:
		if err == nil {
			return res, nil
		}
	case robot.OutcomeCancelled:
		res.Status = gate.StatusCancelled
	case robot.OutcomeStopped:
		res.Status = gate.StatusCancelled
	case robot.OutcomeRefused:
		res.Status = gate.StatusRefused
	case robot.OutcomeUnknown:
		res.Status = gate.StatusUnknown
	}
	if err == nil {
		err = robot.Errf(robot.CodeUnknownOutcome, x.arm.name, "the backend reported %q without a reason", out.Status)
	}
	return res, gateErr(err)
}

// gateErrOrNil keeps a nil error a nil interface.
func gateErrOrNil(err error) error {
	if err == nil {
		return nil
	}
	return gateErr(err)
}

// commandAction is torque_on, torque_off or estop_reset.
type commandAction struct {
	arm   *arm
	kind  robot.CommandKind
	call  string // id of the call that runs it
	epoch uint64
	facts []gate.Fact
	// latches is what was latched, held and powered when the card was made: a
	// reset releases only what somebody was shown.
	latches string
	// start is where the robot was when the card was made; torque_on moves
	// nothing only as long as that holds.
	start  []float64
	digest [32]byte
}

var _ gate.Action = (*commandAction)(nil)

func newCommandAction(a *arm, kind robot.CommandKind, st robot.State, facts []gate.Fact) *commandAction {
	x := &commandAction{arm: a, kind: kind, epoch: st.StopEpoch, facts: facts, latches: latches(st), start: append([]float64(nil), where(st)...)}
	x.digest = x.liveDigest()
	return x
}

// latches is a state's latches, torque and what is held, as one text.
func latches(st robot.State) string {
	s := fmt.Sprintf("torque %t, e-stop %t, held %q", st.Enabled, st.EStopped, st.Held)
	for _, f := range st.Faults {
		s += fmt.Sprintf(", %s %q %q", f.Code, f.Where, f.Text)
	}
	return s
}

func (x *commandAction) liveDigest() [32]byte {
	info := x.arm.Backend.Info()
	b := append([]byte(nil), "tau command action 1\x00"...)
	b = append(b, x.arm.Model.ModelHash[:]...)
	scene := x.arm.sceneNow()
	b = append(b, scene.Hash[:]...)
	b = append(b, info.Identity[:]...)
	b = append(b, info.Calibration[:]...)
	parts := []string{x.arm.name, info.Robot, info.Backend, info.Port, string(info.Mode), string(x.kind), x.latches}
	for _, f := range x.facts {
		parts = append(parts, f.Label, f.Text)
	}
	for _, s := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	for _, q := range x.start {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(q))
	}
	return sha256.Sum256(b)
}

func (x *commandAction) Card() gate.Card   { return gate.Card{Facts: x.facts} }
func (x *commandAction) Digest() [32]byte  { return x.digest }
func (x *commandAction) Expiry() time.Time { return time.Time{} }
func (x *commandAction) Resource() string  { return x.arm.name }

// Check refuses when the robot, its latches or its configuration changed.
func (x *commandAction) Check(ctx context.Context) error {
	if x.liveDigest() != x.digest {
		return gate.Errf(gate.CodeStartMoved, x.arm.name, "robot, scene, driver or calibration changed since this was approved; ask again")
	}
	st, err := x.arm.state(ctx)
	if err != nil {
		return gateErr(err)
	}
	if st.StopEpoch != x.epoch {
		return gate.Errf(gate.CodeStopped, x.arm.name, "stopped since this was prepared; ask again")
	}
	if st.Moving {
		return gate.Errf(gate.CodeBusy, x.arm.name, "the robot is moving")
	}
	if now := latches(st); now != x.latches {
		return gate.Errf(gate.CodeStartMoved, x.arm.name, "latches, torque or what is held changed since this was prepared (%s, now %s); ask again", x.latches, now)
	}
	tol := x.arm.startTolerance()
	for i, q := range where(st) {
		if !(math.Abs(q-x.start[i]) <= tol[i]) {
			return gate.Errf(gate.CodeStartMoved, x.arm.Model.JointNames()[i], "moved since this was prepared; ask again")
		}
	}
	return nil
}

// Run does the command.
func (x *commandAction) Run(ctx context.Context) (gate.Result, error) {
	out, err := x.arm.Backend.Actuate(ctx, robot.Command{ID: x.call, Epoch: x.epoch, Kind: x.kind})
	if x.kind == robot.EStopReset && out.Status == robot.OutcomeDone && err == nil {
		x.arm.unlatch()
	}
	r := commandResult{Outcome: out.Status, Mode: x.arm.info.Mode, Backend: x.arm.info.Backend, DurationS: out.Duration}
	if out.Final.MeasuredAt.IsZero() {
		// The backend measured nothing at the end; ask once, on a context that the
		// caller's end doesn't cut short.
		if st, serr := x.arm.state(context.WithoutCancel(ctx)); serr == nil {
			out.Final = st
		}
	}
	if !out.Final.MeasuredAt.IsZero() {
		r.Enabled, r.EStopped, r.MeasuredAt = &out.Final.Enabled, &out.Final.EStopped, &out.Final.MeasuredAt
		if out.Final.Positions != nil {
			r.Positions = byName(x.arm.info.Joints, out.Final.Positions)
		}
	}
	data, merr := json.Marshal(r)
	if merr != nil {
		return gate.Result{}, gate.Errf(gate.CodeUnknownOutcome, x.arm.name, "the result could not be encoded: %w", merr)
	}
	res := gate.Result{Data: data, Text: fmt.Sprintf("%s: %s", x.kind, out.Status)}
	if out.Status == robot.OutcomeDone && err == nil {
		return res, nil
	}
	if out.Status == robot.OutcomeRefused {
		res.Status = gate.StatusRefused
	}
	if err == nil {
		err = robot.Errf(robot.CodeUnknownOutcome, x.arm.name, "the backend reported %q without a reason", out.Status)
	}
	return res, gateErr(err)
}

// The snapshots: everything that Restore needs to make the same action again.
type moveSnapshot struct {
	Version   int      `json:"version"`
	Arm       string   `json:"arm"`
	Epoch     uint64   `json:"epoch"`
	Motion    []byte   `json:"motion"`    // canonical encoding
	Rehearsal []byte   `json:"rehearsal"` // canonical encoding
	Held      string   `json:"held,omitempty"`
	Digest    [32]byte `json:"digest"`
}

const snapshotVersion = 1

func (x *moveAction) Snapshot() ([]byte, error) {
	return json.Marshal(moveSnapshot{
		Version: snapshotVersion, Arm: x.arm.name, Epoch: x.motion.Epoch, Held: x.held, Digest: x.digest,
		Motion: x.motion.AppendCanonical(nil), Rehearsal: x.rehearsal.AppendCanonical(nil),
	})
}

type commandSnapshot struct {
	Version int               `json:"version"`
	Arm     string            `json:"arm"`
	Kind    robot.CommandKind `json:"kind"`
	Epoch   uint64            `json:"epoch"`
	Start   []float64         `json:"start"`
	Facts   []gate.Fact       `json:"facts"`
	Latches string            `json:"latches"`
	Digest  [32]byte          `json:"digest"`
}

func (x *commandAction) Snapshot() ([]byte, error) {
	return json.Marshal(commandSnapshot{
		Version: snapshotVersion, Arm: x.arm.name, Kind: x.kind, Epoch: x.epoch,
		Start: x.start, Facts: x.facts, Latches: x.latches, Digest: x.digest,
	})
}

var errSnapshot = errors.New("the snapshot doesn't match this bridge")

// restoreMove makes the action again. The digest is recomputed from live inputs,
// so a changed robot, scene, driver or calibration is refused here already.
func (p *Planner) restoreMove(snapshot []byte) (gate.Action, error) {
	var s moveSnapshot
	if err := json.Unmarshal(snapshot, &s); err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "%w", err)
	}
	a := p.arms[s.Arm]
	if s.Version != snapshotVersion || a == nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "version %d of robot %q: %w", s.Version, s.Arm, errSnapshot)
	}
	x := &moveAction{arm: a, held: s.Held}
	var err error
	if x.motion, err = robot.DecodeMotion(s.Motion); err != nil {
		return nil, gateErr(err)
	}
	if x.rehearsal, err = robot.DecodeRehearsal(s.Rehearsal); err != nil {
		return nil, gateErr(err)
	}
	x.motion.Epoch = s.Epoch
	if err := watchable(x.rehearsal, a.Model.DoF()); err != nil {
		return nil, gateErr(err)
	}
	if err := sameJoints(a.Model.JointNames(), x.motion.Trajectory.Joints); err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "%w", err)
	}
	if x.digest = digestOf(a, x.motion, x.rehearsal, x.held); x.digest != s.Digest {
		return nil, gate.Errf(gate.CodeStartMoved, "snapshot", "robot, limits, scene, driver or calibration changed: %w", errSnapshot)
	}
	return x, nil
}

func (p *Planner) restoreCommand(snapshot []byte) (gate.Action, error) {
	var s commandSnapshot
	if err := json.Unmarshal(snapshot, &s); err != nil {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "%w", err)
	}
	a := p.arms[s.Arm]
	if s.Version != snapshotVersion || a == nil || len(s.Start) != a.Model.DoF() {
		return nil, gate.Errf(gate.CodeInvalidArgument, "snapshot", "version %d of robot %q: %w", s.Version, s.Arm, errSnapshot)
	}
	x := &commandAction{arm: a, kind: s.Kind, epoch: s.Epoch, facts: s.Facts, latches: s.Latches, start: s.Start}
	if x.digest = x.liveDigest(); x.digest != s.Digest {
		return nil, gate.Errf(gate.CodeStartMoved, "snapshot", "robot, scene, driver or calibration changed: %w", errSnapshot)
	}
	return x, nil
}
