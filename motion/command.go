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

// commandAction is torque_on, torque_off, estop_reset or set_actuator.
type commandAction struct {
	arm *arm
	// cmd is what the backend gets, but for the id of the call that runs it.
	cmd   robot.Command
	call  string
	facts []gate.Fact
	// latches is what was latched, held and powered when the card was made: a
	// reset releases only what somebody was shown.
	latches string
	// start is where the robot was when the card was made, NaN where that isn't known;
	// what the card says that torque_on moves holds only as long as that does.
	start  []float64
	digest [32]byte
}

var _ gate.Action = (*commandAction)(nil)

// newCommandAction makes the action of a command that was prepared in a state,
// whose stop epoch it carries.
func newCommandAction(a *arm, cmd robot.Command, st robot.State, facts []gate.Fact) *commandAction {
	cmd.Epoch = st.StopEpoch
	x := &commandAction{arm: a, cmd: cmd, facts: facts, latches: latches(a, cmd, st), start: a.where(st)}
	x.digest = x.liveDigest()
	return x
}

// latches is a state's latches, torque and what is held, and of an actuator that
// is to be set its commanded value, as one text. A measured value changes by itself.
func latches(a *arm, cmd robot.Command, st robot.State) string {
	s := fmt.Sprintf("torque %t, e-stop %t, held %q", st.Enabled, st.EStopped, st.Held)
	if st.Powered && !st.Enabled {
		s += ", powered"
	}
	for _, f := range st.Faults {
		s += fmt.Sprintf(", %s %q %q", f.Code, f.Where, f.Text)
	}
	if names := a.named(func(i int) bool { return declared(st, i) }); len(names) > 0 {
		s += fmt.Sprintf(", declared %q", names)
	}
	if names := a.untold(st); len(names) > 0 {
		s += fmt.Sprintf(", unknown %q", names)
	}
	if v, known := actuatorState(cmd.Name, st); cmd.Kind == robot.SetActuator && known && !v.Measured {
		s += fmt.Sprintf(", %q %s", cmd.Name, a.actuatorText(cmd.Name, st))
	}
	return s
}

// liveDigest is the command's part of what a person approves (G12). Its stop epoch isn't
// in it, as a motion's isn't: restoreCommand says why.
func (x *commandAction) liveDigest() [32]byte {
	info := x.arm.Backend.Info()
	b := append([]byte(nil), "tau command action 3\x00"...)
	b = append(b, x.arm.Model.ModelHash[:]...)
	scene := x.arm.sceneNow()
	b = append(b, scene.Hash[:]...)
	b = append(b, info.Identity[:]...)
	b = append(b, info.Calibration[:]...)
	parts := []string{x.arm.name, info.Robot, info.Backend, info.Port, string(info.Mode), string(x.cmd.Kind), x.cmd.Name, x.latches}
	for _, f := range x.facts {
		parts = append(parts, f.Label, f.Text)
	}
	for _, s := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(x.cmd.Value))
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
	if st.StopEpoch != x.cmd.Epoch {
		return gate.Errf(gate.CodeStopped, x.arm.name, "stopped since this was prepared; ask again")
	}
	if st.Moving {
		return gate.Errf(gate.CodeBusy, x.arm.name, "the robot is moving")
	}
	if now := latches(x.arm, x.cmd, st); now != x.latches {
		return gate.Errf(gate.CodeStartMoved, x.arm.name, "latches, torque or what is held changed since this was prepared (%s, now %s); ask again", x.latches, now)
	}
	tol := x.arm.startTolerance()
	for i, q := range x.arm.where(st) {
		if math.IsNaN(q) && i < len(x.start) && math.IsNaN(x.start[i]) {
			continue // it wasn't known then and isn't now
		}
		if i >= len(x.start) || !(math.Abs(q-x.start[i]) <= tol[i]) {
			return gate.Errf(gate.CodeStartMoved, x.arm.Model.JointNames()[i], "moved since this was prepared; ask again")
		}
	}
	return nil
}

// Run does the command.
func (x *commandAction) Run(ctx context.Context) (gate.Result, error) {
	cmd := x.cmd
	cmd.ID = x.call
	if cmd.Kind != robot.SetActuator {
		x.arm.repowered() // whatever comes of it
	}
	out, err := x.arm.Backend.Actuate(ctx, cmd)
	if cmd.Kind == robot.EStopReset && out.Status == robot.OutcomeDone && err == nil {
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
	final := x.arm.honest(out.Final.Clone())
	if !final.MeasuredAt.IsZero() {
		r.Actuators = x.arm.actuatorValues(final)
		r.Enabled, r.EStopped, r.MeasuredAt = &final.Enabled, &final.EStopped, &final.MeasuredAt
		r.Positions, r.Unreferenced = x.arm.known(final)
		r.Setpoints = x.arm.setpoints(final, false)
		if cmd.Kind != robot.SetActuator {
			r.OpenLoop = x.arm.openLoopNames()
		}
	}
	data, merr := json.Marshal(r)
	if merr != nil {
		return gate.Result{}, gate.Errf(gate.CodeUnknownOutcome, x.arm.name, "the result could not be encoded: %w", merr)
	}
	res := gate.Result{Data: data, Text: r.text(cmd, x.arm.unknownText(final))}
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
