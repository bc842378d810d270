package calibrate

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

const (
	// tiny is the part of the description's range that a joint has to be moved by at least.
	tiny = 0.25
	// sameWidth is how much a measured range may differ from the description's, rad or m, and
	// still be the same one between the same stops; tooWide how much more it may be at all.
	sameWidth, tooWide = 0.15, 0.15
	// byEye is how far a pose that was taken by eye may be off, rad or m.
	byEye = 0.30
	// grid is what limits are rounded to, inwards, rad or m: less than a tick.
	grid = 1e-4
)

// ranged holds each joint's range against the description.
func (s *Session) ranged() Out {
	var wrong []string
	seam := false
	joints := make([]hardware.Joint, len(s.ids))
	for i := range s.ids {
		err := s.tracked(i)
		seam = seam || s.tracks[i].seen && s.crossed(i)
		if err == nil {
			joints[i], err = s.measured(i)
		}
		if err != nil {
			wrong = append(wrong, "  "+gate.Escape(s.names[i])+": "+err.Error())
			s.tracks[i].restart()
		}
	}
	if len(wrong) > 0 {
		say := "REFUSED:\n" + strings.Join(wrong, "\n") + "\n"
		if seam {
			return s.toPose(say + "The seam has to be moved out of the range, so begin again with the pose.\n\n")
		}
		return Out{Say: say + "Move these joints from end to end again, and press Enter.\n"}
	}
	return s.toConfirm(joints)
}

// tracked refuses a range that wasn't measured.
func (s *Session) tracked(i int) error {
	t, want := &s.tracks[i], s.widest(i)
	switch {
	case !t.seen || s.silent[i] > 0:
		return fmt.Errorf("ID %d doesn't answer", s.ids[i])
	case t.lost:
		return fmt.Errorf("it was moved so fast that nobody can say which way it went")
	case t.width() == 0:
		return fmt.Errorf("it wasn't moved at all")
	case float64(t.width()) < tiny*want:
		return fmt.Errorf("%d ticks are less than %.0f %% of the %.0f of the description: it wasn't moved from end to end", t.width(), 100*tiny, want)
	case float64(t.width()) > want+tooWide*s.scale(i):
		return fmt.Errorf("%d ticks are wider than the %.0f of the description: is it this joint, and this robot?", t.width(), want)
	case s.crossed(i):
		out := ""
		if s.o.Driver == hardware.DriverDynamixel && s.offset(i, s.at[i]) == s.found[i].Offset { // and no other one is better
			out = "; no offset that this servo takes moves it out: take its horn off, turn the servo by half a turn, and put it on again"
		}
		if t.outside {
			return fmt.Errorf("it read less than 0 or more than %d, where it can't be sent: its offset leads it over the encoder's seam%s", turn-1, out)
		}
		return fmt.Errorf("the encoder's seam lies within %d to %d%s", t.min, t.max, out)
	}
	return nil
}

// crossed reports a joint whose range has its encoder's seam inside.
func (s *Session) crossed(i int) bool { return s.tracks[i].crossed(s.span(i)) }

// span is the first and the last tick that a servo counts within one turn. A Feetech's
// ticks go round, whatever it takes off; of a Dynamixel the offset moves their ends.
func (s *Session) span(i int) (low, high int) {
	if s.o.Driver != hardware.DriverDynamixel {
		return 0, turn - 1
	}
	o := s.found[i].Offset
	return max(0, -o), min(turn-1, turn-1-o)
}

// measured makes a joint of the file from what was measured.
func (s *Session) measured(i int) (hardware.Joint, error) {
	t, l, scale := &s.tracks[i], s.o.Model.Limits[i], s.scale(i)
	j := s.kept(i)
	j.Direction, j.TickMin, j.TickMax = s.direction[i], float64(t.min), float64(t.max)
	j.Zero = float64(s.at[i]) - j.Direction*scale*s.q[i]
	ends := func() (lo, hi float64) {
		a, b := j.Position(j.TickMin), j.Position(j.TickMax)
		return min(a, b), max(a, b)
	}
	lo, hi := ends()
	if width := l.Upper - l.Lower; math.Abs(hi-lo-width) <= sameWidth {
		// Both stops were found: they say where zero is better than an eye does.
		off := (lo+hi)/2 - (l.Lower+l.Upper)/2
		if math.Abs(off) > byEye {
			return j, fmt.Errorf("its ends have its zero %.2f rad (%.0f°) from where the pose had it: the pose, or a stop, isn't the description's", off, off*180/math.Pi)
		}
		j.Zero += j.Direction * scale * off
		lo, hi = ends()
	}
	if over := max(l.Lower-lo, hi-l.Upper); over > byEye {
		return j, fmt.Errorf("it goes from %.2f to %.2f, and the description's limits are %.2f and %.2f: the pose wasn't the one that was asked for, or it is another robot", lo, hi, l.Lower, l.Upper)
	}
	j.Zero = math.Round(j.Zero*100) / 100
	lo, hi = ends()
	j.Lower = max(math.Ceil(lo/grid)*grid, l.Lower, j.Lower)
	j.Upper = min(math.Floor(hi/grid)*grid, l.Upper, j.Upper)
	if !(j.Lower < j.Upper) {
		return j, fmt.Errorf("no position is left between %.2f and %.2f", j.Lower, j.Upper)
	}
	return j, nil
}

