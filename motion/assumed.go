package motion

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tau-robot/tau/robot"
)

// A card says what is assumed in few lines: what is assumed of several joints is
// one of them, and what the simulator assumes of itself another. The rehearsal's
// record, which goes with the card, keeps them one by one.

// assumption is what is assumed of some joints: "rotor inertia" "0.01 kg·m²".
type assumption struct {
	what   string
	values []jointValue
	names  []string
}

// jointValue is what is assumed of a joint: words, or a range of numbers of a unit.
type jointValue struct {
	words, unit string
	lo, hi      float64
}

// foldAssumed folds the lines of the form "what of joint: value" about active
// joints of a model into one for each what, numbers of the same unit into their
// range, and joins the lines of any other form into one, which comes first.
func foldAssumed(m *robot.Model, lines []string) []string {
	joints := m.JointNames()
	var folds []*assumption
	var others []string
	for _, line := range lines {
		what, joint, value, ok := parseAssumption(joints, line)
		if !ok {
			others = append(others, line)
			continue
		}
		k := slices.IndexFunc(folds, func(f *assumption) bool { return f.what == what })
		if k < 0 {
			k, folds = len(folds), append(folds, &assumption{what: what})
		}
		folds[k].add(joint, value)
	}
	var out []string
	if len(others) > 0 {
		out = append(out, strings.Join(others, "; "))
	}
	for _, f := range folds {
		out = append(out, f.text(joints))
	}
	return out
}

// underTorque leaves out what is assumed of switching the torque on and off, of which
// a motion does neither: the rehearsal's record has it.
func underTorque(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		return strings.HasPrefix(line, "torque on: ") || strings.HasPrefix(line, "torque off: ")
	})
}

func parseAssumption(joints []string, line string) (what, joint string, v jointValue, ok bool) {
	head, words, colon := strings.Cut(line, ": ")
	what, joint, of := strings.Cut(head, " of ")
	if !colon || !of || !slices.Contains(joints, joint) {
		return "", "", v, false
	}
	if number, unit, ok := strings.Cut(words, " "); ok {
		if x, err := strconv.ParseFloat(number, 64); err == nil {
			return what, joint, jointValue{unit: unit, lo: x, hi: x}, true
		}
	}
	return what, joint, jointValue{words: words}, true
}

func (a *assumption) add(joint string, v jointValue) {
	a.names = append(a.names, joint)
	for k := range a.values {
		if o := &a.values[k]; o.words == v.words && o.unit == v.unit {
			o.lo, o.hi = math.Min(o.lo, v.lo), math.Max(o.hi, v.hi)
			return
		}
	}
	a.values = append(a.values, v)
}

func (a *assumption) text(joints []string) string {
	parts := make([]string, len(a.values))
	for k, v := range a.values {
		switch {
		case v.unit == "":
			parts[k] = v.words
		case v.lo == v.hi:
			parts[k] = fmt.Sprintf("%.3g %s", v.lo, v.unit)
		default:
			parts[k] = fmt.Sprintf("%.3g to %.3g %s", v.lo, v.hi, v.unit)
		}
	}
	return a.what + " of " + jointList(joints, a.names) + ": " + strings.Join(parts, ", ")
}

// jointList names some of a robot's joints.
func jointList(all, some []string) string {
	if len(all) > 1 && len(some) == len(all) {
		return fmt.Sprintf("all %d joints", len(all))
	}
	return strings.Join(some, ", ")
}

// assumedLimits says of the joints that move which of their limits nothing gave.
func assumedLimits(m *robot.Model, moves []bool) []string {
	var kinds []string
	names := map[string][]string{}
	for i, n := range m.JointNames() {
		if !moves[i] || len(m.Limits[i].Assumed) == 0 {
			continue
		}
		kind := strings.Join(m.Limits[i].Assumed, " and ")
		if names[kind] == nil {
			kinds = append(kinds, kind)
		}
		names[kind] = append(names[kind], n)
	}
	for k, kind := range kinds {
		kinds[k] = kind + " of " + jointList(m.JointNames(), names[kind])
	}
	return kinds
}
