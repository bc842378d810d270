package calibrate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
	"github.com/tau-robot/tau/robot/hardware"
)

const (
	middle = turn / 2
	// A joint is held still whose last readings, as many as steadyOf, are within steadyBy ticks.
	steadyOf, steadyBy = 8, 8
	// fits is how far from the middle a servo may read in the pose and keep its offset, and
	// settles how far from where its new offset should have it: a hand moves a little.
	fits, settles = 40, 60
	// maxSilent is how many readings in a row a servo may fail to give, and unsure after how
	// many a hand could have turned it by half a turn.
	maxSilent, unsure = 20, 5
)

// toPose asks for the pose.
func (s *Session) toPose(say string) Out {
	s.stage, s.settle = pose, false
	s.forget()
	var b strings.Builder
	b.WriteString(say)
	b.WriteString("Move the arm by hand to this pose, seen by somebody who stands behind the base:\n")
	for _, l := range s.words.pose() {
		b.WriteString(l + "\n")
	}
	b.WriteString("As well as you can by eye: within 10° is enough. Hold it still, and press Enter.\n")
	return Out{Say: b.String()}
}

// forget throws the readings away that were made so far.
func (s *Session) forget() {
	for i := range s.recent {
		s.recent[i], s.tracks[i] = nil, track{}
	}
}

// Sampled takes a reading of each joint's servo, in the joints' order.
func (s *Session) Sampled(rs []Reading) Out {
	if !s.Sampling() || len(rs) != len(s.ids) {
		return Out{}
	}
	for i, r := range rs {
		if r.Err != nil {
			s.recent[i] = nil
			if s.silent[i]++; s.silent[i] >= unsure {
				s.tracks[i].lost = s.tracks[i].lost || s.stage == turning
			}
			if s.silent[i] >= maxSilent {
				return s.fail(robot.Errf(robot.CodeDisconnected, s.names[i], "ID %d doesn't answer any more: %w", s.ids[i], r.Err))
			}
			continue
		}
		if r.Powered {
			return s.fail(robot.Errf(robot.CodeBusy, s.names[i], "the torque of ID %d is on again, and nothing here switched it on: does another program or controller have the bus?", s.ids[i]))
		}
		s.silent[i] = 0
		if s.recent[i] = append(s.recent[i], r.Ticks); len(s.recent[i]) > steadyOf {
			s.recent[i] = s.recent[i][1:]
		}
		s.tracks[i].add(r.Ticks)
	}
	return Out{Live: s.live()}
}

// live are the lines of what is measured now.
func (s *Session) live() []string {
	if s.stage == writing {
		return nil
	}
	out := []string{fmt.Sprintf("  %-16s %4s %6s", "joint", "ID", "ticks")}
	if s.stage == ranging {
		out[0] += fmt.Sprintf(" %6s %6s %7s %9s", "from", "to", "width", "of")
	}
	for i := range s.ids {
		t, line := &s.tracks[i], fmt.Sprintf("  %-16s %4d", gate.Escape(s.names[i]), s.ids[i])
		switch {
		case s.silent[i] > 0:
			line += "  silent"
		case s.stage == ranging:
			line += fmt.Sprintf(" %6d %6d %6d %7d %9.0f", t.at, t.min, t.max, t.width(), s.widest(i))
		case t.seen:
			line += fmt.Sprintf(" %6d", t.last)
		}
		if s.stage == ranging && t.lost {
			line += "  too fast"
		}
		out = append(out, line)
	}
	return out
}

// widest is the description's range of a joint in ticks.
func (s *Session) widest(i int) float64 {
	l := s.o.Model.Limits[i]
	return (l.Upper - l.Lower) * s.scale(i)
}