// What a file begins with where none was there.
const (
	firstTorque    = 1.0
	gripperTorque  = 0.5 // it closes on things
	firstValidDays = 90
)

// kept is the joint as the old file has it, without what is measured anew: its rates and
// guards; else what a file begins with.
func (s *Session) kept(i int) hardware.Joint {
	l := s.o.Model.Limits[i]
	j := hardware.Joint{TorqueLimit: firstTorque} // its rates are the description's
	if g := s.o.Model.Gripper; g != nil && g.Joint == i {
		j.TorqueLimit = gripperTorque
	}
	if s.o.Old != nil {
		j = s.o.Old.Joints[i]
	}
	j.Name, j.Channel, j.Kind, j.Feedback = s.names[i], s.ids[i], hardware.BusServo, hardware.Encoder
	j.Scale, j.Offset = s.scale(i), s.found[i].Offset
	// What a person narrowed once was for the old zero; what was shown now counts.
	j.Lower, j.Upper = l.Lower, l.Upper
	return j
}

// toConfirm makes the file, reads it as the bridge will, and asks whether to write it.
func (s *Session) toConfirm(joints []hardware.Joint) Out {
	f := hardware.File{Robot: s.o.Model.Name, Driver: s.o.Driver, Valid: firstValidDays * 24 * time.Hour}
	if s.o.Old != nil {
		f = *s.o.Old
	}
	y, m, d := s.o.Now.Date()
	f.Calibrated, f.Baud, f.Joints = time.Date(y, m, d, 0, 0, 0, 0, time.UTC), s.o.Baud, joints
	data := hardware.Format(&f, "Written by 'tau robot calibrate' from an arm that was moved by hand. docs/HARDWARE.md\nsays what each line means. Limits may be narrowed here; calibrating again widens them.")
	read, err := hardware.Parse(s.o.Name, data, s.o.Model, s.o.Now)
	if err == nil {
		_, err = read.Tightened(s.o.Model)
	}
	if err != nil {
		return Out{Say: "REFUSED: the robot couldn't be driven within what you showed: " + gate.Escape(err.Error()) + "\nMove the joints further, and press Enter.\n"}
	}
	s.stage, s.file, s.limits = confirm, data, nil
	for i := range read.Joints {
		if j := &read.Joints[i]; s.found[i].Low != int(j.TickMin) || s.found[i].High != int(j.TickMax) {
			s.limits = append(s.limits, Limit{j.Channel, int(j.TickMin), int(j.TickMax)})
		}
	}
	var b strings.Builder
	b.WriteString("\nMeasured:\n")
	for i := range read.Joints {
		j := &read.Joints[i]
		unit := s.o.Model.Joints[s.o.Model.Active[i]].Type.Unit()
		fmt.Fprintf(&b, "  %-16s ID %-3d ticks %4.0f to %4.0f, zero %7.2f, direction %+.0f, %s to %s\n", gate.Escape(j.Name), j.Channel,
			j.TickMin, j.TickMax, j.Zero, j.Direction, amount(j.Lower, unit), amount(j.Upper, unit))
	}
	b.WriteString("Type yes to write ")
	if len(s.limits) > 0 {
		fmt.Fprintf(&b, "these ticks as the bounds of their goals into the memory of %s, and ", count(len(s.limits), "servo"))
	}
	b.WriteString(gate.Escape(s.o.Name))
	if s.o.Old != nil {
		b.WriteString(" (the old one is kept beside it)")
	}
	b.WriteString(": ")
	return Out{Say: b.String(), Asks: true}
}

// confirmed takes the answer to whether the file may be written.
func (s *Session) confirmed(line string) Out {
	switch line {
	case "yes":
		if len(s.limits) == 0 {
			return Out{Do: DoSave, File: s.file}
		}
		s.written = true
		return Out{Do: DoLimits, Limits: s.limits}
	case "no":
		return s.end(s.left(), robot.Errf(robot.CodeCancelled, "calibrate", "the file wasn't wanted"))
	}
	return Out{Say: "Type yes or no: ", Asks: true}
}

// Limited takes what writing the bounds of goals came to.
func (s *Session) Limited(err error) Out {
	if err != nil {
		return s.fail(err)
	}
	return Out{Do: DoSave, File: s.file}
}

// Saved takes what writing the file came to; old is where the earlier one is now.
func (s *Session) Saved(old string, err error) Out {
	if err != nil && !errors.Is(err, errUnsynced) {
		return s.fail(err)
	}
	say := "Written: " + gate.Escape(s.o.Name) + "\n"
	if old != "" {
		say += "The earlier one is " + gate.Escape(old) + "\n"
	}
	return s.end(say, err)
}
