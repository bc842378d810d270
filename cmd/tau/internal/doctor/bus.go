package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

// examineBus asks the servos: first at the speed that the file has, then at the others.
func examineBus(ctx context.Context, o Options) []Finding {
	bauds := hardware.Bauds(o.Driver)
	var ids []int
	if o.File != nil {
		first := o.File.Baud
		bauds = slices.DeleteFunc(bauds, func(b int) bool { return b == first })
		bauds = append([]int{first}, bauds...)
		for i := range o.File.Joints {
			ids = append(ids, o.File.Joints[i].Channel)
		}
	}
	var asked, unable []int
	for i, baud := range bauds {
		servos, err := o.Bus(ctx, baud, ids)
		switch {
		case i > 0 && errors.Is(err, robot.ErrCode(robot.CodeInvalidArgument)):
			unable = append(unable, baud) // this port can't; that isn't what is wrong
			continue
		case err != nil:
			return []Finding{lineError(err, baud)}
		}
		asked = append(asked, baud)
		if len(servos) == 0 {
			continue
		}
		var out []Finding
		if i > 0 {
			out = append(out, otherSpeed(bauds[0], baud, o.File != nil))
		}
		return append(out, checkServos(servos, o.File)...)
	}
	text := fmt.Sprintf("no servo answers, at none of %v bit/s, with an ID from 0 to 31", asked)
	if len(ids) > 0 {
		text += " or of the file"
	}
	if len(unable) > 0 {
		text += fmt.Sprintf("; this port can't do %v", unable)
	}
	return []Finding{{
		Bad, "devices", text,
		"is the servos' own supply on (USB alone doesn't power them)? Is the cable to the first servo plugged in all the way, the right way round? On an adapter board, are its jumpers set for USB and not for a host board? Is it a bus of " + maker(o.Driver) + "?",
	}}
}

func maker(driver string) string {
	if driver == hardware.DriverDynamixel {
		return "Dynamixel with protocol 2.0"
	}
	return "Feetech's STS series"
}

// lineError is what went wrong with the line itself.
func lineError(err error, baud int) Finding {
	f := Finding{Bad, "line", textOf(err), ""}
	switch {
	case errors.Is(err, robot.ErrCode(robot.CodeBusy)):
		f.Check = "busy"
	case errors.Is(err, robot.ErrCode(robot.CodeInvalidArgument)):
		f.Do = fmt.Sprintf("this port can't do %d bit/s, or is none; another adapter may", baud)
	case errors.Is(err, robot.ErrCode(robot.CodeDisconnected)):
		f.Do = "is it plugged in, and does it stay so? Pull it out and in again"
	}
	return f
}

func otherSpeed(want, is int, fromFile bool) Finding {
	f := Finding{Bad, "baud", fmt.Sprintf("nobody answers at %d bit/s, and at %d they do", want, is), ""}
	if fromFile {
		f.Do = fmt.Sprintf("write baud = %d into the robot's file, or set the servos to %d with the maker's tool", is, want)
	} else {
		f.Do = fmt.Sprintf("calibrate with --baud %d, or set the servos to %d with the maker's tool", is, want)
	}
	return f
}

// checkServos holds what answers against the file, if there is one.
func checkServos(servos []Servo, f *hardware.File) (out []Finding) {
	var have []string
	for i := range servos {
		s := &servos[i]
		have = append(have, fmt.Sprint(s.ID))
		if own := checkServo(s, f); len(own) > 0 {
			out = append(out, own...)
			continue
		}
		out = append(out, Finding{Good, "servo", fmt.Sprintf("ID %d: %s, firmware %s, %.1f V, %.0f °C, torque %s",
			s.ID, gate.Escape(s.Model), gate.Escape(s.Firmware), s.Voltage, s.Temperature, onOff(s.Powered)), ""})
	}
	if f == nil {
		return out
	}
	var missing []string
	for i := range f.Joints {
		j := &f.Joints[i]
		if !slices.ContainsFunc(servos, func(s Servo) bool { return s.ID == j.Channel }) {
			missing = append(missing, fmt.Sprintf("ID %d (%s)", j.Channel, gate.Escape(j.Name)))
		}
	}
	if len(missing) > 0 {
		out = append(out, Finding{
			Bad, "missing", strings.Join(missing, ", ") + " doesn't answer; those that do are " + strings.Join(have, ", "),
			"the cable in front of the first one that is missing, its power, its ID. One with another ID shows up above with that",
		})
	}
	return out
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

const (
	// lowVoltage is below which a supply is too low where no file bounds it, V: every servo
	// that is known here wants more.
	lowVoltage = 4.5
	// hot is from where on it is said, °C: as they come, servos protect themselves at 70.
	hot = 60
)

// checkServo says what is wrong with one servo.
func checkServo(s *Servo, f *hardware.File) (out []Finding) {
	add := func(check, text, do string) {
		out = append(out, Finding{Bad, check, fmt.Sprintf("ID %d: %s", s.ID, text), do})
	}
	if s.Shared {
		add("ID clash", "more than one servo answers to it", "connect one of them alone and give it another ID with the maker's tool")
		return out // what else it says is of one of them, or of none
	}
	if s.Model == "" && s.Trouble != "" {
		add("answers", gate.Escape(s.Trouble), "its cable, its supply, something that disturbs the line, a computer that is too busy; try again")
		return out // it was there, and couldn't be asked
	}
	if !s.Known {
		add("model", "it is "+gate.Escape(s.Model)+", which this driver doesn't know", "use one that it knows (docs/HARDWARE.md), or another driver")
		return out
	}
	if s.Trouble != "" {
		add("set up", gate.Escape(s.Trouble), "")
	}
	low, high := lowVoltage, 0.0
	if f != nil && f.MinVoltage > 0 {
		low = f.MinVoltage
	}
	if f != nil {
		high = f.MaxVoltage
	}
	switch {
	case s.Voltage > 0 && s.Voltage < low:
		add("voltage", fmt.Sprintf("its supply is %.1f V, and %.1f V is the least", s.Voltage, low), "a stronger supply, thicker or shorter cables; a supply that sags as soon as a joint moves is too weak")
	case high > 0 && s.Voltage > high:
		add("voltage", fmt.Sprintf("its supply is %.1f V, and %.1f V is the most", s.Voltage, high), "switch it off now: it is the wrong supply for these servos")
	}
	if s.Temperature >= hot {
		add("temperature", fmt.Sprintf("it has %.0f °C", s.Temperature), "let it cool down; find out what it pushes against")
	}
	if f != nil {
		i := slices.IndexFunc(f.Joints, func(j hardware.Joint) bool { return j.Channel == s.ID })
		if i >= 0 {
			out = append(out, checkJoint(s, &f.Joints[i])...)
		}
	}
	return out
}

// checkJoint holds a servo's memory against the joint that it is to move.
func checkJoint(s *Servo, j *hardware.Joint) (out []Finding) {
	const do = "calibrate again: tau robot calibrate"
	if s.Offset != j.Offset {
		out = append(out, Finding{Bad, "calibration", fmt.Sprintf("ID %d (%s): its memory has the offset %d and the file %d: another program has calibrated it since, or it is another servo",
			s.ID, gate.Escape(j.Name), s.Offset, j.Offset), do})
	}
	if float64(s.Low) > j.TickMin || float64(s.High) < j.TickMax {
		out = append(out, Finding{Bad, "calibration", fmt.Sprintf("ID %d (%s): its own bounds are %d to %d ticks, narrower than the file's %.0f to %.0f",
			s.ID, gate.Escape(j.Name), s.Low, s.High, j.TickMin, j.TickMax), do})
	}
	return out
}
