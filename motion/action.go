package motion

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// moveAction is a planned and rehearsed motion. It is immutable.
type moveAction struct {
	arm       *arm
	session   string // with principal, who has the permissions that it needs
	principal string
	scale     float64 // the speed scale that it needs to be allowed
	power     uint64  // arm.power when it was planned
	motion    robot.Motion
	rehearsal robot.Rehearsal
	held      string      // the body that the gripper held when it was planned
	heldAt    *robot.Pose // where in the gripper, tip link from body
	// loose are bodies that earlier steps of a chain leave where this one expects them
	// (Chained): they are held against where they then are, and not part of the scene
	// that is hashed.
	loose    []robot.BodyPose
	facts    []gate.Fact // what the card says beside what every motion's says
	digest   [32]byte
	call     string       // id of the call that runs it
	progress func(string) // of that call; may be nil
}

var _ gate.Action = (*moveAction)(nil)

// forCall returns a copy that runs as a call's and reports to it.
func (x *moveAction) forCall(call gate.Call) *moveAction {
	c := *x
	c.call, c.progress = call.ID, call.Progress
	return &c
}

// liveDigest is the action's part of what a person approves (G12): the robot, its
// limits and workspace, the scene, the backend with driver and calibration, the
// motion, the rehearsal, what is held and where, for whom it is, and what the card
// says of itself. It is recomputed from live inputs before the first actuation.
func (x *moveAction) liveDigest() [32]byte { return x.digestIn(x.arm.sceneNow()) }

