package gate

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Grant is permission for a value known only at run time: entering a guarded zone, a
// higher cap of the speed (G48). It never replaces the approval of a motion, and holds
// for one principal in one session, as its card said what that is, until it expires or
// is revoked.
type Grant struct {
	ID        string // unique
	Principal string
	Session   Session // as it was on the card: its mode, its robot, its opt-in
	Value     string  // "zone:NAME" or "speed:SCALE"
	Reason    string  // the one sentence that it was asked for with
	Card      string  // the call id of the card that made it
	Decider   string
	Granted   time.Time
	Expires   time.Time
}

// Holds reports whether the grant is one of the principal in the session as that is
// now. That it is in force only the store knows.
func (r Grant) Holds(s Session, principal string) bool {
	return r.Session == s && r.Principal == principal
}

// Grants keeps the grants. What a method has reported survives the end of this
// process. Any goroutine may call the methods; they block for the disk only.
type Grants interface {
	// AddGrants stores what one card has granted, all of it or none: a grant that
	// lacks something, or has an id that is taken, is INVALID_ARGUMENT, one that has
	// expired is REQUEST_EXPIRED.
	AddGrants(ctx context.Context, all []Grant) error
	// Grants lists those in force, oldest first, by the wall clock and the boot clock.
	// What has once been left out for its expiry isn't in force again, whatever is
	// done to the clocks.
	Grants(ctx context.Context, now time.Time) ([]Grant, error)
	// RevokeGrant ends one and reports whether it was in force.
	RevokeGrant(ctx context.Context, id string, now time.Time) (bool, error)
	// RevokeCard ends those that one card has made, and no other, and says how many.
	RevokeCard(ctx context.Context, callID string, now time.Time) (int, error)
}

// Access says what request_access may ask for. cmd/tau hands in what knows the scene.
type Access interface {
	// Askable says in one English sentence what a value would permit, for the card. A
	// value that isn't one, or names what the scene doesn't have, is an *Error that
	// says how to ask.
	Askable(s Session, value string) (effect string, err error)
	// Standing reports whether the operator's own list permits a value already.
	Standing(s Session, principal, value string) bool
}

// Covers reports whether a value that is granted permits another one: the same, or for
// a speed a lower one.
func Covers(granted, asked string) bool {
	if granted == asked {
		return true
	}
	have, ok := SpeedOf(granted)
	want, ok2 := SpeedOf(asked)
	return ok && ok2 && want <= have
}

// SpeedOf returns the SCALE of a value "speed:SCALE"; false: it isn't one, or not a
// number in (0, 1].
func SpeedOf(value string) (float64, bool) {
	text, ok := strings.CutPrefix(value, SpeedValue)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && v > 0 && v <= 1
}

// ZoneOf returns the NAME of a value "zone:NAME"; false: it isn't one.
func ZoneOf(value string) (string, bool) {
	name, ok := strings.CutPrefix(value, ZoneValue)
	return name, ok && name != ""
}

// What a value begins with.
const (
	ZoneValue  = "zone:"
	SpeedValue = "speed:"
)
