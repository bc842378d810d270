package mcu

import (
	"fmt"
	"math"

	"github.com/tau-robot/tau/drivers/mcu/stream"
	"github.com/tau-robot/tau/drivers/mcu/wire"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// matches holds what a board says of itself against the robot's file.
func (r *Robot) matches(b *board) error {
	joints := int(b.hello.Joints)
	b.joint = make([]int, joints)
	for c := range b.joint {
		b.joint[c] = -1
	}
	for i := range r.axes {
		if err := r.axes[i].matches(b); err != nil {
			return err
		}
		b.joint[r.axes[i].hw.Channel] = i
	}
	for c := range joints {
		if b.joint[c] >= 0 {
			continue
		}
		spare, err := r.spare(&b.channels[c])
		if err != nil {
			return err
		}
		b.spare = append(b.spare, spare)
	}
	for i := range r.opts.Model.Actuators {
		if err := r.outputMatches(i, b); err != nil {
			return err
		}
	}
	return nil
}

// matches holds one joint of the file against its channel.
func (a *axis) matches(b *board) error {
	h := a.hw
	bad := func(format string, args ...any) error {
		return robot.Errf(robot.CodeInvalidArgument, h.Name, "channel %d: %s; correct the robot's file, or flash the pin map that it is for", h.Channel, fmt.Sprintf(format, args...))
	}
	if h.Channel >= int(b.hello.Joints) {
		return bad("the board has %d joints, 0 to %d", b.hello.Joints, int(b.hello.Joints)-1)
	}
	c := &b.channels[h.Channel]
	kind := wire.KindServo
	if h.Kind == hardware.Stepper {
		kind = wire.KindStepper
	}
	if c.Kind != kind {
		return bad("the file says %s and the board %s", h.Kind, c.Kind)
	}
	want := wire.FeedbackNone
	switch h.Feedback {
	case hardware.ADC:
		want = wire.FeedbackADC
	case hardware.Steps:
		want = wire.FeedbackSteps
		if c.Switch == wire.NoSwitch {
			return bad("the board has no switch there, and the joint finds out by one where it is")
		}
	}
	if want != wire.FeedbackNone && c.Feedback != want {
		return bad("the file says feedback %s and the board %s", h.Feedback, c.Feedback)
	}
	for _, side := range [...]struct {
		what     string
		is, may  int32
		narrower bool
	}{
		{"lower", a.config.Lower, c.Lower, a.config.Lower >= c.Lower},
		{"upper", a.config.Upper, c.Upper, a.config.Upper <= c.Upper},
	} {
		if !side.narrower {
			return robot.LimitErr(robot.CodeInvalidArgument, h.Name, float64(side.is)/stream.PerUnit, float64(side.may)/stream.PerUnit, h.Kind.Unit(),
				fmt.Sprintf("channel %d: the %s end of its range is beyond what the board can do; narrow the joint's limits, or correct zero and scale", h.Channel, side.what))
		}
	}
	return nil
}

// spare is how a joint of the board is told to stand still that the file doesn't name.
// A board powers all its joints together: a servo of nobody gets the middle of its range
// and stays there. A stepper that nobody has finds no switch, so that nothing else may
// move either.
func (r *Robot) spare(c *wire.Channel) (wire.Configure, error) {
	if c.Kind != wire.KindServo {
		return wire.Configure{}, robot.Errf(robot.CodeInvalidArgument, r.opts.Hardware.Name,
			"channel %d of the board is a %s that the file doesn't name, and the board moves nothing while it doesn't know where that is; flash firmware for as many steppers as there are", c.Channel, c.Kind)
	}
	middle := c.Lower + (c.Upper-c.Lower)/2
	return wire.Configure{Channel: c.Channel, Flags: r.axes[0].config.Flags, Lower: middle, Upper: middle, V: 1, A: 1, Ramp: 1}, nil
}

// outputMatches holds one output of the file against its channel.
func (r *Robot) outputMatches(i int, b *board) error {
	o, a := &r.opts.Hardware.Outputs[i], &r.opts.Model.Actuators[i]
	bad := func(format string, args ...any) error {
		return robot.Errf(robot.CodeInvalidArgument, a.Name, "channel %d: %s; correct the robot's file, or flash the pin map that it is for", o.Channel, fmt.Sprintf(format, args...))
	}
	joints, all := int(b.hello.Joints), len(b.channels)
	if o.Channel < joints || o.Channel >= all {
		return bad("the board's outputs are %d to %d", joints, all-1)
	}
	c := &b.channels[o.Channel]
	if c.Kind.Joint() {
		return bad("it is a %s", c.Kind)
	}
	if a.Lower < 0 {
		return robot.LimitErr(robot.CodeInvalidArgument, a.Name, a.Lower, 0, a.Unit, "an output of the board has no values below 0")
	}
	if v := math.Round(a.Upper * o.Scale); v > float64(c.Upper) {
		return robot.LimitErr(robot.CodeInvalidArgument, a.Name, v, float64(c.Upper), "",
			fmt.Sprintf("channel %d: its largest value is more than the board can set; correct the scale", o.Channel))
	}
	if math.Round(a.Upper*o.Scale) < 1 {
		return bad("its largest value is less than one step of the board's")
	}
	if c.Kind == wire.KindPWM && a.Kind == "motor" && a.OnLost != "off" {
		return bad("a motor goes on turning when the link is lost: say on_lost_link: off")
	}
	return nil
}

// output is what the board is told of an output.
func (r *Robot) output(i int, b *board) wire.ConfigureOutput {
	o, a := &r.opts.Hardware.Outputs[i], &r.opts.Model.Actuators[i]
	c := wire.ConfigureOutput{
		Output: byte(o.Channel - int(b.hello.Joints)),
		Off:    uint16(math.Round(a.Off * o.Scale)), Max: uint16(math.Round(a.Upper * o.Scale)),
	}
	if a.OnStop == "off" {
		c.OnStop = wire.OnOff
	}
	if a.OnLost == "off" {
		c.OnLost = wire.OnOff
	}
	return c
}