// digestIn is liveDigest with a scene: that which the motion was planned in, should
// another call have changed it while the motion was planned and rehearsed.
func (x *moveAction) digestIn(scene *robot.Scene) [32]byte {
	a := x.arm
	info := a.Backend.Info()
	b := append([]byte(nil), "tau motion action 3\x00"...)
	b = append(b, a.Model.ModelHash[:]...)
	fixed := x.fixed(scene)
	b = append(b, fixed[:]...)
	b = append(b, info.Identity[:]...)
	b = append(b, info.Calibration[:]...)
	parts := []string{a.name, info.Robot, info.Backend, info.Port, string(info.Mode), x.held, x.session, x.principal}
	for k := range x.loose {
		parts = append(parts, x.loose[k].Name)
	}
	for _, f := range x.facts {
		parts = append(parts, f.Label, f.Text)
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(parts)))
	for _, s := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	numbers := func(list ...float64) {
		for _, v := range list {
			b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	numbers(x.scale)
	if s := a.space; s != nil {
		numbers(s.whole.Min[:]...)
		numbers(s.whole.Max[:]...)
	}
	if h := x.heldAt; h != nil {
		numbers(poseNumbers(h)...)
	}
	for k := range x.loose {
		numbers(poseNumbers(&x.loose[k].Pose)...)
	}
	b = x.motion.AppendCanonical(b)
	b = x.rehearsal.AppendCanonical(b)
	return sha256.Sum256(b)
}

func (x *moveAction) Digest() [32]byte  { return x.digest }
func (x *moveAction) Expiry() time.Time { return time.Time{} } // a plan handle's 120 s bound only the time until it is asked
func (x *moveAction) Resource() string  { return x.arm.name }

// Check recomputes what this action stands on: that nothing it was approved with
// has changed, that the robot may move, and that it is still at the start.
func (x *moveAction) Check(ctx context.Context) error {
	if x.liveDigest() != x.digest {
		return gate.Errf(gate.CodeStartMoved, x.arm.name, "robot, limits, scene, driver or calibration changed since this was approved; plan again")
	}
	if err := x.allowed(); err != nil {
		return gateErr(err)
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
	if x.power != x.arm.powerNow() {
		return gate.Errf(gate.CodePlanExpired, x.arm.name, "torque was switched or a latch released since this was planned; plan again")
	}
	if x.motion.Seek == nil {
		if err := x.arm.calibrated(st); err != nil {
			return gateErr(err)
		}
	}
	if err := x.sameHeld(st); err != nil {
		return gateErr(err)
	}
	if err := x.samePlaces(); err != nil {
		return gateErr(err)
	}
	return gateErrOrNil(x.atStart(st))
}

// How far a held body may have slipped in the gripper since a motion was planned.
const (
	heldToleranceM   = 0.002 // m
	heldToleranceRad = 0.02  // rad
)

// sameHeld compares what the gripper holds, and where, with what it held when the
// motion was planned.
func (x *moveAction) sameHeld(st robot.State) error {
	if st.Held != x.held {
		return robot.Errf(robot.CodeStartMoved, x.arm.name, "the gripper held %q when this was planned and holds %q now; plan again", x.held, st.Held)
	}
	if x.heldAt == nil {
		return nil
	}
	if st.HeldPose == nil {
		return robot.Errf(robot.CodeStaleState, x.arm.name, "it isn't known any more where in the gripper %s is; plan again", x.held)
	}
	slip, turn := apart(x.heldAt, st.HeldPose)
	if !(slip <= heldToleranceM) {
		return robot.LimitErr(robot.CodeStartMoved, x.held, slip, heldToleranceM, "m", "slipped in the gripper since this was planned; plan again")
	}
	if !(turn <= heldToleranceRad) {
		return robot.LimitErr(robot.CodeStartMoved, x.held, turn, heldToleranceRad, "rad", "turned in the gripper since this was planned; plan again")
	}
	return nil
}

// apart is how far two poses are from each other, m and rad.
func apart(a, b *robot.Pose) (dist, turn float64) {
	return a.P.Sub(b.P).Len(), 2 * math.Acos(math.Min(1, math.Abs(a.Q.Dot(b.Q))))
}

// atStart compares the measured configuration with the motion's start; of joints that
// nothing measures, what they were told in this power-up.
func (x *moveAction) atStart(st robot.State) error {
	start := x.motion.Trajectory.Start()
	q := x.arm.where(st)
	if q == nil {
		return robot.Errf(robot.CodeStaleState, x.arm.name, "the backend doesn't say where it is; plan again")
	}
	for i, q := range q {
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
		if d := w.check(p, runCtx.Err() != nil); d != nil {
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
		if out.Status == robot.OutcomeDone || out.Status == robot.OutcomeCancelled && ctx.Err() == nil {
			out.Status, err = robot.OutcomeFaulted, d
		}
	case out.Status == robot.OutcomeDone && !w.watched():
		out.Status = robot.OutcomeUnknown
		err = robot.Errf(robot.CodeUnknownOutcome, x.arm.name, "the backend reported nothing on the way, so the motion was not watched")
	}
	return x.result(out, err)
}

// reportEvery is how often a running motion tells its caller where it is, s of motion time.
const reportEvery = 0.5

// result turns an outcome into what the caller is told: measured values, and beside
// them, named so, the setpoints of joints that nothing measures.
func (x *moveAction) result(out robot.Outcome, err error) (gate.Result, error) {
	r := motionResult{
		DurationS: out.Duration, Outcome: out.Status, Mode: x.arm.info.Mode,
		Backend: x.arm.info.Backend, Gripped: out.Gripped, Rehearsal: &x.rehearsal,
	}
	final := x.arm.honest(out.Final.Clone())
	r.OpenLoop = x.arm.openLoopNames()
	if x.arm.where(final) != nil {
		r.Positions, r.Unreferenced = x.arm.known(final)
		r.Setpoints = x.arm.setpoints(final, false)
		if final.Positions != nil {
			r.MeasuredAt = &out.Final.MeasuredAt
		}
		r.Tip = x.arm.knownTip(final)
	}
	r.MaxTrackingError = x.arm.worstOf(out.MaxTrackingError)
	data, merr := json.Marshal(r)
	if merr != nil {
		return gate.Result{}, gate.Errf(gate.CodeUnknownOutcome, x.arm.name, "the result could not be encoded: %w", merr)
	}
	res := gate.Result{Data: data, Text: r.text(x.arm.unknownText(final))}
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

// worstOf is the largest tracking error of the joints that are measured, nil where none is.
func (a *arm) worstOf(errors []float64) *float64 {
	var worst *float64
	for i, e := range errors {
		if !a.isOpenLoop(i) && !math.IsNaN(e) && (worst == nil || e > *worst) {
			worst = &e
		}
	}
	return worst
}

// gateErrOrNil keeps a nil error a nil interface.
func gateErrOrNil(err error) error {
	if err == nil {
		return nil
	}
	return gateErr(err)
}
