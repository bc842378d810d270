package gate

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Tier says what a tool can do. The zero value is not a tier (G1).
type Tier uint8

// The tiers, numbered 0, 1 and 2 outside.
const (
	TierRead     Tier = iota + 1 // 0: no side effects
	TierWrite                    // 1: digital write: files, notes, messages, stop
	TierPhysical                 // 2: moves or powers anything
)

// Valid reports whether t is one of the three tiers.
func (t Tier) Valid() bool { return t >= TierRead && t <= TierPhysical }

// Number returns 0, 1 or 2, and -1 for what is not a tier.
func (t Tier) Number() int {
	if !t.Valid() {
		return -1
	}
	return int(t) - 1
}

func (t Tier) String() string { return strconv.Itoa(t.Number()) }

// MarshalJSON writes 0, 1 or 2.
func (t Tier) MarshalJSON() ([]byte, error) {
	if !t.Valid() {
		return nil, fmt.Errorf("gate: %d is not a tier", uint8(t))
	}
	return strconv.AppendInt(nil, int64(t.Number()), 10), nil
}

// UnmarshalJSON takes exactly 0, 1 or 2: no boolean, float, string or null.
func (t *Tier) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "0":
		*t = TierRead
	case "1":
		*t = TierWrite
	case "2":
		*t = TierPhysical
	default:
		return fmt.Errorf("gate: %s is not a tier (0, 1 or 2)", b)
	}
	return nil
}

var _ json.Unmarshaler = (*Tier)(nil)
