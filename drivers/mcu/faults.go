package mcu

import (
	"math"

	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
)

// cause is what a word of the board means here.
type cause struct {
	code robot.Code
	text string
}

// faultCauses is what the board's faults are latched as. The text says what happened;
// the board's own word is put behind it.
var faultCauses = [...]cause{
	wire.FaultEStopInput:   {robot.CodeEStopped, "the board's e-stop input is active: release the button, then reset"},
	wire.FaultEStopCommand: {robot.CodeEStopped, "an e-stop was commanded"},
	wire.FaultWatchdog:     {robot.CodeLinkTimeout, "the board heard nothing for 200 ms and braked by itself"},
	wire.FaultUnderrun:     {robot.CodeLinkTimeout, "the board ran out of motion and braked by itself: the bridge was ended, or the line or this computer is too slow"},
	wire.FaultSequence:     {robot.CodeLinkTimeout, "a frame was lost on the line, and the board braked by itself"},
	wire.FaultLimit:        {robot.CodeJointLimit, "the board refused to leave the joint's limits"},
	wire.FaultSpeed:        {robot.CodeSpeedLimit, "the board refused to exceed the joint's speed"},
	wire.FaultSwitch:       {robot.CodeJointLimit, "the joint ran into its switch"},
	wire.FaultNotFound:     {robot.CodeNotCalibrated, "the joint didn't find its switch on its way"},
	wire.FaultOverrun:      {robot.CodeInternal, "the board got more motion than it had room for"},
	wire.FaultNoRoom:       {robot.CodeJointLimit, "the board had no room to brake within the joint's limits"},
	wire.FaultInternal:     {robot.CodeInternal, "the board found itself inconsistent"},
	wire.FaultOverload:     {robot.CodeOverload, "the board couldn't keep its own time"},
}

// refusalCauses is what the board's refusals are answered with.
var refusalCauses = [...]cause{
	wire.CodeBadSequence:   {robot.CodeLinkTimeout, "a frame before it was lost on the line"},
	wire.CodeBadLength:     {robot.CodeInternal, "the frame has the wrong length"},
	wire.CodeUnknownType:   {robot.CodeNotSupported, "the board doesn't know this frame"},
	wire.CodeBadValue:      {robot.CodeInternal, "a value means nothing to the board"},
	wire.CodeLooser:        {robot.CodeInvalidArgument, "the board keeps to narrower limits since it was switched on; reset the board to set wider ones"},
	wire.CodeNotConfigured: {robot.CodeInternal, "the board wasn't told its limits"},
	wire.CodeNotEnabled:    {robot.CodeNotEnabled, "the board isn't enabled"},
	wire.CodeFault:         {robot.CodeInternal, "the board has a fault latched"},
	wire.CodeBusy:          {robot.CodeBusy, "the board is in the middle of something"},
	wire.CodeStopped:       {robot.CodeStopped, "the board was stopped in between"},
	wire.CodeOverrun:       {robot.CodeInternal, "the board has no room for it"},
	wire.CodeLimit:         {robot.CodeJointLimit, "it is beyond the limits that the board was told"},
	wire.CodeSpeed:         {robot.CodeSpeedLimit, "it is faster than the board was told"},
	wire.CodeNoRoom:        {robot.CodeJointLimit, "the board could not brake within the limits after it"},
	wire.CodeNotReferenced: {robot.CodeNotCalibrated, "a joint doesn't know where it is until it has found its switch"},
	wire.CodeStaleReport:   {robot.CodeStaleState, "what was reported of the joints is too old"},
	wire.CodeEStopActive:   {robot.CodeEStopped, "the e-stop input is active: release the button first"},
	wire.CodeVersion:       {robot.CodeNotSupported, "the board speaks another version of the protocol"},
	wire.CodeNoHello:       {robot.CodeDisconnected, "the board has restarted and knows nothing any more"},
	wire.CodeNotBegun:      {robot.CodeStopped, "the board has forgotten the motion"},
}

// causeOf looks up what the board said, and what it didn't mean to say.
func causeOf(causes []cause, n int) cause {
	if n < len(causes) && causes[n].code != "" {
		return causes[n]
	}
	return cause{robot.CodeInternal, "the board said something that this driver doesn't know"}
}