// still returns where each joint is held, or says which isn't.
func (s *Session) still() (ticks []int, moving string) {
	for i, r := range s.recent {
		if len(r) < steadyOf {
			return nil, gate.Escape(s.names[i]) + " hasn't been read often enough yet"
		}
		for _, x := range r {
			if d := shortest(r[0], x); d > steadyBy || d < -steadyBy {
				return nil, gate.Escape(s.names[i]) + " still moves"
			}
		}
		ticks = append(ticks, r[len(r)-1])
	}
	return ticks, ""
}

// Typed takes a line that the person typed.
func (s *Session) Typed(line string) Out {
	line = strings.TrimSpace(line)
	switch s.stage {
	case power:
		if line != "yes" {
			return s.end("The torque stays as it is. "+s.left(), robot.Errf(robot.CodeCancelled, "calibrate", "switching the torque off wasn't confirmed with yes"))
		}
		return Out{Do: DoPowerOff, IDs: s.ids}
	case pose:
		return s.posed()
	case writing:
		return s.mayWrite(line)
	case turning:
		return s.turned()
	case ranging:
		return s.ranged()
	case confirm:
		return s.confirmed(line)
	}
	return Out{}
}

// posed takes the pose as held now.
func (s *Session) posed() Out {
	at, moving := s.still()
	if at == nil {
		return Out{Say: moving + ". Hold the arm still, and press Enter.\n"}
	}
	var b strings.Builder
	if s.settle {
		for i, f := range s.found {
			want := wrap(at[i])
			if d := shortest(s.at[i], want); d > settles || d < -settles {
				return s.fail(robot.Errf(robot.CodeDeviation, s.names[i],
					"ID %d reads %d in the pose, and its new offset should have it at %d: its firmware doesn't take the offset off, or the arm was moved meanwhile", f.ID, want, s.at[i]))
			}
			s.at[i] = want
		}
		return s.toTurning("The offsets fit.\n\n")
	}
	var change []int
	fmt.Fprintf(&b, "In this pose each servo should read about %d, so that its seam (from %d to 0) is far away:\n", middle, turn-1)
	for i, f := range s.found {
		now, want := wrap(at[i]), s.offset(i, at[i])
		s.at[i] = now
		fmt.Fprintf(&b, "  %-16s ID %-3d reads %4d", gate.Escape(s.names[i]), f.ID, now)
		if d := shortest(middle, now); (d > fits || d < -fits) && want != f.Offset {
			change = append(change, i)
			fmt.Fprintf(&b, ", offset %d becomes %d", f.Offset, want)
		} else {
			fmt.Fprintf(&b, ", offset %d stays", f.Offset)
		}
		b.WriteByte('\n')
	}
	if len(change) == 0 {
		return s.toTurning(b.String() + "\n")
	}
	s.stage = writing
	b.WriteString("The new offsets are written into the servos' own memory and stay there when they are switched off.\nType yes to write them, or no to keep the present ones: ")
	return Out{Say: b.String(), Asks: true}
}

// offset is the homing offset with which a servo that reads ticks now would read the middle,
// or as near to it as its register allows.
func (s *Session) offset(i, ticks int) int {
	most := hardware.MaxOffset(s.o.Driver)
	return min(max(wrap(ticks+s.found[i].Offset)-middle, -most), most)
}

// mayWrite takes the answer to whether offsets may be written.
func (s *Session) mayWrite(line string) Out {
	switch line {
	case "yes":
	case "no":
		return s.toTurning("The servos keep their offsets.\n\n")
	default:
		return Out{Say: "Type yes or no: ", Asks: true}
	}
	var offsets []Offset
	for i, f := range s.found {
		want := s.offset(i, s.at[i])
		if d := shortest(middle, s.at[i]); (d > fits || d < -fits) && want != f.Offset {
			offsets = append(offsets, Offset{ID: f.ID, Ticks: want})
		}
	}
	s.written = true // from here on some of them may be
	return Out{Do: DoOffsets, Offsets: offsets}
}

