package motion

import (
	"fmt"
	"math"
	"strings"

	"github.com/tau-robot/tau/gate"
	"github.com/tau-robot/tau/robot"
)

// starts says of a motion that begins outside a limit or in contact that it does, and
// how it gets out of that: such a motion is the only kind that is offered from there,
// and a person should know why. Nil for any other. start and end are the motion's.
func (a *arm) starts(v *view, st robot.State, start, end []float64) []gate.Fact {
	var parts []string
	for i, q := range a.where(st) {
		l := a.Model.Limits[i]
		if !l.Bounded || unreferenced(st, i) {
			continue
		}
		in := math.Min(math.Max(q, l.Lower), l.Upper)
		if !(math.Abs(q-in) > movedRad) {
			continue
		}
		n, u := a.info.Joints[i], a.unit(i)
		text := fmt.Sprintf("%s at %.4f %s, outside its limit of %.4f %s", n, q, u, in, u)
		if start[i] != q {
			text += ", counts as at it"
		} else if end[i] != q {
			text += ", goes back"
		}
		parts = append(parts, text)
	}
	if text := v.startOutside(start); text != "" {
		parts = append(parts, text)
	}
	if text := v.startContact(start, end); text != "" {
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return nil
	}
	return []gate.Fact{{Label: "Starts", Text: strings.Join(parts, "; ")}}
}

// startOutside says that the tip is outside the workspace at a motion's start, "" if it
// isn't.
func (v *view) startOutside(start []float64) string {
	if v.box == nil {
		return ""
	}
	w := v.box.w
	off := w.beyond(v.box.tip(w.tree.NewData(), start))
	if over := off[off.worst(&beyond{})] - workspaceMargin; over > movedRad {
		return fmt.Sprintf("%s %.1f mm outside the workspace, comes no farther out", onCard(w.name()), 1e3*over)
	}
	return ""
}

// startContact says which pair is deepest in contact at a motion's start, "" if none is.
func (v *view) startContact(start, end []float64) string {
	if v.bare == nil {
		return ""
	}
	if _, err := v.bare.Check(start); !isContact(err) {
		return ""
	}
	c, err := v.checker.Check(start)
	if err != nil || c == nil {
		return ""
	}
	text := contactText(c)
	if _, err := v.bare.Check(end); err == nil {
		return text + "; leaves it"
	}
	if c, err = v.checker.Check(end); err != nil || c == nil {
		return text
	}
	return text + "; at its end " + contactText(c)
}

func contactText(c *robot.Clearance) string {
	if c.Distance < 0 {
		return fmt.Sprintf("%s in contact with %s, %.1f mm deep", onCard(c.A), onCard(c.B), -1e3*c.Distance)
	}
	return fmt.Sprintf("%s only %.1f mm from %s", onCard(c.A), 1e3*c.Distance, onCard(c.B))
}