// refusal is the error of a frame that the board didn't carry out; Robot.mu is held.
func (r *Robot) refusal(t wire.Type, c wire.Code) *robot.Error {
	why := causeOf(refusalCauses[:], int(c))
	if c == wire.CodeFault && len(r.faults) > 0 {
		f := &r.faults[0]
		return robot.Errf(f.Code, f.Where, "a fault is latched until estop_reset: %s", f.Text)
	}
	return robot.Errf(why.code, "mcu", "%s (the board answers %s with %s)", why.text, t, c)
}

// boardFault takes a fault that the board has latched; Robot.mu is held.
func (r *Robot) boardFault(f wire.Fault, channel byte) {
	why := causeOf(faultCauses[:], int(f))
	err := robot.Errf(why.code, "mcu", "%s (the board's fault %s)", why.text, f)
	if r.board != nil && int(channel) < len(r.board.joint) {
		if i := r.board.joint[channel]; i >= 0 {
			err.Where = r.axes[i].hw.Name
		}
	}
	r.switchOff(func(a *robot.Actuator) bool {
		return f == wire.FaultWatchdog && a.OnLost == "off" || f != wire.FaultWatchdog && a.OnStop == "off"
	})
	r.armed = false
	if f == wire.FaultEStopCommand && r.estopped {
		return // that is our own e-stop, of which Stop has said everything
	}
	r.latch(err)
	if r.leg != nil {
		r.leg.end(byFault, err)
	}
}

// switchOff remembers that the board has set to off what declares it; Robot.mu is held.
func (r *Robot) switchOff(declares func(*robot.Actuator) bool) {
	for i := range r.values {
		if a := &r.opts.Model.Actuators[i]; declares(a) {
			r.values[i] = a.Off
		}
	}
}

// maxFaults bounds what is remembered after the first reason.
const maxFaults = 8

// latch remembers a reason why the robot doesn't move until estop_reset; Robot.mu is
// held. The first one stays the first, and none is there twice.
func (r *Robot) latch(err *robot.Error) {
	r.armed = false
	for i := range r.faults {
		if f := &r.faults[i]; f.Code == err.Code && f.Where == err.Where {
			return
		}
	}
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, robot.Fault{Code: err.Code, Where: err.Where, Text: err.Said(), Since: r.opts.Now()})
	}
}

// voided is what happens to everything that was prepared or runs when the robot isn't
// what it was any more; Robot.mu is held.
func (r *Robot) voided(err *robot.Error) {
	r.epoch++
	if r.link != nil {
		r.link.void(r.epoch)
	}
	r.latch(err)
}

// intruded is called when somebody else speaks to the board; Robot.mu is held.
func (r *Robot) intruded(what string) {
	err := robot.Errf(robot.CodeDisconnected, r.opts.Port, "%s: the robot has a second master", what)
	r.voided(err)
	if r.leg != nil {
		r.leg.end(byFault, err)
	}
	if r.link != nil {
		r.queueStop(r.link, wire.StopControlled)
	}
}

// restarted is called when the board is another one than before, or in another life:
// what it was told, counted or commanded is forgotten; Robot.mu is held.
func (r *Robot) restarted(h wire.HelloReply) {
	why := ""
	switch {
	case h.Flags&wire.WasBrownOut != 0:
		why = " (its supply had broken down: brown-out)"
	case h.Flags&wire.WasWatchdog != 0:
		why = " (its own watchdog: its program hung)"
	}
	err := robot.Errf(robot.CodeDisconnected, r.opts.Port, "the board has restarted%s and has forgotten where everything is", why)
	r.voided(err)
	r.forget()
	r.gone(err)
}

// forget drops what was known of the board's life that has ended; Robot.mu is held.
func (r *Robot) forget() {
	for i := range r.axes {
		r.told[i], r.unref[i] = false, !r.open[i] && r.opts.Model.Reference(i) != nil
		r.declared[i] = math.NaN()
	}
	for i := range r.values {
		r.values[i] = r.opts.Model.Actuators[i].Off
	}
	r.heard, r.sensed = false, false
	r.measured.forget()
	r.status = wire.Status{Setpoints: r.status.Setpoints[:0]}
	r.seen, r.stops = wire.FaultNone, 0
}

// lost latches that the link is gone, and ends what runs; Robot.mu is held.
func (r *Robot) lost(err *robot.Error) {
	r.latch(err)
	r.gone(err)
}

// gone ends what runs on a board that can't be asked any more; Robot.mu is held.
func (r *Robot) gone(err *robot.Error) {
	if r.leg != nil {
		r.leg.cut(err)
	}
}
