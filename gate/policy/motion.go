package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// Motion is [policy.motion]: what whoever plans motions is bound to. It is data here.
type Motion struct {
	// SpeedCap is the highest speed_scale that a motion may have without a grant, above
	// 0 to 1; 0: not capped.
	SpeedCap float64 `toml:"speed_cap" json:"speed_cap"`
	// Workspace is what the tool's tip has to stay in; nil: not bounded.
	Workspace *Box `toml:"workspace" json:"workspace"`
	// Zones are guarded ones beside those of the scene.
	Zones []Zone `toml:"zones" json:"zones"`
}

// Box is a box along the axes of the robot's root frame, in metres.
type Box struct {
	Min []float64 `toml:"min" json:"min"` // x, y, z
	Max []float64 `toml:"max" json:"max"`
}

// Zone is a guarded zone: no part of the robot may enter without a grant.
type Zone struct {
	Name string    `toml:"name" json:"name"`
	Min  []float64 `toml:"min" json:"min"`
	Max  []float64 `toml:"max" json:"max"`
}

// maxReach bounds a coordinate, in metres: what is further away is a mistaken unit.
const maxReach = 100.0

// Check says what is wrong: the key, its value and what is allowed.
func (m *Motion) Check() error {
	if m.SpeedCap != 0 && !(m.SpeedCap > 0 && m.SpeedCap <= 1) {
		return fmt.Errorf("policy.motion.speed_cap = %g: want a number above 0 to 1; leave it out for no cap", m.SpeedCap)
	}
	if m.Workspace != nil {
		if err := m.Workspace.check("policy.motion.workspace"); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for i, z := range m.Zones {
		key := fmt.Sprintf("policy.motion.zones[%d]", i)
		if err := checkName(key+".name", z.Name); err != nil {
			return err
		}
		if seen[z.Name] {
			return fmt.Errorf("%s.name = %q: another zone has it", key, z.Name)
		}
		seen[z.Name] = true
		if err := (&Box{z.Min, z.Max}).check(key); err != nil {
			return err
		}
	}
	return nil
}

func (b *Box) check(key string) error {
	for _, c := range []struct {
		name string
		v    []float64
	}{{"min", b.Min}, {"max", b.Max}} {
		if len(c.v) != 3 {
			return fmt.Errorf("%s.%s has %d numbers: want [x, y, z] in metres", key, c.name, len(c.v))
		}
		for i, x := range c.v {
			if !finite(x) || x < -maxReach || x > maxReach {
				return fmt.Errorf("%s.%s[%d] = %g: want metres from -%g to %g", key, c.name, i, x, maxReach, maxReach)
			}
		}
	}
	for i := range 3 {
		if b.Min[i] >= b.Max[i] {
			return fmt.Errorf("%s.min[%d] = %g: it has to be below max[%d] = %g", key, i, b.Min[i], i, b.Max[i])
		}
	}
	return nil
}

// Grant is one line of the operator's own list of what is granted already (G48): it
// answers request_access, and replaces no approval of a motion.
type Grant struct {
	Principal string `toml:"principal" json:"principal"`
	Session   string `toml:"session" json:"session"` // "*": each
	Value     string `toml:"value" json:"value"`     // "zone:NAME" or "speed:SCALE"
}

func (s *Section) checkGrants() error {
	for i, g := range s.Grants {
		key := fmt.Sprintf("policy.grants[%d]", i)
		if err := checkName(key+".principal", g.Principal); err != nil {
			return err
		}
		if err := checkName(key+".session", g.Session); err != nil {
			return err
		}
		kind, what, _ := strings.Cut(g.Value, ":")
		ok := false
		switch kind {
		case "zone":
			ok = what != "" && len(what) <= maxName
		case "speed":
			v, err := strconv.ParseFloat(what, 64)
			ok = err == nil && v > 0 && v <= 1
		}
		if !ok {
			return fmt.Errorf(`%s.value = %q: want "zone:NAME", or "speed:SCALE" with a scale above 0 to 1`, key, g.Value)
		}
	}
	return nil
}