// Wrote takes what writing offsets came to.
func (s *Session) Wrote(done []Offset) Out {
	var wrong []string
	for _, o := range done {
		i := slices.Index(s.ids, o.ID)
		if i < 0 {
			continue
		}
		switch {
		case o.Err != nil:
			wrong = append(wrong, fmt.Sprintf("ID %d: %v", o.ID, o.Err))
		case o.Read != o.Ticks:
			wrong = append(wrong, fmt.Sprintf("ID %d has %d in its memory instead of %d", o.ID, o.Read, o.Ticks))
		default:
			s.at[i] = wrap(s.at[i] + s.found[i].Offset - o.Ticks)
			s.found[i].Offset = o.Ticks
		}
	}
	if len(wrong) > 0 {
		return s.fail(robot.Errf(robot.CodeDeviation, "offsets", "not all were written: %s", strings.Join(wrong, "; ")))
	}
	s.stage, s.settle = pose, true
	s.forget()
	return Out{Say: "Written and read back. Hold the arm in the same pose still, and press Enter.\n"}
}

// least movements, in ticks, of a joint whose positive side is asked for.
const (
	clearly = 120 // 10.5°
	// other joints may move with it, but not nearly as far
	mostly = 2
)

func (s *Session) toTurning(say string) Out {
	s.stage, s.joint = turning, 0
	return Out{Say: say + s.askTurn()}
}

// askTurn asks for the positive side of the next joint.
func (s *Session) askTurn() string {
	for i := range s.tracks {
		s.from[i], s.tracks[i].lost = s.tracks[i].at, false
	}
	i := s.joint
	return fmt.Sprintf("Move %s alone, by about 20°, so that %s. Hold it there, and press Enter.\n", gate.Escape(s.names[i]), s.words.positive(i))
}

// turned takes a joint's positive side.
func (s *Session) turned() Out {
	i := s.joint
	if _, moving := s.still(); moving != "" {
		return Out{Say: moving + ". Hold it still, and press Enter.\n"}
	}
	own := s.tracks[i].at - s.from[i]
	other, by := -1, 0
	for k := range s.tracks {
		if d := s.tracks[k].at - s.from[k]; k != i && abs(d) > abs(by) {
			other, by = k, d
		}
	}
	name := gate.Escape(s.names[i])
	switch {
	case s.tracks[i].lost:
		return Out{Say: fmt.Sprintf("REFUSED: %s was moved so fast, or was silent for so long, that nobody can say which way it went. Move it slowly.\n", name) + s.askTurn()}
	case abs(own) < clearly && abs(by) >= clearly:
		return Out{Say: fmt.Sprintf("REFUSED: %s is ID %d, and it was ID %d (%s) that turned, by %d ticks. Either another joint was moved, or the two have each other's ID.\n",
			name, s.ids[i], s.ids[other], gate.Escape(s.names[other]), by) + s.askTurn()}
	case abs(own) < clearly:
		return Out{Say: fmt.Sprintf("REFUSED: %s turned by %d ticks only; with less than %d its direction isn't known. Move it further, so that %s, and press Enter.\n",
			name, own, clearly, s.words.positive(i))}
	case abs(own) < mostly*abs(by):
		return Out{Say: fmt.Sprintf("REFUSED: %s turned by %d ticks and %s by %d: which of them is it? Hold the others.\n",
			name, own, gate.Escape(s.names[other]), by) + s.askTurn()}
	}
	s.direction[i] = 1
	if own < 0 {
		s.direction[i] = -1
	}
	if s.joint++; s.joint < len(s.ids) {
		return Out{Say: s.askTurn()}
	}
	return s.toRanging("\n")
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

func (s *Session) toRanging(say string) Out {
	s.stage = ranging
	for i := range s.tracks {
		s.tracks[i].restart()
	}
	return Out{Say: say + "Now move every joint slowly from one end to the other, the gripper too, until no range grows any more. Then press Enter.\n"}
}
