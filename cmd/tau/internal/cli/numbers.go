package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/tau-robot/tau/robot"
)

// parseFloat takes a decimal number; NaN and infinities are no numbers here.
func parseFloat(s string) (float64, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a finite number", s)
	}
	return v, nil
}

// configuration parses a configuration of m: a number for each active joint, in
// their order, or name=number pairs upon base. Numbers are in rad, or m for joints
// that slide. The result is new.
func configuration(what, s string, m *robot.Model, base []float64) ([]float64, error) {
	if !strings.Contains(s, "=") {
		q, err := floats(what, s)
		if err != nil {
			return nil, err
		}
		if len(q) != m.DoF() {
			return nil, fmt.Errorf("%s: %d numbers, but %s has %d joints: %s", what, len(q), m.Name, m.DoF(), strings.Join(m.JointNames(), ", "))
		}
		return q, nil
	}
	q := append([]float64(nil), base...)
	seen := map[string]bool{}
	for _, part := range strings.Split(s, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		i := m.ActiveIndex(name)
		if i < 0 {
			return nil, fmt.Errorf("%s: %s has no movable joint %q; it has %s", what, m.Name, name, strings.Join(m.JointNames(), ", "))
		}
		if seen[name] {
			return nil, fmt.Errorf("%s: %s is there twice", what, name)
		}
		seen[name] = true
		v, err := parseFloat(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", what, name, err)
		}
		q[i] = v
	}
	return q, nil
}
