package motion

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// movedRad is the smallest change of a joint that a card names as a move, rad or m.
const movedRad = 1e-4

// Card says what the motion would do and what its rehearsal found (G30).
func (x *moveAction) Card() gate.Card {
	r, names := x.rehearsal, x.motion.Trajectory.Joints
	start, end := x.motion.Trajectory.Start(), x.motion.Trajectory.End()
	moving := make([]bool, len(names))
	for i := range names {
		moving[i] = math.Abs(end[i]-start[i]) > movedRad
	}
	var facts []gate.Fact
	if x.motion.Seek == nil { // where a search begins and ends isn't known
		facts = append(facts, gate.Fact{Label: "Moves", Text: x.moves(start, end, moving)})
	}
	facts = append(facts, x.facts...)
	facts = append(facts,
		gate.Fact{Label: "Rehearsed", Text: fmt.Sprintf("%.2f s in %s%s", r.Duration, r.Simulator, x.tracking())},
		gate.Fact{Label: "Top speed", Text: x.topSpeed()})
	if t := x.topEffort(); t != "" {
		facts = append(facts, gate.Fact{Label: "Top effort", Text: t})
	}
	facts = append(facts,
		gate.Fact{Label: "Clearance", Text: clearanceText(r.Clearance)},
		gate.Fact{Label: "Ends at", Text: fmt.Sprintf("%s (%.3f, %.3f, %.3f) m, turned (w,x,y,z) (%.3f, %.3f, %.3f, %.3f), in %s",
			x.arm.Model.Links[x.arm.Model.Tip].Name, r.EndPosition[0], r.EndPosition[1], r.EndPosition[2],
			r.EndOrientation[0], r.EndOrientation[1], r.EndOrientation[2], r.EndOrientation[3],
			x.arm.Model.Links[x.arm.Model.Root].Name)})
	if g := x.motion.Grip; g != nil {
		facts = append(facts, gate.Fact{Label: "Grip", Text: x.gripText(*g, r.Gripped)})
	}
	// What the model assumes shapes every motion; the joints' own assumptions
	// matter for the joints that move.
	assumed := append([]string(nil), x.arm.Model.Assumed...)
	assumed = append(assumed, assumedLimits(x.arm.Model, moving)...)
	assumed = append(assumed, foldAssumed(x.arm.Model, underTorque(r.Assumed))...)
	card := gate.Card{Facts: facts, Assumed: assumed}
	if data, err := json.Marshal(cardData{r, x.draw()}); err == nil {
		card.Data = data
	}
	return card
}

// moves lists the joints that move, those of a unit together.
func (x *moveAction) moves(start, end []float64, moving []bool) string {
	var groups []string
	for _, unit := range [...]string{"rad", "m"} {
		var list []string
		for i, n := range x.motion.Trajectory.Joints {
			if moving[i] && x.arm.unit(i) == unit {
				list = append(list, fmt.Sprintf("%s %.3f → %.3f", n, start[i], end[i]))
			}
		}
		if len(list) > 0 {
			groups = append(groups, strings.Join(list, ", ")+" "+unit)
		}
	}
	if len(groups) == 0 {
		return "nothing; the robot is there already"
	}
	return strings.Join(groups, "; ")
}

// topSpeed names the joint that comes closest to its limit, and the tool's speed.
func (x *moveAction) topSpeed() string {
	best, at := -1.0, -1
	for i, j := range x.rehearsal.Joints {
		if j.VelocityLimit > 0 && j.PeakVelocity/j.VelocityLimit > best {
			best, at = j.PeakVelocity/j.VelocityLimit, i
		}
	}
	tool := fmt.Sprintf("tool %.3f m/s", x.rehearsal.PeakToolSpeed)
	if at < 0 {
		return tool
	}
	j := x.rehearsal.Joints[at]
	return fmt.Sprintf("%s %.3f of %.3f %s/s, %s", j.Joint, j.PeakVelocity, j.VelocityLimit, x.arm.unit(at), tool)
}

// topEffort names the joint that comes closest to its effort limit.
func (x *moveAction) topEffort() string {
	best, at := -1.0, -1
	for i, j := range x.rehearsal.Joints {
		if j.EffortLimit > 0 && j.PeakEffort/j.EffortLimit > best {
			best, at = j.PeakEffort/j.EffortLimit, i
		}
	}
	if at < 0 {
		return ""
	}
	j := x.rehearsal.Joints[at]
	return fmt.Sprintf("%s %.2f of %.2f %s", j.Joint, j.PeakEffort, j.EffortLimit, x.arm.effortUnit(at))
}

// effortUnit is the unit of active joint i's effort.
func (a *arm) effortUnit(i int) string {
	if a.unit(i) == "m" {
		return "N"
	}
	return "N·m"
}

// tracking says how far the joint that stayed farthest from its setpoint was from it.
func (x *moveAction) tracking() string {
	at := -1
	for i, j := range x.rehearsal.Joints {
		if at < 0 || j.MaxTrackingError > x.rehearsal.Joints[at].MaxTrackingError {
			at = i
		}
	}
	if at < 0 {
		return ""
	}
	j := x.rehearsal.Joints[at]
	return fmt.Sprintf(", %s at most %.4f %s off", j.Joint, j.MaxTrackingError, x.arm.unit(at))
}

func clearanceText(c *robot.Clearance) string {
	if c == nil {
		return "nothing that could be touched"
	}
	return fmt.Sprintf("%.1f mm between %s and %s at %.2f s", c.Distance*1000, onCard(c.A), onCard(c.B), c.At)
}

func (x *moveAction) gripText(g robot.Grip, gripped string) string {
	s := fmt.Sprintf("at most %.2f %s at the gripper joint", g.MaxEffort, x.arm.effortUnit(x.arm.Model.Gripper.Joint))
	if gripped != "" {
		return s + ", closes on " + onCard(gripped)
	}
	return s + ", closes on nothing"
}
